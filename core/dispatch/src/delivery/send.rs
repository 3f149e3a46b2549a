//! Sends one part until the platform has taken or refused it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use contract::{
    Audience, Code, Content, DeliveryError, DeliveryKey, Failure, Notice, Op, Part, Receipt, Reply, Scope, TurnId, Why,
    records::{Change, DeliveryState},
    seams::Condition,
};
use tokio::time::Instant;
use tracing::warn;

use super::{Doubt, Job, Stop, doubt, write};
use crate::{
    gateway::{Connected, Inner},
    turn::now_ms,
};

pub(super) enum Sent {
    Receipt(Receipt),
    /// Address, audience or mark changed: the parts are to be made anew.
    RenderAgain,
}

/// A request that takes longer may have been carried out or not.
pub(super) const SEND_DEADLINE: Duration = Duration::from_secs(60);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// How long an unreachable platform is tried.
const UNREACHABLE_MAX: Duration = Duration::from_secs(3_600);
/// How long a part is sent again of which it is known each time that it did not arrive.
const UNTAKEN_MAX: Duration = Duration::from_secs(600);
/// Most sends of one part whose outcome stays open; each repeat carries the mark.
const UNSURE_MAX: u32 = 4;
/// How long the later of them wait, in messages that the platform would take in that time: the few that there are
/// outlast an outage of a minute or two.
const UNSURE_WAITS: [u32; 2] = [20, 100];
/// Most times that one delivery is sent on to another address.
const DETOURS_MAX: u32 = 4;
/// In the key of what is sent beside the part `n`.
const BESIDE: u32 = 1 << 31;
/// The longest wait that is believed: then it is asked again.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);
/// A longer wait is said to operators.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// Sends one part until the platform has taken or refused it.
pub(super) async fn send(
    inner: &Arc<Inner>,
    connected: &Connected,
    job: &mut Job,
    n: u32,
    part: &Part,
) -> Result<Sent, Stop> {
    let mut part = part.clone();
    let (mut unreachable_since, mut untaken_since) = (None, None);
    let mut tries = 0;
    loop {
        let at = inner.deliveries.place(&job.delivery.to, connected.outlet.pace(&job.delivery.to));
        pause(inner, at.saturating_duration_since(Instant::now())).await?;
        if job.delivery.state != (DeliveryState::Sending { part: n }) {
            job.delivery.state = DeliveryState::Sending { part: n };
            write(inner, job, &[Change::Delivery(job.delivery.clone())]).await?;
        }
        let key = DeliveryKey { turn: job.turn, n: job.delivery.n, part: if job.beside { n | BESIDE } else { n } };
        let draft = job.delivery.draft.clone().filter(|_| n == 0 && !job.is_beside_its_draft());
        let op = draft.as_ref().map_or(Op::Post(&part), |receipt| Op::Replace(receipt, &part));
        let sending = tokio::time::timeout(SEND_DEADLINE, connected.outlet.send(&job.delivery.to, op, &key));
        let error = match sending.await {
            Ok(Ok(receipt)) => return Ok(Sent::Receipt(receipt)),
            Ok(Err(error)) => error,
            Err(_) => DeliveryError::Unsure("no answer in time".into()),
        };
        tries += 1;
        match error {
            DeliveryError::Wait { scope, until } => {
                (unreachable_since, untaken_since) = (None, None);
                wait(inner, job, n, scope, until).await?;
            }
            DeliveryError::NotSent(why) => {
                if unreachable_since.get_or_insert_with(Instant::now).elapsed() > UNREACHABLE_MAX {
                    return Err(Stop::Failed(Code::DeliveryRefused, why));
                }
                pause(inner, backoff(tries)).await?;
            }
            DeliveryError::Unsure(why) => {
                pause(inner, backoff(tries)).await?;
                // Replacing again changes nothing.
                let doubt = if draft.is_some() { Doubt::Harmless } else { doubt(inner, connected, job, &key).await? };
                match doubt {
                    Doubt::Arrived(receipt) => return Ok(Sent::Receipt(receipt)),
                    // As if it had not been sent, though not for as long: it may be this message that the platform
                    // stumbles over, and others wait behind it.
                    Doubt::Harmless => {
                        if untaken_since.get_or_insert_with(Instant::now).elapsed() > UNTAKEN_MAX {
                            return Err(Stop::Failed(Code::DeliveryRefused, why));
                        }
                    }
                    Doubt::Open => {
                        job.unsure += 1;
                        if job.unsure >= UNSURE_MAX {
                            return Err(Stop::Failed(Code::DeliveryRefused, why));
                        }
                        pause(inner, in_doubt(connected, job)).await?;
                        job.mark(n);
                        return Ok(Sent::RenderAgain);
                    }
                }
            }
            DeliveryError::Refused(why) => match refused(connected, job, why, draft.is_some(), &part)? {
                Next::Plain => part.body = String::new(),
                Next::RenderAgain => {
                    // What changed is durable before the next request.
                    job.delivery.state = DeliveryState::Ready { part: n, due_ms: 0 };
                    return Ok(Sent::RenderAgain);
                }
            },
        }
    }
}

enum Next {
    Plain,
    RenderAgain,
}

/// What is to be done about a refusal; an error when nothing is left.
fn refused(connected: &Connected, job: &mut Job, why: Why, replacing: bool, part: &Part) -> Result<Next, Stop> {
    let failed = |why: &Why| Err(Stop::Failed(Code::DeliveryRefused, why.to_string()));
    match why {
        Why::Markup if !part.body.is_empty() => {
            warn!(turn = %job.turn, "the platform refused our markup; sent again without");
            Ok(Next::Plain)
        }
        // The progress message is gone or too old: the answer is a message of its own.
        _ if replacing => {
            job.delivery.draft = None;
            Ok(Next::RenderAgain)
        }
        // A platform that sends us round in a circle.
        why @ (Why::Moved(_) | Why::Gone) if job.detours >= DETOURS_MAX => failed(&why),
        Why::Moved(to) => {
            job.detours += 1;
            job.delivery.to.conversation = to;
            Ok(Next::RenderAgain)
        }
        Why::Gone => match connected.outlet.fallback(&job.delivery.to) {
            Some(to) if to != job.delivery.to => {
                job.detours += 1;
                job.delivery.to = to;
                Ok(Next::RenderAgain)
            }
            _ => failed(&Why::Gone),
        },
        Why::Unsupported if job.reply.audience == Audience::Sender => {
            job.reply = Arc::new(for_everyone(&job.reply));
            Ok(Next::RenderAgain)
        }
        // Nobody is left without an answer because the platform does not like the one we have.
        why @ (Why::Other(_) | Why::Markup) if job.recorded_and_untold() => {
            warn!(turn = %job.turn, %why, "the platform refused the answer; it is told that there is one");
            job.last_resort = true;
            job.reply = Arc::new(cannot_be_shown(job));
            Ok(Next::RenderAgain)
        }
        why => failed(&why),
    }
}

/// In place of an answer that the platform does not take.
fn cannot_be_shown(job: &Job) -> Reply {
    let failure = Failure::new(Code::DeliveryRefused, "there is an answer, but it cannot be shown here")
        .hint("an operator can find it by the reference");
    Reply {
        audience: job.reply.audience,
        locale: job.reply.locale,
        ..Reply::notice(Notice::of(&failure, None, Some(job.turn)))
    }
}

/// Under the parts that arrived, in place of those that the platform does not take.
pub(super) fn rest_cannot_be_shown(job: &Job) -> Reply {
    let failure = Failure::new(Code::DeliveryRefused, "the answer goes on, but its rest cannot be shown here")
        .hint("an operator can find it by the reference");
    let notice = Reply::notice(Notice::of(&failure, None, Some(job.turn)));
    let Reply { audience, ref buttons, locale, .. } = *job.reply;
    Reply { audience, locale, buttons: buttons.clone(), ..notice }
}

/// A private reply where the platform cannot be private: only the sentences that anybody may read.
fn for_everyone(reply: &Reply) -> Reply {
    let mut reply = Reply { audience: Audience::Everyone, ..reply.clone() };
    for content in &mut reply.content {
        if let Content::Notice(notice) = content {
            notice.problems.clear();
            notice.usage = None;
        }
    }
    reply
}

async fn wait(inner: &Arc<Inner>, job: &mut Job, n: u32, scope: Scope, until: SystemTime) -> Result<(), Stop> {
    let wait = until.duration_since(SystemTime::now()).unwrap_or_default().min(LONGEST_WAIT);
    if scope == Scope::Account {
        inner.deliveries.hold_account(&job.delivery.to, Instant::now() + wait);
    }
    let part = format!("delivery to {}", job.delivery.to.written());
    if wait > LONG_WAIT {
        let words = format!("the platform asks to wait {} s", wait.as_secs());
        inner.health.set(&part, Condition::Degraded(words));
    }
    if wait > Duration::from_secs(1) {
        let due_ms = now_ms() + u64::try_from(wait.as_millis()).unwrap_or(u64::MAX / 2);
        job.delivery.state = DeliveryState::Ready { part: n, due_ms };
        write(inner, job, &[Change::Delivery(job.delivery.clone())]).await?;
    }
    let waited = pause(inner, wait).await;
    if wait > LONG_WAIT {
        inner.health.clear(&part);
    }
    waited
}

/// How long a part of open outcome waits beyond the usual before it is sent again.
fn in_doubt(connected: &Connected, job: &Job) -> Duration {
    let every = connected.outlet.pace(&job.delivery.to).conversation.map_or(Duration::ZERO, |bucket| bucket.every);
    let times = (job.unsure as usize).checked_sub(2).and_then(|n| UNSURE_WAITS.get(n)).copied();
    every * times.unwrap_or_default()
}

/// Full jitter: anything up to the bound, which doubles.
fn backoff(tries: u32) -> Duration {
    let bound = Duration::from_millis(500).saturating_mul(1 << tries.min(10)).min(BACKOFF_MAX);
    let random = TurnId::new().0.random() % 1_000;
    bound.mul_f64(random as f64 / 1_000.0).max(Duration::from_millis(50))
}

pub(super) async fn pause(inner: &Inner, time: Duration) -> Result<(), Stop> {
    if time.is_zero() {
        return Ok(());
    }
    // A long wait does not hold up the leaving: the record says when it goes on.
    let leaving = async {
        if time > Duration::from_secs(5) { inner.stop.cancelled().await } else { inner.kill.cancelled().await }
    };
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = leaving => Err(Stop::Over),
    }
}
