//! The bodies of messages: what a part becomes on the wire. Pure.

use contract::{Action, Address, Button, DeliveryKey, Locale, Part, text};
use serde_json::{Map, Value, json};

use crate::{inbound::Slip, intake::escape};

/// Under what name our key stands in a message.
const EVENT: &str = "toolgate_delivery";
const MOST_BLOCKS: usize = 50;
const MOST_BUTTONS: usize = 25;
const LONGEST_LABEL: usize = 75;
/// Characters of a section's text.
const LONGEST_SECTION: usize = 3_000;

/// A message in its place, with our key in it.
pub(crate) fn message(to: &Address, part: &Part, key: &DeliveryKey) -> Value {
    let mut body = content(part, Slip::of(&to.private).locale);
    place(&mut body, to);
    body["metadata"] = metadata(key);
    body
}

pub(crate) fn place(body: &mut Value, to: &Address) {
    body["channel"] = json!(to.conversation);
    if let Some(thread) = &to.thread {
        body["thread_ts"] = json!(thread);
    }
}

/// Text and blocks; without a `body` the plain form goes, unread.
pub(crate) fn content(part: &Part, locale: Locale) -> Value {
    let mut body = drawn(part).unwrap_or_else(|| plain(part, locale));
    let said = body["text"].as_str().is_some_and(|said| !said.trim().is_empty());
    if !said {
        body["text"] = json!(escape(&text::cut(&part.plain, LONGEST_SECTION)));
    }
    let mut blocks = body["blocks"].as_array().cloned().unwrap_or_default();
    if let Some(buttons) = actions(&part.buttons) {
        if blocks.is_empty() {
            blocks = sections(&part.plain);
        }
        blocks.truncate(MOST_BLOCKS - 1);
        blocks.push(buttons);
    }
    if let Some(body) = body.as_object_mut().filter(|_| blocks.is_empty()) {
        body.shift_remove("blocks");
    } else {
        body["blocks"] = Value::Array(blocks);
    }
    body["unfurl_links"] = json!(false);
    body["unfurl_media"] = json!(false);
    body
}

/// What stands above a file.
pub(crate) fn comment(part: &Part) -> String {
    let drawn = drawn(part).and_then(|body| Some(body["text"].as_str()?.to_owned()));
    drawn.unwrap_or_else(|| escape(&part.plain))
}

fn drawn(part: &Part) -> Option<Value> {
    let body: Map<String, Value> = serde_json::from_str(&part.body).ok()?;
    Some(Value::Object(body))
}

fn plain(part: &Part, locale: Locale) -> Value {
    let nothing = part.plain.trim().is_empty();
    let said = if nothing { words::no_output(locale) } else { part.plain.clone() };
    json!({"text": escape(&said), "mrkdwn": false})
}

/// A text as blocks, without markup: where there are blocks, nothing else is shown.
pub(crate) fn sections(said: &str) -> Vec<Value> {
    let chars: Vec<char> = said.chars().collect();
    let piece = |piece: &[char]| {
        let said: String = piece.iter().collect();
        (!said.trim().is_empty())
            .then(|| json!({"type": "section", "text": {"type": "plain_text", "text": said, "emoji": false}}))
    };
    chars.chunks(LONGEST_SECTION).filter_map(piece).collect()
}

/// The buttons in a row of their own; nothing when there are none.
pub(crate) fn actions(buttons: &[Button]) -> Option<Value> {
    let elements: Vec<Value> =
        buttons.iter().take(MOST_BUTTONS).enumerate().map(|(n, button)| element(n, button)).collect();
    (!elements.is_empty()).then(|| json!({"type": "actions", "elements": elements}))
}

fn element(n: usize, button: &Button) -> Value {
    let label = text::one_line(&button.label, LONGEST_LABEL);
    // A button without words is refused with the whole message.
    let label = if label.is_empty() { "…".to_owned() } else { label };
    let mut element = json!({
        "type": "button",
        "action_id": format!("toolgate:{n}"),
        "text": {"type": "plain_text", "text": label, "emoji": true},
        "value": button.action.to_string(),
    });
    match button.action {
        Action::Cancel(_) | Action::Deny(_) => element["style"] = json!("danger"),
        Action::Allow(_) => element["style"] = json!("primary"),
        Action::CancelCall(..)
        | Action::TryAgain(_)
        | Action::Details(_)
        | Action::AllowSession(_)
        | Action::DenyWhy(_) => {}
    }
    element
}

/// By which we recognise a message as ours, and as which.
pub(crate) fn metadata(key: &DeliveryKey) -> Value {
    json!({"event_type": EVENT, "event_payload": {"key": key.to_string()}})
}

/// The key that a message carries, if it is one of ours.
pub(crate) fn key_of(message: &Value) -> Option<&str> {
    let metadata = message.get("metadata").filter(|metadata| metadata["event_type"] == EVENT)?;
    metadata["event_payload"]["key"].as_str()
}

#[cfg(test)]
mod tests {
    use contract::{Audience, Platform, TurnId};

    use super::*;

    fn part(body: &str, said: &str, buttons: Vec<Button>) -> Part {
        Part { body: body.into(), plain: said.into(), buttons, files: Vec::new(), audience: Audience::Everyone }
    }

    fn turn() -> TurnId {
        "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("a turn")
    }

    fn button(label: &str, action: Action) -> Button {
        Button { label: label.into(), action }
    }

    #[test]
    fn a_message_goes_to_its_thread_and_carries_our_key() {
        let to = Address { thread: Some("1.1".into()), ..Address::new(Platform::Slack, "main", "C1") };
        let key = DeliveryKey { turn: turn(), n: 0, part: 2 };
        let drawn =
            part(r#"{"text":"hi","blocks":[{"type":"divider"}]}"#, "hi", vec![button("Stop", Action::Cancel(turn()))]);
        let body = message(&to, &drawn, &key);
        assert_eq!(key_of(&body), Some("01ARZ3NDEKTSV4RRFFQ69G5FAV.0.2"));
        expect_test::expect![[r#"{"text":"hi","blocks":[{"type":"divider"},{"type":"actions","elements":[{"type":"button","action_id":"toolgate:0","text":{"type":"plain_text","text":"Stop","emoji":true},"value":"cancel:01ARZ3NDEKTSV4RRFFQ69G5FAV","style":"danger"}]}],"unfurl_links":false,"unfurl_media":false,"channel":"C1","thread_ts":"1.1","metadata":{"event_type":"toolgate_delivery","event_payload":{"key":"01ARZ3NDEKTSV4RRFFQ69G5FAV.0.2"}}}"#]]
        .assert_eq(&body.to_string());
    }

    #[test]
    fn the_plain_form_is_not_read_as_markup() {
        let body = content(&part("", "a < b & *c* <!channel>", Vec::new()), Locale::En);
        assert_eq!(body["text"], "a &lt; b &amp; *c* &lt;!channel&gt;");
        assert_eq!((&body["mrkdwn"], &body["blocks"]), (&json!(false), &Value::Null));
        let long = "x".repeat(7_000);
        let body = content(&part("", &long, vec![button(" ", Action::Details(turn()))]), Locale::En);
        assert_eq!(body["blocks"].as_array().map(Vec::len), Some(4));
        assert_eq!(body["blocks"][3]["elements"][0]["text"]["text"], "…");
        let nothing = |locale| content(&part("", " ", Vec::new()), locale)["text"].clone();
        assert_eq!((nothing(Locale::En), nothing(Locale::ZhHans)), (json!("(no output)"), json!("（没有输出）")));
    }

    #[test]
    fn a_message_never_has_more_than_its_blocks() {
        let blocks = vec![json!({"type": "divider"}); 60];
        let drawn = part(
            &json!({"text": "t", "blocks": blocks}).to_string(),
            "t",
            vec![button("a", Action::Cancel(turn())); 40],
        );
        let body = content(&drawn, Locale::En);
        assert_eq!(body["blocks"].as_array().map(Vec::len), Some(50));
        assert_eq!(body["blocks"][49]["elements"].as_array().map(Vec::len), Some(25));
    }
}
