//! Which turns have a sign of life shown beside messages, so that it is taken away again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{Address, Audience, Indicator, Reply, TurnId, records::Record};

use crate::{delivery, gateway::Inner, show};

/// A message that waits no longer than this in its lane shows nothing.
const WAITING_AFTER: Duration = Duration::from_secs(1);
/// How much longer it waits before it is told how many are before it.
const TOLD_AFTER: Duration = Duration::from_secs(10);
/// Most time that a platform has for showing one.
const DEADLINE: Duration = Duration::from_secs(10);
/// Most time for taking all of them away when the gateway leaves.
const LEAVING: Duration = Duration::from_secs(3);

/// Turns with an indicator, each in this process: no more than wait and run.
#[derive(Default)]
pub(crate) struct Indicators(Mutex<HashMap<TurnId, Address>>);

impl Indicators {
    /// Something is shown for the turn, or about to be.
    pub fn shown(&self, turn: TurnId, to: &Address) {
        self.lock().entry(turn).or_insert_with(|| to.clone());
    }

    fn holds(&self, turn: TurnId) -> bool {
        self.lock().contains_key(&turn)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TurnId, Address>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message was put behind others: shown when it still waits after a moment, and told when it waits long.
pub(crate) fn when_waiting(inner: &Arc<Inner>, record: Record) {
    let Record { id: turn, session, caller, message, .. } = record;
    let to = message.address.clone();
    if to.platform.is_pull() {
        return;
    }
    let (inner, tasks) = (inner.clone(), inner.tasks.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(WAITING_AFTER) => {}
            () = inner.stop.cancelled() => return,
        }
        if !inner.lanes.is_waiting(&session, turn) {
            return;
        }
        inner.indicators.shown(turn, &to);
        indicate(&inner, &to, Indicator::Waiting).await;
        // It ended while this was being shown: what took it away may have come too early.
        if !inner.indicators.holds(turn) {
            indicate(&inner, &to, Indicator::Clear).await;
        }
        tokio::select! {
            () = tokio::time::sleep(TOLD_AFTER) => {}
            () = inner.stop.cancelled() => return,
        }
        if let Some(before) = inner.lanes.is_to_be_told(&session, turn) {
            let locale = inner.snapshot.load().locale(&message, &caller);
            let audience = if show::can_be_private(&inner, &to) { Audience::Sender } else { Audience::Everyone };
            let words = Reply { locale, audience, ..Reply::text(words::waits_behind(before, locale)) };
            delivery::say_once(&inner, &to, words);
        }
    });
}

/// The turn has ended: what was shown is taken away, beside the answer.
pub(crate) fn ended(inner: &Arc<Inner>, turn: TurnId) {
    let Some(to) = inner.indicators.lock().remove(&turn) else { return };
    let (inner, tasks) = (inner.clone(), inner.tasks.clone());
    tasks.spawn(async move { indicate(&inner, &to, Indicator::Clear).await });
}

/// The gateway leaves: nothing looks as if it were at work.
pub(crate) async fn clear_all(inner: &Inner) {
    let all: Vec<_> = inner.indicators.lock().drain().map(|(_, to)| to).collect();
    let clearing = futures_util::future::join_all(all.iter().map(|to| indicate(inner, to, Indicator::Clear)));
    // What is not taken away in time stays: the platform may be away.
    let _ = tokio::time::timeout(LEAVING, clearing).await;
}

async fn indicate(inner: &Inner, to: &Address, indicator: Indicator) {
    let Some(connected) = inner.outlet(to) else { return };
    // Best effort: the adapter says in its log what went wrong.
    let _ = tokio::time::timeout(DEADLINE, connected.outlet.indicate(to, indicator)).await;
}
