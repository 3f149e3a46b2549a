//! Lanes: one turn at a time per session, sessions side by side.

pub(crate) mod joined;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{
    Address, SessionKey, TurnId,
    records::{Record, TurnState},
};
use futures_util::FutureExt;
use tokio::sync::{Notify, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::{
    gateway::Inner,
    indicators,
    running::Entered,
    turn::{self, Whence},
};

/// How often a lane whose answers cannot be delivered looks again.
const CROWDED_LOOK: Duration = Duration::from_millis(200);

/// Sessions that have work, each with a task of its own.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<State>);

#[derive(Default)]
struct State {
    lanes: HashMap<SessionKey, Lane>,
    /// Partitions whose unfinished turns are being read: what is accepted meanwhile waits behind them.
    taking: HashMap<u8, Vec<Record>>,
    /// Turns whose acceptance is under way here: whoever finds them in the store finds them before their first life.
    accepting: HashSet<TurnId>,
    /// What joined a turn that is not answered yet.
    joined: HashMap<TurnId, Vec<joined::Joined>>,
    /// Grows before and after unfinished turns are read.
    epoch: u64,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<(Record, Whence)>,
    current: Option<TurnId>,
    /// Something that waits was stopped.
    stopped: Arc<Notify>,
    /// Somebody was told how many wait.
    told: bool,
}

/// An acceptance under way; dropped when it is known.
pub(crate) struct Accepting<'a>(&'a Lanes, TurnId);

impl Drop for Accepting<'_> {
    fn drop(&mut self) {
        self.0.lock().accepting.remove(&self.1);
    }
}

impl Lanes {
    pub fn accepting(&self, turn: TurnId) -> Accepting<'_> {
        self.lock().accepting.insert(turn);
        Accepting(self, turn)
    }

    /// Grows whenever unfinished turns are read: what was accepted meanwhile may have been found by that reading.
    pub fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// A turn that was just accepted; `epoch` is from before that.
    pub fn accepted(inner: &Arc<Inner>, record: Record, epoch: u64) {
        let partition = record.session.partition();
        let (ours, whence) = {
            // Both are looked at under one lock: a partition is marked as being taken before its fence is set.
            let mut state = inner.lanes.lock();
            if let Some(buffer) = state.taking.get_mut(&partition) {
                buffer.push(record);
                return;
            }
            let whence = if state.epoch == epoch { Whence::New } else { Whence::Doubtful };
            (inner.fences.get(&record.session).is_some(), whence)
        };
        if ours {
            Self::push(inner, record, whence);
        }
    }

    /// A turn that is in the store and perhaps in no lane: the answer to its acceptance was lost.
    pub fn repair(inner: &Arc<Inner>, record: Record) {
        // An epoch that never was: whether it is still open is looked up when its turn comes.
        Self::accepted(inner, record, u64::MAX);
    }

    /// A turn that waited for people, and is at the front of its lane again.
    pub async fn unparked(inner: &Arc<Inner>, turn: TurnId) {
        let mut wait = Duration::from_millis(50);
        let record = loop {
            match inner.stores.turns.get(turn).await {
                Ok(record) => break record,
                // It is in the store: should we leave meanwhile, whoever comes next takes it up.
                Err(_) => tokio::select! {
                    () = tokio::time::sleep(wait) => wait = (wait * 2).min(Duration::from_secs(1)),
                    () = inner.stop.cancelled() => return,
                },
            }
        };
        let Some(record) = record.filter(|record| record.state == TurnState::Queued) else { return };
        if inner.fences.get(&record.session).is_some() {
            Self::push(inner, record, Whence::Unparked);
        }
    }

    /// From now until [`Lanes::taken`], what is accepted in the partition waits.
    pub fn taking(&self, partition: u8) {
        let mut state = self.lock();
        state.epoch += 1;
        state.taking.entry(partition).or_default();
    }

    /// The partition's unfinished turns are known: they come first, in their order.
    pub fn taken(inner: &Arc<Inner>, partition: u8, unfinished: Vec<Record>) {
        let accepted: HashSet<TurnId> = {
            let state = inner.lanes.lock();
            let buffered = state.taking.get(&partition).into_iter().flatten().map(|record| record.id);
            buffered.chain(state.accepting.iter().copied()).collect()
        };
        for record in unfinished {
            // What was accepted here meanwhile has had no life before this one.
            let whence = if accepted.contains(&record.id) { Whence::New } else { Whence::Recovered };
            if whence == Whence::Recovered {
                // The dead process may have shown that it waits or is at work: taken away at its end in any case.
                inner.indicators.shown(record.id, &record.message.address);
            }
            Self::push(inner, record, whence);
        }
        let buffered = {
            let mut state = inner.lanes.lock();
            state.epoch += 1;
            state.taking.remove(&partition).unwrap_or_default()
        };
        for record in buffered {
            Self::push(inner, record, Whence::Doubtful);
        }
    }

    /// Another process owns the partition: it takes up what waits here. Should it come back to us, what is under way
    /// is no hindrance to its being taken up anew. The turns that waited.
    pub fn lost(&self, partition: u8) -> Vec<TurnId> {
        let mut state = self.lock();
        state.taking.remove(&partition);
        let is_theirs = |record: &Record| record.session.partition() == partition;
        let joined = state.joined.extract_if(|_, joined| joined.iter().any(|j| is_theirs(j.record())));
        let mut gone: Vec<_> = joined.flat_map(|(_, joined)| joined).map(|joined| joined.record().id).collect();
        let theirs = state.lanes.iter_mut().filter(|(session, _)| session.partition() == partition);
        gone.extend(theirs.flat_map(|(_, lane)| {
            lane.current = None;
            std::mem::take(&mut lane.waiting).into_iter().map(|(record, _)| record.id)
        }));
        gone
    }

    fn push(inner: &Arc<Inner>, record: Record, whence: Whence) {
        let session = record.session.clone();
        {
            let mut state = inner.lanes.lock();
            let is_new = !state.lanes.contains_key(&session);
            let lane = state.lanes.entry(session.clone()).or_default();
            let behind = (!is_new).then(|| record.clone());
            let running = lane.current.filter(|_| matches!(whence, Whence::New | Whence::Doubtful));
            let goes_on = whence == Whence::Unparked;
            // One that goes on may still be on its way out of its lane.
            let runs = lane.current == Some(record.id) && !goes_on;
            let known = runs || lane.waiting.iter().any(|(r, _)| r.id == record.id);
            if !known {
                // From now on it can be watched.
                inner.tracer.begin(record.id);
                match goes_on {
                    true => lane.waiting.push_front((record, whence)),
                    false => lane.waiting.push_back((record, whence)),
                }
            }
            if !is_new {
                drop(state);
                if let Some(record) = behind.filter(|_| !known) {
                    running.inspect(|running| joined::behind(inner, &record, *running));
                    indicators::when_waiting(inner, record);
                }
                return;
            }
        }
        let task = inner.clone();
        inner.tasks.spawn(async move { run(&task, session).await });
    }

    /// The next turn of the lane, which can be stopped from here on; an empty lane is removed.
    fn next<'a>(&self, inner: &'a Inner, session: &SessionKey) -> Option<Next<'a>> {
        let mut state = self.lock();
        let lane = state.lanes.get_mut(session)?;
        let Some((record, whence)) = lane.waiting.pop_front() else {
            state.lanes.remove(session);
            return None;
        };
        lane.current = Some(record.id);
        let cancel = CancellationToken::new();
        let running = inner.running.enter(&record, cancel.clone());
        Some(Next { record, whence, cancel, running })
    }

    /// Whether the next turn's answer could not be delivered at present, behind so many others.
    fn is_crowded(&self, inner: &Inner, session: &SessionKey) -> bool {
        let state = self.lock();
        let next = state.lanes.get(session).and_then(|lane| lane.waiting.front());
        next.is_some_and(|(record, _)| inner.deliveries.is_crowded(&record.message.address))
    }

    /// Whether the turn waits in its lane.
    pub fn is_waiting(&self, session: &SessionKey, turn: TurnId) -> bool {
        self.lock().lanes.get(session).is_some_and(|lane| lane.waiting.iter().any(|(r, _)| r.id == turn))
    }

    /// A turn that waits in a conversation, in whichever thread, and for which `whose` holds.
    pub fn find_waiting(&self, place: &Address, whose: impl Fn(&Record) -> bool) -> Option<TurnId> {
        let key = SessionKey::of(place);
        // All but the last part, which is the thread.
        let (conversation, _) = key.as_str().rsplit_once('/')?;
        let state = self.lock();
        let here = state.lanes.iter().filter(|(session, _)| {
            session.as_str().strip_prefix(conversation).is_some_and(|thread| thread.starts_with('/'))
        });
        let mut waiting = here.flat_map(|(_, lane)| &lane.waiting);
        waiting.find(|(record, _)| whose(record)).map(|(record, _)| record.id)
    }

    /// Turns that wait in the lane, without the one that runs.
    pub fn waiting(&self, session: &SessionKey) -> usize {
        self.lock().lanes.get(session).map_or(0, |lane| lane.waiting.len())
    }

    /// Marks what waits in the lane for which `whose` holds as cancelled; their ids.
    pub fn cancel_waiting(&self, session: &SessionKey, whose: impl Fn(&Record) -> bool) -> Vec<TurnId> {
        let mut state = self.lock();
        let Some(lane) = state.lanes.get_mut(session) else { return Vec::new() };
        lane.stopped.notify_one();
        let of_theirs = lane.waiting.iter_mut().filter(|(record, _)| whose(record));
        of_theirs
            .map(|(record, _)| {
                record.cancelled = true;
                record.id
            })
            .collect()
    }

    /// What is notified when something that waits in the lane is stopped, and whether its next turn was.
    fn stopped_next(&self, session: &SessionKey) -> Option<(Arc<Notify>, bool)> {
        let state = self.lock();
        let lane = state.lanes.get(session)?;
        Some((lane.stopped.clone(), lane.waiting.front().is_some_and(|(record, _)| record.cancelled)))
    }

    pub fn count(&self) -> usize {
        self.lock().lanes.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that leaves its lane.
struct Next<'a> {
    record: Record,
    whence: Whence,
    cancel: CancellationToken,
    running: Entered<'a>,
}

/// A place among the turns that run. One that was stopped needs none: it does nothing but say so. Nothing when we leave.
async fn place<'a>(inner: &'a Inner, session: &SessionKey) -> Option<Option<SemaphorePermit<'a>>> {
    loop {
        let stopped = inner.lanes.stopped_next(session);
        let (stopped, is_next) = stopped.unwrap_or_default();
        if is_next {
            return Some(None);
        }
        tokio::select! {
            biased;
            place = inner.places.acquire() => return place.ok().map(Some),
            () = stopped.notified() => {}
        }
    }
}

async fn run(inner: &Arc<Inner>, session: SessionKey) {
    loop {
        // Then the lane fills, and people are told that it is full.
        while inner.lanes.is_crowded(inner, &session) && !inner.stop.is_cancelled() {
            tokio::time::sleep(CROWDED_LOOK).await;
        }
        let Some(_place) = place(inner, &session).await else { return };
        // A turn that still waits when we leave stays in the store; the next owner takes it up.
        if inner.stop.is_cancelled() {
            return;
        }
        let Some(Next { record, whence, cancel, running }) = inner.lanes.next(inner, &session) else { return };
        let turn = record.id;
        // In a place of its own: a lane waits much longer than it runs.
        let turning = Box::pin(turn::run(inner, record, whence, cancel));
        if AssertUnwindSafe(turning).catch_unwind().await.is_err() {
            // It is in the store and taken up at the next start; those behind it go on.
            error!(%turn, "a turn panicked outside of its answer");
            inner.tracer.forget(turn);
        }
        drop(running);
        indicators::ended(inner, turn);
    }
}
