//! The HTTP interface: messages in, tools, call trees, health.
//!
//! Reading order: [`config`] is what it is given; [`serve`] owns the socket and its connections; `gate` decides who asks;
//! `routes` is the table of contents of the API; `messages`, `tools` and `traces` answer; `follow` streams a turn;
//! `problem` says what went wrong, once for all routes. Absent on purpose: no policy, no store, no tool; of dispatch
//! only its facade.

mod body;
mod callers;
mod config;
mod follow;
mod gate;
mod health;
mod messages;
mod openapi;
mod pairings;
mod policies;
mod problem;
mod routes;
mod serve;
mod sessions;
mod tools;
mod traces;
mod turns;
mod view;

pub use config::{Client, Config, Error, Token, token};
pub use health::Conditions;
pub use routes::ROUTES;
pub use serve::{Running, serve};
