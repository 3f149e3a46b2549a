//! The core through few doors: a message goes in, reply and tree come out.
// An unwrap here is a fact that does not hold.
#![allow(clippy::unwrap_used)]

mod approvals;
mod away;
mod batch;
mod budgets;
mod catalog;
mod busy;
mod chaos;
mod delivery;
mod gating;
mod kill;
mod drafts;
mod kinds;
mod lanes;
mod languages;
mod prompts;
mod reason;
mod replan;
mod scene;
mod sessions;
mod signs;
mod turns;
