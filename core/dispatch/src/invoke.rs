//! One call by itself: no lane, session or delivery, but the same gate, guard, journal and tree.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32},
    },
    time::Duration,
};

use contract::{
    Address, Call, CallId, CallPath, Caller, Code, Failure, Kind, Message, Node, NodeKind, Notice, Outcome, Place,
    Reply, SessionKey, TurnId,
    message::Heard,
    records::{Admitted, Change, Record},
    seams::Fence,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    batch,
    call::{TurnCx, places},
    delegate::Steps,
    delivery::Settling,
    gateway::{Inner, Invoked},
    planner::Planned,
    progress::Progress,
    session::{Here, address_of},
    snapshot::Snapshot,
    turn::{line, now_ms, now_us, persist_of},
};

/// What marks the records of calls by themselves; no session key begins with it.
pub(crate) const INVOKED: &str = "!invoke/";

pub(crate) async fn invoke(inner: &Arc<Inner>, caller: Caller, tool: &str, args: Result<Value, Failure>) -> Invoked {
    let id = TurnId::new();
    let snapshot = inner.snapshot.load_full();
    let found = snapshot.resolve(&caller, tool);
    let name = found.map_or_else(|| tool.to_owned(), |t| t.name.to_string());
    let once = found.is_some_and(|t| !snapshot.tools.is_repeatable(&t.name));
    let (args, unreadable) = match args {
        Ok(args) => (args, None),
        Err(failure) => (Value::Null, Some(failure)),
    };
    let asked = format!("/{name} {}", crate::summary::summary(&args));
    let address = address_of(&caller);
    let place = SessionKey::of(&address);
    let cancel = CancellationToken::new();
    // Before it is in the store: whoever finds it there is to see that its client waits for it here.
    let running = inner.running.enter_as(id, place.clone(), &caller, &asked, cancel.clone());
    // A once call has a record, so that a crash can tell what is known of it; others pay nothing.
    let recorded = match once && unreadable.is_none() {
        true => accept_call(inner, id, &caller, &address, &asked).await.map(Some),
        false => Ok(None),
    };
    let (recorded, refused) = match recorded {
        Ok(recorded) => (recorded, unreadable),
        Err(failure) => (None, Some(failure)),
    };
    let cx = call_context(inner, id, caller, address, snapshot, recorded.as_ref(), cancel);
    let mut root = Node::new(id, CallId(0), NodeKind::Turn, now_us());
    root.args = contract::text::one_line(&asked, contract::node::SUMMARY_MAX);
    root.place = Some(Box::new(Place { caller: cx.caller.clone(), session: place }));
    inner.tracer.start(&cx.live, &Arc::new(root.clone()));
    let call = Call { path: CallPath::top(1, 1), tool: name.clone(), args };
    let mut outcomes = batch::run(&cx, None, vec![Planned { call, unreadable: refused }]).await;
    drop(running);
    let outcome = outcomes.pop().unwrap_or_else(|| lost_outcome(&name));
    let reply = match &outcome.result {
        Ok(value) => Reply::text(crate::summary::summary(value)),
        Err(failure) => Reply::notice(Notice::of(failure, Some(&name), Some(id))),
    };
    if let Some((session, fence)) = recorded {
        end_call(&cx, fence, &session, &reply).await;
    }
    end_call_tree(&cx, root, &outcome, reply);
    Invoked { turn: id, outcome }
}

/// A session of the call's own, in a partition that is ours.
fn session_of_call(inner: &Inner, id: TurnId) -> SessionKey {
    let candidates = (0..256).map(|n| SessionKey::from_text(format!("{INVOKED}{id}/{n}")));
    let mut ours = candidates.filter(|session| inner.fences.get(session).is_some());
    ours.next().unwrap_or_else(|| SessionKey::from_text(format!("{INVOKED}{id}")))
}

/// The record's session and fence.
async fn accept_call(
    inner: &Inner,
    id: TurnId,
    caller: &Caller,
    address: &Address,
    asked: &str,
) -> Result<(SessionKey, Fence), Failure> {
    let away = |why: String| {
        Failure::new(Code::Store, "it was not started: we could not write down that it starts")
            .cause(contract::Private::new(why))
    };
    let session = session_of_call(inner, id);
    let fence = inner.fences.get(&session).ok_or_else(|| away("no partition is held".into()))?;
    let record = Record::new(id, session, call_message(caller, address, id, asked), caller.clone());
    match inner.stores.turns.accept(&record).await {
        Ok(Admitted::New { .. }) => Ok((record.session, fence)),
        Ok(Admitted::Known { .. } | Admitted::Full) => Err(away("the record of a new call was refused".into())),
        Err(down) => Err(away(down.to_string())),
    }
}

fn call_message(caller: &Caller, address: &Address, id: TurnId, asked: &str) -> Message {
    Message {
        key: format!("invoke:{id}"),
        address: address.clone(),
        sender: caller.sender.clone(),
        roles: Vec::new(),
        kind: Kind::Text { text: asked.to_owned() },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: now_ms(),
    }
}

fn call_context(
    inner: &Arc<Inner>,
    id: TurnId,
    caller: Caller,
    address: Address,
    snapshot: Arc<Snapshot>,
    recorded: Option<&(SessionKey, Fence)>,
    cancel: CancellationToken,
) -> Arc<TurnCx> {
    let limits = snapshot.policies.limits(&caller);
    let place = Place { caller: caller.clone(), session: SessionKey::of(&address) };
    Arc::new(TurnCx {
        inner: inner.clone(),
        id,
        // Read only together with the fence.
        session: recorded.map_or_else(|| SessionKey::from_text(""), |(session, _)| session.clone()),
        here: Here::nowhere(&caller, id),
        caller,
        address: None,
        asked_at: None,
        files: Mutex::new(Arc::new([])),
        standing: None,
        deadline: tokio::time::Instant::now() + limits.turn_timeout,
        usage: Mutex::default(),
        places: places(&limits),
        steps: Steps::of(&limits),
        limits,
        locale: contract::Locale::default(),
        snapshot,
        life: 0,
        cancel,
        live: inner.tracer.begin_at(id, place),
        plan: Vec::new(),
        journal: Vec::new(),
        posted: Vec::new(),
        fence: recorded.map(|(_, fence)| *fence),
        settling: Settling::new(&address),
        progress: Progress::silent(address),
        calls: AtomicU32::new(0),
        nodes: AtomicU32::new(0),
        unwritten: Mutex::default(),
        lost: AtomicBool::new(false),
        waits: crate::approval::Waits::default(),
    })
}

async fn end_call(cx: &TurnCx, fence: Fence, session: &SessionKey, reply: &Reply) {
    let mut changes = std::mem::take(&mut *cx.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
    changes.push(Change::Finish { reply: reply.clone(), deliveries: Vec::new(), item: None });
    if cx.settling.settle().is_some() {
        changes.push(Change::Done { keep_message: false, keep_reply: true });
    }
    // The client has waited for the call, not for the record: when the store is away, recovery ends it.
    let writing = persist_of(&cx.inner, fence, cx.id, session, &changes);
    let _ = tokio::time::timeout(Duration::from_secs(3), writing).await;
}

fn end_call_tree(cx: &TurnCx, mut root: Node, outcome: &Outcome, reply: Reply) {
    root.duration_us = Some(now_us().saturating_sub(root.started_us));
    root.state = outcome.state;
    root.code = outcome.result.as_ref().err().map(Failure::true_code);
    let usage = *cx.usage.lock().unwrap_or_else(PoisonError::into_inner);
    root.usage = (usage != contract::Usage::default()).then_some(usage);
    let session = root.place.as_ref().map_or(&cx.session, |place| &place.session);
    let line = line(&root, &cx.caller, session, cx.calls.load(std::sync::atomic::Ordering::Relaxed));
    cx.inner.tracer.ended(&cx.live, &Arc::new(root));
    cx.inner.tracer.close(&cx.live, &Arc::new(reply), line);
}

fn lost_outcome(tool: &str) -> Outcome {
    Outcome {
        path: CallPath::top(1, 1),
        tool: tool.to_owned(),
        state: contract::State::Failed,
        result: Err(Failure::fatal(Code::Internal, "a batch of one call gave no outcome")),
        repeatable: false,
        took_us: 0,
    }
}
