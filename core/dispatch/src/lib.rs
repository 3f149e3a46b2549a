//! From a message to its reply: intake, lanes, turns, batches, delivery, recovery.
//!
//! Reading order: [`gateway`] is the facade; [`intake`] takes a message in
//! ([`gate`] says whose, [`signals`] what is acted on at once); [`lane`] keeps one turn at a time per
//! session; [`turn`] reads "plan, run, say"; [`batch`] runs the calls of a step through the one gate; [`say`] makes
//! the reply; [`delivery`] brings it to the platform; [`recovery`] takes up what a dead process left.
//! Absent on purpose: no platform's markup, no HTTP, no store but through contract's traits.

mod approval;
mod artefacts;
mod audit;
mod batch;
mod bridge;
mod brought;
mod builtin;
mod call;
mod catalog;
pub mod commands;
mod delegate;
mod delivery;
mod fared;
mod gate;
mod gateway;
mod indicators;
mod intake;
mod invoke;
pub mod job;
pub mod keeper;
mod lane;
mod mend;
pub mod model;
mod pairing;
mod payloads;
mod planner;
mod probing;
mod progress;
mod reason;
mod recovery;
mod running;
pub mod say;
mod schedule;
mod session;
mod settings;
mod show;
mod signals;
mod snapshot;
mod summary;
mod trace;
pub mod tree;
mod turn;
mod untrusted;
mod unusual;
mod watch;

pub use audit::{AuditHealth, AuditTo, Guarded, Sink};
pub use fared::{Fared, FaredIn, TURNS_MOST, fared};
pub use gateway::{Gateway, Invoked, Options};
pub use model::{Draft, Model};
pub use pairing::{Asking, NotPaired, Paired, Pairings};
pub use reason::Spent;
pub use schedule::{HttpClient, NewSchedule, ScheduleSet, in_words, written};
pub use session::{Memory, NotMounted, session_of};
pub use settings::Settings;
pub use snapshot::{Snapshot, ToolList};
pub use trace::{BOUNDS_US, Counted, CountedCalls, CountedTool, TraceHealth};
pub use unusual::{Unusual, unusual};
