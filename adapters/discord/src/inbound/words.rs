//! What a message says in words, whatever part of it they stand in.

use serde_json::Value;

use super::text;

/// Parts of a component are looked for so deep; the platform's own are at most four deep.
const DEEPEST: u8 = 8;
const TEXT_DISPLAY: u64 = 10;

/// Content, or what stands in its place: a forwarded message, a poll, stickers, embeds, text components.
pub(super) fn of(message: &Value) -> String {
    let mut lines: Vec<String> = Vec::new();
    push(&mut lines, text(message, "content"));
    let said = lines.len();
    for snapshot in list(message, "message_snapshots") {
        push(&mut lines, Some(&of(&snapshot["message"])));
    }
    poll(&message["poll"], &mut lines);
    for sticker in list(message, "sticker_items") {
        push(&mut lines, text(sticker, "name").map(|name| format!(":{name}:")).as_deref());
    }
    for component in list(message, "components") {
        displayed(component, DEEPEST, &mut lines);
    }
    // Beside a text of its own an embed is a preview of what it links to.
    if said == 0 {
        list(message, "embeds").for_each(|embed| embedded(embed, &mut lines));
    }
    lines.join("\n")
}

fn poll(poll: &Value, lines: &mut Vec<String>) {
    push(lines, text(&poll["question"], "text"));
    for answer in list(poll, "answers") {
        push(lines, text(&answer["poll_media"], "text").map(|answer| format!("- {answer}")).as_deref());
    }
}

fn embedded(embed: &Value, lines: &mut Vec<String>) {
    push(lines, text(&embed["author"], "name"));
    push(lines, text(embed, "title"));
    push(lines, text(embed, "description"));
    for field in list(embed, "fields") {
        let (name, value) = (text(field, "name").unwrap_or_default(), text(field, "value").unwrap_or_default());
        push(lines, Some(&format!("{name}: {value}")));
    }
    push(lines, text(&embed["footer"], "text"));
}

fn displayed(component: &Value, depth: u8, lines: &mut Vec<String>) {
    if component["type"].as_u64() == Some(TEXT_DISPLAY) {
        push(lines, text(component, "content"));
    }
    if depth > 0 {
        list(component, "components").for_each(|inner| displayed(inner, depth - 1, lines));
    }
}

fn push(lines: &mut Vec<String>, line: Option<&str>) {
    lines.extend(line.filter(|line| !line.trim().is_empty()).map(str::to_owned));
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}
