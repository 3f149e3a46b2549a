//! Holds the partitions, and takes up what a dead process left in them.

use std::{collections::HashSet, sync::Arc, time::Duration};

use contract::{
    Failure, NodeKind, Notice, Reply, SessionKey, State, TurnId,
    records::{Change, End, Entry, Owned, RENEW, Record, TurnState},
    seams::{Condition, Fence},
};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::{info, warn};

use crate::{
    approval, delivery,
    gateway::Inner,
    indicators,
    invoke::INVOKED,
    lane,
    lane::Lanes,
    mend,
    turn::{end_unrun, persist},
};

/// How soon a missing partition or store is looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The fence of each partition that is ours; zero where it is not.
pub(crate) struct Fences([AtomicU64; contract::ids::PARTITIONS as usize]);

impl Default for Fences {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Fences {
    pub fn get(&self, session: &SessionKey) -> Option<Fence> {
        self.of(session.partition())
    }

    fn of(&self, partition: u8) -> Option<Fence> {
        let fence = self.0.get(usize::from(partition))?.load(Ordering::Acquire);
        (fence > 0).then_some(Fence(fence))
    }

    fn set(&self, partition: u8, fence: Option<Fence>) {
        if let Some(slot) = self.0.get(usize::from(partition)) {
            slot.store(fence.map_or(0, |f| f.0), Ordering::Release);
        }
    }

    pub fn held(&self) -> usize {
        self.0.iter().filter(|f| f.load(Ordering::Relaxed) > 0).count()
    }
}

/// Takes and renews partitions until the gateway leaves, and gives them back.
pub(crate) async fn hold(inner: Arc<Inner>) {
    let mut swept = tokio::time::Instant::now();
    loop {
        let holding = inner.stores.turns.hold().await;
        let is_away = holding.is_err();
        match holding {
            Ok(owned) => {
                inner.health.set("store", Condition::Ready);
                take(&inner, &owned).await;
            }
            Err(down) => inner.health.set("store", Condition::Degraded(down.to_string())),
        }
        if swept.elapsed() > Duration::from_secs(60) {
            swept = tokio::time::Instant::now();
            if let Err(error) = inner.stores.turns.sweep().await {
                warn!(%error, "old records were not swept");
            }
            let retention = inner.snapshot.load().policies.retention();
            if let Err(error) = inner.stores.sessions.retain(&retention).await {
                warn!(%error, "silent sessions were not swept");
            }
        }
        // Whoever waits for a partition, or for the store, sees soon that it is there.
        let next = if inner.fences.held() == 0 || is_away { LOOK_AGAIN } else { RENEW };
        tokio::select! {
            () = tokio::time::sleep(next) => {}
            () = inner.left.cancelled() => break,
        }
    }
    if let Err(error) = inner.stores.turns.let_go().await {
        warn!(%error, "partitions were not given back; they free themselves");
    }
}

/// Compares what we hold now with what we held.
async fn take(inner: &Arc<Inner>, owned: &[Owned]) {
    for partition in 0..contract::ids::PARTITIONS {
        let now = owned.iter().find(|o| o.partition == partition).map(|o| o.fence);
        let before = inner.fences.of(partition);
        if now == before && now.is_some() {
            continue;
        }
        if before.is_some() {
            warn!(partition, "another process owns this partition, or owned it meanwhile");
            inner.fences.set(partition, None);
        }
        // Also what waited for a reading that failed before the partition went to another process.
        if now.is_none() || before.is_some() {
            let parked = inner.approvals.lost(partition);
            for turn in inner.lanes.lost(partition).into_iter().chain(parked) {
                inner.tracer.forget(turn);
                // Whoever has it now shows its own.
                indicators::ended(inner, turn);
            }
        }
        if let Some(fence) = now {
            take_up(inner, partition, fence).await;
        }
    }
}

async fn take_up(inner: &Arc<Inner>, partition: u8, fence: Fence) {
    // What is accepted from here on waits behind what is found.
    inner.lanes.taking(partition);
    inner.fences.set(partition, Some(fence));
    let unfinished = match inner.stores.turns.unfinished(partition).await {
        Ok(unfinished) => unfinished,
        Err(error) => {
            warn!(partition, %error, "unfinished turns cannot be read; tried again");
            inner.fences.set(partition, None);
            return;
        }
    };
    if !unfinished.is_empty() {
        info!(partition, turns = unfinished.len(), "taking up unfinished turns");
    }
    let is_open = |record: &&Record| matches!(record.state, TurnState::Queued | TurnState::Running | TurnState::Parked);
    let open: HashSet<_> = unfinished.iter().filter(is_open).map(|record| record.id).collect();
    let (mut waiting, mut answered, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    for record in unfinished {
        match record.state {
            TurnState::Answered => answered.push(record),
            TurnState::Parked => approval::found(inner, fence, record),
            TurnState::Merged(into) => joined.push((into, record)),
            TurnState::Done => {}
            TurnState::Queued | TurnState::Running if record.session.as_str().starts_with(INVOKED) => {
                // Not one whose client waits here for it.
                if !inner.running.holds(record.id) {
                    end_invoked(inner, fence, record);
                }
            }
            TurnState::Queued | TurnState::Running => waiting.push(record),
        }
    }
    // A store may list them by when they are due: one that waits would come behind those that wait for it.
    answered.sort_by_key(|record| record.id);
    for record in answered {
        mend::tree_of_answered(inner, &record);
        delivery::resume(inner, &record, fence);
    }
    joined.sort_by_key(|(_, record)| record.id);
    lane::joined::found(inner, fence, joined, &open);
    Lanes::taken(inner, partition, waiting);
    // What was due meanwhile runs at once.
    inner.schedules.notify_one();
}

/// A call by itself whose client is gone: never run again, record and tree say what is known.
fn end_invoked(inner: &Arc<Inner>, fence: Fence, record: Record) {
    let (inner, tasks) = (inner.clone(), inner.tasks.clone());
    tasks.spawn(async move {
        let reply = what_is_known(&record);
        let changes = [
            Change::Finish { reply: reply.clone(), deliveries: Vec::new(), item: None },
            Change::Done { keep_message: false, keep_reply: true },
        ];
        // When it is not ours any more, the new owner ends it.
        if persist(&inner, fence, &record, &changes).await.is_ok() {
            let is_open = record.journal.iter().any(|entry| entry.end.is_none() || entry.job().is_some());
            let state = if is_open { State::Unknown } else { State::Interrupted };
            end_calls(&inner, record.id, state).await;
            end_unrun(&inner, &record, state, reply);
        }
    });
}

fn what_is_known(record: &Record) -> Reply {
    let failure = match record.journal.first() {
        Some(Entry { end: Some(End::Ok(value)), .. }) => return Reply::text(crate::summary::summary(value)),
        Some(Entry { end: Some(End::Failed(failure)), .. }) => failure.clone(),
        Some(Entry { end: None | Some(End::Job(_)), tool, at_ms, .. }) => Failure::outcome_unknown(tool, *at_ms),
        None => crate::call::not_started("we were interrupted"),
    };
    Reply::notice(Notice::of(&failure, None, Some(record.id)))
}

/// Nothing of the turn runs any more.
async fn end_calls(inner: &Inner, turn: TurnId, state: State) {
    let live = inner.tracer.begin(turn);
    let nodes = inner.tree(turn).await.unwrap_or_default();
    for mut node in nodes.into_iter().filter(|n| n.state == State::Running && n.kind != NodeKind::Turn) {
        node.state = state;
        inner.tracer.ended_earlier(&live, &Arc::new(node));
    }
}
