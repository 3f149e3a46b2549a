//! Draws a piece as Discord's Markdown: what is text stays text, by construction.

use std::borrow::Cow;

use contract::Pings;
use document::{Block, BlockKind, Cost, Link, Manner, Mark, Piece, Quote, Run, Slice, Style};

use super::MOST_TEXT;

/// Invisible; keeps two marks from being read as one.
const SEPARATOR: char = '\u{200B}';
/// The longest name of an emoji that is looked for behind a colon: those of two people with a tone of skin each are the longest.
const LONGEST_EMOJI: usize = 80;
/// Deeper headings are bold text.
pub(super) const DEEPEST_HEADING: u8 = 3;

/// How Discord draws.
#[derive(Debug, Clone, Copy)]
pub(super) struct Markdown {
    pub(super) pings: Pings,
}

impl Manner for Markdown {
    fn most(&self) -> Cost {
        Cost::new(MOST_TEXT, 0, usize::MAX)
    }

    fn draw(&self, piece: Piece<'_>) -> String {
        let mut drawing = Drawing::new(self.pings);
        piece.slices().for_each(|slice| drawing.slice(&slice));
        super::body(&drawing.out, &[], self.pings)
    }
}

/// Text of one line or more that shows exactly itself.
pub(super) fn escape(text: &str) -> String {
    let mut drawing = Drawing::new(Pings::default());
    drawing.text(text);
    drawing.out
}

/// A target as it stands in a link: a parenthesis would end it.
pub(super) fn target(target: &str) -> String {
    target.replace('(', "%28").replace(')', "%29")
}

struct Drawing {
    out: String,
    pings: Pings,
    quote: Option<Quote>,
    /// Spaces that begin each further line of the block.
    indent: usize,
    /// Nothing but spaces and marks stands on the line yet.
    is_start: bool,
    /// Where a mark of style has just ended.
    marked: usize,
    /// Where the last link ended.
    linked: Option<usize>,
    after_heading: bool,
    /// A heading is one line.
    is_line: bool,
}

impl Drawing {
    fn new(pings: Pings) -> Self {
        Self {
            out: String::new(),
            pings,
            quote: None,
            indent: 0,
            is_start: true,
            marked: usize::MAX,
            linked: None,
            after_heading: false,
            is_line: false,
        }
    }

    fn slice(&mut self, slice: &Slice<'_>) {
        let block = slice.block;
        self.gap(block);
        (self.quote, self.indent, self.is_start) = (block.quote, block.indent(), true);
        self.is_line = matches!(block.kind, BlockKind::Heading(_));
        self.prefix();
        match &block.kind {
            BlockKind::Code(language) => self.fence(language, slice.text()),
            BlockKind::Table(_) => self.fence("", slice.text()),
            BlockKind::Paragraph | BlockKind::Heading(_) | BlockKind::Rule | BlockKind::Reference => {
                self.begin(slice);
                self.runs(slice);
            }
        }
        self.after_heading = matches!(block.kind, BlockKind::Heading(level) if level <= DEEPEST_HEADING);
    }

    /// A heading has room below it; an empty line within a quote belongs to it.
    fn gap(&mut self, block: &Block) {
        if self.out.is_empty() {
            return;
        }
        let lines = if self.after_heading { 1 } else { block.gap.max(1) };
        for n in 1..=lines {
            self.out.push('\n');
            if n < lines && block.quote.is_some() && block.quote == self.quote {
                self.out.push_str("> ");
            }
        }
    }

    fn prefix(&mut self) {
        if self.quote.is_some() {
            self.out.push_str("> ");
        }
    }

    fn begin(&mut self, slice: &Slice<'_>) {
        let indent = if slice.mark().is_some() { self.indent.saturating_sub(2) } else { self.indent };
        self.spaces(indent);
        match slice.mark() {
            Some(Mark::Bullet) => self.out.push_str("- "),
            Some(Mark::Number(number)) => self.out.push_str(&format!("{number}. ")),
            Some(Mark::Task(is_done)) => self.out.push_str(if is_done { "- ☑ " } else { "- ☐ " }),
            None => {}
        }
        match slice.block.kind {
            BlockKind::Heading(level) if level <= DEEPEST_HEADING => {
                self.out.push_str(["# ", "## ", "### "][usize::from(level.clamp(1, DEEPEST_HEADING)) - 1]);
            }
            BlockKind::Reference => self.out.push_str("-# "),
            BlockKind::Heading(_) | BlockKind::Paragraph | BlockKind::Rule => {}
            BlockKind::Code(_) | BlockKind::Table(_) => {}
        }
    }

    fn spaces(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }

    /// Code between fences; what would end it is broken.
    fn fence(&mut self, language: &str, text: &str) {
        self.out.push_str("```");
        self.out.push_str(language);
        for line in text.split('\n') {
            self.out.push('\n');
            self.prefix();
            let line = self.unlinked(line);
            broken(&line, 2, &mut self.out);
        }
        self.out.push('\n');
        self.prefix();
        self.out.push_str("```");
    }

    fn runs(&mut self, slice: &Slice<'_>) {
        let is_bold = matches!(slice.block.kind, BlockKind::Heading(level) if level > DEEPEST_HEADING);
        let runs: Vec<Run> = slice.runs().collect();
        for group in runs.chunk_by(|a, b| a.link.is_some() && a.link == b.link) {
            match group[0].link {
                Some(link) if link.is_bare => self.address(slice.doc.target(link)),
                Some(link) => self.link(slice, group, link),
                None => group.iter().for_each(|run| self.run(slice, run, is_bold)),
            }
        }
    }

    /// An address that shows itself, without a preview of where it leads.
    fn address(&mut self, target: &str) {
        self.out.push('<');
        self.out.push_str(target);
        self.out.push('>');
        self.is_start = false;
    }

    /// Text that leads elsewhere; what Discord would not take as a link's text stands before its target.
    fn link(&mut self, slice: &Slice<'_>, group: &[Run], link: Link) {
        let to = slice.doc.target(link);
        let text = &slice.doc.text[group[0].start..group[group.len() - 1].end];
        if text == to {
            return self.address(to);
        }
        let is_plain = !text.contains(['[', ']', '\n']) && !text.contains("://") && !text.trim().is_empty();
        if is_plain {
            self.out.push('[');
        }
        self.is_start &= !is_plain;
        group.iter().for_each(|run| self.run(slice, run, false));
        if is_plain {
            self.out.push_str("](<");
            self.out.push_str(&target(to));
            self.out.push_str(">)");
            self.linked = Some(self.out.len());
        } else {
            self.out.push_str(" (");
            self.address(to);
            self.out.push(')');
        }
    }

    fn run(&mut self, slice: &Slice<'_>, run: &Run, is_bold: bool) {
        let text = &slice.doc.text[run.start..run.end];
        if run.style.code {
            return self.code(text);
        }
        let style = Style { bold: run.style.bold || is_bold, ..run.style };
        let core = text.trim();
        if style == Style::PLAIN || core.is_empty() {
            return self.text(text);
        }
        // Marks do not hold where white space touches them.
        let lead = text.len() - text.trim_start().len();
        self.text(&text[..lead]);
        self.separate();
        self.marks(style, false);
        self.is_start = false;
        self.text(core);
        if style.strike && core.ends_with('~') {
            self.out.push(SEPARATOR);
        }
        self.marks(style, true);
        self.marked = self.out.len();
        self.text(&text[lead + core.len()..]);
    }

    fn marks(&mut self, style: Style, is_end: bool) {
        let mut marks = [(style.strike, "~~"), (style.bold, "**"), (style.italic, "*")];
        if is_end {
            marks.reverse();
        }
        marks.iter().filter(|(is_on, _)| *is_on).for_each(|(_, mark)| self.out.push_str(mark));
    }

    fn separate(&mut self) {
        if self.marked == self.out.len() {
            self.out.push(SEPARATOR);
        }
    }

    /// Code within a line. No style stands around it: Discord looks for the end of one also within code.
    fn code(&mut self, text: &str) {
        self.separate();
        let fence = if text.contains('`') { "``" } else { "`" };
        self.out.push_str(fence);
        if text.starts_with('`') {
            self.out.push(' ');
        }
        // A line of code is a line, and a run of three would begin a block of it.
        let text = self.unlinked(&text.replace('\n', " ")).into_owned();
        broken(&text, 1, &mut self.out);
        if text.ends_with('`') {
            self.out.push(' ');
        }
        self.out.push_str(fence);
        (self.marked, self.is_start) = (self.out.len(), false);
    }

    /// Code that does not end the text of a link before it: Discord looks for that in code, too, until a bracket opens.
    fn unlinked<'t>(&self, code: &'t str) -> Cow<'t, str> {
        let Some(linked) = self.linked.filter(|_| code.contains("](")) else { return Cow::Borrowed(code) };
        let reach = code.find('[').unwrap_or(code.len());
        if self.out[linked..].contains('[') || !code[..reach].contains("](") {
            return Cow::Borrowed(code);
        }
        Cow::Owned(code[..reach].replace("](", &format!("]{SEPARATOR}(")) + &code[reach..])
    }

    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if at < from {
                continue;
            }
            let is_escaped = match byte {
                b' ' => continue,
                b'\n' if self.is_line => {
                    self.out.push_str(&text[from..at]);
                    self.out.push(' ');
                    from = at + 1;
                    continue;
                }
                b'\n' => {
                    self.out.push_str(&text[from..=at]);
                    from = at + 1;
                    self.is_start = true;
                    self.prefix();
                    self.spaces(self.indent);
                    continue;
                }
                b'\\' | b'*' | b'_' | b'~' | b'`' | b'|' | b'[' => true,
                b'<' => match self.mention(&text[at..]) {
                    Some(length) => {
                        self.out.push_str(&text[from..at + length]);
                        from = at + length;
                        self.is_start = false;
                        continue;
                    }
                    None => true,
                },
                // Between these two a link's text would end, also that of a link before them.
                b'(' => {
                    if at > from {
                        bytes[at - 1] == b']'
                    } else {
                        self.out.ends_with(']')
                    }
                }
                b':' => text[at..].starts_with("://") || is_emoji(&bytes[at..]),
                b'#' | b'-' | b'>' => self.is_start,
                b'0'..=b'9' if self.is_start => {
                    let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                    if bytes.get(at + digits) == Some(&b'.') {
                        self.out.push_str(&text[from..at + digits]);
                        self.out.push('\\');
                        from = at + digits;
                    }
                    false
                }
                _ => false,
            };
            if is_escaped {
                self.out.push_str(&text[from..at]);
                self.out.push('\\');
                from = at;
            }
            self.is_start = false;
        }
        self.out.push_str(&text[from..]);
    }

    /// The length of a mention that the reply may make and `text` begins with.
    fn mention(&self, text: &str) -> Option<usize> {
        let rest = text.strip_prefix("<@")?;
        let (may, id) = match rest.strip_prefix('&') {
            Some(role) => (self.pings.roles, role),
            None => (self.pings.users, rest.strip_prefix('!').unwrap_or(rest)),
        };
        let end = id.find('>').filter(|end| (15..=21).contains(end))?;
        let is_id = may && id[..end].bytes().all(|b| b.is_ascii_digit());
        is_id.then_some(text.len() - id.len() + end + 1)
    }
}

/// Text with an invisible sign after every `most` backticks in a row.
fn broken(text: &str, most: usize, out: &mut String) {
    if !text.contains('`') {
        return out.push_str(text);
    }
    let mut row = 0;
    for c in text.chars() {
        row = if c == '`' { row + 1 } else { 0 };
        if row > most {
            out.push(SEPARATOR);
            row = 1;
        }
        out.push(c);
    }
}

/// Whether a picture would be made of what begins here, `:name:`; a time of day is none.
fn is_emoji(bytes: &[u8]) -> bool {
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || b"_+-".contains(b);
    let length = bytes[1..].iter().take(LONGEST_EMOJI).take_while(is_part).count();
    let name = &bytes[1..=length];
    let is_name = matches!(name, b"100" | b"1234") || name.iter().any(|b| !b.is_ascii_digit());
    is_name && bytes.get(1 + length) == Some(&b':')
}
