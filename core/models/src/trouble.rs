//! Why a model did not answer, and what is said of it to whom.

use std::time::Duration;

use contract::{Code, Effect, Failure, Private};

/// Most bytes of an answer that are read.
pub(crate) const MOST_BYTES: usize = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No connection, or our key cannot be read: nothing was asked.
    Unreachable,
    /// Its side is at fault: 5xx, or an error in the stream.
    Failed,
    /// It asks to wait.
    Busy,
    /// The stream ended before the answer did.
    Broke,
    /// Nothing came in time.
    Slow,
    Empty,
    TooLarge,
    /// It does not take the request: a key, a name, a value.
    Refused,
    /// The conversation does not fit into its window.
    Overflow,
    /// It does not take a part of the request, which the next one leaves out.
    Learned,
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trouble {
    pub kind: Kind,
    /// For operators: in our words.
    pub why: String,
    /// For operators: in the server's words, cut and without secrets.
    pub said: String,
    pub retry_after: Option<Duration>,
}

impl Trouble {
    pub fn new(kind: Kind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into(), said: String::new(), retry_after: None }
    }

    pub fn said(self, said: impl Into<String>) -> Self {
        Self { said: said.into(), ..self }
    }

    /// Everything that an operator is told.
    pub fn cause(&self) -> String {
        if self.said.is_empty() { self.why.clone() } else { format!("{}: {}", self.why, self.said) }
    }

    /// Whether the same request may well be answered when it is made again.
    pub fn may_pass(&self) -> bool {
        match self.kind {
            Kind::Unreachable | Kind::Failed | Kind::Busy | Kind::Broke | Kind::Empty | Kind::Learned => true,
            // A server that took its time has it no shorter the second time; the rest is about what was asked.
            Kind::Slow | Kind::TooLarge | Kind::Refused | Kind::Overflow => false,
        }
    }

    /// Whether it says something of the server, not of this request.
    pub fn is_outage(&self) -> bool {
        match self.kind {
            Kind::Unreachable | Kind::Failed | Kind::Busy | Kind::Broke | Kind::Slow | Kind::Refused => true,
            Kind::Empty | Kind::TooLarge | Kind::Overflow | Kind::Learned => false,
        }
    }

    /// What is said of it; `cause` is for operators.
    pub fn failure(&self, cause: String) -> Failure {
        let unavailable = Code::ModelUnavailable;
        let failure = match self.kind {
            Kind::Unreachable | Kind::Failed => Failure::new(unavailable, "the language model did not answer"),
            Kind::Refused | Kind::Learned => {
                Failure::new(unavailable, "the language model did not answer").hint("an operator has to look at this")
            }
            Kind::Busy => Failure::new(unavailable, "the language model is asked too often"),
            Kind::Broke => Failure::new(unavailable, "the language model's answer broke off"),
            Kind::Slow => Failure::new(unavailable, "the language model did not answer in time"),
            Kind::Empty => Failure::new(unavailable, "the language model gave an empty answer"),
            Kind::TooLarge => {
                let say = format!("the language model answered more than {} MiB", MOST_BYTES >> 20);
                Failure::new(unavailable, say)
            }
            Kind::Overflow => Failure::new(Code::ModelOverflow, "the conversation is too long for the language model"),
        };
        let failure = failure.cause(Private::new(cause)).effect(Effect::None);
        match self.retry_after {
            Some(wait) => failure.retry_after(wait),
            None => failure,
        }
    }
}

/// What an error's text says of the window, whoever wrote it.
pub(crate) fn is_overflow(text: &str) -> bool {
    let text = text.to_lowercase();
    let named = ["context_length_exceeded", "exceed_context_size", "prompt is too long", "context_window_exceeded"];
    if named.iter().any(|name| text.contains(name)) {
        return true;
    }
    let about = ["context length", "context size", "context window", "input token", "prompt tokens", "input length"];
    let over = ["exceed", "maximum", "too long", "larger than", "too large", "longer than", "greater than"];
    about.iter().any(|words| text.contains(words)) && over.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_too_small_is_told_in_many_words() {
        for text in [
            r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens"}}"#,
            "the request exceeds the available context size. try increasing the context size",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}"#,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "the input length exceeds the context length",
        ] {
            assert!(is_overflow(text), "{text}");
        }
        for text in ["max_tokens is too large", "model not found", "Rate limit: tokens per minute exceeded", ""] {
            assert!(!is_overflow(text), "{text}");
        }
    }
}
