//! Rich text and tables as a person reads them.

use serde_json::Value;

use super::text::{Names, Read};

/// The text of a rich text block.
pub fn read(block: &Value, names: Names<'_>) -> Read {
    let mut read = Read::default();
    let parts: Vec<String> = items(&block["elements"]).map(|element| part(element, names, &mut read.pings)).collect();
    read.text = parts.join("\n");
    read
}

/// The text of a table: cells with bars between them.
pub fn table(block: &Value, names: Names<'_>) -> Read {
    let mut read = Read::default();
    let rows: Vec<String> = items(&block["rows"])
        .map(|row| {
            let cells: Vec<String> = items(row)
                .map(|cell| match cell["type"].as_str() {
                    Some("rich_text") => {
                        let inner = self::read(cell, names);
                        read.pings.extend(inner.pings);
                        inner.text
                    }
                    _ => cell["text"].as_str().unwrap_or_default().to_owned(),
                })
                .collect();
            cells.join(" | ")
        })
        .collect();
    read.text = rows.join("\n");
    read
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn part(element: &Value, names: Names<'_>, pings: &mut Vec<String>) -> String {
    if element["type"] != "rich_text_list" {
        return items(&element["elements"]).map(|inline| piece(inline, names, pings)).collect();
    }
    let indent = "  ".repeat(element["indent"].as_u64().unwrap_or(0).min(20) as usize);
    let start = element["offset"].as_u64().unwrap_or(0);
    let ordered = element["style"] == "ordered";
    let lines: Vec<String> = items(&element["elements"])
        .zip(start + 1..)
        .map(|(item, number)| {
            let mark = if ordered { format!("{number}.") } else { "•".to_owned() };
            format!("{indent}{mark} {}", part(item, names, pings))
        })
        .collect();
    lines.join("\n")
}

fn piece(element: &Value, names: Names<'_>, pings: &mut Vec<String>) -> String {
    let field = |name: &str| element[name].as_str().unwrap_or_default().to_owned();
    let mut ping = |id: String, shown: String| {
        pings.push(id);
        format!("@{shown}")
    };
    match element["type"].as_str().unwrap_or_default() {
        "text" => field("text"),
        "link" => Some(field("text")).filter(|text| !text.is_empty()).unwrap_or_else(|| field("url")),
        "emoji" => format!(":{}:", field("name")),
        "user" => ping(field("user_id"), names(&field("user_id")).unwrap_or_else(|| field("user_id"))),
        "usergroup" => ping(field("usergroup_id"), field("usergroup_id")),
        "broadcast" => ping(field("range"), field("range")),
        "channel" => format!("#{}", names(&field("channel_id")).unwrap_or_else(|| field("channel_id"))),
        "date" => field("fallback"),
        "color" => field("value"),
        _ => String::new(),
    }
}
