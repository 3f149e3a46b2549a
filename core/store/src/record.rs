//! A turn's record as both stores keep it: small named parts, so that a change writes only what it changes.
//!
//! `h` who, where and whence · `m` what was said · `p:<path of the step>` plans · `j:<path>` and `e:<path>` starts and ends of the
//! journal · `w` what is waited for · `y` the reply · `d:<n>` deliveries · `r:<n>` what they say, when it is their own.

use contract::{
    CallPath, Caller, FileRef, Kind, Message, Opaque, Quote, Reply, Sender, SessionKey, StoreDown, TurnId,
    records::{
        Approval, ApprovalState, Change, Decider, Delivery, DeliveryState, End, Entry, ModelStep, Parked, Person,
        Record, TurnState,
    },
};
use serde::{Deserialize, Serialize};

use crate::{
    pack::{Unreadable, pack, unpack},
    session::Put,
};

/// Parts that stay after the last delivery is settled.
pub const HEAD: &str = "h";
pub const SAID: &str = "m";
pub const REPLY: &str = "y";
pub const WAIT: &str = "w";
pub const DELIVERY: &str = "d:";

/// A named part of a record.
pub type Part = (String, Vec<u8>);

/// What a store does for a change; each may be done twice without harm.
#[derive(Debug)]
pub enum Op {
    Set(String, Vec<u8>),
    Del(String),
    /// Counted once per fence: a turn is taken up again at most once by each owner.
    Life,
    Cancel,
    Ask {
        id: String,
        until_ms: u64,
        /// Everything but its state.
        fixed: Vec<u8>,
    },
    /// Comes before all that writes, so that nothing is made when it is not allowed.
    Use(String),
    Park {
        until_ms: u64,
    },
    Unpark,
    Merge(TurnId),
    Finish,
    /// A delivery waits until then.
    Due(u64),
    Remember(Box<Put>),
    Done {
        keep_message: bool,
        keep_reply: bool,
    },
}

#[derive(Serialize, Deserialize)]
struct Head {
    session: SessionKey,
    /// Without what was said.
    message: Message,
    caller: Caller,
}

#[derive(Serialize, Deserialize)]
struct Said {
    kind: Kind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quote: Option<Quote>,
}

/// The parts of a record that is accepted.
pub struct Fresh {
    pub head: Vec<u8>,
    pub said: Vec<u8>,
}

impl Fresh {
    pub fn of(record: &Record) -> Result<Self, StoreDown> {
        let Message { kind, files, quote, .. } = record.message.clone();
        let message = Message {
            kind: Kind::Text { text: String::new() },
            files: Vec::new(),
            quote: None,
            ..record.message.clone()
        };
        let head = Head { session: record.session.clone(), message, caller: record.caller.clone() };
        Ok(Self { head: pack(&head)?, said: pack(&Said { kind, files, quote })? })
    }
}

/// The head of a turn of that person with nothing of them left in it; nothing for turns of others.
pub fn blanked(head: &[u8], person: &Person) -> Option<Vec<u8>> {
    let Head { session, mut message, mut caller } = crate::readable(unpack("head of a turn", head))?;
    if Person::of(&caller).hash() != person.hash() {
        return None;
    }
    let nobody = Sender { id: String::new(), name: String::new() };
    caller.sender = nobody.clone();
    caller.roles.clear();
    message.sender = nobody;
    message.roles.clear();
    message.quote = None;
    message.address.private = Opaque::default();
    pack(&Head { session, message, caller }).ok()
}

/// Whether a part holds something that was said.
pub fn is_body(name: &str) -> bool {
    name == SAID || name == REPLY || name == WAIT || name.contains(':')
}

/// What the changes mean, in the order in which they are made.
pub fn ops(changes: &[Change]) -> Result<Vec<Op>, StoreDown> {
    let mut ops = Vec::with_capacity(changes.len() + 2);
    for change in changes {
        put_ops(change, &mut ops)?;
    }
    ops.sort_by_key(|op| !matches!(op, Op::Use(_)));
    Ok(ops)
}

/// An approval without its state, which is kept beside it: it changes by comparison.
fn fixed_of(approval: &Approval) -> Result<Vec<u8>, StoreDown> {
    pack(&Approval { state: ApprovalState::default(), ..approval.clone() })
}

/// The details of a state beside its number; what is used has those of what is allowed.
pub fn state_bytes(state: &ApprovalState) -> Result<Vec<u8>, StoreDown> {
    match state.clone() {
        ApprovalState::Used { by, extent } => pack(&ApprovalState::Allowed { by, extent }),
        other => pack(&other),
    }
}

/// The details of an approval that nobody answered yet.
pub fn asked() -> Vec<u8> {
    state_bytes(&ApprovalState::default()).expect("a state without a word is packed")
}

pub fn approval_of(fixed: &[u8], number: u8, detail: &[u8]) -> Result<Approval, Unreadable> {
    let approval: Approval = unpack("approval", fixed)?;
    let state = match (unpack("state of an approval", detail)?, number) {
        (ApprovalState::Allowed { by, extent }, ApprovalState::USED) => ApprovalState::Used { by, extent },
        (state, _) => state,
    };
    Ok(Approval { state, ..approval })
}

/// An approval, as it is stored, without the words and names of a person who asked for it or answered it; nothing where
/// they did neither, or it cannot be read.
pub fn approval_without(fixed: &[u8], number: u8, detail: &[u8], person: &Person) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut approval = crate::readable(approval_of(fixed, number, detail))?;
    let asked = Person::of(&approval.caller).hash() == person.hash();
    if asked {
        approval.caller.sender = Sender { id: String::new(), name: String::new() };
        approval.caller.roles.clear();
        for text in [&mut approval.shown, &mut approval.whole, &mut approval.why] {
            text.clear();
        }
    }
    let is_theirs = |who: &&mut Decider| {
        (who.platform, &who.account, &who.id) == (person.platform, &person.account, &person.sender)
    };
    let mut answered = false;
    let by: &mut [Decider] = match &mut approval.state {
        ApprovalState::Asked { yes: by } | ApprovalState::Allowed { by, .. } | ApprovalState::Used { by, .. } => by,
        ApprovalState::Refused { by, .. } => std::slice::from_mut(by),
        ApprovalState::Expired { .. } | ApprovalState::Withdrawn { .. } => &mut [],
    };
    for who in by.iter_mut().filter(is_theirs) {
        (who.id, who.name) = (String::new(), String::new());
        answered = true;
    }
    if let ApprovalState::Refused { why, .. } = &mut approval.state
        && (asked || answered)
    {
        why.clear();
    }
    let packed = || Some((fixed_of(&approval).ok()?, state_bytes(&approval.state).ok()?));
    (asked || answered).then(packed).flatten()
}

fn put_ops(change: &Change, ops: &mut Vec<Op>) -> Result<(), StoreDown> {
    match change {
        Change::Life => ops.push(Op::Life),
        // Named by its step, so that writing it twice leaves one.
        Change::Planned(step) => ops.push(Op::Set(format!("p:{}", step.path()), pack(step)?)),
        Change::Started(entries) => {
            for entry in entries {
                ops.push(Op::Set(format!("j:{}", entry.path), pack(&Entry { end: None, ..entry.clone() })?));
                ops.push(match &entry.end {
                    Some(end) => Op::Set(format!("e:{}", entry.path), pack(end)?),
                    None => Op::Del(format!("e:{}", entry.path)),
                });
            }
        }
        Change::Ended { path, end } => ops.push(Op::Set(format!("e:{path}"), pack(end)?)),
        Change::Cancel => ops.push(Op::Cancel),
        Change::Ask(approvals) => {
            for approval in approvals {
                let (id, until_ms) = (approval.id.to_string(), approval.until_ms);
                ops.push(Op::Ask { id, until_ms, fixed: fixed_of(approval)? });
            }
        }
        Change::Use(id) => ops.push(Op::Use(id.to_string())),
        Change::Park(parked) => {
            ops.push(Op::Set(WAIT.into(), pack(&StoredWait::from(parked))?));
            ops.push(Op::Park { until_ms: parked.until_ms });
        }
        Change::Unpark => {
            ops.push(Op::Del(WAIT.into()));
            ops.push(Op::Unpark);
        }
        Change::Merge(into) => ops.push(Op::Merge(*into)),
        Change::Finish { reply, deliveries, item } => {
            ops.push(Op::Set(REPLY.into(), pack(reply)?));
            ops.push(Op::Finish);
            for delivery in deliveries {
                put_delivery(delivery, ops)?;
            }
            if let Some(item) = item {
                ops.push(Op::Remember(Box::new(Put::of(item)?)));
            }
        }
        Change::Delivery(delivery) => put_delivery(delivery, ops)?,
        Change::Done { keep_message, keep_reply } => {
            ops.push(Op::Done { keep_message: *keep_message, keep_reply: *keep_reply });
        }
    }
    Ok(())
}

fn put_delivery(delivery: &Delivery, ops: &mut Vec<Op>) -> Result<(), StoreDown> {
    let own = format!("r:{}", delivery.n);
    ops.push(match &delivery.reply {
        Some(reply) => Op::Set(own, pack(reply)?),
        None => Op::Del(own),
    });
    ops.push(Op::Set(format!("{DELIVERY}{}", delivery.n), pack(&Delivery { reply: None, ..delivery.clone() })?));
    if let DeliveryState::Ready { due_ms, .. } = delivery.state {
        ops.push(Op::Due(due_ms));
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct StoredWait {
    wait: String,
    until_ms: u64,
}

impl From<&Parked> for StoredWait {
    fn from(parked: &Parked) -> Self {
        Self { wait: parked.wait.clone(), until_ms: parked.until_ms }
    }
}

/// Where a turn stands, as a number that is stored.
pub fn state_number(state: TurnState) -> u8 {
    match state {
        TurnState::Queued => 0,
        TurnState::Running => 1,
        TurnState::Parked => 2,
        TurnState::Merged(_) => 3,
        TurnState::Answered => 4,
        TurnState::Done => 5,
    }
}

fn state_of(number: u8, merged: Option<TurnId>) -> Option<TurnState> {
    match (number, merged) {
        (0, _) => Some(TurnState::Queued),
        (1, _) => Some(TurnState::Running),
        (2, _) => Some(TurnState::Parked),
        (3, Some(into)) => Some(TurnState::Merged(into)),
        (4, _) => Some(TurnState::Answered),
        (5, _) => Some(TurnState::Done),
        _ => None,
    }
}

/// A record as it is read: its hot fields and its parts in any order.
pub struct Row {
    pub id: TurnId,
    pub state: u8,
    pub merged: Option<TurnId>,
    pub lives: u32,
    pub cancelled: bool,
    pub parts: Vec<Part>,
}

impl Row {
    pub fn into_record(self) -> Result<Record, Unreadable> {
        let bad = |why: &str| Unreadable { what: "turn", why: why.to_owned() };
        let state = state_of(self.state, self.merged).ok_or_else(|| bad("its state is not known"))?;
        let head = self.parts.iter().find(|(name, _)| name == HEAD).ok_or_else(|| bad("its head is missing"))?;
        let head: Head = unpack("head of a turn", &head.1)?;
        let mut record = Record::new(self.id, head.session, head.message, head.caller);
        record.state = state;
        record.lives = self.lives;
        record.cancelled = self.cancelled;
        let mut read = Read::default();
        for (name, bytes) in &self.parts {
            read.part(&mut record, name, bytes)?;
        }
        read.finish(&mut record);
        Ok(record)
    }
}

/// Parts that are put together when all are there.
#[derive(Default)]
struct Read {
    plans: Vec<ModelStep>,
    ends: Vec<(CallPath, End)>,
    replies: Vec<(u32, Reply)>,
}

impl Read {
    fn part(&mut self, record: &mut Record, name: &str, bytes: &[u8]) -> Result<(), Unreadable> {
        match name.split_once(':').unwrap_or((name, "")) {
            ("m", _) => {
                let said: Said = unpack("message", bytes)?;
                record.message.kind = said.kind;
                record.message.files = said.files;
                record.message.quote = said.quote;
            }
            ("p", _) => self.plans.push(unpack("plan", bytes)?),
            ("j", _) => record.journal.push(unpack("start of a call", bytes)?),
            ("e", path) => {
                let path = CallPath::try_from(path.to_owned())
                    .map_err(|error| Unreadable { what: "path of a call", why: error.to_string() })?;
                self.ends.push((path, unpack("end of a call", bytes)?));
            }
            ("y", _) => record.reply = Some(unpack("reply", bytes)?),
            ("d", _) => record.deliveries.push(unpack("delivery", bytes)?),
            ("r", n) => self.replies.push((number(n)?, unpack("reply of a delivery", bytes)?)),
            ("w", _) => {
                let StoredWait { wait, until_ms } = unpack("wait", bytes)?;
                record.parked = Some(Parked { wait, until_ms });
            }
            // The head is read already; other names are hot fields of a store's own.
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, record: &mut Record) {
        self.plans.sort_by_key(ModelStep::path);
        record.plan = self.plans;
        record.journal.sort_by(|a, b| a.path.cmp(&b.path));
        for (path, end) in self.ends {
            if let Some(entry) = record.journal.iter_mut().find(|entry| entry.path == path) {
                entry.end = Some(end);
            }
        }
        record.deliveries.sort_by_key(|delivery| delivery.n);
        for (n, reply) in self.replies {
            if let Some(delivery) = record.deliveries.iter_mut().find(|delivery| delivery.n == n) {
                delivery.reply = Some(reply);
            }
        }
    }
}

fn number(text: &str) -> Result<u32, Unreadable> {
    text.parse().map_err(|_| Unreadable { what: "turn", why: format!("a part is named '{text}'") })
}

/// The dedup key of a message, hashed: first the account's half, then the message's, so that an account's keys lie
/// together. Hashed since keys are of any length and hold any character.
pub fn dedup_key(record: &Record) -> [u8; 24] {
    let address = &record.message.address;
    let account = contract::Digest::of(format!("{}/{}", address.platform, address.account).as_bytes());
    let message = contract::Digest::of(record.message.key.as_bytes());
    let mut key = [0; 24];
    key[..8].copy_from_slice(&account.0[..8]);
    key[8..].copy_from_slice(&message.0);
    key
}

/// Bytes as hexadecimal digits, for names of keys.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
