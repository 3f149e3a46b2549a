//! Trees that a death cut short. Nodes are written behind, so a process may die when a turn's reply is stored and its
//! last nodes are not: they are put together from the record, when the tree is read and when the turn is taken up.

use std::sync::Arc;

use contract::{
    CallId, CallPath, Node, NodeKind, Place, State,
    records::{End, Entry, Record, TurnState},
};

use crate::{
    gateway::Inner,
    turn::{asked, first_code, line, place_of},
};

/// Said of what was put together.
const MARK: &str = "its end was not written before the process died";

/// Whether a tree lacks its end.
pub(crate) fn is_cut(nodes: &[Node]) -> bool {
    let has_end = nodes.iter().any(|n| n.kind == NodeKind::Turn && n.state != State::Running);
    !has_end || nodes.iter().any(|n| n.state == State::Running)
}

/// What the record of a turn that does not run any more adds to its tree, or puts right in it.
pub(crate) fn mended(nodes: &[Node], record: &Record) -> Vec<Node> {
    let is_over = matches!(record.state, TurnState::Answered | TurnState::Done);
    // A reply that is fetched is kept: without one it is a message that was not taken.
    let was_taken = record.reply.is_some() || !record.message.address.platform.is_pull();
    if !is_over || !was_taken || !is_cut(nodes) {
        return Vec::new();
    }
    let running = nodes.iter().filter(|n| n.state == State::Running && n.kind != NodeKind::Turn);
    let mut news: Vec<Node> = running.map(|node| ended(node.clone(), record)).collect();
    let unseen = |entry: &&Entry| nodes.iter().all(|n| n.path.as_ref() != Some(&entry.path));
    let mut last = nodes.iter().map(|n| n.call.0).max().unwrap_or(0);
    for entry in record.journal.iter().filter(unseen) {
        last += 1;
        news.push(ended(from_journal(entry, CallId(last), nodes, record), record));
    }
    let root = nodes.iter().find(|n| n.kind == NodeKind::Turn);
    if root.is_none_or(|root| root.state == State::Running) {
        news.push(root_of(root, record));
    }
    news
}

fn from_journal(entry: &Entry, call: CallId, nodes: &[Node], record: &Record) -> Node {
    let of = |path: CallPath| nodes.iter().find(|n| n.path.as_ref() == Some(&path)).map(|n| n.call);
    let mut node = Node::new(record.id, call, NodeKind::Call, entry.at_ms * 1_000);
    node.parent = Some(entry.path.parent().and_then(of).unwrap_or(CallId(0)));
    node.path = Some(entry.path.clone());
    node.tool.clone_from(&entry.tool);
    node.spec = Some(entry.spec);
    node.args_digest = Some(entry.args);
    node
}

/// A call as the journal knows it; one that is not in it was cut off.
fn ended(mut node: Node, record: &Record) -> Node {
    let entry = node.path.as_ref().and_then(|path| record.entry(path));
    (node.state, node.code) = match entry.map(|entry| &entry.end) {
        Some(Some(End::Ok(_))) => (State::Ok, None),
        Some(Some(End::Failed(failure))) => (State::Failed, Some(failure.true_code())),
        Some(Some(End::Job(_)) | None) => (State::Unknown, Some(contract::Code::OutcomeUnknown)),
        None => (State::Interrupted, None),
    };
    node.marks.push(MARK.to_owned());
    node
}

fn root_of(old: Option<&Node>, record: &Record) -> Node {
    let new = || Node::new(record.id, CallId(0), NodeKind::Turn, record.id.at_ms() * 1_000);
    let mut root = old.cloned().unwrap_or_else(new);
    root.args = if root.args.is_empty() { asked(record) } else { root.args };
    let session = place_of(record);
    root.place = Some(Box::new(Place { caller: record.caller.clone(), session }));
    root.state = match &record.reply {
        Some(reply) if reply.failed => State::Failed,
        Some(_) => State::Ok,
        None => State::Interrupted,
    };
    root.code = record.reply.as_ref().and_then(first_code);
    root.marks.push(MARK.to_owned());
    root
}

/// Writes what is missing of the tree of a turn that an earlier process answered.
pub(crate) fn tree_of_answered(inner: &Arc<Inner>, record: &Record) {
    let (inner, record, tasks) = (inner.clone(), record.clone(), inner.tasks.clone());
    tasks.spawn(async move {
        // Trees decide nothing: one that cannot be read now is put together by whoever reads it.
        let Ok(nodes) = inner.stores.trees.tree(record.id).await else { return };
        let news = mended(&nodes, &record);
        let Some(root) = news.iter().find(|n| n.kind == NodeKind::Turn).cloned() else { return };
        let calls = nodes.iter().chain(&news).filter(|n| n.kind == NodeKind::Call);
        let calls = calls.map(|n| n.call).collect::<std::collections::BTreeSet<_>>().len();
        let line = line(&root, &record.caller, &record.session, u32::try_from(calls).unwrap_or(u32::MAX));
        let live = inner.tracer.begin(record.id);
        for node in news {
            inner.tracer.ended_earlier(&live, &Arc::new(node));
        }
        inner.tracer.close(&live, &Arc::new(record.reply.unwrap_or_default()), line);
    });
}

#[cfg(test)]
mod tests {
    use contract::{
        Address, Caller, Digest, Kind, Message, Origin, Platform, Reply, Sender, SessionKey, TurnId,
        message::Heard,
        records::{Change, Delivery},
    };
    use serde_json::json;

    use super::*;

    fn record(state: TurnState) -> Record {
        let address = Address::new(Platform::Telegram, "main", "-5");
        let sender = Sender { id: "7".into(), name: "Ada".into() };
        let caller = Caller {
            platform: Platform::Telegram,
            account: "main".into(),
            tenant: "default".into(),
            space: None,
            conversation: "-5".into(),
            thread: None,
            sender: sender.clone(),
            roles: Vec::new(),
            origin: Origin::Command,
        };
        let message = Message {
            key: "k".into(),
            address: address.clone(),
            sender,
            roles: Vec::new(),
            kind: Kind::Text { text: "/act".into() },
            heard: Heard::Direct,
            files: Vec::new(),
            quote: None,
            from_bot: false,
            locale: None,
            at_ms: 1,
        };
        let mut record = Record::new(TurnId::new(), SessionKey::of(&address), message, caller);
        record.state = state;
        record
    }

    fn started(path: CallPath) -> Entry {
        let digest = Digest::of(b"x");
        Entry { path, tool: "act".into(), spec: digest, args: digest, key: None, at_ms: 5, end: None }
    }

    fn states(nodes: &[Node]) -> Vec<(u32, State)> {
        nodes.iter().map(|n| (n.call.0, n.state)).collect()
    }

    #[test]
    fn what_runs_is_left_alone_and_so_is_what_is_whole() {
        assert!(mended(&[], &record(TurnState::Running)).is_empty());
        let answered = record(TurnState::Answered);
        let mut root = Node::new(answered.id, CallId(0), NodeKind::Turn, 1);
        root.state = State::Ok;
        assert!(mended(&[root], &answered).is_empty());
    }

    #[test]
    fn a_tree_that_was_never_written_is_put_together_from_record_and_journal() {
        let mut record = record(TurnState::Queued);
        record.apply(&Change::Started(vec![started(CallPath::top(1, 1)), started(CallPath::top(1, 2))]));
        record.apply(&Change::Ended { path: CallPath::top(1, 1), end: End::Ok(json!(1)) });
        let deliveries: Vec<Delivery> = Vec::new();
        record.apply(&Change::Finish { reply: Reply::text("done"), deliveries, item: None });
        let nodes = mended(&[], &record);
        assert_eq!(states(&nodes), [(1, State::Ok), (2, State::Unknown), (0, State::Ok)]);
        assert!(!is_cut(&nodes) && mended(&nodes, &record).is_empty(), "once is enough");
        assert_eq!((nodes[2].args.as_str(), nodes[2].place.is_some()), ("/act", true));
    }

    #[test]
    fn what_was_seen_to_run_is_ended() {
        let mut record = record(TurnState::Done);
        let root = Node::new(record.id, CallId(0), NodeKind::Turn, 1);
        let call = Node::new(record.id, CallId(1), NodeKind::Call, 1);
        let nodes = mended(&[root.clone(), call.clone()], &record);
        assert_eq!(states(&nodes), [(1, State::Interrupted), (0, State::Interrupted)]);
        record.reply = Some(Reply { failed: true, ..Reply::text("it failed") });
        assert_eq!(states(&mended(&[root, call], &record)), [(1, State::Interrupted), (0, State::Failed)]);
    }
}
