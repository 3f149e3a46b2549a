//! Cuts a document into messages by a platform's measure: lossless but for white space at the cuts, in time linear in the text.

use unicode_segmentation::GraphemeCursor;

use crate::doc::{Block, BlockKind, Doc, Run, is_blank};

/// What something takes of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// In the platform's unit of length.
    pub units: usize,
    /// Things that are counted, such as entities or blocks.
    pub marks: usize,
    /// Bytes of the request.
    pub bytes: usize,
}

impl Cost {
    pub const fn new(units: usize, marks: usize, bytes: usize) -> Self {
        Self { units, marks, bytes }
    }

    /// Only a length.
    pub const fn length(units: usize) -> Self {
        Self { units, marks: 0, bytes: 0 }
    }

    fn add(&mut self, other: Self) {
        self.units += other.units;
        self.marks += other.marks;
        self.bytes += other.bytes;
    }

    fn exceeds(self, most: Self) -> bool {
        self.units > most.units || self.marks > most.marks || self.bytes > most.bytes
    }
}

/// Units and bytes that each byte of UTF-8 takes once it is drawn.
pub type Bytes = [(u8, u8); 256];

/// What the parts of a drawn message take, at most.
pub trait Measure {
    /// Text outside of code and inside of it.
    fn bytes(&self, is_code: bool) -> &'static Bytes;

    /// All around the text of block `n`: what separates it, its mark, its fences.
    fn block(&self, doc: &Doc, n: usize) -> Cost;

    /// Before each further line of a block.
    fn line(&self, block: &Block) -> usize;

    /// All around a run's text.
    fn run(&self, doc: &Doc, run: &Run) -> Cost;
}

/// A place in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    block: usize,
    at: usize,
}

/// What is longer (in bytes) is no word and is cut anywhere, so that text without spaces takes the fewest messages.
const LONGEST_WORD: usize = 1_000;

/// Walks through a document once.
#[derive(Debug)]
pub struct Cutter<'d, M> {
    doc: &'d Doc,
    measure: &'d M,
    here: Spot,
}

impl<'d, M: Measure> Cutter<'d, M> {
    pub fn new(doc: &'d Doc, measure: &'d M) -> Self {
        Self { doc, measure, here: Spot { block: 0, at: doc.blocks.first().map_or(0, |block| block.text.start) } }
    }

    /// The next message within `most`; stretches without anything visible are passed over.
    pub fn next(&mut self, most: Cost) -> Option<Piece<'d>> {
        while self.here.block < self.doc.blocks.len() {
            let from = self.here;
            let to = self.cut(most);
            self.here = self.after(to);
            let piece = Piece { doc: self.doc, from, to };
            if !piece.is_blank() {
                return Some(piece);
            }
        }
        None
    }

    /// Whether nothing visible is left.
    pub fn is_done(&self) -> bool {
        let to = Spot { block: self.doc.blocks.len(), at: self.doc.text.len() };
        Piece { doc: self.doc, from: self.here, to }.is_blank()
    }

    /// Where the next message begins: line ends at a cut are not shown.
    fn after(&self, cut: Spot) -> Spot {
        let Some(block) = self.doc.blocks.get(cut.block).filter(|block| cut.at > block.text.start) else { return cut };
        let rest = &self.doc.text[cut.at..block.text.end];
        let skipped = match rest.as_bytes() {
            [b'\n', ..] if block.is_verbatim() => 1,
            [b'\n', ..] => rest.len() - rest.trim_start_matches('\n').len(),
            [b' ', ..] if !block.is_verbatim() => 1,
            _ => 0,
        };
        self.place(cut.block, cut.at + skipped)
    }

    /// A place, moved to the next block when nothing of this one is left.
    fn place(&self, block: usize, at: usize) -> Spot {
        if at < self.doc.blocks[block].text.end {
            return Spot { block, at };
        }
        let next = self.doc.blocks.get(block + 1).map_or(self.doc.text.len(), |next| next.text.start);
        Spot { block: block + 1, at: next }
    }

    /// Where this message ends: behind all that is left, else a paragraph, a line, a space or a grapheme.
    fn cut(&self, most: Cost) -> Spot {
        let mut window =
            Window { from: self.here, most, used: Cost::default(), paragraph: None, line: None, space: None };
        for (n, block) in self.doc.blocks.iter().enumerate().skip(self.here.block) {
            let is_first = n == self.here.block;
            let start = if is_first { self.here.at } else { block.text.start };
            if !is_first {
                window.border(n, block, &self.doc.blocks[n - 1]);
            }
            window.used.add(self.measure.block(self.doc, n));
            let is_full = window.used.exceeds(most) && !is_first;
            let hard = if is_full { Some(start) } else { self.fill(&mut window, n, start) };
            if let Some(at) = hard {
                return self.choose(&window, Spot { block: n, at });
            }
        }
        Spot { block: self.doc.blocks.len(), at: self.doc.text.len() }
    }

    /// Takes of a block from `start` on what fits; tells where it does not.
    fn fill(&self, window: &mut Window, n: usize, start: usize) -> Option<usize> {
        let block = &self.doc.blocks[n];
        let (text, line) = (self.doc.text.as_bytes(), self.measure.line(block));
        for run in self.doc.runs[block.runs.clone()].iter().filter(|run| run.end > start) {
            let from = run.start.max(start);
            window.used.add(self.measure.run(self.doc, run));
            if window.used.exceeds(window.most) && from > self.here.at {
                return Some(from);
            }
            let costs = self.measure.bytes(run.style.code || block.is_verbatim());
            if let Some(hard) =
                window.scan(text, from..run.end, costs, line, Spot { block: n, at: usize::from(run.is_whole()) })
            {
                return Some(hard);
            }
        }
        None
    }

    fn choose(&self, window: &Window, hard: Spot) -> Spot {
        let hard = self.settle(hard);
        let half = window.used.units.min(window.most.units) / 2;
        let mut line = window.line;
        let (mut space, block) = (window.space, &self.doc.blocks[hard.block]);
        if hard.at > block.text.start && hard.at < block.text.end {
            match self.doc.text.as_bytes()[hard.at] {
                b'\n' => (line, space) = (Some((hard, window.used.units)), Some(hard)),
                b' ' => space = Some(hard),
                _ => {}
            }
        }
        let late = |place: Option<(Spot, usize)>| place.filter(|(_, used)| *used > half).map(|(spot, _)| spot);
        let near = |spot: &Spot| spot.at > self.here.at && hard.at - spot.at <= LONGEST_WORD;
        late(window.paragraph)
            .or_else(|| late(line))
            .or_else(|| space.filter(near))
            .unwrap_or_else(|| Spot { at: self.grapheme(block, hard.at), ..hard })
    }

    /// A character is never cut, and something is always taken.
    fn settle(&self, hard: Spot) -> Spot {
        let at = self.doc.text.floor_char_boundary(hard.at);
        if at > self.here.at || hard.block > self.here.block {
            return Spot { at, ..hard };
        }
        let first = self.doc.text[self.here.at..].chars().next().map_or(0, char::len_utf8);
        Spot { at: self.here.at + first, ..hard }
    }

    /// The last place up to `hard` that tears no address and no grapheme.
    fn grapheme(&self, block: &Block, hard: usize) -> usize {
        let start = self.here.at.max(block.text.start);
        let runs = &self.doc.runs[block.runs.clone()];
        let torn = runs[..runs.partition_point(|run| run.start < hard)].last().filter(|run| run.end > hard);
        if let Some(run) = torn.filter(|run| run.is_whole() && run.start > start && hard - run.start <= LONGEST_WORD) {
            return run.start;
        }
        let rest = &self.doc.text[start..block.text.end];
        let mut cursor = GraphemeCursor::new(hard - start, rest.len(), true);
        if hard == start || matches!(cursor.is_boundary(rest, 0), Ok(true)) {
            return hard;
        }
        let border = start + cursor.prev_boundary(rest, 0).ok().flatten().unwrap_or(0);
        if border > start { border } else { hard }
    }
}

/// How far the limits reach, and the last good places within.
struct Window {
    from: Spot,
    most: Cost,
    used: Cost,
    paragraph: Option<(Spot, usize)>,
    line: Option<(Spot, usize)>,
    space: Option<Spot>,
}

impl Window {
    /// The border before block `n`; a heading stays with what it is over.
    fn border(&mut self, n: usize, block: &Block, before: &Block) {
        self.space = None;
        if matches!(before.kind, BlockKind::Heading(_)) {
            return;
        }
        let place = Some((Spot { block: n, at: block.text.start }, self.used.units));
        if block.gap > 1 {
            self.paragraph = place;
        }
        self.line = place;
    }

    /// Counts the bytes of a run; `whole.at` is not 0 where spaces are no places to cut.
    fn scan(
        &mut self,
        text: &[u8],
        range: std::ops::Range<usize>,
        costs: &Bytes,
        line: usize,
        whole: Spot,
    ) -> Option<usize> {
        let (block, is_whole) = (whole.block, whole.at != 0);
        let (mut units, mut bytes) = (self.used.units, self.used.bytes);
        let mut hard = None;
        for at in range {
            let byte = text[at];
            let (unit, size) = costs[usize::from(byte)];
            units += usize::from(unit);
            bytes += usize::from(size);
            if byte <= b' ' && byte == b'\n' {
                units += line;
                bytes += line;
            }
            if (units > self.most.units || bytes > self.most.bytes) && at > self.from.at {
                hard = Some(at);
                break;
            }
            match byte {
                b'\n' => {
                    let spot = Spot { block, at: at + 1 };
                    self.space = Some(spot);
                    self.line = Some((spot, units));
                    if at > 0 && text[at - 1] == b'\n' {
                        self.paragraph = Some((spot, units));
                    }
                }
                b' ' if !is_whole => self.space = Some(Spot { block, at: at + 1 }),
                _ => {}
            }
        }
        (self.used.units, self.used.bytes) = (units, bytes);
        hard
    }
}

/// What one message holds of a document.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'d> {
    pub doc: &'d Doc,
    from: Spot,
    to: Spot,
}

impl<'d> Piece<'d> {
    /// All of a document.
    pub fn whole(doc: &'d Doc) -> Self {
        let from = Spot { block: 0, at: doc.blocks.first().map_or(0, |block| block.text.start) };
        Self { doc, from, to: Spot { block: doc.blocks.len(), at: doc.text.len() } }
    }

    pub fn slices(self) -> impl Iterator<Item = Slice<'d>> {
        let last = (self.to.block + usize::from(self.has_tail())).min(self.doc.blocks.len());
        (self.from.block..last).map(move |n| self.slice(n)).filter(|slice| !slice.is_empty() || slice.mark().is_some())
    }

    fn has_tail(self) -> bool {
        self.doc.blocks.get(self.to.block).is_some_and(|block| self.to.at > block.text.start)
    }

    fn slice(self, n: usize) -> Slice<'d> {
        let block = &self.doc.blocks[n];
        let start = if n == self.from.block { self.from.at } else { block.text.start };
        let mut end = if n == self.to.block { self.to.at } else { block.text.end };
        if end < block.text.end {
            let text = &self.doc.text[start..end];
            let kept = match block.is_verbatim() {
                true => text.strip_suffix('\n').unwrap_or(text),
                false => text.trim_end_matches(['\n', ' ']),
            };
            end = start + kept.len();
        }
        Slice { doc: self.doc, block, start, end }
    }

    fn is_blank(self) -> bool {
        self.slices().all(|slice| slice.mark().is_none() && is_blank(slice.text()))
    }
}

/// What a piece holds of a block.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'d> {
    pub doc: &'d Doc,
    pub block: &'d Block,
    pub start: usize,
    pub end: usize,
}

impl<'d> Slice<'d> {
    pub fn text(&self) -> &'d str {
        &self.doc.text[self.start..self.end]
    }

    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Whether it is all of its block.
    pub fn is_whole(&self) -> bool {
        self.start == self.block.text.start && self.end == self.block.text.end
    }

    /// The mark of its item, where the item begins.
    pub fn mark(&self) -> Option<crate::doc::Mark> {
        self.block.mark.filter(|_| self.start == self.block.text.start)
    }

    /// Its runs, cut to its range.
    pub fn runs(&self) -> impl Iterator<Item = Run> + use<'d> {
        let (start, end) = (self.start, self.end);
        let runs = &self.doc.runs[self.block.runs.clone()];
        let first = runs.partition_point(|run| run.end <= start);
        runs[first..].iter().take_while(move |run| run.start < end).map(move |run| Run {
            start: run.start.max(start),
            end: run.end.min(end),
            // A part of an address leads elsewhere.
            link: run.link.filter(|link| !link.is_bare || (run.start >= start && run.end <= end)),
            ..*run
        })
    }
}
