//! What is said to people, by language: a catalogue, and the pure functions that read it.
//!
//! English and Simplified Chinese. Texts of tools and their owners are not in it: they are said as they were written.
//!
//! Reading order: [`locale_of`] decides the language; [`notice`] says a failure in it; [`replies`](button) and
//! [`builtin`](line) are the words around answers and of the gateway itself. The texts are in `locales/`.
//! Absent on purpose: no I/O (the catalogues are embedded), no platform's markup.

mod approval;
mod builtin;
mod catalogue;
mod locale;
mod notice;
mod reading;
mod replies;
mod schedule;
mod session;
#[cfg(test)]
mod tests;

pub use approval::{
    Card, approval_open, approval_outcome, approval_reason, approval_waits, approval_why, approvals_none, card,
    job_waits,
};
pub use builtin::{Line, builtin, line, more_tools, no_tool_matches, running, troubled, waiting};
pub use locale::{locale_of, of_tag};
pub use notice::{Shown, expected, headed, notice};
pub use replies::{
    button, button_stop_call, cut_here, files_not_used, files_thanked, goes_on_in_file, maybe_repeated, model_cut,
    model_tried, named_file, no_output, not_here, progress_counted, progress_more, progress_said, progress_timed,
    reference, same_holds, send, signal, wait, waits_behind, working, yes_or_no,
};
pub use schedule::{OfSchedule, of_schedule, weekday};
pub use session::{OfSession, of_session, session_line};
