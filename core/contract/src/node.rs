//! A step of a turn as recorded: the nodes of a turn form its call tree.

use serde::{Deserialize, Serialize};

use crate::{
    call::State,
    digest::Digest,
    failure::{Code, Layer},
    ids::{CallId, CallPath, SessionKey, TurnId},
    place::Caller,
};

/// Most characters of a summary.
pub const SUMMARY_MAX: usize = 200;

/// Most characters of what a model was told, as a node keeps it.
pub const TOLD_MAX: usize = 600;

/// One node. A later record of the same turn and call replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub turn: TurnId,
    pub call: CallId,
    /// Nothing for the turn itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<CallPath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    pub kind: NodeKind,
    /// The tool's name, or what was typed in its place (see [`Node::names_a_tool`]); of a model's step the model's name;
    /// for the turn, empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Digest>,
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Microseconds since 1970.
    pub started_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// How long it waited for a place before it ran, microseconds.
    #[serde(default)]
    pub queued_us: u64,
    #[serde(default)]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Digest>,
    /// Of the result's JSON, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_digest: Option<Digest>,
    #[serde(default)]
    pub args_bytes: u32,
    #[serde(default)]
    pub result_bytes: u32,
    /// Redacted, at most [`SUMMARY_MAX`] characters; for the turn, what was asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub args: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// For operators: cause chain, request as sent (redacted), the rule that refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_status: Option<u16>,
    /// Marks: `coerced days: "3" to 3`, `not retried: not marked idempotent`, `late`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// What a model was told of a call that failed, cut to [`TOLD_MAX`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// What a model's step took; on the turn's node, of all its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whole, where the tool's spec asks for it with `full_payload_log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<Box<Bodies>>,
    /// Only on the turn's node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Box<Place>>,
}

impl Node {
    pub fn new(turn: TurnId, call: CallId, kind: NodeKind, started_us: u64) -> Self {
        Self {
            turn,
            call,
            path: None,
            parent: None,
            kind,
            tool: String::new(),
            spec: None,
            state: State::Running,
            code: None,
            started_us,
            duration_us: None,
            queued_us: 0,
            attempts: 0,
            args_digest: None,
            result_digest: None,
            args_bytes: 0,
            result_bytes: 0,
            args: String::new(),
            result: String::new(),
            detail: String::new(),
            upstream_status: None,
            marks: Vec::new(),
            told: String::new(),
            usage: None,
            bodies: None,
            place: None,
        }
    }

    /// Whether `tool` is a tool's name. What is not known to the registry is whatever somebody typed: it stands in the
    /// tree, and nothing is counted or indexed under it.
    pub fn names_a_tool(&self) -> bool {
        let may_be_typed = matches!(self.code, Some(Code::ToolUnknown | Code::LimitReached | Code::NotStarted));
        self.kind == NodeKind::Call && !self.tool.is_empty() && (self.spec.is_some() || !may_be_typed)
    }

    pub fn layer(&self) -> Option<Layer> {
        self.code.map(Code::layer)
    }
}

/// Most bytes of each of a call's bodies.
pub const BODY_MAX: usize = 64 * 1024;

/// What a call was given and what came of it; masked, each cut to [`BODY_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bodies {
    pub args: String,
    pub result: String,
}

/// What steps of a language model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, those from a cache included.
    pub input: u64,
    #[serde(default)]
    pub cached: u64,
    pub output: u64,
    /// Millionths of the operator's currency.
    #[serde(default)]
    pub cost_micros: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Turn,
    ModelStep,
    Call,
    Approval,
}

/// Where a turn came from; kept on its root node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub caller: Caller,
    pub session: SessionKey,
}
