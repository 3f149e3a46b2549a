//! Reading of JSON in which anything may be missing or of another type.

use serde_json::Value;

/// The integer at a path of keys; also one that is written as a float or a string.
pub(crate) fn int(value: &Value, path: &[&str]) -> Option<i64> {
    let found = at(value, path)?;
    found.as_i64().or_else(|| found.as_str()?.parse().ok())
}

/// The text at a path of keys.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// What of a message is about it, not in it.
const ABOUT: [&str; 26] = [
    "message_id",
    "from",
    "chat",
    "sender_chat",
    "sender_business_bot",
    "date",
    "edit_date",
    "reply_to_message",
    "reply_to_story",
    "external_reply",
    "quote",
    "forward_origin",
    "forward_from",
    "forward_from_chat",
    "via_bot",
    "entities",
    "caption_entities",
    "link_preview_options",
    "reply_markup",
    "pinned_message",
    "new_chat_title",
    "new_chat_members",
    "left_chat_member",
    "forum_topic_created",
    "forum_topic_edited",
    "direct_messages_topic",
];

/// Keys whose texts a person wrote or would read.
const WORDS: [&str; 14] = [
    "text",
    "caption",
    "question",
    "title",
    "description",
    "explanation",
    "name",
    "address",
    "emoji",
    "phone_number",
    "first_name",
    "last_name",
    "data",
    "prize_description",
];

const DEEPEST: usize = 6;
const MOST: usize = 8_192;

/// The words in a message that has neither text nor caption: a poll's question and answers, a place, a contact, and
/// whatever kinds come later.
pub(super) fn words(message: &Value) -> String {
    let mut out = Vec::new();
    for (key, value) in message.as_object().into_iter().flatten() {
        if !ABOUT.contains(&key.as_str()) {
            collect(value, &mut out, DEEPEST);
        }
    }
    if let (Some(latitude), Some(longitude)) =
        (message["location"]["latitude"].as_f64(), message["location"]["longitude"].as_f64())
    {
        out.push(format!("{latitude}, {longitude}"));
    }
    if let (Some(emoji), Some(value)) = (text(message, &["dice", "emoji"]), int(message, &["dice", "value"])) {
        out = vec![format!("{emoji} {value}")];
    }
    if let Some(story) = message.get("story").filter(|story| story.is_object()) {
        let whose = text(story, &["chat", "title"]).or_else(|| text(story, &["chat", "first_name"]));
        out = vec![whose.map_or("(a story)".to_owned(), |whose| format!("(a story of {whose})"))];
    }
    out.dedup();
    let mut joined = out.join("\n");
    if joined.len() > MOST {
        joined.truncate(joined.floor_char_boundary(MOST));
    }
    joined
}

fn collect(value: &Value, out: &mut Vec<String>, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(words) if WORDS.contains(&key.as_str()) && !words.is_empty() => out.push(words.to_owned()),
                    Some(_) => {}
                    None if is_about(key) => {}
                    None => collect(value, out, depth - 1),
                }
            }
        }
        Value::Array(items) => items.iter().take(100).for_each(|item| collect(item, out, depth - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_about(key: &str) -> bool {
    ABOUT.contains(&key) || matches!(key, "user" | "chats" | "thumbnail" | "winners")
}
