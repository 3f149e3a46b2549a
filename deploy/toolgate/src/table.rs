//! Tables for people. What stands in a cell may come from anybody, so control characters never reach the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use contract::text::one_line;

/// Most characters of a cell.
const CELL: usize = 200;

/// A column: its head, and whether its cells are numbers.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub head: &'static str,
    pub right: bool,
}

/// A column of text.
pub const fn text(head: &'static str) -> Column {
    Column { head, right: false }
}

/// A column of numbers.
pub const fn number(head: &'static str) -> Column {
    Column { head, right: true }
}

/// The table without a last line end; `none` in place of an empty one.
pub fn draw(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>, none: &str) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if cfg!(test) {
        // The width of whoever runs the tests does not count.
        table.force_no_tty();
    }
    table.set_header(columns.iter().map(|column| column.head.to_uppercase()));
    let mut empty = true;
    for row in rows {
        empty = false;
        table.add_row(row.iter().map(|cell| one_line(cell, CELL)));
    }
    if empty {
        return none.to_owned();
    }
    for (shape, column) in table.column_iter_mut().zip(columns) {
        shape.set_padding((0, 2));
        if column.right {
            shape.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_line_up_and_escapes_stay_out() {
        let rows =
            vec![vec!["weather_query".to_owned(), "12".to_owned()], vec!["\x1b[31mred\x07".to_owned(), "7".to_owned()]];
        expect![[r#"
            TOOL           CALLS
            weather_query     12
            [31mred            7"#]]
        .assert_eq(&draw(&[text("tool"), number("calls")], rows, "no calls yet"));
        assert_eq!(draw(&[text("tool")], Vec::new(), "no calls yet"), "no calls yet");
    }
}
