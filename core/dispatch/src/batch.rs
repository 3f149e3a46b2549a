//! The calls of one step: admitted in order, started with one write, run concurrently, answered in order.

use std::sync::Arc;

use contract::{Failure, Outcome};
use futures_util::{StreamExt, stream};
use policies::ExecutionMode;

use crate::{
    call::{Admission, Parent, Ready, TurnCx, not_started},
    planner::Planned,
};

/// Runs the calls; one outcome each, in the order of the calls.
pub(crate) async fn run(cx: &Arc<TurnCx>, parent: Option<Parent<'_>>, planned: Vec<Planned>) -> Vec<Outcome> {
    match cx.limits.execution_mode {
        ExecutionMode::Parallel => parallel(cx, parent, planned).await,
        ExecutionMode::Sequential => sequential(cx, parent, planned).await,
    }
}

async fn parallel(cx: &Arc<TurnCx>, parent: Option<Parent<'_>>, planned: Vec<Planned>) -> Vec<Outcome> {
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(planned.len());
    let mut ready = Vec::new();
    for (n, planned) in planned.into_iter().enumerate() {
        match cx.admit(parent, planned) {
            Admission::Ended(outcome) => outcomes.push(Some(*outcome)),
            Admission::Ready(call) => {
                outcomes.push(None);
                ready.push((n, call));
            }
        }
    }
    let journaled = start(cx, ready.iter().map(|(_, call)| &**call)).await;
    let at_once = cx.limits.concurrent_calls.max(1) as usize;
    let runs = ready.into_iter().map(|(n, call)| {
        let journaled = &journaled;
        async move { (n, run_or_refuse(cx, *call, journaled).await) }
    });
    let mut running = stream::iter(runs).buffer_unordered(at_once);
    while let Some((n, outcome)) = running.next().await {
        outcomes[n] = Some(outcome);
    }
    drop(running);
    outcomes.into_iter().map(|o| o.expect("every admitted call is run to its outcome")).collect()
}

/// In order; the first failure ends it.
async fn sequential(cx: &Arc<TurnCx>, parent: Option<Parent<'_>>, planned: Vec<Planned>) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(planned.len());
    let mut failed = false;
    for mut planned in planned {
        if failed {
            planned.unreadable = Some(not_started("an earlier call failed"));
        }
        let outcome = match cx.admit(parent, planned) {
            Admission::Ended(outcome) => *outcome,
            Admission::Ready(call) => {
                let journaled = start(cx, std::iter::once(&*call)).await;
                run_or_refuse(cx, *call, &journaled).await
            }
        };
        failed |= outcome.result.is_err();
        outcomes.push(outcome);
    }
    outcomes
}

/// All once calls of a step start with one write.
async fn start<'a>(cx: &TurnCx, calls: impl Iterator<Item = &'a Ready>) -> Result<(), Failure> {
    cx.journal(calls.filter_map(|call| call.entry.clone()).collect()).await
}

async fn run_or_refuse(cx: &Arc<TurnCx>, call: Ready, journaled: &Result<(), Failure>) -> Outcome {
    match journaled {
        Err(failure) if call.entry.is_some() => cx.refuse_ready(call, failure.clone()),
        _ => cx.run(call).await,
    }
}
