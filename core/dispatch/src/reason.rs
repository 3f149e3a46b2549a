//! Plans turns with a language model: what is said in a person's own words goes to it, step by step, until it answers.
//!
//! Nothing here is kept between steps but the [`Thread`], which is made anew from the record and the ends of its calls:
//! a turn that is taken up again goes on as if nothing had happened. [`thread`] is what the model reads, [`told`] how a
//! call's end is told to it, [`think`] one step with its node in the tree.

mod history;
mod system;
mod think;
mod thread;
mod told;

use std::sync::Arc;

use async_trait::async_trait;
use contract::{Call, CallId, CallPath, Code, Failure, Kind, Message, Reply, records::ModelStep};
use serde_json::Value;

use crate::{
    commands,
    model::{Answer, Asked, Model, Stopped},
    planner::{Commands, Planner, Step, TurnView},
};

pub(crate) use think::planned_before;
pub(crate) use thread::Thread;

/// Commands go to their planner, everything that is said to the model.
pub(crate) struct Reasoner {
    pub commands: Commands,
    pub model: Arc<dyn Model>,
}

#[async_trait]
impl Planner for Reasoner {
    async fn next(&self, turn: &TurnView<'_>, thread: &mut Thread) -> Result<Step, Failure> {
        if !self.is_said(turn) {
            return self.commands.next(turn, thread).await;
        }
        let about = self.model.about();
        thread.begin(turn, &about).await;
        thread.absorb(turn);
        if turn.steps.len() >= turn.cx.limits.model_steps as usize {
            return Err(Failure::new(Code::LimitReached, "it took more steps than one message may take"));
        }
        let (answer, node) = think::step(turn.cx, &*self.model, thread, turn.steps.len() + 1).await?;
        Ok(self.decided(turn, answer, node))
    }
}

impl Reasoner {
    /// Whether the message is a person's own words.
    fn is_said(&self, turn: &TurnView<'_>) -> bool {
        let message = &turn.record.message;
        has_words(message) && commands::asked(message, turn.caller, turn.snapshot, self).is_none()
    }

    fn decided(&self, turn: &TurnView<'_>, answer: Answer, node: CallId) -> Step {
        if answer.calls.is_empty() || answer.stopped != Stopped::Done {
            return Step::Answer(Reply { locale: turn.locale, ..Reply::text(answer.text) });
        }
        let number = u32::try_from(turn.steps.len() + 1).unwrap_or(u32::MAX);
        let calls = answer.calls.into_iter().zip(1..).map(|(asked, n)| call(asked, CallPath::top(number, n)));
        let step = ModelStep {
            calls: calls.collect(),
            said: answer.text,
            carried: answer.carried,
            model: answer.model,
            usage: answer.usage,
        };
        Step::Wishes(step, node)
    }
}

fn has_words(message: &Message) -> bool {
    matches!(message.kind, Kind::Text { .. } | Kind::Edit { .. })
        && (!message.text().trim().is_empty() || !message.files.is_empty())
}

/// Arguments that cannot be read stay the text that came.
fn call(asked: Asked, path: CallPath) -> Call {
    let args = tools::args::parse_json(&asked.args).unwrap_or(Value::String(asked.args));
    Call { path, tool: asked.tool, args }
}

/// The id of a call as the model is told it.
fn call_id(path: &CallPath) -> String {
    let mut id = String::from("call");
    for part in path.parts() {
        id.push_str(&format!("_{part}"));
    }
    id
}
