//! What a person says while a turn of theirs runs: as policy has it, it waits, joins that turn, or ends it.
//!
//! What joins is told to the turn's model at its next step and answered by the turn's answer. It is another turn's part in
//! the store too (`Merged`), so that whoever takes that turn up again knows of it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use contract::{
    Kind, Reply, SessionKey, State, TurnId,
    records::{Change, Record, TurnState},
    seams::Fence,
};
use policies::WhileBusy;
use tracing::warn;

use super::Lanes;
use crate::{
    call::TurnCx,
    commands,
    gateway::Inner,
    indicators,
    signals::{self, same_person},
    turn::{Over, Whence, end_unrun, persist},
};

/// Messages that may join one turn; more wait in the lane.
const JOINED_MAX: usize = 32;

/// A message that joined a turn, and shares its answer.
pub(super) struct Joined {
    record: Record,
    /// The model was told of it in this life.
    told: bool,
}

impl Joined {
    pub fn record(&self) -> &Record {
        &self.record
    }
}

/// Whether something that waits may join a turn.
#[derive(PartialEq, Eq)]
enum Joins {
    Yes,
    /// It stays, and what comes behind it may join all the same.
    No,
    /// It stays, and so does all that comes behind it.
    Border,
}

/// Whether somebody says it in their own words.
fn is_said(inner: &Inner, record: &Record) -> bool {
    let snapshot = inner.snapshot.load();
    matches!(record.message.kind, Kind::Text { .. })
        && inner.planner.reads_free_text()
        && commands::asked(&record.message, &record.caller, &snapshot, &*inner.planner).is_none()
}

fn while_busy(inner: &Inner, record: &Record) -> WhileBusy {
    inner.snapshot.load().policies.manner(&record.caller).while_busy
}

/// A message came to stand behind the turn that runs in its lane.
pub(super) fn behind(inner: &Arc<Inner>, record: &Record, running: TurnId) {
    if while_busy(inner, record) != WhileBusy::Interrupt || !is_said(inner, record) {
        return;
    }
    let (inner, caller, tasks) = (inner.clone(), record.caller.clone(), inner.tasks.clone());
    tasks.spawn(async move {
        // Nobody ends what somebody else asked for.
        if let Err(down) = signals::cancel(&inner, &caller, running).await {
            warn!(turn = %running, cause = %down, "a turn could not be ended by what was said behind it; that waits");
        }
    });
}

fn joins(cx: &TurnCx, record: &Record, whence: Whence) -> Joins {
    if record.cancelled {
        return Joins::No;
    }
    let is_untouched = matches!(whence, Whence::New | Whence::Recovered)
        && record.state == TurnState::Queued
        && record.plan.is_empty()
        && record.journal.is_empty();
    match (is_said(&cx.inner, record), same_person(&record.caller, &cx.caller)) {
        (true, false) => Joins::No,
        (true, true) if is_untouched && record.caller.roles == cx.caller.roles => Joins::Yes,
        // What it changes holds for what comes behind it.
        (true, true) | (false, _) => Joins::Border,
    }
}

/// What was said since the turn began, whole and in its order, before the next step of its model. Durable by then.
pub(crate) async fn joined(cx: &TurnCx, is_first: bool) -> Vec<Record> {
    let lanes = &cx.inner.lanes;
    match cx.snapshot.policies.manner(&cx.caller).while_busy {
        WhileBusy::Steer => lanes.take_joining(cx),
        WhileBusy::Collect if is_first => lanes.take_joining(cx),
        WhileBusy::Collect | WhileBusy::Queue | WhileBusy::Interrupt => {}
    }
    let Some(fence) = cx.fence else { return Vec::new() };
    for record in lanes.untold(cx.id) {
        if persist(&cx.inner, fence, &record, &[Change::Merge(cx.id)]).await.is_err() {
            return Vec::new();
        }
        lanes.told(cx.id, record.id);
    }
    lanes.of(cx.id)
}

/// The turn's record as it is remembered: with what joined it.
pub(crate) fn with_joined(cx: &TurnCx, record: &Record) -> Option<Record> {
    let joined = cx.inner.lanes.of(cx.id);
    if joined.is_empty() {
        return None;
    }
    let texts = std::iter::once(record).chain(&joined).map(|record| record.message.text());
    let mut whole = record.clone();
    whole.message.kind = Kind::Text { text: texts.collect::<Vec<_>>().join("\n\n") };
    Some(whole)
}

/// The turn is answered, and what joined it with it. What its model was never told of waits again.
pub(crate) async fn settle(cx: &TurnCx, fence: Fence, reply: &Reply) -> Result<(), Over> {
    let inner = &cx.inner;
    for Joined { record, told } in inner.lanes.take_joined(cx.id).into_iter().rev() {
        // Who stops a turn means all that was said by then.
        if told || cx.cancel.is_cancelled() {
            answered(inner, fence, &record, reply).await?;
        } else {
            persist(inner, fence, &record, &[Change::Unpark]).await?;
            Lanes::unparked(inner, record.id).await;
        }
    }
    Ok(())
}

/// Another turn's answer is this one's too.
async fn answered(inner: &Arc<Inner>, fence: Fence, record: &Record, reply: &Reply) -> Result<(), Over> {
    let changes = [
        Change::Finish { reply: reply.clone(), deliveries: Vec::new(), item: None },
        Change::Done { keep_message: false, keep_reply: record.message.address.platform.is_pull() },
    ];
    persist(inner, fence, record, &changes).await?;
    let state = if reply.failed { State::Failed } else { State::Ok };
    end_unrun(inner, record, state, reply.clone());
    indicators::ended(inner, record.id);
    Ok(())
}

/// Those that joined a turn in an earlier life: told again to one that is still open, else they share its answer.
pub(crate) fn found(inner: &Arc<Inner>, fence: Fence, joined: Vec<(TurnId, Record)>, open: &HashSet<TurnId>) {
    for (turn, record) in joined {
        if open.contains(&turn) {
            inner.tracer.begin(record.id);
            inner.lanes.lock().joined.entry(turn).or_default().push(Joined { record, told: false });
            continue;
        }
        let (inner, tasks) = (inner.clone(), inner.tasks.clone());
        tasks.spawn(async move {
            let reply = reply_of(&inner, turn).await;
            // When it is not ours any more, the new owner ends it.
            let _ = answered(&inner, fence, &record, &reply).await;
        });
    }
}

/// The answer of a turn, as far as it is still kept.
async fn reply_of(inner: &Inner, turn: TurnId) -> Reply {
    loop {
        match inner.stores.turns.get(turn).await {
            Ok(record) => return record.and_then(|record| record.reply).unwrap_or_default(),
            Err(_) => tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
                () = inner.kill.cancelled() => return Reply::default(),
            },
        }
    }
}

impl Lanes {
    /// Takes what may join the turn out of its lane.
    fn take_joining(&self, cx: &TurnCx) {
        let waiting: Vec<_> = {
            let state = self.lock();
            let lane = state.lanes.get(&cx.session).filter(|lane| lane.current == Some(cx.id));
            lane.map_or_else(Vec::new, |lane| lane.waiting.iter().cloned().collect())
        };
        let of = waiting.iter().map(|(record, whence)| (record.id, joins(cx, record, *whence)));
        let may: Vec<_> = of
            .take_while(|(_, joins)| *joins != Joins::Border)
            .filter_map(|(id, joins)| (joins == Joins::Yes).then_some(id))
            .collect();
        if may.is_empty() {
            return;
        }
        let mut state = self.lock();
        let state = &mut *state;
        let Some(lane) = state.lanes.get_mut(&cx.session).filter(|lane| lane.current == Some(cx.id)) else { return };
        let joined = state.joined.entry(cx.id).or_default();
        let mut stay = std::collections::VecDeque::new();
        for (record, whence) in std::mem::take(&mut lane.waiting) {
            match may.contains(&record.id) && !record.cancelled && joined.len() < JOINED_MAX {
                true => joined.push(Joined { record, told: false }),
                false => stay.push_back((record, whence)),
            }
        }
        lane.waiting = stay;
    }

    fn untold(&self, turn: TurnId) -> Vec<Record> {
        let state = self.lock();
        let joined = state.joined.get(&turn).into_iter().flatten();
        joined.filter(|joined| !joined.told).map(|joined| joined.record.clone()).collect()
    }

    fn told(&self, turn: TurnId, record: TurnId) {
        let mut state = self.lock();
        let joined = state.joined.get_mut(&turn).into_iter().flatten();
        joined.filter(|joined| joined.record.id == record).for_each(|joined| joined.told = true);
    }

    fn of(&self, turn: TurnId) -> Vec<Record> {
        let state = self.lock();
        let joined = state.joined.get(&turn).into_iter().flatten();
        joined.filter(|joined| joined.told).map(|joined| joined.record.clone()).collect()
    }

    fn take_joined(&self, turn: TurnId) -> Vec<Joined> {
        self.lock().joined.remove(&turn).unwrap_or_default()
    }

    /// How many wait before this one, where that has to be told: more than one, and nobody was told in this lane.
    pub fn is_to_be_told(&self, session: &SessionKey, turn: TurnId) -> Option<usize> {
        let mut state = self.lock();
        let lane = state.lanes.get_mut(session).filter(|lane| !lane.told)?;
        let before = lane.waiting.iter().position(|(record, _)| record.id == turn)?;
        // With the one that runs.
        (before > 0).then(|| {
            lane.told = true;
            before + 1
        })
    }
}
