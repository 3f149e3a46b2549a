//! What a request of Slack's holds: an event as JSON, a command as a form, an interaction as JSON in a field of one. Pure.

use serde_json::{Map, Value};

/// Which way something came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Event,
    Command,
    Interaction,
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Nothing when it cannot be read. What is no UTF-8 in a form is replaced: it never was anybody's word.
pub(crate) fn read(kind: &str, body: &[u8]) -> Option<(Door, Value)> {
    if !kind.starts_with(FORM) {
        return Some((Door::Event, serde_json::from_slice(body).ok()?));
    }
    let fields = || form_urlencoded::parse(body);
    if let Some((_, payload)) = fields().find(|(name, _)| name == "payload") {
        return Some((Door::Interaction, serde_json::from_str(&payload).ok()?));
    }
    let fields: Map<String, Value> =
        fields().map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect();
    Some((Door::Command, Value::Object(fields)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_request_is_read_as_what_it_is() {
        let read =
            |kind: &str, body: &str| read(kind, body.as_bytes()).map(|(door, payload)| (format!("{door:?}"), payload));
        assert_eq!(read("application/json", r#"{"type":"x"}"#), Some(("Event".into(), json!({"type": "x"}))));
        assert_eq!(
            read("application/x-www-form-urlencoded; charset=utf-8", "command=%2Fa&text=b+c%21"),
            Some(("Command".into(), json!({"command": "/a", "text": "b c!"})))
        );
        assert_eq!(read(FORM, "payload=%7B%22type%22%3A1%7D"), Some(("Interaction".into(), json!({"type": 1}))));
        assert_eq!((read(FORM, "payload=%7B"), read("", "no JSON")), (None, None));
    }
}
