//! Plans turns with a language model: what is said in a person's own words goes to it, step by step, until it answers.
//!
//! Nothing is kept between steps but the [`Thread`], which is made anew from the record and the ends of its calls: a turn
//! that is taken up again goes on as if nothing had happened. [`thread`] is what the model reads ([`system`], [`history`],
//! [`asked`], [`told`], within [`budget`]), [`think`] one step with its node in the tree, [`judge`] when going on leads
//! nowhere, [`ended`] what is said then.

mod asked;
mod budget;
mod ended;
mod flat;
mod history;
mod judge;
mod kept;
mod spent;
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
    model::{Answer, Asked, Model, Prompt, Stopped},
    planner::{Commands, Planner, Step, TurnView},
};
use judge::Why;

pub(crate) use budget::json as json_tokens;
pub(crate) use kept::kept;
pub(crate) use spent::Spending;
pub use spent::Spent;
pub(crate) use think::planned_before;
pub(crate) use thread::Thread;

/// Calls of one step; what a model wishes beyond is as if it had not been said.
const CALLS_MAX: usize = 128;
/// How often a step is asked for once more: with a word on what was wrong with the answer, or with less of the past.
const ASKED_AGAIN: usize = 2;

/// Commands go to their planner, everything that is said to the model.
pub(crate) struct Reasoner {
    pub commands: Commands,
    pub model: Arc<dyn Model>,
}

#[async_trait]
impl Planner for Reasoner {
    async fn next(&self, turn: &TurnView<'_>, thread: &mut Thread) -> Result<Step, Failure> {
        if turn.under.is_none() && !self.is_said(turn) {
            return self.commands.next(turn, thread).await;
        }
        let step = tokio::select! {
            biased;
            () = turn.cx.cancel.cancelled() => Err(Failure::new(Code::Cancelled, "stopped, as you asked")),
            () = tokio::time::sleep_until(turn.cx.deadline) => {
                Err(Failure::new(Code::Timeout, "the time for this message is over"))
            }
            step = self.step(turn, thread) => step,
        };
        match step {
            // Nobody but the model that handed the task on is told.
            Err(failure) if turn.under.is_none() => Ok(Step::Answer(ended::without_answer(turn, &failure))),
            step => step,
        }
    }
}

impl Reasoner {
    /// Whether the message is a person's own words.
    fn is_said(&self, turn: &TurnView<'_>) -> bool {
        let message = &turn.record.message;
        has_words(message) && commands::asked(message, turn.caller, turn.snapshot, self).is_none()
    }

    async fn step(&self, turn: &TurnView<'_>, thread: &mut Thread) -> Result<Step, Failure> {
        thread.begin(turn, &self.model.about()).await;
        thread.absorb(turn).await;
        thread.join(turn, &self.model.about()).await;
        match thread.verdict().or_else(|| (!turn.cx.steps.take()).then_some(Why::Steps)) {
            Some(why) => {
                turn.under.inspect(|under| under.has_last_word());
                self.last(turn, thread, &why).await
            }
            None => self.ask(turn, thread).await,
        }
    }

    /// One step with tools, asked for again where its answer is of no use.
    async fn ask(&self, turn: &TurnView<'_>, thread: &mut Thread) -> Result<Step, Failure> {
        let mut wrong = None;
        for _ in 0..=ASKED_AGAIN {
            let asked = match &wrong {
                Some(Useless { note, .. }) => {
                    let noted = thread.note(note);
                    self.think(turn, noted.thread().prompt(turn.cx.deadline)).await
                }
                None => self.think(turn, thread.prompt(turn.cx.deadline)).await,
            };
            match asked {
                Ok((answer, node)) => match useless(&answer) {
                    Some(again) if wrong.is_none() => wrong = Some(again),
                    Some(again) => return Err(again.failure),
                    None => return Ok(decided(turn, answer, node)),
                },
                Err(failure) if failure.code == Code::ModelOverflow && thread.shrink() => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::new(Code::ModelOverflow, "the conversation is too long for the language model"))
    }

    /// The last step of a turn that leads nowhere: without tools, so that it ends in words.
    async fn last(&self, turn: &TurnView<'_>, thread: &Thread, why: &Why) -> Result<Step, Failure> {
        // Where a turn has one step only, nothing was tried before it.
        let note = (!turn.plan.is_empty()).then(|| {
            let why = why.note();
            format!("{why} Answer now, in words: what was found out, what was tried, what did not work and why.")
        });
        let flat = thread.flat(note.as_deref());
        let tools = Value::Array(Vec::new());
        let prompt = flat.as_ref().map(|(system, messages)| Prompt {
            system,
            tools: &tools,
            messages,
            deadline: turn.cx.deadline,
        });
        let answer = self.think(turn, prompt).await.ok().map(|(answer, _)| answer);
        match answer.filter(|answer| !answer.text.trim().is_empty()) {
            Some(answer) => Ok(Step::Answer(said(turn, answer))),
            None => Err(why.failure()),
        }
    }

    async fn think(&self, turn: &TurnView<'_>, prompt: Option<Prompt<'_>>) -> Result<(Answer, CallId), Failure> {
        let Some(prompt) = prompt else {
            return Err(Failure::fatal(Code::Internal, "the model was asked before there was anything to ask"));
        };
        think::step(turn, &*self.model, &prompt).await
    }
}

/// An answer of which nothing can be made.
struct Useless {
    /// What the model is told of it.
    note: &'static str,
    /// What the person is told when the next one is no better.
    failure: Failure,
}

fn useless(answer: &Answer) -> Option<Useless> {
    let has_text = !answer.text.trim().is_empty();
    match (answer.stopped, answer.calls.is_empty()) {
        // Which of the calls are whole cannot be told.
        (Stopped::Length, false) => Some(Useless {
            note: "Your last answer was cut off in its calls, so none of them was made. Make fewer at once, or shorter ones.",
            failure: Failure::new(Code::ModelStuck, "the language model's answers were too long to be of use"),
        }),
        (Stopped::Filtered, _) if !has_text => Some(Useless {
            note: "Your last answer was held back by its provider. Answer what can be answered.",
            failure: Failure::new(Code::ModelStuck, "the language model's provider held its answer back"),
        }),
        (_, true) if !has_text => Some(Useless {
            note: "Your last answer was empty. Answer in words, or make a call.",
            failure: Failure::new(Code::ModelStuck, "the language model gave an empty answer"),
        }),
        _ => None,
    }
}

fn decided(turn: &TurnView<'_>, answer: Answer, node: CallId) -> Step {
    if answer.calls.is_empty() || answer.stopped == Stopped::Filtered {
        return Step::Answer(said(turn, answer));
    }
    let place = turn.place();
    let calls = answer.calls.into_iter().take(CALLS_MAX).zip(1..);
    let step = ModelStep {
        calls: calls.map(|(asked, n)| call(asked, place.child(n))).collect(),
        said: answer.text,
        carried: answer.carried,
        model: answer.model,
        usage: answer.usage,
    };
    Step::Wishes(step, node)
}

fn said(turn: &TurnView<'_>, answer: Answer) -> Reply {
    let mut text = answer.text;
    if answer.stopped == Stopped::Length {
        text.push_str("\n\n");
        text.push_str(&words::model_cut(turn.locale));
    }
    Reply { locale: turn.locale, ..Reply::text(text) }
}

fn has_words(message: &Message) -> bool {
    matches!(message.kind, Kind::Text { .. } | Kind::Edit { .. } | Kind::Retold { .. })
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

/// A tool's name as providers take one, whatever a model made up.
fn legal(tool: &str) -> String {
    let legal: String =
        tool.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if legal.is_empty() { "_".to_owned() } else { legal }
}
