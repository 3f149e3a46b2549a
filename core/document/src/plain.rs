//! A piece as text without markup: what a platform is sent that refuses the markup.

use crate::{
    cut::{Piece, Slice},
    doc::units,
};

/// The piece as plain text; links show where they lead while there is room for it in `most` UTF-16 units.
pub fn of(piece: Piece<'_>, most: usize) -> String {
    let full = draw(piece, true);
    if units(&full) <= most { full } else { draw(piece, false) }
}

fn draw(piece: Piece<'_>, with_targets: bool) -> String {
    let mut out = String::new();
    for slice in piece.slices() {
        if !out.is_empty() {
            out.extend(std::iter::repeat_n('\n', usize::from(slice.block.gap)));
        }
        begin(&slice, &mut out);
        let start = out.len();
        if with_targets && !slice.doc.links.is_empty() {
            text(&slice, &mut out)
        } else {
            out.push_str(slice.text())
        }
        indent_lines(&mut out, start, slice.block.indent());
    }
    out
}

/// The indentation of a slice and the mark of its item.
pub fn begin(slice: &Slice<'_>, out: &mut String) {
    let indent = slice.block.indent();
    match slice.mark() {
        Some(mark) => {
            out.extend(std::iter::repeat_n(' ', indent.saturating_sub(2)));
            out.push_str(&mark.sign(slice.block.level));
        }
        None => out.extend(std::iter::repeat_n(' ', indent)),
    }
}

fn text(slice: &Slice<'_>, out: &mut String) {
    let mut start = out.len();
    let mut runs = slice.runs().peekable();
    while let Some(run) = runs.next() {
        out.push_str(&slice.doc.text[run.start..run.end]);
        let link = run.link.filter(|_| runs.peek().is_none_or(|next| next.link != run.link));
        if let Some(link) = link {
            let target = slice.doc.target(link);
            if !link.is_bare && out[start..] != *target {
                out.push_str(" (");
                out.push_str(target);
                out.push(')');
            }
        }
        if runs.peek().is_some_and(|next| next.link != run.link) {
            start = out.len();
        }
    }
}

/// Indents every line behind the first.
fn indent_lines(out: &mut String, start: usize, indent: usize) {
    if indent == 0 || !out[start..].contains('\n') {
        return;
    }
    let lines = out.split_off(start);
    out.push_str(&lines.replace('\n', &format!("\n{:indent$}", "")));
}
