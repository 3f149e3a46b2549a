//! What is remembered: sessions of a place with the turns in them, and what people asked to keep.

use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ulid::Ulid;

use crate::{
    digest::Digest,
    ids::{MemoryKey, NotAReference, TurnId},
    place::{Caller, Platform},
    seams::StoreDown,
};

/// Most items that a session keeps; what falls out before is in its summary.
pub const ITEMS_MAX: usize = 200;
/// Most sessions of one place; of more the one that was used longest ago is forgotten.
pub const SESSIONS_MAX: usize = 100;
/// How many changes of the current session a place remembers, so that a turn that waited long finds its own.
pub const SWITCHES_MAX: usize = 8;
/// Most exact calls that a session is allowed beforehand; of more the oldest is asked for again.
pub const ALLOWED_MAX: usize = 200;
/// Most facts that are kept of one person, and characters of one.
pub const FACTS_MAX: usize = 50;
pub const FACT_CHARS: usize = 300;

/// One session. People are shown it as its place in their list; the id is for operators.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Ulid);

impl SessionId {
    /// The id of the session that a turn began.
    pub fn begun_by(turn: TurnId) -> Self {
        Self(turn.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        text.trim().to_ascii_uppercase().parse().map(Self).map_err(|_| NotAReference)
    }
}

/// A person as a platform knows one: an id, never a display name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Person {
    pub platform: Platform,
    pub account: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    pub sender: String,
}

impl Person {
    pub fn of(caller: &Caller) -> Self {
        Self {
            platform: caller.platform,
            account: caller.account.clone(),
            space: caller.space.clone(),
            sender: caller.sender.id.clone(),
        }
    }

    /// Sixteen bytes for the person in all spaces of the account: what is kept of one has to be found when it is to be
    /// erased, wherever it was said.
    pub fn hash(&self) -> [u8; 16] {
        crate::digest::short(crate::ids::parts([self.platform.as_str(), &self.account, &self.sender]).as_bytes())
    }
}

/// Whose turn it is, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    pub place: MemoryKey,
    /// Owns the session, should the turn begin one.
    pub person: Person,
    pub tenant: String,
    pub turn: TurnId,
}

/// A stretch of conversation with a memory of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub place: MemoryKey,
    /// Who began it; may resume it.
    pub owner: Person,
    pub tenant: String,
    /// The first words that were asked in it; empty while nothing was.
    pub title: String,
    pub began_ms: u64,
    pub used_ms: u64,
    pub turns: u64,
    /// Of turns that are not told word by word any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The newest turn that the summary covers. After something was taken out, an id older than any turn and never the
    /// same: nothing is covered, and what was being noted before is not written any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarised_to: Option<TurnId>,
    /// Names of tools and toolsets that are used in it alone; nothing means all that policy shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<Vec<String>>,
    /// Exact calls that were allowed for all of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Digest>,
}

impl Session {
    /// A session in which nothing was said yet.
    pub fn new(visit: &Visit, id: SessionId, now_ms: u64) -> Self {
        Self {
            id,
            place: visit.place.clone(),
            owner: visit.person.clone(),
            tenant: visit.tenant.clone(),
            title: String::new(),
            began_ms: now_ms,
            used_ms: now_ms,
            turns: 0,
            summary: None,
            summarised_to: None,
            mounted: None,
            allowed: Vec::new(),
        }
    }
}

/// One change of a session that is there.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionChange {
    Mount(Option<Vec<String>>),
    /// This exact call is allowed from now on.
    Allow(Digest),
    /// Covers the turns up to `to`. Nothing changes unless the session is noted as far as when it was read and has not
    /// been erased since: of what was taken out in the meantime no summary may tell. Nor does one that covers less.
    Summary {
        text: String,
        to: TurnId,
    },
}

/// One turn as its session remembers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub turn: TurnId,
    /// The id of who asked, where several people share a session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sender: String,
    pub asked: String,
    /// What a model did before it answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ItemStep>,
    pub answered: String,
}

/// A model's step and what its calls gave, cut to what is worth keeping.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemStep {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    pub calls: Vec<ItemCall>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemCall {
    pub tool: String,
    pub args: Value,
    /// As the model was told it.
    pub result: String,
    #[serde(default)]
    pub failed: bool,
}

/// An item on its way into the session of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub visit: Visit,
    pub item: Item,
}

impl Remembered {
    /// What the session is called when this is its first turn.
    pub fn title(&self) -> String {
        const TITLE_CHARS: usize = 60;
        crate::text::one_line(&self.item.asked, TITLE_CHARS)
    }
}

/// Which sessions are asked for; newest use first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionQuery {
    pub place: Option<MemoryKey>,
    pub platform: Option<Platform>,
    pub owner: Option<Person>,
    /// 0 means 50.
    pub most: usize,
}

impl SessionQuery {
    pub fn fits(&self, session: &Session) -> bool {
        self.place.as_ref().is_none_or(|place| *place == session.place)
            && self.platform.is_none_or(|platform| platform == session.owner.platform)
            && self.owner.as_ref().is_none_or(|owner| *owner == session.owner)
    }
}

/// What is remembered of conversations. A place (see [`MemoryKey`]) has one current session and older ones.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// The session of a turn: the one that was current when it was accepted. Nothing when none is there yet.
    async fn current(&self, visit: &Visit) -> Result<Option<Session>, StoreDown>;
    /// [`Sessions::current`], made when there is none yet.
    async fn open(&self, visit: &Visit) -> Result<Session, StoreDown>;
    /// From this turn on a new session is current; the same for a turn that is run again.
    async fn begin(&self, visit: &Visit) -> Result<Session, StoreDown>;
    /// From this turn on that session is current. Nothing when it is not of this place or somebody else's.
    async fn resume(&self, visit: &Visit, id: SessionId) -> Result<Option<Session>, StoreDown>;
    async fn get(&self, id: SessionId) -> Result<Option<Session>, StoreDown>;
    async fn list(&self, query: &SessionQuery) -> Result<Vec<Session>, StoreDown>;
    /// False when it is gone.
    async fn change(&self, session: &Session, change: &SessionChange) -> Result<bool, StoreDown>;
    /// The newest `most` items behind that turn, oldest first.
    async fn items(&self, session: &Session, after: Option<TurnId>, most: usize) -> Result<Vec<Item>, StoreDown>;
    /// What `Change::Finish` does with its item.
    async fn remember(&self, what: &Remembered) -> Result<(), StoreDown>;
    /// Whether it was there.
    async fn erase(&self, session: &Session) -> Result<bool, StoreDown>;
    /// Forgets sessions that were silent for too long.
    async fn retain(&self, retention: &Retention) -> Result<u64, StoreDown>;
}

/// How long silent sessions are kept; those that nothing of it concerns are kept as long as the store keeps any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention(pub Vec<Retained>);

/// How long silent sessions of a platform, or of a tenant, are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retained {
    pub platform: Option<Platform>,
    pub tenant: Option<String>,
    pub keep: Duration,
}

impl Retained {
    pub fn concerns(&self, session: &Session) -> bool {
        self.platform.is_none_or(|platform| platform == session.owner.platform)
            && self.tenant.as_ref().is_none_or(|tenant| *tenant == session.tenant)
    }
}

/// Something that a person asked to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// By which it is forgotten; stays the same while others come and go.
    pub n: u32,
    pub text: String,
}

/// What became of a wish to keep something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// As this number; also when it had been kept already.
    As(u32),
    /// There are [`FACTS_MAX`] already.
    Full,
}

/// What an erasure took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// Sessions in which nobody else had said anything, whole.
    pub sessions: u64,
    /// Turns taken out of sessions that others share, whose summaries went too.
    pub items: u64,
    pub facts: u64,
    /// Records of answered turns, of which nothing but the key of the message is left.
    pub records: u64,
    /// Call trees with everything in them.
    pub trees: u64,
    /// Approvals that they asked for or answered, of which only what was decided is left.
    #[serde(default)]
    pub approvals: u64,
    /// Whole results that were kept for them.
    #[serde(default)]
    pub artefacts: u64,
    /// Schedules of theirs.
    #[serde(default)]
    pub schedules: u64,
    /// Turns that are under way and were left alone.
    pub open: u64,
}

/// What is kept of people.
#[async_trait]
pub trait People: Send + Sync {
    /// What the person asked to keep in this space, by number.
    async fn facts(&self, person: &Person) -> Result<Vec<Fact>, StoreDown>;
    async fn keep(&self, person: &Person, fact: &str) -> Result<Kept, StoreDown>;
    /// Whether there was such a fact.
    async fn drop_fact(&self, person: &Person, n: u32) -> Result<bool, StoreDown>;
    /// Erases what is stored of a person in all spaces of the account.
    async fn forget(&self, person: &Person) -> Result<Erased, StoreDown>;
}
