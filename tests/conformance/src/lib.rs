//! The stage of the conformance suite: a simulator, an adapter over real sockets, the real core, and the people's side.
//!
//! Reading order: [`Stage`] puts it together and can kill and restart it; [`People`] is what persons do and see, the same
//! on every platform; [`Entry`] is one thing that somebody saw.

mod people;
mod stage;

pub use people::{Entry, People, Seen};
pub use stage::{Options, Stage};
