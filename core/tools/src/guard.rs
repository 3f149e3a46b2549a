//! Runs a permitted call: a place in line, a deadline, cancellation, a crash contained, the answer checked.
//!
//! The whole of a call's time is on a wall clock: waiting for a place counts, and so does every byte that a slow
//! service sends. Knows nothing of policy, records or HTTP.

mod attempt;
mod line;
mod say;

use std::{sync::Arc, time::Duration};

use contract::{Caller, Code, Effect, Failure, Private, TurnId};
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    endpoint::{Host, Notes, Seen},
    permitted::Permitted,
    resources::Resources,
    spec::Spec,
    tool::Tool,
};
use attempt::{Attempt, End};
pub use line::Guard;
use line::NoPlace;

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
    /// Whether the tool may be run again without harm.
    pub repeatable: bool,
}

/// Runs the call. Never panics, always ends by its deadline; dropping it ends the call as a cancellation does.
pub async fn run(mut call: Permitted, cx: RunCx<'_>) -> Report {
    let began = Instant::now();
    let tool = call.tool().clone();
    let times = Times::of(&tool.spec, began, cx.deadline);
    // Held until the call has ended, in this order: a call that waits for its resource keeps nobody out of the tool.
    let place = match line::place(&mut call, &cx, times.first).await {
        Ok(place) => place,
        Err(why) => return not_run(call, why, &times, began, cx.repeatable),
    };
    let queued = if place.waited { began.elapsed() } else { Duration::ZERO };
    let notes = Notes::default();
    let mut attempts = 0;
    let end = loop {
        attempts += 1;
        let until = if attempts == 1 { times.first } else { times.next() };
        let end = Attempt { call: &call, cx: &cx, notes: &notes, number: attempts, until }.run().await;
        match wait_before_next(&tool.spec, attempts, &end) {
            Some(wait) if Instant::now() + wait < times.last => {
                let wait = tokio::time::sleep(wait);
                if line::in_time(wait, cx.cancel, times.last).await.is_err() {
                    break End::Cancelled;
                }
            }
            Some(_) | None => break end,
        }
    };
    drop(place);
    let seen = notes.take();
    let mut report = Report {
        result: Ok(Value::Null),
        attempts,
        queued,
        upstream_status: seen.status,
        request: Private::default(),
        marks: call.into_changes(),
        repeatable: cx.repeatable,
    };
    settle(&mut report, &tool, end, seen, &times);
    report
}

/// How long to wait for another attempt, if there is to be one. Until retries are active every call has one attempt.
fn wait_before_next(_spec: &Spec, _attempts: u32, _end: &End) -> Option<Duration> {
    None
}

/// When a call has to end.
struct Times {
    /// The first attempt, and the wait for a place with it.
    first: Instant,
    /// All attempts.
    last: Instant,
    attempt: Duration,
    /// The turn's end comes first.
    is_turns: bool,
}

impl Times {
    fn of(spec: &Spec, began: Instant, turn: Instant) -> Self {
        let attempt = spec.execution.timeout;
        let total = spec.execution.total_timeout.unwrap_or(attempt);
        let last = (began + total).min(turn);
        let first = (began + attempt).min(last);
        Self { first, last, attempt, is_turns: first == turn }
    }

    /// The end of an attempt that begins now.
    fn next(&self) -> Instant {
        (Instant::now() + self.attempt).min(self.last)
    }
}

/// The report of a call that found no place: nothing happened.
fn not_run(call: Permitted, why: NoPlace, times: &Times, began: Instant, repeatable: bool) -> Report {
    let tool = call.tool().clone();
    let failure = match why {
        NoPlace::Full => say::busy(&tool.name),
        NoPlace::Late => say::no_place_in_time(&tool.name, times.attempt, times.is_turns),
        NoPlace::Cancelled => say::stopped_before(&tool.name),
    };
    Report {
        result: Err(failure),
        attempts: 0,
        queued: began.elapsed(),
        upstream_status: None,
        request: Private::default(),
        marks: call.into_changes(),
        repeatable,
    }
}

/// Turns the end of the last attempt into what is told and recorded.
fn settle(report: &mut Report, tool: &Tool, end: End, seen: Seen, times: &Times) {
    report.marks.extend(seen.marks);
    report.request = seen.request;
    let effect = seen.effect.unwrap_or(Effect::Unknown);
    report.result = match end {
        End::Done(value) => contained(tool, || checked(tool, value, &mut report.marks)),
        End::Job => Err(Failure::fatal(Code::Internal, "the endpoint gave a job back, and jobs are not active")
            .effect(Effect::Unknown)),
        End::Failed(failure) => {
            let (failure, status, request) = failure.into_parts();
            report.upstream_status = status.or(report.upstream_status);
            if !request.is_empty() {
                report.request = request;
            }
            Err(failure)
        }
        End::Late => Err(say::late(&tool.name, times.attempt, times.is_turns, effect, report.repeatable)),
        End::Cancelled => Err(say::stopped(&tool.name, effect, report.repeatable)),
        End::Panicked(words) => {
            Err(Failure::fatal(Code::Panic, format!("'{}' panicked: {words}", tool.name)).effect(effect))
        }
    };
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
        Some(schema) if !schema.is_valid(&value) => match schema.coerce_and_validate(value) {
            Ok(prepared) => {
                marks.extend(prepared.changes.into_iter().map(|change| format!("answer: {change}")));
                prepared.args
            }
            Err(problems) => return Err(say::returns(&tool.name, &problems)),
        },
        Some(_) | None => value,
    };
    match tool.spec.max_result_size_chars {
        Some(most) => Ok(crate::budget::fit(value, most, marks)),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests;
