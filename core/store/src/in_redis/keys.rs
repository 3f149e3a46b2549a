//! Names of keys. Only braces of ours are in them, since a brace decides the slot of a cluster.

use contract::{
    TurnId,
    records::{ApprovalId, SessionId},
};

use crate::{OpenError, record::hex};

pub const HOUR_MS: u64 = 60 * 60 * 1000;
pub const DAY_MS: u64 = 24 * HOUR_MS;
/// Streams of ended turns per hour.
pub const SHARDS: u64 = 8;

/// Makes names that begin with the prefix.
pub struct Keys(String);

impl Keys {
    pub fn new(prefix: &str) -> Result<Self, OpenError> {
        match prefix.is_empty() || prefix.contains(['{', '}']) {
            true => Err(OpenError::Url(format!("the prefix '{prefix}' is empty or has braces"))),
            false => Ok(Self(prefix.to_owned())),
        }
    }

    pub fn made(&self) -> String {
        format!("{}:made", self.0)
    }

    // Working state: everything of a partition is on one slot.

    pub fn turn(&self, partition: u8, turn: TurnId) -> String {
        format!("{}:{{p{partition}}}:turn:{turn}", self.0)
    }

    /// What the keys of a partition's dedup keys begin with.
    pub fn seen(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:seen:", self.0)
    }

    /// The dedup keys of one account, oldest first; `account` is the first half of a dedup key.
    pub fn account(&self, partition: u8, account: &[u8]) -> String {
        format!("{}:{{p{partition}}}:keys:{}", self.0, hex(account))
    }

    pub fn lane(&self, partition: u8, lane: &str) -> String {
        format!("{}:{{p{partition}}}:lane:{lane}", self.0)
    }

    pub fn lanes(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:lanes", self.0)
    }

    pub fn due(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:due", self.0)
    }

    pub fn approval(&self, partition: u8, id: ApprovalId) -> String {
        format!("{}{id}", self.approvals(partition))
    }

    /// What the keys of a partition's approvals begin with.
    pub fn approvals(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:approval:", self.0)
    }

    /// Those that nobody answered yet, by when they expire.
    pub fn asked(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:asked", self.0)
    }

    pub fn partition_lease(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:lease", self.0)
    }

    /// What all keys of a partition begin with.
    pub fn base(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:", self.0)
    }

    /// Which session of a place is current from which turn on, newest first.
    pub fn place(&self, partition: u8, place: &[u8; 16]) -> String {
        format!("{}:{{p{partition}}}:place:{}", self.0, hex(place))
    }

    /// The sessions of a place, by when they were used last.
    pub fn placed(&self, partition: u8, place: &[u8; 16]) -> String {
        format!("{}:{{p{partition}}}:placed:{}", self.0, hex(place))
    }

    /// All sessions of a partition, by when they were used last.
    pub fn sessions(&self, partition: u8) -> String {
        format!("{}:{{p{partition}}}:sessions", self.0)
    }

    pub fn session(&self, partition: u8, id: SessionId) -> String {
        format!("{}:{{p{partition}}}:session:{id}", self.0)
    }

    pub fn items(&self, partition: u8, id: SessionId) -> String {
        format!("{}:{{p{partition}}}:items:{id}", self.0)
    }

    /// The exact calls that are allowed for all of a session.
    pub fn allowed(&self, partition: u8, id: SessionId) -> String {
        format!("{}:{{p{partition}}}:allowed:{id}", self.0)
    }

    /// What a person asked to keep.
    pub fn facts(&self, person: &[u8; 16]) -> String {
        format!("{}:person:{{{}}}:facts", self.0, hex(person))
    }

    /// A pattern that the keys of all turns' records fit.
    pub fn records(&self) -> String {
        format!("{}:{{p*}}:turn:*", self.0)
    }

    /// A pattern that the keys of all approvals fit.
    pub fn all_approvals(&self) -> String {
        format!("{}:{{p*}}:approval:*", self.0)
    }

    /// A pattern that the keys of all trees fit.
    pub fn trees(&self) -> String {
        format!("{}:tree:{{*", self.0)
    }

    /// What the keys of an artefact begin with, and the key that says how many chunks it has.
    pub fn artefact(&self, place: &str, id: &str) -> String {
        format!("{}:artefact:{{{place}}}:{id}", self.0)
    }

    /// The index of all artefacts, and how many bytes they are.
    pub fn artefacts(&self) -> [String; 2] {
        [format!("{}:{{artefacts}}:index", self.0), format!("{}:{{artefacts}}:bytes", self.0)]
    }

    /// A stream of the audit trail.
    pub fn audit(&self, shard: u64) -> String {
        format!("{}:audit:{shard}", self.0)
    }

    /// Added tools, their versions, how often each was refreshed, and the generation of all.
    pub fn tools(&self) -> [String; 4] {
        ["tools", "versions", "refreshed", "generation"].map(|what| format!("{}:{{registry}}:{what}", self.0))
    }

    pub fn tool_changes(&self, name: &str) -> String {
        format!("{}:{{registry}}:changes:{name}", self.0)
    }

    /// The channel on which a change of tools is told.
    pub fn tools_told(&self) -> String {
        format!("{}:registry", self.0)
    }

    /// All of schedules is on one slot.
    pub fn schedules(&self, what: &str) -> String {
        format!("{}:{{schedules}}:{what}", self.0)
    }

    pub fn cursor(&self, what: &str) -> String {
        format!("{}:cursor:{what}", self.0)
    }

    pub fn lease(&self, what: &str) -> String {
        format!("{}:lease:{what}", self.0)
    }

    // Call trees and their indexes.

    pub fn tree(&self, turn: TurnId) -> String {
        format!("{}:tree:{{{turn}}}", self.0)
    }

    pub fn turns(&self, hour: u64, shard: u64) -> String {
        format!("{}:ix:turn:{hour}:{shard}", self.0)
    }

    pub fn turns_of(&self, session: &[u8; 16]) -> String {
        format!("{}:ix:session:{}", self.0, hex(session))
    }

    pub fn calls(&self, tool: &str, day: u64) -> String {
        format!("{}:ix:tool:{tool}:{day}", self.0)
    }

    pub fn failed(&self, day: u64) -> String {
        format!("{}:ix:failed:{day}", self.0)
    }

    pub fn measure(&self, tool: &str, minute: u64) -> String {
        format!("{}:m:{tool}:{minute}", self.0)
    }

    /// Which minutes of which tools have measures.
    pub fn measured(&self, hour: u64) -> String {
        format!("{}:ix:m:{hour}", self.0)
    }
}

/// The day that an index of the turn is kept under: of its id, so that a repeat finds the same.
pub fn day(turn: TurnId) -> u64 {
    turn.at_ms() / DAY_MS
}

pub fn hour(turn: TurnId) -> u64 {
    turn.at_ms() / HOUR_MS
}

pub fn shard(turn: TurnId) -> u64 {
    u64::from(turn.0.to_bytes()[15]) % SHARDS
}
