//! The adapter against a Slack that speaks the real protocol and enforces its limits; the core is a fake in the test's
//! hand. Whatever a test does, the platform must count no broken rule at its end.
#![allow(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

mod asking;
mod hearing;
mod hooks;
mod sending;
mod sockets;
mod stage;
mod streams;
