//! The steps of a turn, and of a task that was handed on in it: planned, run, until there is an answer.

use std::sync::Arc;

use contract::{
    CallId, Code, Failure, Outcome, Reply,
    records::{Entry, ModelStep, Record},
};

use crate::{
    batch,
    call::{Parent, TurnCx},
    delegate::Under,
    planner::{Step, TurnView},
    reason::{self, Thread},
};

/// Whether a step is the turn's own, and not of a call that has steps.
pub(super) fn is_turns(step: &ModelStep) -> bool {
    step.path().parts().len() == 1
}

/// Calls of earlier lives that are not admitted again, as the journal knows their ends: they count among the turn's, or
/// each wait for people would allow as many anew. One that may run again is counted when it does.
pub(super) fn calls_before(journal: &[Entry]) -> u32 {
    let is_over = |entry: &&Entry| entry.job().is_none() && (entry.end.is_some() || entry.key.is_none());
    u32::try_from(journal.iter().filter(is_over).count()).unwrap_or(u32::MAX)
}

/// Asks the planner and runs the calls, step by step, until there is an answer: to the message of the record, or to a task
/// that was handed on.
pub(crate) async fn planned(
    cx: &Arc<TurnCx>,
    record: &Record,
    under: Option<&Under>,
    plan: &mut Vec<ModelStep>,
    steps: &mut Vec<Vec<Outcome>>,
) -> Result<Reply, Failure> {
    let planner = cx.inner.planner.clone();
    let mut thread = Thread::default();
    // What an earlier life planned is gone on with: the model is not asked again.
    for step in record.plan.iter().filter(|step| under.is_some() || is_turns(step)) {
        cx.steps.take();
        let node = reason::planned_before(cx, step, under);
        steps.push(wishes(cx, &mut thread, step, under, node).await);
        plan.push(step.clone());
    }
    loop {
        let (snapshot, caller, locale) = (&cx.snapshot, &cx.caller, cx.locale);
        let view = TurnView { cx, record, caller, snapshot, locale, plan, steps, under };
        match in_time(cx, planner.next(&view, &mut thread)).await? {
            Step::Answer(reply) => return Ok(reply),
            Step::Calls(calls) => steps.push(batch::run(cx, None, calls).await),
            Step::Wishes(step, node) => {
                cx.plan(&step).await?;
                steps.push(wishes(cx, &mut thread, &step, under, node).await);
                plan.push(step);
            }
        }
    }
}

/// Runs the calls of a model's step.
async fn wishes(
    cx: &Arc<TurnCx>,
    thread: &mut Thread,
    step: &ModelStep,
    under: Option<&Under>,
    node: CallId,
) -> Vec<Outcome> {
    let parent = match under {
        Some(under) => {
            cx.waits.is_begun_anew(&step.path());
            Parent::below(node, &step.said, &under.rights, under.delegations)
        }
        None => Parent::step(node, &step.said),
    };
    let outcomes = batch::run(cx, Some(parent), thread.planned(step)).await;
    thread.ended(step, &outcomes);
    outcomes
}

/// A planner that does not answer is left when the turn is stopped or its time is over.
async fn in_time(cx: &TurnCx, planning: impl Future<Output = Result<Step, Failure>>) -> Result<Step, Failure> {
    tokio::select! {
        biased;
        step = planning => step,
        () = cx.cancel.cancelled() => Err(Failure::new(Code::Cancelled, "stopped, as you asked")),
        () = tokio::time::sleep_until(cx.deadline) => Err(Failure::new(Code::Timeout, "the time for this message is over")),
    }
}
