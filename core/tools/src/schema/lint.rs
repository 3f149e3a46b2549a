//! What a schema allows but its author hardly means.

use jsonschema::Draft;
use serde_json::Value;

use super::{bounds, shape};

/// Most lints of one schema.
const MOST: usize = 50;

pub(super) fn lints(root: &Value) -> Vec<String> {
    let mut out = Vec::new();
    walk(root, root, "", &mut out);
    out.truncate(MOST);
    out
}

fn walk(root: &Value, schema: &Value, path: &str, out: &mut Vec<String>) {
    let at = if path.is_empty() { "the whole" } else { path.trim_start_matches('/') };
    let kinds = if schema.get("type").is_some() { shape::kinds(root, schema, 0) } else { Vec::new() };
    if kinds.contains(&shape::Kind::Array) && !["items", "prefixItems", "$ref"].iter().any(|k| schema.get(k).is_some())
    {
        out.push(format!("{at}: an array without 'items' takes anything; some model services refuse it"));
    }
    if let Some(map) = schema.get("properties").and_then(Value::as_object) {
        for (name, _) in map.iter().filter(|(_, s)| s.is_boolean()) {
            out.push(format!("{at}: the property '{name}' is only true or false; give it a type"));
        }
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(name) {
                out.push(format!("{at}: '{name}' is required but not described in 'properties'"));
            }
        }
    }
    if !kinds.is_empty() {
        for value in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
            if !fits_kind(value, &kinds) {
                out.push(format!("{at}: the enum value {value} contradicts the type and can never be given"));
            }
        }
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str)
        && format != "file"
        && !jsonschema::options().is_known_format(Draft::Draft202012, format)
    {
        out.push(format!("{at}: the format '{format}' is not known and not checked"));
    }
    for (_, tail, child) in bounds::subschemas(schema) {
        walk(root, child, &format!("{path}/{tail}"), out);
    }
    for (name, child) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        walk(root, child, &format!("{path}/$defs/{}", bounds::escape(name)), out);
    }
}

pub(super) fn fits_kind(value: &Value, kinds: &[shape::Kind]) -> bool {
    use shape::Kind;
    kinds.iter().any(|kind| match kind {
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0),
        Kind::Number => value.is_number(),
        Kind::String => value.is_string(),
        Kind::Array => value.is_array(),
        Kind::Object => value.is_object(),
    })
}
