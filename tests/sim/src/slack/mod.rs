//! A local Slack: the Web API, sockets and request URLs on one side, people who write and press buttons on the other.

use std::ops::Deref;
use std::sync::Arc;

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
mod initials;
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
mod scopes;
mod seen;
mod slash;
mod stream;
pub mod text;
pub mod transcript;
mod update;
mod upload;
mod views;
mod world;

pub use crate::stats::Violation;
pub use api::{Answer, Ending};
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
pub use scopes::Scopes;
pub use transcript::Entry;
pub use world::Stats;

use world::World;

use crate::platform::Platform;

/// How the platform is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of the first app and its bot.
    pub name: String,
    /// The tokens that are good; with none every well-formed one is, and belongs to the first app unless another declared it.
    pub tokens: Vec<String>,
    /// Further apps; one with the first app's name says more of that.
    pub apps: Vec<NewApp>,
    /// The slash commands that the first app registered; without a list, every name is one.
    pub commands: Option<Vec<String>>,
    pub limits: Limits,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            name: "toolgate".into(),
            tokens: Vec::new(),
            apps: Vec::new(),
            commands: Some(vec!["/toolgate".into()]),
            limits: Limits::default(),
        }
    }
}

/// The platform; its requests come over HTTP and sockets, its people are in the hand of a test or a page.
pub struct Slack {
    platform: Platform<World>,
    hooks: hooks::Pool,
}

impl Slack {
    /// `url` is where the simulators are reached: `http://ADDRESS`, without a slash at the end.
    pub fn new(setup: Setup, url: &str, stop: CancellationToken) -> Self {
        let world = World::new(setup, url);
        Self { platform: Platform::new(world, stop), hooks: hooks::Pool::default() }
    }

    /// Starts what tells the apps and ends what waits too long; it stops with the token.
    fn start(self: Arc<Self>) {
        // Ends with the token that every part of the server is stopped by.
        tokio::spawn(async move { hooks::pump(self).await });
    }
}

impl Deref for Slack {
    type Target = Platform<World>;

    fn deref(&self) -> &Platform<World> {
        &self.platform
    }
}
