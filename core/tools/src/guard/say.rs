//! What people are told of a call that the guard ended.

use std::time::Duration;

use contract::{Code, Effect, Failure, Private, Problem};
use serde_json::Value;

pub fn busy(tool: &str) -> Failure {
    Failure::new(Code::Busy, format!("'{tool}' is busy: too many calls wait for it already; this one was not started"))
        .hint("try again in a moment")
}

/// `allowed` is nothing when it is the turn whose time ran out.
pub fn no_place_in_time(tool: &str, allowed: Option<Duration>) -> Failure {
    let when = within(allowed);
    Failure::new(Code::Timeout, format!("'{tool}' had no free place {when}; it was not started"))
        .hint("try again in a moment")
        .cause(Private::new("the call waited for its concurrency limit or its resource until its deadline"))
}

pub fn stopped_before(tool: &str) -> Failure {
    Failure::new(Code::Cancelled, format!("'{tool}' was stopped before it started"))
}

pub fn left_alone(tool: &str, wait: Duration) -> Failure {
    let when = contract::text::wait(wait);
    let say = format!("'{tool}' has failed repeatedly and is left alone for a while; it can be asked again in {when}");
    Failure::new(Code::BreakerOpen, say)
        .retry_after(wait)
        .cause(Private::new("the circuit breaker is open; nothing was sent"))
}

pub fn too_often(tool: &str, wait: Duration) -> Failure {
    let when = contract::text::wait(wait);
    Failure::new(Code::RateLimited, format!("'{tool}' is asked too often; it can be asked again in {when}"))
        .retry_after(wait)
        .cause(Private::new("the tool's own rate limit; nothing was sent"))
}

/// Stopped while it waited for its next attempt, after one that was surely not carried out.
pub fn stopped_between(tool: &str) -> Failure {
    Failure::new(Code::Cancelled, format!("'{tool}' was stopped while it ran"))
}

/// A failure that says nothing of what became of an earlier attempt, of which nobody knows.
pub fn after_doubt(failure: Failure, repeatable: bool) -> Failure {
    let failure = failure.effect(Effect::Unknown);
    if repeatable {
        return failure;
    }
    let told = failure.say.as_str();
    let plain = told.strip_suffix("; nothing was sent").unwrap_or(told).to_owned();
    let code = match failure.code {
        // These are open by themselves.
        code @ (Code::Timeout | Code::Cancelled | Code::UpstreamBroken | Code::Panic) => code,
        _ => Code::OutcomeUnknown,
    };
    match plain.ends_with("; it may have taken effect") {
        true => failure,
        false => doubt(Failure { code, say: plain.into(), ..failure }, Effect::Unknown, repeatable),
    }
}

/// Adds to what operators are told.
pub fn also(cause: &Private, more: &str) -> Private {
    match cause.for_operator() {
        "" => Private::new(more),
        cause => Private::new(format!("{cause}; {more}")),
    }
}

pub fn stopped(tool: &str, effect: Effect, repeatable: bool) -> Failure {
    let say = format!("'{tool}' was stopped while it ran");
    doubt(Failure::new(Code::Cancelled, say), effect, repeatable)
}

pub fn late(tool: &str, allowed: Option<Duration>, effect: Effect, repeatable: bool) -> Failure {
    let say = format!("'{tool}' did not answer {}", within(allowed));
    doubt(Failure::new(Code::Timeout, say), effect, repeatable)
}

/// Says that something may have happened where nobody knows and where it matters.
fn doubt(failure: Failure, effect: Effect, repeatable: bool) -> Failure {
    let failure = failure.effect(effect);
    match (effect, repeatable) {
        (Effect::Unknown, false) => {
            let say = format!("{}; it may have taken effect", failure.say);
            Failure { say: say.into(), ..failure }.hint("check before you ask for it again")
        }
        (Effect::None, _) => {
            let say = format!("{}; nothing was sent", failure.say);
            Failure { say: say.into(), ..failure }
        }
        (Effect::Unknown, true) => failure,
    }
}

/// Most characters that operators see of an answer that is not what its tool declares.
const RAW_MAX: usize = 2_000;

/// The answer itself, for operators.
pub fn raw(endpoint: &dyn crate::Endpoint, value: &Value) -> String {
    let text = value.to_string();
    // What is masked may be longer than its mask; the rest of a large answer is not looked at.
    let start: String = text.chars().take(2 * RAW_MAX).collect();
    endpoint.for_operator(&start, RAW_MAX)
}

/// The operator reads what was expected where, and the answer; people and models only whose answer it was, since what a service
/// answers in place of what it declares may be anything: a stack trace, a key.
pub fn returns(tool: &str, problems: &[Problem], raw: &str) -> Failure {
    let lines: Vec<_> = problems.iter().take(20).map(line).collect();
    Failure::new(Code::ReturnsInvalid, format!("'{tool}' answered something else than it declares"))
        .effect(Effect::Unknown)
        .cause(Private::new(format!("{}; the answer: {raw}", lines.join("; "))))
}

/// The answer is not of the shape that `select` is for.
pub fn not_selected(tool: &str, why: &str) -> Failure {
    Failure::new(Code::ReturnsInvalid, format!("'{tool}' answered something else than it declares"))
        .effect(Effect::Unknown)
        .cause(Private::new(format!("'select' does not fit the answer: {why}")))
}

fn line(problem: &Problem) -> String {
    let at = if problem.path.is_empty() { "the answer" } else { &problem.path };
    let got = problem.got.as_ref().map(|got| format!(", got {got}")).unwrap_or_default();
    format!("{at}: expected {}{got}", problem.expected)
}

fn within(allowed: Option<Duration>) -> String {
    match allowed {
        None => "before the time for this request ran out".to_owned(),
        Some(time) => format!("within {}", long(time)),
    }
}

/// A time as people say it.
fn long(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        _ if ms < 1_000 || !ms.is_multiple_of(1_000) => format!("{ms} ms"),
        _ if ms < 120_000 => format!("{} s", ms / 1_000),
        _ if ms.is_multiple_of(60_000) => format!("{} min", ms / 60_000),
        _ => format!("{} s", ms / 1_000),
    }
}
