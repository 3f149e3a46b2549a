//! Draws a piece as Telegram's HTML: escaped by construction, with a joiner in every name that would ping somebody.

use document::{
    Block, BlockKind, Cost, Doc, Manner, Measure, Piece, Quote, Run, Slice,
    cut::Bytes,
    doc::UNITS,
    plain::{self, begin},
};

use super::mentions;

/// Telegram shows styles of the first hundred entities of a message.
const MOST_ENTITIES: usize = 100;
/// The server refuses longer requests before it reads the markup (32 KiB).
const MOST_BYTES: usize = 30_000;

/// How Telegram draws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Html {
    /// Most UTF-16 units, after the markup is read.
    pub(crate) most_units: usize,
    /// Whether names may ping.
    pub(crate) pings: bool,
}

static COSTS: Bytes = costs();

/// Units after the markup is read, and bytes before. A name may get a joiner, also in code when markup is refused.
const fn costs() -> Bytes {
    let mut table = [(1, 1); 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte {
            0x26 => (1, 5),
            0x3C | 0x3E => (1, 4),
            0x40 => (2, 4),
            _ => (UNITS[byte], 1),
        };
        byte += 1;
    }
    table
}

impl Measure for Html {
    fn bytes(&self, _: bool) -> &'static Bytes {
        &COSTS
    }

    fn block(&self, doc: &Doc, n: usize) -> Cost {
        let block = &doc.blocks[n];
        let mark = block.mark.map_or(0, document::Mark::width);
        let units = usize::from(block.gap) + block.indent() + mark;
        let quote = if block.quote.is_some() { Cost::new(0, 1, 40) } else { Cost::default() };
        let (marks, bytes) = match &block.kind {
            BlockKind::Heading(_) => (block.runs.len(), 7 * block.runs.len()),
            BlockKind::Code(language) => (1, 51 + language.len()),
            BlockKind::Table(_) => (1, 11),
            BlockKind::Paragraph | BlockKind::Rule | BlockKind::Reference => (0, 0),
        };
        Cost::new(units, marks + quote.marks, 3 * units + bytes + quote.bytes)
    }

    fn line(&self, block: &Block) -> usize {
        block.indent()
    }

    fn run(&self, doc: &Doc, run: &Run) -> Cost {
        let mut cost = Cost::default();
        for tag in Tags::of(run, false).iter() {
            cost.marks += 1;
            cost.bytes += match tag {
                Tag::Link(to) => 20 + 2 * doc.links[to].len(),
                Tag::Bold | Tag::Italic | Tag::Strike | Tag::Code => 13,
            };
        }
        cost
    }
}

impl Manner for Html {
    fn most(&self) -> Cost {
        Cost::new(self.most_units, MOST_ENTITIES, MOST_BYTES)
    }

    fn draw(&self, piece: Piece<'_>) -> String {
        let mut drawing = Drawing { out: String::new(), open: Vec::new(), quote: None, pings: self.pings };
        piece.slices().for_each(|slice| drawing.slice(&slice));
        drawing.end_quote();
        drawing.out
    }

    fn plain(&self, piece: Piece<'_>) -> String {
        let plain = plain::of(piece, self.most_units);
        if self.pings || !plain.contains('@') {
            return plain;
        }
        let disarmed = mentions::disarm(&plain);
        if document::units(&disarmed) <= self.most_units { disarmed } else { mentions::disarm(&plain::of(piece, 0)) }
    }
}

/// A tag around text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Link(usize),
    Bold,
    Italic,
    Strike,
    Code,
}

/// Whether a run is drawn as code.
fn is_code(run: &Run) -> bool {
    run.style.code && run.link.is_none_or(|link| link.is_bare)
}

/// The tags around a run, outermost first.
#[derive(Debug, Clone, Copy)]
struct Tags([Option<Tag>; 4]);

impl Tags {
    /// Telegram allows no other style around code, and no code within a link.
    fn of(run: &Run, is_bold: bool) -> Self {
        let link = run.link.filter(|link| !link.is_bare).map(|link| Tag::Link(link.to));
        if is_code(run) {
            return Self([Some(Tag::Code), None, None, None]);
        }
        let bold = (run.style.bold || is_bold).then_some(Tag::Bold);
        Self([link, bold, run.style.italic.then_some(Tag::Italic), run.style.strike.then_some(Tag::Strike)])
    }

    fn iter(self) -> impl Iterator<Item = Tag> {
        self.0.into_iter().flatten()
    }

    fn has(self, tag: Tag) -> bool {
        self.0.contains(&Some(tag))
    }
}

struct Drawing {
    out: String,
    open: Vec<Tag>,
    quote: Option<Quote>,
    pings: bool,
}

impl Drawing {
    fn slice(&mut self, slice: &Slice<'_>) {
        if self.quote != slice.block.quote {
            self.end_quote();
        }
        if !self.out.is_empty() {
            self.out.extend(std::iter::repeat_n('\n', usize::from(slice.block.gap)));
        }
        if let Some(quote) = slice.block.quote.filter(|_| self.quote.is_none()) {
            self.out.push_str(if quote.is_folded { "<blockquote expandable>" } else { "<blockquote>" });
            self.quote = Some(quote);
        }
        match &slice.block.kind {
            BlockKind::Code(language) if !language.is_empty() => {
                self.out.push_str("<pre><code class=\"language-");
                escape(language, &mut self.out);
                self.out.push_str("\">");
                escape(slice.text(), &mut self.out);
                self.out.push_str("</code></pre>");
            }
            BlockKind::Code(_) | BlockKind::Table(_) => {
                self.out.push_str("<pre>");
                escape(slice.text(), &mut self.out);
                self.out.push_str("</pre>");
            }
            BlockKind::Heading(_) => self.runs(slice, true),
            BlockKind::Paragraph | BlockKind::Rule | BlockKind::Reference => self.runs(slice, false),
        }
    }

    fn end_quote(&mut self) {
        if self.quote.take().is_some() {
            self.out.push_str("</blockquote>");
        }
    }

    fn runs(&mut self, slice: &Slice<'_>, is_bold: bool) {
        begin(slice, &mut self.out);
        // What stands before a name keeps it from being one, but not when that is code.
        let mut context = slice.start;
        for run in slice.runs() {
            self.tags(Tags::of(&run, is_bold), slice.doc);
            self.text(slice, &run, context);
            context = if is_code(&run) { run.end } else { context };
        }
        self.close(0);
    }

    /// Closes what the next text is not in, and opens what it is in besides.
    fn tags(&mut self, tags: Tags, doc: &Doc) {
        let kept = self.open.iter().take_while(|tag| tags.has(**tag)).count();
        self.close(kept);
        for tag in tags.iter() {
            if !self.open.contains(&tag) {
                open_tag(tag, doc, &mut self.out);
                self.open.push(tag);
            }
        }
    }

    fn close(&mut self, kept: usize) {
        for tag in self.open.drain(kept..).rev() {
            self.out.push_str(match tag {
                Tag::Link(_) => "</a>",
                Tag::Bold => "</b>",
                Tag::Italic => "</i>",
                Tag::Strike => "</s>",
                Tag::Code => "</code>",
            });
        }
    }

    fn text(&mut self, slice: &Slice<'_>, run: &Run, context: usize) {
        let text = &slice.doc.text[run.start..run.end];
        let indent = slice.block.indent();
        let is_armed = !self.pings && !is_code(run) && text.contains('@');
        if !is_armed && (indent == 0 || !text.contains('\n')) {
            return escape(text, &mut self.out);
        }
        let mut from = 0;
        for (at, _) in text.match_indices(['@', '\n']) {
            escape(&text[from..=at], &mut self.out);
            from = at + 1;
            if text.as_bytes()[at] == b'\n' {
                self.out.extend(std::iter::repeat_n(' ', indent));
            } else if is_armed && mentions::pings(&slice.doc.text[context..slice.end], run.start + at - context) {
                self.out.push(mentions::JOINER);
            }
        }
        escape(&text[from..], &mut self.out);
    }
}

fn open_tag(tag: Tag, doc: &Doc, out: &mut String) {
    match tag {
        Tag::Link(to) => {
            out.push_str("<a href=\"");
            escape(&doc.links[to].replace('"', "%22"), out);
            out.push_str("\">");
        }
        Tag::Bold => out.push_str("<b>"),
        Tag::Italic => out.push_str("<i>"),
        Tag::Strike => out.push_str("<s>"),
        Tag::Code => out.push_str("<code>"),
    }
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
