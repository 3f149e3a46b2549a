//! Makes and changes schedules, whoever wishes it.

use std::sync::Arc;

use contract::{
    Address, Code, Failure, Heard, Kind, Message, Opaque, Origin, Private, Problem, StoreDown, TurnId,
    records::{
        Admitted, Paused, Person, Put, Ran, Record, SCHEDULE_NAME_MAX, SCHEDULE_SAYS_MAX, SCHEDULES_PER_PERSON,
        SCHEDULES_PER_TENANT, Schedule, ScheduleId, ScheduleQuery, TurnState, When,
    },
};
use jiff::tz::TimeZone;

use super::{
    NewSchedule, ScheduleSet, rights,
    when::{self, Wrong},
};
use crate::{
    commands::{self, Command},
    gateway::Inner,
    intake, planner,
    session::address_of,
    turn::now_ms,
};

/// How it is written in a chat; shown with what is wrong.
pub(super) const USAGE: &str = "/schedule add WHEN [zone ZONE] [to PLACE] [name \"NAME\"] [missed skip] say WHAT";
/// A change is tried so often against others.
const TRIES: usize = 8;

/// Makes a schedule, once for each id.
pub(super) async fn add(inner: &Arc<Inner>, id: ScheduleId, new: NewSchedule) -> Result<Schedule, Failure> {
    let schedule = wished(inner, id, new).await?;
    let mut put = inner.stores.schedules.put(&schedule).await.map_err(away)?;
    if matches!(put, Put::TooMany { .. }) && make_room(inner, &schedule).await.map_err(away)? {
        put = inner.stores.schedules.put(&schedule).await.map_err(away)?;
    }
    match put {
        Put::Made => {
            inner.schedules.notify_one();
            tracing::info!(schedule = %id, tenant = schedule.owner.tenant, "schedule made");
            Ok(schedule)
        }
        Put::TooMany { of_tenant: false } => {
            Err(too_many(format!("you have {SCHEDULES_PER_PERSON} schedules already, which is the most")))
        }
        Put::TooMany { of_tenant: true } => {
            Err(too_many(format!("there are {SCHEDULES_PER_TENANT} schedules already, which is the most")))
        }
        // A turn that was taken up again made it before.
        Put::Late => {
            let there = inner.stores.schedules.schedule(id).await.map_err(away)?;
            there.ok_or_else(|| Failure::fatal(Code::Internal, "a new schedule was neither made nor there"))
        }
    }
}

/// What ran once and is over makes room for what is new; whether something did.
async fn make_room(inner: &Inner, new: &Schedule) -> Result<bool, StoreDown> {
    let query = ScheduleQuery { owner: Some(Person::of(&new.owner)), ..ScheduleQuery::default() };
    let theirs = inner.stores.schedules.schedules(&query).await?;
    let mut made = false;
    for over in theirs.iter().filter(|one| one.next_ms.is_none() && one.paused.is_none()) {
        if !may_still_run(inner, over).await {
            made |= inner.stores.schedules.remove(over.id).await?;
        }
    }
    Ok(made)
}

/// Whether its last run waits, for an approval say, or is under way: what that may do stands with the schedule.
async fn may_still_run(inner: &Inner, schedule: &Schedule) -> bool {
    let Some(last) = schedule.last else { return false };
    match inner.stores.turns.get(last.turn).await {
        Ok(record) => record.is_some_and(|record| record.state != TurnState::Done),
        Err(_) => true,
    }
}

async fn wished(inner: &Arc<Inner>, id: ScheduleId, new: NewSchedule) -> Result<Schedule, Failure> {
    let mut owner = new.owner;
    owner.origin = Origin::Schedule;
    let (say, name) = (new.say.trim().to_owned(), contract::text::one_line(new.name.trim(), SCHEDULE_NAME_MAX + 1));
    let now = now_ms();
    let mut problems = Vec::new();
    let (zone, zone_name) = zone(new.zone.as_deref(), &mut problems);
    let due = due(&new.when, zone, now, &mut problems).await;
    if say.is_empty() {
        problems.push(problem("say", "a command, or words for a language model", ""));
    } else if say.chars().count() > SCHEDULE_SAYS_MAX {
        problems.push(problem("say", &format!("at most {SCHEDULE_SAYS_MAX} characters"), ""));
    } else if is_our_own(&say) {
        let hint = Some("a tool's command, or words for a language model".to_owned());
        problems.push(Problem { hint, ..problem("say", "something else than what the gateway answers itself", &say) });
    }
    if name.chars().count() > SCHEDULE_NAME_MAX {
        problems.push(problem("name", &format!("at most {SCHEDULE_NAME_MAX} characters"), &name));
    }
    let (Some((when, next)), true) = (due, problems.is_empty()) else {
        return Err(Failure::invalid_args("schedule", problems, USAGE.to_owned()));
    };
    let from = Address { direct: new.direct, ..address_of(&owner) };
    owner.tenant = rights::tenant(inner, &owner, &from)?;
    let member = rights::is_member(inner, &owner, &from).await;
    let to = destination(inner, &from, new.to, new.by_operator).await?;
    let there = rights::may_post(inner, &owner, &to, new.by_operator).await?;
    let schedule = Schedule {
        id,
        version: 1,
        name,
        owner,
        direct: new.direct,
        member,
        by_operator: new.by_operator,
        locale: new.locale,
        say,
        when,
        zone: zone_name,
        missed: new.missed,
        to,
        made_ms: now,
        paused: None,
        next_ms: Some(next),
        last: None,
        refused: 0,
        left_out: 0,
    };
    would_run(inner, &schedule, there.as_ref())?;
    Ok(schedule)
}

fn zone(name: Option<&str>, problems: &mut Vec<Problem>) -> (TimeZone, String) {
    let name = name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(when::UTC);
    when::zone(name).unwrap_or_else(|wrong| {
        problems.push(of_wrong("zone", wrong, name));
        (TimeZone::UTC, when::UTC.to_owned())
    })
}

/// Off the runtime: a day that no month has is looked for through years.
async fn due(text: &str, zone: TimeZone, now: u64, problems: &mut Vec<Problem>) -> Option<(When, u64)> {
    let written = text.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let when = when::read(&written, &zone, now)?;
        let next = when::next(&when, &zone, now);
        Ok((when, next.unwrap_or(now)))
    });
    match reading.await {
        Ok(Ok(due)) => Some(due),
        Ok(Err(wrong)) => {
            problems.push(of_wrong("when", wrong, text));
            None
        }
        Err(_) => {
            problems.push(problem("when", "a time to be due at", text));
            None
        }
    }
}

fn problem(path: &str, expected: &str, got: &str) -> Problem {
    let got = (!got.is_empty()).then(|| format!("'{}'", contract::text::one_line(got, 80)));
    Problem { path: path.to_owned(), expected: expected.to_owned(), got, hint: None }
}

fn of_wrong(path: &str, wrong: Wrong, got: &str) -> Problem {
    Problem { hint: wrong.hint, ..problem(path, &wrong.expected, got) }
}

/// Whether a command is among it that is about the gateway itself: what it answers is not for a later time.
fn is_our_own(say: &str) -> bool {
    commands::read(say).is_some_and(|commands| commands.iter().any(|one| matches!(one, Command::Builtin(_))))
}

/// The whole address of where the answers go.
async fn destination(
    inner: &Inner,
    from: &Address,
    to: Option<Address>,
    by_operator: bool,
) -> Result<Address, Failure> {
    let Some(to) = to else { return Ok(from.clone()) };
    let is_own = (to.platform, &to.account, &to.conversation) == (from.platform, &from.account, &from.conversation);
    if is_own && (to.thread.is_none() || to.thread == from.thread) {
        return Ok(from.clone());
    }
    match rights::known(inner, &to).await.map_err(away)? {
        Some(known) => Ok(known),
        None if by_operator => Ok(Address { reply_to: None, private: Opaque::default(), ..to }),
        // The same words as for one that is not theirs.
        None => Err(rights::denied("answers of this schedule may not be sent to that conversation")),
    }
}

/// What would be refused at each run is refused at once.
fn would_run(inner: &Inner, schedule: &Schedule, there: Option<&contract::Caller>) -> Result<(), Failure> {
    let snapshot = inner.snapshot.load();
    let message = message(schedule, schedule.owner.roles.clone(), String::new());
    let commands = commands::asked(&message, &schedule.owner, &snapshot, &*inner.planner);
    for command in commands.iter().flatten() {
        let (Command::Tool { name, .. } | Command::Filled { name, .. }) = command else { continue };
        let both = [Some(&schedule.owner), there];
        for caller in both.into_iter().flatten() {
            let (policies, tools) = (&snapshot.policies, &snapshot.tools);
            let found = snapshot.resolve(caller, name);
            let tool = found.ok_or_else(|| {
                let near = tools.nearest(name, &policies.view_in(caller, None));
                Failure::unknown_tool(name, &near)
            })?;
            policies::permit(policies, policies, caller, &tool.name, None)
                .map_err(|refusal| refusal.to_failure(name, &[]))?;
            planner::arguments(tool, command).and_then(|args| tool.prepare(args))?;
        }
    }
    Ok(())
}

/// What a run says, on its owner's behalf.
pub(super) fn message(schedule: &Schedule, roles: Vec<String>, key: String) -> Message {
    let to = &schedule.to;
    Message {
        key,
        address: to.clone(),
        sender: schedule.owner.sender.clone(),
        roles,
        kind: Kind::Text { text: schedule.say.clone() },
        heard: if to.direct { Heard::Direct } else { Heard::Addressed },
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: schedule.locale.clone(),
        at_ms: now_ms(),
    }
}

/// Has a run accepted, once for each `which`: its turn, and whether it is a new one. Nothing when its lane is full.
pub(super) async fn accept(inner: &Arc<Inner>, schedule: &Schedule, which: &str) -> Result<Option<TurnId>, StoreDown> {
    let key = format!("schedule/{}/{which}", schedule.id);
    let message = message(schedule, schedule.owner.roles.clone(), key);
    let record = Record::new(TurnId::new(), schedule.id.session(), message, schedule.owner.clone());
    let id = record.id;
    Ok(match intake::store_record(inner, record).await? {
        Admitted::New { .. } => Some(id),
        Admitted::Known { id } => Some(id),
        Admitted::Full => None,
    })
}

/// Runs a schedule now, whatever its times are.
pub(super) async fn run_now(inner: &Arc<Inner>, id: ScheduleId, which: TurnId) -> Result<Option<TurnId>, Failure> {
    let Some(schedule) = inner.stores.schedules.schedule(id).await.map_err(away)? else { return Ok(None) };
    let busy = || Failure::new(Code::Busy, "the runs before this one are not over").hint("wait for their answers");
    let turn = accept(inner, &schedule, &format!("now/{which}")).await.map_err(away)?.ok_or_else(busy)?;
    let ran = Ran { due_ms: now_ms(), turn };
    // The run is on its way; that it was the last one is told where it can be.
    let _ = change(inner, id, |schedule| schedule.last = Some(ran)).await;
    Ok(Some(turn))
}

/// Lets it rest, or go on; nothing when it is not known.
pub(super) async fn set(inner: &Arc<Inner>, id: ScheduleId, set: ScheduleSet) -> Result<Option<Schedule>, Failure> {
    let now = now_ms();
    let changed = change(inner, id, |schedule| match &set {
        ScheduleSet::Pause(why) => rest(schedule, why, false),
        ScheduleSet::Resume => {
            (schedule.paused, schedule.refused) = (None, 0);
            schedule.next_ms = when::next(&schedule.when, &when::zone_of(schedule), now);
        }
    });
    let changed = changed.await.map_err(away)?;
    inner.schedules.notify_one();
    Ok(changed)
}

pub(super) fn rest(schedule: &mut Schedule, why: &str, by_itself: bool) {
    let why = contract::text::one_line(why.trim(), 200);
    schedule.paused = Some(Paused { why, at_ms: now_ms(), by_itself });
    schedule.next_ms = None;
}

/// Changes what is stored, against whoever else does; nothing when it is not known.
pub(super) async fn change(
    inner: &Inner,
    id: ScheduleId,
    change: impl Fn(&mut Schedule),
) -> Result<Option<Schedule>, StoreDown> {
    for _ in 0..TRIES {
        let Some(mut schedule) = inner.stores.schedules.schedule(id).await? else { return Ok(None) };
        change(&mut schedule);
        schedule.version += 1;
        if inner.stores.schedules.put(&schedule).await? == Put::Made {
            return Ok(Some(schedule));
        }
    }
    Err(StoreDown("a schedule changes faster than it can be written".to_owned()))
}

fn too_many(say: String) -> Failure {
    Failure::new(Code::LimitReached, say).hint("remove one that is not needed any more")
}

pub(super) fn away(down: StoreDown) -> Failure {
    Failure::new(Code::Store, "schedules cannot be reached just now").cause(Private::new(down.to_string()))
}
