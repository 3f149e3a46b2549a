//! Who may run at once: the resource that a call needs alone, the turn's places, the tool's concurrency limit. In this
//! order, so that nobody who has the later waits for somebody who waits for it.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::unconstrained,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    RunCx,
    fair::{Line, Slot, Taken},
};
use crate::{permitted::Permitted, resources::Claim};

/// Held while a call runs.
pub struct Place {
    /// Frees first: a slot is of use to more calls than a resource is.
    _slot: Option<Slot>,
    _turns: Option<OwnedSemaphorePermit>,
    _claim: Option<Claim>,
    pub waited: bool,
}

/// Why a call does not run.
pub enum NoPlace {
    Full,
    Late,
    Cancelled,
    /// The breaker lets none through for so long.
    Open(Duration),
    /// The tool's own rate limit has a place in so long, which is too late.
    Rate(Duration),
}

pub async fn place(call: &mut Permitted, cx: &RunCx<'_>, until: Instant) -> Result<Place, NoPlace> {
    if cx.cancel.is_cancelled() {
        return Err(NoPlace::Cancelled);
    }
    let mut waited = false;
    let mut claim = call.take_claim(cx.resources);
    if let Some(claim) = claim.as_mut().filter(|claim| !claim.is_granted()) {
        waited = true;
        in_time(claim.granted(), cx.cancel, until).await?;
    }
    let turns = match cx.places {
        None => None,
        Some(places) => Some(turns_place(places, cx.cancel, until, &mut waited).await?),
    };
    let slot = match &call.tool().guard.line {
        None => None,
        Some(line) => Some(slot(line, cx, until, &mut waited).await?),
    };
    Ok(Place { _slot: slot, _turns: turns, _claim: claim, waited })
}

async fn turns_place(
    places: &Arc<Semaphore>,
    cancel: &CancellationToken,
    until: Instant,
    waited: &mut bool,
) -> Result<OwnedSemaphorePermit, NoPlace> {
    if let Ok(place) = places.clone().try_acquire_owned() {
        return Ok(place);
    }
    *waited = true;
    let place = in_time(places.clone().acquire_owned(), cancel, until).await?;
    Ok(place.expect("a turn never closes its semaphore"))
}

async fn slot(line: &Arc<Line>, cx: &RunCx<'_>, until: Instant, waited: &mut bool) -> Result<Slot, NoPlace> {
    let mut ticket = match line.take(&cx.caller.tenant) {
        Taken::Now(slot) => return Ok(slot),
        Taken::Full => return Err(NoPlace::Full),
        Taken::Later(ticket) => ticket,
    };
    *waited = true;
    in_time(ticket.granted(), cx.cancel, until).await?.ok_or(NoPlace::Full)
}

/// The work's end, unless somebody stops it or time is up first.
pub async fn in_time<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
    until: Instant,
) -> Result<T, NoPlace> {
    let (work, clock) = (pin!(unconstrained(work)), pin!(tokio::time::sleep_until(until)));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(NoPlace::Cancelled),
        done = work => Ok(done),
        () = clock => Err(NoPlace::Late),
    }
}
