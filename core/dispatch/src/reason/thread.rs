//! What the model reads in a turn: the words of the system, what is remembered, the message, the steps so far.

use std::sync::Arc;

use crate::{
    model::{About, Answered, Prompt, Said, Wish},
    planner::TurnView,
    reason::{call_id, history, system, told},
    session,
    snapshot::ToolList,
};
use contract::{
    Outcome,
    records::{ItemCall, ItemStep, ModelStep},
};
use tokio::time::Instant;

/// Grows by what each step gave; nothing that was told is told otherwise in a later step, so that providers' caches hold.
#[derive(Default)]
pub(crate) struct Thread {
    begun: Option<Begun>,
}

struct Begun {
    system: String,
    list: Arc<ToolList>,
    messages: Vec<Said>,
    /// Steps whose results are among the messages.
    steps: usize,
}

impl Thread {
    /// Once a turn: memory is read, the message stands at the end.
    pub async fn begin(&mut self, turn: &TurnView<'_>, about: &About) {
        if self.begun.is_some() {
            return;
        }
        // Half of the window: the rest is for the tools, the results of this turn and its answer.
        let memory = session::recall(turn.cx, about.context_tokens as usize / 2).await;
        let mut messages = history::told(&memory);
        let words = turn.record.message.text();
        let text = match session::kept(&memory.facts) {
            Some(kept) => format!("{kept}\n\n{words}"),
            None => words.to_owned(),
        };
        messages.push(Said::Person { text, images: Vec::new() });
        let list = turn.snapshot.list_in(turn.caller, turn.cx.here.mounted.as_ref());
        self.begun = Some(Begun { system: system::text(turn), list, messages, steps: 0 });
    }

    /// Takes in the steps that ended since.
    pub fn absorb(&mut self, turn: &TurnView<'_>) {
        let Some(begun) = &mut self.begun else { return };
        for (step, outcomes) in turn.plan.iter().zip(turn.steps).skip(begun.steps) {
            let results: Vec<Said> = outcomes.iter().map(result).collect();
            turn.cx.here.did(remembered(step, &results));
            begun.messages.push(Said::Model(answered(step)));
            begun.messages.extend(results);
            begun.steps += 1;
        }
    }

    pub fn prompt(&self, deadline: Instant) -> Option<Prompt<'_>> {
        let begun = self.begun.as_ref()?;
        Some(Prompt { system: &begun.system, tools: &begun.list.described, messages: &begun.messages, deadline })
    }
}

/// The step as later turns are told it.
fn remembered(step: &ModelStep, results: &[Said]) -> ItemStep {
    let calls = step.calls.iter().zip(results).filter_map(|(call, result)| match result {
        Said::Result { content, failed, .. } => {
            let (tool, args) = (call.tool.clone(), call.args.clone());
            Some(ItemCall { tool, args, result: content.clone(), failed: *failed })
        }
        Said::Person { .. } | Said::Model(_) => None,
    });
    ItemStep { said: step.said.clone(), calls: calls.collect() }
}

fn answered(step: &ModelStep) -> Answered {
    let calls = step.calls.iter();
    let calls =
        calls.map(|call| Wish { id: call_id(&call.path), tool: call.tool.clone(), args: call.args.clone() }).collect();
    Answered { text: step.said.clone(), calls, carried: step.carried.clone() }
}

fn result(outcome: &Outcome) -> Said {
    let content = told::told(outcome, 24_000);
    Said::Result { call: call_id(&outcome.path), tool: outcome.tool.clone(), content, failed: outcome.result.is_err() }
}
