//! The calls of one step: admitted in order, started with one write, run concurrently, answered in order.

use std::{pin::pin, sync::Arc};

use contract::{CallId, Failure, Outcome};
use futures_util::{
    Stream, StreamExt,
    stream::{self, FuturesUnordered},
};
use policies::ExecutionMode;

use crate::{
    approval,
    artefacts::{self, Reading},
    call::{Admission, Parent, Ready, Staged, TurnCx, not_started},
    delegate::{self, Delegated},
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
    let mut outcomes: Vec<Option<Outcome>> = planned.iter().map(|_| None).collect();
    // Whoever made the calls waits for them.
    let _resting = called_by(parent).map(|call| cx.waits.rest(call));
    let (at_once, staged) = cx.apart(parent, planned);
    let at_once = group(cx, parent, at_once);
    let mut ending = match staged.is_empty() {
        true => at_once.boxed(),
        false => stream::select(at_once, behind_stages(cx, parent, staged)).boxed(),
    };
    while let Some((n, outcome)) = ending.next().await {
        outcomes[n] = Some(outcome);
    }
    outcomes.into_iter().map(|o| o.expect("every admitted call is run to its outcome")).collect()
}

/// Calls that stages are asked about first: all of them, then they go on together. The others do not wait for them.
fn behind_stages<'a>(
    cx: &'a Arc<TurnCx>,
    parent: Option<Parent<'a>>,
    calls: Vec<(usize, Staged)>,
) -> impl Stream<Item = (usize, Outcome)> + use<'a> {
    let asking = async move {
        // Asking is work: until it is done the turn is not parked.
        let _working = cx.waits.work();
        let at_once = cx.limits.concurrent_calls.max(1) as usize;
        let asked = calls.into_iter().map(|(n, call)| async move { (n, cx.staged(parent, call).await) });
        let asked: Vec<_> = stream::iter(asked).buffered(at_once).collect().await;
        group(cx, parent, asked)
    };
    stream::once(asking).flatten()
}

/// The outcomes of calls that are admitted in order and start with one write, as they end.
fn group<'a>(
    cx: &'a Arc<TurnCx>,
    parent: Option<Parent<'a>>,
    calls: Vec<(usize, Staged)>,
) -> impl Stream<Item = (usize, Outcome)> + use<'a> {
    let starting = async move {
        let _working = cx.waits.work();
        let (mut ended, mut ready, mut asks, mut tasks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (n, call) in calls {
            match cx.admit(parent, call) {
                Admission::Ended(outcome) => ended.push((n, *outcome)),
                Admission::Ready(call) => ready.push((n, call)),
                Admission::Asks(call) => asks.push((n, call)),
                Admission::Delegates(task) => tasks.push((n, Own::Task(task))),
                Admission::Reads(reading) => tasks.push((n, Own::Reading(reading))),
            }
        }
        let journaled = Arc::new(start(cx, ready.iter().map(|(_, call)| &**call)).await);
        let at_once = cx.limits.concurrent_calls.max(1) as usize;
        let runs = ready.into_iter().map(move |(n, call)| {
            let journaled = journaled.clone();
            async move { (n, run_or_refuse(cx, *call, &journaled).await) }
        });
        let running = stream::iter(runs).buffer_unordered(at_once);
        // What waits for people holds nobody's place, and what a task calls has places of its own.
        let waiting = asked(cx, parent, asks);
        let tasks = tasks.into_iter().map(move |(n, task)| async move { (n, task.run(cx).await) });
        let tasks = stream::iter(tasks).buffer_unordered(at_once);
        stream::iter(ended).chain(stream::select(stream::select(running, tasks), waiting))
    };
    stream::once(starting).flatten()
}

/// A call of the loop itself that takes its time.
enum Own {
    Task(Box<Delegated>),
    Reading(Box<Reading>),
}

impl Own {
    async fn run(self, cx: &Arc<TurnCx>) -> Outcome {
        match self {
            Self::Task(task) => delegate::run(cx, *task).await,
            Self::Reading(reading) => artefacts::run(cx, *reading).await,
        }
    }
}

/// In order; the first failure ends it.
async fn sequential(cx: &Arc<TurnCx>, parent: Option<Parent<'_>>, planned: Vec<Planned>) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(planned.len());
    let _resting = called_by(parent).map(|call| cx.waits.rest(call));
    let mut failed = false;
    for mut planned in planned {
        if failed {
            planned.unreadable = Some(not_started("an earlier call failed"));
        }
        let call = match cx.has_stages() {
            true => Box::pin(cx.staged(parent, cx.unwrapped(parent, planned.into()))).await,
            false => planned.into(),
        };
        let outcome = match cx.admit(parent, call) {
            Admission::Ended(outcome) => *outcome,
            Admission::Ready(call) => {
                let journaled = start(cx, std::iter::once(&*call)).await;
                run_or_refuse(cx, *call, &journaled).await
            }
            Admission::Delegates(task) => Own::Task(task).run(cx).await,
            Admission::Reads(reading) => Own::Reading(reading).run(cx).await,
            Admission::Asks(call) => {
                let mut ending = pin!(asked(cx, parent, vec![(0, call)]));
                let (_, outcome) = ending.next().await.expect("a call that is asked about has its outcome");
                outcome
            }
        };
        failed |= outcome.result.is_err();
        outcomes.push(outcome);
    }
    outcomes
}

/// The call that made these calls; nothing when the turn did.
fn called_by(parent: Option<Parent<'_>>) -> Option<CallId> {
    parent.filter(|parent| parent.rights.is_some()).map(|parent| parent.call)
}

/// The outcomes of calls that people have to say yes to, as they end.
fn asked<'a>(
    cx: &'a Arc<TurnCx>,
    parent: Option<Parent<'a>>,
    asks: Vec<(usize, Box<approval::Asks>)>,
) -> impl Stream<Item = (usize, Outcome)> + use<'a> {
    let asking = async move {
        // Asking is work: until it is done nothing waits.
        let _working = (!asks.is_empty()).then(|| cx.waits.work());
        let asked = if asks.is_empty() { Vec::new() } else { approval::ask(cx, asks).await };
        let waits = asked.into_iter().map(move |(n, asked)| async move {
            match asked {
                Ok(asked) => (n, approval::answered(cx, parent, asked).await),
                Err(outcome) => (n, outcome),
            }
        });
        waits.collect::<FuturesUnordered<_>>()
    };
    stream::once(asking).flatten()
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
