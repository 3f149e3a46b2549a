//! Work that a call began elsewhere: asked about, less often the longer it takes, until it ends, nobody wants it, or its time
//! is over.
//!
//! A job holds nobody's place: not the tool's, not the turn's, not its resource's.

use std::time::Duration;

use contract::{Code, Effect, Failure, Private};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{RunCx, say};
use crate::{
    endpoint::{Cx, Fault, Notes, Polled, ToolFailure},
    tool::Tool,
};

/// A job that is quicker is waited for in place; for a longer one its turn is put aside.
pub const IN_PLACE: Duration = Duration::from_secs(5);
/// Longest time between two questions that nobody asked for.
const INTERVAL_MAX: Duration = Duration::from_secs(30);
/// Longest wait that a service may ask for.
const ASKED_MAX: Duration = Duration::from_secs(600);
/// Longest that one question waits for its answer.
const QUESTION_MAX: Duration = Duration::from_secs(30);
/// Answers in a row that say that there is no such job, or that nobody understands.
const REFUSED_MAX: u32 = 3;
/// How long it takes at most to say that nobody wants it.
const GIVING_UP: Duration = Duration::from_secs(5);

/// A job of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub handle: String,
    /// The time after which it is given up.
    pub left: Duration,
}

/// When it is asked next.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    asked: u32,
    refused: u32,
}

/// What came of one question.
#[derive(Debug)]
pub enum Stands {
    /// Asked again after this time.
    Waits {
        after: Duration,
        said: Option<String>,
    },
    Ended(Result<Value, Failure>),
}

/// How long a job of the tool may take.
pub fn time_of(tool: &Tool) -> Duration {
    tool.spec.execution.r#async.as_ref().map_or(Duration::ZERO, |jobs| jobs.timeout)
}

impl Pace {
    /// What an answer means, and when to ask again. Pure.
    pub fn stands(&mut self, tool: &Tool, polled: Result<Polled, ToolFailure>) -> Stands {
        match polled {
            Ok(Polled::Done(value)) => Stands::Ended(Ok(value)),
            Ok(Polled::Failed(failure)) => Stands::Ended(Err(failure.into())),
            Ok(Polled::Waits { said, after }) => {
                self.refused = 0;
                Stands::Waits { after: self.next(tool, after), said }
            }
            Err(failure) => {
                let is_passing = match failure.fault() {
                    Some(
                        Fault::Unreachable
                        | Fault::Failed
                        | Fault::Timeout
                        | Fault::Broken
                        | Fault::RateLimited
                        | Fault::Unavailable
                        | Fault::Busy,
                    ) => true,
                    Some(_) | None => matches!(failure.status_code(), Some(408 | 425)),
                };
                self.refused = if is_passing { 0 } else { self.refused + 1 };
                if self.refused >= REFUSED_MAX {
                    return Stands::Ended(Err(lost(tool, failure)));
                }
                Stands::Waits { after: self.next(tool, failure.failure().retry_after), said: None }
            }
        }
    }

    fn next(&mut self, tool: &Tool, asked: Option<Duration>) -> Duration {
        let interval = tool.spec.execution.r#async.as_ref().map_or(INTERVAL_MAX, |jobs| jobs.interval);
        let factor = 1.25_f64.powi(i32::try_from(self.asked.min(64)).unwrap_or(64));
        self.asked += 1;
        let own = Duration::from_secs_f64((interval.as_secs_f64() * factor).min(INTERVAL_MAX.as_secs_f64()));
        own.max(interval).max(asked.unwrap_or_default().min(ASKED_MAX))
    }
}

/// Asks once.
pub async fn ask(tool: &Tool, handle: &str, pace: &mut Pace, cx: &Cx<'_>) -> Stands {
    if let Some(wait) = tool.guard.open_for() {
        return Stands::Waits { after: pace.next(tool, Some(wait)), said: None };
    }
    let time = tool.spec.execution.timeout.min(QUESTION_MAX);
    let polled = tokio::time::timeout(time, tool.endpoint.poll(handle, cx)).await;
    let late = || ToolFailure::new(Fault::Timeout, format!("'{}' did not answer in time", tool.name));
    pace.stands(tool, polled.unwrap_or_else(|_| Err(late())))
}

/// The job of a call: its end, as far as anybody here waits for it.
pub(super) async fn followed(
    tool: &Tool,
    job: &Job,
    cx: &RunCx<'_>,
    is_new: bool,
    marks: &mut Vec<String>,
) -> Result<Value, Failure> {
    let began = Instant::now();
    let until = began.checked_add(job.left).unwrap_or(cx.deadline);
    if is_new {
        cx.host.job(job).await;
    }
    let mut pace = Pace::default();
    let mut asked: u64 = 0;
    // What was begun before is asked about at once.
    let mut wait = if is_new { pace.next(tool, None) } else { Duration::ZERO };
    loop {
        let rests = (began.elapsed() + wait >= IN_PLACE).then(|| cx.host.rests()).flatten();
        // Where the turn cannot go on later, its time is the job's too.
        let last = if rests.is_some() { until } else { until.min(cx.deadline) };
        let at = Instant::now().checked_add(wait).unwrap_or(last).min(last);
        let is_wanted = tokio::select! {
            () = tokio::time::sleep_until(at) => true,
            () = cx.cancel.cancelled() => false,
        };
        drop(rests);
        if !is_wanted || at >= last {
            marks.push(format!("job: asked {asked} times, then given up"));
            return Err(given_up(tool, job, cx, (!is_wanted, last == until)).await);
        }
        asked += 1;
        let notes = Notes::default();
        let question = question(cx, &notes, at);
        let stands = tokio::select! {
            stands = ask(tool, &job.handle, &mut pace, &question) => stands,
            () = cx.cancel.cancelled() => continue,
        };
        match stands {
            Stands::Ended(result) => {
                marks.push(format!("job: asked {asked} times in {} ms", began.elapsed().as_millis()));
                return result;
            }
            Stands::Waits { after, said } => {
                if let Some(said) = said {
                    cx.host.progress(&said);
                }
                wait = after;
            }
        }
    }
}

fn question<'a>(cx: &RunCx<'a>, notes: &'a Notes, at: Instant) -> Cx<'a> {
    Cx {
        caller: cx.caller,
        turn: cx.turn,
        deadline: at + QUESTION_MAX,
        attempt: 1,
        cancel: cx.cancel,
        idempotency_key: cx.idempotency_key,
        host: cx.host,
        notes,
    }
}

/// Tells whoever works on it, and says what is known: nothing.
async fn given_up(tool: &Tool, job: &Job, cx: &RunCx<'_>, (is_stopped, is_its_time): (bool, bool)) -> Failure {
    let (notes, calm) = (Notes::default(), CancellationToken::new());
    let question = Cx { cancel: &calm, ..question(cx, &notes, Instant::now()) };
    let told = tokio::time::timeout(GIVING_UP, tool.endpoint.give_up(&job.handle, &question)).await;
    if !matches!(told, Ok(Ok(()))) {
        tracing::warn!(tool = &*tool.name, "nobody could be told that a job is not wanted any more");
    }
    match is_stopped {
        true => say::stopped(&tool.name, Effect::Unknown, cx.repeatable),
        false => say::late(&tool.name, is_its_time.then(|| time_of(tool)), Effect::Unknown, cx.repeatable),
    }
}

/// Whoever worked on it does not know it, or says what nobody understands.
fn lost(tool: &Tool, failure: ToolFailure) -> Failure {
    let failure = Failure::from(failure);
    let say = format!("'{}' began its work, and cannot say what became of it; it may have taken effect", tool.name);
    Failure::new(Code::OutcomeUnknown, say)
        .effect(Effect::Unknown)
        .hint("check before you ask for it again")
        .cause(Private::new(failure.cause.for_operator().to_owned()))
}
