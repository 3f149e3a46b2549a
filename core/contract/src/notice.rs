//! What is said of a failure to a person; each adapter draws it in its platform's manner.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    failure::{Code, Failure, Layer, Problem},
    ids::TurnId,
    text::{self, one_line},
};

/// A failure as a person is told of it. Everything in it is fit for anybody in the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    pub layer: Layer,
    pub code: Code,
    /// The tool it is about, when the person may know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub say: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// What to do next.
    pub hint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_happened_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<TurnId>,
}

impl Notice {
    pub fn of(failure: &Failure, tool: Option<&str>, reference: Option<TurnId>) -> Self {
        Self {
            layer: failure.layer(),
            code: failure.code,
            tool: tool.map(str::to_owned),
            say: one_line(failure.say.as_str(), 500),
            // Only what was asked can be mended by whoever asked; what a service got wrong is for operators.
            problems: if failure.layer() == Layer::Validation { failure.problems.clone() } else { Vec::new() },
            usage: failure.usage.clone(),
            hint: failure.hint.as_ref().map_or_else(|| default_hint(failure).to_owned(), ToString::to_string),
            retry_after: failure.retry_after,
            may_have_happened_ms: failure.may_have_happened_ms,
            reference,
        }
    }

    /// The layer in words, with a mark that does not rely on colour: `⚠️ Check the input`.
    pub fn heading(&self) -> (&'static str, &'static str) {
        match (self.layer, self.code) {
            (_, Code::ToolUnknown | Code::ToolRemoved) => ("🚫", "Not available"),
            (_, Code::OutcomeUnknown) => ("❓", "Outcome not known"),
            (_, Code::Cancelled) => ("⏹", "Stopped"),
            (_, Code::NotStarted) => ("⏹", "Not started"),
            (_, Code::Busy) => ("⏳", "Busy"),
            (_, Code::ModelUnavailable | Code::ModelOverflow | Code::ModelStuck) => ("⚠️", "No answer"),
            (Layer::Validation, _) => ("✏️", "Check the input"),
            (Layer::Permission, _) => ("🚫", "Not permitted"),
            (Layer::Execution, _) => ("⚠️", "The tool did not answer well"),
            (Layer::Fatal, _) => ("🛑", "Our fault"),
        }
    }

    /// The details, a line each: where, what was expected, what stood there, how to write it.
    pub fn detail_lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.problems.iter().map(problem_line).collect();
        if let Some(usage) = &self.usage {
            lines.push(format!("usage: {usage}"));
        }
        if let Some(at) = self.may_have_happened_ms {
            lines.push(format!("it may have happened at {}", clock(at)));
        }
        if let Some(wait) = self.retry_after {
            lines.push(format!("try again in {}", text::wait(wait)));
        }
        lines.push(format!("code: {}", self.code));
        lines
    }
}

fn problem_line(problem: &Problem) -> String {
    let place = if problem.path.is_empty() { "the arguments" } else { &problem.path };
    let mut line = format!("{place}: expected {}", problem.expected);
    match &problem.got {
        Some(got) => line.push_str(&format!(", got {got}")),
        None if problem.path.is_empty() => {}
        None => line.push_str(", but it is missing"),
    }
    if let Some(hint) = &problem.hint {
        line.push_str(&format!(" ({hint})"));
    }
    line
}

/// `12:03:09 UTC` of a time in milliseconds since 1970.
pub fn clock(at_ms: u64) -> String {
    i64::try_from(at_ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| "an unknown time".into(), |t| t.strftime("%H:%M:%S UTC").to_string())
}

/// `2026-11-30 12:03 UTC` of a time in milliseconds since 1970.
pub fn moment(at_ms: u64) -> String {
    i64::try_from(at_ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| "an unknown time".into(), |t| t.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

fn default_hint(failure: &Failure) -> &'static str {
    match failure.code {
        Code::ArgsInvalid | Code::ArgsUnreadable | Code::InputRefused => "correct it and send it again",
        Code::Timeout | Code::Upstream5xx | Code::UpstreamBroken | Code::UpstreamUnreachable => {
            "try again in a moment; if it goes on, tell an operator the reference"
        }
        Code::ModelStuck => "ask again in other words, or for less at once",
        Code::RateLimited | Code::BreakerOpen | Code::Busy | Code::Unavailable => "try again a little later",
        Code::Upstream4xx => "check what you asked for; an operator can look at the reference",
        Code::OutcomeUnknown => "check before you ask for it again",
        Code::Cancelled | Code::NotStarted => "ask again when you like",
        Code::Store => "wait a moment: nothing that you sent is lost",
        Code::LimitReached | Code::ModelOverflow => "ask for less at once",
        Code::ToolUnknown | Code::ToolRemoved => "send /tools to see what can be used here",
        Code::Denied
        | Code::ApprovalRefused
        | Code::ApprovalExpired
        | Code::ApprovalUnavailable
        | Code::HookRefused
        | Code::ScheduleDenied
        | Code::ClientUnknown => "an operator can say more",
        Code::ReturnsInvalid
        | Code::HookWithheld
        | Code::StepFailed
        | Code::ModelUnavailable
        | Code::DeliveryRefused
        | Code::Panic
        | Code::Crashed
        | Code::Internal => "if it goes on, tell an operator the reference",
    }
}
