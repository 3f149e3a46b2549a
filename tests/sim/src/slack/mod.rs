//! A local Slack: the Web API, sockets and request URLs on one side, people who write and press buttons on the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

mod api;
mod apps;
mod assistant;
mod blocks;
mod cast;
mod chat;
mod compose;
mod control;
mod conversation;
mod elements;
mod error;
mod events;
pub mod fault;
mod files;
mod hooks;
mod info;
mod inputs;
mod interact;
mod limits;
mod link;
mod markdown;
mod outbox;
mod params;
mod people;
mod places;
mod reactions;
mod replies;
mod rich;
mod richcheck;
mod routes;
mod say;
mod seen;
mod stream;
pub mod text;
pub mod transcript;
mod update;
mod upload;
mod views;
mod world;

pub use api::Ending;
pub use apps::NewApp;
pub use control::control;
pub use error::ApiError;
pub use fault::Fault;
pub use limits::Limits;
pub use params::Params;
pub use people::{
    Command, Conversation, Edit, Events, NewFile, NewKind, Open, OpenWhat, Outcome, Press, Raw, React, Refused, Remove,
    Said, Say, Shortcut, Standing, State, Submit,
};
pub use routes::routes;
pub use transcript::Entry;
pub use world::{Stats, Violation};

use world::World;

/// How the platform is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of the first app and its bot.
    pub name: String,
    /// The tokens that are good; with none every well-formed one is, and belongs to the first app unless another declared it.
    pub tokens: Vec<String>,
    /// Further apps; one with the first app's name says more of that.
    pub apps: Vec<NewApp>,
    /// The slash commands that the first app registered; without a list, every one.
    pub commands: Option<Vec<String>>,
    pub limits: Limits,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            name: "toolgate".into(),
            tokens: Vec::new(),
            apps: Vec::new(),
            commands: None,
            limits: Limits::default(),
        }
    }
}

/// The platform; its requests come over HTTP and sockets, its people are in the hand of a test or a page.
pub struct Slack {
    world: Mutex<World>,
    updates: watch::Sender<u64>,
    hooks: hooks::Pool,
    stop: CancellationToken,
}

impl Slack {
    /// `url` is where the simulators are reached: `http://ADDRESS`, without a slash at the end.
    pub fn new(setup: Setup, url: &str, stop: CancellationToken) -> Self {
        let world = World::new(setup, url);
        Self { world: Mutex::new(world), updates: watch::Sender::new(0), hooks: hooks::Pool::default(), stop }
    }

    /// Starts what tells the apps and ends what waits too long; it stops with the token.
    fn start(self: Arc<Self>) {
        // Ends with the token that every part of the server is stopped by.
        tokio::spawn(async move { hooks::pump(self).await });
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

    /// Changes whenever a delivery, an entry or an order came.
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
