//! `GET /v1/approvals`, `GET` and `POST /v1/approvals/{id}`: calls that wait for people, for operators.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use contract::{
    Code, Failure,
    records::{Approval, ApprovalId, ApprovalState, Decider, Extent},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{body, gate::Who, problem::Problem, routes::App};

/// Most that are listed.
const LISTED: usize = 200;

pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>) -> Result<Response, Problem> {
    who.operator()?;
    let approvals = app.gateway.approvals(LISTED).await?;
    let approvals: Vec<_> = approvals.iter().map(shown).collect();
    Ok(Json(json!({ "approvals": approvals })).into_response())
}

pub async fn show(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    who.operator()?;
    let approval = app.gateway.approval(named(id)?).await?.ok_or_else(no_such)?;
    Ok(Json(whole(&approval)).into_response())
}

/// What an operator says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    answer: Word,
    /// Also the very same call again in its session.
    #[serde(default)]
    session: bool,
    #[serde(default)]
    why: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Allow,
    Deny,
}

pub async fn answer(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    id: Result<Path<String>, PathRejection>,
    body: Body,
) -> Result<Response, Problem> {
    who.operator()?;
    let id = named(id)?;
    let Answer { answer, session, why } = serde_json::from_str(&body::text(body).await?).map_err(|error| {
        let failure = Failure::new(Code::ArgsUnreadable, format!("the answer is not readable: {error}"))
            .hint("write {\"answer\": \"allow\"} or {\"answer\": \"deny\", \"why\": \"…\"}");
        Problem::new(StatusCode::BAD_REQUEST, failure)
    })?;
    let gateway = app.gateway.clone();
    let extent = if session { Extent::Session } else { Extent::Once };
    let answered = app.see_through(async move {
        match answer {
            Word::Allow => gateway.approve(id, extent).await,
            Word::Deny => gateway.deny(id, &why).await,
        }
    });
    let (said, approval) = answered.await??.ok_or_else(no_such)?;
    let mut told = whole(&approval);
    told["said"] = said.into();
    Ok(Json(told).into_response())
}

fn named(id: Result<Path<String>, PathRejection>) -> Result<ApprovalId, Problem> {
    let Path(id) = id.map_err(|_| no_such())?;
    id.parse().map_err(|_| no_such())
}

fn no_such() -> Problem {
    let failure = Failure::new(Code::InputRefused, "there is no such approval, or it is too long ago")
        .hint("GET /v1/approvals lists those that wait");
    Problem::new(StatusCode::NOT_FOUND, failure)
}

/// With all arguments; what is shown of several at once has them as they stand on a card.
fn whole(approval: &Approval) -> Value {
    let mut out = shown(approval);
    out["args"] = approval.arguments().into();
    out
}

fn shown(approval: &Approval) -> Value {
    let caller = &approval.caller;
    let mut out = json!({
        "id": approval.id, "turn": approval.turn, "path": approval.path, "tool": approval.tool,
        "args": approval.shown, "by": approval.by, "need": approval.need, "rule": approval.rule,
        "platform": caller.platform, "account": caller.account, "tenant": caller.tenant,
        "conversation": caller.conversation, "sender": caller.sender.id, "name": caller.sender.name,
        "asked_ms": approval.asked_ms, "until_ms": approval.until_ms, "state": approval.state.as_str(),
    });
    if !approval.why.is_empty() {
        out["said_by_model"] = json!(approval.why);
    }
    match &approval.state {
        ApprovalState::Asked { yes } => out["yes"] = people(yes),
        ApprovalState::Allowed { by, extent } | ApprovalState::Used { by, extent } => {
            (out["decided_by"], out["extent"]) = (people(by), json!(extent));
        }
        ApprovalState::Refused { by, why } => {
            (out["decided_by"], out["why"]) = (people(std::slice::from_ref(by)), json!(why));
        }
        ApprovalState::Expired { at_ms } => out["at_ms"] = json!(at_ms),
        ApprovalState::Withdrawn { why, at_ms } => (out["why"], out["at_ms"]) = (json!(why), json!(at_ms)),
    }
    out
}

fn people(all: &[Decider]) -> Value {
    let person = |who: &Decider| json!({ "platform": who.platform, "account": who.account, "sender": who.id, "name": who.name, "at_ms": who.at_ms });
    all.iter().map(person).collect()
}
