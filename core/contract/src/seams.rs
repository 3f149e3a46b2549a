//! What an adapter is given ([`Core`]) and what it fills ([`Outlet`], [`Source`]).

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    digest::Digest,
    failure::Problem,
    ids::{DeliveryKey, TurnId},
    message::{FileRef, Message},
    node::Node,
    place::{Address, Caller, Opaque},
    reply::{Audience, Button, Reply},
};

/// The store cannot be reached; nothing new is accepted until it can.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store does not answer: {0}")]
pub struct StoreDown(pub String);

/// Why an adapter ended although nobody asked it to: what a person must do.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{why}")]
pub struct Stopped {
    pub why: String,
    /// Steps for an operator.
    pub steps: Vec<String>,
}

/// Something that a platform's set-up lacks, and how it is mended there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What cannot be done without it, and what it is.
    pub what: String,
    /// The exact step for an operator.
    pub step: String,
    /// Nothing works without it; otherwise a part does not.
    pub fatal: bool,
}

/// What an adapter is given.
#[derive(Clone)]
pub struct Core {
    pub inbox: Arc<dyn Inbox>,
    pub catalog: Arc<dyn Catalog>,
    pub feed: Arc<dyn Feed>,
    pub cursors: Arc<dyn Cursors>,
    pub health: Health,
}

/// Takes messages in.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Gate, plan a command in memory, store. `Ok` means durable (or already known): the adapter may acknowledge.
    /// Called in order per connection.
    async fn accept(&self, message: Message) -> Result<Accepted, StoreDown>;
}

/// What became of a message.
#[derive(Debug, Clone)]
pub enum Accepted {
    /// It has a turn; `known` when the same event came before. `show` tells whether a deferral is private.
    Turn {
        id: TurnId,
        known: bool,
        show: Audience,
    },
    /// It was a signal (stop, a button's answer); the notice is for the sender alone. Without words nothing is to be said.
    Signal(String),
    NotForUs,
}

/// What an adapter may ask while a platform waits: from the snapshot, in memory; only `hears` and `complete` may do I/O
/// (300 ms).
#[async_trait]
pub trait Catalog: Send + Sync {
    /// Whether the gate would hear this person here: to nobody else is anything offered, be it a form or a choice.
    async fn hears(&self, who: &Caller, at: &Address) -> bool;
    fn menu(&self, who: &Caller) -> Arc<Menu>;
    fn check(&self, who: &Caller, command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>>;
    async fn complete(&self, who: &Caller, command: &str, field: &str, typed: &str) -> Vec<Choice>;
    /// Returns when the generation is past `since`.
    async fn changed(&self, since: u64) -> u64;
    /// The caller that an address without a person stands for: tenant found, no roles.
    fn anyone(&self, address: &Address) -> Caller;
}

/// The commands that a caller may use.
#[derive(Debug, Clone, Default)]
pub struct Menu {
    /// Built-ins, then tools by name: where a platform takes fewer, the first ones count.
    pub items: Vec<MenuItem>,
    /// The same for the same commands, over restarts.
    pub digest: Option<Digest>,
}

/// A command: a tool of the caller's view, or a built-in.
#[derive(Debug, Clone, Default)]
pub struct MenuItem {
    pub name: String,
    pub description: String,
    /// The tool's toolset, for platforms that group commands; empty for a built-in.
    pub toolset: Arc<str>,
    /// JSON Schema of its arguments.
    pub parameters: Arc<Value>,
}

/// A value to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub value: String,
}

/// Proof of a lease: writes under an older one are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fence(pub u64);

/// Durable memory of adapters: offsets, hashes of registered commands; leases for pollers.
#[async_trait]
pub trait Cursors: Send + Sync {
    async fn load(&self, what: &str) -> Result<Option<Vec<u8>>, StoreDown>;
    async fn save(&self, what: &str, value: &[u8]) -> Result<(), StoreDown>;
    /// Takes or renews the lease; nothing when another process holds it.
    async fn lease(&self, what: &str, ttl: Duration) -> Result<Option<Fence>, StoreDown>;
    /// Gives the lease back, if it is ours.
    async fn release(&self, what: &str) -> Result<(), StoreDown>;
}

/// Delivers one request at a time and never sleeps; order, pace, retries, drafts and doubt are the delivery's.
#[async_trait]
pub trait Outlet: Send + Sync {
    /// Pure; each part within the platform's limits and valid alone, each with its plain form.
    fn render(&self, reply: &Reply, to: &Address) -> Vec<Part>;
    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Result<Receipt, DeliveryError>;
    /// Best effort; errors are the adapter's to log.
    async fn indicate(&self, to: &Address, indicator: Indicator);
    /// Least time between two edits in one conversation.
    fn edit_pace(&self, _to: &Address) -> Duration {
        Duration::from_secs(1)
    }
    /// How many messages a conversation and the account take.
    fn pace(&self, _to: &Address) -> Pace {
        Pace::default()
    }
    /// How long an indicator lasts before it must be renewed.
    fn typing_lasts(&self) -> Duration {
        Duration::from_secs(4)
    }
    /// Whether a reply to the sender alone ([`Audience::Sender`]) can be shown at this address to nobody else. Pure.
    fn can_be_private(&self, to: &Address) -> bool {
        to.direct
    }
    /// Whether a file that a message brought can be sent again by its handle alone; otherwise its bytes are fetched first
    /// and it comes to [`Outlet::render`] as an attachment. Pure.
    fn sends_by_handle(&self, _file: &FileRef) -> bool {
        false
    }
    /// What people type before a command's name so that it reaches us. Pure.
    fn command_prefix(&self) -> &str {
        "/"
    }
    /// The direct conversation with a person; nothing where we cannot write to people by themselves. Pure.
    fn to_person(&self, _account: &str, _person: &str) -> Option<Address> {
        None
    }
    /// Where a conversation continues when its address is gone (a direct message, the chat without its thread).
    fn fallback(&self, _to: &Address) -> Option<Address> {
        None
    }
}

/// Bounds on sending; a bucket of `burst` messages that refills one message per `every`. Nothing means no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    pub conversation: Option<Bucket>,
    pub account: Option<Bucket>,
}

/// A bucket of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub burst: u32,
    pub every: Duration,
}

/// One message as the platform will show it. A part with an empty `body` goes out as `plain`, without markup: so
/// delivery resends a part whose markup was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The adapter's own body: markup it has escaped, or whatever its `send` reads.
    pub body: String,
    /// The same content without markup, for a platform that refuses the markup.
    pub plain: String,
    pub buttons: Vec<Button>,
    pub files: Vec<PartFile>,
    pub audience: Audience,
}

impl Part {
    /// Tells whether another rendering of the part is the same.
    pub fn digest(&self) -> Digest {
        let mut text = format!("{}\u{0}", self.body);
        for button in &self.buttons {
            text.push_str(&format!("{}\u{0}{}\u{0}", button.label, button.action));
        }
        for file in &self.files {
            text.push_str(&format!("{}\u{0}", file.name));
        }
        Digest::of(text.as_bytes())
    }
}

/// A file that goes with a part.
#[derive(Debug, Clone, PartialEq)]
pub struct PartFile {
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

/// What is to be done with a part.
#[derive(Debug)]
pub enum Op<'a> {
    Post(&'a Part),
    Replace(&'a Receipt, &'a Part),
    /// What runs, or the newest text of an answer in the making; posts when there is no receipt. An answer's text comes
    /// as it was written as well (Markdown): a platform with a form of its own for what grows may use that one.
    Draft(Option<&'a Receipt>, &'a Part, Option<&'a str>),
    Remove(&'a Receipt),
    /// Was this key posted? `Refused(Gone)`: looked for, and it is not there, so that posting it is no repeat;
    /// `Refused(Unsupported)` where it cannot be looked up.
    Find,
}

/// What the platform said of a message that it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The platform's message id.
    pub message: String,
    #[serde(default, skip_serializing_if = "Opaque::is_empty")]
    pub private: Opaque,
}

/// In the private part of the receipt of what leaves no message.
const FLEETING: &str = "fleeting";

impl Receipt {
    /// Of a draft that the platform shows for a while and drops by itself: there is no message to change or to replace.
    pub fn fleeting() -> Self {
        Self { message: String::new(), private: Opaque::new(FLEETING).unwrap_or_default() }
    }

    /// Whether no message stands behind it.
    pub fn is_fleeting(&self) -> bool {
        self.message.is_empty() && self.private.reveal() == FLEETING
    }
}

/// Why a request was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DeliveryError {
    #[error("the platform asks to wait")]
    Wait { scope: Scope, until: SystemTime },
    /// Nothing reached the platform; safe to repeat.
    #[error("not sent: {0}")]
    NotSent(String),
    /// It may have been carried out.
    #[error("not known whether it was sent: {0}")]
    Unsure(String),
    #[error("refused: {0}")]
    Refused(Why),
}

/// What a wait covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Conversation,
    Account,
}

/// Why a platform refused a message for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    Markup,
    Gone,
    Forbidden,
    TooOld,
    Unsupported,
    /// The chat lives on under another id (an upgraded group).
    Moved(String),
    /// Anything else, in the platform's words (no secret in it).
    Other(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Markup => f.write_str("markup"),
            Self::Gone => f.write_str("gone"),
            Self::Forbidden => f.write_str("forbidden"),
            Self::TooOld => f.write_str("too old"),
            Self::Unsupported => f.write_str("unsupported"),
            Self::Moved(to) => write!(f, "moved to {to}"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

/// A sign of life while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indicator {
    Typing,
    /// Taken, and waiting behind others: shown on the message itself (a reaction) where the platform can.
    Waiting,
    /// Nothing of the two any more.
    Clear,
}

/// A stream of a file's bytes.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send>>;

/// What the core asks back of an adapter.
#[async_trait]
pub trait Source: Send + Sync {
    async fn open(&self, file: &FileRef) -> Result<ByteStream, DeliveryError>;
    /// The person's present roles in the conversation and its thread; none for who is not there.
    async fn roles(&self, who: &Caller) -> Result<Vec<String>, DeliveryError>;
    /// The same, and none for who may not write there. Where a platform does not say who may, nobody does.
    async fn roles_to_write(&self, _who: &Caller) -> Result<Vec<String>, DeliveryError> {
        Ok(Vec::new())
    }
}

/// What happens in a turn: first from the store, then live.
pub type TurnStream = Pin<Box<dyn Stream<Item = TurnEvent> + Send>>;

/// Lets somebody watch a turn.
#[async_trait]
pub trait Feed: Send + Sync {
    async fn watch(&self, turn: TurnId) -> TurnStream;
}

/// One thing that happened in a turn.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    Node(Arc<Node>),
    /// The newest text of an answer in the making.
    Draft(Arc<str>),
    /// The reply is stored; the stream ends.
    End(Arc<Reply>),
}

/// What operators see of an adapter's state: one line per part, readable at any time.
#[derive(Clone, Default)]
pub struct Health(Arc<Mutex<Vec<(String, Condition)>>>);

/// How a part fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    Ready,
    /// Works on it; the sentence says what is wrong.
    Degraded(String),
    /// Needs a person.
    Stopped(String),
}

impl Health {
    pub fn set(&self, part: &str, condition: Condition) {
        let mut parts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match parts.iter_mut().find(|(name, _)| name == part) {
            Some((_, old)) => *old = condition,
            None => parts.push((part.to_owned(), condition)),
        }
    }

    /// Nothing more is to be said of a part that comes and goes.
    pub fn clear(&self, part: &str) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).retain(|(name, _)| name != part);
    }

    pub fn all(&self) -> Vec<(String, Condition)> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}
