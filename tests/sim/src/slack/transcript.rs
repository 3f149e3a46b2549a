//! What was seen in each conversation, as Slack shows it; a thread is its root's `ts`, or the name that the control side gave it.

use serde::Serialize;
use serde_json::Value;

pub use crate::transcript::{Button, By, FileSeen, KEPT, Kind};

/// An input of a view as it is seen; a submission names its block or its action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    pub block: String,
    pub action: String,
    pub label: String,
    pub kind: String,
    pub optional: bool,
    /// What stands in it from the start.
    pub value: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// What an entry has of Slack alone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Own {
    /// Who is notified: ids of people and groups, `channel`, `here`, `everyone`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pings: Vec<String>,
    /// The inputs of a view.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

pub type Entry = crate::transcript::Entry<String, Own>;
pub type Transcript = crate::transcript::Transcript<String, Own>;
