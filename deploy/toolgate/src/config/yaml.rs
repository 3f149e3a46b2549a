//! A YAML tree in which every value knows its place, so that an error can name file, line and column.

use std::{fmt, sync::Arc};

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::finding::{Finding, finding_at};

/// Where a value stands: in the file, or in an environment variable that replaced it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spot {
    pub line: u32,
    pub column: u32,
    pub variable: Option<Arc<str>>,
}

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Tree {
    pub spot: Spot,
    pub value: Value,
}

/// What a value is. Numbers keep their text where YAML would read `007` as 7.
#[derive(Debug, Clone)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    /// In the order of the file.
    Map(Vec<(Key, Tree)>),
}

/// A key and its place.
#[derive(Debug, Clone)]
pub struct Key {
    pub spot: Spot,
    pub text: String,
}

impl Tree {
    /// Reads one document. The error never quotes the source: a secret may stand there.
    pub fn parse(file: &str, text: &str) -> Result<Self, Finding> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            leading_zero_numbers_as_strings: true,
            underscored_numbers_as_strings: true,
        };
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Self { spot: Spot::default(), value: Value::Map(Vec::new()) });
        }
        serde_saphyr::from_str_with_options(text, options).map_err(|error| unreadable(file, &error))
    }

    /// What stands there, for an error text: never the value itself.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The text of a scalar as a person wrote it.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Int(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Gives the whole subtree another place.
    pub fn moved_to(mut self, spot: &Spot) -> Self {
        self.spot = spot.clone();
        self.value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(|item| item.moved_to(spot)).collect()),
            Value::Map(pairs) => Value::Map(
                pairs
                    .into_iter()
                    .map(|(key, value)| (Key { spot: spot.clone(), text: key.text }, value.moved_to(spot)))
                    .collect(),
            ),
            scalar => scalar,
        };
        self
    }
}

fn unreadable(file: &str, error: &serde_saphyr::Error) -> Finding {
    let spot = error.location().map(spot_of).unwrap_or_default();
    let message = error.without_snippet().to_string();
    // The library ends its messages with the place, which stands in front already.
    let message = message.split(" at line ").next().unwrap_or_default();
    let message = message.split(" (line ").next().unwrap_or_default();
    finding_at(file, &spot, format!("not readable as YAML: {}", contract::text::one_line(message, 200)))
}

fn spot_of(location: serde_saphyr::Location) -> Spot {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Spot { line: number(location.line()), column: number(location.column()), variable: None }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { spot: spot_of(referenced), value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = pairs.next_key::<Tree>()? {
            let text = key.scalar().ok_or_else(|| de::Error::custom("a key must be a word"))?;
            map.push((Key { spot: key.spot, text }, pairs.next_value()?));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place() {
        let tree = Tree::parse("f", "a: 1\nb:\n  - {c: x}\n").unwrap();
        let Value::Map(pairs) = &tree.value else { panic!("a map") };
        assert_eq!((pairs[1].0.spot.line, pairs[1].0.spot.column), (2, 1));
        let Value::List(items) = &pairs[1].1.value else { panic!("a list") };
        let Value::Map(inner) = &items[0].value else { panic!("a map") };
        assert_eq!((inner[0].1.spot.line, inner[0].1.spot.column), (3, 9));
    }

    #[test]
    fn numbers_that_are_text_stay_text() {
        let tree = Tree::parse("f", "a: 007\nb: 1_000\nc: yes\n").unwrap();
        let Value::Map(pairs) = &tree.value else { panic!("a map") };
        let texts: Vec<_> = pairs.iter().map(|(_, value)| value.scalar().unwrap()).collect();
        assert_eq!(texts, ["007", "1_000", "yes"]);
    }

    #[test]
    fn an_unreadable_file_is_placed_and_not_quoted() {
        let error = Tree::parse("f.yaml", "a: 1\nadmin_token: [sk_live_secret\n").unwrap_err().to_string();
        assert!(error.starts_with("f.yaml:"), "{error}");
        assert!(!error.contains("sk_live"), "{error}");
        let error = Tree::parse("f.yaml", "a: 1\na: 2\n").unwrap_err().to_string();
        assert!(error.starts_with("f.yaml:2:1: not readable as YAML"), "{error}");
    }

    #[test]
    fn an_empty_file_is_an_empty_map() {
        assert!(matches!(Tree::parse("f", "# nothing\n\n").unwrap().value, Value::Map(pairs) if pairs.is_empty()));
    }
}
