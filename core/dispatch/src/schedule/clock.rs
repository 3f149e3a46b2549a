//! Wakes for the schedule that is due next and has its run accepted. Whoever owns a schedule's partition acts; should two
//! think that they do, or one die in between, the run is still one: it is accepted under the schedule and its due time.

use std::{sync::Arc, time::Duration};

use contract::{
    StoreDown,
    records::{Missed, Put, Ran, Schedule, TurnState, When},
};
use tracing::{info, warn};

use super::{make, when};
use crate::{gateway::Inner, turn::now_ms};

/// Most that are looked at together; the others come directly behind them.
const AT_ONCE: usize = 64;
/// The store is asked at least this often: another process may have made a schedule, and clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// As late as this it is not missed.
const ON_TIME: u64 = 60_000;
/// What was missed longer ago is not made up for.
const GRACE: u64 = 60 * 60 * 1_000;

/// Keeps the time until the gateway leaves.
pub(crate) async fn keep(inner: Arc<Inner>) {
    loop {
        let wait = match inner.fences.held() {
            0 => LOOK_AGAIN,
            _ => match look(&inner).await {
                Ok(Some(next_ms)) => Duration::from_millis(next_ms.saturating_sub(now_ms())).min(LOOK_EVERY),
                Ok(None) => LOOK_EVERY,
                Err(down) => {
                    warn!(cause = %down, "schedules cannot be read; tried again");
                    LOOK_AGAIN
                }
            },
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = inner.schedules.notified() => {}
            () = inner.stop.cancelled() => return,
        }
    }
}

/// Has accepted what is due; when the next is.
async fn look(inner: &Arc<Inner>) -> Result<Option<u64>, StoreDown> {
    let now = now_ms();
    let mut again = None;
    for schedule in inner.stores.schedules.due(AT_ONCE).await? {
        let Some(due) = schedule.next_ms else { continue };
        if due > now {
            return Ok(Some(due));
        }
        if inner.fences.get(&schedule.id.session()).is_some() && !inner.stop.is_cancelled() {
            fire(inner, schedule, due, now).await?;
            again = Some(now);
        }
    }
    // Further ones may be due by now, or wait behind those of another process.
    Ok(again)
}

async fn fire(inner: &Arc<Inner>, mut schedule: Schedule, due: u64, now: u64) -> Result<(), StoreDown> {
    let ran = match run_for(&schedule, due, now) {
        Some(due_ms) if !is_still_running(inner, &schedule).await? => {
            let turn = make::accept(inner, &schedule, &due_ms.to_string()).await?;
            turn.map(|turn| Ran { due_ms, turn })
        }
        _ => None,
    };
    match ran {
        Some(ran) => info!(schedule = %schedule.id, turn = %ran.turn, due_ms = ran.due_ms, "schedule runs"),
        None => {
            schedule.left_out += 1;
            warn!(schedule = %schedule.id, due_ms = due, "a run of a schedule was left out");
        }
    }
    schedule.last = ran.or(schedule.last);
    schedule.next_ms = when::next(&schedule.when, &when::zone_of(&schedule), now.max(due));
    schedule.version += 1;
    if inner.stores.schedules.put(&schedule).await? == Put::Late {
        // Somebody changed it meanwhile. Should it be due still, its run is the one that was accepted.
        info!(schedule = %schedule.id, "a schedule was changed while it was due");
    }
    Ok(())
}

/// The time for which it runs; nothing when that is over.
fn run_for(schedule: &Schedule, due: u64, now: u64) -> Option<u64> {
    if now - due <= ON_TIME {
        return Some(due);
    }
    let latest = match (schedule.missed, &schedule.when) {
        (Missed::Skip, _) => None,
        (Missed::Latest, When::At { .. }) => Some(due),
        (Missed::Latest, when) => when::latest(when, &when::zone_of(schedule), now).map(|latest| latest.max(due)),
    };
    latest.filter(|latest| now - latest <= GRACE)
}

/// Whether the run before waits, or is under way: two at once would only be in each other's way.
async fn is_still_running(inner: &Inner, schedule: &Schedule) -> Result<bool, StoreDown> {
    let Some(last) = schedule.last else { return Ok(false) };
    let record = inner.stores.turns.get(last.turn).await?;
    let is_open = |state| matches!(state, TurnState::Queued | TurnState::Running | TurnState::Parked);
    Ok(record.is_some_and(|record| is_open(record.state)))
}
