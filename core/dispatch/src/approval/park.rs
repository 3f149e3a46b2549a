//! A turn that has nothing left but to wait for people leaves its lane, and comes back to its front.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use contract::{
    Node, NodeKind, SessionKey, State, TurnId,
    records::{Approval, ApprovalId, ApprovalState, Change, Parked, Record, Settled, TurnState, is_card},
    seams::Fence,
};
use tracing::{info, warn};

use super::{Inner, card, decide, ids, still::Before};
use crate::{
    call::TurnCx,
    delivery,
    lane::Lanes,
    turn::{Over, now_ms, persist, persist_of},
};

/// How soon a store that was away is asked again.
const AGAIN: Duration = Duration::from_secs(1);
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
    changes.push(Change::Park(Parked { wait: format!("approval {}", words.join(" ")), until_ms }));
    persist(&cx.inner, fence, record, &changes).await?;
    info!(turn = %cx.id, approvals = waits_for.len(), "turn parked: it waits for people");
    for mut node in cx.live.nodes() {
        let waits = matches!(node.state, State::Running | State::Parked);
        if node.kind == NodeKind::Turn || waits {
            node.state = State::Parked;
            node.started_us = if node.kind == NodeKind::Turn { root.started_us } else { node.started_us };
            cx.inner.tracer.ended_earlier(&cx.live, &Arc::new(node));
        }
    }
    let asked = still_asked(&cx.inner, &waits_for).await;
    tell(cx, &asked).await;
    if cx.cancel.is_cancelled() || asked.len() < waits_for.len() {
        wake(&cx.inner, fence, cx.id, &cx.session).await?;
    }
    Ok(())
}

/// Those that nobody answered yet, as far as the store tells.
async fn still_asked(inner: &Inner, waits_for: &[ApprovalId]) -> Vec<Approval> {
    let mut asked = Vec::new();
    for id in waits_for {
        loop {
            match inner.stores.approvals.approval(*id).await {
                Ok(approval) => {
                    asked.extend(approval.filter(|approval| approval.state.is_open()));
                    break;
                }
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
async fn wake(inner: &Inner, fence: Fence, turn: TurnId, session: &SessionKey) -> Result<(), Over> {
    persist_of(inner, fence, turn, session, &[Change::Unpark]).await?;
    Lanes::unparked(inner, turn).await;
    Ok(())
}

/// What the tree of a turn that goes on holds already.
pub(crate) async fn before(inner: &Inner, record: &Record) -> Before {
    if !record.deliveries.iter().any(|delivery| is_card(delivery.n)) {
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
        let waits_for = record.parked.as_ref().map_or_else(Vec::new, |parked| ids(&parked.wait));
        let asked = still_asked(&inner, &waits_for).await;
        for approval in &asked {
            inner.approvals.note(approval);
        }
        if record.cancelled {
            for approval in &asked {
                decide::withdraw(&inner, approval.id, "it was stopped").await;
            }
        }
        let is_over = waits_for.is_empty() || asked.len() < waits_for.len();
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
        let Some((until_ms, id)) = inner.approvals.next() else { continue };
        if until_ms > now_ms() {
            continue;
        }
        let known = match inner.stores.approvals.approval(id).await {
            Ok(Some(approval)) if approval.state.is_open() => {
                decide::settle(&inner, &approval, &ApprovalState::Expired { at_ms: now_ms() })
                    .await
                    .map(|settled| settled != Settled::Late)
            }
            Ok(_) => {
                inner.approvals.strike(id);
                Ok(true)
            }
            Err(down) => Err(down),
        };
        if let Err(error) = known {
            warn!(%error, "an approval that nobody answered cannot be ended; tried again");
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                () = inner.left.cancelled() => return,
            }
        }
    }
}

/// Stops a turn that is parked; whether it was.
pub(crate) async fn stop(inner: &Inner, record: &Record) -> bool {
    if record.state != TurnState::Parked {
        return false;
    }
    let waits_for = record.parked.as_ref().map_or_else(Vec::new, |parked| ids(&parked.wait));
    for id in waits_for {
        decide::withdraw(inner, id, "it was stopped").await;
    }
    true
}
