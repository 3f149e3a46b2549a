//! The blocks that a message is made of, as Slack reads them.

use std::borrow::Cow;

use serde::Serialize;

/// What a message's request holds of a part.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    pub(super) text: &'a str,
    pub(super) blocks: &'a [Block<'a>],
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Header { text: Plain<'a> },
    Divider {},
    RichText { elements: Vec<Element<'a>> },
    Table { rows: Vec<Vec<Cell<'a>>>, column_settings: Vec<Column> },
    Context { elements: [Markdown; 1] },
}

/// Text without any markup; names of emoji stay names.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "plain_text")]
pub(super) struct Plain<'a> {
    pub(super) text: &'a str,
    pub(super) emoji: bool,
}

/// Text that Slack reads as its markup.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "mrkdwn")]
pub(super) struct Markdown {
    pub(super) text: String,
    pub(super) verbatim: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "raw_text")]
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct Column {
    pub(super) align: &'static str,
    pub(super) is_wrapped: bool,
}

/// A block of rich text.
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum Element<'a> {
    #[serde(rename = "rich_text_section")]
    Section { elements: Vec<Inline<'a>> },
    #[serde(rename = "rich_text_list")]
    List {
        style: &'static str,
        indent: u8,
        #[serde(skip_serializing_if = "is_none")]
        border: u8,
        #[serde(skip_serializing_if = "is_none")]
        offset: u64,
        elements: Vec<Item<'a>>,
    },
    #[serde(rename = "rich_text_preformatted")]
    Preformatted {
        elements: Vec<Inline<'a>>,
        #[serde(skip_serializing_if = "is_none")]
        border: u8,
    },
    #[serde(rename = "rich_text_quote")]
    Quote { elements: Vec<Inline<'a>> },
}

/// An item of a list.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "rich_text_section")]
pub(super) struct Item<'a> {
    pub(super) elements: Vec<Inline<'a>>,
}

/// Text and what stands in its line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Inline<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        style: Option<Style>,
    },
    Link {
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        style: Option<Style>,
    },
    User {
        user_id: &'a str,
    },
    Usergroup {
        usergroup_id: &'a str,
    },
    Broadcast {
        range: &'a str,
    },
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Style {
    #[serde(skip_serializing_if = "is_off")]
    pub(super) bold: bool,
    #[serde(skip_serializing_if = "is_off")]
    pub(super) italic: bool,
    #[serde(skip_serializing_if = "is_off")]
    pub(super) strike: bool,
    #[serde(skip_serializing_if = "is_off")]
    pub(super) code: bool,
}

fn is_off(value: &bool) -> bool {
    !value
}

fn is_none<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
