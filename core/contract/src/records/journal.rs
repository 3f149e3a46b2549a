//! The journal of a turn: what it started that may not be started twice, and how that ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{digest::Digest, failure::Failure, ids::CallPath};

/// A once call in the journal. Its start is durable before the call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub path: CallPath,
    pub tool: String,
    pub spec: Digest,
    pub args: Digest,
    /// The key that the service honours, when it does: such a call is run again with the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// How a journaled call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Ok(Value),
    Failed(Failure),
    /// It was taken on, and goes on elsewhere: from here on it is asked how that stands.
    Job(Job),
}

/// Work that a call began elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What its endpoint asks by.
    pub handle: String,
    /// When it is given up (milliseconds since 1970).
    pub until_ms: u64,
}

impl Entry {
    /// What it goes on as, where it goes on elsewhere.
    pub fn job(&self) -> Option<&Job> {
        match &self.end {
            Some(End::Job(job)) => Some(job),
            Some(End::Ok(_) | End::Failed(_)) | None => None,
        }
    }
}
