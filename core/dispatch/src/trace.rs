//! Nodes on their way to the store and to whoever watches. Never fails a turn and never delays one: the queue is
//! bounded, the flusher has its own deadline, and what does not fit is counted.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use contract::{
    CallId, Code, Node, NodeKind, Reply, TurnEvent, TurnId, TurnStream,
    records::{Measure, Trees, TurnLine, bucket_of},
};
use futures_util::{StreamExt, stream};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::BroadcastStream;
use tokio_util::sync::CancellationToken;
use tracing::warn;

const QUEUE: usize = 8_192;
const BATCH: usize = 128;
const GATHER: Duration = Duration::from_millis(20);
const WRITE_DEADLINE: Duration = Duration::from_secs(3);
/// A call that still runs after this time gets a start record.
const START_AFTER: Duration = Duration::from_millis(250);
/// Ended turns that are kept in memory until their tree is written.
const ENDED_MAX: usize = 1_024;
const WATCH_BUFFER: usize = 256;

/// Where nodes go.
pub struct Tracer {
    queue: mpsc::Sender<Trace>,
    live: Mutex<HashMap<TurnId, Arc<LiveTurn>>>,
    dropped: AtomicU64,
    backlog: AtomicU64,
    measures: Mutex<HashMap<(Arc<str>, u64), Counted>>,
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
    Start(Arc<Node>),
    End(Arc<Node>),
    Turn(Box<TurnLine>),
}

#[derive(Default)]
struct Counted {
    ok: u64,
    failed: HashMap<Code, u64>,
    buckets: HashMap<u16, u64>,
    changed: bool,
}

/// A turn that runs, or whose tree is not written yet.
#[derive(Default)]
pub struct LiveTurn(Mutex<Live>);

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

    pub fn nodes(&self) -> Vec<Node> {
        let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.nodes.iter().map(|n| (**n).clone()).collect()
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
    pub fn new(trees: Arc<dyn Trees>, boot: String) -> (Arc<Self>, Flusher) {
        let (queue, records) = mpsc::channel(QUEUE);
        let tracer = Arc::new(Self {
            queue,
            live: Mutex::default(),
            dropped: AtomicU64::new(0),
            backlog: AtomicU64::new(0),
            measures: Mutex::default(),
        });
        let flusher = Flusher {
            tracer: tracer.clone(),
            trees,
            boot,
            records,
            starts: HashMap::new(),
            backlog: VecDeque::new(),
            lines: VecDeque::new(),
            ended: VecDeque::new(),
            away: false,
        };
        (tracer, flusher)
    }

    pub fn begin(&self, turn: TurnId) -> Arc<LiveTurn> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.entry(turn).or_default().clone()
    }

    pub fn start(&self, live: &LiveTurn, node: &Arc<Node>) {
        live.put(node);
        self.push(Trace::Start(node.clone()));
    }

    pub fn ended(&self, live: &LiveTurn, node: &Arc<Node>) {
        live.put(node);
        if node.kind == NodeKind::Call {
            self.count(node);
        }
        self.push(Trace::End(node.clone()));
    }

    /// A node of an earlier life, put right; it was not a call of this process, so it is not counted.
    pub fn ended_earlier(&self, live: &LiveTurn, node: &Arc<Node>) {
        live.put(node);
        self.push(Trace::End(node.clone()));
    }

    /// The turn's reply is stored.
    pub fn close(&self, live: &LiveTurn, reply: &Arc<Reply>, line: TurnLine) {
        live.end(reply);
        self.push(Trace::Turn(Box::new(line)));
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

    fn push(&self, trace: Trace) {
        if self.queue.try_send(trace).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn count(&self, node: &Node) {
        let minute = node.started_us / 60_000_000;
        let mut measures = self.measures.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = match measures.get_mut(&(Arc::from(node.tool.as_str()), minute)) {
            Some(counted) => counted,
            None => measures.entry((Arc::from(node.tool.as_str()), minute)).or_default(),
        };
        match node.code {
            None => counted.ok += 1,
            Some(code) => *counted.failed.entry(code).or_default() += 1,
        }
        *counted.buckets.entry(bucket_of(node.duration_us.unwrap_or(0))).or_default() += 1;
        counted.changed = true;
    }

    /// Absolute values of what changed; minutes that are past are forgotten once they are written.
    fn measures(&self, minute_now: u64) -> Vec<Measure> {
        let mut measures = self.measures.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = measures.iter_mut().filter(|(_, counted)| counted.changed).map(|((tool, minute), counted)| {
            counted.changed = false;
            Measure {
                tool: tool.to_string(),
                minute: *minute,
                ok: counted.ok,
                failed: counted.failed.iter().map(|(code, n)| (*code, *n)).collect(),
                buckets: counted.buckets.iter().map(|(bucket, n)| (*bucket, *n)).collect(),
            }
        });
        let changed = changed.collect();
        measures.retain(|(_, minute), counted| counted.changed || *minute + 10 > minute_now);
        changed
    }
}

/// Writes records behind.
pub struct Flusher {
    tracer: Arc<Tracer>,
    trees: Arc<dyn Trees>,
    boot: String,
    records: mpsc::Receiver<Trace>,
    starts: HashMap<(TurnId, CallId), (Arc<Node>, Instant)>,
    backlog: VecDeque<Arc<Node>>,
    lines: VecDeque<TurnLine>,
    ended: VecDeque<TurnId>,
    away: bool,
}

impl Flusher {
    /// Runs until `stop`, then writes what is left.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut measured = Instant::now();
        let mut retry_at = Instant::now();
        loop {
            let stopping = self.gather(&stop).await;
            if Instant::now() >= retry_at || stopping {
                self.away = !self.flush(stopping).await;
                retry_at = Instant::now() + if self.away { Duration::from_millis(500) } else { Duration::ZERO };
            }
            if (measured.elapsed() >= Duration::from_secs(1) || stopping) && !self.away {
                measured = Instant::now();
                self.write_measures().await;
            }
            if stopping {
                return;
            }
        }
    }

    /// Takes what comes for 20 ms or until a batch is full. True when it is time to stop.
    async fn gather(&mut self, stop: &CancellationToken) -> bool {
        let idle = if self.starts.is_empty() && self.backlog.is_empty() { 1_000 } else { 50 };
        let first = tokio::select! {
            first = self.records.recv() => first,
            () = tokio::time::sleep(Duration::from_millis(idle)) => return false,
            () = stop.cancelled() => {
                while let Ok(trace) = self.records.try_recv() {
                    self.take(trace);
                }
                return true;
            }
        };
        let Some(first) = first else { return true };
        self.take(first);
        let until = tokio::time::Instant::now() + GATHER;
        let mut taken = 1;
        while taken < BATCH {
            let next = match self.records.try_recv() {
                Ok(next) => Some(next),
                Err(_) => tokio::time::timeout_at(until, self.records.recv()).await.ok().flatten(),
            };
            let Some(next) = next else { break };
            self.take(next);
            taken += 1;
        }
        false
    }

    fn take(&mut self, trace: Trace) {
        match trace {
            Trace::Start(node) => {
                self.starts.insert((node.turn, node.call), (node, Instant::now()));
                // A start without an end belongs to a turn that was lost to another process; bounded all the same.
                if self.starts.len() > QUEUE {
                    self.starts.clear();
                }
            }
            Trace::End(node) => {
                self.starts.remove(&(node.turn, node.call));
                self.keep(node);
            }
            Trace::Turn(line) => {
                self.ended.push_back(line.turn);
                while self.ended.len() > ENDED_MAX {
                    if let Some(turn) = self.ended.pop_front() {
                        self.tracer.forget(turn);
                    }
                }
                self.lines.push_back(*line);
                self.lines.truncate(QUEUE);
            }
        }
    }

    /// Past half of its room the backlog loses previews, past all of it records.
    fn keep(&mut self, node: Arc<Node>) {
        if self.backlog.len() >= QUEUE {
            self.tracer.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let node = if self.backlog.len() >= QUEUE / 2 { without_previews(&node) } else { node };
        self.backlog.push_back(node);
    }

    /// Writes everything that waits; false when the store is away.
    async fn flush(&mut self, last: bool) -> bool {
        let now = Instant::now();
        let due: Vec<_> = self
            .starts
            .values_mut()
            .filter(|(_, since)| last || now.duration_since(*since) >= START_AFTER)
            .map(|(node, since)| {
                // Written once: the end comes to replace it, whenever that is.
                *since = now + Duration::from_secs(86_400);
                node.clone()
            })
            .collect();
        for node in due {
            self.keep(node);
        }
        while !self.backlog.is_empty() || !self.lines.is_empty() {
            let nodes: Vec<_> = self.backlog.iter().take(BATCH).cloned().collect();
            let lines: Vec<_> = self.lines.iter().take(BATCH).cloned().collect();
            let written = tokio::time::timeout(WRITE_DEADLINE, self.trees.write(&nodes, &lines)).await;
            if !matches!(written, Ok(Ok(()))) {
                if !self.away {
                    warn!(waiting = self.backlog.len(), "call trees cannot be written; they are kept and tried again");
                }
                self.tracer.backlog.store(self.backlog.len() as u64, Ordering::Relaxed);
                return false;
            }
            self.backlog.drain(..nodes.len());
            self.lines.drain(..lines.len());
            for line in &lines {
                self.tracer.forget(line.turn);
            }
        }
        // Also those whose lines did not fit.
        for turn in self.ended.drain(..) {
            self.tracer.forget(turn);
        }
        self.tracer.backlog.store(0, Ordering::Relaxed);
        true
    }

    async fn write_measures(&self) {
        let minute = crate::turn::now_ms() / 60_000;
        let measures = self.tracer.measures(minute);
        if measures.is_empty() {
            return;
        }
        let written = tokio::time::timeout(WRITE_DEADLINE, self.trees.measure(&self.boot, &measures)).await;
        if !matches!(written, Ok(Ok(()))) {
            self.tracer.unwritten(&measures);
        }
    }
}

impl Tracer {
    fn unwritten(&self, failed: &[Measure]) {
        let mut measures = self.measures.lock().unwrap_or_else(PoisonError::into_inner);
        for measure in failed {
            if let Some(counted) = measures.get_mut(&(Arc::from(measure.tool.as_str()), measure.minute)) {
                counted.changed = true;
            }
        }
    }
}

fn without_previews(node: &Node) -> Arc<Node> {
    Arc::new(Node { args: String::new(), result: String::new(), detail: String::new(), ..node.clone() })
}
