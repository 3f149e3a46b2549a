//! Where arguments go that are not part of the address: the query, a JSON body, or a form.

use contract::Problem;
use reqwest::Url;
use serde_json::{Map, Value};

use super::target::plain;

/// Our names to theirs.
#[derive(Debug)]
pub struct Rename(Vec<(Vec<String>, Vec<String>)>);

impl Rename {
    /// Dots go into objects, on both sides.
    pub fn new(pairs: &[(String, String)]) -> Result<Self, String> {
        let mut out: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for (ours, theirs) in pairs {
            let (from, to) = (parts(ours), parts(theirs));
            if from.iter().chain(&to).any(String::is_empty) {
                return Err(format!("'{ours}: {theirs}' has an empty name in it"));
            }
            if let Some((other, _)) = out.iter().find(|(_, other)| to.starts_with(other) || other.starts_with(&to)) {
                return Err(format!("'{}' and '{ours}' are given the same place '{theirs}'", other.join(".")));
            }
            out.push((from, to));
        }
        Ok(Self(out))
    }

    /// Names of the tool's own parameters that are renamed.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(from, _)| from[0].as_str())
    }

    /// Where a parameter goes as a whole.
    pub fn exact(&self, name: &str) -> Option<&[String]> {
        self.0.iter().find(|(from, _)| from.len() == 1 && from[0] == name).map(|(_, to)| to.as_slice())
    }

    /// Moves every renamed argument to its place. All are taken out first, so that two names can be exchanged.
    pub fn apply(&self, args: &mut Map<String, Value>) {
        let taken: Vec<_> = self.0.iter().map(|(from, to)| (take(args, from), to)).collect();
        for (value, to) in taken {
            if let Some(value) = value {
                put(args, to, value);
            }
        }
    }
}

fn parts(name: &str) -> Vec<String> {
    name.split('.').map(str::to_owned).collect()
}

fn take(map: &mut Map<String, Value>, path: &[String]) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    if rest.is_empty() {
        return map.shift_remove(first);
    }
    let inner = map.get_mut(first)?.as_object_mut()?;
    let value = take(inner, rest);
    if value.is_some() && inner.is_empty() {
        map.shift_remove(first);
    }
    value
}

fn put(map: &mut Map<String, Value>, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        map.insert(first.clone(), value);
        return;
    }
    let slot = map.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    if let Some(inner) = slot.as_object_mut() {
        put(inner, rest, value);
    }
}

/// Appends the arguments to the query: lists repeat their name, objects go in with dots, null is left out.
pub fn to_query(url: &mut Url, args: &Map<String, Value>) -> Result<(), Vec<Problem>> {
    let pairs = pairs(args)?;
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Ok(())
}

/// The arguments as a form body, in the same way as a query.
pub fn to_form(args: &Map<String, Value>) -> Result<String, Vec<Problem>> {
    let mut scratch = Url::parse("http://form.invalid/").expect("a fixed address is readable");
    to_query(&mut scratch, args)?;
    Ok(scratch.query().unwrap_or_default().to_owned())
}

/// Most levels of objects in a query or form.
const MOST_LEVELS: usize = 8;

fn pairs(args: &Map<String, Value>) -> Result<Vec<(String, String)>, Vec<Problem>> {
    let (mut out, mut problems) = (Vec::new(), Vec::new());
    args.iter().for_each(|(name, value)| flatten(name.clone(), value, MOST_LEVELS, &mut out, &mut problems));
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

fn flatten(name: String, value: &Value, levels: usize, out: &mut Vec<(String, String)>, problems: &mut Vec<Problem>) {
    match value {
        Value::Null => {}
        Value::Object(map) if levels > 0 => {
            map.iter().for_each(|(key, inner)| flatten(format!("{name}.{key}"), inner, levels - 1, out, problems));
        }
        Value::Array(items) if items.iter().all(|item| plain(Some(item)).is_some()) => {
            out.extend(items.iter().filter_map(|item| Some((name.clone(), plain(Some(item))?))));
        }
        Value::Array(_) | Value::Object(_) => problems.push(Problem {
            path: name.replace('.', "/"),
            expected: "plain values: lists of objects do not fit an address".into(),
            got: None,
            hint: None,
        }),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => out.extend(plain(Some(value)).map(|text| (name, text))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn arguments_are_renamed_into_and_out_of_objects() {
        let pairs = [
            ("order_id", "orderId"),
            ("status", "filter.state"),
            ("range.start", "filter.from"),
            ("a", "b"),
            ("b", "a"),
        ];
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let rename = Rename::new(&pairs).unwrap();
        let mut args = map(json!({"order_id": "A", "status": "paid", "range": {"start": 1}, "a": 1, "b": 2, "z": 0}));
        rename.apply(&mut args);
        assert_eq!(
            Value::from(args),
            json!({"z": 0, "orderId": "A", "filter": {"state": "paid", "from": 1}, "b": 1, "a": 2})
        );
        let mut none = map(json!({"range": "text"}));
        rename.apply(&mut none);
        assert_eq!(Value::from(none), json!({"range": "text"}));
    }

    #[test]
    fn two_names_cannot_have_one_place() {
        for pairs in [
            [("a", "x"), ("b", "x")],
            [("a", "x.y"), ("b", "x")],
            [("a", "x"), ("b", "x.y")],
            [("a", "x."), ("b", "y")],
        ] {
            assert!(Rename::new(&pairs.map(|(a, b)| (a.to_owned(), b.to_owned()))).is_err());
        }
    }

    #[test]
    fn a_query_holds_lists_and_objects_but_no_list_of_objects() {
        let form = |value| to_form(&map(value));
        assert_eq!(
            form(
                json!({"q": "tea & milk", "n": 9007199254740993_i64, "on": true, "tags": ["a", 2], "r": {"from": "x"}, "no": null, "none": []})
            ),
            Ok("q=tea+%26+milk&n=9007199254740993&on=true&tags=a&tags=2&r.from=x".into())
        );
        assert_eq!(form(json!({"r": {"list": [{"a": 1}]}})).unwrap_err()[0].path, "r/list");
        assert_eq!(form(json!({})), Ok(String::new()));
    }
}
