//! Tools: their specs as data, the registry of what is offered, and the guard that runs a call.
//!
//! Reading order: [`spec`] is what an owner writes; [`schema`] and [`args`] check what a caller sends; [`endpoint`]
//! is what an endpoint fills; [`registry`] turns files into an immutable [`Snapshot`]; [`guard`] runs one permitted
//! call. No HTTP, no chat, no store.

pub mod args;
pub mod availability;
pub mod budget;
pub mod dynamic;
pub mod endpoint;
pub mod files;
pub mod guard;
pub mod permitted;
pub mod registry;
pub mod resources;
pub mod schema;
pub mod select;
pub mod spec;
pub mod stages;
#[cfg(test)]
mod testing;
pub mod tool;
pub mod watch;

pub use availability::Probe;
pub use endpoint::{Build, Cx, Endpoint, Fault, Host, Notes, Output, Polled, ToolFailure};
pub use guard::{Guard, Job, Report, RunCx, follow, job, run};
pub use permitted::Permitted;
pub use registry::{Examined, Loaded, Quarantine, Registry, Snapshot, Stage, Standing, lifecycle};
pub use resources::{Claim, Resources};
pub use schema::{Prepared, Schema};
pub use spec::Spec;
pub use stages::Stages;
pub use tokio::time::Instant;
pub use tool::Tool;
