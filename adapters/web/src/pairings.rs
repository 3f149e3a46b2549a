//! `GET /v1/pairings`, `POST /v1/pairings/{code}/approve` and `DELETE /v1/pairings/{platform}/{account}/{sender}`: who is
//! heard because an operator let them in, for operators.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use contract::{Code, Failure};
use dispatch::{Asking, NotPaired, Paired};
use serde_json::{Value, json};

use crate::{callers, gate::Who, problem::Problem, routes::App};

pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>) -> Result<Response, Problem> {
    who.operator()?;
    let pairings = app.gateway.pairings().await?;
    let waiting: Vec<_> = pairings.waiting.iter().map(asking).collect();
    let people: Vec<_> = pairings.people.iter().map(paired).collect();
    Ok(Json(json!({ "waiting": waiting, "people": people })).into_response())
}

/// Lets in the person who was shown this code.
pub async fn approve(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    code: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    who.operator()?;
    let Path(code) = code.map_err(|_| no_such_code())?;
    let gateway = app.gateway.clone();
    let approved = app.see_through(async move { gateway.approve_pairing(&code).await }).await?;
    match approved {
        Ok(person) => Ok(Json(paired(&person)).into_response()),
        Err(NotPaired::NoSuchCode) => Err(no_such_code()),
        Err(error @ NotPaired::TooMany) => {
            let failure = Failure::new(Code::RateLimited, error.to_string());
            Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, failure))
        }
        Err(error @ NotPaired::Full) => {
            Err(Problem::new(StatusCode::CONFLICT, Failure::new(Code::LimitReached, error.to_string())))
        }
        Err(NotPaired::Down(down)) => Err(down.into()),
    }
}

fn no_such_code() -> Problem {
    let failure = Failure::new(Code::InputRefused, NotPaired::NoSuchCode.to_string())
        .hint("a code holds for an hour; GET /v1/pairings lists those who ask");
    Problem::new(StatusCode::NOT_FOUND, failure)
}

/// The person is heard no more.
pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    person: Result<Path<(String, String, String)>, PathRejection>,
) -> Result<Response, Problem> {
    who.operator()?;
    let Path((platform, account, sender)) = person.map_err(|_| nobody())?;
    let platform = callers::platform(&platform)?;
    let gateway = app.gateway.clone();
    let removed = app.see_through(async move { gateway.remove_pairing(platform, &account, &sender).await }).await??;
    if removed { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(nobody()) }
}

fn nobody() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, Failure::new(Code::InputRefused, "this person was not let in there"))
}

fn paired(person: &Paired) -> Value {
    json!({ "platform": person.platform.as_str(), "account": person.account, "sender": person.sender,
            "name": person.name, "since_ms": person.since_ms })
}

fn asking(person: &Asking) -> Value {
    json!({ "code": person.code, "platform": person.platform.as_str(), "account": person.account,
            "sender": person.sender, "name": person.name, "left_s": person.left.as_secs() })
}
