//! The HTTP interface: messages in, tools, call trees, health.
//!
//! Reading order: [`config`] is what it is given; [`serve`] owns the socket and its connections; `gate` decides who asks;
//! `routes` is the table of contents of the API; `messages`, `tools` and `traces` answer, `chat` in the words of OpenAI's
//! API; `follow` streams a turn; `page` is a chat in the browser; `problem` says what went wrong, once for all routes. Absent on purpose: no policy, no store, no tool; of dispatch
//! only its facade.

mod approvals;
mod body;
mod callers;
mod chat;
mod config;
mod follow;
mod gate;
mod health;
mod messages;
mod metrics;
mod openapi;
mod page;
mod pairings;
mod pictures;
mod policies;
mod problem;
mod routes;
mod schedules;
mod serve;
mod sessions;
mod stats;
mod tools;
mod traces;
mod turns;
mod view;

pub use config::{Client, Config, Error, Token, token};
pub use health::Conditions;
pub use routes::ROUTES;
pub use serve::{Running, serve};
pub use stats::{audit_shown, by_of, stats_shown, unusual_shown};
pub use view::fared;
