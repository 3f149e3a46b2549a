//! Who may call what: policy files, labels, tenants and the one function that permits.
//!
//! Reading order: [`Policies`] are files, read and checked; [`Compiled`] are the same bound to the tools of a snapshot;
//! [`permit`] decides, and its [`Permit`] is the only way to run a tool; where people have to say yes first, it says so
//! ([`Need`]) and covers nothing but what they said yes to. Absent on purpose: this crate knows nothing of time or stores,
//! of arguments only what a condition reads, and does no I/O but [`Policies::load`].

mod approval;
mod block;
mod compile;
mod compiled;
mod explain;
mod load;
mod manner;
mod names;
mod permit;
mod prompt;
mod reader;
mod rules;
mod set;
mod source;
pub mod tree;
mod verdict;
mod when;

pub use approval::{Approvers, Deliver, Manner as AsksHow, Need};
pub use compiled::{Compiled, ToolFacts};
pub use load::{Loaded, Policies};
pub use manner::{
    Admission, Detail, ExecutionMode, Gate, Gating, Hearing, Limits, Manner, Mentions, Replies, Sessions, WhileBusy,
};
pub use permit::{Permit, Rights, permit, permit_in};
pub use prompt::PLACEHOLDERS;
pub use set::ToolSet;
pub use source::Source;
pub use verdict::{BUILT_IN, PolicyLayer, Refusal, RefusalKind, Rule, Verdict};

pub(crate) const LABELS: &str = include_str!("../labels.yaml");

macro_rules! embedded {
    ($folder:literal: $($file:literal),*) => { &[$(($file, include_str!(concat!("../", $folder, $file)))),*] };
}

/// The files that come with the gateway, by name: valid with any tools or none.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    embedded!("": "api.yaml", "discord.yaml", "labels.yaml", "slack.yaml", "telegram.yaml", "tenants.yaml", "web.yaml")
}

/// The policies of `toolgate demo`, by name: they allow the toolsets that the demo brings.
pub fn demo() -> &'static [(&'static str, &'static str)] {
    embedded!("demo/": "api.yaml", "console.yaml", "discord.yaml", "slack.yaml", "telegram.yaml", "web.yaml")
}
