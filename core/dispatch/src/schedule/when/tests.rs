use contract::records::When;
use expect_test::expect;
use jiff::{Zoned, tz::TimeZone};
use proptest::prelude::*;

use super::*;

/// Monday 2026-11-30 10:20 in Berlin.
fn now() -> (u64, TimeZone) {
    let at: Zoned = "2026-11-30T10:20:00+01:00[Europe/Berlin]".parse().unwrap();
    (ms_of(&at).unwrap(), at.time_zone().clone())
}

fn told(text: &str) -> String {
    let (now, zone) = now();
    match read(text, &zone, now) {
        Ok(when) => {
            let kind = match &when {
                When::Cron(pattern) => format!("cron {pattern}"),
                When::Every { minutes, .. } => format!("every {minutes}"),
                When::At { .. } => "once".to_owned(),
            };
            let at = |ms: u64| at(ms, &zone).unwrap().strftime("%a %Y-%m-%d %H:%M").to_string();
            let first = next(&when, &zone, now).unwrap();
            let second = next(&when, &zone, first).map(at).unwrap_or_else(|| "never".into());
            format!("{text} = {kind}: {}, {second}", at(first))
        }
        Err(wrong) => format!("{text} ! {}", wrong.expected),
    }
}

fn all(texts: &[&str]) -> String {
    texts.iter().map(|text| told(text) + "\n").collect()
}

#[test]
fn what_people_write_is_read() {
    let texts = [
        "0 8 * * 1-5",
        "\"0 8 * * 1-5\"",
        "0 8 * * MON-FRI",
        "@daily",
        "every day at 8:00",
        "every day at 8:00 and 17:00",
        "Daily at 8 pm",
        "every weekday 08:00",
        "weekdays at 8am",
        "every weekend at noon",
        "every monday at 9:30",
        "Mondays and thursdays at 9",
        "every mon, wed and fri at 7:15",
        "every month on the 1st at 9:00",
        "every month on the last day at 18:00",
        "every 15 minutes",
        "every 45 minutes",
        "every 2 hours",
        "every 5 hours",
        "hourly",
        "every minute",
        "at 2026-12-01 09:00",
        "2026-12-01 09:00",
        "at 9:00",
        "at 11:30",
        "tomorrow at 7",
        "in 20 minutes",
    ];
    expect![[r#"
        0 8 * * 1-5 = cron 0 8 * * 1-5: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        "0 8 * * 1-5" = cron 0 8 * * 1-5: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        0 8 * * MON-FRI = cron 0 8 * * mon-fri: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        @daily = cron @daily: Tue 2026-12-01 00:00, Wed 2026-12-02 00:00
        every day at 8:00 = cron 0 8 * * *: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        every day at 8:00 and 17:00 = cron 0 8,17 * * *: Mon 2026-11-30 17:00, Tue 2026-12-01 08:00
        Daily at 8 pm = cron 0 20 * * *: Mon 2026-11-30 20:00, Tue 2026-12-01 20:00
        every weekday 08:00 = cron 0 8 * * 1-5: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        weekdays at 8am = cron 0 8 * * 1-5: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        every weekend at noon = cron 0 12 * * 0,6: Sat 2026-12-05 12:00, Sun 2026-12-06 12:00
        every monday at 9:30 = cron 30 9 * * 1: Mon 2026-12-07 09:30, Mon 2026-12-14 09:30
        Mondays and thursdays at 9 = cron 0 9 * * 1,4: Thu 2026-12-03 09:00, Mon 2026-12-07 09:00
        every mon, wed and fri at 7:15 = cron 15 7 * * 1,3,5: Wed 2026-12-02 07:15, Fri 2026-12-04 07:15
        every month on the 1st at 9:00 = cron 0 9 1 * *: Tue 2026-12-01 09:00, Fri 2027-01-01 09:00
        every month on the last day at 18:00 = cron 0 18 L * *: Mon 2026-11-30 18:00, Thu 2026-12-31 18:00
        every 15 minutes = cron */15 * * * *: Mon 2026-11-30 10:30, Mon 2026-11-30 10:45
        every 45 minutes = every 45: Mon 2026-11-30 11:05, Mon 2026-11-30 11:50
        every 2 hours = cron 0 */2 * * *: Mon 2026-11-30 12:00, Mon 2026-11-30 14:00
        every 5 hours = every 300: Mon 2026-11-30 15:20, Mon 2026-11-30 20:20
        hourly = cron 0 * * * *: Mon 2026-11-30 11:00, Mon 2026-11-30 12:00
        every minute = cron * * * * *: Mon 2026-11-30 10:21, Mon 2026-11-30 10:22
        at 2026-12-01 09:00 = once: Tue 2026-12-01 09:00, never
        2026-12-01 09:00 = once: Tue 2026-12-01 09:00, never
        at 9:00 = once: Tue 2026-12-01 09:00, never
        at 11:30 = once: Mon 2026-11-30 11:30, never
        tomorrow at 7 = once: Tue 2026-12-01 07:00, never
        in 20 minutes = once: Mon 2026-11-30 10:40, never
    "#]]
    .assert_eq(&all(&texts));
}

#[test]
fn what_people_write_in_chinese_is_read() {
    let texts = [
        "每天 8:00",
        "每天早上8点",
        "每天晚上8点半",
        "每个工作日 08：00",
        "每周一、周四 9点",
        "每星期五下午3点",
        "每15分钟",
        "每隔2小时",
        "每小时",
        "每月1号 9:00",
        "明天 9:00",
        "20分钟后",
    ];
    expect![[r#"
        每天 8:00 = cron 0 8 * * *: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        每天早上8点 = cron 0 8 * * *: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        每天晚上8点半 = cron 30 20 * * *: Mon 2026-11-30 20:30, Tue 2026-12-01 20:30
        每个工作日 08：00 = cron 0 8 * * 1-5: Tue 2026-12-01 08:00, Wed 2026-12-02 08:00
        每周一、周四 9点 = cron 0 9 * * 1,4: Thu 2026-12-03 09:00, Mon 2026-12-07 09:00
        每星期五下午3点 = cron 0 15 * * 5: Fri 2026-12-04 15:00, Fri 2026-12-11 15:00
        每15分钟 = cron */15 * * * *: Mon 2026-11-30 10:30, Mon 2026-11-30 10:45
        每隔2小时 = cron 0 */2 * * *: Mon 2026-11-30 12:00, Mon 2026-11-30 14:00
        每小时 = cron 0 * * * *: Mon 2026-11-30 11:00, Mon 2026-11-30 12:00
        每月1号 9:00 = cron 0 9 1 * *: Tue 2026-12-01 09:00, Fri 2027-01-01 09:00
        明天 9:00 = once: Tue 2026-12-01 09:00, never
        20分钟后 = once: Mon 2026-11-30 10:40, never
    "#]]
    .assert_eq(&all(&texts));
}

#[test]
fn what_cannot_be_read_says_what_would_be_right() {
    let texts = [
        "",
        "soon",
        "every",
        "every day",
        "every 0 minutes",
        "every 9999999 minutes",
        "every 3 fortnights",
        "every day at 25:00",
        "every day at 8:00 and 9:30",
        "at 2020-01-01 09:00",
        "today at 9:00",
        "at 2026-02-30 09:00",
        "every month on the 32nd at 9",
        "*/10 * * * * *",
        "0 8",
        "61 * * * *",
        "0 0 30 2 *",
        "0 8 * * 1-5 ; rm",
        "in two hours",
    ];
    expect![[r#"
         ! when it is due
        soon ! a time to be due at
        every ! a time to be due at
        every day ! the time of day
        every 0 minutes ! a minute at the least, and a year at most
        every 9999999 minutes ! a minute at the least, and a year at most
        every 3 fortnights ! minutes, hours, days or weeks
        every day at 25:00 ! the time of day
        every day at 8:00 and 9:30 ! times with the same minute
        at 2020-01-01 09:00 ! a time that is still to come
        today at 9:00 ! a time that is still to come
        at 2026-02-30 09:00 ! a day and a time
        every month on the 32nd at 9 ! the day of the month
        */10 * * * * * ! five fields of cron: minute, hour, day of the month, month, day of the week
        0 8 ! five fields of cron: minute, hour, day of the month, month, day of the week
        61 * * * * ! fields of cron in their bounds: 0-59, 0-23, 1-31, 1-12, 0-7
        0 0 30 2 * ! a day that some month has
        0 8 * * 1-5 ; rm ! five fields of cron: minute, hour, day of the month, month, day of the week
        in two hours ! a minute at the least, and a year at most
    "#]]
    .assert_eq(&all(&texts));
}

#[test]
fn a_clock_that_is_put_forward_or_back_runs_a_day_once() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let when = When::Cron("30 2 * * *".into());
    let at = |text: &str| ms_of(&text.parse::<Zoned>().unwrap()).unwrap();
    let mut seen = Vec::new();
    let mut ms = at("2027-03-27T12:00:00+01:00[Europe/Berlin]");
    for _ in 0..2 {
        ms = next(&when, &zone, ms).unwrap();
        seen.push(super::at(ms, &zone).unwrap().to_string());
    }
    ms = at("2027-10-30T12:00:00+02:00[Europe/Berlin]");
    for _ in 0..2 {
        ms = next(&when, &zone, ms).unwrap();
        seen.push(super::at(ms, &zone).unwrap().to_string());
    }
    expect![[r#"
        2027-03-28T03:00:00+02:00[Europe/Berlin]
        2027-03-29T02:30:00+02:00[Europe/Berlin]
        2027-10-31T02:30:00+02:00[Europe/Berlin]
        2027-11-01T02:30:00+01:00[Europe/Berlin]"#]]
    .assert_eq(&seen.join("\n"));
}

#[test]
fn a_zone_is_found_by_its_name_and_one_that_is_not_known_has_a_neighbour() {
    assert_eq!(zone("europe/berlin").unwrap().1, "Europe/Berlin");
    assert_eq!(zone("utc").unwrap().1, "UTC");
    assert_eq!(zone("Berlin").unwrap_err().hint.unwrap(), "did you mean Europe/Berlin?");
    assert_eq!(zone("Europe/Berln").unwrap_err().hint.unwrap(), "did you mean Europe/Berlin?");
    assert!(zone("../../etc/passwd").is_err() && zone("").is_err());
}

proptest! {
    #[test]
    fn the_latest_is_never_after_now_and_the_next_always(
        which in 0usize..5, now in 1_700_000_000_000u64..1_900_000_000_000, ago in 0u64..10_000_000_000,
    ) {
        let zone = TimeZone::get("America/New_York").unwrap();
        let when = match which {
            0 => When::Cron("0 8 * * 1-5".into()),
            1 => When::Cron("*/7 2 * * *".into()),
            2 => When::Cron("30 1 29 2 *".into()),
            3 => When::Every { minutes: 45, from_ms: now - ago },
            _ => When::At { ms: now - ago },
        };
        if let Some(latest) = latest(&when, &zone, now) {
            prop_assert!(latest <= now);
            prop_assert!(next(&when, &zone, latest).is_none_or(|next| next > now));
        }
        prop_assert!(next(&when, &zone, now).is_none_or(|next| next > now));
    }

    #[test]
    fn whatever_is_written_is_read_or_refused(text in "(every |at |8:00|monday|, |每|周|下午|点|[0-9*/:-]|分钟| ){0,12}") {
        let (now, zone) = now();
        if let Ok(when) = read(&text, &zone, now) {
            prop_assert!(next(&when, &zone, now).is_some());
        }
    }
}
