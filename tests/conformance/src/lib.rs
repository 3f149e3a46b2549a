//! The stage of the conformance suite: a simulator, an adapter over real sockets, the real core, and the people's side.
//!
//! Reading order: [`Stage`] puts it together and can kill and restart it; [`People`] is what persons do and see, the same
//! on every platform; [`Entry`] is one thing that somebody saw; [`Case`] is a line of the suite's table; [`week`] goes
//! on for long.

mod accounts;
mod manner;
mod people;
mod stage;
mod table;
pub mod week;

pub use accounts::SECRETS;
pub use people::{Entry, People, SOON, Seen};
pub use stage::{Adapter, Options, Stage};
pub use table::{Case, Module};
