//! A table: its cells, and itself as aligned text where a platform has none.

use unicode_segmentation::UnicodeSegmentation as _;

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Center,
    Right,
}

/// The cells of a table; its first row is its head.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Align>,
    pub rows: Vec<Vec<String>>,
    written: usize,
}

/// Cells are padded to at most this many columns; longer ones stand out.
const WIDEST: usize = 60;

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Align>) -> Self {
        Self { columns, rows: Vec::new(), written: 0 }
    }

    /// Begins a row.
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Writes into the cell at hand.
    pub fn text(&mut self, text: &str) {
        self.written += text.len();
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(text);
        }
    }

    /// How many bytes were written in all cells.
    pub fn len(&self) -> usize {
        self.written
    }

    pub fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// The first row, a rule, the other rows.
    pub fn draw(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| width(cell).min(WIDEST)).max().unwrap_or(0)
            })
            .collect();
        let mut out = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            if n > 0 {
                out.push('\n');
            }
            self.line(row, &widths, &mut out);
            if n == 0 {
                let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push('\n');
                out.push_str(&rules.join("─┼─"));
            }
        }
        out
    }

    fn line(&self, row: &[String], widths: &[usize], out: &mut String) {
        let start = out.len();
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                out.push_str(" │ ");
            }
            let room = widths.get(column).copied().unwrap_or(0).saturating_sub(width(cell));
            let left = match self.columns.get(column) {
                Some(Align::Right) => room,
                Some(Align::Center) => room / 2,
                Some(Align::Left) | None => 0,
            };
            out.extend(std::iter::repeat_n(' ', left));
            out.push_str(cell);
            out.extend(std::iter::repeat_n(' ', room - left));
        }
        let kept = out[start..].trim_end_matches(' ').len();
        out.truncate(start + kept);
    }
}

/// Columns that a text takes in fixed width: two for what is drawn wide, none for what joins another.
fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(columns).sum() }
}

/// What is drawn as one sign is as wide as its widest; a variation sign makes a picture of it.
fn columns(grapheme: &str) -> usize {
    let wide = || grapheme.chars().map(char_columns).max().unwrap_or(0);
    if grapheme.contains('\u{FE0F}') { 2 } else { wide() }
}

fn char_columns(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36F | 0x200B..=0x200F | 0x2060..=0x2064 | 0xFE00..=0xFE0F | 0xFEFF => 0,
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xA960..=0xA97F | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF => 2,
        0xFE10..=0xFE19 | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 => 2,
        0x1F1E6..=0x1F1FF | 0x1F300..=0x1F64F | 0x1F680..=0x1F6FF | 0x1F7E0..=0x1FAFF | 0x20000..=0x3FFFD => 2,
        code if PICTURES.iter().any(|(first, last)| (*first..=*last).contains(&code)) => 2,
        _ => 1,
    }
}

/// Older signs that are drawn as pictures without being asked.
const PICTURES: [(u32, u32); 34] = [
    (0x231A, 0x231B),
    (0x23E9, 0x23EC),
    (0x23F0, 0x23F0),
    (0x23F3, 0x23F3),
    (0x25FD, 0x25FE),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x267F, 0x267F),
    (0x2693, 0x2693),
    (0x26A1, 0x26A1),
    (0x26AA, 0x26AB),
    (0x26BD, 0x26BE),
    (0x26C4, 0x26C5),
    (0x26CE, 0x26CE),
    (0x26D4, 0x26D4),
    (0x26EA, 0x26EA),
    (0x26F2, 0x26F3),
    (0x26F5, 0x26F5),
    (0x26FA, 0x26FA),
    (0x26FD, 0x26FD),
    (0x2705, 0x2705),
    (0x270A, 0x270B),
    (0x2728, 0x2728),
    (0x274C, 0x274C),
    (0x274E, 0x274E),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2795, 0x2797),
    (0x27B0, 0x27B0),
    (0x27BF, 0x27BF),
    (0x2B1B, 0x2B1C),
    (0x2B50, 0x2B50),
    (0x2B55, 0x2B55),
    (0x1F004, 0x1F004),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_wide_as_it_is_drawn() {
        for (text, columns) in [
            ("plain", 5),
            ("上海", 4),
            ("ｱ full Ａ", 9),
            ("é e\u{301}", 3),
            ("✅ ❌ ⚡", 8),
            ("⚠️ ✔", 4),
            ("👨‍👩‍👧‍👦🇩🇪", 4),
            ("한국", 4),
            ("→ – …", 5),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
    }
}
