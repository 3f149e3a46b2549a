//! A local Telegram: the Bot API on one side, people who write and press buttons on the other.

use std::ops::Deref;

use tokio_util::sync::CancellationToken;

mod api;
mod cast;
mod control;
mod detect;
mod draft;
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

pub use crate::stats::Violation;
pub use api::Ending;
pub use cast::Role;
pub use control::control;
pub use error::ApiError;
pub use fault::Fault;
pub use files::FileKind;
pub use limits::Limits;
pub use params::Params;
pub use people::{Conversation, Edit, NewFile, NewKind, Outcome, Press, Raw, React, Refused, Remove, Said, Say, State};
pub use routes::routes;
pub use transcript::Entry;
pub use world::Stats;

use world::World;

use crate::platform::Platform;

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
    platform: Platform<World>,
}

impl Telegram {
    pub fn new(setup: Setup, stop: CancellationToken) -> Self {
        let mut world = World::new(setup);
        world.add_chat("general", cast::ChatKind::Supergroup, "General");
        Self { platform: Platform::new(world, stop) }
    }
}

impl Deref for Telegram {
    type Target = Platform<World>;

    fn deref(&self) -> &Platform<World> {
        &self.platform
    }
}
