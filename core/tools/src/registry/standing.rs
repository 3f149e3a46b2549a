//! Whose a tool is and whether it is offered: what its spec says, and what the store says of it. Pure.

use contract::{
    Digest,
    records::{Mark, Shelf, StoredTool},
};

use crate::spec::{Publish, Spec};

/// Where a tool stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    pub state: Stage,
    /// The store owns it; otherwise a file, or the binary.
    pub is_stored: bool,
    /// The number of its last change in the store; 0 where there is none.
    pub version: u64,
    /// A version that was added and is not offered yet.
    pub waiting: Option<Digest>,
    /// What the store says of its end of life.
    pub deprecated: Option<Mark>,
    /// Who switched it off.
    pub off: Option<Mark>,
    /// How often what is remembered of it was thrown away.
    pub refreshed: u64,
}

/// How far a tool has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// It waits to be published.
    Added,
    #[default]
    Published,
    /// Still callable.
    Deprecated,
    /// Another's tool that an operator switched off.
    Off,
}

impl Stage {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Published => "published",
            Self::Deprecated => "deprecated",
            Self::Off => "switched off",
        }
    }

    pub const fn is_offered(self) -> bool {
        matches!(self, Self::Published | Self::Deprecated)
    }
}

impl Standing {
    pub(super) fn of(spec: &Spec, shelf: &Shelf) -> Self {
        let is_stored = spec.source().0 == label(&spec.name);
        let refreshed = shelf.refreshed.get(&*spec.name).copied().unwrap_or_default();
        let nothing = StoredTool::default();
        let stored = shelf.tool(&spec.name).unwrap_or(&nothing);
        let is_released = match (is_stored, spec.publish) {
            (true, _) => stored.live.is_some(),
            (false, Publish::Auto) => true,
            (false, Publish::Manual) => stored.released == Some(spec.digest()),
        };
        let is_ending = stored.deprecated.is_some() || spec.deprecated.is_some();
        let state = match (stored.off.is_some(), is_released, is_ending) {
            (true, ..) => Stage::Off,
            (_, false, _) => Stage::Added,
            (_, _, true) => Stage::Deprecated,
            (_, _, false) => Stage::Published,
        };
        Self {
            state,
            is_stored,
            version: stored.version,
            waiting: stored.waiting.as_ref().map(|waiting| waiting.digest),
            deprecated: stored.deprecated.clone(),
            off: stored.off.clone(),
            refreshed,
        }
    }
}

/// What messages call a tool's text in the store, in the place of a file.
pub fn label(name: &str) -> String {
    format!("store:{name}")
}

/// Whether the store has a version of the tool that is offered.
pub(super) fn is_live(shelf: &Shelf, name: &str) -> bool {
    shelf.tool(name).is_some_and(|tool| tool.live.is_some())
}

/// The text of a stored tool that is to be read: what is offered, else what waits.
pub(super) fn text_of(tool: &StoredTool) -> Option<&str> {
    tool.live.as_ref().or(tool.waiting.as_ref()).map(|spec| spec.text.as_str())
}
