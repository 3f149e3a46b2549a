//! Who may call what: policy files, labels, tenants and the one function that permits.
//!
//! Reading order: [`Policies`] are files, read and checked; [`Compiled`] are the same bound to the tools of a snapshot;
//! [`permit`] decides, and its [`Permit`] is the only way to run a tool. Absent on purpose: this crate knows nothing of
//! arguments, time or stores, and does no I/O but [`Policies::load`].

mod compiled;
mod error;
mod load;
mod manner;
mod permit;
mod set;
mod verdict;

pub use compiled::{Compiled, ToolFacts};
pub use error::{ConfigError, Source};
pub use load::{Loaded, Policies};
pub use manner::{Detail, ExecutionMode, Gate, Gating, Limits, Manner, Mentions, Replies};
pub use permit::{Permit, Rights, permit, permit_in};
pub use set::ToolSet;
pub use verdict::{BUILT_IN, PolicyLayer, Refusal, RefusalKind, Rule, Verdict};

/// The files that come with the gateway, by name: valid with any tools or none.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &[]
}

/// The policies of `toolgate demo`, by name.
pub fn demo() -> &'static [(&'static str, &'static str)] {
    &[]
}
