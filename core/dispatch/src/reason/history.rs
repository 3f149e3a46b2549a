//! Earlier turns of a session, as the model reads them. Pure.

use contract::{
    records::{Item, ItemStep},
    text::one_line,
};

use crate::{
    model::{Answered, Said, Wish},
    reason::legal,
    session::{self, Memory},
    untrusted::{self, quoted},
};

/// Begins with a person's words; each call has exactly one result. With it where each turn ends.
/// `several`: whether several people speak here, so that it is said who did.
pub(super) fn told(memory: &Memory, several: bool) -> (Vec<Said>, Vec<usize>) {
    let (mut said, mut borders) = (Vec::new(), Vec::with_capacity(memory.items.len()));
    for item in &memory.items {
        turn(item, several, &mut said);
        borders.push(said.len());
    }
    (said, borders)
}

/// What stands ahead of all that is told word by word, where it stays the same until more of it is noted.
pub(super) fn ahead(memory: &Memory) -> String {
    if memory.items.is_empty() {
        return String::new();
    }
    let ahead = [memory.wishes.as_deref().map(wished), memory.summary.as_deref().map(session::told)];
    ahead.into_iter().flatten().map(|ahead| ahead + "\n\n").collect()
}

/// What is known beside what was said word by word, for the beginning of a message: facts change now and then, and are
/// never among the system's words. Where no turn is told word by word, what was noted of them.
pub(super) fn known(memory: &Memory) -> String {
    let notes = memory.summary.as_deref().filter(|_| memory.items.is_empty()).map(session::told);
    let wishes = memory.wishes.as_deref().filter(|_| memory.items.is_empty()).map(wished);
    let known = [wishes, notes, session::kept(&memory.facts)];
    known.into_iter().flatten().map(|known| known + "\n\n").collect()
}

/// The words of the one who asks, as much as the message itself.
fn wished(wishes: &str) -> String {
    format!("(Said beforehand, for the whole conversation: {wishes})")
}

fn turn(item: &Item, several: bool, said: &mut Vec<Said>) {
    let mut text = item.asked.clone();
    if several && !item.sender.is_empty() {
        text.push_str(&format!("\n\n(Said by {}.)", quoted("id", &one_line(&item.sender, 64))));
    }
    said.push(Said::Person { text, images: Vec::new() });
    for (step, n) in item.steps.iter().zip(1..) {
        calls(item, step, n, said);
    }
    // Two entries of a model in a row are one to some providers: what it said is never empty.
    let text = if item.answered.is_empty() { "(no answer)".to_owned() } else { item.answered.clone() };
    said.push(Said::Model(Answered { text, ..Answered::default() }));
}

fn calls(item: &Item, step: &ItemStep, n: usize, said: &mut Vec<Said>) {
    // Of a turn's own, so that no two calls of a prompt have the same.
    let turn = item.turn.to_string();
    let turn = turn.get(turn.len().saturating_sub(8)..).unwrap_or_default();
    let id = |call: usize| format!("call_{turn}_{n}_{call}");
    let wishes = step.calls.iter().zip(1..);
    let wishes = wishes.map(|(call, k)| Wish { id: id(k), tool: legal(&call.tool), args: call.args.clone() }).collect();
    said.push(Said::Model(Answered { text: step.said.clone(), calls: wishes, carried: None }));
    for (call, k) in step.calls.iter().zip(1..) {
        let (tool, content) = (legal(&call.tool), untrusted::closed(&call.result));
        said.push(Said::Result { call: id(k), tool, content, failed: call.failed });
    }
}
