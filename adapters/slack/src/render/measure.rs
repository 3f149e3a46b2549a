//! What the parts of a message take of Slack's limits: the JSON of its blocks, and how many they are.

use document::{Block, BlockKind, Cost, Doc, Mark, Measure, Run, cut::Bytes, doc::UNITS, table::Table};

use super::rich::RichText;

const MOST_ROWS: usize = 100;
const MOST_COLUMNS: usize = 20;
/// A larger table is text in fixed width, which can be cut.
const LARGEST_TABLE: usize = 6_000;

// What the JSON of each thing takes around its text, at most.
pub(super) const RICH_TEXT: usize = 36;
pub(super) const SECTION: usize = 46;
pub(super) const LIST: usize = 110;
const TEXT: usize = 28;
const BOLD: usize = 26;
const LINK: usize = 40;
const OTHER_BLOCK: usize = 100;
const CELL: usize = 32;

static COSTS: Bytes = costs();

/// Characters once a text is a string of JSON.
const fn costs() -> Bytes {
    let mut table = [(1, 0); 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'"' | b'\\' | b'\n' | b'\t' => (2, 0),
            _ => (UNITS[byte], 0),
        };
        byte += 1;
    }
    table
}

impl Measure for RichText {
    fn bytes(&self, _: bool) -> &'static Bytes {
        &COSTS
    }

    fn block(&self, doc: &Doc, n: usize) -> Cost {
        let block = &doc.blocks[n];
        let before = n.checked_sub(1).map(|n| &doc.blocks[n]);
        let gap = match block.mark {
            Some(Mark::Bullet | Mark::Number(_)) => 0,
            Some(Mark::Task(_)) => TEXT + 2,
            None => TEXT + 2 * usize::from(block.gap),
        };
        match &block.kind {
            BlockKind::Table(table) if is_native(&doc.tables[*table]) => {
                Cost::new(OTHER_BLOCK + RICH_TEXT + table_text(&doc.tables[*table]), 2, 0)
            }
            BlockKind::Rule | BlockKind::Reference => Cost::new(OTHER_BLOCK + RICH_TEXT, 2, 0),
            BlockKind::Heading(1) => Cost::new(OTHER_BLOCK + RICH_TEXT + gap + BOLD * block.runs.len(), 2, 0),
            BlockKind::Code(_) | BlockKind::Table(_) => Cost::length(SECTION + TEXT + 30),
            BlockKind::Heading(_) | BlockKind::Paragraph => {
                let is_same = before.is_some_and(|before| continues(before, block));
                let list = if block.level > 0 && !is_same { LIST } else { 0 };
                let section = if is_same && block.level == 0 { 0 } else { SECTION };
                let bold = if matches!(block.kind, BlockKind::Heading(_)) { BOLD * block.runs.len() } else { 0 };
                Cost::length(list + section + gap + bold)
            }
        }
    }

    fn line(&self, _: &Block) -> usize {
        0
    }

    fn run(&self, doc: &Doc, run: &Run) -> Cost {
        let document::Style { bold, italic, strike, code } = run.style;
        let is_styled = usize::from(run.style != document::Style::PLAIN);
        let style = 10 * is_styled + 14 * [bold, italic, strike, code].into_iter().filter(|is_on| *is_on).count();
        // An address that shows itself stands there once.
        let target = |link| doc.target(link).chars().map(char::len_utf16).sum::<usize>();
        let link = run.link.map_or(0, |link| if link.is_bare { LINK } else { LINK + target(link) });
        Cost::length(TEXT + style + link)
    }
}

/// Whether a block stands in the same list, quote or section as the one before it.
fn continues(before: &Block, block: &Block) -> bool {
    matches!(before.kind, BlockKind::Paragraph | BlockKind::Heading(2..))
        && before.quote == block.quote
        && before.level == block.level
        && match (before.mark, block.mark) {
            (_, None) => true,
            (Some(Mark::Number(last)), Some(Mark::Number(next))) => last.checked_add(1) == Some(next),
            (Some(Mark::Bullet | Mark::Task(_)), Some(Mark::Bullet | Mark::Task(_))) => true,
            (None | Some(_), Some(_)) => false,
        }
}

/// Whether Slack draws the table itself.
pub(super) fn is_native(table: &Table) -> bool {
    table.rows.len() <= MOST_ROWS && table.columns.len() <= MOST_COLUMNS && table_text(table) <= LARGEST_TABLE
}

/// The characters of a table's JSON.
fn table_text(table: &Table) -> usize {
    let cells: usize = table.rows.iter().map(Vec::len).sum();
    // Each character may be escaped.
    CELL * cells + 48 * table.columns.len() + 2 * table.len()
}
