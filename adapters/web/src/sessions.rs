//! `/v1/sessions…` and `POST /v1/forget`: what is remembered, and its erasure, for operators.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use contract::{
    Code, Failure, MemoryKey,
    records::{Erased, Item, Person, Session, SessionQuery},
};
use dispatch::NotMounted;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{body, callers, gate::Who, problem::Problem, routes::App};

/// Lines of a list unless the request says otherwise, and at most.
const LINES: usize = 50;
const LINES_MAX: usize = 1_000;
/// Most tools and toolsets that a session mounts.
const MOUNTED_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    platform: Option<String>,
    /// The key of a place.
    place: Option<String>,
    limit: Option<usize>,
}

/// The last used first.
pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.operator()?;
    let filter: Filter = body::query(&uri)?;
    let most = filter.limit.unwrap_or(LINES);
    if !(1..=LINES_MAX).contains(&most) {
        return Err(Problem::invalid("limit", "1 to 1000", Some(&most.to_string())));
    }
    let query = SessionQuery {
        place: filter.place.map(MemoryKey::from_text),
        platform: filter.platform.as_deref().map(callers::platform).transpose()?,
        most,
        ..SessionQuery::default()
    };
    let sessions: Vec<Value> = app.gateway.sessions(&query).await?.iter().map(line).collect();
    Ok(Json(json!({ "sessions": sessions })).into_response())
}

/// With what it remembers.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(key): body::Segment,
) -> Result<Response, Problem> {
    who.operator()?;
    let session = app.gateway.session(&key).await?.ok_or_else(no_such_session)?;
    let items = app.gateway.items(&session).await?;
    let mut shown = line(&session);
    shown["items"] = items.iter().map(item).collect();
    Ok(Json(shown).into_response())
}

/// The next message there begins anew.
pub async fn reset(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(key): body::Segment,
) -> Result<Response, Problem> {
    who.operator()?;
    let gateway = app.gateway.clone();
    match app.see_through(async move { gateway.reset_session(&key).await }).await?? {
        Some(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        None => Err(no_such_session()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mount {
    only: Vec<String>,
}

/// These tools and toolsets alone.
pub async fn mount(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(key): body::Segment,
    body: Body,
) -> Result<Response, Problem> {
    who.operator()?;
    let Mount { only } = body::json(body).await?;
    if !(1..=MOUNTED_MAX).contains(&only.len()) {
        return Err(Problem::invalid("only", "1 to 200 names of tools or toolsets", None));
    }
    mounted(&app, key, Some(only)).await
}

/// All that policy shows.
pub async fn unmount(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(key): body::Segment,
) -> Result<Response, Problem> {
    who.operator()?;
    mounted(&app, key, None).await
}

async fn mounted(app: &App, key: String, names: Option<Vec<String>>) -> Result<Response, Problem> {
    let gateway = app.gateway.clone();
    match app.see_through(async move { gateway.mount(&key, names).await }).await? {
        Ok(session) => Ok(Json(line(&session)).into_response()),
        Err(NotMounted::Unknown(name, near)) => {
            let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            Err(Problem::invalid("only", &format!("names of tools or toolsets{near}"), Some(&name)))
        }
        Err(NotMounted::NoSession) => Err(no_such_session()),
        Err(NotMounted::Down(down)) => Err(down.into()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Somebody {
    platform: String,
    account: String,
    sender: String,
}

/// Erases what is stored of a person.
pub async fn forget(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body: Body,
) -> Result<Response, Problem> {
    who.operator()?;
    let Somebody { platform, account, sender } = body::json(body).await?;
    let platform = callers::platform(&platform)?;
    let account = body::word("account", Some(account))?.unwrap_or_default();
    let sender = body::word("sender", Some(sender))?.unwrap_or_default();
    let person = Person { platform, account, space: None, sender };
    let gateway = app.gateway.clone();
    let (erased, was_let_in) = app.see_through(async move { gateway.forget(&person).await }).await??;
    Ok(Json(told(&erased, was_let_in)).into_response())
}

fn told(erased: &Erased, was_let_in: bool) -> Value {
    let mut told = serde_json::to_value(erased).unwrap_or_default();
    told["pairing"] = was_let_in.into();
    told
}

fn no_such_session() -> Problem {
    let failure = Failure::new(Code::InputRefused, "there is no such session")
        .hint("GET /v1/sessions lists those that there are");
    Problem::new(StatusCode::NOT_FOUND, failure)
}

fn line(session: &Session) -> Value {
    json!({
        "id": session.id.to_string(), "key": session.place.as_str(), "platform": session.owner.platform.as_str(),
        "account": session.owner.account, "space": session.owner.space, "owner": session.owner.sender,
        "tenant": session.tenant, "title": session.title, "began_ms": session.began_ms, "used_ms": session.used_ms,
        "turns": session.turns, "summary": session.summary, "tools": session.mounted, "allowed": session.allowed.len(),
    })
}

fn item(item: &Item) -> Value {
    let calls = item.steps.iter().flat_map(|step| &step.calls);
    let calls: Vec<Value> = calls.map(|call| json!({ "tool": call.tool, "failed": call.failed })).collect();
    json!({ "turn": item.turn.to_string(), "sender": item.sender, "asked": item.asked, "answered": item.answered,
            "calls": calls })
}
