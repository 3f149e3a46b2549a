//! Builds a document in reading order. Gaps between blocks are kept only when something follows them.

use crate::{
    doc::{Block, BlockKind, DEEPEST, Doc, Link, Mark, Quote, Run, Style},
    links,
    table::Table,
};

/// What is being written.
#[derive(Debug, Default)]
pub struct Builder {
    doc: Doc,
    leaf: Option<Block>,
    gap: u8,
    level: u8,
    mark: Option<Mark>,
    quotes: usize,
    quote: Option<Quote>,
    quotes_made: u32,
    bold: usize,
    italic: usize,
    strike: usize,
    link: Option<usize>,
}

/// A style that a stretch of text may be in more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emphasis {
    Bold,
    Italic,
    Strike,
}

impl Builder {
    /// Bytes of text that are written.
    pub fn len(&self) -> usize {
        self.doc.text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.doc.text.is_empty()
    }

    pub fn written_since(&self, start: usize) -> &str {
        &self.doc.text[start..]
    }

    /// At least `lines` line ends before the next block.
    pub fn gap(&mut self, lines: u8) {
        self.end();
        self.gap = self.gap.max(lines);
    }

    /// A new block: behind an empty line, in a list on a new line, right behind the mark of an item.
    pub fn block(&mut self) {
        self.end();
        if self.mark.is_none() {
            self.gap(self.block_gap());
        }
    }

    fn block_gap(&self) -> u8 {
        if self.level > 0 { 1 } else { 2 }
    }

    /// Begins a block; one that is open ends.
    pub fn begin(&mut self, kind: BlockKind) {
        self.end();
        let gap = if self.doc.blocks.is_empty() { 0 } else { self.gap.max(1) };
        self.gap = 0;
        self.leaf = Some(Block {
            kind,
            text: self.doc.text.len()..self.doc.text.len(),
            runs: self.doc.runs.len()..self.doc.runs.len(),
            gap,
            level: self.level.min(DEEPEST),
            mark: self.mark.take(),
            quote: self.quote,
        });
    }

    /// Ends the open block, if one is.
    pub fn end(&mut self) {
        let Some(mut leaf) = self.leaf.take() else { return };
        let kept = self.doc.text[leaf.text.start..].trim_end_matches('\n').len();
        self.doc.text.truncate(leaf.text.start + kept);
        leaf.text.end = self.doc.text.len();
        while self.doc.runs.len() > leaf.runs.start && self.doc.runs.last().is_some_and(|r| r.start >= leaf.text.end) {
            self.doc.runs.pop();
        }
        if let Some(last) = self.doc.runs[leaf.runs.start..].last_mut() {
            last.end = leaf.text.end;
        }
        if !leaf.is_verbatim() {
            link_bare(&mut self.doc, &leaf);
        }
        leaf.runs.end = self.doc.runs.len();
        if !leaf.text.is_empty() || leaf.mark.is_some() {
            self.doc.blocks.push(leaf);
        } else {
            self.gap = self.gap.max(leaf.gap);
        }
    }

    pub fn begin_list(&mut self) {
        self.end_item();
        self.level = self.level.saturating_add(1);
    }

    pub fn end_list(&mut self) {
        self.end();
        self.level = self.level.saturating_sub(1);
        self.gap(self.block_gap());
    }

    pub fn item(&mut self, mark: Mark) {
        self.gap(1);
        self.mark = Some(mark);
    }

    /// Replaces the mark of the item that has just begun.
    pub fn remark(&mut self, mark: Mark) {
        match &mut self.leaf {
            Some(leaf) if leaf.text.start == self.doc.text.len() => leaf.mark = Some(mark),
            _ => self.mark = Some(mark),
        }
    }

    /// An item ends; an empty one still shows its mark.
    pub fn end_item(&mut self) {
        self.end();
        if self.mark.is_some() {
            self.begin(BlockKind::Paragraph);
            self.end();
        }
    }

    pub fn begin_quote(&mut self) {
        self.block();
        self.quote(false);
    }

    /// A quote right behind the line before it, folded until somebody opens it.
    pub fn begin_folded(&mut self) {
        self.gap(1);
        self.quote(true);
    }

    fn quote(&mut self, is_folded: bool) {
        self.quotes += 1;
        if self.quotes == 1 {
            self.quotes_made += 1;
            self.quote = Some(Quote { number: self.quotes_made, is_folded });
        }
    }

    pub fn end_quote(&mut self) {
        self.end();
        self.quotes = self.quotes.saturating_sub(1);
        if self.quotes == 0 {
            let is_folded = self.quote.take().is_some_and(|quote| quote.is_folded);
            self.gap(if is_folded { 1 } else { 2 });
        }
    }

    pub fn open(&mut self, emphasis: Emphasis) {
        *self.depth(emphasis) += 1;
    }

    pub fn close(&mut self, emphasis: Emphasis) {
        let depth = self.depth(emphasis);
        *depth = depth.saturating_sub(1);
    }

    fn depth(&mut self, emphasis: Emphasis) -> &mut usize {
        match emphasis {
            Emphasis::Bold => &mut self.bold,
            Emphasis::Italic => &mut self.italic,
            Emphasis::Strike => &mut self.strike,
        }
    }

    /// What follows leads to `target`, until [`Self::end_link`].
    pub fn begin_link(&mut self, target: &str) {
        self.doc.links.push(target.to_owned());
        self.link = Some(self.doc.links.len() - 1);
    }

    pub fn end_link(&mut self) {
        self.link = None;
    }

    /// A new line in the open block; at its end it is left out.
    pub fn line(&mut self) {
        let start = self.leaf.as_ref().map_or(usize::MAX, |leaf| leaf.text.start);
        if start < self.doc.text.len() && !self.doc.text.ends_with('\n') {
            self.styled("\n", false);
        }
    }

    pub fn text(&mut self, text: &str) {
        self.styled(text, false);
    }

    pub fn code(&mut self, text: &str) {
        self.styled(text, true);
    }

    fn styled(&mut self, text: &str, code: bool) {
        if text.is_empty() {
            return;
        }
        if self.leaf.is_none() {
            self.begin(BlockKind::Paragraph);
        }
        let style = Style { bold: self.bold > 0, italic: self.italic > 0, strike: self.strike > 0, code };
        let link = self.link.map(|to| Link { to, is_bare: false });
        self.push(text, style, link);
    }

    fn push(&mut self, text: &str, style: Style, link: Option<Link>) {
        let start = self.doc.text.len();
        self.doc.text.push_str(text);
        let end = self.doc.text.len();
        let own = self.leaf.as_ref().map_or(usize::MAX, |leaf| leaf.runs.start);
        let is_own = self.doc.runs.len() > own;
        match self.doc.runs.last_mut() {
            Some(last) if is_own && last.style == style && last.link == link => last.end = end,
            _ => self.doc.runs.push(Run { start, end, style, link }),
        }
    }

    /// A paragraph that is shown as it is written, with its lines.
    pub fn verbatim(&mut self, text: &str) {
        self.begin(BlockKind::Paragraph);
        self.text(text);
        self.end();
    }

    /// A block of code, as it is.
    pub fn pre(&mut self, language: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        self.fixed(BlockKind::Code(language_name(language)), text);
    }

    pub fn table(&mut self, table: Table) {
        let text = table.draw();
        self.doc.tables.push(table);
        self.fixed(BlockKind::Table(self.doc.tables.len() - 1), &text);
    }

    fn fixed(&mut self, kind: BlockKind, text: &str) {
        // The mark of its item stands on a line of its own: the text must not be moved by it.
        self.end_item();
        self.block();
        self.begin(kind);
        self.push(text, Style::PLAIN, None);
        self.end();
        self.gap(self.block_gap());
    }

    pub fn rule(&mut self) {
        self.block();
        self.begin(BlockKind::Rule);
        self.push("――――――――", Style::PLAIN, None);
        self.end();
        self.gap(2);
    }

    /// The finished document, without control characters.
    pub fn finish(mut self) -> Doc {
        self.end_item();
        blank_controls(&mut self.doc.text);
        self.doc
    }
}

/// Makes runs of their own of the addresses that stand in a block's text.
fn link_bare(doc: &mut Doc, leaf: &Block) {
    let text = &doc.text[leaf.text.clone()];
    if !text.contains("://") {
        return;
    }
    let old: Vec<Run> = doc.runs.drain(leaf.runs.start..).collect();
    let start = leaf.text.start;
    let mut next = links::next_bare(text, 0);
    for run in old {
        let mut run = run;
        while let Some(range) = next.clone().filter(|range| start + range.start < run.end) {
            let (from, to) = (start + range.start, start + range.end);
            // What is a link already, or code, or an address of which only a part is emphasised, stays as it is.
            if run.is_whole() || from < run.start || to > run.end {
                if to > run.end && from >= run.start {
                    break;
                }
                next = links::next_bare(text, range.end);
                continue;
            }
            if from > run.start {
                doc.runs.push(Run { end: from, ..run });
            }
            doc.links.push(text[range.clone()].to_owned());
            let link = Some(Link { to: doc.links.len() - 1, is_bare: true });
            doc.runs.push(Run { start: from, end: to, style: run.style, link });
            run.start = to;
            next = links::next_bare(text, range.end);
        }
        if run.start < run.end {
            doc.runs.push(run);
        }
    }
}

/// Platforms drop or refuse control characters; a space in their place keeps every offset.
fn blank_controls(text: &mut String) {
    let is_control = |b: u8| (b < 0x20 && b != b'\n' && b != b'\t') || b == 0x7F;
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
