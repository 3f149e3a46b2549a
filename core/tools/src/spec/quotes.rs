//! Words without quotes that other readers of YAML take for something else, or that lose a digit.

use policies::tree::{Kind, Node, Place, Scalar};
use serde_json::Value;

use super::fields::Diagnosis;

/// Below these keys of a schema, an example or an endpoint people write values; elsewhere names of ours.
const VALUES: [&str; 7] = ["enum", "const", "default", "examples", "args", "headers", "result"];

/// What is said of one document.
pub fn unquoted(root: &Node, found: &mut Diagnosis) {
    for key in ["parameters", "returns", "examples", "endpoint"] {
        if let Some(node) = root.get(key) {
            walk(node, VALUES.contains(&key), found);
        }
    }
}

fn walk(node: &Node, is_value: bool, found: &mut Diagnosis) {
    match &node.kind {
        Kind::Scalar(scalar) if is_value && scalar.is_plain => told(scalar, node.at, found),
        Kind::Scalar(_) => {}
        Kind::Seq(items) => items.iter().for_each(|item| walk(item, is_value, found)),
        Kind::Map(entries) => {
            for (key, inner) in entries {
                walk(inner, is_value || VALUES.contains(&&*key.name), found);
            }
        }
    }
}

fn told(scalar: &Scalar, at: Place, found: &mut Diagnosis) {
    let text = &*scalar.text;
    let taken_for = match scalar.value() {
        Value::Number(number) if text.contains('.') && text.ends_with('0') && number.to_string() != text => {
            let message = format!("'{text}' is read as the number {number}");
            return found.warning_hint(at, message, "put it in quotes if it is a text, such as a version".to_owned());
        }
        Value::String(_) if is_word_for_bool(text) => "for true or false",
        Value::String(_) if is_date(text) => "for a date",
        Value::String(_) if is_base_sixty(text) => "for a number",
        _ => return,
    };
    let message = format!("'{text}' is read as text here; other readers of YAML take it {taken_for}");
    found.warning_hint(at, message, "put it in quotes".to_owned());
}

fn is_word_for_bool(text: &str) -> bool {
    ["on", "off", "yes", "no", "y", "n"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// `2026-12-01`, with or without a time behind it.
fn is_date(text: &str) -> bool {
    let digits = |at: std::ops::Range<usize>| text.get(at).is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()));
    text.len() >= 10
        && text.is_ascii()
        && digits(0..4)
        && digits(5..7)
        && digits(8..10)
        && (&text[4..5], &text[7..8]) == ("-", "-")
        && text[10..].chars().next().is_none_or(|next| matches!(next, 'T' | 't' | ' '))
}

/// `12:30`: hours and minutes to people.
fn is_base_sixty(text: &str) -> bool {
    let mut parts = text.split(':');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.next().is_some_and(is_number) && text.contains(':') && parts.all(|part| part.len() == 2 && is_number(part))
}
