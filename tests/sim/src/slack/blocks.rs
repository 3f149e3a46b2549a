//! Blocks against the platform's rules: which fields they have, how long and how many those may be.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cast::id;
use super::elements;
use super::error::ApiError;
use super::richcheck;

/// The most blocks of a message and of a view.
const MOST_MESSAGE: usize = 50;
const MOST_VIEW: usize = 100;
/// The characters of all Markdown blocks of a message, and of all its blocks; the second is nowhere documented and was measured.
const MOST_MARKDOWN: usize = 12_000;
const MOST_CHARS: usize = 13_200;

/// Where blocks stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    Message,
    Modal,
    Home,
}

/// What was found wrong so far, each with the place where it stands.
#[derive(Debug)]
pub struct Check {
    pub surface: Surface,
    pub wrong: Vec<String>,
    actions: BTreeSet<(String, String)>,
    focused: bool,
}

impl Check {
    fn new(surface: Surface) -> Self {
        Self { surface, wrong: Vec::new(), actions: BTreeSet::new(), focused: false }
    }

    pub fn error(&mut self, at: &str, what: impl std::fmt::Display) {
        self.wrong.push(format!("{what} [json-pointer:{at}]"));
    }

    /// Refuses fields that the object does not have, and asks for those it cannot do without.
    pub fn fields(&mut self, object: &Value, at: &str, needed: &[&str], optional: &[&str]) {
        for name in object.as_object().into_iter().flat_map(|object| object.keys()) {
            if name != "type" && !needed.contains(&name.as_str()) && !optional.contains(&name.as_str()) {
                self.error(at, format!("invalid additional property: {name}"));
            }
        }
        for name in needed {
            if object.get(*name).is_none_or(Value::is_null) {
                self.error(at, format!("missing required field: {name}"));
            }
        }
    }

    /// A string within its bounds; without one nothing is said.
    pub fn string(&mut self, object: &Value, at: &str, name: &str, most: usize) {
        let Some(value) = object.get(name).filter(|value| !value.is_null()) else { return };
        let at = format!("{at}/{name}");
        match value.as_str() {
            None => self.error(&at, "must be a string"),
            Some("") => self.error(&at, "must be more than 0 characters"),
            Some(text) if text.chars().count() > most => {
                self.error(&at, format!("must be less than {} characters", most + 1))
            }
            Some(_) => {}
        }
    }

    /// A list within its bounds; an empty one is returned for anything else.
    pub fn list<'a>(&mut self, object: &'a Value, at: &str, name: &str, most: usize) -> &'a [Value] {
        let Some(value) = object.get(name).filter(|value| !value.is_null()) else { return &[] };
        let at = format!("{at}/{name}");
        match value.as_array() {
            None => self.error(&at, "must be an array"),
            Some(list) if list.is_empty() => self.error(&at, "no fewer than 1 items allowed"),
            Some(list) if list.len() > most => self.error(&at, format!("no more than {most} items allowed")),
            Some(list) => return list,
        }
        &[]
    }

    /// A text object: of the kinds that are allowed, and within its bound.
    pub fn text(&mut self, object: &Value, at: &str, name: &str, most: usize, plain_only: bool) {
        let Some(text) = object.get(name).filter(|value| !value.is_null()) else { return };
        self.text_object(text, &format!("{at}/{name}"), most, plain_only);
    }

    pub fn text_object(&mut self, text: &Value, at: &str, most: usize, plain_only: bool) {
        match text["type"].as_str() {
            Some("plain_text") => self.fields(text, at, &["text"], &["emoji"]),
            Some("mrkdwn") if !plain_only => self.fields(text, at, &["text"], &["verbatim"]),
            _ => return self.error(at, format!("unsupported type: {}", text["type"].as_str().unwrap_or("none"))),
        }
        self.string(text, at, "text", most);
    }

    /// The cursor stands in one element when a view opens.
    pub fn focus(&mut self, at: &str) {
        if self.focused {
            self.error(&format!("{at}/focus_on_load"), "only one element may have the focus");
        }
        self.focused = true;
    }

    /// An id that is used once among its like.
    pub fn action(&mut self, block: &str, element: &Value, at: &str) {
        self.string(element, at, "action_id", 255);
        if let Some(action) = element["action_id"].as_str()
            && !self.actions.insert((block.to_owned(), action.to_owned()))
        {
            self.error(at, format!("`action_id` \"{action}\" already exists for `block_id` \"{block}\""));
        }
    }
}

/// Checks the blocks of a message and gives ids to those without.
pub fn check_message(list: &mut [Value]) -> Result<(), ApiError> {
    let mut check = Check::new(Surface::Message);
    if list.len() > MOST_MESSAGE {
        check.error("/blocks", format!("no more than {MOST_MESSAGE} items allowed"));
    }
    name_all(list);
    check_all(&mut check, list, "/blocks");
    if list.iter().filter(|block| block["type"] == "table").count() > 1 {
        return Err(ApiError::broken("invalid_attachments").reasons(&["only_one_table_allowed".to_owned()]));
    }
    if !check.wrong.is_empty() {
        return Err(ApiError::broken("invalid_blocks").with("errors", check.wrong.clone()).reasons(&check.wrong));
    }
    let markdown: usize = list.iter().filter(|block| block["type"] == "markdown").map(characters).sum();
    let all: usize = list.iter().map(characters).sum();
    if markdown > MOST_MARKDOWN || all > MOST_CHARS {
        return Err(ApiError::broken("msg_blocks_too_long"));
    }
    Ok(())
}

/// All characters of texts inside.
fn characters(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) if name == "text" => text.chars().count(),
                other => characters(other),
            })
            .sum(),
        _ => 0,
    }
}

/// Gives every block and element an id that has none.
fn name_all(list: &mut [Value]) {
    for (number, block) in list.iter_mut().enumerate() {
        let Some(fields) = block.as_object_mut() else { continue };
        let name = id("", &format!("block {number}"))[..5].to_owned();
        fields.entry("block_id").or_insert_with(|| json!(name));
        let Value::Object(fields) = block else { continue };
        if let Some(elements) = fields.get_mut("elements").and_then(Value::as_array_mut) {
            elements.iter_mut().enumerate().for_each(|(number, element)| name_element(element, number));
        }
        for name in ["accessory", "element"] {
            fields.get_mut(name).into_iter().for_each(|element| name_element(element, 0));
        }
    }
}

fn name_element(element: &mut Value, number: usize) {
    let kind = element["type"].as_str().unwrap_or_default();
    if matches!(kind, "" | "image" | "mrkdwn" | "plain_text")
        || kind.starts_with("rich_text_") && kind != "rich_text_input"
    {
        return;
    }
    if let Some(fields) = element.as_object_mut() {
        fields.entry("action_id").or_insert_with(|| json!(id("", &format!("action {number}"))[..5].to_owned()));
    }
}

fn check_all(check: &mut Check, list: &[Value], at: &str) {
    let mut ids = BTreeSet::new();
    for (number, block) in list.iter().enumerate() {
        let at = format!("{at}/{number}");
        if !block.is_object() {
            check.error(&at, "must be an object");
            continue;
        }
        check.string(block, &at, "block_id", 255);
        if let Some(id) = block["block_id"].as_str()
            && !ids.insert(id)
        {
            check.error(&at, format!("`block_id` \"{id}\" already exists"));
        }
        check_block(check, block, &at);
    }
}

fn check_block(check: &mut Check, block: &Value, at: &str) {
    let kind = block["type"].as_str().unwrap_or_default();
    let message = check.surface == Surface::Message;
    match kind {
        "section" => section(check, block, at),
        "header" => {
            check.fields(block, at, &["text"], &["block_id", "level"]);
            check.text(block, at, "text", 150, true);
        }
        "divider" => check.fields(block, at, &[], &["block_id"]),
        "image" => image(check, block, at, true),
        "context" => context(check, block, at),
        "actions" => {
            check.fields(block, at, &["elements"], &["block_id"]);
            let id = block["block_id"].as_str().unwrap_or_default();
            for (number, element) in check.list(block, at, "elements", 25).iter().enumerate() {
                elements::check(check, id, element, &format!("{at}/elements/{number}"), elements::Spot::Actions);
            }
        }
        "input" => input(check, block, at),
        "markdown" if message => {
            check.fields(block, at, &["text"], &["block_id"]);
            check.string(block, at, "text", MOST_MARKDOWN);
        }
        "table" if message => richcheck::table(check, block, at),
        "rich_text" => {
            check.fields(block, at, &["elements"], &["block_id"]);
            richcheck::rich_text(check, block, at);
        }
        "context_actions" if message => {
            check.fields(block, at, &["elements"], &["block_id"]);
            check.list(block, at, "elements", 5);
        }
        "video" => check.fields(
            block,
            at,
            &["alt_text", "title", "thumbnail_url", "video_url"],
            &["block_id", "author_name", "description", "provider_icon_url", "provider_name", "title_url"],
        ),
        "file" | "alert" | "card" | "carousel" | "plan" | "task_card" | "data_table" if message => {}
        _ => check.error(&format!("{at}/type"), format!("unsupported type: {kind}")),
    }
}

fn section(check: &mut Check, block: &Value, at: &str) {
    check.fields(block, at, &[], &["block_id", "text", "fields", "accessory", "expand"]);
    if block["text"].is_null() && block["fields"].is_null() {
        check.error(at, "missing required field: text or fields");
    }
    check.text(block, at, "text", 3_000, false);
    for (number, field) in check.list(block, at, "fields", 10).iter().enumerate() {
        check.text_object(field, &format!("{at}/fields/{number}"), 2_000, false);
    }
    if block["accessory"].is_object() {
        let id = block["block_id"].as_str().unwrap_or_default();
        elements::check(check, id, &block["accessory"], &format!("{at}/accessory"), elements::Spot::Section);
    }
}

pub fn image(check: &mut Check, block: &Value, at: &str, own_block: bool) {
    let more: &[&str] =
        if own_block { &["image_url", "slack_file", "block_id", "title"] } else { &["image_url", "slack_file"] };
    check.fields(block, at, &["alt_text"], more);
    if block["image_url"].is_null() == block["slack_file"].is_null() {
        check.error(at, "one of image_url and slack_file is required");
    }
    check.string(block, at, "image_url", 3_000);
    check.string(block, at, "alt_text", 2_000);
    check.text(block, at, "title", 2_000, true);
}

fn context(check: &mut Check, block: &Value, at: &str) {
    check.fields(block, at, &["elements"], &["block_id"]);
    for (number, element) in check.list(block, at, "elements", 10).iter().enumerate() {
        let at = format!("{at}/elements/{number}");
        match element["type"].as_str() {
            Some("image") => image(check, element, &at, false),
            _ => check.text_object(element, &at, 3_000, false),
        }
    }
}

fn input(check: &mut Check, block: &Value, at: &str) {
    check.fields(block, at, &["label", "element"], &["block_id", "hint", "optional", "dispatch_action"]);
    check.text(block, at, "label", 2_000, true);
    check.text(block, at, "hint", 2_000, true);
    let id = block["block_id"].as_str().unwrap_or_default();
    elements::check(check, id, &block["element"], &format!("{at}/element"), elements::Spot::Input);
}

/// Checks a view and gives ids to its blocks.
pub fn check_view(view: &mut Value) -> Result<(), ApiError> {
    let surface = match view["type"].as_str() {
        Some("modal") => Surface::Modal,
        Some("home") => Surface::Home,
        _ => return Err(ApiError::invalid_arguments("unsupported type [json-pointer:/view/type]")),
    };
    let mut check = Check::new(surface);
    let modal = surface == Surface::Modal;
    let common = ["private_metadata", "callback_id", "external_id"];
    if modal {
        let more = ["close", "submit", "clear_on_close", "notify_on_close", "submit_disabled"];
        check.fields(view, "/view", &["title", "blocks"], &[&common[..], &more[..]].concat());
    } else {
        check.fields(view, "/view", &["blocks"], &common);
    }
    for name in ["title", "close", "submit"] {
        check.text(view, "/view", name, 24, true);
    }
    // These may be empty.
    for (name, most) in [("private_metadata", 3_000), ("callback_id", 255), ("external_id", 255)] {
        if view[name].as_str().is_some_and(|text| text.chars().count() > most) {
            check.error(&format!("/view/{name}"), format!("must be less than {} characters", most + 1));
        }
    }
    if view["blocks"].as_array().is_some_and(|list| list.len() > MOST_VIEW) {
        check.error("/view/blocks", format!("no more than {MOST_VIEW} items allowed"));
    }
    if let Some(list) = view["blocks"].as_array_mut() {
        name_all(list);
    }
    let list = view["blocks"].as_array().cloned().unwrap_or_default();
    check_all(&mut check, &list, "/view/blocks");
    if modal && view["submit"].is_null() && list.iter().any(|block| block["type"] == "input") {
        check.error("/view/submit", "missing required field: submit");
    }
    if check.wrong.is_empty() { Ok(()) } else { Err(ApiError::broken("invalid_arguments").reasons(&check.wrong)) }
}

#[cfg(test)]
mod tests;
