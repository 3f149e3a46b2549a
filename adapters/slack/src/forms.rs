//! A form for a command's arguments: made from their schema, and what was filled into it. Pure.

use contract::{Action, Address, Locale, Problem, TurnId, records::ApprovalId, text as cut};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::inbound::{Slip, array, text};

/// Names the forms that are ours.
pub(crate) const OURS: &str = "toolgate_form";

const LONGEST_TITLE: usize = 24;
const LONGEST_LABEL: usize = 2_000;
const LONGEST_HINT: usize = 150;
const LONGEST_OPTION: usize = 75;
const LONGEST_VALUE: usize = 150;
const LONGEST_NAME: usize = 250;
const LONGEST_METADATA: usize = 3_000;
const LONGEST_TEXT: u64 = 3_000;
const MOST_OPTIONS: usize = 100;
const MOST_BLOCKS: usize = 100;
/// A text that may be longer than this is written on several lines.
const ONE_LINE: u64 = 200;
/// In place of a value that is too long to be an option's: its number in the schema.
const BY_NUMBER: char = '#';

/// The command that refuses a call, its reason, and as much of that as is kept.
const DENY: &str = "deny";
const WHY: &str = "why";
const LONGEST_REASON: u32 = 500;

/// What stands in a block's id: how its text is read.
const AS_TEXT: &str = "text:";
const AS_JSON: &str = "json:";

/// Where a form was asked for; it travels with the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    #[serde(rename = "n")]
    pub command: String,
    #[serde(rename = "c")]
    pub channel: String,
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(rename = "d", default)]
    pub direct: bool,
    #[serde(rename = "s", default)]
    pub slip: Slip,
    /// Arguments that are known and have no field.
    #[serde(rename = "k", default, skip_serializing_if = "Map::is_empty")]
    pub known: Map<String, Value>,
}

impl Origin {
    pub(crate) fn new(command: &str, address: &Address) -> Self {
        Self {
            command: command.to_owned(),
            channel: address.conversation.clone(),
            thread: address.thread.clone(),
            direct: address.direct,
            slip: Slip::of(&address.private),
            known: Map::new(),
        }
    }

    /// Nothing when the form is not ours.
    pub(crate) fn of(view: &Value) -> Option<Self> {
        let written = text(view, "private_metadata").filter(|_| text(view, "callback_id") == Some(OURS))?;
        serde_json::from_str(written).ok()
    }
}

/// What was typed before the form was asked for.
pub(crate) struct Begun<'a> {
    pub known: &'a Map<String, Value>,
    pub problems: &'a [Problem],
}

impl Begun<'_> {
    /// What is wrong with what was typed for an argument: Slack refuses a form with it in the field.
    fn wrong(&self, name: &str) -> Option<&Problem> {
        let of_field = |problem: &&Problem| problem.path.split('/').next() == Some(name) && problem.got.is_some();
        self.problems.iter().find(of_field)
    }
}

/// A form for the arguments of a schema, what is known of them and good filled in. Nothing when there is nothing to fill
/// in, or more than a form can hold.
pub(crate) fn modal(origin: &Origin, schema: &Value, begun: &Begun<'_>, locale: Locale) -> Option<Value> {
    let metadata = serde_json::to_string(origin).ok().filter(|written| written.len() <= LONGEST_METADATA)?;
    let properties = schema.get("properties")?.as_object()?;
    // A file comes with a message and is not typed.
    let fields: Vec<_> = properties.iter().filter(|(_, schema)| !is_file(schema)).collect();
    if fields.is_empty() {
        return None;
    }
    let required: Vec<&str> = array(schema, "required").iter().filter_map(Value::as_str).collect();
    let (first, rest): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| required.contains(&name.as_str()));
    if first.len() > MOST_BLOCKS || properties.keys().any(|name| name.len() > LONGEST_NAME) {
        return None;
    }
    let blocks: Vec<Value> = first
        .into_iter()
        .map(|field| (field, false))
        .chain(rest.into_iter().map(|field| (field, true)))
        .take(MOST_BLOCKS)
        .map(|((name, schema), optional)| input(name, schema, optional, begun, locale))
        .collect();
    Some(json!({
        "type": "modal",
        "callback_id": OURS,
        "private_metadata": metadata,
        "title": plain(&origin.command, LONGEST_TITLE),
        "submit": plain(&words::send(locale), LONGEST_TITLE),
        // Whose turn it would be does not change what the button says.
        "close": plain(&words::button(Action::Cancel(TurnId::new()), locale), LONGEST_TITLE),
        "blocks": blocks,
    }))
}

/// A form that asks why a call is refused.
pub(crate) fn reason(approval: ApprovalId, address: &Address, locale: Locale) -> Option<Value> {
    let known = Map::from_iter([("id".to_owned(), json!(approval.to_string()))]);
    let origin = Origin { known, ..Origin::new(DENY, address) };
    let title = words::button(Action::DenyWhy(approval), locale);
    let schema = json!({ "type": "object", "required": [WHY], "properties": {
        WHY: { "type": "string", "title": words::approval_reason(locale), "maxLength": LONGEST_REASON } } });
    let mut view = modal(&origin, &schema, &Begun { known: &Map::new(), problems: &[] }, locale)?;
    view["title"] = plain(&title, LONGEST_TITLE);
    Some(view)
}

/// Arguments that were typed as `name=value`, as far as a form can take them over; nothing when they were written in
/// another way, which only the core reads.
pub(crate) fn pairs(typed: &str, schema: &Value) -> Option<Map<String, Value>> {
    let known = |name: &str| schema.get("properties").and_then(|all| all.get(name)).is_some();
    let mut pairs = Map::new();
    for word in typed.split_whitespace() {
        let (name, value) = word.split_once('=').filter(|(name, value)| known(name) && !value.contains('"'))?;
        let is_text = schema["properties"][name]["type"] == "string";
        let read = if is_text { None } else { serde_json::from_str(value).ok() };
        pairs.insert(name.to_owned(), read.unwrap_or_else(|| json!(value)));
    }
    Some(pairs)
}

/// What was filled in, by the arguments' names; what was left empty is absent. Nothing is checked here.
pub(crate) fn filled(view: &Value) -> Map<String, Value> {
    let blocks = view.get("state").and_then(|state| state.get("values")).and_then(Value::as_object);
    let fields = blocks.into_iter().flatten();
    let values = fields.flat_map(|(block, fields)| {
        fields
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(move |(name, field)| Some((name.clone(), read(block, field)?)))
    });
    values.collect()
}

/// The problems of what was filled in, each at its field; one that concerns none of them stands at the first.
pub(crate) fn errors(view: &Value, problems: &[Problem], locale: Locale) -> Map<String, Value> {
    let blocks = array(view, "blocks");
    let block_of = |field: &str| {
        let is_it = |block: &&Value| block.get("element").and_then(|e| text(e, "action_id")) == Some(field);
        blocks.iter().find(is_it).or(blocks.first()).and_then(|block| text(block, "block_id"))
    };
    let mut errors = Map::new();
    for problem in problems {
        let field = problem.path.split('/').next().unwrap_or_default();
        let Some(block) = block_of(field) else { continue };
        errors.entry(block).or_insert_with(|| json!(cut::one_line(&words::expected(problem, locale), 300)));
    }
    errors
}

fn input(name: &str, schema: &Value, optional: bool, begun: &Begun<'_>, locale: Locale) -> Value {
    let wrong = begun.wrong(name);
    let known = begun.known.get(name).or_else(|| schema.get("default")).filter(|_| wrong.is_none());
    let (element, reading) = element(name, schema, known, locale);
    let mut block = json!({
        "type": "input",
        "block_id": format!("{reading}{name}"),
        "optional": optional,
        "label": plain(text(schema, "title").unwrap_or(name), LONGEST_LABEL),
        "element": element,
    });
    let hint = wrong.map(|problem| words::expected(problem, locale));
    if let Some(hint) = hint.as_deref().or_else(|| text(schema, "description")) {
        block["hint"] = plain(hint, LONGEST_HINT);
    }
    block
}

/// The element for a value of the schema, and how what is typed into it is read.
fn element(name: &str, schema: &Value, known: Option<&Value>, locale: Locale) -> (Value, &'static str) {
    let kind =
        text(schema, "type").or_else(|| array(schema, "type").iter().filter_map(Value::as_str).find(|t| *t != "null"));
    let choices = array(schema, "enum");
    let mut element = match kind {
        _ if fits(choices) => select(choices, known),
        Some("array") => match schema.get("items").map(|items| array(items, "enum")) {
            Some(choices) if fits(choices) => many(choices, known),
            _ => return (typed("plain_text_input", name, schema, known, true), AS_JSON),
        },
        Some("boolean") => flag(known, locale),
        Some("integer" | "number") => number(schema, kind == Some("number"), known),
        Some("string") | None if kind.is_some() || !choices.is_empty() => match text(schema, "format") {
            Some("date") => json!({"type": "datepicker"}),
            Some("uri" | "url") => typed("url_text_input", name, schema, known, false),
            Some("email") => typed("email_text_input", name, schema, known, false),
            _ => typed("plain_text_input", name, schema, known, is_long(schema)),
        },
        _ => return (typed("plain_text_input", name, schema, known, true), AS_JSON),
    };
    element["action_id"] = json!(name);
    if element["type"] == "datepicker"
        && let Some(date) = known.and_then(Value::as_str).filter(|date| date.len() == 10)
    {
        element["initial_date"] = json!(date);
    }
    (element, AS_TEXT)
}

fn fits(choices: &[Value]) -> bool {
    (1..=MOST_OPTIONS).contains(&choices.len())
}

fn is_file(schema: &Value) -> bool {
    let kind = schema["contentMediaType"].as_str().unwrap_or_default();
    let is_binary = ["image/", "audio/", "video/"].iter().any(|start| kind.starts_with(start))
        || ["application/octet-stream", "application/pdf", "application/zip"].contains(&kind);
    let is_one = |schema: &Value| schema["format"] == "file" || (is_binary && schema["contentEncoding"].is_null());
    is_one(schema) || is_one(&schema["items"])
}

fn is_long(schema: &Value) -> bool {
    schema["maxLength"].as_u64().is_some_and(|most| most > ONE_LINE) || text(schema, "contentMediaType").is_some()
}

fn typed(kind: &str, name: &str, schema: &Value, known: Option<&Value>, is_long: bool) -> Value {
    let mut element = json!({"type": kind, "action_id": name});
    if kind == "plain_text_input" {
        element["multiline"] = json!(is_long);
        for (ours, theirs) in [("minLength", "min_length"), ("maxLength", "max_length")] {
            if let Some(length) = schema[ours].as_u64().filter(|length| (1..=LONGEST_TEXT).contains(length)) {
                element[theirs] = json!(length);
            }
        }
    }
    if let Some(known) = known {
        element["initial_value"] = json!(known.as_str().map_or_else(|| known.to_string(), str::to_owned));
    }
    element
}

fn number(schema: &Value, is_decimal: bool, known: Option<&Value>) -> Value {
    let mut element = json!({"type": "number_input", "is_decimal_allowed": is_decimal});
    for (ours, theirs) in [("minimum", "min_value"), ("maximum", "max_value")] {
        if schema[ours].is_number() {
            element[theirs] = json!(schema[ours].to_string());
        }
    }
    if let Some(known) = known.filter(|known| known.is_number()) {
        element["initial_value"] = json!(known.to_string());
    }
    element
}

fn flag(known: Option<&Value>, locale: Locale) -> Value {
    let option =
        |yes: bool| json!({"text": plain(&words::yes_or_no(yes, locale), LONGEST_OPTION), "value": yes.to_string()});
    let mut element = json!({"type": "radio_buttons", "options": [option(true), option(false)]});
    if let Some(known) = known.and_then(Value::as_bool) {
        element["initial_option"] = option(known);
    }
    element
}

fn select(choices: &[Value], known: Option<&Value>) -> Value {
    let options = options(choices);
    let mut element = json!({"type": "static_select", "options": options});
    if let Some(at) = known.and_then(|known| choices.iter().position(|choice| choice == known)) {
        element["initial_option"] = options[at].clone();
    }
    element
}

fn many(choices: &[Value], known: Option<&Value>) -> Value {
    let options = options(choices);
    let known = known.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let chosen: Vec<_> =
        choices.iter().zip(&options).filter(|(choice, _)| known.contains(choice)).map(|(_, o)| o).collect();
    let mut element = json!({"type": "multi_static_select", "options": options});
    if !chosen.is_empty() {
        element["initial_options"] = json!(chosen);
    }
    element
}

/// The value is written as JSON, so that its type comes back.
fn options(choices: &[Value]) -> Vec<Value> {
    let option = |(n, choice): (usize, &Value)| {
        let shown = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
        let written = choice.to_string();
        let value = if written.len() <= LONGEST_VALUE { written } else { format!("{BY_NUMBER}{n}") };
        json!({"text": plain(&shown, LONGEST_OPTION), "value": value})
    };
    choices.iter().enumerate().map(option).collect()
}

/// A text of Slack's that has no markup; never empty, which it refuses.
fn plain(words: &str, most: usize) -> Value {
    let words = cut::one_line(words, most);
    json!({"type": "plain_text", "text": if words.is_empty() { "…" } else { &words }})
}

fn read(block: &str, field: &Value) -> Option<Value> {
    match text(field, "type")? {
        "static_select" | "radio_buttons" => chosen(field.get("selected_option")?),
        "multi_static_select" | "checkboxes" => {
            let all: Vec<_> = array(field, "selected_options").iter().filter_map(chosen).collect();
            (!all.is_empty()).then(|| Value::Array(all))
        }
        "datepicker" => text(field, "selected_date").map(Value::from),
        "number_input" => text(field, "value")
            .map(|typed| typed.parse::<serde_json::Number>().map_or_else(|_| json!(typed), Value::Number)),
        _ => {
            let typed = text(field, "value")?;
            let meant = block.starts_with(AS_JSON).then(|| structured(typed)).flatten();
            Some(meant.unwrap_or_else(|| json!(typed)))
        }
    }
}

fn chosen(option: &Value) -> Option<Value> {
    let value = text(option, "value")?;
    match value.strip_prefix(BY_NUMBER) {
        // Too long to be an option's value: the text that was shown is the best that is left of it.
        Some(_) => option.get("text").and_then(|shown| text(shown, "text")).map(Value::from),
        None => Some(serde_json::from_str(value).unwrap_or_else(|_| json!(value))),
    }
}

/// JSON, or a list with an item on each line.
fn structured(typed: &str) -> Option<Value> {
    let trimmed = typed.trim();
    if trimmed.starts_with(['[', '{']) {
        return serde_json::from_str(trimmed).ok();
    }
    let items = trimmed.lines().map(str::trim).filter(|line| !line.is_empty());
    Some(
        items
            .map(|item| {
                serde_json::from_str::<Value>(item).ok().filter(Value::is_number).unwrap_or_else(|| json!(item))
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests;
