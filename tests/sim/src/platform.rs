//! What every platform is: a world behind one lock, and whoever waits for something to happen in it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::refused::Outcome;
use crate::stats::Stats;
use crate::transcript::{Entry, Transcript};

/// The state of one platform; no method of it waits.
pub trait World: Send + 'static {
    /// How the platform numbers chats and messages, and what else an entry and the statistics have there.
    type Id: Clone + Serialize + Send + Sync + 'static;
    type Own: Clone + Serialize + Send + Sync + 'static;
    type Counted: Clone + Serialize + Send + Sync + 'static;
    type Limits: Clone + Serialize + DeserializeOwned + Send + 'static;
    type Fault: DeserializeOwned + Send + 'static;
    type Progress: PartialEq;

    /// How often the world is looked at again although nobody changed it.
    const LOOKS_AGAIN: Option<Duration> = None;

    /// Changes whenever somebody may have to be woken.
    fn progress(&self) -> Self::Progress;

    /// Ends what waited too long.
    fn sweep(&mut self) {}

    fn entries(&self) -> &Transcript<Self::Id, Self::Own>;
    fn counts(&self) -> Stats<Self::Counted>;
    fn limits_mut(&mut self) -> &mut Self::Limits;
    fn order(&mut self, fault: Self::Fault) -> Outcome<()>;
    fn forget_faults(&mut self);
    fn forget_waits(&mut self);

    /// All conversations with their topics or threads.
    fn listed(&self) -> Vec<Value>;

    /// The type and content of a file by the id that an entry gives.
    fn stored(&self, id: &str) -> Option<(String, Bytes)>;
}

/// An entry of a world.
pub type EntryOf<W> = Entry<<W as World>::Id, <W as World>::Own>;

/// A world in the hand of requests, sockets, tests and pages.
pub struct Platform<W> {
    world: Mutex<W>,
    updates: watch::Sender<u64>,
    stop: CancellationToken,
}

impl<W: World> Platform<W> {
    pub(crate) fn new(world: W, stop: CancellationToken) -> Self {
        Self { world: Mutex::new(world), updates: watch::Sender::new(0), stop }
    }

    /// Changes the world and wakes whoever waits for something to happen in it.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        let mut world = self.lock();
        let before = world.progress();
        let out = change(&mut world);
        let moved = world.progress() != before;
        drop(world);
        if moved {
            self.wake();
        }
        out
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, W> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.updates.send_modify(|count| *count += 1);
    }

    /// Changes whenever something came: an event, an entry, an order.
    pub fn updates(&self) -> watch::Receiver<u64> {
        self.updates.subscribe()
    }

    /// Returns when the server is to stop.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    pub(crate) async fn pause(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stopped() => {}
        }
    }

    /// Returns when there may be something new; nothing once the server is to stop.
    pub(crate) async fn moved(&self, updates: &mut watch::Receiver<u64>) -> Option<()> {
        let again = async {
            match W::LOOKS_AGAIN {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = updates.changed() => changed.ok(),
            () = again => Some(()),
            () = self.stopped() => None,
        }
    }
}

impl<W: World> Platform<W> {
    /// Orders a fault.
    pub fn fault(&self, fault: W::Fault) -> Outcome<()> {
        let done = self.write(|world| world.order(fault));
        self.wake();
        done
    }

    /// Takes back every fault that still waits, and every wait of a rate limit; what is broken already stays so.
    pub fn clear_faults(&self) {
        self.write(|world| {
            world.forget_faults();
            world.forget_waits();
        });
    }

    pub fn limits(&self) -> W::Limits {
        self.lock().limits_mut().clone()
    }

    pub fn set_limits(&self, limits: W::Limits) {
        self.write(|world| {
            *world.limits_mut() = limits;
            world.forget_waits();
        });
        self.wake();
    }

    pub fn stats(&self) -> Stats<W::Counted> {
        self.write(World::sweep);
        self.lock().counts()
    }

    /// All conversations with their topics or threads.
    pub fn conversations(&self) -> Vec<Value> {
        self.lock().listed()
    }

    /// The type and content of a file by the id that an entry gives.
    pub fn file_by_id(&self, id: &str) -> Option<(String, Bytes)> {
        self.lock().stored(id)
    }

    /// What came after an entry, in one conversation or in all.
    pub fn transcript(&self, conversation: Option<&str>, after: u64) -> Vec<EntryOf<W>> {
        self.write(World::sweep);
        self.lock().entries().after(conversation, after)
    }

    /// Waits until an entry after `after` fits, and returns it.
    pub async fn until(
        &self,
        conversation: &str,
        after: u64,
        fits: impl Fn(&EntryOf<W>) -> bool,
    ) -> Option<EntryOf<W>> {
        self.first(Some(conversation), after, fits).await
    }

    /// The same in one conversation or in all.
    pub async fn first(
        &self,
        conversation: Option<&str>,
        after: u64,
        fits: impl Fn(&EntryOf<W>) -> bool,
    ) -> Option<EntryOf<W>> {
        let mut updates = self.updates();
        let mut seen = after;
        loop {
            updates.borrow_and_update();
            let new = self.transcript(conversation, seen);
            seen = new.last().map_or(seen, |entry| entry.n);
            if let Some(found) = new.into_iter().find(|entry| fits(entry)) {
                return Some(found);
            }
            self.moved(&mut updates).await?;
        }
    }
}
