//! A message as a person sees it: its text, whom it notifies, and its buttons.

use serde_json::Value;

use super::cast::Message;
use super::markdown::markdown;
use super::rich;
use super::text::{Names, Read, mrkdwn};
use super::transcript::{Button, Entry};
use super::world::World;

/// What is seen of a message or a view.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    lines: Vec<String>,
    pings: Vec<String>,
    buttons: Vec<Button>,
    row: usize,
}

impl Seen {
    /// With blocks the text is for notifications only.
    pub fn of(world: &World, message: &Message) -> Self {
        let names = |id: &str| world.name_of(id);
        let mut seen = Self::default();
        match message.blocks.as_array() {
            Some(blocks) => seen.blocks(blocks, &names),
            None if !message.text.is_empty() => {
                let marks = message.extra.get("mrkdwn") != Some(&Value::Bool(false));
                seen.take(mrkdwn(&message.text, marks, &names));
            }
            None => {}
        }
        for attachment in message.attachments.as_array().into_iter().flatten() {
            seen.attachment(attachment, &names);
        }
        seen
    }

    pub fn view(world: &World, view: &Value) -> Self {
        let names = |id: &str| world.name_of(id);
        let mut seen = Self::default();
        seen.plain(&view["title"]);
        seen.blocks(view["blocks"].as_array().map(Vec::as_slice).unwrap_or_default(), &names);
        seen
    }

    /// The title of a view.
    pub fn first_line(self) -> String {
        self.lines.into_iter().next().unwrap_or_default()
    }

    pub fn fill(self, entry: &mut Entry) {
        entry.text = self.lines.join("\n");
        let mut pings = self.pings;
        pings.sort();
        pings.dedup();
        entry.mentions = pings.len();
        entry.pings = pings;
        entry.buttons = self.buttons;
    }

    fn take(&mut self, read: Read) {
        self.pings.extend(read.pings);
        self.lines.push(read.text);
    }

    fn plain(&mut self, object: &Value) {
        self.lines.extend(object["text"].as_str().map(str::to_owned));
    }

    /// A text object: mrkdwn is read, plain text stands as it is.
    fn text(&mut self, object: &Value, names: Names<'_>) {
        match (object["type"].as_str(), object["text"].as_str()) {
            (Some("mrkdwn"), Some(text)) => self.take(mrkdwn(text, true, names)),
            _ => self.plain(object),
        }
    }

    fn attachment(&mut self, attachment: &Value, names: Names<'_>) {
        if let Some(blocks) = attachment["blocks"].as_array() {
            return self.blocks(blocks, names);
        }
        for field in ["pretext", "title", "text", "footer"] {
            if let Some(text) = attachment[field].as_str() {
                self.take(mrkdwn(text, true, names));
            }
        }
    }

    fn blocks(&mut self, blocks: &[Value], names: Names<'_>) {
        blocks.iter().for_each(|block| self.block(block, names));
    }

    fn block(&mut self, block: &Value, names: Names<'_>) {
        match block["type"].as_str().unwrap_or_default() {
            "section" => {
                self.text(&block["text"], names);
                block["fields"].as_array().into_iter().flatten().for_each(|field| self.text(field, names));
                self.controls(std::slice::from_ref(&block["accessory"]));
            }
            "header" => self.plain(&block["text"]),
            "markdown" => self.take(markdown(block["text"].as_str().unwrap_or_default(), names)),
            "context" => {
                block["elements"].as_array().into_iter().flatten().for_each(|element| match element["type"].as_str() {
                    Some("image") => self.lines.extend(element["alt_text"].as_str().map(str::to_owned)),
                    _ => self.text(element, names),
                })
            }
            "actions" | "context_actions" => {
                self.controls(block["elements"].as_array().map(Vec::as_slice).unwrap_or_default())
            }
            "rich_text" => self.take(rich::read(block, names)),
            "table" => self.take(rich::table(block, names)),
            "image" => self.lines.extend(block["alt_text"].as_str().map(str::to_owned)),
            "divider" => self.lines.push("———".to_owned()),
            "video" => self.plain(&block["title"]),
            "input" => self.plain(&block["label"]),
            _ => {}
        }
    }

    fn controls(&mut self, elements: &[Value]) {
        let before = self.buttons.len();
        for element in elements.iter().filter(|element| element.is_object()) {
            self.control(element);
        }
        self.row += usize::from(self.buttons.len() > before);
    }

    /// A button is one; a menu is one for each of its options.
    fn control(&mut self, element: &Value) {
        let action = element["action_id"].as_str().unwrap_or_default();
        let mut add = |id: String, text: &Value, url: &Value| {
            self.buttons.push(Button {
                id,
                text: text["text"].as_str().unwrap_or_default().to_owned(),
                row: self.row,
                url: url.as_str().map(str::to_owned),
                ..Button::default()
            });
        };
        if element["type"] == "button" {
            return add(action.to_owned(), &element["text"], &element["url"]);
        }
        let groups = element["option_groups"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|group| group["options"].as_array().into_iter().flatten());
        for option in element["options"].as_array().into_iter().flatten().chain(groups) {
            add(format!("{action}={}", option["value"].as_str().unwrap_or_default()), &option["text"], &option["url"]);
        }
    }
}

impl World {
    /// The name that an id is shown by.
    pub fn name_of(&self, id: &str) -> Option<String> {
        let user = || self.user_by_id(id).map(|user| user.name.clone());
        self.channels.get(id).map(|channel| channel.title.clone()).or_else(user)
    }
}
