//! Rich text and tables against the platform's rules.

use serde_json::Value;

use super::blocks::Check;

/// The bounds of a table.
const ROWS: usize = 100;
const COLUMNS: usize = 20;
const TABLE_CHARS: usize = 10_000;

/// Checks the parts of a rich text; none may be empty.
pub fn rich_text(check: &mut Check, block: &Value, at: &str) {
    for (number, part) in check.list(block, at, "elements", 1_000).iter().enumerate() {
        let at = format!("{at}/elements/{number}");
        match part["type"].as_str() {
            Some("rich_text_section") => {
                check.fields(part, &at, &["elements"], &[]);
                pieces(check, part, &at, false);
            }
            Some("rich_text_quote") => {
                check.fields(part, &at, &["elements"], &["border"]);
                pieces(check, part, &at, false);
            }
            Some("rich_text_preformatted") => {
                check.fields(part, &at, &["elements"], &["border", "language"]);
                pieces(check, part, &at, true);
            }
            Some("rich_text_list") => list(check, part, &at),
            other => check.error(&format!("{at}/type"), format!("unsupported type: {}", other.unwrap_or("none"))),
        }
    }
}

fn list(check: &mut Check, part: &Value, at: &str) {
    check.fields(part, at, &["elements", "style"], &["indent", "offset", "border"]);
    if !matches!(part["style"].as_str(), Some("bullet" | "ordered")) {
        check.error(&format!("{at}/style"), "must be one of: bullet, ordered");
    }
    if part["indent"].as_u64().is_some_and(|indent| indent > 8) {
        check.error(&format!("{at}/indent"), "must be at most 8");
    }
    for (number, item) in check.list(part, at, "elements", 1_000).iter().enumerate() {
        let at = format!("{at}/elements/{number}");
        if item["type"] != "rich_text_section" {
            check.error(&format!("{at}/type"), "unsupported type in a list");
        }
        check.fields(item, &at, &["elements"], &[]);
        pieces(check, item, &at, false);
    }
}

fn pieces(check: &mut Check, part: &Value, at: &str, code: bool) {
    for (number, piece) in check.list(part, at, "elements", 10_000).iter().enumerate() {
        let at = format!("{at}/elements/{number}");
        let kind = piece["type"].as_str().unwrap_or_default();
        match kind {
            "text" => {
                check.fields(piece, &at, &["text"], &["style"]);
                check.string(piece, &at, "text", 100_000);
            }
            "link" => {
                check.fields(piece, &at, &["url"], &["text", "style", "unsafe"]);
                check.string(piece, &at, "url", 3_000);
            }
            _ if code => check.error(&format!("{at}/type"), format!("unsupported type: {kind}")),
            "emoji" => check.fields(piece, &at, &["name"], &["unicode", "skin_tone", "style"]),
            "user" => check.fields(piece, &at, &["user_id"], &["style"]),
            "usergroup" => check.fields(piece, &at, &["usergroup_id"], &["style"]),
            "channel" => check.fields(piece, &at, &["channel_id"], &["style"]),
            "team" => check.fields(piece, &at, &["team_id"], &["style"]),
            "broadcast" => check.fields(piece, &at, &["range"], &["style"]),
            "date" => check.fields(piece, &at, &["timestamp", "format"], &["url", "fallback", "style"]),
            "color" => check.fields(piece, &at, &["value"], &["style"]),
            _ => check.error(&format!("{at}/type"), format!("unsupported type: {kind}")),
        }
        style(check, piece, &at);
    }
}

fn style(check: &mut Check, piece: &Value, at: &str) {
    const KNOWN: [&str; 8] =
        ["bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"];
    let Some(style) = piece.get("style").filter(|style| !style.is_null()) else { return };
    let legal = style
        .as_object()
        .is_some_and(|style| style.iter().all(|(name, value)| KNOWN.contains(&name.as_str()) && value.is_boolean()));
    if !legal {
        check.error(&format!("{at}/style"), "must be an object of known styles");
    }
}

/// Checks a table: at most so many rows and columns, cells never empty.
pub fn table(check: &mut Check, block: &Value, at: &str) {
    check.fields(block, at, &["rows"], &["block_id", "column_settings"]);
    let mut characters = 0;
    for (number, row) in check.list(block, at, "rows", ROWS).iter().enumerate() {
        let at = format!("{at}/rows/{number}");
        match row.as_array() {
            None => check.error(&at, "must be an array"),
            Some(cells) if cells.is_empty() => check.error(&at, "no fewer than 1 items allowed"),
            Some(cells) if cells.len() > COLUMNS => check.error(&at, format!("no more than {COLUMNS} items allowed")),
            Some(cells) => cells
                .iter()
                .enumerate()
                .for_each(|(number, cell)| characters += table_cell(check, cell, &format!("{at}/{number}"))),
        }
    }
    if characters > TABLE_CHARS {
        check.error(&format!("{at}/rows"), format!("must be less than {} characters", TABLE_CHARS + 1));
    }
    for (number, setting) in check.list(block, at, "column_settings", COLUMNS).iter().enumerate() {
        if setting.is_null() {
            continue;
        }
        let at = format!("{at}/column_settings/{number}");
        check.fields(setting, &at, &[], &["align", "is_wrapped"]);
        if setting.get("align").is_some_and(|align| !matches!(align.as_str(), Some("left" | "center" | "right"))) {
            check.error(&format!("{at}/align"), "must be one of: left, center, right");
        }
    }
}

/// Checks a cell and counts its characters; an empty one is `null`.
fn table_cell(check: &mut Check, cell: &Value, at: &str) -> usize {
    match cell["type"].as_str() {
        _ if cell.is_null() => {}
        Some("raw_text") => {
            check.fields(cell, at, &["text"], &[]);
            check.string(cell, at, "text", TABLE_CHARS);
        }
        Some("rich_text") => {
            check.fields(cell, at, &["elements"], &["block_id"]);
            rich_text(check, cell, at);
        }
        other => check.error(&format!("{at}/type"), format!("unsupported type: {}", other.unwrap_or("none"))),
    }
    count(cell)
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                value.as_str().filter(|_| name == "text").map_or_else(|| count(value), |text| text.chars().count())
            })
            .sum(),
        _ => 0,
    }
}
