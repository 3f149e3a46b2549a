//! A local Discord: its API and gateway on one side, people who write, press and fill in on the other.

use std::ops::Deref;

use tokio_util::sync::CancellationToken;

mod api;
mod callback;
mod cast;
mod channels;
mod check;
mod command_check;
mod commands;
mod components;
mod control;
mod draft;
mod error;
mod events;
pub mod fault;
mod files;
mod gateway;
mod ids;
mod inbound;
mod info;
mod interactions;
mod invoke;
mod limits;
pub mod markdown;
mod mentions;
mod messages;
mod options;
mod people;
mod places;
mod reactions;
mod request;
mod routes;
mod session;
mod show;
mod threads;
pub mod transcript;
mod webhooks;
mod world;

pub use crate::stats::Violation;
pub use api::{Answered, Ending, Heads};
pub use control::control;
pub use error::ApiError;
pub use fault::Fault;
pub use limits::Limits;
pub use people::{
    Command, Conversation, Edit, Intents, NewFile, NewKind, Outcome, Press, Raw, React, Refused, Remove, Said, Say,
    State, Submit, Typed, Typing,
};
pub use request::Body;
pub use routes::routes;
pub use transcript::Entry;
pub use world::Stats;

use session::Order;
use world::World;

use crate::platform::Platform;

/// How the platform is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of the first bot that shows itself.
    pub username: String,
    /// The guild that conversations are in unless they name another.
    pub guild: String,
    /// The tokens that are good; with none every well-formed one is, and its first use makes the bot.
    pub tokens: Vec<String>,
    /// The privileged intents that are switched on in the developers' portal.
    pub content: bool,
    pub members: bool,
    pub presences: bool,
    pub limits: Limits,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            username: "toolgate".into(),
            guild: "Toolgate".into(),
            tokens: Vec::new(),
            content: true,
            members: true,
            presences: true,
            limits: Limits::default(),
        }
    }
}

/// The platform; its requests come over HTTP and sockets, its people are in the hand of a test or a page.
pub struct Discord {
    platform: Platform<World>,
}

impl Discord {
    /// `url` is where the simulators are reached: `http://ADDRESS`, without a slash at the end.
    pub fn new(setup: Setup, url: &str, stop: CancellationToken) -> Self {
        Self { platform: Platform::new(World::new(setup, url), stop) }
    }

    /// What a connection has to send now, and whether each payload is compressed by itself.
    fn pull(&self, connection: u64) -> (Vec<Order>, bool) {
        let mut world = self.lock();
        let squeeze = world.connections.get(&connection).is_some_and(|connection| connection.squeeze);
        (world.pull(connection), squeeze)
    }
}

impl Deref for Discord {
    type Target = Platform<World>;

    fn deref(&self) -> &Platform<World> {
        &self.platform
    }
}
