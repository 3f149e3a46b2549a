//! Long answers told in short: how many, which fields, the first of them; the whole is kept.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::{
    budget,
    endpoint::Host,
    stages::{Changed, Of, Stopped, Transform},
};

/// Items of a list that are shown, and fields of them that are described.
const FIRST: usize = 3;
const FIELDS: usize = 24;

/// Answers of more characters than this are told in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub above: usize,
}

#[async_trait]
impl Transform for Summary {
    async fn transform(&self, _: &Of, answer: &Value, host: &dyn Host) -> Result<Option<Changed>, Stopped> {
        let whole = match answer {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let size = whole.chars().count();
        if size <= self.above {
            return Ok(None);
        }
        let mut short = json!({ "summary": outline(answer, self.above / 2), "characters": size });
        if let Some(kept) = host.keep(&whole).await {
            short["whole"] = json!(kept);
        }
        let value = budget::fit(short, self.above, &mut Vec::new());
        Ok(Some(Changed { value, what: format!("told {size} characters in short") }))
    }
}

fn outline(value: &Value, room: usize) -> Value {
    match value {
        Value::Array(items) => list(items, room),
        Value::Object(fields) => {
            // A small field stays as it is.
            let each = room / fields.len().clamp(1, FIELDS);
            let short = |value: &Value| if is_small(value, each) { value.clone() } else { outline(value, each) };
            let kept = fields.iter().take(FIELDS).map(|(name, value)| (name.clone(), short(value)));
            let more = fields.len().saturating_sub(FIELDS);
            Value::Object(kept.chain((more > 0).then(|| ("…".to_owned(), json!(format!("and {more} more"))))).collect())
        }
        Value::String(text) => {
            json!({ "characters": text.chars().count(), "lines": text.lines().count(), "text": budget::ends(text, room.max(80)) })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_small(value: &Value, most: usize) -> bool {
    value.to_string().chars().count() <= most.max(40)
}

fn list(items: &[Value], room: usize) -> Value {
    let mut short = json!({ "items": items.len() });
    let objects: Vec<_> = items.iter().filter_map(Value::as_object).collect();
    if !objects.is_empty() {
        short["fields"] = fields(&objects);
    }
    let numbers: Vec<_> = items.iter().filter_map(Value::as_f64).collect();
    if !numbers.is_empty() {
        short["range"] = range(&numbers);
    }
    let each = (room / FIRST).max(80);
    let first = items.iter().take(FIRST).map(|item| budget::fit(item.clone(), each, &mut Vec::new()));
    short["first"] = first.collect();
    short
}

fn range(numbers: &[f64]) -> Value {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    json!([least, most])
}

/// What the fields of a list's objects hold, in the order in which they are met.
fn fields(objects: &[&Map<String, Value>]) -> Value {
    let mut names: Vec<&String> = Vec::new();
    let mut seen: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
    for (name, value) in objects.iter().flat_map(|object| object.iter()) {
        if !seen.contains_key(name) {
            if names.len() == FIELDS {
                continue;
            }
            names.push(name);
        }
        seen.entry(name).or_default().push(value);
    }
    let described = names.into_iter().map(|name| (name.clone(), described(&seen[name])));
    Value::Object(described.collect())
}

/// The range of numbers, how often each of a few words stands, else how many there are.
fn described(values: &[&Value]) -> Value {
    let numbers: Vec<_> = values.iter().filter_map(|value| value.as_f64()).collect();
    if numbers.len() == values.len() {
        return json!({ "range": range(&numbers) });
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values {
        let word = match value {
            Value::String(text) => text.clone(),
            Value::Bool(yes) => yes.to_string(),
            Value::Null => "null".to_owned(),
            Value::Number(_) | Value::Array(_) | Value::Object(_) => return json!({ "values": values.len() }),
        };
        *counts.entry(word).or_default() += 1;
        if counts.len() > 8 {
            return json!({ "values": values.len() });
        }
    }
    json!(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_told_by_its_number_its_fields_and_its_first() {
        let items: Vec<_> = (0..500)
            .map(|n| json!({"id": format!("A-{n}"), "total": n, "status": if n % 5 == 0 { "paid" } else { "open" }}))
            .collect();
        let short = outline(&json!({"orders": items, "page": 1}), 2_000);
        assert_eq!(short["page"], 1);
        let orders = &short["orders"];
        assert_eq!(orders["items"], 500);
        assert_eq!(orders["fields"]["total"], json!({"range": [0.0, 499.0]}));
        assert_eq!(orders["fields"]["status"], json!({"open": 400, "paid": 100}));
        assert_eq!(orders["first"][0], json!({"id": "A-0", "total": 0, "status": "paid"}));
    }

    #[test]
    fn a_text_keeps_its_ends() {
        let short = outline(&json!(format!("begin\n{}\nend", "x".repeat(9_000))), 400);
        assert_eq!(short["lines"], 3);
        let text = short["text"].as_str().unwrap();
        assert!(text.starts_with("begin") && text.ends_with("end") && text.chars().count() <= 400);
    }
}
