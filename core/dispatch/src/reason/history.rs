//! Earlier turns of a session, as the model reads them.

use crate::{
    model::{Answered, Said, Wish},
    session::{self, Memory},
};
use contract::records::{Item, ItemStep};

/// Begins with a person's words; each call has exactly one result.
pub(super) fn told(memory: &Memory) -> Vec<Said> {
    let mut said = Vec::new();
    for item in &memory.items {
        turn(item, &mut said);
    }
    // Ahead of what is told word by word, where it stays the same until more of it is noted.
    if let (Some(Said::Person { text, .. }), Some(summary)) = (said.first_mut(), &memory.summary) {
        *text = format!("{}\n\n{text}", session::told(summary));
    }
    said
}

fn turn(item: &Item, said: &mut Vec<Said>) {
    said.push(Said::Person { text: item.asked.clone(), images: Vec::new() });
    for (step, n) in item.steps.iter().zip(1..) {
        calls(item, step, n, said);
    }
    said.push(Said::Model(Answered { text: item.answered.clone(), ..Answered::default() }));
}

fn calls(item: &Item, step: &ItemStep, n: usize, said: &mut Vec<Said>) {
    // Of a turn's own, so that no two calls of a prompt have the same.
    let turn = item.turn.to_string();
    let turn = turn.get(turn.len().saturating_sub(8)..).unwrap_or_default();
    let id = |call: usize| format!("call_{turn}_{n}_{call}");
    let wishes = step.calls.iter().zip(1..);
    let wishes = wishes.map(|(call, k)| Wish { id: id(k), tool: call.tool.clone(), args: call.args.clone() }).collect();
    said.push(Said::Model(Answered { text: step.said.clone(), calls: wishes, carried: None }));
    for (call, k) in step.calls.iter().zip(1..) {
        let (tool, content) = (call.tool.clone(), call.result.clone());
        said.push(Said::Result { call: id(k), tool, content, failed: call.failed });
    }
}
