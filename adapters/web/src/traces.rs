//! `GET /v1/traces[/{reference}[/events]]`, and how the turns of schedules fared.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    http::Uri,
    response::{IntoResponse, Response},
};
use contract::{
    SessionKey,
    records::{ScheduleId, TurnLine, TurnQuery},
};
use serde::Deserialize;
use serde_json::json;

use crate::{body, follow, gate::Who, messages::eyes, problem::Problem, routes::App, turns, view};

/// Lines of a list unless the request says otherwise, and at most.
const LINES: usize = 50;
const LINES_MAX: usize = 1_000;
/// In place of a schedule's id: all of them.
const ANY: &str = "any";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    failed: Option<bool>,
    tool: Option<String>,
    session: Option<String>,
    schedule: Option<String>,
    since: Option<String>,
    limit: Option<usize>,
}

/// What runs, then what ended, newest first. A client is shown its own among the newest thousand.
pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.known()?;
    let filter: Filter = body::query(&uri)?;
    let limit = filter.limit.unwrap_or(LINES);
    if !(1..=LINES_MAX).contains(&limit) {
        return Err(Problem::invalid("limit", "1 to 1000", Some(&limit.to_string())));
    }
    let (session, scheduled) = of_schedule(filter.schedule)?;
    let is_own = owns_schedule(&app, &who, session.as_ref()).await?;
    let query = TurnQuery {
        session: session.or(body::word("session", filter.session)?.map(SessionKey::from_text)),
        scheduled,
        tool: body::word("tool", filter.tool)?,
        failed: filter.failed.unwrap_or(false),
        since_ms: body::since("since", filter.since.as_deref(), body::now_ms())?,
        most: if who.is_operator() { limit } else { LINES_MAX },
    };
    // What runs has called no tool that the index knows of, and has not failed.
    let is_wanted = |line: &TurnLine| {
        query.tool.is_none()
            && !query.failed
            && (!query.scheduled || ScheduleId::of_session(&line.session).is_some())
            && query.session.as_ref().is_none_or(|session| *session == line.session)
            && query.since_ms.is_none_or(|since| line.started_us / 1_000 >= since)
    };
    let running: Vec<_> = app.gateway.running().into_iter().filter(is_wanted).collect();
    let ended = app.gateway.turns(&query).await?;
    // One that ended in between is shown as it ended.
    let running = running.iter().filter(|line| ended.iter().all(|other| other.turn != line.turn));
    let may_see = |line: &&TurnLine| is_own || who.may_see_line(line.platform, &line.tenant, &line.session);
    let own = running.chain(&ended).filter(may_see);
    let shown: Vec<_> = own.take(limit).map(|line| view::line(line, eyes(&who))).collect();
    Ok(Json(json!({ "traces": shown })).into_response())
}

/// The session of the schedule that is named, and whether only turns of schedules are wanted.
fn of_schedule(named: Option<String>) -> Result<(Option<SessionKey>, bool), Problem> {
    Ok(match body::word("schedule", named)?.as_deref() {
        None => (None, false),
        Some(ANY) => (None, true),
        Some(id) => {
            let id: ScheduleId =
                id.parse().map_err(|_| Problem::invalid("schedule", "the id of a schedule, or any", Some(id)))?;
            (Some(id.session()), true)
        }
    })
}

/// Whether that is the session of a schedule of a client's own: turns in it are not in a conversation of theirs.
async fn owns_schedule(app: &App, who: &Who, session: Option<&SessionKey>) -> Result<bool, Problem> {
    let Some(id) = session.and_then(ScheduleId::of_session) else { return Ok(false) };
    let schedule = app.gateway.schedule(id).await?;
    Ok(schedule.is_some_and(|schedule| who.may_see(&schedule.owner)))
}

/// One turn with its tree.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(reference): body::Segment,
) -> Result<Response, Problem> {
    let turn = turns::seen(&app.gateway, &who, &reference).await?;
    let mut nodes = app.gateway.tree(turn).await?;
    view::in_order(&mut nodes);
    let record = app.gateway.record(turn).await?;
    let known = record.as_ref().map(|record| (&record.caller, &record.session, record.message.text()));
    Ok(Json(view::trace(turn, known, &nodes, eyes(&who))).into_response())
}

/// The turn as it happens.
pub async fn events(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(reference): body::Segment,
) -> Result<Response, Problem> {
    let turn = turns::seen(&app.gateway, &who, &reference).await?;
    Ok(follow::stream(&app, turn, follow::Told::new(turn, eyes(&who)), None, None))
}

/// How the turns of a schedule fared, and the tools that they called, the slowest first.
pub async fn stats_of_schedules(
    app: &App,
    schedule: Option<String>,
    since: Option<String>,
) -> Result<Response, Problem> {
    let (session, scheduled) = of_schedule(schedule)?;
    let since_ms = body::since("since", since.as_deref(), body::now_ms())?;
    let query = TurnQuery { session, scheduled, since_ms, ..TurnQuery::default() };
    let fared = app.gateway.fared(&query).await?;
    Ok(Json(view::fared(since_ms, &fared)).into_response())
}
