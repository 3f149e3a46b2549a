//! A failure as blocks: the layer in words, the sentence, folded details, what to do next, the reference.

use contract::{Locale, Notice, TurnId};

use crate::{
    build::{Builder, Emphasis},
    doc::BlockKind,
};

/// Writes the notice; its reference is left out when the whole reply shows the same one at its end.
pub(crate) fn write(to: &mut Builder, notice: &Notice, shown_later: Option<TurnId>, locale: Locale) {
    let shown = words::notice(notice, locale);
    to.gap(2);
    to.open(Emphasis::Bold);
    to.text(&format!("{} {}", shown.mark, shown.heading));
    to.close(Emphasis::Bold);
    if let Some(tool) = &notice.tool {
        to.text(" · ");
        to.code(tool);
    }
    line(to, &shown.say);
    if !shown.details.is_empty() {
        to.begin_folded();
        for detail in &shown.details {
            line(to, detail);
        }
        to.end_quote();
    }
    if !shown.hint.is_empty() {
        line(to, &format!("→ {}", shown.hint));
    }
    if let Some(turn) = notice.reference.filter(|turn| Some(*turn) != shown_later) {
        to.gap(1);
        reference(to, turn, locale);
    }
    to.gap(2);
}

/// What a person quotes when asking about a turn.
pub(crate) fn reference(to: &mut Builder, turn: TurnId, locale: Locale) {
    to.begin(BlockKind::Reference);
    to.text(&format!("{} ", words::reference(locale)));
    to.code(&turn.to_string());
    to.end();
}

fn line(to: &mut Builder, text: &str) {
    to.gap(1);
    to.text(text);
}
