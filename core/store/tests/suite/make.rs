//! Records for cases, with what does not matter left at its least.

use std::sync::Arc;

use contract::{
    Address, Call, CallId, CallPath, Caller, Code, Digest, Fence, FileRef, Heard, Kind, MemoryKey, Message, Node,
    NodeKind, Opaque, Origin, Platform, Quote, Receipt, Reply, Sender, SessionKey, State, TurnId,
    records::{Change, Delivery, DeliveryState, Entry, Item, Person, Record, Remembered, Stores, TurnLine, Visit},
};
use serde_json::Value;

pub fn address(chat: &str) -> Address {
    Address { private: Opaque::new("token").unwrap(), ..Address::new(Platform::Telegram, "main", chat) }
}

/// A message in `chat` with the key `key`.
pub fn record(chat: &str, key: &str) -> Record {
    let address = address(chat);
    let sender = Sender { id: "7".into(), name: "A \u{0} name".into() };
    let message = Message {
        key: key.into(),
        address: address.clone(),
        sender: sender.clone(),
        roles: vec!["ops".into()],
        kind: Kind::Text { text: format!("/say {key}") },
        heard: Heard::Direct,
        files: vec![FileRef {
            name: "a.txt".into(),
            media_type: None,
            size: Some(u64::MAX),
            handle: Opaque::default(),
        }],
        quote: Some(Quote { message: None, author: None, text: "quoted".into() }),
        from_bot: false,
        locale: None,
        at_ms: u64::MAX,
    };
    let caller = Caller {
        platform: Platform::Telegram,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: chat.into(),
        thread: None,
        sender,
        roles: Vec::new(),
        origin: Origin::Command,
    };
    Record::new(TurnId::new(), SessionKey::of(&address), message, caller)
}

/// The fence under which the session's turns are changed.
pub async fn fence(stores: &Stores, record: &Record) -> Fence {
    let held = stores.turns.hold().await.unwrap();
    held.iter().find(|owned| owned.partition == record.session.partition()).expect("it is the owner").fence
}

/// Accepts and takes ownership.
pub async fn accepted(stores: &Stores, record: &Record) -> Fence {
    stores.turns.accept(record).await.unwrap();
    fence(stores, record).await
}

pub async fn change(stores: &Stores, fence: Fence, record: &Record, changes: &[Change]) {
    stores.turns.change(fence, record.id, &record.session, changes).await.unwrap();
}

/// What the store says of the turn.
pub async fn get(stores: &Stores, record: &Record) -> Record {
    stores.turns.get(record.id).await.unwrap().unwrap()
}

/// Ids of unfinished turns of the session, in order.
pub async fn unfinished(stores: &Stores, record: &Record) -> Vec<TurnId> {
    let all = stores.turns.unfinished(record.session.partition()).await.unwrap();
    all.into_iter().filter(|other| other.session == record.session).map(|other| other.id).collect()
}

pub fn entry(path: CallPath) -> Entry {
    Entry {
        path,
        tool: "order_refund".into(),
        spec: Digest::of(b"spec"),
        args: Digest::of(b"args"),
        key: Some("key".into()),
        at_ms: 1,
        end: None,
    }
}

pub fn call(path: CallPath, args: Value) -> Call {
    Call { path, tool: "echo".into(), args }
}

pub fn delivery(n: u32, state: DeliveryState) -> Delivery {
    Delivery {
        n,
        to: address("chat"),
        reply: None,
        state,
        parts: vec![Digest::of(b"part")],
        receipts: vec![Receipt { message: "42".into(), private: Opaque::default() }],
        draft: None,
        marked: false,
    }
}

pub fn finish(text: &str, deliveries: Vec<Delivery>) -> Change {
    Change::Finish { reply: Reply::text(text), deliveries, item: None }
}

pub const DONE: Change = Change::Done { keep_message: false, keep_reply: false };

/// The turn of a record in the memory of its conversation.
pub fn visit(record: &Record) -> Visit {
    Visit {
        place: MemoryKey::of(&record.session, None),
        person: Person::of(&record.caller),
        tenant: record.caller.tenant.clone(),
        turn: record.id,
    }
}

/// A turn of person `who` in `chat` with the memory of the conversation.
pub fn visit_of(chat: &str, who: &str) -> Visit {
    let mut record = record(chat, "k");
    record.caller.sender.id = who.into();
    visit(&record)
}

/// What a turn leaves in its session.
pub fn remembered(visit: &Visit, n: usize) -> Remembered {
    let item = Item { turn: visit.turn, sender: visit.person.sender.clone(), ..item(n) };
    Remembered { visit: visit.clone(), item }
}

pub fn item(n: usize) -> Item {
    Item { turn: TurnId::new(), asked: format!("question {n}"), answered: format!("answer {n}"), ..Item::default() }
}

pub fn node(turn: TurnId, call: u32, tool: &str, state: State) -> Node {
    Node {
        path: Some(CallPath::top(1, call)),
        parent: Some(CallId(0)),
        tool: tool.into(),
        state,
        duration_us: (state != State::Running).then_some(u64::MAX),
        ..Node::new(turn, CallId(call), NodeKind::Call, 1_790_000_000_000_000 + u64::from(call))
    }
}

pub fn line(turn: TurnId, chat: &str, code: Option<Code>) -> TurnLine {
    TurnLine {
        turn,
        state: if code.is_some() { State::Failed } else { State::Ok },
        code,
        platform: Platform::Telegram,
        tenant: "default".into(),
        session: SessionKey::of(&address(chat)),
        sender: "7".into(),
        asked: "/say".into(),
        calls: 1,
        started_us: turn.at_ms() * 1000,
        duration_us: 5,
    }
}

pub async fn write(stores: &Stores, nodes: Vec<Node>, lines: &[TurnLine]) {
    let nodes: Vec<_> = nodes.into_iter().map(Arc::new).collect();
    stores.trees.write(&nodes, lines).await.unwrap();
}
