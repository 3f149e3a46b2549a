//! Takes records from the queue and writes them to the store, in batches and behind the turns.

use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use contract::{
    CallId, Node, TurnId,
    records::{Trees, TurnLine},
};
use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    QUEUE, Trace, Tracer,
    spill::{Record, Spill},
};
use crate::audit::Writer;

const BATCH: usize = 128;
/// Batches that are written side by side: a store that takes whatever waits makes one commit of them.
const BATCHES_AT_ONCE: usize = 8;
const GATHER: Duration = Duration::from_millis(20);
const WRITE_DEADLINE: Duration = Duration::from_secs(3);
/// A call that still runs after this time gets a start record.
const START_AFTER: Duration = Duration::from_millis(250);
/// Ended turns that are kept in memory until their tree is written.
const ENDED_MAX: usize = 1_024;
/// Batches that are read back between two looks at the queue, so that it does not run full meanwhile.
const REPLAYED_AT_ONCE: usize = 8;

/// Writes records behind.
pub struct Flusher {
    tracer: Arc<Tracer>,
    trees: Arc<dyn Trees>,
    boot: String,
    records: mpsc::Receiver<Trace>,
    /// Calls that were written as running; their ends come to replace that.
    shown: HashSet<(TurnId, CallId)>,
    looked: Instant,
    backlog: VecDeque<Arc<Node>>,
    lines: VecDeque<TurnLine>,
    ended: VecDeque<TurnId>,
    away: bool,
    /// What memory has no room for, on its way into the file.
    over: Vec<Record>,
    spill: Option<Spill>,
    /// What the file holds is of an earlier life, so it is written before what is new.
    earlier: bool,
    told: bool,
    audit: Writer,
}

impl Flusher {
    pub(super) fn new(
        tracer: Arc<Tracer>,
        trees: Arc<dyn Trees>,
        boot: String,
        records: mpsc::Receiver<Trace>,
        spill: Option<Spill>,
        audit: Writer,
    ) -> Self {
        Self {
            tracer,
            trees,
            boot,
            records,
            shown: HashSet::new(),
            looked: Instant::now(),
            backlog: VecDeque::new(),
            lines: VecDeque::new(),
            ended: VecDeque::new(),
            away: false,
            over: Vec::new(),
            spill,
            earlier: false,
            told: false,
            audit,
        }
    }

    /// Runs until `stop`, then writes what is left.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut measured = Instant::now();
        let mut retry_at = Instant::now();
        self.take_over().await;
        self.audit.start();
        loop {
            let stopping = self.gather(&stop).await;
            self.audit.pass_on(stopping);
            self.spill_over().await;
            if Instant::now() >= retry_at || stopping {
                self.flush(stopping).await;
                retry_at = Instant::now() + if self.away { Duration::from_millis(500) } else { Duration::ZERO };
            }
            if (measured.elapsed() >= Duration::from_secs(1) || stopping) && !self.away {
                measured = Instant::now();
                self.write_measures().await;
            }
            if stopping {
                return self.leave().await;
            }
        }
    }

    /// What an earlier process left in the file comes first.
    async fn take_over(&mut self) {
        self.on_disk(Spill::take_over).await;
        self.earlier = self.spilled() > 0;
        self.show_waiting();
    }

    /// What the store did not take is left to the next process.
    async fn leave(mut self) {
        let nodes = self.backlog.drain(..).map(Record::Node);
        self.over.extend(nodes.chain(self.lines.drain(..).map(Record::Line)));
        self.spill_over().await;
        self.audit.leave().await;
    }

    fn spilled(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::waiting)
    }

    fn show_waiting(&self) {
        let here = if self.away { self.backlog.len() as u64 } else { 0 };
        self.tracer.backlog.store(here + self.spilled(), Ordering::Relaxed);
    }

    /// Writes into the file what found no room; what finds none there either is lost.
    async fn spill_over(&mut self) {
        if self.over.is_empty() {
            return;
        }
        let records = std::mem::take(&mut self.over);
        let count = records.len() as u64;
        let kept = self.on_disk(move |spill| spill.append(&records)).await.unwrap_or(0) as u64;
        self.lost(count - kept);
        self.show_waiting();
    }

    fn lost(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        self.tracer.dropped.fetch_add(count, Ordering::Relaxed);
        if !self.told {
            self.told = true;
            warn!("records of call trees are lost: the store is away and there is no more room for them");
        }
    }

    /// Work on the file, off the runtime. Nothing when there is no file or it could not be done.
    async fn on_disk<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Spill) -> io::Result<T> + Send + 'static,
    ) -> Option<T> {
        let mut spill = self.spill.take()?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work(&mut spill);
            (spill, done)
        });
        let (spill, done) = working.await.ok()?;
        self.spill = Some(spill);
        done.inspect_err(|error| {
            if !self.told {
                self.told = true;
                warn!(%error, "the file of records that wait for the store cannot be used");
            }
        })
        .ok()
    }

    /// Writes some of what is in the file; false when the store is away.
    async fn replay(&mut self) -> bool {
        for _ in 0..REPLAYED_AT_ONCE {
            if self.spilled() == 0 {
                break;
            }
            let Some(batch) = self.on_disk(|spill| spill.next(BATCH)).await else {
                self.give_up().await;
                break;
            };
            if !self.write(&batch.nodes, &batch.lines).await {
                return false;
            }
            self.lost(batch.broken);
            for line in &batch.lines {
                self.tracer.forget(line.turn);
            }
            if self.on_disk(move |spill: &mut Spill| spill.written(&batch)).await.is_none() {
                self.give_up().await;
            }
        }
        self.earlier &= self.spilled() > 0;
        true
    }

    /// A file that cannot be read is not read for ever.
    async fn give_up(&mut self) {
        self.lost(self.spilled());
        self.on_disk(Spill::remove).await;
    }

    async fn write(&self, nodes: &[Arc<Node>], lines: &[TurnLine]) -> bool {
        let written = tokio::time::timeout(WRITE_DEADLINE, self.trees.write(nodes, lines)).await;
        matches!(written, Ok(Ok(())))
    }

    /// Takes what comes for 20 ms or until a batch is full. True when it is time to stop.
    async fn gather(&mut self, stop: &CancellationToken) -> bool {
        let idle = if self.backlog.is_empty() && self.spilled() == 0 { START_AFTER } else { GATHER };
        let first = tokio::select! {
            first = self.records.recv() => first,
            () = tokio::time::sleep(idle) => return false,
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
        while taken < BATCH * BATCHES_AT_ONCE {
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
            Trace::End(node, whose) => {
                self.audit.ended(&node, whose);
                self.keep(node);
            }
            Trace::Turn(line) => {
                self.audit.turn_ended(line.turn);
                self.ended.push_back(line.turn);
                while self.ended.len() > ENDED_MAX {
                    if let Some(turn) = self.ended.pop_front() {
                        self.tracer.forget(turn);
                    }
                }
                if self.lines.len() >= QUEUE {
                    self.over.push(Record::Line(*line));
                } else {
                    self.lines.push_back(*line);
                }
            }
        }
    }

    /// Past half of its room the backlog loses previews; what it has no room for goes into the file.
    fn keep(&mut self, node: Arc<Node>) {
        let node = if self.backlog.len() >= QUEUE / 2 { without_previews(&node) } else { node };
        if self.backlog.len() >= QUEUE {
            self.over.push(Record::Node(node));
        } else {
            self.backlog.push_back(node);
        }
    }

    /// Writes everything that waits; false when the store is away.
    async fn flush(&mut self, last: bool) -> bool {
        self.keep_starts(last);
        let done = self.flush_in_order(last).await;
        if !done && !self.away {
            warn!(waiting = self.backlog.len(), "call trees cannot be written; they are kept and tried again");
        }
        self.away = !done;
        self.told &= self.away;
        self.show_waiting();
        done
    }

    /// Oldest first: a later record replaces an earlier one.
    async fn flush_in_order(&mut self, last: bool) -> bool {
        if self.earlier && !last {
            if !self.replay().await {
                return false;
            }
            if self.earlier {
                return true;
            }
        }
        self.flush_memory().await && (last || self.replay().await)
    }

    /// Calls that run for a while are shown as running. Such a record never goes into the file, where it could come
    /// behind the call's end.
    fn keep_starts(&mut self, all: bool) {
        if !all && self.looked.elapsed() < START_AFTER {
            return;
        }
        self.looked = Instant::now();
        let running = self.tracer.running(if all { Duration::ZERO } else { START_AFTER });
        let mut still = HashSet::with_capacity(running.len());
        for node in running {
            let key = (node.turn, node.call);
            let known = self.shown.contains(&key);
            if known || self.backlog.len() < QUEUE {
                still.insert(key);
            }
            if !known && self.backlog.len() < QUEUE {
                self.keep(node);
            }
        }
        self.shown = still;
    }

    async fn flush_memory(&mut self) -> bool {
        while !self.backlog.is_empty() || !self.lines.is_empty() {
            let most = BATCH * BATCHES_AT_ONCE;
            let nodes: Vec<_> = self.backlog.iter().take(most).cloned().collect();
            let lines: Vec<_> = self.lines.iter().take(most).cloned().collect();
            let chunks = nodes.len().max(lines.len()).div_ceil(BATCH);
            let writes = (0..chunks).map(|n| self.write(chunk(&nodes, n), chunk(&lines, n)));
            if !join_all(writes).await.into_iter().all(|written| written) {
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

fn chunk<T>(all: &[T], n: usize) -> &[T] {
    all.chunks(BATCH).nth(n).unwrap_or_default()
}

fn without_previews(node: &Node) -> Arc<Node> {
    Arc::new(Node { args: String::new(), result: String::new(), detail: String::new(), ..node.clone() })
}

#[cfg(test)]
mod tests;
