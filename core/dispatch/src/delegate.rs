//! Tasks that a model hands on: each has a conversation of its own, fewer tools, and steps and calls out of those of the turn.
//!
//! Its steps and calls hang under the call that handed it on, and are planned and kept as the turn's own are: a turn that is
//! taken up again goes on in the middle of a task. What comes of it is text that the one who handed it on reads as data.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use contract::{
    Call, CallId, CallPath, Code, Content, Effect, Failure, Kind, Message, Node, Outcome, Problem, Reply, State,
    message::Heard,
    records::{ApprovalId, Change, ModelStep, Record},
};
use futures_util::{FutureExt, future::BoxFuture};
use policies::{Limits, Rights};
use serde_json::{Value, json};

use tokio_util::sync::CancellationToken;

use crate::{
    approval, bridge,
    call::{Begun, TurnCx},
    session::address_of,
    turn::{self, now_ms, now_us},
};

/// Hands a task on.
pub(crate) const DELEGATE: &str = "delegate";

/// Most characters of a task.
const TASK_MAX: usize = 16_000;
/// Calls that are named where a task has no answer.
const NAMED: usize = 8;

/// The tool as a model is sent it.
pub(crate) fn described() -> Value {
    json!({
        "name": DELEGATE,
        "description": "Hands on a task that takes several steps, and gives its answer. Whoever does it knows nothing of this \
            conversation: say all that is needed, and what the answer is to look like. Several tasks in one step are done \
            at the same time. Their steps and calls count among yours, so do what takes one or two calls yourself.",
        "parameters": {
            "type": "object",
            "required": ["task"],
            "properties": {
                "task": { "type": "string", "description": "What is to be done, with everything that has to be known for it" },
                "tools": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Names of the tools that may be used for it; all of yours when left out",
                },
            },
        },
    })
}

/// What is handed on.
pub(crate) struct Task {
    words: String,
    rights: Rights,
}

/// A call that hands a task on.
pub(crate) struct Delegated {
    pub call: Call,
    pub node: Node,
    pub task: Task,
    /// How many delegations it is below already.
    pub above: u32,
}

/// A call that has steps of its own, as they see it.
pub(crate) struct Under {
    pub path: CallPath,
    pub node: CallId,
    /// The tools that may be used: never more than the one who handed it on has.
    pub rights: Rights,
    pub delegations: u32,
    had_last_word: AtomicBool,
}

impl Under {
    /// Its last step is taken from what was kept for it.
    pub fn has_last_word(&self) {
        self.had_last_word.store(true, Ordering::Relaxed);
    }
}

/// The steps that models may still take in a turn, in all its tasks together. A last word is kept for each of them.
pub(crate) struct Steps(AtomicU32);

impl Steps {
    pub fn of(limits: &Limits) -> Self {
        Self(AtomicU32::new(limits.model_steps.saturating_sub(1)))
    }

    /// False when nothing is left but what is kept for last words.
    pub fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The task that a call hands on. A tool that the caller has not is not there, whether there is such a tool or not.
pub(crate) fn task(cx: &TurnCx, within: Option<&Rights>, args: &Value) -> Result<Task, Failure> {
    let words = args.get("task").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    let list = cx.snapshot.list_in(&cx.caller, within);
    let names = bridge::names(args.get("tools"));
    let own = [DELEGATE, bridge::SEARCH, bridge::DESCRIBE, bridge::CALL];
    let mut problems = Vec::new();
    if words.is_empty() {
        problems.push(Problem { path: "task".into(), expected: "text".into(), got: None, hint: None });
    }
    for (n, name) in names.iter().enumerate().filter(|(_, name)| !own.contains(&name.as_str())) {
        if list.tools.binary_search_by(|tool| (*tool.name).cmp(name)).is_err() {
            let near = cx.snapshot.tools.nearest(name, &list.set);
            problems.push(Problem {
                path: format!("tools/{n}"),
                expected: "the name of a tool that is available here".into(),
                got: Some(contract::text::one_line(name, 64)),
                hint: near.first().map(|near| format!("did you mean {near}?")),
            });
        }
    }
    if !problems.is_empty() {
        return Err(Failure::invalid_args(DELEGATE, problems, "delegate task [tools]".to_owned()));
    }
    let all = list.tools.iter().map(|tool| &*tool.name);
    let rights = match args.get("tools") {
        None | Some(Value::Null) => Rights::to(all),
        Some(_) => Rights::to(all.filter(|name| names.iter().any(|named| named == name))),
    };
    Ok(Task { words: contract::text::cut(words, TASK_MAX), rights })
}

/// Does the task. Always gives its one outcome.
pub(crate) fn run<'a>(cx: &'a Arc<TurnCx>, delegated: Delegated) -> BoxFuture<'a, Outcome> {
    carried_out(cx, delegated).boxed()
}

async fn carried_out(cx: &Arc<TurnCx>, delegated: Delegated) -> Outcome {
    let Delegated { call, mut node, task, above } = delegated;
    let _working = cx.waits.work();
    cx.waits.is_begun_anew(&call.path);
    node.started_us = now_us();
    cx.inner.tracer.start(&cx.live, &Arc::new(node.clone()));
    let stop = cx.progress.started(node.call, DELEGATE, &cx.cancel);
    let under = Under {
        path: call.path.clone(),
        node: node.call,
        rights: task.rights,
        delegations: above + 1,
        had_last_word: AtomicBool::new(false),
    };
    // One that is dropped may have had effects.
    let mut begun = Begun::new(cx, call.path, node, false);
    let (result, is_harmless) = answer(cx, task.words, &under, &stop).await;
    begun.ended_with(result, is_harmless);
    // What it came to is not asked for again in a next life.
    if let Some(entry) = begun.entry() {
        cx.keep_end(Change::Started(vec![entry])).await;
    }
    begun.end().expect("a call ends once")
}

/// The answer, and whether the task may be done again without harm.
async fn answer(
    cx: &Arc<TurnCx>,
    words: String,
    under: &Under,
    stop: &CancellationToken,
) -> (Result<Value, Failure>, bool) {
    if !cx.steps.take() {
        let failure = Failure::new(Code::LimitReached, "it took more steps than one message may take");
        return (Err(failure), true);
    }
    let record = record(cx, words, &under.path);
    let (mut plan, mut steps) = (Vec::new(), Vec::new());
    let planned = tokio::select! {
        biased;
        planned = turn::planned(cx, &record, Some(under), &mut plan, &mut steps) => Ok(planned),
        waited_for = stopped_alone(cx, stop) => Err(waited_for),
    };
    if !under.had_last_word.load(Ordering::Relaxed) {
        cx.steps.give_back();
    }
    let is_harmless = steps.iter().flatten().all(|outcome| outcome.repeatable || never_ran(outcome));
    let planned = match planned {
        Ok(planned) => planned,
        Err(waited_for) => {
            approval::withdraw_below(cx, &under.path, waited_for).await;
            let failure = stopped(cx, &under.path);
            let is_harmless = is_harmless && failure.effect == Effect::None;
            return (Err(told(&failure, &steps)), is_harmless);
        }
    };
    match planned {
        Ok(reply) => (Ok(Value::String(text(&reply))), is_harmless),
        Err(failure) => (Err(told(&failure, &steps)), is_harmless),
    }
}

/// Returns when the task is to end and the rest of the turn goes on, with what is waited for at that moment; what ends the
/// turn is heard by what the task does.
async fn stopped_alone(cx: &TurnCx, stop: &CancellationToken) -> Vec<ApprovalId> {
    stop.cancelled().await;
    if cx.cancel.is_cancelled() {
        std::future::pending::<()>().await;
    }
    cx.waits.waits_for()
}

/// As whoever handed the task on is told it: calls that were cut off may have had their effect.
fn stopped(cx: &TurnCx, task: &CallPath) -> Failure {
    let cut = |node: &Node| {
        node.state == State::Unknown && node.path.as_ref().is_some_and(|path| path.parts().starts_with(task.parts()))
    };
    let effect = if cx.live.nodes().iter().any(cut) { Effect::Unknown } else { Effect::None };
    Failure::new(Code::Cancelled, "stopped, as you asked").effect(effect)
}

fn never_ran(outcome: &Outcome) -> bool {
    let Err(failure) = &outcome.result else { return false };
    use contract::Layer::{Permission, Validation};
    matches!(failure.layer(), Validation | Permission) || failure.code == Code::NotStarted
}

/// The task as a message of the one who asks: nothing of it is stored but its plan.
fn record(cx: &TurnCx, words: String, path: &CallPath) -> Record {
    let mut address = cx.address.clone().unwrap_or_else(|| address_of(&cx.caller));
    address.direct = true;
    let message = Message {
        key: format!("task:{}:{path}", cx.id),
        address,
        sender: cx.caller.sender.clone(),
        roles: Vec::new(),
        kind: Kind::Text { text: words },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: now_ms(),
    };
    let mut record = Record::new(cx.id, cx.session.clone(), message, cx.caller.clone());
    let own = |step: &&ModelStep| step.path().parts().split_last().is_some_and(|(_, above)| above == path.parts());
    record.plan = cx.plan.iter().filter(own).cloned().collect();
    record
}

fn text(reply: &Reply) -> String {
    let texts = reply.content.iter().filter_map(|content| match content {
        Content::Text(text) | Content::Plain(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Why there is no answer, and what was done all the same.
fn told(failure: &Failure, steps: &[Vec<Outcome>]) -> Failure {
    let ended = |outcome: &Outcome| match outcome.state {
        State::Ok => Some(format!("'{}' was done", outcome.tool)),
        State::Unknown => Some(format!("'{}' may have been done", outcome.tool)),
        _ => None,
    };
    let done: Vec<String> = steps.iter().flatten().filter_map(ended).take(NAMED).collect();
    let mut say = format!("the task has no answer: {}", failure.say.as_str());
    if !done.is_empty() {
        say.push_str(&format!("; before that {}", done.join(", ")));
    }
    Failure { effect: failure.effect, ..Failure::new(failure.code, say).cause(failure.cause.clone()) }
}
