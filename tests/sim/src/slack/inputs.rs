//! The inputs of views: what is seen of them, and what a person's values make of them.

use serde_json::{Map, Value, json};

use super::interact::{controls, options};
use super::people::{Outcome, refused};
use super::transcript::Field;

/// The inputs of a view.
pub fn fields(blocks: &Value) -> Vec<Field> {
    let inputs = controls(blocks).filter(|(_, element)| element["type"] != "button");
    inputs
        .map(|(block, element)| Field {
            block: block["block_id"].as_str().unwrap_or_default().to_owned(),
            action: element["action_id"].as_str().unwrap_or_default().to_owned(),
            label: block["label"]["text"].as_str().or(block["text"]["text"].as_str()).unwrap_or_default().to_owned(),
            kind: element["type"].as_str().unwrap_or_default().to_owned(),
            optional: block["optional"] == true || block["type"] != "input",
            value: shown(&initial(element)),
            options: options(element).filter_map(|option| option["text"]["text"].as_str()).map(str::to_owned).collect(),
        })
        .collect()
}

/// A value of the state as a person reads it.
fn shown(state: &Value) -> Value {
    let text = |option: &Value| option["text"]["text"].clone();
    match state {
        _ if state["selected_option"].is_object() => text(&state["selected_option"]),
        _ if state["selected_options"].is_array() => {
            state["selected_options"].as_array().into_iter().flatten().map(text).collect()
        }
        _ => state
            .as_object()
            .and_then(|state| state.iter().find(|(name, _)| *name != "type"))
            .map(|(_, value)| value.clone())
            .unwrap_or_default(),
    }
}

/// The field of the state that an element's value stands in.
fn slot(kind: &str) -> &'static str {
    match kind {
        "static_select" | "external_select" | "radio_buttons" | "overflow" => "selected_option",
        "multi_static_select" | "multi_external_select" | "checkboxes" => "selected_options",
        "datepicker" => "selected_date",
        "timepicker" => "selected_time",
        "datetimepicker" => "selected_date_time",
        "users_select" => "selected_user",
        "multi_users_select" => "selected_users",
        "conversations_select" => "selected_conversation",
        "multi_conversations_select" => "selected_conversations",
        "channels_select" => "selected_channel",
        "multi_channels_select" => "selected_channels",
        "rich_text_input" => "rich_text_value",
        "file_input" => "files",
        _ => "value",
    }
}

/// What stands in an element from the start.
pub fn initial(element: &Value) -> Value {
    let kind = element["type"].as_str().unwrap_or_default();
    let slot = slot(kind);
    let from = format!("initial_{}", slot.strip_prefix("selected_").unwrap_or(slot));
    let empty = if slot == "selected_options" { json!([]) } else { Value::Null };
    json!({"type": kind, slot: element.get(&from).cloned().unwrap_or(empty)})
}

/// The state of a view that a person filled in; what the client would not send off is refused.
pub fn filled(blocks: &Value, values: &Map<String, Value>) -> Outcome<Value> {
    let mut out = json!({});
    let mut known = 0;
    for (block, element) in controls(blocks).filter(|(_, element)| element["type"] != "button") {
        let names = [&block["block_id"], &element["action_id"], &block["label"]["text"]];
        let given = names.iter().filter_map(|name| name.as_str()).find_map(|name| values.get(name));
        known += usize::from(given.is_some());
        let label = block["label"]["text"].as_str().unwrap_or_default();
        let state = match given {
            Some(value) => state(element, value, label)?,
            None => initial(element),
        };
        let missing = state
            .as_object()
            .into_iter()
            .flatten()
            .all(|(name, value)| name == "type" || value.is_null() || value.as_array().is_some_and(Vec::is_empty));
        if block["type"] == "input" && block["optional"] != true && missing {
            return refused(400, format!("values: '{label}' is required"));
        }
        let (block, action) =
            (block["block_id"].as_str().unwrap_or_default(), element["action_id"].as_str().unwrap_or_default());
        out[block][action] = state;
    }
    if known < values.len() {
        return refused(400, "values: the view has no such input");
    }
    Ok(out)
}

fn state(element: &Value, value: &Value, label: &str) -> Outcome<Value> {
    let kind = element["type"].as_str().unwrap_or_default();
    let slot = slot(kind);
    let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let option = |wanted: &Value| -> Outcome<Value> {
        let wanted = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
        let found = options(element)
            .find(|option| option["value"] == wanted.as_str() || option["text"]["text"] == wanted.as_str());
        found.cloned().map_or_else(|| refused(400, format!("values: '{label}' has no option '{wanted}'")), Ok)
    };
    let filled = match slot {
        "selected_option" => option(value)?,
        "selected_options" => {
            let wanted = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            json!(wanted.iter().map(option).collect::<Outcome<Vec<_>>>()?)
        }
        "selected_date_time" => value.clone(),
        "value" if value.is_null() || value == "" => Value::Null,
        "value" => {
            typed(element, kind, &text(), label)?;
            json!(text())
        }
        "rich_text_value" => {
            json!({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": text()}]}]})
        }
        _ if value.is_array() => value.clone(),
        _ => json!(text()),
    };
    Ok(json!({"type": kind, slot: filled}))
}

/// What a client lets somebody type.
fn typed(element: &Value, kind: &str, text: &str, label: &str) -> Outcome<()> {
    let length = text.chars().count() as u64;
    let number = |name: &str| element[name].as_str().and_then(|value| value.parse::<f64>().ok());
    let wrong = match kind {
        "plain_text_input" if length < element["min_length"].as_u64().unwrap_or(0) => Some("is too short"),
        "plain_text_input" if length > element["max_length"].as_u64().unwrap_or(3_000) => Some("is too long"),
        "number_input" => match text.parse::<f64>() {
            Err(_) => Some("is not a number"),
            Ok(value) if value.fract() != 0.0 && element["is_decimal_allowed"] != true => Some("is not a whole number"),
            Ok(value) if number("min_value").is_some_and(|min| value < min) => Some("is too small"),
            Ok(value) if number("max_value").is_some_and(|max| value > max) => Some("is too large"),
            Ok(_) => None,
        },
        "email_text_input" if !text.contains('@') => Some("is not an address"),
        "url_text_input" if !text.contains("://") => Some("is not a link"),
        _ => None,
    };
    wrong.map_or(Ok(()), |wrong| refused(400, format!("values: '{label}' {wrong}")))
}
