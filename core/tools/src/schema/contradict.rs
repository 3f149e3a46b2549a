//! What a schema says that nothing can fulfil: bounds that cross, values that its type excludes, names that lead nowhere.

use serde_json::Value;

use super::{bounds, lint::fits_kind, shape};

/// What is wrong at a place of a schema, and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// A JSON pointer into the schema, without its first slash.
    pub path: String,
    pub message: String,
    pub hint: Option<String>,
}

/// Most of one schema.
const MOST: usize = 20;

/// Nothing of a schema that is no schema: that is said of it already.
pub fn contradictions(root: &Value) -> Vec<Contradiction> {
    let mut out = Vec::new();
    if bounds::check(root).is_ok() {
        walk(root, root, "", true, &mut out);
    }
    out.truncate(MOST);
    out
}

/// `alone`: no other schema describes the same value, so that what is not here is nowhere.
fn walk(root: &Value, schema: &Value, path: &str, alone: bool, out: &mut Vec<Contradiction>) {
    if !schema.is_object() || out.len() >= MOST {
        return;
    }
    let mut found = Found { path, out };
    crossing(schema, &mut found);
    choices(root, schema, &mut found);
    if alone {
        required(schema, &mut found);
    }
    let is_whole = alone && !may_be_elsewhere(schema);
    for (step, tail, child) in bounds::subschemas(schema) {
        let is_other_value = step != bounds::Step::Same;
        walk(root, child, &join(path, &tail), is_whole && is_other_value, out);
    }
    for (name, child) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        walk(root, child, &join(path, &format!("$defs/{}", bounds::escape(name))), false, out);
    }
}

fn join(path: &str, tail: &str) -> String {
    if path.is_empty() { tail.to_owned() } else { format!("{path}/{tail}") }
}

struct Found<'a> {
    path: &'a str,
    out: &'a mut Vec<Contradiction>,
}

impl Found<'_> {
    fn add(&mut self, key: &str, message: String, hint: Option<String>) {
        self.out.push(Contradiction { path: join(self.path, key), message, hint });
    }
}

/// Least and most of the same thing.
const BOUNDS: [(&str, &str); 6] = [
    ("minimum", "maximum"),
    ("minimum", "exclusiveMaximum"),
    ("exclusiveMinimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

fn crossing(schema: &Value, found: &mut Found<'_>) {
    for (least, most) in BOUNDS {
        let (Some(low), Some(high)) = (schema.get(least), schema.get(most)) else { continue };
        let touches = least.starts_with("exclusive") || most.starts_with("exclusive");
        let (Some(l), Some(h)) = (low.as_f64(), high.as_f64()) else { continue };
        if l > h || (touches && l >= h) {
            let hint = format!("write '{least}' below '{most}'");
            found.add(least, format!("'{least}' {low} and '{most}' {high} leave no value"), Some(hint));
        }
    }
}

fn choices(root: &Value, schema: &Value, found: &mut Found<'_>) {
    let Some(values) = schema.get("enum").and_then(Value::as_array) else { return };
    for (at, value) in values.iter().enumerate() {
        if let Some(first) = values[..at].iter().position(|earlier| earlier == value) {
            let hint = Some("take one of them out".to_owned());
            let (value, first) = (shape::plain(value), first + 1);
            found.add(
                &format!("enum/{at}"),
                format!("the value '{value}' stands here twice, first as number {first}"),
                hint,
            );
        }
    }
    let kinds = if schema.get("type").is_some() { shape::kinds(root, schema, 0) } else { Vec::new() };
    if !kinds.is_empty() && !values.is_empty() && !values.iter().any(|value| fits_kind(value, &kinds)) {
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let message = format!("no value of 'enum' is of type {}: nothing can be given", kinds.join(" or "));
        found.add("enum", message, Some("change the type or the values; quotes make text of a number".to_owned()));
    }
}

/// Keywords by which properties may be described elsewhere.
const ELSEWHERE: [&str; 8] =
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "patternProperties", "if", "dependentSchemas"];

fn may_be_elsewhere(schema: &Value) -> bool {
    ELSEWHERE.iter().any(|keyword| schema.get(keyword).is_some())
}

fn required(schema: &Value, found: &mut Found<'_>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    if may_be_elsewhere(schema) {
        return;
    }
    for (at, name) in schema.get("required").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let Some(name) = name.as_str().filter(|name| !properties.contains_key(*name)) else { continue };
        let near = contract::text::nearest(name, properties.keys().map(String::as_str));
        let hint = match near {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("describe '{name}' in 'properties', or take it out"),
        };
        found.add(
            &format!("required/{at}"),
            format!("'{name}' is required but not described in 'properties'"),
            Some(hint),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(schema: Value) -> Vec<String> {
        let said = |c: Contradiction| format!("{}: {}", c.path, c.message);
        contradictions(&schema).into_iter().map(said).collect()
    }

    #[test]
    fn bounds_that_cross_leave_nothing() {
        for (schema, expected) in [
            (json!({"minimum": 5, "maximum": 1}), vec!["minimum: 'minimum' 5 and 'maximum' 1 leave no value"]),
            (json!({"minimum": 5, "maximum": 5}), vec![]),
            (
                json!({"exclusiveMinimum": 5, "maximum": 5}),
                vec!["exclusiveMinimum: 'exclusiveMinimum' 5 and 'maximum' 5 leave no value"],
            ),
            (
                json!({"minLength": 1, "maxLength": 0}),
                vec!["minLength: 'minLength' 1 and 'maxLength' 0 leave no value"],
            ),
            (
                json!({"properties": {"a": {"minItems": 2, "maxItems": 1}}}),
                vec!["properties/a/minItems: 'minItems' 2 and 'maxItems' 1 leave no value"],
            ),
        ] {
            assert_eq!(said(schema), expected);
        }
    }

    #[test]
    fn a_value_stands_once_and_one_at_least_is_of_the_type() {
        assert_eq!(
            said(json!({"enum": ["a", "b", "a"]})),
            ["enum/2: the value 'a' stands here twice, first as number 1"]
        );
        assert!(said(json!({"enum": ["1", 1, 1.5]})).is_empty());
        assert_eq!(
            said(json!({"type": "string", "enum": [1, 2]})),
            ["enum: no value of 'enum' is of type string: nothing can be given"]
        );
        assert!(said(json!({"type": ["string", "null"], "enum": ["a", null]})).is_empty());
    }

    #[test]
    fn what_is_required_is_described_unless_it_may_be_elsewhere() {
        let there = json!({"properties": {"order_id": {}}, "required": ["ordr_id"]});
        assert_eq!(said(there.clone()), ["required/0: 'ordr_id' is required but not described in 'properties'"]);
        assert_eq!(contradictions(&there)[0].hint.as_deref(), Some("did you mean 'order_id'?"));
        let nested = json!({"properties": {"a": {"properties": {"b": {}}, "required": ["c"]}}});
        assert_eq!(said(nested).len(), 1);
        for fine in [
            json!({"required": ["a"]}),
            json!({"properties": {"b": {}}, "required": ["a"], "allOf": [{"properties": {"a": {}}}]}),
            json!({"properties": {"a": {}}, "anyOf": [{"properties": {"x": {}}, "required": ["a"]}]}),
            json!({"$defs": {"part": {"properties": {"x": {}}, "required": ["a"]}}}),
        ] {
            assert!(said(fine.clone()).is_empty(), "{fine}");
        }
    }

    #[test]
    fn a_hostile_schema_is_left_to_its_bounds() {
        let deep = (0..500).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
        assert!(contradictions(&deep).is_empty());
    }
}
