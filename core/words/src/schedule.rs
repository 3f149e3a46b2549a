//! What is said of schedules. Markdown; what is filled in is escaped by whoever fills it in.

use contract::Locale;

use crate::catalogue::{self, Values, value};

/// A sentence about schedules.
#[derive(Debug, Clone, Copy)]
pub enum OfSchedule<'a> {
    /// `when` as it can be written, `next` with its zone.
    Made {
        id: &'a str,
        when: &'a str,
        next: &'a str,
    },
    /// Behind that one, where the answers go elsewhere.
    GoesTo {
        place: &'a str,
    },
    /// The same in a list.
    To {
        place: &'a str,
    },
    /// Behind that one, where nobody said a zone.
    InUtc,
    Listed,
    NoneListed,
    HowTo,
    Next {
        next: &'a str,
    },
    Paused {
        why: &'a str,
    },
    Over,
    LeftOut {
        n: u64,
    },
    LastRun {
        reference: &'a str,
    },
    NowPaused {
        id: &'a str,
    },
    NowResumed {
        id: &'a str,
        next: &'a str,
    },
    Removed {
        id: &'a str,
    },
    Runs {
        id: &'a str,
        reference: &'a str,
    },
    Unknown {
        id: &'a str,
    },
    /// Above an answer in a conversation where others read it.
    Head {
        who: &'a str,
        title: &'a str,
    },
    /// Under an answer after which it rests.
    RestsNow {
        id: &'a str,
    },
}

/// The sentence in the language.
pub fn of_schedule(sentence: OfSchedule<'_>, locale: Locale) -> String {
    let plain = |key| catalogue::plain(locale, key);
    let with = |key, values: &[(&'static str, &str)]| {
        catalogue::text(
            locale,
            key,
            &values.iter().map(|(name, text)| (*name, value((*text).to_owned()))).collect::<Values>(),
        )
    };
    match sentence {
        OfSchedule::Made { id, when, next } => with("schedule-made", &[("id", id), ("when", when), ("next", next)]),
        OfSchedule::GoesTo { place } => with("schedule-goes-to", &[("place", place)]),
        OfSchedule::To { place } => with("schedule-to", &[("place", place)]),
        OfSchedule::InUtc => plain("schedule-in-utc"),
        OfSchedule::Listed => plain("schedule-listed"),
        OfSchedule::NoneListed => plain("schedule-none"),
        OfSchedule::HowTo => plain("schedule-how"),
        OfSchedule::Next { next } => with("schedule-next", &[("next", next)]),
        OfSchedule::Paused { why: "" } => plain("schedule-rests"),
        OfSchedule::Paused { why } => with("schedule-rests-why", &[("reason", why)]),
        OfSchedule::Over => plain("schedule-over"),
        OfSchedule::LeftOut { n } => with("schedule-left-out", &[("n", &n.to_string())]),
        OfSchedule::LastRun { reference } => with("schedule-last", &[("reference", reference)]),
        OfSchedule::NowPaused { id } => with("schedule-paused", &[("id", id)]),
        OfSchedule::NowResumed { id, next } => with("schedule-resumed", &[("id", id), ("next", next)]),
        OfSchedule::Removed { id } => with("schedule-removed", &[("id", id)]),
        OfSchedule::Runs { id, reference } => with("schedule-runs", &[("id", id), ("reference", reference)]),
        OfSchedule::Unknown { id } => with("schedule-unknown", &[("id", id)]),
        OfSchedule::Head { who, title } => with("schedule-head", &[("who", who), ("title", title)]),
        OfSchedule::RestsNow { id } => with("schedule-rests-now", &[("id", id)]),
    }
}

/// A day of the week in short, from 0 for Monday.
pub fn weekday(day: u8, locale: Locale) -> String {
    catalogue::plain(
        locale,
        match day {
            0 => "schedule-day-1",
            1 => "schedule-day-2",
            2 => "schedule-day-3",
            3 => "schedule-day-4",
            4 => "schedule-day-5",
            5 => "schedule-day-6",
            _ => "schedule-day-7",
        },
    )
}
