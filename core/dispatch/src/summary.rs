//! Short, redacted summaries of arguments and results for nodes.

use std::fmt::Write;

use contract::node::{BODY_MAX, SUMMARY_MAX};
use serde_json::Value;

/// JSON in at most [`SUMMARY_MAX`] characters, values under telling names masked. Stops when it is full, so a large
/// value costs no more than a small one.
pub fn summary(value: &Value) -> String {
    let mut out = Short { text: String::with_capacity(64), left: SUMMARY_MAX - 1 };
    if write(value, &mut out).is_err() {
        out.text.push('…');
    }
    out.text
}

/// The same of a whole body: JSON with values under telling names masked, cut to [`BODY_MAX`].
pub fn whole(value: &Value) -> String {
    let mut masked = value.clone();
    mask(&mut masked, 0);
    let text = serde_json::to_string_pretty(&masked).unwrap_or_default();
    let mut end = text.len().min(BODY_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match end < text.len() {
        true => format!("{}\n… cut: {} bytes in all", &text[..end], text.len()),
        false => text,
    }
}

/// Deeper than arguments and results may be.
const DEEPEST: u32 = 256;

fn mask(value: &mut Value, depth: u32) {
    match value {
        _ if depth > DEEPEST => *value = Value::Null,
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                if is_secret(key) {
                    *value = Value::String("***".to_owned());
                } else {
                    mask(value, depth + 1);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a name tells that its value is secret.
pub fn is_secret(name: &str) -> bool {
    const TELLING: [&str; 9] =
        ["password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential", "private_key"];
    let name = name.to_ascii_lowercase().replace('-', "_");
    TELLING.iter().any(|t| name.contains(t))
}

struct Short {
    text: String,
    left: usize,
}

impl Write for Short {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        for c in s.chars() {
            if self.left == 0 {
                return Err(std::fmt::Error);
            }
            self.left -= 1;
            self.text.push(if c.is_control() { ' ' } else { c });
        }
        Ok(())
    }
}

fn write(value: &Value, out: &mut Short) -> std::fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(b) => write!(out, "{b}"),
        Value::Number(n) => write!(out, "{n}"),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.write_str("[")?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.write_str(", ")?;
                }
                write(item, out)?;
            }
            out.write_str("]")
        }
        Value::Object(map) => {
            out.write_str("{")?;
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.write_str(", ")?;
                }
                write!(out, "{key}: ")?;
                if is_secret(key) { out.write_str("***")? } else { write(value, out)? }
            }
            out.write_str("}")
        }
    }
}

fn write_text(text: &str, out: &mut Short) -> std::fmt::Result {
    out.write_str("\"")?;
    out.write_str(text)?;
    out.write_str("\"")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_summary_is_short_and_hides_what_a_name_gives_away() {
        assert_eq!(summary(&json!({"city":"上海","API-Key":"sk_live"})), "{city: \"上海\", API-Key: ***}");
        assert_eq!(summary(&json!("x".repeat(1_000))).chars().count(), SUMMARY_MAX);
    }
    #[test]
    fn a_whole_body_is_masked_by_name_and_bounded() {
        let value = json!({"rows": [{"id": 1, "access_token": ["a", "b"]}]});
        let text = whole(&value);
        assert!(text.contains("\"id\": 1") && text.contains("\"***\"") && !text.contains("\"a\""), "{text}");
        let text = whole(&json!("é".repeat(BODY_MAX)));
        assert!(text.len() < BODY_MAX + 64 && text.ends_with("bytes in all"));
    }
}
