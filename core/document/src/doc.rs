//! A reply as blocks of styled text: what is measured, cut and drawn.

use std::ops::Range;

use crate::table::Table;

/// How a stretch of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
}

impl Style {
    pub const PLAIN: Self = Self { bold: false, italic: false, strike: false, code: false };
    pub const CODE: Self = Self { code: true, ..Self::PLAIN };
    pub const BOLD: Self = Self { bold: true, ..Self::PLAIN };
}

/// Where a stretch of text leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The place of the target in [`Doc::links`].
    pub to: usize,
    /// The text is the address itself.
    pub is_bare: bool,
}

/// Bytes `start..end` of the text, in one style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub start: usize,
    pub end: usize,
    pub style: Style,
    pub link: Option<Link>,
}

impl Run {
    /// A run of code or of a link is cut only when it must be.
    pub fn is_whole(&self) -> bool {
        self.style.code || self.link.is_some()
    }
}

/// What a block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    Paragraph,
    /// With its level, from 1.
    Heading(u8),
    /// Text in fixed width with its language, perhaps empty.
    Code(String),
    /// Its text is the table as aligned text; its cells are at this place of [`Doc::tables`].
    Table(usize),
    /// A line between parts; its text is a line of dashes.
    Rule,
    /// What a person quotes when asking about a turn.
    Reference,
}

/// What stands before an item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Bullet,
    Number(u64),
    Task(bool),
}

/// The quote that a block stands in. Quotes within quotes are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// Blocks with the same number stand in the same quote.
    pub number: u32,
    /// Shown folded until somebody opens it.
    pub is_folded: bool,
}

/// A leaf of the tree with what it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    pub text: Range<usize>,
    /// Its runs in [`Doc::runs`]; they cover its text without a gap.
    pub runs: Range<usize>,
    /// Line ends before it, when something stands before it: 2 make an empty line.
    pub gap: u8,
    /// How many lists it stands in, at most [`DEEPEST`].
    pub level: u8,
    /// Nothing for what continues an item.
    pub mark: Option<Mark>,
    pub quote: Option<Quote>,
}

/// Deeper lists are not indented further: a line must stay readable and the text linear.
pub const DEEPEST: u8 = 8;

impl Block {
    /// Whether its text is shown in fixed width, each space where it is.
    pub fn is_verbatim(&self) -> bool {
        matches!(self.kind, BlockKind::Code(_) | BlockKind::Table(_))
    }

    /// Columns before its lines; what is in fixed width stands at the margin, since its first line would else stand
    /// differently from the others.
    pub fn indent(&self) -> usize {
        if self.is_verbatim() { 0 } else { 2 * usize::from(self.level) }
    }
}

/// The tree of a reply, laid flat.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Doc {
    pub text: String,
    pub runs: Vec<Run>,
    pub blocks: Vec<Block>,
    pub links: Vec<String>,
    pub tables: Vec<Table>,
}

impl Doc {
    pub fn target(&self, link: Link) -> &str {
        &self.links[link.to]
    }

    pub fn text_of(&self, block: &Block) -> &str {
        &self.text[block.text.clone()]
    }
}

impl Mark {
    /// The mark as a character and a space, of an item in `level` lists.
    pub fn sign(self, level: u8) -> String {
        match (self, level) {
            (Self::Bullet, 0 | 1) => "• ".to_owned(),
            (Self::Bullet, 2) => "◦ ".to_owned(),
            (Self::Bullet, _) => "▪ ".to_owned(),
            (Self::Number(number), _) => format!("{number}. "),
            (Self::Task(false), _) => "☐ ".to_owned(),
            (Self::Task(true), _) => "☑ ".to_owned(),
        }
    }

    /// How many characters [`Self::sign`] has.
    pub fn width(self) -> usize {
        match self {
            Self::Bullet | Self::Task(_) => 2,
            Self::Number(number) => 3 + number.checked_ilog10().unwrap_or(0) as usize,
        }
    }
}

/// Whether a person would see nothing of it.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{AD}' | '\u{2800}' | '\u{3164}')
    })
}

/// UTF-16 units that begin with a byte of UTF-8.
pub const UNITS: [u8; 256] = {
    let mut table = [1; 256];
    let mut byte = 0x80;
    while byte < 256 {
        table[byte] = match byte {
            0x80..=0xBF => 0,
            0xF0.. => 2,
            _ => 1,
        };
        byte += 1;
    }
    table
};

/// Length in UTF-16 units.
pub fn units(text: &str) -> usize {
    text.bytes().map(|byte| usize::from(UNITS[usize::from(byte)])).sum()
}
