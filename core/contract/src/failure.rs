//! What went wrong, in four layers named for who can fix it, with separate texts for people, models and operators.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::text;

/// Whose it is to fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Who asked: an argument is wrong.
    Validation,
    /// An operator: policy does not allow it.
    Permission,
    /// Time, or the tool's owner: the tool did not answer well.
    Execution,
    /// Us.
    Fatal,
}

impl Layer {
    pub const ALL: [Self; 4] = [Self::Validation, Self::Permission, Self::Execution, Self::Fatal];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::Permission => "permission",
            Self::Execution => "execution",
            Self::Fatal => "fatal",
        }
    }
}

macro_rules! codes {
    ($($variant:ident $text:literal $layer:ident $meaning:literal;)*) => {
        /// What exactly went wrong. Stable: a code is never reused for something else.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code { $(#[doc = $meaning] #[serde(rename = $text)] $variant,)* }

        impl Code {
            /// Every code, in the order of the documented table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The layer of a failure with this code.
            pub fn layer(self) -> Layer {
                match self { $(Self::$variant => Layer::$layer,)* }
            }

            /// One sentence for the documented table.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    ArgsInvalid "args.invalid" Validation "an argument is missing or wrong";
    ArgsUnreadable "args.unreadable" Validation "the arguments are not readable JSON or command text";
    InputRefused "input.refused" Validation "the tool itself refused its input";
    ToolUnknown "tool.unknown" Permission "no such tool here (said also of a tool that policy denies)";
    ToolRemoved "tool.removed" Permission "the tool was removed while the turn ran";
    Denied "denied" Permission "policy does not allow the call; only nodes and operators see this code";
    ApprovalRefused "approval.refused" Permission "a person refused the call";
    ApprovalExpired "approval.expired" Permission "nobody answered in time";
    ApprovalUnavailable "approval.unavailable" Permission "the call needs an approval that cannot be had here";
    HookRefused "hook.refused" Permission "a hook refused the call, or could not be asked";
    LimitReached "limit.reached" Permission "a limit of calls or depth set by policy was reached";
    ScheduleDenied "schedule.denied" Permission "the owner of a schedule lost a right to it: in their own place, or where its answers go";
    ClientUnknown "client.unknown" Permission "the HTTP client showed no valid token";
    Timeout "timeout" Execution "no answer within the time limit";
    Upstream4xx "upstream.4xx" Execution "the service refused the request";
    Upstream5xx "upstream.5xx" Execution "the service failed";
    UpstreamUnreachable "upstream.unreachable" Execution "no connection to the service";
    UpstreamBroken "upstream.broken" Execution "the connection broke or the answer was not readable";
    RateLimited "rate_limited" Execution "the service or a limit of ours asks to wait";
    BreakerOpen "breaker.open" Execution "the service failed repeatedly and is left alone for a while";
    Busy "busy" Execution "too many calls or messages wait already";
    ReturnsInvalid "returns.invalid" Execution "the answer is not what the tool declares";
    HookWithheld "hook.withheld" Execution "the tool answered, and a hook that has to look at the answer did not let it pass";
    OutcomeUnknown "outcome.unknown" Execution "it is not known whether the call took effect";
    Cancelled "cancelled" Execution "somebody stopped it";
    NotStarted "not_started" Execution "an earlier call failed or the turn ended first";
    StepFailed "step.failed" Execution "a step of a pipeline did not answer";
    Unavailable "unavailable" Execution "the tool is not available at present";
    ModelUnavailable "model.unavailable" Execution "the language model did not answer";
    ModelStuck "model.stuck" Execution "the language model came to no answer";
    ModelOverflow "model.overflow" Execution "the conversation is longer than the language model can take";
    DeliveryRefused "delivery.refused" Execution "the platform refused the message";
    Panic "panic" Fatal "the tool's code crashed";
    Crashed "crashed" Fatal "the process died repeatedly while answering";
    Store "store" Fatal "the store is away";
    Internal "internal" Fatal "a defect of ours";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Text that people in chat may read: no path, host, header or secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Public(String);

impl Public {
    /// Whoever calls this vouches that the sentence is fit for anybody.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<T: Into<String>> From<T> for Public {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Text for operators only: it has no `Display`, so it cannot slip into a reply.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Private(String);

impl Private {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// An error and what caused it, joined by `: `.
    pub fn chain(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let line = cause.to_string();
            if !text.contains(&line) {
                text.push_str(": ");
                text.push_str(&line);
            }
            source = cause.source();
        }
        Self(text)
    }

    /// For logs, traces and operators' pages.
    pub fn for_operator(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Private({} bytes)", self.0.len())
    }
}

/// Most problems that are told at once.
pub const PROBLEMS_MAX: usize = 30;

/// One thing wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where: a JSON pointer into the arguments, without its first slash (`date_range/start`); empty for the whole.
    pub path: String,
    pub expected: String,
    /// What stood there, at most 80 characters; nothing when it was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// What to do: the nearest word, an example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Whether something may have happened at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing can have left us.
    None,
    Unknown,
}

/// What went wrong, with a text for each audience.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub code: Code,
    /// For people and models.
    pub say: Public,
    /// What the person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Public>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// How the tool is called, for Validation: `/order_query order_id [status=pending|paid]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    pub effect: Effect,
    /// When it may have happened, milliseconds since 1970; with [`Code::OutcomeUnknown`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_happened_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// What an operator sees in place of `code` (a denied tool is said to be unknown).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truly: Option<Code>,
    /// The cause chain, the request as sent, the rule with file and line.
    #[serde(default, skip_serializing_if = "Private::is_empty")]
    pub cause: Private,
}

impl Failure {
    pub fn new(code: Code, say: impl Into<Public>) -> Self {
        Self {
            code,
            say: say.into(),
            hint: None,
            problems: Vec::new(),
            usage: None,
            effect: Effect::None,
            may_have_happened_ms: None,
            retry_after: None,
            truly: None,
            cause: Private::default(),
        }
    }

    /// Wrong arguments of `tool`, all problems at once as long as they are at most [`PROBLEMS_MAX`].
    pub fn invalid_args(tool: &str, mut problems: Vec<Problem>, usage: String) -> Self {
        problems.truncate(PROBLEMS_MAX);
        let count = problems.len();
        let say = match count {
            1 => format!("'{tool}' cannot run with these arguments: one thing is wrong"),
            PROBLEMS_MAX.. => format!("'{tool}' cannot run with these arguments: {count} things or more are wrong"),
            _ => format!("'{tool}' cannot run with these arguments: {count} things are wrong"),
        };
        Self { problems, usage: Some(usage), ..Self::new(Code::ArgsInvalid, say) }
    }

    /// The same words for a tool that does not exist and for one that is denied; `suggestions` come from the caller's own view.
    pub fn unknown_tool(name: &str, suggestions: &[&str]) -> Self {
        let failure = Self::new(Code::ToolUnknown, format!("'{}' is not available here", text::one_line(name, 64)));
        match suggestions {
            [] => failure.hint("send /tools to see what can be used here"),
            near => {
                let near: Vec<_> = near.iter().map(|n| format!("/{n}")).collect();
                failure.hint(format!("did you mean {}?", near.join(" or ")))
            }
        }
    }

    /// Unknown to the person, denied to the operator, who is told `why` (layer, rule, file and line).
    pub fn denied(name: &str, suggestions: &[&str], why: impl Into<String>) -> Self {
        Self { truly: Some(Code::Denied), cause: Private::new(why), ..Self::unknown_tool(name, suggestions) }
    }

    /// The one sentence that is said of every fault of ours.
    pub fn fatal(code: Code, cause: impl Into<String>) -> Self {
        Self::new(code, "something broke on our side; other calls were not affected").cause(Private::new(cause))
    }

    /// It is not known whether `tool` took effect.
    pub fn outcome_unknown(tool: &str, at_ms: u64) -> Self {
        let failure = Self::new(
            Code::OutcomeUnknown,
            format!("it is not known whether '{tool}' took effect: it was under way when we were interrupted"),
        );
        Self { effect: Effect::Unknown, may_have_happened_ms: Some(at_ms), ..failure }
            .hint("check before you ask for it again")
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Public>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn cause(mut self, cause: Private) -> Self {
        self.cause = cause;
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    pub fn layer(&self) -> Layer {
        self.code.layer()
    }

    /// The code that operators see.
    pub fn true_code(&self) -> Code {
        self.truly.unwrap_or(self.code)
    }

    /// What a model (and, inside problem details, an API client) is told.
    pub fn for_model(&self, repeatable: bool) -> Value {
        let clean = text::for_model;
        let mut error = json!({
            "layer": self.layer().as_str(),
            "code": self.code.as_str(),
            "message": clean(self.say.as_str()),
            "retryable": self.is_retryable(repeatable),
        });
        if let Some(wait) = self.retry_after {
            error["retry_after_ms"] = json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        }
        if let Some(hint) = &self.hint {
            error["hint"] = json!(clean(hint.as_str()));
        }
        if let Some(usage) = &self.usage {
            error["usage"] = json!(clean(usage));
        }
        if !self.problems.is_empty() {
            error["problems"] = self.problems.iter().take(20).map(problem_json).collect();
        }
        json!({ "error": error })
    }

    /// Whether the same call may be tried again as it is. What a service refused it will refuse again.
    pub fn is_retryable(&self, repeatable: bool) -> bool {
        match self.layer() {
            Layer::Validation | Layer::Permission | Layer::Fatal => false,
            Layer::Execution => self.code != Code::Upstream4xx && (repeatable || self.effect == Effect::None),
        }
    }
}

fn problem_json(problem: &Problem) -> Value {
    let clean = text::for_model;
    let mut out = json!({ "path": clean(&problem.path), "expected": clean(&problem.expected) });
    if let Some(got) = &problem.got {
        out["got"] = json!(clean(got));
    }
    if let Some(hint) = &problem.hint {
        out["hint"] = json!(clean(hint));
    }
    out
}

impl fmt::Display for Failure {
    /// The public sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.say.fmt(f)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct() {
        let mut names: Vec<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn a_denied_tool_and_an_unknown_one_look_the_same_to_people_and_models() {
        let unknown = Failure::unknown_tool("order_refund", &["order_query"]);
        let denied = Failure::denied("order_refund", &["order_query"], "platform rule, telegram.yaml:4");
        assert_eq!(unknown.for_model(false), denied.for_model(false));
        assert_eq!((&unknown.say, &unknown.hint, unknown.code), (&denied.say, &denied.hint, denied.code));
        assert_eq!(denied.true_code(), Code::Denied);
    }

    #[test]
    fn operators_text_is_not_printed() {
        let failure = Failure::fatal(Code::Panic, "secret-host");
        assert!(!format!("{failure} {failure:?}").contains("secret-host"));
        assert!(!failure.for_model(true).to_string().contains("secret-host"));
    }
}
