//! The adapter against a local Discord, through its real sockets.

mod commanding;
mod connecting;
mod fake;
mod hearing;
mod sending;
mod stage;
