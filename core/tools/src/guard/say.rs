//! What people are told of a call that the guard ended.

use std::time::Duration;

use contract::{Code, Effect, Failure, Private, Problem};

pub fn busy(tool: &str) -> Failure {
    Failure::new(Code::Busy, format!("'{tool}' is busy: too many calls wait for it already; this one was not started"))
        .hint("try again in a moment")
}

pub fn no_place_in_time(tool: &str, timeout: Duration, is_turns: bool) -> Failure {
    let when = within(timeout, is_turns);
    Failure::new(Code::Timeout, format!("'{tool}' had no free place {when}; it was not started"))
        .hint("try again in a moment")
        .cause(Private::new("the call waited for its concurrency limit or its resource until its deadline"))
}

pub fn stopped_before(tool: &str) -> Failure {
    Failure::new(Code::Cancelled, format!("'{tool}' was stopped before it started"))
}

pub fn stopped(tool: &str, effect: Effect, repeatable: bool) -> Failure {
    let say = format!("'{tool}' was stopped while it ran");
    doubt(Failure::new(Code::Cancelled, say), effect, repeatable)
}

pub fn late(tool: &str, timeout: Duration, is_turns: bool, effect: Effect, repeatable: bool) -> Failure {
    let say = format!("'{tool}' did not answer {}", within(timeout, is_turns));
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

/// The operator reads what was expected where; people and models only whose answer it was, since what a service
/// answers in place of what it declares may be anything: a stack trace, a key.
pub fn returns(tool: &str, problems: &[Problem]) -> Failure {
    let lines: Vec<_> = problems.iter().take(20).map(line).collect();
    Failure::new(Code::ReturnsInvalid, format!("'{tool}' answered something else than it declares"))
        .effect(Effect::Unknown)
        .cause(Private::new(lines.join("; ")))
}

fn line(problem: &Problem) -> String {
    let at = if problem.path.is_empty() { "the answer" } else { &problem.path };
    let got = problem.got.as_ref().map(|got| format!(", got {got}")).unwrap_or_default();
    format!("{at}: expected {}{got}", problem.expected)
}

fn within(timeout: Duration, is_turns: bool) -> String {
    match is_turns {
        true => "before the time for this request ran out".to_owned(),
        false => format!("within {}", long(timeout)),
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
