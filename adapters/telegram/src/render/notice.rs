//! A failure as Telegram shows it: the layer in words, the sentence, folded details, what to do next, the reference.

use contract::{Notice, TurnId};

use super::doc::{Style, Writer};

/// Writes the notice; its reference is left out when the whole reply shows the same one at its end.
pub(crate) fn write(writer: &mut Writer, notice: &Notice, shown_later: Option<TurnId>) {
    let (mark, words) = notice.heading();
    writer.gap(2);
    writer.open(Style::Bold);
    writer.text(&format!("{mark} {words}"));
    writer.close();
    if let Some(tool) = &notice.tool {
        writer.text(" · ");
        writer.code(tool);
    }
    line(writer, &notice.say);
    details(writer, &notice.detail_lines());
    if !notice.hint.is_empty() {
        line(writer, &format!("→ {}", notice.hint));
    }
    if let Some(turn) = notice.reference.filter(|turn| Some(*turn) != shown_later) {
        reference(writer, turn);
    }
    writer.gap(2);
}

/// What a person quotes when asking about a turn.
pub(crate) fn reference(writer: &mut Writer, turn: TurnId) {
    writer.gap(1);
    writer.text("ref ");
    writer.code(&turn.to_string());
}

fn details(writer: &mut Writer, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    writer.gap(1);
    writer.open(Style::Folded);
    for text in lines {
        line(writer, text);
    }
    writer.close();
}

fn line(writer: &mut Writer, text: &str) {
    writer.gap(1);
    writer.text(text);
}
