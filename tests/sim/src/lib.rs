//! Local chat platforms that speak the real wire protocols and enforce the real limits.
//!
//! One process listens on one loopback port. Each platform has its own module and its own address space: `/telegram/bot{token}/METHOD`
//! is the Bot API, `/slack/api/METHOD` the Web API, which also hands out the addresses of Slack's sockets, uploads and responses.
//! `/control/{platform}/VERB` is the side of the people: they write, press buttons, and read what the bot showed them.
//! Whatever breaks a rule of the platform is refused in the platform's words and counted.
//!
//! It shares no code with the gateway that is tested against it: it knows the platforms from their documentation alone.

pub mod control;
pub mod discord;
mod fault;
mod files;
mod form;
mod pace;
mod platform;
mod refused;
pub mod server;
pub mod slack;
pub mod socket;
mod stats;
pub mod telegram;
mod transcript;
mod verbs;

pub use discord::Discord;
pub use server::{Error, Options, Running, Sim, serve};
pub use slack::Slack;
pub use telegram::Telegram;
