//! `GET /v1/approvals`, `GET` and `POST /v1/approvals/{id}`: calls that wait for people, for operators;
//! for a client those that its users have to confirm.

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
    records::{Approval, ApprovalId, ApprovalState, By, Decider, Extent},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{body, gate::Who, problem::Problem, routes::App};

/// Most that are listed, and that a client's own are looked for among.
const LISTED: usize = 200;
const ALL: usize = 1_000;

/// What waits for the one who asks: for an operator all, for a client what its own users have to confirm.
pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>) -> Result<Response, Problem> {
    who.known()?;
    let most = if who.is_operator() { LISTED } else { ALL };
    let approvals = app.gateway.approvals(most).await?;
    let own = approvals.iter().filter(|approval| concerns(&who, approval)).take(LISTED);
    let approvals: Vec<_> = own.map(|approval| shown(&who, approval)).collect();
    Ok(Json(json!({ "approvals": approvals })).into_response())
}

pub async fn show(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    who.known()?;
    let approval = known(&app, &who, named(id)?).await?;
    Ok(Json(whole(&who, &approval)).into_response())
}

async fn known(app: &App, who: &Who, id: ApprovalId) -> Result<Approval, Problem> {
    let approval = app.gateway.approval(id).await?;
    approval.filter(|approval| concerns(who, approval)).ok_or_else(no_such)
}

/// A client vouches for the people behind it: what they have to confirm can be answered with its token.
pub fn concerns(who: &Who, approval: &Approval) -> bool {
    match who {
        Who::Operator => true,
        Who::Client(_) => approval.by == By::Requester && who.may_see(&approval.caller),
        Who::Nobody => false,
    }
}

/// What is said to it.
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
    who.known()?;
    let id = named(id)?;
    let before = known(&app, &who, id).await?;
    let Answer { answer, session, why } = serde_json::from_str(&body::text(body).await?).map_err(|error| {
        let failure = Failure::new(Code::ArgsUnreadable, format!("the answer is not readable: {error}"))
            .hint("write {\"answer\": \"allow\"} or {\"answer\": \"deny\", \"why\": \"…\"}");
        Problem::new(StatusCode::BAD_REQUEST, failure)
    })?;
    let gateway = app.gateway.clone();
    let extent = if session { Extent::Session } else { Extent::Once };
    let is_operator = who.is_operator();
    let answered = app.see_through(async move {
        match answer {
            Word::Allow if is_operator => gateway.approve(id, extent).await,
            Word::Deny if is_operator => gateway.deny(id, &why).await,
            word => {
                let answer = if matches!(word, Word::Allow) { Ok(extent) } else { Err(why) };
                let said = gateway.confirm(&before, answer).await?;
                Ok(gateway.approval(id).await?.map(|approval| (said, approval)))
            }
        }
    });
    let (said, approval) = answered.await??.ok_or_else(no_such)?;
    let mut told = whole(&who, &approval);
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
fn whole(who: &Who, approval: &Approval) -> Value {
    let mut out = shown(who, approval);
    out["args"] = approval.arguments().into();
    out
}

pub fn shown(who: &Who, approval: &Approval) -> Value {
    let caller = &approval.caller;
    let mut out = json!({
        "id": approval.id, "turn": approval.turn, "path": approval.path, "tool": approval.tool,
        "args": approval.shown, "by": approval.by, "need": approval.need,
        "platform": caller.platform, "account": caller.account, "tenant": caller.tenant,
        "conversation": caller.conversation, "sender": caller.sender.id, "name": caller.sender.name,
        "asked_ms": approval.asked_ms, "until_ms": approval.until_ms, "state": approval.state.as_str(),
    });
    // Nothing is said of rules but to those who make them.
    if who.is_operator() {
        out["rule"] = approval.rule.as_str().into();
    }
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
