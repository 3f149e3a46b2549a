//! Tools that were added while the gateway ran, what restricts the tools of others, and every change with its author.
//!
//! A store knows nothing of what may follow what: it keeps what it is given, if nobody was faster.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{digest::Digest, seams::StoreDown};

/// Changes of one tool that are kept, the newest.
pub const CHANGES_MAX: usize = 50;
/// Most tools that a store knows something of, removed ones among them.
pub const TOOLS_MAX: usize = 5_000;

/// What the store knows of the tool of one name: its own versions, or what restricts a tool that another owns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTool {
    pub name: String,
    /// The number of its last change, from 1.
    pub version: u64,
    /// The version that is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<StoredSpec>,
    /// Added, and not published yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<StoredSpec>,
    /// Of a tool that another owns and that waits to be published: the version that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Digest>,
    /// Still callable, and said to be on its way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Mark>,
    /// A tool that another owns is switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Mark>,
}

/// A version of a tool as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSpec {
    /// One YAML document.
    pub text: String,
    /// Of its content.
    pub digest: Digest,
    /// Who added it.
    pub by: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

/// Who restricted a tool, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub by: String,
    pub at_ms: u64,
    #[serde(default)]
    pub why: String,
}

/// What was done to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolVerb {
    Added,
    Published,
    Deprecated,
    Removed,
    RolledBack,
}

impl ToolVerb {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Published => "published",
            Self::Deprecated => "deprecated",
            Self::Removed => "removed",
            Self::RolledBack => "rolled back",
        }
    }
}

/// One change of a tool: what was done, by whom, and what it led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChange {
    pub what: ToolVerb,
    pub by: String,
    pub at_ms: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The version that was gone back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// The tool since; its version is this change's number.
    pub after: StoredTool,
}

/// Everything that is in force, at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shelf {
    /// Grows with every change; 0 before the first.
    pub generation: u64,
    /// Sorted by name.
    pub tools: Vec<StoredTool>,
    /// How often what is remembered of a tool was thrown away, by its name.
    pub refreshed: BTreeMap<String, u64>,
}

impl Shelf {
    pub fn tool(&self, name: &str) -> Option<&StoredTool> {
        self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok().map(|at| &self.tools[at])
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutTool {
    Made,
    /// Somebody else changed the tool meanwhile.
    Late,
    /// There are [`TOOLS_MAX`] tools.
    Full,
}

/// The tools of the store.
#[async_trait]
pub trait Registry: Send + Sync {
    async fn shelf(&self) -> Result<Shelf, StoreDown>;

    async fn stored_tool(&self, name: &str) -> Result<Option<StoredTool>, StoreDown>;

    /// The newest first, at most so many.
    async fn tool_changes(&self, name: &str, most: usize) -> Result<Vec<ToolChange>, StoreDown>;

    /// Compare-and-set: made if the tool's version is the one before the change's. Every process hears of it.
    async fn put_tool(&self, change: &ToolChange) -> Result<PutTool, StoreDown>;

    /// Lets every process throw away what it remembers of a tool.
    async fn refresh_tool(&self, name: &str) -> Result<(), StoreDown>;

    /// Waits until the generation is another one than `since`; dropping it is a normal way to end.
    async fn tools_changed(&self, since: u64) -> Result<u64, StoreDown>;
}
