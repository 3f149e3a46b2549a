//! The adapter against a local Discord, through its real sockets.

#![allow(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

mod commanding;
mod connecting;
mod hearing;
mod sending;
mod stage;
