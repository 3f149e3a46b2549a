//! `GET /v1/tools` and `POST /v1/tools/{name}/invoke`; what changes tools is in `lifecycle`.

pub mod described;
pub mod lifecycle;

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::Uri,
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{
    body,
    callers::{self, Named},
    gate::Who,
    problem::Problem,
    routes::App,
};

/// Exactly the list that a model would be sent; with `all=true` every tool there is, for operators.
pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.known()?;
    if uri.query() == Some("all=true") {
        who.operator()?;
        return Ok(Json(app.gateway.all_tools()).into_response());
    }
    let caller = callers::named(&app.gateway, &who, body::query::<Named>(&uri)?)?;
    let list = app.gateway.tools_here(&caller).await?;
    Ok(Json(&*list.described).into_response())
}

/// Runs one call; the body is its arguments.
pub async fn invoke(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(tool): body::Segment,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    who.operator()?;
    let caller = callers::named(&app.gateway, &who, body::query::<Named>(&uri)?)?;
    let raw = body::text(body).await?;
    let gateway = app.gateway.clone();
    let invoked = app.see_through(async move { gateway.invoke_json(caller, &tool, &raw).await }).await?;
    let outcome = invoked.outcome;
    match outcome.result {
        Ok(result) => {
            let answer = json!({
                "reference": invoked.turn.to_string(),
                "result": result,
                "state": outcome.state.as_str(),
                "took_us": outcome.took_us,
            });
            Ok(Json(answer).into_response())
        }
        // The state would tell a denied tool from one that does not exist.
        Err(failure) => Err(Problem::of(failure).repeatable(outcome.repeatable).reference(invoked.turn)),
    }
}
