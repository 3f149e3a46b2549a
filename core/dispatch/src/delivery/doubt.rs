//! What became of a message whose sending was cut short, and of the progress message beside a private answer.

use std::time::{Duration, SystemTime};

use contract::{Audience, DeliveryError, DeliveryKey, Op, Receipt, Why, records::DeliveryState};
use tracing::warn;

use super::{
    Job, Stop,
    send::{SEND_DEADLINE, pause},
};
use crate::{
    gateway::{Connected, Inner},
    progress::{UnderWay, draft_key, look_for},
};

/// What is known of a part that an earlier life may have sent.
pub(super) enum Doubt {
    Arrived(Receipt),
    /// Sent again, with the mark.
    Open,
    /// It is not there: sending it is no repeat.
    Harmless,
}

/// How often a platform that is not reached is asked whether it has a message.
const LOOKS_MAX: u32 = 4;
/// The longest that a platform which asks to wait is waited for; beyond it the message is sent again with the mark.
const LOOK_WAIT_MAX: Duration = Duration::from_secs(30);
/// A wait that is over when it is heard of.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);

pub(super) async fn doubt(inner: &Inner, connected: &Connected, job: &Job, key: &DeliveryKey) -> Result<Doubt, Stop> {
    let (mut unreached, mut waited) = (0, Duration::ZERO);
    loop {
        let finding = connected.outlet.send(&job.delivery.to, Op::Find, key);
        let wait = match tokio::time::timeout(SEND_DEADLINE, finding).await {
            Ok(Ok(receipt)) => return Ok(Doubt::Arrived(receipt)),
            // What one person alone was shown is in no history: that it is not found says nothing.
            Ok(Err(DeliveryError::Refused(Why::Gone))) if job.reply.audience == Audience::Sender => {
                return Ok(Doubt::Open);
            }
            Ok(Err(DeliveryError::Refused(Why::Gone))) => return Ok(Doubt::Harmless),
            Ok(Err(DeliveryError::Refused(_))) | Err(_) => return Ok(Doubt::Open),
            // Where many are to wait, each waits several times for a short while: that uses up no look.
            Ok(Err(DeliveryError::Wait { until, .. })) => {
                until.duration_since(SystemTime::now()).unwrap_or_default().max(SHORTEST_WAIT)
            }
            Ok(Err(DeliveryError::NotSent(_) | DeliveryError::Unsure(_))) => {
                unreached += 1;
                if unreached == LOOKS_MAX {
                    return Ok(Doubt::Open);
                }
                Duration::from_secs(unreached.into())
            }
        };
        waited += wait;
        if waited > LOOK_WAIT_MAX {
            return Ok(Doubt::Open);
        }
        pause(inner, wait).await?;
    }
}

impl Job {
    /// Goes out behind what the turn was showing when it ended.
    pub fn behind(self, behind: Option<UnderWay>) -> Self {
        Self { behind, ..self }
    }
}

/// Waits for what the turn was showing when it ended; what became of a draft in an earlier life is looked up.
pub(super) async fn settle_draft(inner: &Inner, connected: &Connected, job: &mut Job) {
    if let Some(behind) = job.behind.take() {
        let shown = tokio::select! {
            shown = behind.ended() => shown,
            () = inner.kill.cancelled() => return,
        };
        job.delivery.draft = shown.or(job.delivery.draft.take());
    }
    if job.delivery.state == DeliveryState::Drafting && job.delivery.draft.is_none() {
        job.delivery.draft = look_for(&*connected.outlet, &job.delivery.to, job.turn).await;
    }
}

/// What showed the progress to everybody goes away once the answer is there for one person.
pub(super) async fn remove_draft(connected: &Connected, job: &mut Job) {
    let Some(draft) = job.delivery.draft.take_if(|_| job.reply.audience == Audience::Sender) else { return };
    let key = draft_key(job.turn);
    let removing = connected.outlet.send(&job.delivery.to, Op::Remove(&draft), &key);
    if !matches!(tokio::time::timeout(SEND_DEADLINE, removing).await, Ok(Ok(_))) {
        warn!(turn = %job.turn, "the progress message could not be taken away");
    }
}
