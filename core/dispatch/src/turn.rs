//! One turn, from its record to its stored reply: plan, run, say.

mod steps;

use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool, atomic::AtomicU32, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contract::{
    CallId, Caller, Code, Failure, Node, NodeKind, Notice, Place, Reply, SessionKey, State,
    records::{Change, ChangeError, DeliveryState, Record, ScheduleId, TurnLine, TurnState},
    seams::Fence,
    text::one_line,
};
use futures_util::{FutureExt, future::FusedFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    approval::{self, Waits},
    call::{TurnCx, new_delivery, places},
    delegate::Steps,
    delivery::{self, Settling},
    gateway::Inner,
    lane::joined,
    model::Usage,
    progress::Progress,
    reason, schedule,
    session::{self, Here},
    show,
};

pub(crate) use steps::planned;

/// A turn in whose lives the process died this often is answered `crashed`, unrun.
const LIVES_MAX: u32 = 3;

pub(crate) fn now_ms() -> u64 {
    now_us() / 1_000
}

pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Where a turn that leaves its lane came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whence {
    /// Accepted here and never run.
    New,
    /// It may have been run already, by whoever found it in the store first.
    Doubtful,
    /// Found in the store: it may have been under way when a process died.
    Recovered,
    /// It waited for people, and goes on.
    Unparked,
}

/// Runs a turn to its stored reply.
pub(crate) async fn run(inner: &Arc<Inner>, record: Record, whence: Whence, cancel: CancellationToken) {
    let id = record.id;
    let ended = match taken_up(inner, record, whence).await {
        Some(turn) => to_its_reply(inner, turn, cancel).await,
        None => Err(Over),
    };
    if ended.is_err() {
        inner.tracer.forget(id);
    }
}

/// A turn that is about to run.
struct TakenUp {
    record: Record,
    fence: Fence,
    recovered: bool,
    /// The process died too often while it ran.
    crashed: bool,
}

/// The record as it stands, in its new life where it has one. Nothing when it is not ours or has been answered.
async fn taken_up(inner: &Inner, mut record: Record, whence: Whence) -> Option<TakenUp> {
    let fence = inner.fences.get(&record.session)?;
    let mut recovered = whence == Whence::Recovered;
    if whence == Whence::Doubtful {
        record = read_again(inner, record.id).await?;
        recovered = record.state == TurnState::Running;
    }
    if whence == Whence::Unparked {
        let wished = record.cancelled;
        record = read_again(inner, record.id).await?;
        record.cancelled |= wished;
    }
    let crashed = recovered && record.lives + 1 >= LIVES_MAX;
    if recovered && !crashed {
        persist(inner, fence, &record, &[Change::Life]).await.ok()?;
        record.lives += 1;
    }
    Some(TakenUp { record, fence, recovered, crashed })
}

/// The record of a turn, unless it has been answered.
async fn read_again(inner: &Inner, turn: contract::TurnId) -> Option<Record> {
    loop {
        match inner.stores.turns.get(turn).await {
            Ok(record) => return record.filter(|r| matches!(r.state, TurnState::Queued | TurnState::Running)),
            Err(_) => tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
                () = inner.kill.cancelled() => return None,
            },
        }
    }
}

async fn to_its_reply(inner: &Arc<Inner>, turn: TakenUp, cancel: CancellationToken) -> Result<(), Over> {
    let TakenUp { record, fence, recovered, crashed } = turn;
    let cx = context(inner, &record, fence, cancel).await;
    inner.running.taken_up(&cx);
    inner.jobs.strike(inner, cx.id);
    if record.cancelled {
        cx.cancel.cancel();
    }
    let root = Arc::new(root_node(&cx, &record, cx.waits.began_us().unwrap_or_else(now_us)));
    inner.tracer.start(&cx.live, &root);
    if recovered {
        delivery::resume_posts(&cx, &record);
        mark_interrupted(&cx, if crashed { CallId(u32::MAX) } else { CallId(cx.life * 1_000) });
    }
    if recovered {
        tokio::select! {
            () = cx.progress.find_lost(&cx) => {}
            () = cx.cancel.cancelled() => {}
        }
    }
    let reply = if crashed { Some(crash_reply(&cx)) } else { answer_with_progress(&cx, &record).await };
    if cx.lost.load(Ordering::Relaxed) || inner.kill.is_cancelled() {
        return Err(Over);
    }
    match reply {
        Some(reply) => finish(&cx, &record, show::dressed(&cx, &record, reply), &root).await,
        None => Box::pin(approval::park(&cx, &record, &root)).await,
    }
}

async fn context(inner: &Arc<Inner>, record: &Record, fence: Fence, cancel: CancellationToken) -> Arc<TurnCx> {
    let (caller, standing) = match schedule::standing(inner, record, &cancel).await {
        Some((owner, standing)) => (owner, Some(standing)),
        None => (record.caller.clone(), None),
    };
    let snapshot = inner.snapshot.load_full();
    let there = standing.as_ref().and_then(|standing| standing.there.as_ref());
    let mut limits = snapshot.policies.limits(&caller);
    let mut here = Here::of(inner, record, &snapshot, &cancel).await;
    if let Some(there) = there {
        here.mounted = Some(schedule::narrowed(&snapshot, there, here.mounted.as_ref()));
        limits.messages_per_reply = limits.messages_per_reply.min(snapshot.policies.limits(there).messages_per_reply);
    }
    let may_ask =
        |policies: &policies::Compiled| [Some(&caller), there].into_iter().flatten().any(|who| policies.may_ask(who));
    let may_ask = may_ask(&snapshot.policies) || may_ask(&inner.snapshot.load().policies);
    let address = &record.message.address;
    let waits = Waits::new(may_ask || snapshot.tools.has_jobs(), approval::before(inner, record).await);
    let place = Place { caller: caller.clone(), session: place_of(record) };
    Arc::new(TurnCx {
        inner: inner.clone(),
        id: record.id,
        session: record.session.clone(),
        here,
        asked_at: Some(standing.as_ref().map_or(address, |standing| &standing.from).clone()),
        address: Some(address.clone()),
        files: Mutex::new(record.message.files.clone().into()),
        deadline: Instant::now() + limits.turn_timeout,
        places: places(&limits),
        steps: Steps::of(&limits),
        usage: Mutex::default(),
        limits,
        locale: snapshot.locale(&record.message, there.unwrap_or(&caller)),
        caller,
        standing,
        snapshot,
        life: record.lives,
        cancel,
        live: inner.tracer.begin_at(record.id, place),
        plan: record.plan.iter().filter(|step| !steps::is_turns(step)).cloned().collect(),
        journal: record.journal.clone(),
        posted: record.deliveries.iter().map(|d| d.n).filter(|n| *n != 0).collect(),
        fence: Some(fence),
        progress: Progress::new(inner, record),
        calls: AtomicU32::new(steps::calls_before(&record.journal)),
        nodes: AtomicU32::new(waits.nodes_before(record.lives)),
        waits,
        unwritten: Mutex::default(),
        lost: AtomicBool::new(false),
        settling: Settling::new(address),
    })
}

fn root_node(cx: &TurnCx, record: &Record, started_us: u64) -> Node {
    let mut root = Node::new(cx.id, CallId(0), NodeKind::Turn, started_us);
    root.args = asked(record);
    root.place = Some(Box::new(Place { caller: cx.caller.clone(), session: cx.session.clone() }));
    if cx.life > 0 {
        root.marks.push(format!("taken up again after a restart ({})", cx.life));
    }
    root
}

pub(crate) fn asked(record: &Record) -> String {
    match &record.message.kind {
        contract::Kind::Press { data } => format!("[button {}]", data.split(':').next().unwrap_or_default()),
        contract::Kind::Text { .. } | contract::Kind::Edit { .. } | contract::Kind::Retold { .. } => {
            one_line(record.message.text(), contract::node::SUMMARY_MAX)
        }
        contract::Kind::Command { name, args } | contract::Kind::Form { name, args } => {
            let args = serde_json::Value::Object(args.clone());
            one_line(&format!("/{name} {args}"), contract::node::SUMMARY_MAX)
        }
        contract::Kind::Reaction { emoji, .. } => format!("[reaction {}]", one_line(emoji, 40)),
    }
}

/// The answer, with signs of life while it is in the making; nothing when all that is left is to wait for people.
async fn answer_with_progress(cx: &Arc<TurnCx>, record: &Record) -> Option<Reply> {
    let mut answer = pin!(AssertUnwindSafe(answer(cx, record)).catch_unwind());
    // Signs of life go through an adapter's code too; a crash there costs the signs, not the answer.
    let mut signs = pin!(AssertUnwindSafe(cx.progress.run(cx)).catch_unwind().map(drop).fuse());
    let reply = loop {
        tokio::select! {
            biased;
            reply = &mut answer => break Some(reply),
            // Behind the answer: only when that has done what it could, there may be nothing left.
            () = cx.waits.still() => break None,
            () = &mut signs => {}
            () = cx.inner.kill.cancelled() => return None,
        }
    };
    if reply.is_none() {
        // What is dropped from here on goes on later.
        cx.waits.park();
    }
    cx.progress.stop();
    if !signs.is_terminated() {
        signs.await;
    }
    Some(reply?.unwrap_or_else(|_| {
        warn!(turn = %cx.id, "planning or saying panicked");
        failure_reply(cx, &Failure::fatal(Code::Internal, "planning or saying panicked"))
    }))
}

async fn answer(cx: &Arc<TurnCx>, record: &Record) -> Reply {
    if let Some(lacks) = cx.standing.as_ref().and_then(|standing| standing.lacks.as_ref()) {
        return failure_reply(cx, lacks);
    }
    let (mut plan, mut steps) = (Vec::new(), Vec::new());
    let planned = planned(cx, record, None, &mut plan, &mut steps).await;
    reason::kept(&plan, &steps).for_each(|step| cx.here.did(step));
    planned.unwrap_or_else(|failure| failure_reply(cx, &failure))
}

/// Calls that an earlier life began and never ended stay readable in the tree. Behind: the turn does not wait for it.
fn mark_interrupted(cx: &Arc<TurnCx>, this_life: CallId) {
    let cx = cx.clone();
    let tasks = cx.inner.tasks.clone();
    tasks.spawn(async move {
        let Ok(nodes) = cx.inner.tree(cx.id).await else { return };
        for mut node in nodes.into_iter().filter(|n| n.state == State::Running && n.kind != NodeKind::Turn) {
            if node.call < this_life {
                node.state = State::Interrupted;
                cx.inner.tracer.ended_earlier(&cx.live, &Arc::new(node));
            }
        }
    });
}

fn crash_reply(cx: &TurnCx) -> Reply {
    let cause = format!("the process died {LIVES_MAX} times while this turn ran");
    failure_reply(cx, &Failure::fatal(Code::Crashed, cause))
}

fn failure_reply(cx: &TurnCx, failure: &Failure) -> Reply {
    Reply { locale: cx.locale, ..Reply::notice(Notice::of(failure, None, Some(cx.id))) }
}

/// Stores the reply, then hands it to delivery.
async fn finish(cx: &Arc<TurnCx>, record: &Record, reply: Reply, root: &Arc<Node>) -> Result<(), Over> {
    let inner = &cx.inner;
    let mut changes = std::mem::take(&mut *cx.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
    let to = &record.message.address;
    let is_shown = cx.progress.receipt().is_some() || cx.progress.is_lost();
    let pull = to.platform.is_pull() || (!is_shown && schedule::is_quiet(cx, &reply));
    let keep_message = reply.buttons.iter().any(|b| matches!(b.action, contract::Action::TryAgain(_)));
    let mut behind = cx.progress.under_way();
    let deliveries = if pull {
        Vec::new()
    } else {
        let mut delivery = new_delivery(0, to.clone(), None);
        delivery.draft = cx.progress.receipt();
        if delivery.draft.is_none() && (behind.is_some() || cx.progress.is_lost()) {
            // Whoever delivers it looks for what was, or is at this moment, being posted.
            delivery.state = DeliveryState::Drafting;
        } else if inner.deliveries.is_free(to) {
            // Written together with the finish when nothing stands before it: one write less on the way of most replies.
            delivery.state = DeliveryState::Sending { part: 0 };
        }
        vec![delivery]
    };
    let whole = joined::with_joined(cx, record);
    let item = session::remembered(cx, whole.as_ref().unwrap_or(record), &reply);
    changes.push(Change::Finish { reply: reply.clone(), deliveries: deliveries.clone(), item });
    cx.settling.keep_message(keep_message);
    if pull {
        changes.extend(cx.settling.settle());
    }
    let Some(fence) = cx.fence else { return Err(Over) };
    persist(inner, fence, record, &changes).await?;
    session::after(cx);
    schedule::ended(cx, &reply);
    let reply = Arc::new(reply);
    end_tree(cx, root, &reply);
    for delivery in deliveries {
        let of = (cx.id, &cx.session);
        let job = delivery::Job::new(of, delivery, reply.clone(), cx.settling.clone(), cx.fence);
        delivery::enqueue(inner, job.behind(behind.take()));
    }
    joined::settle(cx, fence, &reply).await
}

fn end_tree(cx: &TurnCx, root: &Arc<Node>, reply: &Arc<Reply>) {
    let mut node = (**root).clone();
    let duration_us = now_us().saturating_sub(node.started_us);
    node.duration_us = Some(duration_us);
    node.code = first_code(reply);
    node.usage =
        Some(*cx.usage.lock().unwrap_or_else(PoisonError::into_inner)).filter(|usage| *usage != Usage::default());
    node.state = match (reply.failed, cx.cancel.is_cancelled()) {
        (_, true) => State::Cancelled,
        (true, _) => State::Failed,
        (false, _) => State::Ok,
    };
    node.result = one_line(&crate::say::plain(reply), contract::node::SUMMARY_MAX);
    let line = line(&node, &cx.caller, &cx.session, cx.calls.load(Ordering::Relaxed));
    info!(turn = %cx.id, state = node.state.as_str(), calls = line.calls, duration_us, "turn answered");
    cx.inner.tracer.ended(&cx.live, &Arc::new(node));
    cx.inner.tracer.close(&cx.live, reply, line);
}

/// The tree and the reply of a turn that was not run here: they can be fetched, and its reference is known.
pub(crate) fn end_unrun(inner: &Inner, record: &Record, state: State, reply: Reply) {
    let reply = Arc::new(reply);
    let live = inner.tracer.begin(record.id);
    let mut root = Node::new(record.id, CallId(0), NodeKind::Turn, record.id.at_ms() * 1_000);
    let session = place_of(record);
    root.args = asked(record);
    root.place = Some(Box::new(Place { caller: record.caller.clone(), session: session.clone() }));
    root.state = state;
    root.code = first_code(&reply);
    root.duration_us = Some(now_us().saturating_sub(root.started_us));
    let line = line(&root, &record.caller, &session, 0);
    inner.tracer.ended(&live, &Arc::new(root));
    inner.tracer.close(&live, &reply, line);
}

/// The session that a turn is told as one of; what is beside a session's lane is of that session.
pub(crate) fn place_of(record: &Record) -> SessionKey {
    match ScheduleId::of_session(&record.session) {
        Some(_) => record.session.clone(),
        None => SessionKey::of(&record.message.address),
    }
}

/// What the index of turns says of one, by its root.
pub(crate) fn line(root: &Node, caller: &Caller, session: &SessionKey, calls: u32) -> TurnLine {
    TurnLine {
        turn: root.turn,
        state: root.state,
        code: root.code,
        platform: caller.platform,
        tenant: caller.tenant.clone(),
        session: session.clone(),
        sender: caller.sender.id.clone(),
        asked: root.args.clone(),
        calls,
        started_us: root.started_us,
        duration_us: root.duration_us.unwrap_or(0),
    }
}

pub(crate) fn first_code(reply: &Reply) -> Option<Code> {
    reply.content.iter().find_map(|content| match content {
        contract::Content::Notice(notice) => Some(notice.code),
        _ => None,
    })
}

/// The turn is not ours any more, or we are leaving: its record stays as it is.
#[derive(Debug)]
pub(crate) struct Over;

/// Writes changes, waiting while the store is away.
pub(crate) async fn persist(inner: &Inner, fence: Fence, record: &Record, changes: &[Change]) -> Result<(), Over> {
    persist_of(inner, fence, record.id, &record.session, changes).await
}

pub(crate) async fn persist_of(
    inner: &Inner,
    fence: Fence,
    turn: contract::TurnId,
    session: &contract::SessionKey,
    changes: &[Change],
) -> Result<(), Over> {
    let mut wait = Duration::from_millis(50);
    loop {
        match inner.stores.turns.change(fence, turn, session, changes).await {
            Ok(()) => return Ok(()),
            // Nothing that is written here depends on an approval.
            Err(ChangeError::Lost | ChangeError::NotAllowed) => {
                warn!(%turn, "the turn belongs to another process now");
                return Err(Over);
            }
            Err(ChangeError::Down(_)) => {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = inner.kill.cancelled() => return Err(Over),
                }
                wait = (wait * 2).min(Duration::from_secs(1));
            }
        }
    }
}
