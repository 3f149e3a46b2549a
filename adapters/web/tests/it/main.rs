//! The HTTP interface over real connections: a gateway in a box on SQLite, clients with and without tokens.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is how they fail")]

mod approvals;
mod calls;
mod chat;
mod doors;
mod lifecycle;
mod messages;
mod pairings;
mod schedules;
mod sessions;
mod traces;
mod world;
