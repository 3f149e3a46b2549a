//! `/v1/schedules`: what is asked on somebody's behalf when it is time. A client has its own, an operator all.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use contract::{
    Address, Code, Failure, Origin,
    records::{Missed, SCHEDULES_PER_TENANT, Schedule, ScheduleId, ScheduleQuery},
};
use dispatch::{NewSchedule, ScheduleSet, in_words, written};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    body,
    callers::{self, Named},
    gate::Who,
    problem::Problem,
    routes::App,
};

/// Why one rests when nobody says it.
const RESTS: &str = "paused over HTTP";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    tenant: Option<String>,
}

pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.known()?;
    let filter: Filter = body::query(&uri)?;
    let own = (!who.is_operator()).then(|| who.tenant().to_owned());
    let tenant = own.or(body::word("tenant", filter.tenant)?);
    let all = app.gateway.schedules(&ScheduleQuery { tenant, most: SCHEDULES_PER_TENANT, owner: None }).await?;
    let shown: Vec<_> = all.iter().filter(|schedule| who.may_see(&schedule.owner)).map(shown).collect();
    Ok(Json(json!({ "schedules": shown })).into_response())
}

/// A schedule that is wished.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    say: String,
    when: String,
    zone: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    missed: Missed,
    /// `PLATFORM:ACCOUNT/CONVERSATION`, or with `/THREAD` behind it.
    to: Option<String>,
    /// On whose behalf, in the place where they are; for a client itself.
    #[serde(default)]
    owner: Named,
    /// What people call the owner.
    owner_name: Option<String>,
    /// The owner's place is a conversation with them alone.
    #[serde(default)]
    direct: bool,
    /// The owner's language.
    locale: Option<String>,
}

pub async fn add(State(app): State<Arc<App>>, Extension(who): Extension<Who>, body: Body) -> Result<Response, Problem> {
    who.known()?;
    let new = wished(&app, &who, body::json(body).await?)?;
    let gateway = app.gateway.clone();
    let made = app.see_through(async move { gateway.schedule_add(new).await }).await?;
    let made = made.map_err(Problem::of)?;
    Ok((StatusCode::CREATED, Json(shown(&made))).into_response())
}

fn wished(app: &App, who: &Who, wish: Wish) -> Result<NewSchedule, Problem> {
    let to = match wish.to.as_deref() {
        None => None,
        Some(text) => Some(
            Address::named(text).ok_or_else(|| Problem::invalid("to", "PLATFORM:ACCOUNT/CONVERSATION", Some(text)))?,
        ),
    };
    let mut owner = callers::named(&app.gateway, who, wish.owner)?;
    owner.origin = Origin::Schedule;
    if let Some(name) = body::word("owner_name", wish.owner_name)? {
        owner.sender.name = name;
    }
    Ok(NewSchedule {
        // A conversation over HTTP has nobody else in it.
        direct: wish.direct || owner.platform.is_pull(),
        owner,
        locale: body::word("locale", wish.locale)?,
        name: wish.name,
        say: wish.say,
        when: wish.when,
        zone: wish.zone,
        missed: wish.missed,
        to,
        by_operator: who.is_operator(),
    })
}

type Id = Result<Path<String>, PathRejection>;

pub async fn show(State(app): State<Arc<App>>, Extension(who): Extension<Who>, id: Id) -> Result<Response, Problem> {
    Ok(Json(shown(&seen(&app, &who, id).await?)).into_response())
}

pub async fn remove(State(app): State<Arc<App>>, Extension(who): Extension<Who>, id: Id) -> Result<Response, Problem> {
    let id = seen(&app, &who, id).await?.id;
    let gateway = app.gateway.clone();
    match app.see_through(async move { gateway.schedule_remove(id).await }).await?? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_such()),
    }
}

/// Why it is paused; may be left out with the whole body.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    #[serde(default)]
    why: String,
}

pub async fn pause(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    id: Id,
    body: Body,
) -> Result<Response, Problem> {
    let id = seen(&app, &who, id).await?.id;
    let text = body::text(body).await?;
    let rest: Rest = match text.trim() {
        "" => Rest::default(),
        text => serde_json::from_str(text)
            .map_err(|error| Problem::unreadable(format!("the body is not as expected: {error}")))?,
    };
    let why = if rest.why.is_empty() { RESTS.to_owned() } else { contract::text::one_line(&rest.why, 200) };
    set(&app, id, ScheduleSet::Pause(why)).await
}

pub async fn resume(State(app): State<Arc<App>>, Extension(who): Extension<Who>, id: Id) -> Result<Response, Problem> {
    let id = seen(&app, &who, id).await?.id;
    set(&app, id, ScheduleSet::Resume).await
}

async fn set(app: &App, id: ScheduleId, set: ScheduleSet) -> Result<Response, Problem> {
    let gateway = app.gateway.clone();
    let now = app.see_through(async move { gateway.schedule_set(id, set).await }).await?;
    let now = now.map_err(Problem::of)?.ok_or_else(no_such)?;
    Ok(Json(shown(&now)).into_response())
}

/// Runs it now, whenever it is due.
pub async fn run(State(app): State<Arc<App>>, Extension(who): Extension<Who>, id: Id) -> Result<Response, Problem> {
    let id = seen(&app, &who, id).await?.id;
    let gateway = app.gateway.clone();
    let turn = app.see_through(async move { gateway.schedule_run_now(id).await }).await?;
    let turn = turn.map_err(Problem::of)?.ok_or_else(no_such)?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "id": id, "turn": turn.to_string() }))).into_response())
}

/// The schedule, when it may be looked at: somebody else's does not exist.
async fn seen(app: &App, who: &Who, id: Id) -> Result<Schedule, Problem> {
    who.known()?;
    let Path(id) = id.map_err(|_| no_such())?;
    let id: ScheduleId = id.parse().map_err(|_| no_such())?;
    let schedule = app.gateway.schedule(id).await?;
    schedule.filter(|schedule| who.may_see(&schedule.owner)).ok_or_else(no_such)
}

fn no_such() -> Problem {
    let failure = Failure::new(Code::InputRefused, "there is no such schedule").hint("GET /v1/schedules lists them");
    Problem::new(StatusCode::NOT_FOUND, failure)
}

fn shown(schedule: &Schedule) -> Value {
    let owner = &schedule.owner;
    json!({
        "id": schedule.id, "title": schedule.title(), "name": schedule.name, "say": schedule.say,
        "when": written(schedule), "zone": schedule.zone, "missed": schedule.missed, "to": schedule.to.written(),
        "owner": {
            "platform": owner.platform, "account": owner.account, "tenant": owner.tenant, "space": owner.space,
            "conversation": owner.conversation, "thread": owner.thread, "sender": owner.sender.id,
            "name": owner.sender.name,
        },
        "made_ms": schedule.made_ms,
        "paused": schedule.paused,
        "next_ms": schedule.next_ms,
        "next": schedule.next_ms.map(|at| in_words(schedule, at)),
        "last": schedule.last.map(|ran| json!({
            "due_ms": ran.due_ms, "turn": ran.turn.to_string(), "due": in_words(schedule, ran.due_ms),
        })),
        "refused": schedule.refused, "left_out": schedule.left_out,
    })
}
