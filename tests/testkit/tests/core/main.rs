//! The core through few doors: a message goes in, reply and tree come out.
// An unwrap here is a fact that does not hold.
#![allow(clippy::unwrap_used)]

mod approvals;
mod away;
mod batch;
mod bridge;
mod budgets;
mod busy;
mod catalog;
mod chaos;
mod delegate;
mod delivery;
mod drafts;
mod gating;
mod isolation;
mod kill;
mod kinds;
mod lanes;
mod languages;
mod prompts;
mod reason;
mod replan;
mod scene;
mod schedules;
mod sessions;
mod signs;
mod stages;
mod turns;
mod untrusted;
