//! A table as aligned text, since Telegram has none.

use pulldown_cmark::Alignment;

/// The cells of a table while it is read.
pub(crate) struct Table {
    columns: Vec<Alignment>,
    rows: Vec<Vec<String>>,
    written: usize,
}

/// Cells are padded to at most this many columns; longer ones stand out.
const WIDEST: usize = 60;

impl Table {
    pub(crate) fn new(columns: Vec<Alignment>) -> Self {
        Self { columns, rows: Vec::new(), written: 0 }
    }

    pub(crate) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(crate) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.written += text.len();
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(text);
        }
    }

    /// How much was written in all cells.
    pub(crate) fn len(&self) -> usize {
        self.written
    }

    /// The first row, a rule, the other rows.
    pub(crate) fn draw(&self) -> String {
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
                Some(Alignment::Right) => room,
                Some(Alignment::Center) => room / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            out.extend(std::iter::repeat_n(' ', left));
            out.push_str(cell);
            out.extend(std::iter::repeat_n(' ', room - left));
        }
        let kept = out[start..].trim_end_matches(' ').len();
        out.truncate(start + kept);
    }
}

/// Columns that a text takes in fixed width: two for wide characters, none for those that join.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c as u32 {
            0x300..=0x36F | 0x200B..=0x200F | 0x2060 | 0xFE00..=0xFE0F => 0,
            0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F => 2,
            0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD => 2,
            _ => 1,
        })
        .sum()
}
