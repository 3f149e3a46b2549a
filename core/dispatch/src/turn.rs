//! One turn, from its record to its stored reply: plan, run, say.

use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool, atomic::AtomicU32, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contract::{
    CallId, Code, Failure, Node, NodeKind, Notice, Outcome, Place, Reply, State,
    records::{Change, ChangeError, DeliveryState, Item, Record, TurnLine},
    seams::Fence,
    text::one_line,
};
use futures_util::{FutureExt, future::FusedFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    batch,
    call::{TurnCx, new_delivery},
    delivery::{self, Settling},
    gateway::Inner,
    planner::{Draft, Step, TurnView},
    progress::Progress,
};

/// A turn that was taken up this often is answered `crashed`, unrun.
const LIVES_MAX: u32 = 3;
/// Steps of a turn, planner's answers included.
const STEPS_MAX: usize = 10;

pub(crate) fn now_ms() -> u64 {
    now_us() / 1_000
}

pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Runs a turn to its stored reply. `recovered`: it may have been under way when a process died.
pub(crate) async fn run(inner: &Arc<Inner>, mut record: Record, recovered: bool) {
    let Some(fence) = inner.fences.get(&record.session) else { return };
    let crashed = recovered && record.lives >= LIVES_MAX;
    if recovered && !crashed {
        match persist(inner, fence, &record, &[Change::Life]).await {
            Ok(()) => record.lives += 1,
            Err(Over) => return,
        }
    }
    let cx = context(inner, &record, fence);
    let _running = inner.running.enter(&cx, &record);
    if record.cancelled {
        cx.cancel.cancel();
    }
    let started_us = now_us();
    let root = Arc::new(root_node(&cx, &record, started_us));
    inner.tracer.start(&cx.live, &root);
    if recovered {
        delivery::resume_posts(&cx, &record);
        mark_interrupted(&cx);
    }
    let reply = if crashed { crash_reply(&cx) } else { answer_with_progress(&cx, &record).await };
    if cx.lost.load(Ordering::Relaxed) || inner.kill.is_cancelled() {
        inner.tracer.forget(cx.id);
        return;
    }
    finish(&cx, &record, dressed(&cx, reply), &root).await;
}

fn context(inner: &Arc<Inner>, record: &Record, fence: Fence) -> Arc<TurnCx> {
    let snapshot = inner.snapshot.load_full();
    let limits = snapshot.policies.limits(&record.caller);
    Arc::new(TurnCx {
        inner: inner.clone(),
        id: record.id,
        session: record.session.clone(),
        caller: record.caller.clone(),
        address: Some(record.message.address.clone()),
        deadline: Instant::now() + limits.turn_timeout,
        limits,
        snapshot,
        life: record.lives,
        cancel: CancellationToken::new(),
        live: inner.tracer.begin(record.id),
        journal: record.journal.clone(),
        fence: Some(fence),
        progress: Progress::new(inner, record),
        calls: AtomicU32::new(0),
        nodes: AtomicU32::new(0),
        unwritten: Mutex::default(),
        lost: AtomicBool::new(false),
        settling: Settling::new(),
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

fn asked(record: &Record) -> String {
    match &record.message.kind {
        contract::Kind::Press { data } => format!("[button {}]", data.split(':').next().unwrap_or_default()),
        contract::Kind::Text { text } | contract::Kind::Edit { text } => one_line(text, contract::node::SUMMARY_MAX),
    }
}

/// The answer, with signs of life while it is in the making.
async fn answer_with_progress(cx: &Arc<TurnCx>, record: &Record) -> Reply {
    let mut answer = pin!(AssertUnwindSafe(answer(cx, record)).catch_unwind());
    let mut signs = pin!(cx.progress.run(cx).fuse());
    let reply = loop {
        tokio::select! {
            biased;
            reply = &mut answer => break reply,
            () = &mut signs => {}
            () = cx.inner.kill.cancelled() => return Reply::default(),
        }
    };
    cx.progress.stop();
    if !signs.is_terminated() {
        signs.await;
    }
    reply.unwrap_or_else(|_| {
        warn!(turn = %cx.id, "planning or saying panicked");
        failure_reply(cx, &Failure::fatal(Code::Internal, "planning or saying panicked"))
    })
}

async fn answer(cx: &Arc<TurnCx>, record: &Record) -> Reply {
    let mut steps: Vec<Vec<Outcome>> = Vec::new();
    let planner = cx.inner.planner.clone();
    while steps.len() <= STEPS_MAX {
        let view = TurnView { record, caller: &cx.caller, snapshot: &cx.snapshot, steps: &steps };
        match planner.next(&view, &NoDraft).await {
            Ok(Step::Answer(reply)) => return reply,
            Ok(Step::Calls(calls)) => steps.push(batch::run(cx, None, calls).await),
            Err(failure) => return failure_reply(cx, &failure),
        }
    }
    failure_reply(cx, &Failure::new(Code::LimitReached, "it took more steps than one message may take"))
}

struct NoDraft;

impl Draft for NoDraft {
    fn show(&self, _text: &str) {}
}

/// Calls that an earlier life began and never ended stay readable in the tree. Behind: the turn does not wait for it.
fn mark_interrupted(cx: &Arc<TurnCx>) {
    let cx = cx.clone();
    let tasks = cx.inner.tasks.clone();
    tasks.spawn(async move {
        let Ok(nodes) = cx.inner.stores.trees.tree(cx.id).await else { return };
        let first_of_this_life = CallId(cx.life * 1_000);
        for mut node in nodes.into_iter().filter(|n| n.state == State::Running && n.kind != NodeKind::Turn) {
            if node.call < first_of_this_life {
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
    Reply::notice(Notice::of(failure, None, Some(cx.id)))
}

/// What policy says of how a reply looks.
fn dressed(cx: &TurnCx, reply: Reply) -> Reply {
    let manner = cx.snapshot.policies.manner(&cx.caller);
    let shown = reply.failed || manner.replies.reference;
    Reply {
        reference: reply.reference.or(shown.then_some(cx.id)),
        most_messages: Some(cx.limits.messages_per_reply),
        ..reply
    }
}

/// Stores the reply, then hands it to delivery.
async fn finish(cx: &Arc<TurnCx>, record: &Record, reply: Reply, root: &Arc<Node>) {
    let inner = &cx.inner;
    let mut changes = std::mem::take(&mut *cx.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
    let to = &record.message.address;
    let pull = to.platform.is_pull();
    let keep_message = reply.buttons.iter().any(|b| matches!(b.action, contract::Action::TryAgain(_)));
    let deliveries = if pull {
        Vec::new()
    } else {
        let mut delivery = new_delivery(0, to.clone(), None);
        delivery.draft = cx.progress.receipt();
        // Written together with the finish when nothing stands before it: one write less on the way of most replies.
        if inner.deliveries.is_free(to) {
            delivery.state = DeliveryState::Sending { part: 0 };
        }
        vec![delivery]
    };
    let item = Item { turn: cx.id, asked: asked(record), answered: crate::say::plain(&reply) };
    changes.push(Change::Finish { reply: reply.clone(), deliveries: deliveries.clone(), item: Some(item) });
    cx.settling.keep_message(keep_message);
    let settled = if pull { cx.settling.settle() } else { None };
    if settled.is_some() {
        changes.push(Change::Done { keep_message, keep_reply: true });
    }
    let Some(fence) = cx.fence else { return };
    if persist(inner, fence, record, &changes).await.is_err() {
        inner.tracer.forget(cx.id);
        return;
    }
    let reply = Arc::new(reply);
    end_tree(cx, record, root, &reply);
    for delivery in deliveries {
        delivery::enqueue(inner, delivery::Job::new(record, delivery, reply.clone(), cx.settling.clone()));
    }
}

fn end_tree(cx: &TurnCx, record: &Record, root: &Arc<Node>, reply: &Arc<Reply>) {
    let mut node = (**root).clone();
    let duration_us = now_us().saturating_sub(node.started_us);
    node.duration_us = Some(duration_us);
    node.code = first_code(reply);
    node.state = match (reply.failed, cx.cancel.is_cancelled()) {
        (_, true) => State::Cancelled,
        (true, _) => State::Failed,
        (false, _) => State::Ok,
    };
    node.result = one_line(&crate::say::plain(reply), contract::node::SUMMARY_MAX);
    let line = TurnLine {
        turn: cx.id,
        state: node.state,
        code: node.code,
        platform: cx.caller.platform,
        tenant: cx.caller.tenant.clone(),
        session: cx.session.clone(),
        sender: cx.caller.sender.id.clone(),
        asked: asked(record),
        calls: cx.calls.load(Ordering::Relaxed),
        started_us: node.started_us,
        duration_us,
    };
    info!(turn = %cx.id, state = node.state.as_str(), calls = line.calls, duration_us, "turn answered");
    cx.inner.tracer.ended(&cx.live, &Arc::new(node));
    cx.inner.tracer.close(&cx.live, reply, line);
}

fn first_code(reply: &Reply) -> Option<Code> {
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
            Err(ChangeError::Lost) => {
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
