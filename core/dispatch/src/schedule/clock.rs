//! Wakes for the schedule that is due next and has its run accepted. Whoever owns a schedule's partition acts; should two
//! think that they do, or one die in between, the run is still one: it is accepted under the schedule and its due time.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use contract::{
    StoreDown,
    records::{Missed, Put, Ran, Schedule, ScheduleId, ScheduleQuery, TurnState, When},
};
use futures_util::FutureExt;
use tracing::{error, info, warn};

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

/// One that could not be had accepted is tried again after this, and each time later, up to the longest.
const AGAIN_AFTER: u64 = 1_000;
const AGAIN_LONGEST: u64 = 60_000;
/// Schedules that are tried again later; of more all are tried at once.
const LATER_MAX: usize = 4_096;
/// How often it is looked whether any is due later than it should be: a clock may have been ahead for a while.
const SET_BACK_EVERY: u64 = 60 * 60 * 1_000;
/// More schedules than a store has.
const ALL: usize = 1_000_000;

/// What is known from look to look.
#[derive(Default)]
struct Known {
    /// Until then everything that was due had been had accepted: what is due since was not missed, however late it is.
    awake: Option<u64>,
    /// How often in a row one could not be had accepted, and when it is tried again.
    later: HashMap<ScheduleId, (u32, u64)>,
    /// When next it is looked whether a clock was ahead.
    set_back: u64,
}

impl Known {
    fn is_later(&self, id: ScheduleId, now: u64) -> bool {
        self.later.get(&id).is_some_and(|(_, until)| *until > now)
    }

    fn failed(&mut self, id: ScheduleId, now: u64) {
        if self.later.len() >= LATER_MAX {
            self.later.clear();
        }
        let (times, until) = self.later.entry(id).or_default();
        *until = now + AGAIN_AFTER.saturating_mul(1 << (*times).min(10)).min(AGAIN_LONGEST);
        *times += 1;
    }
}

/// Keeps the time until the gateway leaves.
pub(crate) async fn keep(inner: Arc<Inner>) {
    let mut known = Known::default();
    loop {
        let wait = match inner.fences.held() {
            0 => LOOK_AGAIN,
            _ => match look(&inner, &mut known).await {
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

/// Has accepted what is due; when the next is. One that cannot be had accepted keeps no other from it.
async fn look(inner: &Arc<Inner>, known: &mut Known) -> Result<Option<u64>, StoreDown> {
    let now = now_ms();
    if known.set_back <= now || known.set_back > now + SET_BACK_EVERY {
        set_back(inner, now).await?;
        known.set_back = now + SET_BACK_EVERY;
    }
    let mut again = None;
    for schedule in inner.stores.schedules.due(AT_ONCE).await? {
        let Some(due) = schedule.next_ms else { continue };
        if due > now {
            again = again.or(Some(due));
            break;
        }
        let id = schedule.id;
        if inner.fences.get(&id.session()).is_none() || known.is_later(id, now) || inner.stop.is_cancelled() {
            continue;
        }
        let fired = AssertUnwindSafe(fire(inner, schedule, due, now, known.awake)).catch_unwind().await;
        match fired {
            Ok(Ok(())) => {
                known.later.remove(&id);
                again = Some(now);
            }
            Ok(Err(down)) => {
                warn!(schedule = %id, cause = %down, "a run of a schedule could not be accepted; tried again");
                known.failed(id, now);
            }
            Err(_) => {
                error!(schedule = %id, "a run of a schedule could not be made: a defect of ours");
                known.failed(id, now);
            }
        }
    }
    // Further ones may be due by now, or wait behind those of another process.
    if again.is_none_or(|again| again > now) {
        known.awake = Some(now);
    }
    let retry = known.later.values().map(|(_, until)| *until).min();
    Ok(again.into_iter().chain(retry).min())
}

/// Puts back what is due later than its time says: a clock was ahead when it ran last, or the rules of a zone have changed.
async fn set_back(inner: &Inner, now: u64) -> Result<(), StoreDown> {
    let all = ScheduleQuery { most: ALL, ..ScheduleQuery::default() };
    for mut schedule in inner.stores.schedules.schedules(&all).await? {
        let Some(due) = schedule.next_ms.filter(|_| !matches!(schedule.when, When::At { .. })) else { continue };
        let next = when::next(&schedule.when, &when::zone_of(&schedule), now);
        if next.is_some_and(|next| next < due) {
            warn!(schedule = %schedule.id, "a schedule was due later than its time says, and is put back");
            schedule.next_ms = next;
            schedule.version += 1;
            inner.stores.schedules.put(&schedule).await?;
        }
    }
    Ok(())
}

async fn fire(
    inner: &Arc<Inner>,
    mut schedule: Schedule,
    due: u64,
    now: u64,
    awake: Option<u64>,
) -> Result<(), StoreDown> {
    let ran = match run_for(&schedule, due, now, awake) {
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

/// The time for which it runs; nothing when that is over. What we were only slow to have accepted was not missed.
fn run_for(schedule: &Schedule, due: u64, now: u64, awake: Option<u64>) -> Option<u64> {
    let late = now - due;
    if late <= ON_TIME || (awake.is_some_and(|awake| due > awake) && late <= GRACE) {
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
    let record = match inner.stores.turns.get(last.turn).await {
        Ok(record) => record,
        Err(down) => {
            // A store that is away fails here too; one that is there has a record that this version cannot read.
            inner.stores.schedules.schedule(schedule.id).await?;
            warn!(schedule = %schedule.id, turn = %last.turn, cause = %down, "the run before cannot be read");
            return Ok(false);
        }
    };
    let is_open = |state| matches!(state, TurnState::Queued | TurnState::Running | TurnState::Parked);
    Ok(record.is_some_and(|record| is_open(record.state)))
}
