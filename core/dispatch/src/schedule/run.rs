//! What a schedule's run shows, and what its end means for the schedule.

use std::sync::Arc;

use contract::{Code, Content, Layer, Reply, records::ScheduleId};
use tracing::warn;
use words::{OfSchedule, of_schedule};

use super::{make, rights::Standing};
use crate::{call::TurnCx, gateway::Inner, say, turn::first_code};

/// So many runs in a row that want of a right refused, and the schedule rests.
const REFUSED_MOST: u32 = 3;

/// Whether a run failed for want of a right.
pub(crate) fn is_refused(reply: &Reply) -> bool {
    // An approval that nobody gave in time is no right that is lost.
    let lost =
        |code: Code| code.layer() == Layer::Permission && !matches!(code, Code::ApprovalExpired | Code::LimitReached);
    reply.failed && first_code(reply).is_some_and(lost)
}

/// How many in a row that makes, with this one.
fn refused(standing: &Standing) -> u32 {
    standing.schedule.as_ref().map_or(0, |schedule| schedule.refused).saturating_add(1)
}

/// What was said once is not said again until the schedule rests.
pub(crate) fn is_quiet(cx: &TurnCx, reply: &Reply) -> bool {
    let in_a_row = cx.standing.as_ref().filter(|_| is_refused(reply)).map_or(0, refused);
    in_a_row > 1 && in_a_row != REFUSED_MOST
}

/// The reply as it is shown at the destination: whose it is, where others read it, and whether the schedule rests now.
pub(crate) fn dressed(cx: &TurnCx, reply: &mut Reply) {
    let Some(standing) = &cx.standing else { return };
    // Whoever presses would ask in their own name for something else.
    reply.buttons.retain(|button| matches!(button.action, contract::Action::Details(_)));
    if is_refused(reply) && refused(standing) == REFUSED_MOST {
        let id = standing.id.to_string();
        reply.content.push(Content::Text(of_schedule(OfSchedule::RestsNow { id: &id }, cx.locale)));
    }
    if let (Some(_), Some(schedule)) = (&standing.there, &standing.schedule) {
        let sender = &cx.caller.sender;
        let name = if sender.name.trim().is_empty() { &sender.id } else { &sender.name };
        let (who, title) = (say::escape(&contract::text::one_line(name, 64)), say::escape(&schedule.title()));
        let head = of_schedule(OfSchedule::Head { who: &who, title: &title }, cx.locale);
        reply.content.insert(0, Content::Text(head));
    }
}

/// A run has ended: behind it, the schedule is told.
pub(crate) fn ended(cx: &Arc<TurnCx>, reply: &Reply) {
    let Some(standing) = cx.standing.as_ref().filter(|standing| standing.schedule.is_some()) else { return };
    let (was, is) = (standing.schedule.as_ref().map_or(0, |schedule| schedule.refused), is_refused(reply));
    if was == 0 && !is {
        return;
    }
    let why = first_code(reply).map_or("", Code::meaning);
    let (inner, id, tasks) = (cx.inner.clone(), standing.id, cx.inner.tasks.clone());
    tasks.spawn(async move { told(&inner, id, is, why).await });
}

async fn told(inner: &Inner, id: ScheduleId, is_refused: bool, why: &str) {
    let told = make::change(inner, id, |schedule| {
        schedule.refused = if is_refused { schedule.refused.saturating_add(1) } else { 0 };
        if schedule.refused >= REFUSED_MOST && schedule.paused.is_none() {
            make::rest(schedule, why, true);
        }
    });
    match told.await {
        Ok(Some(schedule)) if schedule.paused.is_some() => {
            warn!(schedule = %id, refused = schedule.refused, "a schedule rests: its owner may not do it any more");
        }
        Ok(_) => {}
        Err(error) => warn!(schedule = %id, %error, "what became of a run was not noted with its schedule"),
    }
}
