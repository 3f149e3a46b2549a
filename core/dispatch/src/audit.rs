//! The audit trail: one event for each call that ended, to wherever it was asked for.
//!
//! A call pays nothing for it but the record that its node is anyway: the flusher of call trees makes the events and
//! hands them to one [`line`] for each place, so that a slow place delays neither calls nor the other places.

mod facade;
mod line;

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use contract::{
    CallId, Node, TurnId,
    records::{Audit, AuditEvent},
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::trace::{
    Whose,
    spill::{ROOM, Spill},
};
pub use facade::Guarded;
use line::Line;

/// Events on their way to one place.
const QUEUE: usize = 8_192;
/// How long the event of a call that failed waits for what a model is told of it.
const TOLD_WITHIN: Duration = Duration::from_secs(10);
/// How long the last events may take when the gateway leaves.
const LEAVE_WITHIN: Duration = Duration::from_secs(4);
/// How long the store may take for a batch.
const STORE_WITHIN: Duration = Duration::from_secs(5);

/// A place for events. A batch that was not taken comes again, perhaps in parts.
#[async_trait]
pub trait Sink: Send + Sync {
    fn name(&self) -> &'static str;

    /// All of them, or why not.
    async fn write(&self, events: &[AuditEvent]) -> Result<(), String>;
}

/// Where events go, and whether calls may run that leave none.
#[derive(Clone, Default)]
pub struct AuditTo {
    pub sinks: Vec<Arc<dyn Sink>>,
    /// Into the gateway's store too.
    pub store: bool,
    /// Calls are refused while a place is away and there is no more room for its events.
    pub required: bool,
    /// What the names of the files begin with in which events wait for a place, each at most 64 MiB.
    pub spill: Option<PathBuf>,
}

impl fmt::Debug for AuditTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.sinks.iter().map(|sink| sink.name()).collect();
        f.debug_struct("AuditTo").field("sinks", &names).field("required", &self.required).finish_non_exhaustive()
    }
}

/// How one place fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHealth {
    pub name: &'static str,
    pub waiting: u64,
    /// Since the start.
    pub lost: u64,
    pub is_full: bool,
}

impl AuditTo {
    /// With the store among the places, where that is wanted.
    pub(crate) fn within(mut self, store: &Arc<dyn Audit>) -> Self {
        if self.store {
            self.sinks.push(Arc::new(StoreSink(store.clone())));
        }
        self
    }
}

/// Events into a store.
struct StoreSink(Arc<dyn Audit>);

#[async_trait]
impl Sink for StoreSink {
    fn name(&self) -> &'static str {
        "store"
    }

    async fn write(&self, events: &[AuditEvent]) -> Result<(), String> {
        match tokio::time::timeout(STORE_WITHIN, self.0.audit(events)).await {
            Ok(written) => written.map_err(|down| down.to_string()),
            Err(_) => Err("the store does not answer in time".into()),
        }
    }
}

/// What everybody may know of the trail.
pub(crate) struct Trail {
    required: bool,
    ways: Vec<Arc<Way>>,
}

/// How the events of one place fare.
struct Way {
    name: &'static str,
    waiting: AtomicU64,
    lost: AtomicU64,
    full: AtomicBool,
}

impl Trail {
    pub fn of(to: &AuditTo) -> Self {
        let way = |sink: &Arc<dyn Sink>| {
            let (waiting, lost, full) = Default::default();
            Arc::new(Way { name: sink.name(), waiting, lost, full })
        };
        Self { required: to.required, ways: to.sinks.iter().map(way).collect() }
    }

    /// Whether no call may begin, since its event could not be kept.
    pub fn refuses(&self) -> bool {
        self.required && self.ways.iter().any(|way| way.full.load(Ordering::Relaxed))
    }

    pub fn health(&self) -> Vec<AuditHealth> {
        let of = |way: &Arc<Way>| AuditHealth {
            name: way.name,
            waiting: way.waiting.load(Ordering::Relaxed),
            lost: way.lost.load(Ordering::Relaxed),
            is_full: way.full.load(Ordering::Relaxed),
        };
        self.ways.iter().map(of).collect()
    }
}

/// Makes the events; owned by the flusher of call trees.
pub(crate) struct Writer {
    /// Until they are started.
    unstarted: Vec<Line>,
    running: JoinSet<()>,
    queues: Vec<(Arc<Way>, mpsc::Sender<AuditEvent>)>,
    held: HashMap<TurnId, Vec<Held>>,
    looked: Instant,
}

/// A call that failed, until a model was told of it.
struct Held {
    node: Arc<Node>,
    whose: Arc<Whose>,
    since: Instant,
}

impl Writer {
    pub fn new(trail: &Trail, to: &AuditTo) -> Self {
        let mut writer = Self {
            unstarted: Vec::new(),
            running: JoinSet::new(),
            queues: Vec::new(),
            held: HashMap::new(),
            looked: Instant::now(),
        };
        for (way, sink) in trail.ways.iter().zip(&to.sinks) {
            let (queue, events) = mpsc::channel(QUEUE);
            let spill = to.spill.as_ref().map(|path| {
                let mut name = path.as_os_str().to_owned();
                name.push(format!(".{}", sink.name()));
                Spill::new(name.into(), ROOM)
            });
            writer.queues.push((way.clone(), queue));
            writer.unstarted.push(Line::new(sink.clone(), way.clone(), events, spill));
        }
        writer
    }

    pub fn start(&mut self) {
        for line in self.unstarted.drain(..) {
            self.running.spawn(line.run());
        }
    }

    /// A call ended; or, without a place, more is known of one that ended before.
    pub fn ended(&mut self, node: &Arc<Node>, whose: Option<Arc<Whose>>) {
        if self.queues.is_empty() {
            return;
        }
        match whose {
            Some(whose) if node.code.is_none() || self.held.len() >= QUEUE => self.write(node, &whose),
            Some(whose) => {
                let held = Held { node: node.clone(), whose, since: Instant::now() };
                self.held.entry(node.turn).or_default().push(held);
            }
            None if !node.told.is_empty() => self.told(node),
            None => {}
        }
    }

    fn told(&mut self, node: &Arc<Node>) {
        let Some(whose) = self.take_held(node.turn, node.call) else { return };
        self.write(node, &whose);
    }

    fn take_held(&mut self, turn: TurnId, call: CallId) -> Option<Arc<Whose>> {
        let calls = self.held.get_mut(&turn)?;
        let at = calls.iter().position(|held| held.node.call == call)?;
        let held = calls.swap_remove(at);
        if calls.is_empty() {
            self.held.remove(&turn);
        }
        Some(held.whose)
    }

    pub fn turn_ended(&mut self, turn: TurnId) {
        for held in self.held.remove(&turn).unwrap_or_default() {
            self.write(&held.node, &held.whose);
        }
    }

    /// What waited long enough, or all of it.
    pub fn pass_on(&mut self, all: bool) {
        if self.held.is_empty() || (!all && self.looked.elapsed() < Duration::from_secs(1)) {
            return;
        }
        self.looked = Instant::now();
        let late = |held: &Held| all || held.since.elapsed() >= TOLD_WITHIN;
        let due: Vec<_> = self.held.iter().filter(|(_, held)| held.iter().any(late)).map(|(turn, _)| *turn).collect();
        for turn in due {
            self.turn_ended(turn);
        }
    }

    fn write(&self, node: &Node, whose: &Whose) {
        let event = AuditEvent::of(node, &whose.place);
        for (way, queue) in &self.queues {
            if queue.try_send(event.clone()).is_err() {
                way.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Waits a little until the last events are written; what no place takes waits in its file.
    pub async fn leave(mut self) {
        self.queues.clear();
        let all = async { while self.running.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LEAVE_WITHIN + Duration::from_secs(1), all).await;
    }
}

#[cfg(test)]
mod tests;
