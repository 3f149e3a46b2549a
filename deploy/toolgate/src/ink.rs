//! Colours for a terminal; nothing of them when the output goes elsewhere.

use std::io::IsTerminal;

use contract::{Code, Layer, State};

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Colour,
}

/// What a text means; a colour follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Busy,
    Layer(Layer),
    /// Stopped, not started, not known.
    Open,
    Quiet,
    Strong,
}

impl Ink {
    /// For standard output: colour on a terminal, unless `NO_COLOR` says otherwise.
    pub fn for_stdout() -> Self {
        Self::for_terminal(std::io::stdout().is_terminal())
    }

    /// The same for standard error.
    pub fn for_stderr() -> Self {
        Self::for_terminal(std::io::stderr().is_terminal())
    }

    fn for_terminal(is_one: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && is_one { Self::Colour } else { Self::Plain }
    }

    /// The text in the colour of its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour if text.is_empty() => String::new(),
            Self::Colour => format!("\x1b[{}m{text}\x1b[0m", tone.sequence()),
        }
    }
}

impl Tone {
    /// The tone of a node that ended so.
    pub fn of(state: State, code: Option<Code>) -> Self {
        match state {
            State::Ok => Self::Good,
            State::Running => Self::Busy,
            State::Failed | State::Denied => Self::Layer(code.map_or(Layer::Execution, Code::layer)),
            State::Cancelled | State::Unknown | State::NotStarted | State::Interrupted | State::Parked => Self::Open,
        }
    }

    fn sequence(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Busy => "34",
            Self::Layer(Layer::Validation) => "33",
            Self::Layer(Layer::Permission) => "35",
            Self::Layer(Layer::Execution) => "31",
            Self::Layer(Layer::Fatal) => "1;31",
            Self::Open => "36",
            Self::Quiet => "2",
            Self::Strong => "1",
        }
    }
}

/// `640 µs`, `41 ms`, `2.31 s`, `3 min 05 s`.
pub fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..60_000_000 => format!("{}.{:02} s", us / 1_000_000, us % 1_000_000 / 10_000),
        _ => format!("{} min {:02} s", us / 60_000_000, us / 1_000_000 % 60),
    }
}

/// How a node ended, its layer in words: `execution · timeout`, `ok`, `unknown · outcome.unknown`.
pub fn ending(state: State, code: Option<Code>) -> String {
    let state_words = state.as_str().replace('_', " ");
    match (state, code) {
        (State::Failed | State::Denied, Some(code)) => format!("{} · {code}", code.layer().as_str()),
        (State::Ok | State::Running, _) | (_, None) => state_words,
        (_, Some(code)) if code.as_str().replace('_', " ") == state_words => state_words,
        (_, Some(code)) => format!("{state_words} · {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_at_a_glance() {
        let shown: Vec<_> = [0, 999, 1_000, 9_999, 10_000, 999_999, 2_310_000, 59_999_999, 185_000_000]
            .into_iter()
            .map(duration)
            .collect();
        let expected = ["0 µs", "999 µs", "1.0 ms", "9.9 ms", "10 ms", "999 ms", "2.31 s", "59.99 s", "3 min 05 s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_ending_names_its_layer() {
        assert_eq!(ending(State::Failed, Some(Code::Timeout)), "execution · timeout");
        assert_eq!(ending(State::Denied, Some(Code::Denied)), "permission · denied");
        assert_eq!(ending(State::Unknown, Some(Code::OutcomeUnknown)), "unknown · outcome.unknown");
        assert_eq!(ending(State::NotStarted, Some(Code::NotStarted)), "not started");
        assert_eq!(ending(State::Cancelled, None), "cancelled");
    }
}
