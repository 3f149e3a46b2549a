//! Formatted text as the platform keeps it: plain text and entities counted in UTF-16 units.

use serde_json::{Value, json};

/// The most entities that one text keeps; what is beyond is ignored, as the platform does.
pub const MAX_ENTITIES: usize = 100;

/// One marked range of a text; offset and length count UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    pub kind: &'static str,
    pub offset: usize,
    pub length: usize,
    /// What the kind needs besides its range: a link, a language, a user's id, an emoji's id.
    pub argument: Option<String>,
}

/// A text with its entities, sorted by offset and then from the longest to the shortest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formatted {
    pub text: String,
    pub entities: Vec<Entity>,
}

/// How many UTF-16 units a text has, which is what every limit of the platform counts.
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whether a person would see nothing at all: blanks, controls and characters without width.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffc}')
    })
}

/// Every kind of entity that the platform knows, by the name it has on the wire.
const KINDS: [&str; 18] = [
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
];

impl Entity {
    pub fn new(kind: &'static str, offset: usize, length: usize) -> Self {
        Self { kind, offset, length, argument: None }
    }

    pub fn with(mut self, argument: impl Into<String>) -> Self {
        self.argument = Some(argument.into());
        self
    }

    pub fn end(&self) -> usize {
        self.offset + self.length
    }

    /// Whether nothing else may lie inside.
    pub fn is_code(&self) -> bool {
        matches!(self.kind, "code" | "pre")
    }

    /// Whether the platform notifies somebody because of it.
    pub fn is_ping(&self) -> bool {
        matches!(self.kind, "mention" | "text_mention")
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }

    /// The entity as it stands in a message of the platform.
    pub fn json(&self) -> Value {
        let mut out = json!({"type": self.kind, "offset": self.offset, "length": self.length});
        let Some(argument) = &self.argument else { return out };
        match self.kind {
            "text_link" => out["url"] = json!(argument),
            "pre" => out["language"] = json!(argument),
            "custom_emoji" => out["custom_emoji_id"] = json!(argument),
            "text_mention" => {
                let id: i64 = argument.parse().unwrap_or_default();
                out["user"] = json!({"id": id, "is_bot": false, "first_name": "User"});
            }
            _ => {}
        }
        out
    }
}

/// Reads the `entities` parameter of a request.
pub fn explicit(text: &str, list: &Value) -> Result<Vec<Entity>, String> {
    let Value::Array(items) = list else { return Err("expected an Array of entities".into()) };
    let total = units(text);
    let mut out = Vec::new();
    for item in items {
        let name = item["type"].as_str().ok_or("Can't find field \"type\"")?;
        let offset = item["offset"].as_u64().ok_or("Can't find field \"offset\"")? as usize;
        let length = item["length"].as_u64().ok_or("Can't find field \"length\"")? as usize;
        let kind = match name {
            "custom_emoji" => "custom_emoji",
            "date_time" => continue,
            _ => *KINDS.iter().find(|kind| **kind == name).ok_or("Unsupported type specified")?,
        };
        if length == 0 || offset >= total {
            continue;
        }
        if offset.saturating_add(length) > total {
            return Err(format!(
                "entity beginning at UTF-16 offset {offset} ends after the end of the text at UTF-16 offset {}",
                offset.saturating_add(length)
            ));
        }
        if !on_borders(text, offset, offset + length) {
            return Err(format!(
                "entity beginning at UTF-16 offset {offset} ends in a middle of a UTF-16 symbol at UTF-16 offset {}",
                offset + length
            ));
        }
        let argument = match kind {
            "text_link" => item["url"].as_str().map(str::to_owned),
            "pre" => item["language"].as_str().filter(|language| !language.is_empty()).map(str::to_owned),
            "custom_emoji" => item["custom_emoji_id"].as_str().map(str::to_owned),
            "text_mention" => item["user"]["id"].as_i64().map(|id| id.to_string()),
            _ => None,
        };
        out.push(Entity { kind, offset, length, argument });
    }
    Ok(out)
}

fn on_borders(text: &str, from: usize, to: usize) -> bool {
    let mut at = 0;
    let (mut first, mut last) = (from == 0, false);
    for c in text.chars() {
        at += c.len_utf16();
        first |= at == from;
        last |= at == to;
    }
    first && last
}

impl Formatted {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), entities: Vec::new() }
    }

    pub fn units(&self) -> usize {
        units(&self.text)
    }

    pub fn entities_json(&self) -> Vec<Value> {
        self.entities.iter().map(Entity::json).collect()
    }

    pub fn pings(&self) -> usize {
        self.entities.iter().filter(|entity| entity.is_ping()).count()
    }

    /// Brings a text to the form that the platform keeps: ends trimmed, entities sorted, merged with those it finds by itself, and cut to the number that it keeps.
    pub fn settle(mut self) -> Self {
        self.text = self.text.replace('\r', "");
        self.trim();
        self.entities.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
        self.clear_code();
        let found = super::detect::find(&self.text);
        let closed: Vec<Entity> = self
            .entities
            .iter()
            .filter(|e| e.is_code() || matches!(e.kind, "text_link" | "text_mention"))
            .cloned()
            .collect();
        let known: Vec<(usize, usize, &str)> = self.entities.iter().map(|e| (e.offset, e.length, e.kind)).collect();
        self.entities.extend(found.into_iter().filter(|new| {
            !closed.iter().any(|entity| entity.overlaps(new)) && !known.contains(&(new.offset, new.length, new.kind))
        }));
        self.entities.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
        self.entities.truncate(MAX_ENTITIES);
        self
    }

    /// Removes blanks at both ends, and what of an entity covered them.
    fn trim(&mut self) {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        let first = self.entities.iter().map(|entity| entity.offset).min().unwrap_or(usize::MAX);
        let lead: usize = self.text.chars().take_while(|c| c.is_whitespace()).map(char::len_utf16).sum();
        let cut = lead.min(first);
        let bytes: usize = {
            let mut at = 0;
            self.text
                .chars()
                .take_while(|c| {
                    let inside = at < cut;
                    at += c.len_utf16();
                    inside
                })
                .map(char::len_utf8)
                .sum()
        };
        self.text.drain(..bytes);
        let total = units(&self.text);
        self.entities.retain_mut(|entity| {
            entity.offset -= cut;
            entity.length = entity.length.min(total.saturating_sub(entity.offset));
            entity.length > 0
        });
    }

    /// Takes every other mark off code, which the platform does silently.
    fn clear_code(&mut self) {
        let code: Vec<Entity> = self.entities.iter().filter(|entity| entity.is_code()).cloned().collect();
        let mut out: Vec<Entity> = Vec::with_capacity(self.entities.len());
        for entity in std::mem::take(&mut self.entities) {
            if entity.is_code() {
                if !out.iter().any(|other| other.is_code() && other.overlaps(&entity)) {
                    out.push(entity);
                }
            } else if entity.kind.ends_with("blockquote") {
                out.push(entity);
            } else {
                out.extend(without(entity, &code));
            }
        }
        self.entities = out;
    }
}

/// What remains of an entity when the ranges of code are cut out of it.
fn without(entity: Entity, code: &[Entity]) -> Vec<Entity> {
    let mut out = Vec::new();
    let mut from = entity.offset;
    for hole in code.iter().filter(|hole| hole.overlaps(&entity)) {
        if hole.offset > from {
            out.push(Entity { offset: from, length: hole.offset - from, ..entity.clone() });
        }
        from = from.max(hole.end());
    }
    if from < entity.end() {
        out.push(Entity { offset: from, length: entity.end() - from, ..entity });
    }
    out
}
