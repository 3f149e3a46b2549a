//! Waits in place until a call's approval is decided, then starts the call or says why not.

use std::{sync::Arc, time::Duration};

use contract::{
    CallId, Caller, Code, Failure, Node, Outcome, Private,
    records::{Approval, ApprovalState, By, Change, ChangeError, Exact, Extent, NotRead},
    text::one_line,
};

use super::{
    ask::{Asked, approval_node},
    card, decide,
};
use crate::{
    call::{Parent, Ready, TurnCx, not_started},
    turn::now_ms,
};

/// How often the store is asked meanwhile: another process may have taken the answer.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a platform may take to say which roles a person has.
const ROLES_DEADLINE: Duration = Duration::from_secs(5);
/// Most characters of a reason that the person is told.
const REASON_MAX: usize = 200;

/// The outcome of a call that people were asked about.
pub(crate) async fn answered(cx: &Arc<TurnCx>, parent: Option<Parent<'_>>, asked: Asked) -> Outcome {
    let _working = cx.waits.work();
    let Asked { call, node, approval } = asked;
    let decided = decided(cx, &approval, node.call).await;
    let (approval, started) = match decided {
        Ok(approval) => {
            let started = started(cx, parent, &call, &node, &approval).await;
            (approval, started)
        }
        Err(failure) => (cx.stored(&approval).await, Err(failure)),
    };
    cx.inner.tracer.ended(&cx.live, &Arc::new(approval_node(cx, &node, &approval)));
    match started {
        Ok(ready) => cx.run(*ready).await,
        Err(failure) => cx.refuse(call, node, failure),
    }
}

/// The approval once there is nothing more to wait for.
async fn decided(cx: &TurnCx, asked: &Approval, call: CallId) -> Result<Approval, Failure> {
    let mut answers = cx.inner.approvals.answers();
    let _waiting = cx.waits.wait(asked.id, asked.until_ms);
    let mut looks = 0;
    loop {
        answers.mark_unchanged();
        if cx.cancel.is_cancelled() {
            decide::withdraw(&cx.inner, asked.id, "it was stopped").await;
            return Err(not_started("stopped before it started"));
        }
        match cx.inner.stores.approvals.approval(asked.id).await {
            Ok(Some(approval)) if !approval.state.is_open() => {
                // An earlier life may have died before it showed what became of it.
                if looks == 0 && cx.life > 0 {
                    card::redraw(&cx.inner, approval.clone());
                }
                return Ok(approval);
            }
            Ok(Some(approval)) if approval.until_ms <= now_ms() => decide::expire(&cx.inner, &approval).await,
            Ok(Some(_)) | Err(NotRead::Down(_)) => {}
            Ok(None) => return Err(changed(&asked.tool)),
            Err(NotRead::Unreadable(why)) => {
                let of = (asked.turn, &asked.session);
                // What cannot be written now is settled by whoever keeps the time.
                let _ = decide::end_unread(&cx.inner, asked.id, of, &why).await;
                return Err(decide::unreadable(&asked.tool, why));
            }
        }
        looks += 1;
        let left = match asked.until_ms.saturating_sub(now_ms()) {
            // It has expired and that could not be written: whoever keeps the time tries again.
            0 => LOOK_EVERY,
            left => Duration::from_millis(left),
        };
        let _resting = cx.waits.rest(call);
        tokio::select! {
            _ = answers.changed() => {}
            () = tokio::time::sleep(left.min(LOOK_EVERY)) => {}
            () = cx.cancel.cancelled() => {}
        }
    }
}

/// Starts the call by its approval, with the permit taken again.
async fn started(
    cx: &Arc<TurnCx>,
    parent: Option<Parent<'_>>,
    call: &contract::Call,
    node: &Node,
    approval: &Approval,
) -> Result<Box<Ready>, Failure> {
    if let Some(failure) = refusal(approval) {
        return Err(failure);
    }
    let admitted = match keeps_its_right(cx, parent, &call.tool).await {
        Ok(()) => cx.admit_approved(parent, call, node.clone(), approval),
        Err(failure) => Err(failure),
    };
    let ready = match admitted {
        Ok(ready) => ready,
        Err(failure) => {
            decide::withdraw(&cx.inner, approval.id, "it is another one by now, or not permitted any more").await;
            return Err(failure);
        }
    };
    let mut changes = vec![Change::Use(approval.id)];
    changes.extend(ready.entry.clone().map(|entry| Change::Started(vec![entry])));
    match cx.change(&changes).await {
        Ok(()) => Ok(ready),
        Err(ChangeError::NotAllowed) => Err(changed(&approval.tool)),
        Err(error) => Err(Failure::new(Code::Store, "it was not started: we could not write down that it starts")
            .cause(Private::new(error.to_string()))),
    }
}

/// Roles may have been taken away from whoever asked while the call waited: what was lost counts, what was won does not.
async fn keeps_its_right(cx: &TurnCx, parent: Option<Parent<'_>>, tool: &str) -> Result<(), Failure> {
    let had = &cx.caller.roles;
    let connected = cx.asked_at.as_ref().filter(|_| !had.is_empty()).and_then(|to| cx.inner.outlet(to));
    let Some(connected) = connected else { return Ok(()) };
    let asked = tokio::time::timeout(ROLES_DEADLINE, connected.source.roles(&cx.caller)).await;
    let Ok(Ok(present)) = asked else {
        let say = format!("'{tool}' was not run: the platform did not say what may be done there now");
        return Err(Failure::new(Code::ApprovalUnavailable, say).hint("ask for it again"));
    };
    let roles = had.iter().filter(|role| present.contains(role)).cloned().collect();
    cx.permit_as(&Caller { roles, ..cx.caller.clone() }, parent, tool).map(drop)
}

/// Why a decided call does not start.
fn refusal(approval: &Approval) -> Option<Failure> {
    let tool = &approval.tool;
    match &approval.state {
        ApprovalState::Allowed { .. } | ApprovalState::Used { .. } => None,
        ApprovalState::Refused { by, why } => {
            let mut say = format!("'{tool}' was refused by {}", decide::name(by));
            if !why.is_empty() {
                say.push_str(&format!(": {}", one_line(why, REASON_MAX)));
            }
            Some(Failure::new(Code::ApprovalRefused, say))
        }
        ApprovalState::Expired { .. } => {
            let say = format!("nobody answered in time whether '{tool}' may run");
            Some(Failure::new(Code::ApprovalExpired, say).hint("ask again when somebody can answer"))
        }
        ApprovalState::Asked { .. } | ApprovalState::Withdrawn { .. } => Some(changed(tool)),
    }
}

fn changed(tool: &str) -> Failure {
    Failure::new(Code::ApprovalUnavailable, format!("'{tool}' was changed after it was asked for, so it was not run"))
        .hint("ask for it again")
}

impl TurnCx {
    /// As the store has it, where that can be read.
    async fn stored(&self, approval: &Approval) -> Approval {
        let stored = self.inner.stores.approvals.approval(approval.id).await;
        stored.ok().flatten().unwrap_or_else(|| approval.clone())
    }

    /// Whether policy asks by now for somebody else, or for more people, than said yes.
    fn asks_for_more(&self, by: By, approval: &Approval) -> bool {
        by == By::Approver && approval.by == By::Requester || super::people(self, by) > approval.need
    }

    /// Permits and reads the call anew; it has to be exactly what people said yes to.
    fn admit_approved(
        &self,
        parent: Option<Parent<'_>>,
        call: &contract::Call,
        mut node: Node,
        approval: &Approval,
    ) -> Result<Box<Ready>, Failure> {
        let permit = self.permit(parent, &call.tool)?;
        let Some(tool) = self.snapshot.tools.get(permit.tool()).cloned() else {
            return Err(Failure::unknown_tool(permit.tool(), &[]));
        };
        let prepared = tool.prepare(tool.with_files(call.args.clone(), &self.files())?)?;
        if permit.need(&prepared.args).is_some_and(|need| self.asks_for_more(need.by, approval)) {
            return Err(changed(&approval.tool));
        }
        let args = contract::Digest::of_json(&prepared.args);
        let (session, caller) = (&self.session, &self.caller);
        let exact = Exact { tool: &tool.name, spec: tool.digest, args, session, caller, ..approval.exact() };
        if exact.digest() != approval.exact().digest() {
            return Err(changed(&approval.tool));
        }
        if let ApprovalState::Allowed { extent: Extent::Session, .. } = &approval.state {
            self.waits.allow(exact.digest());
        }
        node.marks.push(decide::summed_up(&approval.state));
        let permitted = tools::Permitted::new(permit.approved(approval), tool, prepared, call.path.clone())?;
        let ready = self.ready(parent, permitted.queue(&self.inner.resources), node);
        self.as_begun(call, ready).map_err(|(_, failure)| failure)
    }
}
