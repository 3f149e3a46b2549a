//! What a store keeps and the traits that it fills. Both stores pass one suite.
//!
//! A turn's record is changed in one way only: [`Turns::change`], atomic and fenced. Trees are written behind and
//! decide nothing.

mod approvals;
mod artefacts;
mod audit;
mod journal;
mod measures;
mod schedules;
mod sessions;
mod tools;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::Call,
    digest::Digest,
    failure::Code,
    ids::{CallPath, SessionKey, TurnId},
    message::Message,
    node::{Node, Usage},
    place::{Address, Caller, Platform},
    reply::Reply,
    seams::{Cursors, Fence, Receipt, StoreDown},
};

pub use approvals::*;
pub use artefacts::*;
pub use audit::*;
pub use journal::*;
pub use measures::*;
pub use schedules::*;
pub use sessions::*;
pub use tools::*;

/// Most turns that wait or run in one lane; the next message is answered "busy".
pub const LANE_MAX: usize = 32;

/// A turn's durable record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: TurnId,
    pub session: SessionKey,
    pub message: Message,
    pub caller: Caller,
    pub state: TurnState,
    /// How often the turn was taken up again after a restart.
    #[serde(default)]
    pub lives: u32,
    /// Somebody asked to stop it.
    #[serde(default)]
    pub cancelled: bool,
    /// Calls planned by a model, by step; a turn that is taken up again goes on with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<ModelStep>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<Delivery>,
    /// What a parked turn waits for, and until when (milliseconds since 1970).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
}

impl Record {
    pub fn new(id: TurnId, session: SessionKey, message: Message, caller: Caller) -> Self {
        Self {
            id,
            session,
            message,
            caller,
            state: TurnState::Queued,
            lives: 0,
            cancelled: false,
            plan: Vec::new(),
            journal: Vec::new(),
            reply: None,
            deliveries: Vec::new(),
            parked: None,
        }
    }

    /// The journal's entry of a call.
    pub fn entry(&self, path: &CallPath) -> Option<&Entry> {
        self.journal.iter().find(|e| &e.path == path)
    }

    /// Applies a change; stores that keep records whole use this, so that all stores mean the same by it.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Life => {
                self.lives += 1;
                self.state = TurnState::Running;
            }
            Change::Planned(step) => self.plan.push(step.clone()),
            Change::Started(entries) => {
                for entry in entries {
                    match self.journal.iter_mut().find(|e| e.path == entry.path) {
                        Some(old) => *old = entry.clone(),
                        None => self.journal.push(entry.clone()),
                    }
                }
            }
            Change::Ended { path, end } => {
                if let Some(entry) = self.journal.iter_mut().find(|e| &e.path == path) {
                    entry.end = Some(end.clone());
                }
            }
            Change::Cancel => self.cancelled = true,
            // Kept beside the record.
            Change::Ask(_) | Change::Use(_) => {}
            Change::Park(parked) => {
                self.parked = Some(parked.clone());
                self.state = TurnState::Parked;
            }
            Change::Unpark => {
                self.parked = None;
                self.state = TurnState::Queued;
            }
            Change::Merge(into) => self.state = TurnState::Merged(*into),
            Change::Finish { reply, deliveries, item: _ } => {
                self.reply = Some(reply.clone());
                for delivery in deliveries {
                    self.put_delivery(delivery);
                }
                self.state = TurnState::Answered;
            }
            Change::Delivery(delivery) => self.put_delivery(delivery),
            Change::Done { keep_message, keep_reply } => {
                self.state = TurnState::Done;
                self.plan.clear();
                self.journal.clear();
                if !keep_message {
                    self.message.kind = crate::message::Kind::Text { text: String::new() };
                    self.message.files.clear();
                    self.message.quote = None;
                }
                if !keep_reply {
                    self.reply = None;
                }
                for delivery in &mut self.deliveries {
                    delivery.reply = None;
                }
            }
        }
    }

    fn put_delivery(&mut self, delivery: &Delivery) {
        match self.deliveries.iter_mut().find(|d| d.n == delivery.n) {
            Some(old) => *old = delivery.clone(),
            None => self.deliveries.push(delivery.clone()),
        }
    }
}

/// What a model said in a step of a turn; durable before its calls start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelStep {
    /// Its words beside the calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// In order; arguments that cannot be read stand as the text that came.
    pub calls: Vec<Call>,
    /// What the model's provider wants back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Value>,
    /// The model that said it, and what that took.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
}

impl ModelStep {
    /// The step's own place: `2` for the turn's second step, `2.1.1` for the first of a call that has steps of its own.
    pub fn path(&self) -> CallPath {
        let parts = self.calls.first().map_or(&[][..], |call| call.path.parts());
        let above = parts.split_last().map_or(&[][..], |(_, above)| above);
        let (first, rest) = above.split_first().unwrap_or((&0, &[]));
        rest.iter().fold(CallPath::step(*first), |path, part| path.child(*part))
    }
}

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    Queued,
    Running,
    Parked,
    Merged(TurnId),
    Answered,
    Done,
}

/// What a parked turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// `approval`, `job`, `form`, with its id.
    pub wait: String,
    pub until_ms: u64,
}

/// A message on its way to a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Unique within the turn; 0 is the turn's own reply.
    pub n: u32,
    pub to: Address,
    /// Its own content; nothing for the turn's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    pub state: DeliveryState,
    /// Digests of the parts as they were rendered when the first was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// The progress message that the final reply replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Receipt>,
    /// Parts go out with the mark that they may have arrived already.
    #[serde(default)]
    pub marked: bool,
}

/// Where a delivery stands; parts before `part` have receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// A progress message is (perhaps) shown; the final comes later.
    Drafting,
    Ready {
        part: u32,
        due_ms: u64,
    },
    /// The request for `part` may be under way.
    Sending {
        part: u32,
    },
    Done,
    Failed(Code),
}

impl DeliveryState {
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Done | Self::Failed(_))
    }
}

/// One change of a turn's record.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Taken up again after a restart: lives + 1.
    Life,
    /// A model's step, before its calls start.
    Planned(ModelStep),
    /// Once calls are about to start.
    Started(Vec<Entry>),
    Ended {
        path: CallPath,
        end: End,
    },
    Cancel,
    /// Calls wait for people; an approval that is there already is left as it is.
    Ask(Vec<Approval>),
    /// A call starts by its approval, which has to be allowed (or used by the same call before a restart): otherwise no
    /// change is made, and [`ChangeError::NotAllowed`] says so.
    Use(ApprovalId),
    Park(Parked),
    /// Back to the front of its lane.
    Unpark,
    Merge(TurnId),
    /// The reply is known: out of the lane, deliveries wait, the session remembers.
    Finish {
        reply: Reply,
        deliveries: Vec<Delivery>,
        item: Option<Box<Remembered>>,
    },
    Delivery(Delivery),
    /// Every delivery is settled: bodies are dropped, id and receipts stay for a day. The message stays as long
    /// when the reply offers to try again, the reply where it is fetched (pull addresses).
    Done {
        keep_message: bool,
        keep_reply: bool,
    },
}

/// What became of an acceptance.
#[derive(Debug, Clone, PartialEq)]
pub enum Admitted {
    /// Stored, with the number of turns before it in its lane.
    New { ahead: usize },
    /// The same key was accepted before, as this turn.
    Known { id: TurnId },
    /// The lane is full; the key is stored with the turn, answered by `busy` (state `done`, no delivery).
    Full,
}

/// Why a change was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// The lease was lost: another process owns the turn. Start nothing more.
    #[error("the turn belongs to another process now")]
    Lost,
    /// The approval that a call was to start by is not allowed any more.
    #[error("the approval is not allowed any more")]
    NotAllowed,
    #[error(transparent)]
    Down(#[from] StoreDown),
}

/// A partition of the working state that this process owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owned {
    pub partition: u8,
    pub fence: Fence,
}

/// The turns: inbox, journal and outbox in one record each.
#[async_trait]
pub trait Turns: Send + Sync {
    /// One atomic write: if the key is new, key → id, record, id appended to the lane.
    /// Dedup keys are `platform/account/message key`.
    async fn accept(&self, record: &Record) -> Result<Admitted, StoreDown>;

    /// Takes every partition that is free or was ours, or renews what we hold. Returns all that we hold now.
    async fn hold(&self) -> Result<Vec<Owned>, StoreDown>;

    /// Gives up what we hold, so that another takes over at once.
    async fn let_go(&self) -> Result<(), StoreDown>;

    /// Unfinished turns of the partition (not done), each lane in its order.
    async fn unfinished(&self, partition: u8) -> Result<Vec<Record>, StoreDown>;

    /// The only way to change a record: all changes or none, refused when the fence is old.
    async fn change(
        &self,
        fence: Fence,
        turn: TurnId,
        session: &SessionKey,
        changes: &[Change],
    ) -> Result<(), ChangeError>;

    /// Marks a turn as cancelled from wherever the wish arrives (no fence). False when it is answered already or unknown.
    async fn cancel(&self, turn: TurnId) -> Result<bool, StoreDown>;

    async fn get(&self, turn: TurnId) -> Result<Option<Record>, StoreDown>;

    /// Forgets done turns, keys and trees past their time; called now and then by the owner.
    async fn sweep(&self) -> Result<(), StoreDown>;

    /// Ends what the store runs once everything written is kept, and gives up what we hold. Later use is refused.
    async fn close(&self) {}
}

/// What is asked of the index of turns.
#[derive(Debug, Clone, Default)]
pub struct TurnQuery {
    pub session: Option<SessionKey>,
    /// Only turns of schedules.
    pub scheduled: bool,
    pub tool: Option<String>,
    pub failed: bool,
    /// Milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// At most this many, newest first; 0 means 50.
    pub most: usize,
}

/// A line of the index of turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnLine {
    pub turn: TurnId,
    pub state: crate::call::State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    pub platform: Platform,
    pub tenant: String,
    pub session: SessionKey,
    pub sender: String,
    pub asked: String,
    pub calls: u32,
    pub started_us: u64,
    pub duration_us: u64,
}

/// The call trees and what is counted of them. Writes are idempotent: a batch may come twice.
#[async_trait]
pub trait Trees: Send + Sync {
    /// Nodes by turn and call (a later record replaces an earlier), and lines of ended turns.
    async fn write(&self, nodes: &[Arc<Node>], ended: &[TurnLine]) -> Result<(), StoreDown>;
    /// A turn's nodes in any order; empty when it is not known.
    async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown>;
    async fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown>;
    /// Absolute values of this process life.
    async fn measure(&self, boot: &str, measures: &[Measure]) -> Result<(), StoreDown>;
    /// What was counted since a time, of all lives, in any order.
    async fn measures(&self, since_ms: u64) -> Result<Vec<Measure>, StoreDown>;

    /// Per tool since a time, adding the lives.
    async fn stats(&self, since_ms: u64) -> Result<Vec<ToolStats>, StoreDown> {
        Ok(ToolStats::all(&self.measures(since_ms).await?, StatsBy::Tool))
    }
}

/// Everything that a store is.
#[derive(Clone)]
pub struct Stores {
    pub turns: Arc<dyn Turns>,
    pub sessions: Arc<dyn Sessions>,
    pub people: Arc<dyn People>,
    pub trees: Arc<dyn Trees>,
    pub cursors: Arc<dyn Cursors>,
    pub approvals: Arc<dyn Approvals>,
    pub schedules: Arc<dyn Schedules>,
    pub registry: Arc<dyn Registry>,
    pub artefacts: Arc<dyn Artefacts>,
    pub audit: Arc<dyn Audit>,
}

impl Stores {
    /// At the very end of the process: see [`Turns::close`].
    pub async fn close(&self) {
        self.turns.close().await;
    }
}

/// How long a lease lasts and how often it is renewed.
pub const LEASE: Duration = Duration::from_secs(10);
pub const RENEW: Duration = Duration::from_secs(3);
