//! When a schedule is due: read as people write it, reckoned, and said back. Pure.

mod forms;

use contract::{
    Locale,
    records::{Schedule, When},
};
use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, Zoned, tz::TimeZone};

pub(crate) use forms::read;

/// The zone where nobody says one.
pub(crate) const UTC: &str = "UTC";
const MINUTE_MS: u64 = 60_000;

/// Why something cannot be a time, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub expected: String,
    pub hint: Option<String>,
}

impl Wrong {
    fn new(expected: &str, hint: &str) -> Self {
        Self { expected: expected.to_owned(), hint: Some(hint.to_owned()) }
    }
}

/// The zone of that name, and the name as it is usually written.
pub(crate) fn zone(name: &str) -> Result<(TimeZone, String), Wrong> {
    let name = name.trim();
    let known = || jiff::tz::db().available();
    // By its name alone: what is looked up must not depend on a machine's own settings.
    if let Some(exact) = known().find(|known| known.as_str().eq_ignore_ascii_case(name))
        && let Ok(zone) = TimeZone::get(exact.as_str())
    {
        return Ok((zone, exact.as_str().to_owned()));
    }
    let all: Vec<String> = known().map(|known| known.as_str().to_owned()).collect();
    let in_city = |known: &&String| {
        known.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&name.replace(' ', "_")))
    };
    let near = all
        .iter()
        .find(in_city)
        .map(String::as_str)
        .or_else(|| contract::text::nearest(name, all.iter().map(String::as_str)));
    let hint = near.map_or_else(|| "for example Europe/Berlin".to_owned(), |near| format!("did you mean {near}?"));
    Err(Wrong { expected: "the name of a time zone".to_owned(), hint: Some(hint) })
}

/// The names of all zones.
pub(crate) fn zones() -> Vec<String> {
    jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect()
}

/// Five fields of cron; seconds and years are none of them, so nothing is due more often than once a minute.
fn cron(pattern: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(pattern).map_err(|error| error.to_string())
}

fn at(ms: u64, zone: &TimeZone) -> Option<Zoned> {
    let ms = i64::try_from(ms).ok()?;
    Some(Timestamp::from_millisecond(ms).ok()?.to_zoned(zone.clone()))
}

fn ms_of(zoned: &Zoned) -> Option<u64> {
    u64::try_from(zoned.timestamp().as_millisecond()).ok()
}

/// The first time after `after_ms`; nothing when there is none.
pub(crate) fn next(when: &When, zone: &TimeZone, after_ms: u64) -> Option<u64> {
    match when {
        When::Cron(pattern) => ms_of(&cron(pattern).ok()?.find_next_occurrence(&at(after_ms, zone)?, false).ok()?),
        When::Every { minutes, from_ms } => {
            let step = step(*minutes);
            let steps = after_ms.saturating_sub(*from_ms) / step + 1;
            Some(from_ms + steps * step)
        }
        When::At { ms } => (*ms > after_ms).then_some(*ms),
    }
}

/// The last time that is not after `now_ms`; nothing when there is none.
pub(crate) fn latest(when: &When, zone: &TimeZone, now_ms: u64) -> Option<u64> {
    match when {
        When::Cron(pattern) => ms_of(&cron(pattern).ok()?.find_previous_occurrence(&at(now_ms, zone)?, true).ok()?),
        When::Every { minutes, from_ms } => {
            let step = step(*minutes);
            let steps = now_ms.checked_sub(*from_ms)? / step;
            (steps > 0).then_some(from_ms + steps * step)
        }
        When::At { ms } => (*ms <= now_ms).then_some(*ms),
    }
}

fn step(minutes: u32) -> u64 {
    u64::from(minutes.max(1)) * MINUTE_MS
}

/// The zone that a stored schedule names.
pub(crate) fn zone_of(schedule: &Schedule) -> TimeZone {
    TimeZone::get(&schedule.zone).unwrap_or(TimeZone::UTC)
}

/// `when` as it can be written again.
pub fn written(schedule: &Schedule) -> String {
    match &schedule.when {
        When::Cron(pattern) => pattern.clone(),
        When::Every { minutes, .. } => format!("every {minutes} minutes"),
        When::At { ms } => match at(*ms, &zone_of(schedule)) {
            Some(at) => at.strftime("at %Y-%m-%d %H:%M").to_string(),
            None => "at 1970-01-01 00:00".to_owned(),
        },
    }
}

/// A time in the schedule's zone, as people read it: `Tue 2026-12-01 08:00 Europe/Berlin`.
pub fn in_words(schedule: &Schedule, at_ms: u64) -> String {
    said(schedule, at_ms, Locale::En)
}

/// [`in_words`] in a language.
pub(crate) fn said(schedule: &Schedule, at_ms: u64, locale: Locale) -> String {
    let Some(at) = at(at_ms, &zone_of(schedule)) else { return String::new() };
    let day = words::weekday(at.weekday().to_monday_zero_offset().unsigned_abs(), locale);
    format!("{day} {} {}", at.strftime("%Y-%m-%d %H:%M"), schedule.zone)
}

#[cfg(test)]
mod tests;
