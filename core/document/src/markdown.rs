//! CommonMark (with tables, task lists and strikethrough) to a document; raw HTML is text.

use std::{borrow::Cow, collections::HashSet};

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use crate::{
    build::{Builder, Emphasis},
    doc::{BlockKind, Mark},
    table::{Align, Table},
};

/// Writes `source` at the builder's place. What `is_link` refuses is text with its target behind it.
pub fn write(to: &mut Builder, source: &str, is_link: fn(&str) -> bool) {
    let source = shield_paths(source);
    let parser = Parser::new_ext(&source, options());
    let mut unused: Vec<_> =
        parser.reference_definitions().iter().map(|(label, def)| (label.to_owned(), def.dest.to_string())).collect();
    let (links, lists, used) = (Vec::new(), Vec::new(), HashSet::new());
    let mut walk = Walk { to, is_link, links, lists, code: None, table: None, used };
    for event in parser {
        walk.event(event);
    }
    // A definition that nothing refers to would vanish; it is shown as it was written.
    unused.retain(|(label, _)| !walk.used.contains(&label.to_lowercase()));
    unused.sort_unstable();
    for (label, target) in unused {
        walk.to.gap(1);
        walk.to.text(&format!("[{label}]: {target}"));
    }
    walk.to.end();
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

struct Walk<'w> {
    to: &'w mut Builder,
    is_link: fn(&str) -> bool,
    links: Vec<Link>,
    /// The number of the next item of each list, or nothing for bullets.
    lists: Vec<Option<u64>>,
    /// Language and text of the code block at hand.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Labels of link definitions that were referred to.
    used: HashSet<String>,
}

struct Link {
    is_span: bool,
    /// Shown in brackets behind the text where no link can be made.
    tail: Option<String>,
    start: usize,
    when_empty: String,
    closing: &'static str,
}

impl Walk<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => match &mut self.table {
                Some(table) => table.text(&text),
                None => self.to.code(&text),
            },
            Event::FootnoteReference(label) => self.text(&format!("[^{label}]")),
            Event::SoftBreak | Event::HardBreak => match &mut self.table {
                Some(table) => table.text(" "),
                None => self.to.line(),
            },
            Event::Rule => self.to.rule(),
            Event::TaskListMarker(done) => self.to.remark(Mark::Task(done)),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
        } else if let Some(table) = &mut self.table {
            table.text(text);
        } else {
            self.to.text(text);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.to.block(),
            Tag::Heading { level, .. } => {
                self.to.block();
                self.to.begin(BlockKind::Heading(depth(level)));
            }
            Tag::BlockQuote(_) => self.to.begin_quote(),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.to.block();
                }
                self.to.begin_list();
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        Mark::Number(number.saturating_sub(1))
                    }
                    Some(None) | None => Mark::Bullet,
                };
                self.to.item(mark);
            }
            Tag::Table(columns) => self.table = Some(Table::new(columns.into_iter().map(align).collect())),
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(Table::row),
            Tag::TableCell => self.table.iter_mut().for_each(Table::cell),
            Tag::Emphasis => self.to.open(Emphasis::Italic),
            Tag::Strong => self.to.open(Emphasis::Bold),
            Tag::Strikethrough => self.to.open(Emphasis::Strike),
            Tag::Link { link_type, dest_url, id, .. } => self.link(link_type, &dest_url, &id, ""),
            Tag::Image { link_type, dest_url, id, .. } => self.link(link_type, &dest_url, &id, "image"),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Heading(_) => self.to.gap(2),
            TagEnd::BlockQuote(_) => self.to.end_quote(),
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    self.to.pre(&language, code.strip_suffix('\n').unwrap_or(&code));
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.to.end_list();
            }
            TagEnd::Item => self.to.end_item(),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.to.table(table);
                }
            }
            TagEnd::Emphasis => self.to.close(Emphasis::Italic),
            TagEnd::Strong => self.to.close(Emphasis::Bold),
            TagEnd::Strikethrough => self.to.close(Emphasis::Strike),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn link(&mut self, kind: LinkType, target: &str, label: &str, when_empty: &str) {
        if matches!(kind, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut) {
            self.used.insert(label.to_lowercase());
        }
        let is_bare = matches!(kind, LinkType::Autolink | LinkType::Email);
        let is_span = !is_bare && self.table.is_none() && self.links.is_empty() && (self.is_link)(target);
        // An address in angle brackets is shown as it was written; a link in them is the usual way to write a bare one.
        let (opening, closing) = if kind == LinkType::Email { ("<", ">") } else { ("", "") };
        self.text(opening);
        if is_span {
            self.to.begin_link(target);
        }
        let tail = (!is_bare && !is_span && self.links.is_empty()).then(|| target.to_owned());
        let when_empty = if when_empty.is_empty() { target } else { when_empty }.to_owned();
        self.links.push(Link { is_span, tail, start: self.place(), when_empty, closing });
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        if self.place() == link.start {
            self.text(&link.when_empty);
        }
        if link.is_span {
            self.to.end_link();
        }
        let shown = if self.table.is_none() { self.to.written_since(link.start) } else { "" };
        if let Some(tail) = link.tail.filter(|tail| !tail.is_empty() && tail != shown) {
            self.text(&format!(" ({tail})"));
        }
        self.text(link.closing);
    }

    fn place(&self) -> usize {
        self.table.as_ref().map_or_else(|| self.to.len(), Table::len)
    }
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn align(alignment: Alignment) -> Align {
    match alignment {
        Alignment::Right => Align::Right,
        Alignment::Center => Align::Center,
        Alignment::Left | Alignment::None => Align::Left,
    }
}

/// A path such as `C:\__tmp__\x` is text: its backslashes are no escapes and its underscores no emphasis.
/// A path whose backslashes are already doubled is left as it is, and so is code.
fn shield_paths(source: &str) -> Cow<'_, str> {
    let starts: Vec<usize> =
        source.match_indices(":\\").filter_map(|(colon, _)| path_start(source.as_bytes(), colon)).collect();
    if starts.is_empty() {
        return Cow::Borrowed(source);
    }
    let mut code = Parser::new_ext(source, options())
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range)
        .peekable();
    let mut out = String::with_capacity(source.len() + 16 * starts.len());
    let mut from = 0;
    for start in starts {
        while code.next_if(|range| range.end <= start).is_some() {}
        if start < from || code.peek().is_some_and(|range| range.start <= start) {
            continue;
        }
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | ')' | ']');
        let length = source[start..].find(is_end).unwrap_or(source.len() - start);
        out.push_str(&source[from..start]);
        for c in source[start..start + length].chars() {
            if matches!(c, '\\' | '_' | '*' | '~' | '[' | '#' | '&' | '!') {
                out.push('\\');
            }
            out.push(c);
        }
        from = start + length;
    }
    out.push_str(&source[from..]);
    Cow::Owned(out)
}

/// Where the drive's letter stands when `colon` follows one that begins a word and a single backslash follows it.
fn path_start(bytes: &[u8], colon: usize) -> Option<usize> {
    let drive = colon.checked_sub(1).filter(|at| bytes[*at].is_ascii_alphabetic())?;
    let begins = drive == 0 || !bytes[drive - 1].is_ascii_alphanumeric();
    let is_single = bytes.get(colon + 2).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (begins && is_single).then_some(drive)
}
