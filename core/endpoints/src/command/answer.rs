//! How a program ended, as a value or a failure (pure).

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use contract::{Effect, Private, text};
use serde_json::Value;
use tools::{Fault, ToolFailure};

use super::{
    plan::{BY_SIGNAL, OURS, OURS_EXIT},
    run::{Ended, OUTPUT_MAX},
};

/// How a program says that it may go better another time (`EX_TEMPFAIL`).
const ANOTHER_TIME: i32 = 75;
/// Of the signals that there are.
const SIGNALS: i32 = 64;

/// What a tool expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    Text,
    Json,
    /// It does not say.
    Either,
}

impl Wants {
    pub fn of(returns: Option<&Value>) -> Self {
        match returns.map(|returns| returns.get("type").and_then(Value::as_str)) {
            Some(Some("string")) => Self::Text,
            Some(_) => Self::Json,
            None => Self::Either,
        }
    }
}

/// The answer of the tool `name`.
pub fn read(name: &str, ended: Ended, wants: Wants) -> Result<Value, ToolFailure> {
    match ended {
        Ended::Itself { status, stdout, stderr } => match status.code() {
            Some(0) => Ok(value(&stdout, wants)),
            _ => Err(failed(name, status, &stderr)),
        },
        Ended::Stopped => Err(ToolFailure::new(Fault::Cancelled, format!("'{name}' was stopped"))),
        Ended::TooMuch => {
            let most = OUTPUT_MAX / (1024 * 1024);
            Err(ToolFailure::new(Fault::Unusable, format!("'{name}' wrote more than {most} MiB and was stopped")))
        }
        Ended::NotStarted(why) => Err(not_started(name, &why)),
    }
}

fn not_started(name: &str, why: &str) -> ToolFailure {
    let failure = ToolFailure::new(Fault::Unavailable, format!("'{name}' cannot be run at present"));
    failure.cause(Private::new(why)).effect(Effect::None)
}

/// What it printed: JSON where that is what it is, else text.
fn value(stdout: &[u8], wants: Wants) -> Value {
    let text = String::from_utf8_lossy(stdout);
    let trimmed = text.trim();
    let is_json = match wants {
        Wants::Text => false,
        Wants::Json => true,
        // Without a word on it a number may as well be the name of something.
        Wants::Either => trimmed.starts_with(['{', '[', '"']),
    };
    let read = is_json.then(|| serde_json::from_str(trimmed).ok()).flatten();
    read.unwrap_or_else(|| Value::String(trimmed.to_owned()))
}

fn failed(name: &str, status: ExitStatus, stderr: &[u8]) -> ToolFailure {
    let stderr = String::from_utf8_lossy(stderr);
    let ours = stderr.lines().rev().find_map(|line| line.strip_prefix(OURS));
    let code = status.code().unwrap_or_default();
    let by_launcher = code == i32::from(OURS_EXIT) || status.signal().is_some();
    if let Some(why) = ours.filter(|_| by_launcher) {
        // What was begun is stopped by the same process, in other words.
        if why.starts_with("it ran more") || why.starts_with("its files") {
            let say = format!("'{name}' took more than it may and was stopped");
            return ToolFailure::new(Fault::Reported, say).cause(Private::new(why));
        }
        return not_started(name, why);
    }
    let words = if stderr.trim().is_empty() { "nothing".to_owned() } else { stderr.trim().to_owned() };
    let cause = |how: String| Private::new(format!("{how}; on standard error: {words}"));
    if let Some(signal) = signal(status) {
        let say = format!("'{name}' crashed; other calls were not affected");
        return ToolFailure::new(Fault::Crashed, say)
            .cause(cause(format!("it died by signal {signal}{}", known(signal))));
    }
    let fault = if code == ANOTHER_TIME { Fault::Failed } else { Fault::Reported };
    ToolFailure::new(fault, format!("'{name}' ended with the exit code {code}"))
        .cause(cause(format!("exit code {code}")))
}

/// By which it died, whether we see it or who watched over it tells.
fn signal(status: ExitStatus) -> Option<i32> {
    let told = status.code().map(|code| code - BY_SIGNAL).filter(|signal| (1..=SIGNALS).contains(signal));
    status.signal().or(told)
}

fn known(signal: i32) -> &'static str {
    match signal {
        4 | 5 | 6 | 7 | 8 | 11 => " (it crashed)",
        9 => " (killed, perhaps for want of memory)",
        24 => " (it used more time of the processor than it may)",
        25 => " (it wrote a larger file than it may)",
        _ => "",
    }
}

/// A line for operators: what was run.
pub fn shown(argv: &[String]) -> String {
    let words: Vec<_> = argv.iter().map(|word| text::one_line(word, 200)).collect();
    text::cut(&words.join(" "), 800)
}
