//! Events on their way to one place: in order, in batches, waiting in memory and then in a file while it is away.

use std::{
    collections::VecDeque,
    future::Future,
    io,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use contract::records::AuditEvent;
use tokio::{sync::mpsc, time::Instant};
use tracing::warn;

use super::{LEAVE_WITHIN, Sink, Way};
use crate::trace::spill::{Record, Spill};

/// Events that wait in memory; more go into the file.
pub(super) const ROOM: usize = 4_096;
/// Events that are written at once.
pub(super) const BATCH: usize = 256;
/// After a failure it is tried again after the first, then after twice as long, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];
/// A part of the room is left for calls under way when no further ones may begin: an eighth of the file, or of memory.
const SPARE: u64 = 8;

pub(super) struct Line {
    sink: Arc<dyn Sink>,
    way: Arc<Way>,
    queue: mpsc::Receiver<AuditEvent>,
    waiting: VecDeque<AuditEvent>,
    /// What memory has no room for, on its way into the file.
    over: Vec<Record>,
    spill: Option<Spill>,
    /// Of the file, bytes.
    room: u64,
    pause: Duration,
    /// By when it has to be done, once nothing more comes.
    leaves: Option<Instant>,
    told: bool,
}

impl Line {
    pub fn new(sink: Arc<dyn Sink>, way: Arc<Way>, queue: mpsc::Receiver<AuditEvent>, spill: Option<Spill>) -> Self {
        let room = spill.as_ref().map_or(0, Spill::left);
        let (waiting, over) = Default::default();
        Self { sink, way, queue, waiting, over, spill, room, pause: PAUSES[0], leaves: None, told: false }
    }

    /// Runs until nothing more comes and everything is written, or has no time left.
    pub async fn run(mut self) {
        self.on_disk(Spill::take_over).await;
        while self.next().await {
            self.spill_over().await;
            let written = if self.waiting.is_empty() { self.write_from_file().await } else { self.write().await };
            if !written && !self.rest().await {
                break;
            }
        }
        self.over.extend(self.waiting.drain(..).map(Record::Event));
        self.spill_over().await;
    }

    /// Waits until there is something to write; false when there never will be.
    async fn next(&mut self) -> bool {
        if self.waiting.is_empty() && self.spilled() == 0 {
            self.show();
            match self.queue.recv().await {
                Some(event) => self.keep(event),
                None => return false,
            }
        }
        while self.waiting.len() < BATCH {
            match self.queue.try_recv() {
                Ok(event) => self.keep(event),
                Err(_) => break,
            }
        }
        self.show();
        true
    }

    fn keep(&mut self, event: AuditEvent) {
        match self.waiting.len() < ROOM {
            true => self.waiting.push_back(event),
            false => self.over.push(Record::Event(event)),
        }
    }

    async fn write(&mut self) -> bool {
        let batch: Vec<_> = self.waiting.iter().take(BATCH).cloned().collect();
        let sink = self.sink.clone();
        let written = self.meanwhile(async { sink.write(&batch).await }).await;
        let is_well = self.is_well(written);
        if is_well {
            self.waiting.drain(..batch.len());
        }
        is_well
    }

    async fn write_from_file(&mut self) -> bool {
        let Some(batch) = self.on_disk(|spill| spill.next(BATCH)).await else {
            // A file that cannot be read is not read for ever.
            self.lose(self.spilled());
            self.on_disk(Spill::remove).await;
            return true;
        };
        let sink = self.sink.clone();
        let written = self.meanwhile(async { sink.write(&batch.events).await }).await;
        if !self.is_well(written) {
            return false;
        }
        self.lose(batch.broken);
        if self.on_disk(move |spill| spill.written(&batch)).await.is_none() {
            self.on_disk(Spill::remove).await;
        }
        true
    }

    /// Takes what comes while something else goes on; nothing when there is no time left for that.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            if self.over.len() >= BATCH {
                self.spill_over().await;
            }
            let leaves = self.leaves;
            tokio::select! {
                done = &mut work => return Some(done),
                event = self.queue.recv(), if leaves.is_none() => match event {
                    Some(event) => self.keep(event),
                    None => self.leaves = Some(Instant::now() + LEAVE_WITHIN),
                },
                () = tokio::time::sleep_until(leaves.unwrap_or_else(Instant::now)), if leaves.is_some() => return None,
            }
            self.show();
        }
    }

    fn is_well(&mut self, written: Option<Result<(), String>>) -> bool {
        match written {
            Some(Ok(())) => {
                self.pause = PAUSES[0];
                self.told = false;
                true
            }
            Some(Err(why)) => {
                self.tell(&why);
                false
            }
            None => false,
        }
    }

    fn tell(&mut self, why: &str) {
        if !self.told {
            self.told = true;
            warn!(
                to = self.way.name,
                why, "events of the audit trail cannot be written; they are kept and tried again"
            );
        }
    }

    /// After a failure; false when the gateway leaves: what waits is then left to the next process.
    async fn rest(&mut self) -> bool {
        let until = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(PAUSES[1]);
        while self.leaves.is_none() {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return true,
                event = self.queue.recv() => match event {
                    Some(event) => self.keep(event),
                    None => return false,
                },
            }
            if self.over.len() >= BATCH {
                self.spill_over().await;
            }
            self.show();
        }
        false
    }

    fn spilled(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::waiting)
    }

    /// Writes into the file what found no room; what finds none there either is lost.
    async fn spill_over(&mut self) {
        if self.over.is_empty() {
            return;
        }
        let records = std::mem::take(&mut self.over);
        let count = records.len() as u64;
        let kept = self.on_disk(move |spill| spill.append(&records)).await.unwrap_or(0) as u64;
        self.lose(count - kept);
        self.show();
    }

    fn lose(&self, count: u64) {
        self.way.lost.fetch_add(count, Ordering::Relaxed);
    }

    fn show(&self) {
        let here = (self.waiting.len() + self.over.len()) as u64;
        self.way.waiting.store(here + self.spilled(), Ordering::Relaxed);
        let is_full = match &self.spill {
            Some(spill) => spill.left() < self.room / SPARE,
            None => here > ROOM as u64 - ROOM as u64 / SPARE,
        };
        self.way.full.store(is_full, Ordering::Relaxed);
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
        done.inspect_err(|error| self.tell(&error.to_string())).ok()
    }
}
