//! `/schedule`: lists, makes and changes a person's schedules.

mod typed;

use std::sync::Arc;

use contract::{
    Address, Caller, Choice, Content, Failure, Notice, Platform, Problem,
    records::{Person, Schedule, ScheduleId, ScheduleQuery},
    text::one_line,
};
use words::{OfSchedule, of_schedule};

use super::{
    NewSchedule, ScheduleSet,
    make::{self, USAGE},
    when,
};
use crate::{gateway::Inner, planner::TurnView, say};
use typed::{Added, Verb, Wish};

/// Most lines of a list; an operator may see more schedules than a person may have.
const LISTED: usize = 50;

/// Answers what is typed behind `/schedule`.
pub(crate) async fn answer(inner: &Arc<Inner>, rest: &str, turn: &TurnView<'_>) -> Vec<Content> {
    let said = match typed::read(rest) {
        Wish::List => list(inner, turn).await,
        Wish::Add(added) => add(inner, turn, *added).await,
        Wish::Change(verb, which) => change(inner, turn, verb, &which).await,
    };
    match said {
        Ok(markdown) => vec![Content::Text(markdown)],
        Err(failure) => vec![Content::Notice(Notice::of(&failure, None, Some(turn.record.id)))],
    }
}

type Said = Result<String, Failure>;

/// A person's own; an operator's are all.
async fn own(inner: &Inner, caller: &Caller) -> Result<Vec<Schedule>, Failure> {
    let owner = (caller.platform != Platform::Console).then(|| Person::of(caller));
    let query = ScheduleQuery { owner, ..ScheduleQuery::default() };
    inner.stores.schedules.schedules(&query).await.map_err(make::away)
}

/// What may be chosen where an id is asked for.
pub(crate) async fn own_ids(inner: &Inner, caller: &Caller) -> Vec<Choice> {
    let own = own(inner, caller).await.unwrap_or_default();
    let choice = |schedule: &Schedule| Choice {
        label: format!("{} — {}", schedule.title(), schedule.id),
        value: schedule.id.to_string(),
    };
    own.iter().map(choice).collect()
}

async fn list(inner: &Inner, turn: &TurnView<'_>) -> Said {
    let locale = turn.locale;
    let own = own(inner, turn.caller).await?;
    let how = of_schedule(OfSchedule::HowTo, locale);
    if own.is_empty() {
        return Ok(format!("{}\n\n{how}", of_schedule(OfSchedule::NoneListed, locale)));
    }
    let mut out = format!("{}\n\n", of_schedule(OfSchedule::Listed, locale));
    for schedule in own.iter().take(LISTED) {
        out.push_str(&line(schedule, turn));
    }
    Ok(format!("{out}\n{how}"))
}

fn line(schedule: &Schedule, turn: &TurnView<'_>) -> String {
    let locale = turn.locale;
    let stands = match (&schedule.paused, schedule.next_ms) {
        (Some(paused), _) => of_schedule(OfSchedule::Paused { why: &say::escape(&paused.why) }, locale),
        (None, Some(next)) => {
            of_schedule(OfSchedule::Next { next: &say::escape(&when::said(schedule, next, locale)) }, locale)
        }
        (None, None) => of_schedule(OfSchedule::Over, locale),
    };
    let mut parts = vec![stands];
    if schedule.goes_elsewhere() {
        parts.push(of_schedule(OfSchedule::To { place: &code(&schedule.to.written()) }, locale));
    }
    if let Some(last) = schedule.last {
        parts.push(of_schedule(OfSchedule::LastRun { reference: &last.turn.to_string() }, locale));
    }
    if schedule.left_out > 0 {
        parts.push(of_schedule(OfSchedule::LeftOut { n: schedule.left_out }, locale));
    }
    let title = say::escape(&schedule.title());
    format!("- `{}` {title} — `{}`; {}\n", schedule.id, when::written(schedule), parts.join("; "))
}

/// Within backquotes nothing is markup but they themselves.
fn code(text: &str) -> String {
    one_line(text, 120).replace('`', "'")
}

async fn add(inner: &Arc<Inner>, turn: &TurnView<'_>, added: Added) -> Said {
    let (record, locale) = (turn.record, turn.locale);
    let wrong = |path: &str, expected: &str, got: &str, hint: &str| {
        let got = Some(format!("'{}'", one_line(got, 80)));
        let problem = Problem { path: path.into(), expected: expected.into(), got, hint: Some(hint.into()) };
        Failure::invalid_args("schedule", vec![problem], USAGE.to_owned())
    };
    let to = match added.to.as_deref() {
        None => None,
        Some(named) => Some(Address::named(named).ok_or_else(|| {
            wrong("to", "a conversation as PLATFORM:ACCOUNT/CONVERSATION", named, "for example slack:main/C0123")
        })?),
    };
    let missed = match added.missed.as_deref() {
        None => Ok(Default::default()),
        Some(word) => word.parse().map_err(|_| wrong("missed", "skip or latest", word, "leave it out for latest")),
    }?;
    // Whoever said once where they are need not say it again.
    let zone = match added.zone {
        Some(zone) => Some(zone),
        None => own(inner, turn.caller).await?.into_iter().rfind(|s| s.is_of(turn.caller)).map(|last| last.zone),
    };
    let is_said = zone.is_some();
    let new = NewSchedule {
        owner: turn.caller.clone(),
        direct: record.message.address.direct,
        locale: record.message.locale.clone(),
        name: added.name.unwrap_or_default(),
        say: added.say,
        when: added.when,
        zone,
        missed,
        to,
        by_operator: turn.caller.platform == Platform::Console,
    };
    // The same wish has the same name, however often the turn is taken up.
    let id = ScheduleId::made_by(record.id, 0);
    let schedule = make::add(inner, id, new).await?;
    let next = schedule.next_ms.map(|next| when::said(&schedule, next, locale)).unwrap_or_default();
    let made =
        OfSchedule::Made { id: &id.to_string(), when: &code(&when::written(&schedule)), next: &say::escape(&next) };
    let mut out = of_schedule(made, locale);
    if schedule.goes_elsewhere() {
        out.push(' ');
        out.push_str(&of_schedule(OfSchedule::GoesTo { place: &code(&schedule.to.written()) }, locale));
    }
    if !is_said {
        out.push(' ');
        out.push_str(&of_schedule(OfSchedule::InUtc, locale));
    }
    Ok(out)
}

async fn change(inner: &Arc<Inner>, turn: &TurnView<'_>, verb: Verb, which: &str) -> Said {
    let locale = turn.locale;
    let unknown = || of_schedule(OfSchedule::Unknown { id: &code(which) }, locale);
    // Somebody else's does not exist.
    let Some(schedule) = found(own(inner, turn.caller).await?, which) else { return Ok(unknown()) };
    let id = schedule.id.to_string();
    Ok(match verb {
        Verb::Pause => match make::set(inner, schedule.id, ScheduleSet::Pause(String::new())).await? {
            Some(_) => of_schedule(OfSchedule::NowPaused { id: &id }, locale),
            None => unknown(),
        },
        Verb::Resume => match make::set(inner, schedule.id, ScheduleSet::Resume).await? {
            Some(now) => match now.next_ms {
                Some(next) => {
                    let next = say::escape(&when::said(&now, next, locale));
                    of_schedule(OfSchedule::NowResumed { id: &id, next: &next }, locale)
                }
                None => line(&now, turn),
            },
            None => unknown(),
        },
        Verb::Remove => match inner.stores.schedules.remove(schedule.id).await.map_err(make::away)? {
            true => of_schedule(OfSchedule::Removed { id: &id }, locale),
            false => unknown(),
        },
        Verb::Run => match make::run_now(inner, schedule.id, turn.record.id).await? {
            Some(run) => of_schedule(OfSchedule::Runs { id: &id, reference: &run.to_string() }, locale),
            None => unknown(),
        },
    })
}

/// By its id, the beginning of it, or its name, where only one has that.
fn found(own: Vec<Schedule>, which: &str) -> Option<Schedule> {
    let which = which.trim().trim_matches(['`', '"']).to_lowercase();
    if which.is_empty() {
        return None;
    }
    let is_meant =
        |schedule: &Schedule| schedule.id.to_string().starts_with(&which) || schedule.name.to_lowercase() == which;
    let mut found = own.into_iter().filter(is_meant);
    let first = found.next();
    first.filter(|_| found.next().is_none())
}
