//! Nodes on their way to the store and to whoever watches. Never fails a turn and never delays one: the queue is
//! bounded, the flusher has its own deadline, what does not fit goes into a bounded file, then it is counted.

mod counts;
mod flusher;
pub(crate) mod spill;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::{
    Node, NodeKind, Place, Reply, State, TurnEvent, TurnId, TurnStream,
    records::{Measure, Trees, TurnLine},
};
use futures_util::{StreamExt, stream};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::BroadcastStream;

pub use counts::{BOUNDS_US, Counted, CountedCalls, CountedTool, Whose};
pub use flusher::Flusher;
use spill::Spill;

use crate::audit::{AuditTo, Trail, Writer};

const QUEUE: usize = 8_192;
const WATCH_BUFFER: usize = 256;

/// Where nodes go.
pub struct Tracer {
    queue: mpsc::Sender<Trace>,
    live: Mutex<HashMap<TurnId, Arc<LiveTurn>>>,
    dropped: AtomicU64,
    backlog: AtomicU64,
    counts: counts::Counts,
    /// Where events of calls go.
    pub audit: Arc<Trail>,
}

/// How tracing fares, for operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceHealth {
    /// Records that wait because the store is away.
    pub waiting: u64,
    /// Records that were lost since the start.
    pub dropped: u64,
}

enum Trace {
    /// A call that ended now says whose it is; what is put right later does not.
    End(Arc<Node>, Option<Arc<Whose>>),
    Turn(Box<TurnLine>),
}

/// A turn that runs, or whose tree is not written yet.
#[derive(Default)]
pub struct LiveTurn(Mutex<Live>, OnceLock<Arc<Whose>>);

#[derive(Default)]
struct Live {
    nodes: Vec<Arc<Node>>,
    watchers: Option<broadcast::Sender<TurnEvent>>,
    end: Option<Arc<Reply>>,
}

impl LiveTurn {
    fn put(&self, node: &Arc<Node>) {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match live.nodes.iter_mut().find(|n| n.call == node.call) {
            Some(old) => *old = node.clone(),
            None => live.nodes.push(node.clone()),
        }
        if let Some(watchers) = &live.watchers {
            let _ = watchers.send(TurnEvent::Node(node.clone()));
        }
    }

    fn end(&self, reply: &Arc<Reply>) {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.end = Some(reply.clone());
        if let Some(watchers) = live.watchers.take() {
            let _ = watchers.send(TurnEvent::End(reply.clone()));
        }
    }

    /// An answer in the making; costs nothing while nobody watches.
    pub fn drafted(&self, text: &str) {
        let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watchers) = live.watchers.as_ref().filter(|watchers| watchers.receiver_count() > 0) {
            let _ = watchers.send(TurnEvent::Draft(Arc::from(text)));
        }
    }

    fn running(&self, before_us: u64) -> Vec<Arc<Node>> {
        let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old = live.nodes.iter().filter(|n| n.state == State::Running && n.started_us <= before_us);
        old.cloned().collect()
    }

    pub fn nodes(&self) -> Vec<Node> {
        let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.nodes.iter().map(|n| (**n).clone()).collect()
    }

    /// The newest such node.
    pub fn find(&self, is: impl Fn(&Node) -> bool) -> Option<Node> {
        let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.nodes.iter().rev().find(|node| is(node)).map(|node| (**node).clone())
    }

    /// What happened so far, then what happens.
    fn watch(&self) -> TurnStream {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut past: Vec<_> = live.nodes.iter().cloned().map(TurnEvent::Node).collect();
        if let Some(end) = &live.end {
            past.push(TurnEvent::End(end.clone()));
            return stream::iter(past).boxed();
        }
        let watchers = live.watchers.get_or_insert_with(|| broadcast::channel(WATCH_BUFFER).0);
        // A watcher that falls behind misses nodes, never the end: the sender is dropped after it.
        let future = BroadcastStream::new(watchers.subscribe()).filter_map(|event| async { event.ok() });
        stream::iter(past).chain(future).boxed()
    }
}

impl Tracer {
    /// The tracer and its flusher, which is to be run by the gateway's owner of tasks.
    pub fn new(trees: Arc<dyn Trees>, boot: String, spill: Option<PathBuf>, audit: AuditTo) -> (Arc<Self>, Flusher) {
        let (queue, records) = mpsc::channel(QUEUE);
        let tracer = Arc::new(Self {
            queue,
            live: Mutex::default(),
            dropped: AtomicU64::new(0),
            backlog: AtomicU64::new(0),
            counts: counts::Counts::default(),
            audit: Arc::new(Trail::of(&audit)),
        });
        let writer = Writer::new(&tracer.audit, &audit);
        let spill = spill.map(|path| Spill::new(path, spill::ROOM));
        let flusher = Flusher::new(tracer.clone(), trees, boot, records, spill, writer);
        (tracer, flusher)
    }

    pub fn begin(&self, turn: TurnId) -> Arc<LiveTurn> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.entry(turn).or_default().clone()
    }

    /// The same for a turn whose calls are of this place.
    pub fn begin_at(&self, turn: TurnId, place: Place) -> Arc<LiveTurn> {
        let live = self.begin(turn);
        live.1.get_or_init(|| Arc::new(Whose::new(place)));
        live
    }

    /// Seen at once by whoever watches; written only if it runs for a while.
    pub fn start(&self, live: &LiveTurn, node: &Arc<Node>) {
        live.put(node);
    }

    /// What has been running for at least this long.
    fn running(&self, least: Duration) -> Vec<Arc<Node>> {
        let before = crate::turn::now_us().saturating_sub(u64::try_from(least.as_micros()).unwrap_or(u64::MAX));
        let turns: Vec<_> = self.live.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        turns.iter().flat_map(|turn| turn.running(before)).collect()
    }

    pub fn ended(&self, live: &LiveTurn, node: &Arc<Node>) {
        live.put(node);
        let whose = live.1.get().filter(|_| node.kind == NodeKind::Call);
        if node.kind == NodeKind::Call {
            self.counts.add(node, whose.map(|whose| &**whose));
        }
        self.push(Trace::End(node.clone(), whose.cloned()));
    }

    /// A node that is put right after its end, perhaps of an earlier life: not counted once more.
    pub fn ended_earlier(&self, live: &LiveTurn, node: &Arc<Node>) {
        live.put(node);
        self.push(Trace::End(node.clone(), None));
    }

    /// The turn's reply is stored.
    pub fn close(&self, live: &LiveTurn, reply: &Arc<Reply>, line: TurnLine) {
        live.end(reply);
        let turn = line.turn;
        // Otherwise the flusher forgets it, once its tree is written.
        if !self.push(Trace::Turn(Box::new(line))) {
            self.forget(turn);
        }
    }

    /// The turn goes on elsewhere; nothing more of it is known here.
    pub fn forget(&self, turn: TurnId) {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).remove(&turn);
    }

    pub fn live(&self, turn: TurnId) -> Option<Arc<LiveTurn>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).get(&turn).cloned()
    }

    pub fn watch(&self, turn: TurnId) -> Option<TurnStream> {
        self.live(turn).map(|live| live.watch())
    }

    pub fn health(&self) -> TraceHealth {
        TraceHealth { waiting: self.backlog.load(Ordering::Relaxed), dropped: self.dropped.load(Ordering::Relaxed) }
    }

    /// False when there is no room: it is counted, and lost.
    fn push(&self, trace: Trace) -> bool {
        let taken = self.queue.try_send(trace).is_ok();
        if !taken {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    fn measures(&self, minute_now: u64) -> Vec<Measure> {
        self.counts.changed(minute_now)
    }

    fn unwritten(&self, failed: &[Measure]) {
        self.counts.unwritten(failed);
    }

    /// What was counted since the start.
    pub fn counted(&self) -> Counted {
        self.counts.since_the_start()
    }
}
