//! Schedules: what is asked on somebody's behalf when it is time, with the owner's rights and those of the destination.
//!
//! Reading order: [`when`] reads and says when (pure); [`clock`] wakes for the next that is due and has it accepted;
//! [`make`] makes and changes schedules; [`rights`] says by which rights a run runs; [`run`] what it shows and what its
//! end means; [`desk`] answers `/schedule`; [`facade`] is what operators use.

mod clock;
mod desk;
mod facade;
mod make;
mod rights;
mod run;
mod when;

pub(crate) use clock::keep;
pub(crate) use desk::{answer, own_ids};
pub use facade::{HttpClient, NewSchedule, ScheduleSet};
pub(crate) use rights::{Standing, narrowed, standing};
pub(crate) use run::{dressed, ended, is_quiet};
pub(crate) use when::zones;
pub use when::{in_words, written};
