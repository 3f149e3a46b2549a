//! Draws a piece as Slack's blocks: text stands in elements that show exactly it.

use std::borrow::Cow;

use contract::Pings;
use document::{
    Block as Leaf, BlockKind, Cost, Manner, Mark, Piece, Quote, Run, Slice, plain,
    table::{Align, Table},
};

use super::{
    MOST_BLOCKS, MOST_BLOCKS_TEXT, MOST_TEXT,
    blocks::{Block, Body, Cell, Column, Element, Inline, Item, Markdown, Plain, Style},
    measure::{LIST, RICH_TEXT, SECTION, is_native},
};

/// Most characters of a header.
const MOST_HEADER: usize = 150;
/// Most characters of one element of text.
const MOST_ELEMENT: usize = 3_000;

/// How Slack draws.
#[derive(Debug, Clone, Copy)]
pub(super) struct RichText {
    pub(super) pings: Pings,
}

impl Manner for RichText {
    fn most(&self) -> Cost {
        Cost::new(MOST_BLOCKS_TEXT - RICH_TEXT - LIST - SECTION, MOST_BLOCKS - 2, usize::MAX)
    }

    fn draw(&self, piece: Piece<'_>) -> String {
        let mut drawing =
            Drawing { pings: self.pings, blocks: Vec::new(), rich: Vec::new(), last: None, has_table: false };
        piece.slices().for_each(|slice| drawing.slice(&slice));
        drawing.flush();
        let text = fallback(&plain::of(piece, MOST_TEXT));
        serde_json::to_string(&Body { text: &text, blocks: &drawing.blocks }).expect("texts and numbers serialize")
    }

    /// A message without blocks may be far longer than one with them.
    fn plain(&self, piece: Piece<'_>) -> String {
        plain::of(piece, MOST_BLOCKS_TEXT)
    }
}

/// What notifications show: escaped, cut between characters.
fn fallback(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len().min(MOST_TEXT));
    let mut length = 0;
    for c in plain.chars() {
        let (escaped, takes) = match c {
            '&' => (Some("&amp;"), 5),
            '<' => (Some("&lt;"), 4),
            '>' => (Some("&gt;"), 4),
            c => (None, c.len_utf16()),
        };
        length += takes;
        if length >= MOST_TEXT {
            out.push('…');
            break;
        }
        match escaped {
            Some(escaped) => out.push_str(escaped),
            None => out.push(c),
        }
    }
    out
}

struct Drawing<'d> {
    pings: Pings,
    blocks: Vec<Block<'d>>,
    /// Elements of the block of rich text at hand.
    rich: Vec<Element<'d>>,
    /// The last block that is in them.
    last: Option<&'d Leaf>,
    /// Slack takes one table in a message.
    has_table: bool,
}

impl<'d> Drawing<'d> {
    fn slice(&mut self, slice: &Slice<'d>) {
        let block = slice.block;
        match &block.kind {
            BlockKind::Heading(1) if is_header(slice) => {
                self.other(Block::Header { text: Plain { text: slice.text(), emoji: false } });
            }
            BlockKind::Rule => self.other(Block::Divider {}),
            BlockKind::Reference => {
                let text =
                    slice.runs().map(|run| reference(&slice.doc.text[run.start..run.end], run.style.code)).collect();
                self.other(Block::Context { elements: [Markdown { text, verbatim: true }] });
            }
            BlockKind::Table(table) if !self.has_table && slice.is_whole() && is_native(&slice.doc.tables[*table]) => {
                self.has_table = true;
                let table = &slice.doc.tables[*table];
                self.other(native(table));
            }
            BlockKind::Code(_) | BlockKind::Table(_) => {
                let mut elements = Vec::new();
                text(slice.text(), None, &mut elements);
                self.rich.push(Element::Preformatted { elements, border: border(block.quote) });
                self.last = Some(block);
            }
            BlockKind::Heading(_) | BlockKind::Paragraph => {
                self.paragraph(slice);
                self.last = Some(block);
            }
        }
    }

    /// A block that is none of rich text.
    fn other(&mut self, block: Block<'d>) {
        self.flush();
        self.blocks.push(block);
    }

    fn flush(&mut self) {
        self.last = None;
        if !self.rich.is_empty() {
            self.blocks.push(Block::RichText { elements: std::mem::take(&mut self.rich) });
        }
    }

    fn paragraph(&mut self, slice: &Slice<'d>) {
        let block = slice.block;
        let is_same = self.last.is_some_and(|last| last.quote == block.quote);
        let gap = "\n".repeat(usize::from(block.gap).max(1));
        if let Some(mark) = slice.mark() {
            return self.item(slice, mark);
        }
        let mut elements = self.inline(slice);
        match self.rich.last_mut() {
            Some(Element::List { elements: items, .. }) if is_same && block.level > 0 => {
                let item = items.last_mut().map(|item| &mut item.elements);
                join(item, &gap, &mut elements);
            }
            Some(Element::Quote { elements: open }) if is_same && block.quote.is_some() => {
                join(Some(open), &gap, &mut elements);
            }
            Some(Element::Section { elements: open }) if is_same && block.quote.is_none() => {
                join(Some(open), &gap, &mut elements);
            }
            _ if block.quote.is_some() => self.rich.push(Element::Quote { elements }),
            _ => self.rich.push(Element::Section { elements }),
        }
    }

    fn item(&mut self, slice: &Slice<'d>, mark: Mark) {
        let mut elements = Vec::new();
        let (style, number) = match mark {
            Mark::Bullet => ("bullet", 1),
            Mark::Number(number) => ("ordered", number),
            Mark::Task(is_done) => {
                elements.push(Inline::Text { text: Cow::Borrowed(if is_done { "☑ " } else { "☐ " }), style: None });
                ("bullet", 1)
            }
        };
        elements.append(&mut self.inline(slice));
        if elements.is_empty() {
            elements.push(Inline::Text { text: Cow::Borrowed(" "), style: None });
        }
        let (item, level, frame) = (Item { elements }, slice.block.level.saturating_sub(1), border(slice.block.quote));
        if let Some(Element::List { style: open, indent, border, offset, elements }) = self.rich.last_mut()
            && (*open, *indent, *border) == (style, level, frame)
            && (style == "bullet" || (*offset).checked_add(elements.len() as u64 + 1) == Some(number))
        {
            return elements.push(item);
        }
        let offset = number.saturating_sub(1);
        self.rich.push(Element::List { style, indent: level, border: frame, offset, elements: vec![item] });
    }

    fn inline(&self, slice: &Slice<'d>) -> Vec<Inline<'d>> {
        let is_bold = matches!(slice.block.kind, BlockKind::Heading(_));
        let mut out = Vec::new();
        for run in slice.runs() {
            let part = &slice.doc.text[run.start..run.end];
            let style = style(&run, is_bold);
            match run.link {
                Some(link) => {
                    let url = slice.doc.target(link);
                    if link.is_bare || part == url {
                        out.push(Inline::Link { url, text: None, style });
                    } else {
                        out.extend(chunks(part).map(|text| Inline::Link { url, text: Some(text), style }));
                    }
                }
                None if self.pings == Pings::default() || run.style.code => text(part, style, &mut out),
                None => self.pinging(part, style, &mut out),
            }
        }
        out
    }

    /// Text in which names may ping.
    fn pinging(&self, part: &'d str, style: Option<Style>, out: &mut Vec<Inline<'d>>) {
        let mut from = 0;
        for (at, _) in part.match_indices('<') {
            if let Some((mention, length)) = mention(&part[at..], self.pings).filter(|_| at >= from) {
                text(&part[from..at], style, out);
                out.push(mention);
                from = at + length;
            }
        }
        text(&part[from..], style, out);
    }
}

/// A piece of the line that names a turn, escaped.
fn reference(text: &str, is_code: bool) -> String {
    let escaped = fallback(text);
    if is_code { format!("`{escaped}`") } else { escaped }
}

fn border(quote: Option<Quote>) -> u8 {
    u8::from(quote.is_some())
}

fn style(run: &Run, is_bold: bool) -> Option<Style> {
    let document::Style { bold, italic, strike, code } = run.style;
    let style = Style { bold: bold || is_bold, italic, strike, code };
    (style.bold || italic || strike || code).then_some(style)
}

/// Whether a heading can be a header: short text without styles.
fn is_header(slice: &Slice<'_>) -> bool {
    let block = slice.block;
    let is_plain = slice.runs().all(|run| run.style == document::Style::PLAIN && run.link.is_none());
    let is_top = block.quote.is_none() && block.level == 0 && slice.is_whole();
    is_plain && is_top && document::units(slice.text()) <= MOST_HEADER && !document::is_blank(slice.text())
}

/// Elements of a text, none of them too long.
fn text<'d>(text: &'d str, style: Option<Style>, out: &mut Vec<Inline<'d>>) {
    out.extend(chunks(text).map(|part| Inline::Text { text: Cow::Borrowed(part), style }));
}

/// A text in parts that an element may hold; none are empty.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut length = 0;
        let mut fits = |c: char| {
            length += c.len_utf16();
            length <= MOST_ELEMENT
        };
        // No character takes more units than bytes.
        let is_short = rest.len() <= MOST_ELEMENT;
        let end = if is_short { rest.len() } else { rest.chars().take_while(|c| fits(*c)).map(char::len_utf8).sum() };
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Puts elements behind others, with line ends between.
fn join<'d>(open: Option<&mut Vec<Inline<'d>>>, gap: &str, elements: &mut Vec<Inline<'d>>) {
    let Some(open) = open else { return };
    match open.last_mut() {
        Some(Inline::Text { text, style: None }) if document::units(text) + gap.len() <= MOST_ELEMENT => {
            text.to_mut().push_str(gap);
        }
        _ => open.push(Inline::Text { text: Cow::Owned(gap.to_owned()), style: None }),
    }
    // What is alike is one element, while it is not too long.
    if let (Some(Inline::Text { text, style: None }), Some(Inline::Text { text: next, style: None })) =
        (open.last_mut(), elements.first())
        && document::units(text) + document::units(next) <= MOST_ELEMENT
    {
        text.to_mut().push_str(next);
        elements.remove(0);
    }
    open.append(elements);
}

fn native(table: &Table) -> Block<'_> {
    let cell = |text| Cell { text: if document::is_blank(text) { " " } else { text } };
    let rows = table.rows.iter().map(|row| row.iter().map(|text| cell(text.as_str())).collect()).collect();
    let column = |align: &Align| Column {
        align: match align {
            Align::Left => "left",
            Align::Center => "center",
            Align::Right => "right",
        },
        is_wrapped: true,
    };
    Block::Table { rows, column_settings: table.columns.iter().map(column).collect() }
}

/// The mention that `text` begins with, when the reply may make it, and its length.
fn mention(text: &str, pings: Pings) -> Option<(Inline<'_>, usize)> {
    let end = text.find('>')?;
    let inner = &text[1..end];
    let is_id = |id: &str, first: &[u8]| {
        (3..=20).contains(&id.len())
            && first.contains(&id.as_bytes()[0])
            && id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    };
    let found = if let Some(user_id) = inner.strip_prefix('@').filter(|id| pings.users && is_id(id, b"UW")) {
        Inline::User { user_id }
    } else if let Some(usergroup_id) = inner.strip_prefix("!subteam^").filter(|id| pings.roles && is_id(id, b"S")) {
        Inline::Usergroup { usergroup_id }
    } else {
        let range = inner
            .strip_prefix('!')
            .filter(|range| pings.everyone && matches!(*range, "here" | "channel" | "everyone"))?;
        Inline::Broadcast { range }
    };
    Some((found, end + 1))
}
