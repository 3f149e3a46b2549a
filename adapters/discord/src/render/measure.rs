//! What the parts of a message take of Discord's limit: the length of its Markdown.

use document::{Block, BlockKind, Cost, Doc, Measure, Run, cut::Bytes, doc::UNITS};

use super::markdown::{DEEPEST_HEADING, Markdown, target};

static TEXT: Bytes = costs(false);
static CODE: Bytes = costs(true);

const fn costs(is_code: bool) -> Bytes {
    let mut table = [(1, 0); 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match (is_code, byte as u8) {
            (_, b'`' | b']') => (2, 0),
            (false, b'\\' | b'*' | b'_' | b'~' | b'|' | b'<' | b'[' | b':') => (2, 0),
            _ => (UNITS[byte], 0),
        };
        byte += 1;
    }
    table
}

impl Measure for Markdown {
    fn bytes(&self, is_code: bool) -> &'static Bytes {
        if is_code { &CODE } else { &TEXT }
    }

    fn block(&self, doc: &Doc, n: usize) -> Cost {
        let block = &doc.blocks[n];
        let gap = usize::from(block.gap);
        let quote = if block.quote.is_some() { 2 + 2 * gap } else { 0 };
        let kind = match &block.kind {
            BlockKind::Paragraph | BlockKind::Rule => 1,
            BlockKind::Heading(level) if *level <= DEEPEST_HEADING => 5,
            BlockKind::Heading(_) => 1 + 5 * block.runs.len(),
            BlockKind::Reference => 4,
            BlockKind::Code(language) => 8 + language.len() + 2 * quote,
            BlockKind::Table(_) => 8 + 2 * quote,
        };
        let mark = block.mark.map_or(0, |mark| 2 + mark.width());
        Cost::length(gap + quote + kind + block.indent() + mark)
    }

    fn line(&self, block: &Block) -> usize {
        let quote = if block.quote.is_some() { 2 } else { 0 };
        // One more for the escape of what begins the line.
        quote + block.indent() + usize::from(!block.is_verbatim())
    }

    fn run(&self, doc: &Doc, run: &Run) -> Cost {
        let style = if run.style.code {
            7
        } else {
            4 * usize::from(run.style.bold) + 2 * usize::from(run.style.italic) + 5 * usize::from(run.style.strike) + 1
        };
        let link = run.link.map_or(0, |link| {
            if link.is_bare { 2 } else { 8 + target(doc.target(link)).chars().map(char::len_utf16).sum::<usize>() }
        });
        Cost::length(style + link)
    }
}
