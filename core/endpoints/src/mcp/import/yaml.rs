//! A value as YAML that a person likes to read and to change.

use serde_json::{Map, Value};

/// What is longer than this goes on lines of its own.
const WIDTH: usize = 100;

/// A key of a document with its value.
pub fn key(name: &str, value: &Value) -> String {
    let mut out = String::new();
    entry(name, value, 0, &mut out);
    out
}

fn entry(name: &str, value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    let name = scalar(name);
    let short = flow(value);
    let is_short = indent + name.len() + short.len() + 2 <= WIDTH;
    match value {
        Value::String(text) if text.contains('\n') && fits_a_block(text) => {
            out.push_str(&format!("{pad}{name}: |-\n"));
            for line in text.lines() {
                let gap = if line.is_empty() { "" } else { "  " };
                out.push_str(&format!("{}{gap}{line}\n", if line.is_empty() { "" } else { &pad }));
            }
        }
        Value::Object(fields) if !fields.is_empty() && (!is_short || is_outline(fields, indent)) => {
            out.push_str(&format!("{pad}{name}:\n"));
            fields.iter().for_each(|(name, value)| entry(name, value, indent + 2, out));
        }
        Value::Array(items) if !items.is_empty() && !is_short => {
            out.push_str(&format!("{pad}{name}:\n"));
            items.iter().for_each(|value| item(value, indent + 2, out));
        }
        _ => out.push_str(&format!("{pad}{name}: {short}\n")),
    }
}

fn item(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() && flow(value).len() + indent > WIDTH => {
            let mut inner = String::new();
            fields.iter().for_each(|(name, value)| entry(name, value, indent + 2, &mut inner));
            // The first key stands beside the dash.
            out.push_str(&format!("{pad}- {}", inner.trim_start()));
        }
        _ => out.push_str(&format!("{pad}- {}\n", flow(value))),
    }
}

/// Properties are read one by one, so they stand below each other.
fn is_outline(fields: &Map<String, Value>, indent: usize) -> bool {
    indent == 0 && fields.contains_key("properties") || fields.values().filter(|value| value.is_object()).count() > 1
}

/// In one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) if fields.is_empty() => "{}".into(),
        Value::Object(fields) => {
            let pairs: Vec<_> =
                fields.iter().map(|(name, value)| format!("{}: {}", scalar(name), flow(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

/// Bare where nothing else could be meant, else in double quotes.
fn scalar(text: &str) -> String {
    const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_bare = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' '))
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_bare {
        return text.to_owned();
    }
    let quoted = Value::from(text).to_string();
    // These end a line for some readers of YAML, or are not to be seen.
    let is_odd = |c: char| ('\u{7f}'..='\u{9f}').contains(&c) || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    let escaped = |c: char| if is_odd(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    quoted.chars().map(escaped).collect()
}

/// Whether a text comes back as it is from a block: no line that begins with a space, nothing that is not to be seen.
fn fits_a_block(text: &str) -> bool {
    let is_plain = |c: char| c == '\n' || (!c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'));
    text.chars().all(is_plain)
        && !text.starts_with([' ', '\n'])
        && !text.ends_with('\n')
        && text.lines().all(|line| line.trim_end() == line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn back(text: &str) -> Value {
        serde_saphyr::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["[ -~]{0,12}", "\\PC{0,8}", "[a-z ]{0,6}\n[a-z: #-]{0,9}", Just("yes".to_owned())];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-z$ :-]{1,20}", inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(value in any_value()) {
            let text = key("parameters", &value);
            prop_assert_eq!(&back(&text)["parameters"], &value, "{}", text);
        }
    }

    #[test]
    fn a_schema_is_written_as_a_person_would() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where it is: relative to the folder" },
                "edits": { "type": "array", "items": { "type": "object", "properties": { "old": { "type": "string" },
                    "new": { "type": "string", "description": "What stands in its place afterwards, line by line" } } } },
            },
            "required": ["path"],
        });
        expect_test::expect![[r#"
            parameters:
              type: object
              properties:
                path: { type: string, description: "Where it is: relative to the folder" }
                edits:
                  type: array
                  items:
                    type: object
                    properties:
                      old: { type: string }
                      new: { type: string, description: "What stands in its place afterwards, line by line" }
              required: [path]
            description: |-
              a

              b: c
        "#]]
        .assert_eq(&(key("parameters", &schema) + &key("description", &json!("a\n\nb: c"))));
    }
}
