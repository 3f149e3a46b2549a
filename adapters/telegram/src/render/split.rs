//! Cuts a document into messages and draws each: by visible length, lossless, in time linear in the text.

use unicode_segmentation::GraphemeCursor;

use super::doc::{Doc, Style};

/// Telegram shows styles of the first hundred entities of a message.
const MOST_ENTITIES: usize = 100;
/// The server refuses longer requests before it reads the markup (32 KiB).
const MOST_BYTES: usize = 30_000;
/// What is longer (in bytes) is no word and is cut anywhere, so that text without spaces takes the fewest messages.
const LONGEST_WORD: usize = 1_000;

/// One message's text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) html: String,
    pub(crate) plain: String,
}

/// Walks through a document once.
pub(crate) struct Cutter<'a> {
    doc: &'a Doc,
    at: usize,
    /// Spans that reach over the cut.
    open: Vec<usize>,
    /// The next span to open.
    next: usize,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(doc: &'a Doc) -> Self {
        Self { doc, at: 0, open: Vec::new(), next: 0 }
    }

    /// The next message of at most `limit` UTF-16 units; stretches without anything visible are passed over.
    pub(crate) fn next(&mut self, limit: usize) -> Option<Piece> {
        while self.at < self.doc.text.len() {
            let start = self.at;
            let end = self.cut(limit);
            let html = self.draw(end);
            let text = &self.doc.text[start..end];
            if !is_blank(text) {
                return Some(Piece { html, plain: self.plain(start, end, limit) });
            }
        }
        None
    }

    pub(crate) fn is_done(&self) -> bool {
        is_blank(&self.doc.text[self.at..])
    }

    /// Where this message ends: all that is left, else behind a paragraph, a line, a space or a grapheme.
    fn cut(&self, limit: usize) -> usize {
        let text = &self.doc.text;
        let window = self.window(limit);
        if window.hard == text.len() {
            return window.hard;
        }
        let room = window.hard - self.at;
        let breaks = &self.doc.breaks;
        let paragraph = breaks[..breaks.partition_point(|at| *at <= window.hard)].last().copied().unwrap_or(0);
        if paragraph > self.at + room / 2 {
            return paragraph;
        }
        if window.line > self.at + room / 2 {
            return window.line;
        }
        if window.space > self.at && window.hard.saturating_sub(window.space) <= LONGEST_WORD {
            return window.space;
        }
        self.grapheme(window.hard)
    }

    /// How far the limits reach, and the last line end and space within.
    fn window(&self, limit: usize) -> Window {
        let (text, spans) = (self.doc.text.as_bytes(), &self.doc.spans);
        let mut entities = self.open.len();
        let mut bytes: usize = self.open.iter().map(|span| tag_bytes(&spans[*span].style)).sum();
        let (mut units, mut next) = (0, self.next);
        let mut window = Window { hard: text.len(), line: 0, space: 0 };
        for (at, byte) in text.iter().enumerate().skip(self.at) {
            while let Some(span) = spans.get(next).filter(|span| span.start == at) {
                entities += 1;
                bytes += tag_bytes(&span.style);
                next += 1;
            }
            units += UNITS[usize::from(*byte)] as usize;
            bytes += COST[usize::from(*byte)] as usize;
            if units > limit || ((entities > MOST_ENTITIES || bytes > MOST_BYTES) && at > self.at) {
                window.hard = at;
                break;
            }
            match byte {
                b'\n' => (window.line, window.space) = (at + 1, at + 1),
                b' ' => window.space = at + 1,
                _ => {}
            }
        }
        window.settle(text)
    }

    /// The last border between graphemes up to `hard`, that does not begin the next message with a name that pings.
    fn grapheme(&self, hard: usize) -> usize {
        let rest = &self.doc.text[self.at..];
        if let Some(link) = torn_link(rest, hard - self.at) {
            return self.at + link;
        }
        let mut cursor = GraphemeCursor::new(hard - self.at, rest.len(), true);
        let is_border = matches!(cursor.is_boundary(rest, 0), Ok(true)) && !rest[hard - self.at..].starts_with('@');
        let border = if is_border { hard } else { self.at + before(&mut cursor, rest) };
        if border > self.at { border } else { hard }
    }

    /// Draws up to `end`: tags that reach over either border are reopened and closed.
    fn draw(&mut self, end: usize) -> String {
        let (text, spans) = (&self.doc.text, &self.doc.spans);
        let mut html = String::with_capacity((end - self.at) + (end - self.at) / 8 + 32);
        self.open.iter().for_each(|span| open_tag(&spans[*span].style, &mut html));
        loop {
            let opens = spans.get(self.next).map_or(usize::MAX, |span| span.start);
            let closes = self.open.last().map_or(usize::MAX, |span| spans[*span].end);
            let until = end.min(opens).min(closes);
            escape(&text[self.at..until], &mut html);
            self.at = until;
            if closes == until {
                self.open.pop().iter().for_each(|span| close_tag(&spans[*span].style, &mut html));
            } else if opens == until && until < end {
                open_tag(&spans[self.next].style, &mut html);
                self.open.push(self.next);
                self.next += 1;
            } else {
                break;
            }
        }
        self.open.iter().rev().for_each(|span| close_tag(&spans[*span].style, &mut html));
        html
    }

    /// The text without markup; links show where they lead while there is room.
    fn plain(&self, start: usize, end: usize, limit: usize) -> String {
        let text = &self.doc.text[start..end];
        let spans = &self.doc.spans[..self.next];
        let first = spans.partition_point(|span| span.start < start);
        let links = spans[first..].iter().filter_map(|span| match &span.style {
            Style::Link(target) if span.end <= end && self.doc.text[span.start..span.end] != **target => {
                Some((span.end, target))
            }
            _ => None,
        });
        let (mut plain, mut from) = (String::with_capacity(text.len()), start);
        for (at, target) in links {
            plain.push_str(&self.doc.text[from..at]);
            plain.push_str(&format!(" ({target})"));
            from = at;
        }
        plain.push_str(&self.doc.text[from..end]);
        if plain.len() > text.len() && units(&plain) > limit { text.to_owned() } else { plain }
    }
}

struct Window {
    hard: usize,
    line: usize,
    space: usize,
}

impl Window {
    /// White space that would begin the next message is as good a place as behind it; a character is never cut.
    fn settle(mut self, text: &[u8]) -> Self {
        while self.hard < text.len() && text[self.hard] & 0xC0 == 0x80 {
            self.hard -= 1;
        }
        match text.get(self.hard) {
            Some(b'\n') => (self.line, self.space) = (self.hard, self.hard),
            Some(b' ') => self.space = self.hard,
            _ => {}
        }
        self
    }
}

/// Where a link begins that a cut at `hard` would tear; its rest alone could ping.
fn torn_link(text: &str, hard: usize) -> Option<usize> {
    let link = text[..text.floor_char_boundary(hard + 3)].rfind("http")?;
    let is_torn =
        link > 0 && link < hard && hard - link <= LONGEST_WORD && !text[link..hard].contains(char::is_whitespace);
    is_torn.then_some(link)
}

fn before(cursor: &mut GraphemeCursor, text: &str) -> usize {
    match cursor.prev_boundary(text, 0) {
        Ok(Some(at)) => at,
        Ok(None) | Err(_) => 0,
    }
}

/// UTF-16 units that begin with a byte of UTF-8.
const UNITS: [u8; 256] = per_byte(false);
/// Bytes that a byte takes once it is escaped.
const COST: [u8; 256] = per_byte(true);

const fn per_byte(escaped: bool) -> [u8; 256] {
    let mut table = [1; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match (escaped, byte) {
            (true, 0x26) => 5,
            (true, 0x3C | 0x3E) => 4,
            (false, 0x80..=0xBF) => 0,
            (false, 0xF0..) => 2,
            _ => 1,
        };
        byte += 1;
    }
    table
}

/// Length in UTF-16 units, as Telegram counts.
pub(crate) fn units(text: &str) -> usize {
    text.bytes().map(|byte| UNITS[usize::from(byte)] as usize).sum()
}

/// Whether a person would see nothing of it.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{AD}' | '\u{2800}' | '\u{3164}')
    })
}

fn tag_bytes(style: &Style) -> usize {
    match style {
        Style::Bold | Style::Italic | Style::Strike => 7,
        Style::Code => 13,
        Style::Pre(language) => 11 + if language.is_empty() { 0 } else { 40 + language.len() },
        Style::Link(target) => 20 + 2 * target.len(),
        Style::Quote | Style::Folded => 40,
    }
}

fn open_tag(style: &Style, html: &mut String) {
    match style {
        Style::Bold => html.push_str("<b>"),
        Style::Italic => html.push_str("<i>"),
        Style::Strike => html.push_str("<s>"),
        Style::Code => html.push_str("<code>"),
        Style::Pre(language) if language.is_empty() => html.push_str("<pre>"),
        Style::Pre(language) => {
            html.push_str("<pre><code class=\"language-");
            escape(language, html);
            html.push_str("\">");
        }
        Style::Link(target) => {
            html.push_str("<a href=\"");
            escape(&target.replace('"', "%22"), html);
            html.push_str("\">");
        }
        Style::Quote => html.push_str("<blockquote>"),
        Style::Folded => html.push_str("<blockquote expandable>"),
    }
}

fn close_tag(style: &Style, html: &mut String) {
    html.push_str(match style {
        Style::Bold => "</b>",
        Style::Italic => "</i>",
        Style::Strike => "</s>",
        Style::Code => "</code>",
        Style::Pre(language) if language.is_empty() => "</pre>",
        Style::Pre(_) => "</code></pre>",
        Style::Link(_) => "</a>",
        Style::Quote | Style::Folded => "</blockquote>",
    });
}

fn escape(text: &str, html: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let entity = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            _ => continue,
        };
        html.push_str(&text[from..at]);
        html.push_str(entity);
        from = at + 1;
    }
    html.push_str(&text[from..]);
}
