//! Who may run at once: the resource that a call needs alone, the turn's places, the tool's concurrency limit. In this
//! order, so that nobody who has the later waits for somebody who waits for it.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError},
    task::unconstrained,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::RunCx;
use crate::{permitted::Permitted, resources::Claim};

/// A tool's limit and who waits for it.
pub struct Guard {
    limit: Option<Limit>,
}

struct Limit {
    size: usize,
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Guard {
    pub fn new(concurrency_limit: Option<usize>) -> Self {
        let limit = concurrency_limit.map(|size| {
            let size = size.clamp(1, Semaphore::MAX_PERMITS);
            Limit { size, slots: Arc::new(Semaphore::new(size)), waiting: AtomicUsize::new(0) }
        });
        Self { limit }
    }

    /// Whether it does what a guard made for this limit would.
    pub fn fits(&self, concurrency_limit: Option<usize>) -> bool {
        self.limit.as_ref().map(|limit| limit.size) == concurrency_limit
    }

    /// How many calls run under the limit, where there is one.
    pub fn running(&self) -> usize {
        self.limit.as_ref().map_or(0, |limit| limit.size.saturating_sub(limit.slots.available_permits()))
    }

    /// How many calls wait for a place.
    pub fn waiting(&self) -> usize {
        self.limit.as_ref().map_or(0, |limit| limit.waiting.load(Ordering::Relaxed))
    }
}

impl Limit {
    /// Sixteen full rounds, and never fewer than 64.
    fn most_waiting(&self) -> usize {
        self.size.saturating_mul(16).max(64)
    }
}

/// Held while a call runs.
pub struct Place {
    /// Frees first: a slot is of use to more calls than a resource is.
    _slot: Option<OwnedSemaphorePermit>,
    _turns: Option<OwnedSemaphorePermit>,
    _claim: Option<Claim>,
    pub waited: bool,
}

/// Why a call does not run.
pub enum NoPlace {
    Full,
    Late,
    Cancelled,
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
    let guard = call.tool().guard.clone();
    let slot = match &guard.limit {
        None => None,
        Some(limit) => Some(slot(limit, cx.cancel, until, &mut waited).await?),
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

async fn slot(
    limit: &Limit,
    cancel: &CancellationToken,
    until: Instant,
    waited: &mut bool,
) -> Result<OwnedSemaphorePermit, NoPlace> {
    match limit.slots.clone().try_acquire_owned() {
        Ok(slot) => return Ok(slot),
        Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {}
    }
    let _waiter = Waiter::of(limit).ok_or(NoPlace::Full)?;
    *waited = true;
    let slot = in_time(limit.slots.clone().acquire_owned(), cancel, until).await?;
    Ok(slot.expect("a guard never closes its semaphore"))
}

/// Counted among those who wait, for as long as it lives.
struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn of(limit: &'a Limit) -> Option<Self> {
        let before = limit.waiting.fetch_add(1, Ordering::Relaxed);
        let waiter = Self(&limit.waiting);
        (before < limit.most_waiting()).then_some(waiter)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
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
