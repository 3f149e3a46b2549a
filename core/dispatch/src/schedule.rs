//! Schedules: what is asked on somebody's behalf when it is time, with the owner's rights and those of the destination.
//!
//! Reading order: [`when`] reads and says when (pure); [`clock`] wakes for the next that is due and has it accepted;
//! [`make`] makes and changes schedules; [`rights`] says who may and by which rights a run runs; [`desk`] answers
//! `/schedule`; [`facade`] is what operators use.

mod facade;
mod when;

pub use facade::{NewSchedule, ScheduleSet};
pub use when::{in_words, written};
