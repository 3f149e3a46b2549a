//! A strict reader of blocks for tests, independent of the drawing: what it refuses, Slack would.

use serde_json::{Map, Value};

/// What a message shows.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) text: String,
    /// Who would be pinged.
    pub(super) mentions: Vec<String>,
    pub(super) kinds: Vec<String>,
}

type Outcome = Result<(), String>;

pub(super) fn read(body: &str) -> Result<Read, String> {
    let body: Value = serde_json::from_str(body).map_err(|problem| problem.to_string())?;
    let text = body["text"].as_str().ok_or("no text")?;
    if text.is_empty() || text.encode_utf16().count() > 4_000 || text.contains(['<', '>']) {
        return Err(format!("text of {} characters", text.len()));
    }
    let blocks = body["blocks"].as_array().ok_or("no blocks")?;
    if blocks.is_empty() || blocks.len() > 50 {
        return Err(format!("{} blocks", blocks.len()));
    }
    let length = serde_json::to_string(blocks).expect("it was read").encode_utf16().count();
    if length > 11_400 {
        return Err(format!("blocks of {length} characters"));
    }
    let mut read = Read::default();
    blocks.iter().try_for_each(|block| read.block(block))?;
    match read.kinds.iter().filter(|kind| *kind == "table").count() {
        0 | 1 => Ok(read),
        tables => Err(format!("{tables} tables")),
    }
}

/// The fields of an object that may have no others.
fn fields<'v>(value: &'v Value, known: &[&str]) -> Result<&'v Map<String, Value>, String> {
    let object = value.as_object().ok_or(format!("no object: {value}"))?;
    match object.keys().find(|key| !known.contains(&key.as_str()) && *key != "type") {
        Some(key) => Err(format!("unknown field '{key}' in {value}")),
        None => Ok(object),
    }
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>, String> {
    let items = value[key].as_array().ok_or(format!("no {key} in {value}"))?;
    if items.is_empty() { Err(format!("empty {key} in {value}")) } else { Ok(items) }
}

impl Read {
    fn block(&mut self, block: &Value) -> Outcome {
        let kind = block["type"].as_str().ok_or("a block without type")?;
        self.kinds.push(kind.to_owned());
        match kind {
            "header" => {
                fields(block, &["text"])?;
                fields(&block["text"], &["text", "emoji"])?;
                if block["text"]["type"] != "plain_text" {
                    return Err("a header's text is plain".to_owned());
                }
                self.show(&block["text"]["text"], 150)?;
            }
            "divider" => drop(fields(block, &[])?),
            "context" => {
                fields(block, &["elements"])?;
                for element in list(block, "elements")? {
                    fields(element, &["text", "verbatim"])?;
                    self.show(&element["text"], 2_000)?;
                }
            }
            "table" => self.table(block)?,
            "rich_text" => {
                fields(block, &["elements"])?;
                list(block, "elements")?.iter().try_for_each(|element| self.rich(element))?;
            }
            other => return Err(format!("unknown block '{other}'")),
        }
        self.text.push('\n');
        Ok(())
    }

    fn table(&mut self, block: &Value) -> Outcome {
        fields(block, &["rows", "column_settings"])?;
        let rows = list(block, "rows")?;
        if rows.len() > 100 || list(block, "column_settings")?.len() > 20 {
            return Err("too large a table".to_owned());
        }
        for row in rows {
            let cells = row.as_array().filter(|cells| (1..=20).contains(&cells.len())).ok_or("a row")?;
            for cell in cells {
                fields(cell, &["text"])?;
                self.show(&cell["text"], 3_000)?;
                self.text.push(' ');
            }
        }
        Ok(())
    }

    fn rich(&mut self, element: &Value) -> Outcome {
        match element["type"].as_str().unwrap_or_default() {
            "rich_text_section" | "rich_text_quote" => drop(fields(element, &["elements"])?),
            "rich_text_preformatted" => drop(fields(element, &["elements", "border"])?),
            "rich_text_list" => {
                fields(element, &["elements", "style", "indent", "border", "offset"])?;
                let is_known = matches!(element["style"].as_str(), Some("bullet" | "ordered"));
                if !is_known || element["indent"].as_u64().is_none_or(|indent| indent > 8) {
                    return Err(format!("a list: {element}"));
                }
                for (n, item) in list(element, "elements")?.iter().enumerate() {
                    let number = element["offset"].as_u64().unwrap_or(0).saturating_add(1 + n as u64);
                    self.text.push_str(&if element["style"] == "bullet" {
                        "• ".to_owned()
                    } else {
                        format!("{number}. ")
                    });
                    if item["type"] != "rich_text_section" {
                        return Err("an item is a section".to_owned());
                    }
                    self.rich(item)?;
                }
                return Ok(());
            }
            other => return Err(format!("unknown element '{other}'")),
        }
        list(element, "elements")?.iter().try_for_each(|inline| self.inline(inline))?;
        self.text.push('\n');
        Ok(())
    }

    fn inline(&mut self, inline: &Value) -> Outcome {
        if let Some(style) = inline.get("style") {
            let style = fields(style, &["bold", "italic", "strike", "code"])?;
            if style.is_empty() || style.values().any(|value| value != true) {
                return Err(format!("a style: {inline}"));
            }
        }
        match inline["type"].as_str().unwrap_or_default() {
            "text" => {
                fields(inline, &["text", "style"])?;
                self.show(&inline["text"], 3_000)
            }
            "link" => {
                fields(inline, &["url", "text", "style"])?;
                let is_link = inline["url"].as_str().is_some_and(|url| {
                    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
                    matches!(scheme.as_str(), "http" | "https" | "mailto")
                });
                if !is_link {
                    return Err(format!("a link: {inline}"));
                }
                self.show(inline.get("text").unwrap_or(&inline["url"]), 3_000)
            }
            "user" | "usergroup" | "broadcast" => {
                self.mentions.push(inline.to_string());
                Ok(())
            }
            other => Err(format!("unknown inline '{other}'")),
        }
    }

    fn show(&mut self, text: &Value, most: usize) -> Outcome {
        let text = text.as_str().filter(|text| !text.is_empty()).ok_or("an empty text")?;
        if text.encode_utf16().count() > most {
            return Err(format!("a text of more than {most} characters"));
        }
        self.text.push_str(text);
        Ok(())
    }
}
