//! Lanes: one turn at a time per session, sessions side by side.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use contract::{SessionKey, TurnId, records::Record};

use crate::{gateway::Inner, turn};

/// Sessions that have work, each with a task of its own.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<State>);

#[derive(Default)]
struct State {
    lanes: HashMap<SessionKey, Lane>,
    /// Partitions whose unfinished turns are being read: what is accepted meanwhile waits behind them.
    taking: HashMap<u8, Vec<Record>>,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<(Record, bool)>,
    current: Option<TurnId>,
}

impl Lanes {
    /// A turn that was just accepted. The caller has seen that its partition is ours or being taken.
    pub fn accepted(inner: &Arc<Inner>, record: Record) {
        let partition = record.session.partition();
        let ours = {
            // Both are looked at under one lock: a partition is marked as being taken before its fence is set.
            let mut state = inner.lanes.lock();
            if let Some(buffer) = state.taking.get_mut(&partition) {
                buffer.push(record);
                return;
            }
            inner.fences.get(&record.session).is_some()
        };
        if ours {
            Self::push(inner, record, false);
        }
    }

    /// From now until [`Lanes::taken`], what is accepted in the partition waits.
    pub fn taking(&self, partition: u8) {
        self.lock().taking.entry(partition).or_default();
    }

    /// The partition's unfinished turns are known: they come first, in their order.
    pub fn taken(inner: &Arc<Inner>, partition: u8, unfinished: Vec<Record>) {
        for record in unfinished {
            Self::push(inner, record, true);
        }
        let buffered = inner.lanes.lock().taking.remove(&partition).unwrap_or_default();
        for record in buffered {
            Self::push(inner, record, false);
        }
    }

    fn push(inner: &Arc<Inner>, record: Record, recovered: bool) {
        let session = record.session.clone();
        // From now on it can be watched.
        inner.tracer.begin(record.id);
        {
            let mut state = inner.lanes.lock();
            let is_new = !state.lanes.contains_key(&session);
            let lane = state.lanes.entry(session.clone()).or_default();
            let known = lane.current == Some(record.id) || lane.waiting.iter().any(|(r, _)| r.id == record.id);
            if !known {
                lane.waiting.push_back((record, recovered));
            }
            if !is_new {
                return;
            }
        }
        let task = inner.clone();
        inner.tasks.spawn(async move { run(&task, session).await });
    }

    /// The next turn of the lane; an empty lane is removed.
    fn next(&self, session: &SessionKey) -> Option<(Record, bool)> {
        let mut state = self.lock();
        let lane = state.lanes.get_mut(session)?;
        let next = lane.waiting.pop_front();
        match &next {
            Some((record, _)) => lane.current = Some(record.id),
            None => {
                state.lanes.remove(session);
            }
        }
        next
    }

    /// Turns that wait in the lane, without the one that runs.
    pub fn waiting(&self, session: &SessionKey) -> usize {
        self.lock().lanes.get(session).map_or(0, |lane| lane.waiting.len())
    }

    /// Marks what waits in the lane for which `whose` holds as cancelled; their ids.
    pub fn cancel_waiting(&self, session: &SessionKey, whose: impl Fn(&Record) -> bool) -> Vec<TurnId> {
        let mut state = self.lock();
        let Some(lane) = state.lanes.get_mut(session) else { return Vec::new() };
        let of_theirs = lane.waiting.iter_mut().filter(|(record, _)| whose(record));
        of_theirs
            .map(|(record, _)| {
                record.cancelled = true;
                record.id
            })
            .collect()
    }

    pub fn count(&self) -> usize {
        self.lock().lanes.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(inner: &Arc<Inner>, session: SessionKey) {
    // A turn that still waits when we leave stays in the store; the next owner takes it up.
    while !inner.stop.is_cancelled() {
        let Ok(_place) = inner.places.acquire().await else { return };
        let Some((record, recovered)) = inner.lanes.next(&session) else { return };
        turn::run(inner, record, recovered).await;
    }
}
