//! One step of a model, and its node in the tree.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use contract::{
    CallId, CallPath, Code, Failure, Node, NodeKind, State, node::SUMMARY_MAX, records::ModelStep, text::one_line,
};
use tokio::time::{Duration, Instant};

use crate::{
    call::TurnCx,
    delegate::Under,
    model::{Answer, Draft, Model, Prompt, Stopped, Usage},
    planner::TurnView,
    turn::now_us,
};

/// A draft that is newer by less than this is not worth showing.
const DRAFT_EVERY: Duration = Duration::from_millis(100);

/// Asks the model once; its node is the one under which the calls of the step hang.
pub(super) async fn step(
    turn: &TurnView<'_>,
    model: &dyn Model,
    prompt: &Prompt<'_>,
) -> Result<(Answer, CallId), Failure> {
    let name = model.about().name;
    let mut thinking = Thinking::begin(turn.cx, &name, turn.place(), turn.under);
    // What is said in a task that was handed on is no answer to the person.
    let draft = TurnDraft { cx: turn.under.is_none().then_some(turn.cx), shown: Mutex::default() };
    match model.step(prompt, &draft).await {
        Ok(mut answer) => {
            if answer.model.is_empty() {
                answer.model = name.to_string();
            }
            draft.whole(&answer.text);
            let node = thinking.answered(&answer);
            Ok((answer, node))
        }
        Err(failure) => {
            thinking.failed(&failure);
            Err(failure)
        }
    }
}

/// A step that an earlier life planned stands in this life's tree too, above the calls that are gone on with.
pub(crate) fn planned_before(cx: &Arc<TurnCx>, step: &ModelStep, under: Option<&Under>) -> CallId {
    let mut thinking = Thinking::begin(cx, &step.model, step.path(), under);
    // One of a turn that waited for people stands there already, as it was.
    if let Some(before) = cx.waits.ended(&step.path()) {
        thinking.node = Some(before.clone());
    } else if let Some(node) = &mut thinking.node {
        node.marks.push("planned before the restart".into());
    }
    thinking.said(&step.said, step.usage)
}

/// A step under way. One that is dropped, because the turn was stopped or late, ends in its tree too.
struct Thinking<'a> {
    cx: &'a TurnCx,
    call: CallId,
    node: Option<Node>,
}

impl<'a> Thinking<'a> {
    fn begin(cx: &'a TurnCx, model: &str, path: CallPath, under: Option<&Under>) -> Self {
        let call = cx.waits.node(&path).unwrap_or_else(|| cx.next_node());
        let mut node = Node::new(cx.id, call, NodeKind::ModelStep, now_us());
        node.path = Some(path);
        node.parent = Some(under.map_or(CallId(0), |under| under.node));
        model.clone_into(&mut node.tool);
        cx.inner.tracer.start(&cx.live, &Arc::new(node.clone()));
        Self { cx, call, node: Some(node) }
    }

    fn answered(&mut self, answer: &Answer) -> CallId {
        if let Some(node) = &mut self.node {
            answer.model.clone_into(&mut node.tool);
            node.marks.extend(match answer.stopped {
                Stopped::Done => None,
                Stopped::Length => Some("cut off at its longest".to_owned()),
                Stopped::Filtered => Some("held back by the provider".to_owned()),
            });
        }
        self.counted(Some(answer.usage));
        self.said(&answer.text, answer.usage)
    }

    fn counted(&self, usage: Option<Usage>) {
        let model = self.node.as_ref().map_or("", |node| &node.tool);
        self.cx.inner.spending.add(&self.cx.caller.tenant, model, usage);
    }

    fn said(&mut self, said: &str, usage: Usage) -> CallId {
        if let Some(node) = &mut self.node {
            node.state = State::Ok;
            node.result = one_line(said, SUMMARY_MAX);
            node.usage = Some(usage);
            *self.cx.usage.lock().unwrap_or_else(PoisonError::into_inner) += usage;
        }
        self.end();
        self.call
    }

    fn failed(&mut self, failure: &Failure) {
        self.counted(None);
        if let Some(node) = &mut self.node {
            node.state = State::Failed;
            node.code = Some(failure.true_code());
            node.result = one_line(failure.say.as_str(), SUMMARY_MAX);
            failure.cause.for_operator().clone_into(&mut node.detail);
        }
        self.end();
    }

    fn end(&mut self) {
        if let Some(mut node) = self.node.take() {
            node.duration_us.get_or_insert_with(|| now_us().saturating_sub(node.started_us));
            self.cx.inner.tracer.ended(&self.cx.live, &Arc::new(node));
        }
    }
}

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        // Of what goes on elsewhere, or in a next life, that life tells the end.
        if self.cx.lost.load(Ordering::Relaxed) || self.cx.inner.kill.is_cancelled() {
            return;
        }
        if let Some(node) = &mut self.node {
            let late = !self.cx.cancel.is_cancelled();
            (node.state, node.code) = match late {
                true => (State::Failed, Some(Code::Timeout)),
                false => (State::Cancelled, Some(Code::Cancelled)),
            };
        }
        self.end();
    }
}

/// Shows an answer in the making to the conversation and to whoever watches.
struct TurnDraft<'a> {
    /// Nothing where nobody is shown it.
    cx: Option<&'a Arc<TurnCx>>,
    shown: Mutex<Option<Instant>>,
}

impl TurnDraft<'_> {
    /// What a step said, to its end: the last of it may have come too soon after what was shown.
    fn whole(&self, text: &str) {
        if let Some(cx) = self.cx.filter(|_| !text.is_empty()) {
            cx.live.drafted(text);
        }
    }
}

impl Draft for TurnDraft<'_> {
    fn show(&self, text: &str) {
        let Some(cx) = self.cx else { return };
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_some_and(|at| at.elapsed() < DRAFT_EVERY) {
            return;
        }
        *shown = Some(Instant::now());
        cx.progress.drafted(text);
        cx.live.drafted(text);
    }
}
