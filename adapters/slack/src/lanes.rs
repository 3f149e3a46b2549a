//! Events of one conversation are taken in one after the other, however many sockets they came over; conversations do not
//! wait for each other.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::lock;

/// Events that are being taken in at once; whoever brings more waits.
pub(crate) const MOST_OPEN: usize = 1_000;

type Job = BoxFuture<'static, ()>;

pub(crate) struct Lanes {
    waiting: Mutex<HashMap<String, VecDeque<Job>>>,
    places: Arc<Semaphore>,
    pub(crate) tasks: TaskTracker,
    pub(crate) kill: CancellationToken,
}

impl Lanes {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_OPEN)),
            tasks: TaskTracker::new(),
            kill: CancellationToken::new(),
        })
    }

    /// Waits for room. Nothing once we have ended.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            place = self.places.clone().acquire_owned() => place.ok(),
            () = self.kill.cancelled() => None,
        }
    }

    /// Takes work into its lane, behind what is there.
    pub(crate) fn put(
        self: &Arc<Self>,
        lane: String,
        place: OwnedSemaphorePermit,
        job: impl Future<Output = ()> + Send + 'static,
    ) {
        let job: Job = Box::pin(async move {
            job.await;
            drop(place);
        });
        {
            let mut waiting = lock(&self.waiting);
            let is_new = !waiting.contains_key(&lane);
            waiting.entry(lane.clone()).or_default().push_back(job);
            if !is_new {
                return;
            }
        }
        let lanes = self.clone();
        self.tasks.spawn(async move {
            let work = async {
                while let Some(job) = lanes.next(&lane) {
                    // A crash costs this one, not those that wait behind it: Slack brings again what it is not told of.
                    if AssertUnwindSafe(job).catch_unwind().await.is_err() {
                        tracing::error!("taking something in crashed; it is not acknowledged");
                    }
                }
            };
            tokio::select! {
                () = work => {}
                () = lanes.kill.cancelled() => {}
            }
        });
    }

    /// The next of a lane; a lane without any is forgotten.
    fn next(&self, lane: &str) -> Option<Job> {
        let mut waiting = lock(&self.waiting);
        let job = waiting.get_mut(lane).and_then(VecDeque::pop_front);
        if job.is_none() {
            waiting.remove(lane);
        }
        job
    }

    /// Lets go of everything: what waits holds whoever holds us.
    pub(crate) fn abandon(&self) {
        self.kill.cancel();
        drop(std::mem::take(&mut *lock(&self.waiting)));
    }

    /// Lets what is under way end, for a while.
    pub(crate) async fn finish(&self, patience: Duration) {
        self.tasks.close();
        let _ = tokio::time::timeout(patience, self.tasks.wait()).await;
        self.kill.cancel();
        self.tasks.wait().await;
        lock(&self.waiting).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_crashes_holds_up_nobody_and_leaves_its_place() {
        let lanes = Lanes::new();
        let (done, mut seen) = tokio::sync::mpsc::unbounded_channel();
        for n in 0..4 {
            let (place, done) = (lanes.place().await.expect("room"), done.clone());
            lanes.put("a".into(), place, async move {
                assert!(n % 2 == 1, "it crashes on purpose");
                done.send(n).expect("heard");
            });
        }
        assert_eq!((seen.recv().await, seen.recv().await), (Some(1), Some(3)));
        lanes.finish(Duration::from_secs(5)).await;
        assert!(lanes.waiting.lock().expect("whole").is_empty());
        assert_eq!(lanes.places.available_permits(), MOST_OPEN);
    }

    #[tokio::test]
    async fn a_lane_keeps_its_order_and_holds_up_no_other() {
        let lanes = Lanes::new();
        let (done, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let (open, gate) = tokio::sync::oneshot::channel::<()>();
        let place = lanes.place().await.expect("room");
        let first = done.clone();
        lanes.put("a".into(), place, async move {
            gate.await.expect("opened");
            first.send(1).expect("heard");
        });
        for n in 2..5 {
            let (place, done) = (lanes.place().await.expect("room"), done.clone());
            lanes.put("a".into(), place, async move { done.send(n).expect("heard") });
        }
        let (place, other) = (lanes.place().await.expect("room"), done.clone());
        lanes.put("b".into(), place, async move { other.send(9).expect("heard") });
        assert_eq!(seen.recv().await, Some(9));
        open.send(()).expect("waited for");
        for n in 1..5 {
            assert_eq!(seen.recv().await, Some(n));
        }
        lanes.finish(Duration::from_secs(5)).await;
        assert!(lanes.waiting.lock().expect("whole").is_empty());
    }
}
