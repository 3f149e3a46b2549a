//! What a person sees of a message: text with its markup resolved, embeds, buttons, files.

use serde_json::Value;

use super::cast::Message;
use super::markdown::{self, Names};
use super::request::snowflake;
use super::transcript::{Button, By, Choice, Entry, FileSeen, Kind, Pinged};
use super::world::World;

impl Names for World {
    fn user(&self, id: u64) -> Option<String> {
        self.called(id).map(str::to_owned)
    }

    fn role(&self, id: u64) -> Option<String> {
        self.guilds.values().flat_map(|guild| &guild.roles).find(|role| role.id == id).map(|role| role.name.clone())
    }

    fn channel(&self, id: u64) -> Option<String> {
        self.channels.get(&id).map(|channel| channel.name.clone())
    }
}

impl World {
    pub fn thread_name(&self, channel: u64) -> Option<String> {
        self.channels.get(&channel).filter(|channel| channel.is_thread()).map(|thread| thread.name.clone())
    }

    /// An entry for a message that a bot wrote or changed.
    pub fn bot_entry(&self, channel: u64, id: u64, kind: Kind, pinged: Pinged) -> Entry {
        let known = self.channels.get(&channel);
        let conversation = known.map(|channel| channel.conversation.as_str()).unwrap_or_default();
        let mut entry = Entry::new(conversation, channel.to_string(), By::Bot, kind);
        entry.thread = self.thread_name(channel);
        entry.message = Some(id.to_string());
        if let Some(message) = known.and_then(|channel| channel.messages.get(&id)) {
            entry.user = self.called(message.author).filter(|_| self.bots.len() > 1).map(str::to_owned);
            entry.text = self.readable(message);
            entry.to = message.to.and_then(|to| self.called(to)).map(str::to_owned);
            entry.reply_to = message.reply_to().map(|id| id.to_string());
            entry.interaction = message.interaction.map(|id| id.to_string());
            entry.buttons = buttons(message.body.get("components").unwrap_or(&Value::Null));
            entry.files = files(message);
        }
        entry.mentions = pinged.count();
        entry.pings = pinged;
        entry
    }

    pub fn log_bot(&mut self, channel: u64, id: u64, kind: Kind, pinged: Pinged, payload: Value) {
        let mut entry = self.bot_entry(channel, id, kind, pinged);
        entry.payload = payload;
        self.log(entry);
    }

    /// The text of a message as a person reads it, with its embeds and the texts of its layout.
    pub fn readable(&self, message: &Message) -> String {
        let mut parts = vec![markdown::plain(message.content(), self)];
        for embed in message.body.get("embeds").and_then(Value::as_array).into_iter().flatten() {
            parts.push(self.embed_text(embed));
        }
        let forwarded = message.body.get("message_snapshots").and_then(Value::as_array);
        for shot in forwarded.into_iter().flatten() {
            parts.push(markdown::plain(shot["message"]["content"].as_str().unwrap_or_default(), self));
        }
        self.layout_texts(message.body.get("components").unwrap_or(&Value::Null), &mut parts);
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    fn embed_text(&self, embed: &Value) -> String {
        let plain = |value: &Value| value.as_str().map(|text| markdown::plain(text, self)).unwrap_or_default();
        let bare = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut lines = vec![bare(&embed["author"]["name"]), plain(&embed["title"]), plain(&embed["description"])];
        for field in embed["fields"].as_array().into_iter().flatten() {
            lines.push(plain(&field["name"]));
            lines.push(plain(&field["value"]));
        }
        lines.push(bare(&embed["footer"]["text"]));
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    fn layout_texts(&self, components: &Value, parts: &mut Vec<String>) {
        for one in components.as_array().into_iter().flatten() {
            if one["type"] == 10 {
                parts.push(markdown::plain(one["content"].as_str().unwrap_or_default(), self));
            }
            self.layout_texts(&one["components"], parts);
        }
    }
}

/// The files of a message.
pub fn files(message: &Message) -> Vec<FileSeen> {
    let text = |file: &Value, field: &str| file[field].as_str().unwrap_or_default().to_owned();
    let files = message.body.get("attachments").and_then(Value::as_array);
    files
        .into_iter()
        .flatten()
        .map(|file| FileSeen {
            name: text(file, "filename"),
            mime: text(file, "content_type"),
            size: file["size"].as_u64().unwrap_or_default(),
            id: snowflake(&file["id"]).unwrap_or_default().to_string(),
            url: text(file, "url"),
        })
        .collect()
}

/// The buttons and menus of a message, row by row.
pub fn buttons(components: &Value) -> Vec<Button> {
    let (mut out, mut row) = (Vec::new(), 0);
    gather(components, &mut out, &mut row);
    out
}

fn gather(components: &Value, out: &mut Vec<Button>, row: &mut usize) {
    for one in components.as_array().into_iter().flatten() {
        match one["type"].as_u64() {
            Some(1) => {
                out.extend(one["components"].as_array().into_iter().flatten().map(|inner| button(inner, *row)));
                *row += 1;
            }
            Some(9) if one["accessory"]["type"] == 2 => {
                out.push(button(&one["accessory"], *row));
                *row += 1;
            }
            _ => gather(&one["components"], out, row),
        }
    }
}

fn button(one: &Value, row: usize) -> Button {
    let text = |name: &str| one[name].as_str().map(str::to_owned);
    let select = one["type"] != 2;
    let style = match (select, one["style"].as_u64()) {
        (true, _) => "select",
        (_, Some(1)) => "primary",
        (_, Some(3)) => "success",
        (_, Some(4)) => "danger",
        (_, Some(5)) => "link",
        _ => "secondary",
    };
    let emoji = one["emoji"]["name"].as_str();
    let label = text(if select { "placeholder" } else { "label" });
    let words: Vec<&str> = emoji.into_iter().chain(label.as_deref()).collect();
    let options = one["options"].as_array().into_iter().flatten();
    Button {
        id: text("custom_id").unwrap_or_default(),
        text: words.join(" "),
        row,
        url: text("url"),
        style,
        disabled: one["disabled"].as_bool().unwrap_or_default(),
        options: options
            .map(|option| Choice {
                text: option["label"].as_str().unwrap_or_default().to_owned(),
                value: option["value"].as_str().unwrap_or_default().to_owned(),
            })
            .collect(),
    }
}
