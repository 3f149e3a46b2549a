//! A reply as visible text with styles over it: what is split and drawn.

use std::fmt::Write as _;

/// How a stretch of text looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Italic,
    Strike,
    Code,
    /// A block of code with its language, perhaps empty.
    Pre(String),
    Link(String),
    Quote,
    /// A quote that is folded until somebody opens it.
    Folded,
}

impl Style {
    /// Telegram allows nothing inside these.
    pub(crate) fn is_code(&self) -> bool {
        matches!(self, Self::Code | Self::Pre(_))
    }

    fn is_inline(&self) -> bool {
        matches!(self, Self::Bold | Self::Italic | Self::Strike)
    }
}

/// Bytes `start..end` of the text in a style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) style: Style,
}

/// The tree of a reply, laid flat: spans are in order of their starts and properly nested.
#[derive(Debug, Default)]
pub(crate) struct Doc {
    pub(crate) text: String,
    pub(crate) spans: Vec<Span>,
    /// Where a paragraph or a block begins.
    pub(crate) breaks: Vec<usize>,
}

/// Builds a [`Doc`] in reading order. Gaps between blocks are written only when something follows them.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    doc: Doc,
    /// Styles that are open, with their span when they made one.
    open: Vec<(Style, Option<usize>)>,
    /// Which of them made a span: no style is drawn within itself, so these are few however deep a text nests.
    drawn: Vec<usize>,
    gap: usize,
    levels: usize,
    marker: Option<String>,
    /// A quote has just begun: what comes next begins on its first line.
    fresh: bool,
}

/// Deeper lists are not indented further: a line must stay readable and the text linear.
const DEEPEST: usize = 8;
const OPEN_END: usize = usize::MAX;

impl Writer {
    pub(crate) fn len(&self) -> usize {
        self.doc.text.len()
    }

    pub(crate) fn written_since(&self, start: usize) -> &str {
        &self.doc.text[start..]
    }

    /// At least `lines` line ends before what comes next.
    pub(crate) fn gap(&mut self, lines: usize) {
        if !self.fresh {
            self.gap = self.gap.max(lines);
        }
    }

    /// A new block: a blank line at the top level, a new line in a list, nothing right after a list's mark.
    pub(crate) fn block(&mut self) {
        if self.marker.is_none() {
            self.gap(self.block_gap());
        }
    }

    pub(crate) fn block_gap(&self) -> usize {
        if self.levels > 0 { 1 } else { 2 }
    }

    pub(crate) fn begin_list(&mut self) {
        if self.marker.is_some() {
            self.flush();
        }
        self.levels += 1;
    }

    pub(crate) fn end_list(&mut self) {
        self.levels = self.levels.saturating_sub(1);
        self.gap(self.block_gap());
    }

    pub(crate) fn item(&mut self, marker: String) {
        self.gap(1);
        self.marker = Some(marker);
    }

    /// Replaces the mark of the item that has just begun.
    pub(crate) fn remark(&mut self, marker: &str) {
        self.marker = Some(marker.to_owned());
    }

    /// An item ends; an empty one still shows its mark.
    pub(crate) fn end_item(&mut self) {
        if self.marker.is_some() {
            self.flush();
        }
    }

    /// The bullet of the present list level.
    pub(crate) fn bullet(&self) -> &'static str {
        match self.levels {
            0 | 1 => "• ",
            2 => "◦ ",
            _ => "▪ ",
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.flush();
            self.doc.text.push_str(text);
        }
    }

    pub(crate) fn open(&mut self, style: Style) {
        self.flush();
        let is_same = |open: &Style| std::mem::discriminant(open) == std::mem::discriminant(&style);
        let quotes = |open: &Style| matches!(open, Style::Quote | Style::Folded);
        let is_nested = self.drawn().any(|open| is_same(open) || (quotes(open) && quotes(&style)));
        self.fresh = quotes(&style);
        let span = (!is_nested).then(|| self.begin(style.clone()));
        if span.is_some() {
            self.drawn.push(self.open.len());
        }
        self.open.push((style, span));
    }

    pub(crate) fn close(&mut self) {
        self.fresh = false;
        if let Some((_, Some(span))) = self.open.pop() {
            self.drawn.pop();
            self.doc.spans[span].end = self.doc.text.len();
        }
    }

    fn drawn(&self) -> impl Iterator<Item = &Style> {
        self.drawn.iter().map(|at| &self.open[*at].0)
    }

    /// Code within a line. Telegram allows no other style around it, so those are interrupted; within a link it is plain.
    pub(crate) fn code(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.flush();
        if self.drawn().any(|style| matches!(style, Style::Link(_))) {
            return self.text(text);
        }
        self.interrupt();
        self.span(Style::Code, text);
        self.resume();
    }

    /// A block of code, as it is.
    pub(crate) fn pre(&mut self, language: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        self.block();
        // Its first line would be indented against the others.
        let levels = if self.marker.is_none() { std::mem::take(&mut self.levels) } else { self.levels };
        self.flush();
        self.levels = levels;
        self.span(Style::Pre(language_name(language)), text);
        self.gap(self.block_gap());
    }

    fn span(&mut self, style: Style, text: &str) {
        let span = self.begin(style);
        self.doc.text.push_str(text);
        self.doc.spans[span].end = self.doc.text.len();
    }

    fn begin(&mut self, style: Style) -> usize {
        self.doc.spans.push(Span { start: self.doc.text.len(), end: OPEN_END, style });
        self.doc.spans.len() - 1
    }

    fn interrupt(&mut self) {
        let here = self.doc.text.len();
        for at in &self.drawn {
            if let (style, Some(span)) = &self.open[*at]
                && style.is_inline()
            {
                self.doc.spans[*span].end = here;
            }
        }
    }

    fn resume(&mut self) {
        let start = self.doc.text.len();
        for at in &self.drawn {
            let (style, span) = &mut self.open[*at];
            if style.is_inline() {
                self.doc.spans.push(Span { start, end: OPEN_END, style: style.clone() });
                *span = Some(self.doc.spans.len() - 1);
            }
        }
    }

    fn flush(&mut self) {
        let at_line_start = self.doc.text.is_empty() || self.gap > 0;
        if self.gap > 0 && !self.doc.text.is_empty() {
            self.doc.text.extend(std::iter::repeat_n('\n', self.gap));
            if self.gap > 1 {
                self.doc.breaks.push(self.doc.text.len());
            }
        }
        (self.gap, self.fresh) = (0, false);
        let levels = self.levels.min(DEEPEST);
        if let Some(marker) = self.marker.take() {
            let _ = write!(self.doc.text, "{:indent$}{marker}", "", indent = 2 * levels.saturating_sub(1));
        } else if at_line_start && levels > 0 {
            let _ = write!(self.doc.text, "{:indent$}", "", indent = 2 * levels);
        }
    }

    /// The finished document: without control characters, without names that would ping somebody.
    pub(crate) fn finish(mut self) -> Doc {
        while !self.open.is_empty() {
            self.close();
        }
        let mut doc = self.doc;
        doc.spans.retain(|span| span.start < span.end);
        blank_controls(&mut doc.text);
        super::mentions::disarm(&mut doc);
        doc
    }
}

/// Telegram drops control characters; a space in their place keeps every offset.
fn blank_controls(text: &mut String) {
    let is_control = |b: u8| b < 0x20 && b != b'\n' && b != b'\t';
    if text.bytes().any(is_control) {
        *text = text.chars().map(|c| if c.is_ascii() && is_control(c as u8) { ' ' } else { c }).collect();
    }
}

/// The language of a fence's info string, when it looks like one.
fn language_name(info: &str) -> String {
    let word = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
    let is_name = word.len() <= 32 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+#-_.".contains(&b));
    if is_name { word.to_owned() } else { String::new() }
}
