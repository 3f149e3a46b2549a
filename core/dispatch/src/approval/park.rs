//! A turn that has nothing left but to wait for people leaves its lane, and comes back to its front.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use contract::{
    CallPath, Node, NodeKind, SessionKey, State, TurnId,
    records::{Approval, ApprovalId, ApprovalState, Change, NotRead, Parked, Record, Settled, TurnState, is_card},
    seams::Fence,
    text::one_line,
};
use tracing::{info, warn};

use super::{Inner, card, decide, still::Before};
use crate::{
    call::TurnCx,
    delivery, job,
    lane::Lanes,
    running::ASKED_MAX,
    turn::{Over, now_ms, persist, persist_of},
};

/// How soon a store that was away is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// Answers that came just before, after which an approval is ended whatever it says.
const LATE_MAX: u32 = 5;
/// Nothing is due earlier than this without saying so.
const LONG: Duration = Duration::from_secs(3_600);

/// Takes the turn out of its lane. What it waits for may have been answered meanwhile: then it comes back at once.
pub(crate) async fn park(cx: &Arc<TurnCx>, record: &Record, root: &Node) -> Result<(), Over> {
    let (waits_for, until_ms) = (cx.waits.parked_for(), cx.waits.parked_until());
    let Some(fence) = cx.fence else { return Err(Over) };
    let mut changes = std::mem::take(&mut *cx.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
    let kept = cx.waits.kept();
    if !kept.is_empty() {
        changes.push(Change::Started(kept));
    }
    let words: Vec<_> = waits_for.iter().map(ToString::to_string).collect();
    let jobs = cx.waits.parked_jobs();
    let words = words.into_iter().chain(jobs.iter().map(|path| format!("job:{path}")));
    let words: Vec<_> = words.collect();
    changes.push(Change::Park(Parked { wait: format!("approval {}", words.join(" ")), until_ms }));
    persist(&cx.inner, fence, record, &changes).await?;
    info!(turn = %cx.id, approvals = waits_for.len(), jobs = jobs.len(), "turn parked");
    for mut node in cx.live.nodes() {
        let waits = matches!(node.state, State::Running | State::Parked);
        if node.kind == NodeKind::Turn || waits {
            node.state = State::Parked;
            node.started_us = if node.kind == NodeKind::Turn { root.started_us } else { node.started_us };
            cx.inner.tracer.ended_earlier(&cx.live, &Arc::new(node));
        }
    }
    let asked = still_asked(&cx.inner, &waits_for, (cx.id, &cx.session)).await;
    match asked.is_empty() {
        true => job::tell(cx, &jobs).await,
        false => tell(cx, &asked).await,
    }
    if cx.cancel.is_cancelled() || asked.len() < waits_for.len() {
        return wake(&cx.inner, fence, cx.id, &cx.session).await;
    }
    if !jobs.is_empty() {
        job::parked(cx, fence, &jobs).await;
    }
    Ok(())
}

/// Those that nobody answered yet, as far as the store tells. What cannot be read is ended, for nobody could answer it.
async fn still_asked(inner: &Inner, waits_for: &[ApprovalId], of: (TurnId, &SessionKey)) -> Vec<Approval> {
    let mut asked = Vec::new();
    for id in waits_for {
        loop {
            match inner.stores.approvals.approval(*id).await {
                Ok(approval) => {
                    asked.extend(approval.filter(|approval| approval.state.is_open()));
                    break;
                }
                Err(NotRead::Unreadable(why)) if decide::end_unread(inner, *id, of, &why).await.is_ok() => break,
                Err(_) => tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = inner.kill.cancelled() => return asked,
                },
            }
        }
    }
    asked
}

/// The person is told what the turn waits for, where no card does so, or where something of the turn is shown already.
async fn tell(cx: &Arc<TurnCx>, asked: &[Approval]) {
    let is_shown = |approval: &Approval| approval.cards.iter().any(|shown| card::same_place(&shown.to, approval));
    let Some(first) = asked.iter().find(|approval| !is_shown(approval)).or_else(|| asked.first()) else { return };
    if is_shown(first) && !cx.progress.is_begun() {
        return;
    }
    let words = words::approval_waits(&first.tool, first.by, &first.id.to_string(), cx.locale);
    cx.progress.waits(cx, &words).await;
}

/// Back to the front of its lane.
pub(crate) async fn wake(inner: &Inner, fence: Fence, turn: TurnId, session: &SessionKey) -> Result<(), Over> {
    persist_of(inner, fence, turn, session, &[Change::Unpark]).await?;
    Lanes::unparked(inner, turn).await;
    Ok(())
}

/// What the tree of a turn that goes on holds already.
pub(crate) async fn before(inner: &Inner, record: &Record) -> Before {
    let has_job = record.journal.iter().any(|entry| entry.job().is_some());
    if !has_job && !record.deliveries.iter().any(|delivery| is_card(delivery.n)) {
        return Before::default();
    }
    match inner.tracer.live(record.id).map(|live| live.nodes()).filter(|nodes| !nodes.is_empty()) {
        Some(nodes) => Before::of(nodes),
        // Trees decide nothing: without one the turn only has more nodes.
        None => Before::of(inner.tree(record.id).await.unwrap_or_default()),
    }
}

/// A parked turn, found in the store: its time is kept from now on, its cards go out.
pub(crate) fn found(inner: &Inner, fence: Fence, record: Record) {
    let (inner, tasks) = (inner.clone(), inner.tasks.clone());
    tasks.spawn(async move {
        delivery::resume_shown(&inner, &record, fence);
        let waits_for = super::waits_for(&record);
        let asked = still_asked(&inner, &waits_for, (record.id, &record.session)).await;
        for approval in &asked {
            inner.approvals.note(approval, one_line(&crate::turn::asked(&record), ASKED_MAX));
        }
        if record.cancelled {
            for approval in &asked {
                decide::withdraw(&inner, approval.id, "it was stopped").await;
            }
        }
        let has_jobs = job::found(&inner, fence, &record);
        let is_over =
            waits_for.is_empty() && !has_jobs || asked.len() < waits_for.len() || record.cancelled && has_jobs;
        if is_over && inner.fences.get(&record.session) == Some(fence) {
            // Answered by whoever died before it came back; when it is not ours any more, the new owner wakes it.
            let _ = wake(&inner, fence, record.id, &record.session).await;
        }
    });
}

/// Lets approvals expire, until the gateway leaves.
pub(crate) async fn keep_time(inner: Inner) {
    loop {
        let wait = match inner.approvals.next() {
            Some((until_ms, _)) => Duration::from_millis(until_ms.saturating_sub(now_ms())).min(LONG),
            None => LONG,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = inner.approvals.sooner.notified() => continue,
            () = inner.left.cancelled() => return,
        }
        let Some((due_ms, id)) = inner.approvals.next() else { continue };
        if due_ms > now_ms() {
            continue;
        }
        if let Err(cause) = end(&inner, id).await {
            let tries = inner.approvals.later(id, now_ms());
            warn!(approval = %id, cause, tries, "an approval that nobody answered cannot be ended; tried again");
        }
    }
}

/// Ends an approval whose time is over.
async fn end(inner: &Inner, id: ApprovalId) -> Result<(), String> {
    let read = inner.stores.approvals.approval(id).await;
    let why = match read {
        Ok(Some(approval)) if approval.state.is_open() => {
            let expired = ApprovalState::Expired { at_ms: now_ms() };
            match decide::settle(inner, &approval, &expired).await.map_err(|down| down.to_string())? {
                Settled::Made { .. } => return Ok(()),
                // Somebody answers at this moment. Time and again it is something else: what is written is not what is read.
                Settled::Late if inner.approvals.later(id, now_ms()) < LATE_MAX => return Ok(()),
                Settled::Late => "what is written of it is not what is read".to_owned(),
            }
        }
        Ok(_) => {
            inner.approvals.strike(id);
            return Ok(());
        }
        Err(NotRead::Unreadable(why)) => why,
        Err(NotRead::Down(down)) => return Err(down.to_string()),
    };
    let Some((turn, session)) = inner.approvals.turn_of(id) else { return Ok(()) };
    decide::end_unread(inner, id, (turn, &session), &why).await.map_err(|down| down.to_string())
}

/// Stops a turn that is parked; whether it was.
pub(crate) async fn stop(inner: &Inner, record: &Record) -> bool {
    if record.state != TurnState::Parked {
        return false;
    }
    let waits_for = super::waits_for(record);
    let of = (record.id, &record.session);
    for id in waits_for {
        match inner.stores.approvals.approval(id).await {
            Err(NotRead::Unreadable(why)) => drop(decide::end_unread(inner, id, of, &why).await),
            _ => decide::withdraw(inner, id, "it was stopped").await,
        }
    }
    job::wake(inner, record.id).await;
    true
}

/// Calls below this one are not made any more: what they waited for is not asked for either.
pub(crate) async fn withdraw_below(cx: &TurnCx, call: &CallPath, waited_for: Vec<ApprovalId>) {
    for id in waited_for {
        let approval = cx.inner.stores.approvals.approval(id).await.ok().flatten();
        let is_below = |approval: &Approval| approval.path.parts().starts_with(call.parts());
        if approval.is_some_and(|approval| is_below(&approval)) {
            decide::withdraw(&cx.inner, id, "it was stopped").await;
        }
    }
}
