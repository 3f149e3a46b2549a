//! Runs a permitted call: a place in line, attempts within a deadline, cancellation, a crash contained, the answer checked.
//!
//! The whole of a call's time is on a wall clock: waiting for a place counts, and so does every byte that a slow
//! service sends. Reading order: `line` and `fair` are who may run, `tries` is one attempt after the other, `retry` what
//! may be repeated and when, `breaker`, `rate` and `service` what protects the other end, `kept` what stays over a reload.
//! Knows nothing of policy, records or HTTP.

mod attempt;
mod breaker;
mod fair;
pub mod job;
mod kept;
mod line;
mod rate;
mod retry;
mod say;
mod service;
mod tries;
mod window;

use std::{sync::Arc, time::Duration};

use contract::{Caller, Code, Effect, Failure, Private, TurnId};
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    endpoint::{Fault, Host},
    permitted::Permitted,
    resources::Resources,
    spec::Spec,
    stages::Stages,
    tool::Tool,
};
use attempt::End;
pub(crate) use attempt::words;
pub use job::Job;
pub use kept::Guard;
use line::NoPlace;
pub(crate) use retry::most as longest_wait;
pub(crate) use service::Services;
use tries::{SoFar, Tries};

/// What dispatch gives along with a call.
pub struct RunCx<'a> {
    pub caller: &'a Caller,
    pub turn: TurnId,
    /// When the turn's time ends.
    pub deadline: Instant,
    pub cancel: &'a CancellationToken,
    /// The same for every attempt of the call, over restarts too.
    pub idempotency_key: &'a str,
    pub host: &'a dyn Host,
    pub resources: &'a Resources,
    /// Places that the calls of the turn share, wherever in its tree they are. Nothing for a call that waits for others:
    /// with a place it would keep them out.
    pub places: Option<&'a Arc<Semaphore>>,
    /// Whether the call may be run again without harm; of a pipeline its steps decide, which a tool alone cannot tell.
    pub repeatable: bool,
    /// What stands around its attempts and looks at its answer; nothing for most.
    pub stages: Option<Stages<'a>>,
}

/// How a call went.
#[derive(Debug)]
pub struct Report {
    pub result: Result<Value, Failure>,
    /// How often the endpoint was called.
    pub attempts: u32,
    /// Waiting for a place, apart from running.
    pub queued: Duration,
    pub upstream_status: Option<u16>,
    /// The request as sent, without secrets.
    pub request: Private,
    pub marks: Vec<String>,
    /// What it took, in millionths of the operator's currency.
    pub cost_micros: u64,
    /// Whether the tool may be run again without harm.
    pub repeatable: bool,
}

/// Runs the call. Never panics, always ends by its deadline; dropping it ends the call as a cancellation does.
pub async fn run(mut call: Permitted, cx: RunCx<'_>) -> Report {
    let began = Instant::now();
    let tool = call.tool().clone();
    let times = Times::of(&tool.spec, began, cx.deadline);
    // Nobody waits in line for what is not let through at its end.
    if let Some(wait) = tool.guard.open_for() {
        return not_run(call, NoPlace::Open(wait), &times, began, cx.repeatable);
    }
    // Held until the call has ended, in this order: a call that waits for its resource keeps nobody out of the tool.
    let place = match line::place(&mut call, &cx, times.first).await {
        Ok(place) => place,
        Err(why) => return not_run(call, why, &times, began, cx.repeatable),
    };
    let queued = if place.waited { began.elapsed() } else { Duration::ZERO };
    let mut tries = Tries { call: &call, cx: &cx, times: &times, so_far: SoFar::default() };
    let end = tries.run().await;
    let so_far = tries.so_far;
    drop(place);
    match end {
        Err(why) => not_run(call, why, &times, began, cx.repeatable),
        Ok(End::Job(handle)) => {
            let begun = Job { handle, left: job::time_of(&tool) };
            let mut report =
                settled(&tool, Vec::new(), End::Job(begun.handle.clone()), so_far, queued, &times, cx.repeatable);
            report.queued = queued;
            Box::pin(followed(call, begun, &cx, report, true)).await
        }
        Ok(end) => {
            let mut report = settled(&tool, call.into_changes(), end, so_far, queued, &times, cx.repeatable);
            told(&tool, &cx, &mut report).await;
            report
        }
    }
}

/// Goes on with a job that an earlier life of the call began: asks how it stands until it ends.
pub async fn follow(call: Permitted, begun: Job, cx: RunCx<'_>) -> Report {
    let report = Report {
        result: Ok(Value::Null),
        attempts: 1,
        queued: Duration::ZERO,
        upstream_status: None,
        request: Private::default(),
        marks: Vec::new(),
        cost_micros: 0,
        repeatable: cx.repeatable,
    };
    Box::pin(followed(call, begun, &cx, report, false)).await
}

/// The report of a call whose job has ended, or is not waited for any longer.
async fn followed(mut call: Permitted, begun: Job, cx: &RunCx<'_>, mut report: Report, is_new: bool) -> Report {
    let tool = call.tool().clone();
    call.leave();
    let ended = job::followed(&tool, &begun, cx, is_new, &mut report.marks).await;
    report.marks.extend(call.into_changes());
    report.result = ended.and_then(|value| contained(&tool, || checked(&tool, value, &mut report.marks)));
    told(&tool, cx, &mut report).await;
    report
}

/// The answer as it is told: changed by the stages, cut to the tool's size.
async fn told(tool: &Tool, cx: &RunCx<'_>, report: &mut Report) {
    let mut result = std::mem::replace(&mut report.result, Ok(Value::Null));
    if let Some(stages) = cx.stages {
        result = transformed(cx, stages, result, &mut report.marks).await;
    }
    if let Some(most) = tool.spec.max_result_size_chars {
        let marks = &mut report.marks;
        result = result.and_then(|value| contained(tool, || Ok(crate::budget::fit(value, most, marks))));
    }
    report.result = result;
}

/// A good answer as the stages leave it; they hold nobody's place.
async fn transformed(
    cx: &RunCx<'_>,
    stages: Stages<'_>,
    result: Result<Value, Failure>,
    marks: &mut Vec<String>,
) -> Result<Value, Failure> {
    let until = cx.deadline.saturating_duration_since(Instant::now());
    stages.transform(result?, cx.host, until, cx.cancel, marks).await
}

/// When a call has to end.
struct Times {
    /// The first attempt, and the wait for a place with it.
    first: Instant,
    /// All attempts.
    last: Instant,
    attempt: Duration,
    /// What the tool's owner allows all attempts.
    total: Option<Duration>,
    turn: Instant,
}

impl Times {
    fn of(spec: &Spec, began: Instant, turn: Instant) -> Self {
        let attempt = spec.execution.timeout;
        let at = |wait| began.checked_add(wait).unwrap_or(turn);
        let last = at(spec.execution.time_of_all()).min(turn);
        Self { first: at(attempt).min(last), last, attempt, total: spec.execution.total_timeout, turn }
    }

    /// The end of an attempt that begins now.
    fn next(&self) -> Instant {
        Instant::now().checked_add(self.attempt).unwrap_or(self.last).min(self.last)
    }

    /// Whether what ends then ends because the turn does.
    fn is_turns_end(&self, until: Instant) -> bool {
        until == self.turn
    }

    /// Of an attempt that had until then: its own time, that of all, or nothing when it was the turn's.
    fn allowed(&self, until: Instant) -> Option<Duration> {
        match until {
            _ if self.is_turns_end(until) => None,
            _ if until == self.last => Some(self.total.unwrap_or(self.attempt)),
            _ => Some(self.attempt),
        }
    }
}

/// The report of a call that was not let through: nothing happened.
fn not_run(call: Permitted, why: NoPlace, times: &Times, began: Instant, repeatable: bool) -> Report {
    let tool = call.tool().clone();
    let failure = match why {
        NoPlace::Full => say::busy(&tool.name),
        NoPlace::Late => say::no_place_in_time(&tool.name, times.allowed(times.first)),
        NoPlace::Cancelled => say::stopped_before(&tool.name),
        NoPlace::Open(wait) => say::left_alone(&tool.name, wait),
        NoPlace::Rate(wait) => say::too_often(&tool.name, wait),
    };
    let mut marks = call.into_changes();
    if let NoPlace::Open(_) = why {
        marks.push("breaker: open, not called".to_owned());
    }
    Report {
        result: Err(failure),
        attempts: 0,
        queued: began.elapsed(),
        upstream_status: None,
        request: Private::default(),
        marks,
        cost_micros: 0,
        repeatable,
    }
}

/// Turns the end of the last attempt into what is told and recorded.
fn settled(
    tool: &Tool,
    mut marks: Vec<String>,
    end: End,
    so_far: SoFar,
    queued: Duration,
    times: &Times,
    repeatable: bool,
) -> Report {
    marks.extend(so_far.marks);
    let (mut status, mut request) = (so_far.seen.status, so_far.seen.request.clone());
    let effect = so_far.seen.effect();
    let is_decided = is_decided(&end);
    let result = match end {
        End::Done(value) => contained(tool, || checked(tool, value, &mut marks)),
        // Told by whoever follows it.
        End::Job(_) => Ok(Value::Null),
        End::Failed(failure) => {
            let (failure, answered, sent) = failure.into_parts();
            status = answered.or(status);
            if !sent.is_empty() {
                request = sent;
            }
            Err(failure)
        }
        End::Late => Err(say::late(&tool.name, times.allowed(so_far.until.unwrap_or(times.first)), effect, repeatable)),
        End::Cancelled if so_far.between => Err(say::stopped_between(&tool.name)),
        End::Cancelled => Err(say::stopped(&tool.name, effect, repeatable)),
        End::Panicked(words) => {
            Err(Failure::fatal(Code::Panic, format!("'{}' panicked: {words}", tool.name)).effect(effect))
        }
    };
    let result = result.map_err(|mut failure| {
        if let Some(why) = so_far.why_not {
            let why = format!("not retried: {why}");
            failure.cause = say::also(&failure.cause, &why);
            marks.push(why);
        }
        match so_far.in_doubt && !is_decided {
            true => say::after_doubt(failure, repeatable),
            false => failure,
        }
    });
    Report {
        result,
        attempts: so_far.attempts,
        queued: queued + so_far.waited,
        upstream_status: status,
        request,
        marks,
        cost_micros: so_far.cost_micros,
        repeatable,
    }
}

/// Whether the end also tells what became of the attempts before it: a service that refuses the call under the same key
/// has not carried it out.
fn is_decided(end: &End) -> bool {
    match end {
        End::Done(_) => true,
        End::Failed(failure) => {
            failure.fault() == Some(Fault::Refused) && !matches!(failure.status_code(), Some(408 | 409 | 425) | None)
        }
        End::Job(_) | End::Late | End::Cancelled | End::Panicked(_) => false,
    }
}

/// A crash while an answer is checked is a defect like any other, and this call's alone.
fn contained(tool: &Tool, check: impl FnOnce() -> Result<Value, Failure>) -> Result<Value, Failure> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_or_else(|payload| {
        let cause = format!("the answer of '{}' could not be checked: {}", tool.name, attempt::words(payload));
        Err(Failure::fatal(Code::Panic, cause).effect(Effect::Unknown))
    })
}

/// Checks an answer against what the tool declares, and converts it as arguments are converted.
fn checked(tool: &Tool, value: Value, marks: &mut Vec<String>) -> Result<Value, Failure> {
    let value = match &tool.returns {
        Some(schema) if !schema.is_valid(&value) => match schema.coerce(&value) {
            Ok(None) => value,
            Ok(Some(prepared)) => {
                marks.extend(prepared.changes.into_iter().map(|change| format!("answer: {change}")));
                prepared.args
            }
            Err(problems) => return Err(say::returns(&tool.name, &problems, &say::raw(&*tool.endpoint, &value))),
        },
        Some(_) | None => value,
    };
    match &tool.spec.select {
        Some(select) => select.of(value).map_err(|why| say::not_selected(&tool.name, &why)),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests;
