//! The forms in which people say when: cron, `every weekday at 8:00`, `every 15 minutes`, `at 2026-12-01 09:00`.

use contract::records::When;
use jiff::{
    ToSpan, Zoned,
    civil::{Date, Time, time},
    tz::TimeZone,
};

use super::{Wrong, cron, ms_of, next};

/// Most minutes between two runs: a year.
const MINUTES_MAX: u32 = 366 * 24 * 60;

const EXAMPLES: &str =
    "for example: every day at 8:00, every weekday at 8:00, every 15 minutes, at 2026-12-01 09:00, or 0 8 * * 1-5";

type Read = Result<When, Wrong>;

/// Reads when. The time is always after `now_ms`, and there is one.
pub(crate) fn read(text: &str, zone: &TimeZone, now_ms: u64) -> Read {
    let text = plain(text);
    let when = form(&text, zone, now_ms)?;
    match (next(&when, zone, now_ms), &when) {
        (Some(_), _) => Ok(when),
        (None, When::At { .. }) => Err(Wrong::new("a time that is still to come", EXAMPLES)),
        (None, _) => Err(Wrong::new("a day that some month has", EXAMPLES)),
    }
}

/// In lower case, one space between words, without the quotes around it; what is Chinese in English.
fn plain(text: &str) -> String {
    let text = text.trim().trim_matches(['"', '\'', '`', '“', '”']);
    let text = in_english(&text.to_lowercase());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Longer words before those that are in them.
const CHINESE: [(&str, &str); 42] = [
    ("：", ":"),
    ("，", " "),
    ("、", " "),
    ("每个工作日", " every weekday "),
    ("每工作日", " every weekday "),
    ("工作日", " every weekday "),
    ("每个周末", " every weekend "),
    ("每周末", " every weekend "),
    ("每星期", "每周"),
    ("星期", "周"),
    ("每周", " every 周"),
    ("周一", " monday "),
    ("周二", " tuesday "),
    ("周三", " wednesday "),
    ("周四", " thursday "),
    ("周五", " friday "),
    ("周六", " saturday "),
    ("周日", " sunday "),
    ("周天", " sunday "),
    ("每天", " every day "),
    ("每日", " every day "),
    ("每个小时", " every hour "),
    ("每小时", " every hour "),
    ("每分钟", " every minute "),
    ("每隔", " every "),
    ("每个月", " every month on "),
    ("每月", " every month on "),
    ("每", " every "),
    ("个小时", " hours "),
    ("小时", " hours "),
    ("分钟", " minutes "),
    ("天", " days "),
    ("今 days ", " today "),
    ("明 days ", " tomorrow "),
    ("早上", " "),
    ("上午", " "),
    ("中午", " "),
    ("点半", ":30 "),
    ("点整", ":00 "),
    ("点", ":"),
    ("号", " "),
    ("后", " later "),
];

fn in_english(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut text = text.to_owned();
    for (chinese, english) in CHINESE {
        text = text.replace(chinese, english);
    }
    for evening in ["下午", "晚上", "傍晚"] {
        if let Some((before, after)) = text.split_once(evening) {
            let (clock, rest) = after.trim_start().split_once(' ').unwrap_or((after.trim_start(), ""));
            text = format!("{before} {}pm {rest}", clock.trim_end_matches(':'));
        }
    }
    text.replace(['日', '分'], " ").split_whitespace().map(full).collect::<Vec<_>>().join(" ")
}

/// `8:` is the full hour.
fn full(word: &str) -> String {
    match word.strip_suffix(':') {
        Some(hour) if !hour.is_empty() => format!("{hour}:00"),
        _ => word.to_owned(),
    }
}

fn form(text: &str, zone: &TimeZone, now_ms: u64) -> Read {
    let now = super::at(now_ms, zone).ok_or_else(|| Wrong::new("a time", EXAMPLES))?;
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] => Err(Wrong::new("when it is due", EXAMPLES)),
        ["hourly"] | ["every", "hour"] => Ok(When::Cron("0 * * * *".to_owned())),
        ["every", "minute"] => Ok(When::Cron("* * * * *".to_owned())),
        ["every", n, unit] if n.parse::<u32>().is_ok() => every(n, unit, now_ms),
        ["in", n, unit] | [n, unit, "later"] => later(n, unit, &now),
        ["daily", rest @ ..] | ["every", "day", rest @ ..] => daily("*", "*", rest),
        ["weekdays", rest @ ..] | ["every", "weekday", rest @ ..] => daily("*", "1-5", rest),
        ["weekends", rest @ ..] | ["every", "weekend", rest @ ..] => daily("*", "0,6", rest),
        ["every", "month", rest @ ..] => monthly(rest),
        ["today", rest @ ..] => on(now.date(), rest, zone),
        ["tomorrow", rest @ ..] => on(now.date().saturating_add(1.day()), rest, zone),
        ["at" | "on", rest @ ..] => once(rest, &now, zone),
        ["every", rest @ ..] if rest.first().is_some_and(|word| weekday(word).is_some()) => weekly(rest),
        [first, ..] if weekday(first).is_some() => weekly(&words),
        [first, ..] if first.parse::<Date>().is_ok() || first.contains(':') && words.len() < 3 => {
            once(&words, &now, zone)
        }
        _ => pattern(text, words.len()),
    }
}

fn every(n: &str, unit: &str, now_ms: u64) -> Read {
    let n: u32 = n.parse().unwrap_or(0);
    let minutes = in_minutes(n, unit)?;
    // Where it comes out even it is told by the clock, as people expect: at every full quarter of an hour.
    Ok(match (minutes, minutes / 60) {
        (m, _) if m < 60 && 60 % m == 0 => When::Cron(format!("*/{m} * * * *")),
        (m, h) if m % 60 == 0 && h < 24 && 24 % h == 0 => When::Cron(format!("0 */{h} * * *")),
        _ => When::Every { minutes, from_ms: now_ms },
    })
}

fn in_minutes(n: u32, unit: &str) -> Result<u32, Wrong> {
    let of = match unit.trim_end_matches('s') {
        "minute" | "min" => 1,
        "hour" | "h" => 60,
        "day" => 24 * 60,
        "week" => 7 * 24 * 60,
        _ => return Err(Wrong::new("minutes, hours, days or weeks", EXAMPLES)),
    };
    let minutes = n.checked_mul(of).filter(|minutes| (1..=MINUTES_MAX).contains(minutes));
    minutes.ok_or_else(|| Wrong::new("a minute at the least, and a year at most", EXAMPLES))
}

fn later(n: &str, unit: &str, now: &Zoned) -> Read {
    let minutes = in_minutes(n.parse().unwrap_or(0), unit)?;
    let at = ms_of(&now.saturating_add(i64::from(minutes).minutes()));
    at.map(|ms| When::At { ms }).ok_or_else(|| Wrong::new("a time", EXAMPLES))
}

/// `at 8:00 and 17:00` on the days that the two fields of cron say.
fn daily(of_month: &str, of_week: &str, rest: &[&str]) -> Read {
    let which = || Wrong::new("the time of day", EXAMPLES);
    let mut times: Vec<Time> = Vec::new();
    let mut words = rest.iter().filter(|word| !matches!(**word, "at" | "and")).peekable();
    while let Some(word) = words.next() {
        let half = words.next_if(|half| matches!(**half, "am" | "pm"));
        times.push(clock(&format!("{word}{}", half.unwrap_or(&""))).ok_or_else(which)?);
    }
    let first = times.first().ok_or_else(which)?;
    if times.iter().any(|time| time.minute() != first.minute()) {
        return Err(Wrong::new("times with the same minute", "make one schedule for each of them"));
    }
    let hours: Vec<String> = times.iter().map(|time| time.hour().to_string()).collect();
    Ok(When::Cron(format!("{} {} {of_month} * {of_week}", first.minute(), hours.join(","))))
}

fn weekly(words: &[&str]) -> Read {
    let joins = |word: &&&str| matches!(**word, "and") || weekday(word).is_some();
    let days: Vec<&str> = words.iter().take_while(joins).filter_map(|word| weekday(word)).collect();
    let behind = words.iter().take_while(joins).count();
    daily("*", &days.join(","), &words[behind..])
}

fn monthly(words: &[&str]) -> Read {
    let words: Vec<&str> = words.iter().copied().filter(|word| !matches!(*word, "on" | "the" | "day")).collect();
    let wrong = || Wrong::new("the day of the month", "every month on 1 at 9:00");
    let (day, rest) = words.split_first().ok_or_else(wrong)?;
    let day: String = match *day {
        "last" => "L".to_owned(),
        day => day.trim_end_matches(|c: char| c.is_ascii_alphabetic()).to_owned(),
    };
    let is_day = day == "L" || day.parse::<u32>().is_ok_and(|day| (1..=31).contains(&day));
    if is_day { daily(&day, "*", rest) } else { Err(wrong()) }
}

fn once(words: &[&str], now: &Zoned, zone: &TimeZone) -> Read {
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "at").collect();
    match words.as_slice() {
        [date, rest @ ..] if date.parse::<Date>().is_ok() => {
            on(date.parse().unwrap_or_else(|_| now.date()), rest, zone)
        }
        // The next time that the clock shows it.
        rest => match on(now.date(), rest, zone)? {
            When::At { ms } if Some(ms) <= ms_of(now) => on(now.date().saturating_add(1.day()), rest, zone),
            when => Ok(when),
        },
    }
}

fn on(date: Date, words: &[&str], zone: &TimeZone) -> Read {
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "at").collect();
    let time = clock(&words.concat()).ok_or_else(|| Wrong::new("a day and a time", "at 2026-12-01 09:00"))?;
    // A time that the clock leaves out in spring is the one behind it, one that it shows twice the first.
    let at = zone.to_ambiguous_zoned(date.to_datetime(time)).compatible().ok();
    at.and_then(|at| ms_of(&at)).map(|ms| When::At { ms }).ok_or_else(|| Wrong::new("a day and a time", EXAMPLES))
}

/// `8`, `8:05`, `8am`, `8:30pm`, `08:30`.
fn clock(word: &str) -> Option<Time> {
    match word {
        "noon" => return Some(time(12, 0, 0, 0)),
        "midnight" => return Some(time(0, 0, 0, 0)),
        _ => {}
    }
    let (digits, half) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        _ => (word, None),
    };
    let (hour, minute) = digits.split_once([':', '.']).unwrap_or((digits, "0"));
    let number =
        |text: &str| text.parse::<i8>().ok().filter(|_| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit()));
    let (hour, minute) = (number(hour)?, number(minute)?);
    let hour = match half {
        Some(later) if (1..=12).contains(&hour) => hour % 12 + later,
        // As in '下午14:00'.
        Some(12) if (13..24).contains(&hour) => hour,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn weekday(word: &str) -> Option<&'static str> {
    let days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let short = word.strip_suffix('s').filter(|day| day.ends_with("day")).unwrap_or(word);
    let is = |day: &&str| *day == short || short.len() >= 3 && short.len() <= 5 && day.starts_with(short);
    const NUMBERS: [&str; 7] = ["0", "1", "2", "3", "4", "5", "6"];
    days.iter().position(is).map(|n| NUMBERS[n])
}

/// What remains is a pattern of cron.
fn pattern(text: &str, fields: usize) -> Read {
    let looks_so = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '*' | '@'));
    match cron(text) {
        Ok(_) => Ok(When::Cron(text.to_owned())),
        Err(_) if !looks_so => Err(Wrong::new("a time to be due at", EXAMPLES)),
        Err(_) if fields == 6 => Err(Wrong::new(
            "five fields of cron: minute, hour, day of the month, month, day of the week",
            "leave the seconds out: it is due once a minute at most",
        )),
        Err(_) if fields != 5 => {
            Err(Wrong::new("five fields of cron: minute, hour, day of the month, month, day of the week", EXAMPLES))
        }
        Err(_) => Err(Wrong::new("fields of cron in their bounds: 0-59, 0-23, 1-31, 1-12, 0-7", EXAMPLES)),
    }
}
