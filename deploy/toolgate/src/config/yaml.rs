//! A YAML tree in which every value knows its place, so that an error can name file, line and column.

use std::sync::Arc;

use policies::tree::{Fault, Kind, Node, Place, Scalar, documents};

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
        let mut documents = documents(text).into_iter();
        let Some(first) = documents.next() else {
            return Ok(Self { spot: Spot::default(), value: Value::Map(Vec::new()) });
        };
        let root = first.root.map_err(|fault| unreadable(file, &fault))?;
        match documents.next() {
            Some(second) => {
                let at = second.root.map_or_else(|fault| fault.at, |node| node.at);
                Err(finding_at(file, &spot_of(at), "a second document begins here: the configuration is one"))
            }
            None => Ok(Self::of(root)),
        }
    }

    fn of(node: Node) -> Self {
        let value = match node.kind {
            Kind::Scalar(scalar) => Value::of(&scalar),
            Kind::Seq(items) => Value::List(items.into_iter().map(Self::of).collect()),
            Kind::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| (Key { spot: spot_of(key.at), text: key.name }, Self::of(node)))
                    .collect(),
            ),
        };
        Self { spot: spot_of(node.at), value }
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

impl Value {
    fn of(scalar: &Scalar) -> Self {
        match scalar.value() {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(flag),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Self::Int(whole),
                (None, Some(float)) if !number.is_u64() => Self::Float(float),
                _ => Self::Text(scalar.text.clone()),
            },
            _ => Self::Text(scalar.text.clone()),
        }
    }
}

fn unreadable(file: &str, fault: &Fault) -> Finding {
    // A tag is whatever begins with an exclamation mark, and so may a secret.
    let message = if fault.message.starts_with("the tag '") { "tags are not read" } else { &fault.message };
    let message = contract::text::one_line(message, 200);
    finding_at(file, &spot_of(fault.at), format!("not readable as YAML: {message}"))
}

fn spot_of((line, column): Place) -> Spot {
    Spot { line, column, variable: None }
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
        for line in [
            "a: !sk_live x",
            "a: *sk_live",
            "a: &x sk_live\n---\nb: sk_live",
            "a: \"sk_live",
            "a: b: sk_live",
            "a: @sk_live",
        ] {
            let error = Tree::parse("f.yaml", line).unwrap_err().to_string();
            assert!(error.starts_with("f.yaml:") && !error.contains("sk_live"), "{error}");
        }
    }

    #[test]
    fn endless_nesting_is_an_error_with_a_place() {
        for text in ["[".repeat(200_000), "a: ".to_owned() + &"{b: ".repeat(50_000), "- ".repeat(50_000)] {
            let error = Tree::parse("f.yaml", &text).unwrap_err().to_string();
            assert!(error.starts_with("f.yaml:1:") && error.contains("too deep"), "{error}");
        }
    }

    #[test]
    fn a_second_document_is_refused_with_its_place() {
        let error = Tree::parse("f.yaml", "a: 1\n---\nb: 2\n").unwrap_err().to_string();
        assert_eq!(error, "f.yaml:3:1: a second document begins here: the configuration is one");
    }

    #[test]
    fn an_empty_file_is_an_empty_map() {
        assert!(matches!(Tree::parse("f", "# nothing\n\n").unwrap().value, Value::Map(pairs) if pairs.is_empty()));
    }
}
