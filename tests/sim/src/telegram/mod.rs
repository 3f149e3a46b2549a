//! A local Telegram: the Bot API on one side, people who write and press buttons on the other.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

mod api;
mod cast;
mod detect;
mod edit;
mod error;
pub mod fault;
mod files;
pub mod hook;
pub mod html;
mod inbound;
mod info;
mod limits;
mod markdown;
mod markup;
mod params;
mod people;
mod places;
mod poll;
mod react;
mod routes;
mod send;
pub mod text;
pub mod transcript;
mod world;

pub use api::Ending;
pub use cast::Role;
pub use error::ApiError;
pub use fault::Fault;
pub use files::FileKind;
pub use limits::Limits;
pub use params::Params;
pub use people::{Conversation, Edit, NewFile, NewKind, Outcome, Press, Raw, React, Refused, Remove, Said, Say, State};
pub use routes::routes;
pub use transcript::Entry;
pub use world::{Stats, Violation};

use world::World;

/// How the platform is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The user name of the first bot that shows itself.
    pub username: String,
    /// The tokens that are good; with none every well-formed one is, and its first use makes the bot.
    pub tokens: Vec<String>,
    /// Whether a bot sees of a group only what is meant for it.
    pub privacy: bool,
    pub limits: Limits,
}

impl Default for Setup {
    fn default() -> Self {
        Self { username: "toolgate_bot".into(), tokens: Vec::new(), privacy: false, limits: Limits::default() }
    }
}

/// The platform; its requests come over HTTP, its people are in the hand of a test or a page.
pub struct Telegram {
    world: Mutex<World>,
    updates: watch::Sender<u64>,
    stop: CancellationToken,
}

impl Telegram {
    pub fn new(setup: Setup, stop: CancellationToken) -> Self {
        let mut world = World::new(setup);
        world.add_chat("general", cast::ChatKind::Supergroup, "General");
        Self { world: Mutex::new(world), updates: watch::Sender::new(0), stop }
    }

    /// Changes the world and wakes whoever waits for something to happen in it.
    fn write<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
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

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.updates.send_modify(|count| *count += 1);
    }

    /// Changes whenever an update, an entry or a cut came.
    pub fn updates(&self) -> watch::Receiver<u64> {
        self.updates.subscribe()
    }

    /// Returns when the server is to stop.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stopped() => {}
        }
    }
}
