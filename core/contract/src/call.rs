//! One run of a tool: what is asked, and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{failure::Failure, ids::CallPath};

/// A wish to run a tool, as a planner, a person or a pipeline says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub path: CallPath,
    pub tool: String,
    /// As given, before coercion.
    pub args: Value,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Running,
    Ok,
    Failed,
    Denied,
    Cancelled,
    /// It is not known whether it took effect.
    Unknown,
    NotStarted,
    /// The process died while it ran.
    Interrupted,
    Parked,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
            Self::NotStarted => "not_started",
            Self::Interrupted => "interrupted",
            Self::Parked => "parked",
        }
    }
}

/// The end of a call. There is exactly one for each call, in the order of the calls.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub path: CallPath,
    pub tool: String,
    pub state: State,
    pub result: Result<Value, Failure>,
    /// Whether the tool may be run again without harm.
    pub repeatable: bool,
    /// How long it took, microseconds.
    pub took_us: u64,
}
