//! Tools are added, published, deprecated, removed and brought back while the gateway runs; for operators.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use contract::{Code, Failure};
use dispatch::keeper::{self, Asked, Kept, NotKept, ToolWish};
use serde::Deserialize;
use serde_json::json;

use crate::{body, gate::Who, problem::Problem, routes::App};

/// What every change may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Who did it; the token's name when not said.
    author: Option<String>,
    /// The version that the author has seen.
    seen: Option<u64>,
    /// What findings call the text that is sent.
    file: Option<String>,
    /// Of what is added: offered at once.
    #[serde(default)]
    publish: bool,
}

/// What a change of one tool may say in its body.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    #[serde(default)]
    message: String,
    description: Option<String>,
    to: Option<u64>,
}

/// Most characters of a message that goes with a change.
const MESSAGE_MAX: usize = 500;

/// The tool with all that its owner wants to know.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
) -> Result<Response, Problem> {
    who.operator()?;
    let tool = app.gateway.tool_in_full(&name).ok_or_else(|| no_such(&name, app.gateway.nearest(&name)))?;
    Ok(Json(tool).into_response())
}

/// Adds the specs of the body.
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    who.operator()?;
    let query: Query = body::query(&uri)?;
    let text = body::text(body).await?;
    let label = body::word("file", query.file.clone())?.unwrap_or_else(|| "body".to_owned());
    let wish = ToolWish::Add { label, text, publish: query.publish };
    let kept = change(&app, &who, query, wish).await?;
    let status = if kept.iter().all(|kept| kept.already) { StatusCode::OK } else { StatusCode::CREATED };
    let tools: Vec<_> = kept.iter().map(keeper::kept).collect();
    Ok((status, Json(json!({ "tools": tools }))).into_response())
}

pub async fn publish(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    let wish = |words: Words| ToolWish::Publish { name, why: words.message, description: words.description };
    one(&app, &who, &uri, body, wish).await
}

pub async fn deprecate(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    one(&app, &who, &uri, body, |words| ToolWish::Deprecate { name, why: words.message }).await
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    one(&app, &who, &uri, body, |words| ToolWish::Remove { name, why: words.message }).await
}

pub async fn rollback(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    one(&app, &who, &uri, body, |words| ToolWish::Rollback { name, to: words.to }).await
}

pub async fn cache_invalidate(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    one(&app, &who, &uri, body, |_| ToolWish::Refresh { name }).await
}

/// Every change of a tool that is kept, the newest first.
pub async fn history(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(name): body::Segment,
) -> Result<Response, Problem> {
    who.operator()?;
    let found = app.gateway.tool_history(&name).await?;
    let (stored, changes) = found.ok_or_else(|| no_such(&name, app.gateway.nearest(&name)))?;
    let owner = app.gateway.tool_in_full(&name);
    Ok(Json(keeper::history(&stored, &changes, owner.as_ref())).into_response())
}

async fn one(
    app: &App,
    who: &Who,
    uri: &Uri,
    body: Body,
    wish: impl FnOnce(Words) -> ToolWish,
) -> Result<Response, Problem> {
    who.operator()?;
    let query: Query = body::query(uri)?;
    let text = body::text(body).await?;
    let words: Words = match text.trim() {
        "" => Words::default(),
        // A list would be taken for the members in their order.
        text if !text.starts_with('{') => return Err(Problem::unreadable("the body is not a JSON object")),
        text => serde_json::from_str(text)
            .map_err(|error| Problem::unreadable(format!("the body is not as expected: {error}")))?,
    };
    for (path, text) in [("message", Some(&words.message)), ("description", words.description.as_ref())] {
        if text.is_some_and(|text| text.chars().count() > MESSAGE_MAX) {
            return Err(Problem::invalid(path, "at most 500 characters", text.map(String::as_str)));
        }
    }
    let mut kept = change(app, who, query, wish(words)).await?;
    let kept = kept.pop().ok_or_else(|| Problem::internal("a change of a tool has no outcome"))?;
    Ok(Json(keeper::kept(&kept)).into_response())
}

async fn change(app: &App, who: &Who, query: Query, wish: ToolWish) -> Result<Vec<Kept>, Problem> {
    let by = body::word("author", query.author)?.unwrap_or_else(|| who.account().to_owned());
    let (gateway, asked) = (app.gateway.clone(), Asked { wish, by, seen: query.seen });
    let kept = app.see_through(async move { gateway.change_tools(&asked).await }).await?;
    kept.map_err(problem)
}

fn problem(not: NotKept) -> Problem {
    let refused = |status, failure| Problem::new(status, failure);
    match not {
        NotKept::Unknown { name, near } => no_such(&name, near),
        NotKept::Refused { say, hint } => {
            let failure = Failure::new(Code::InputRefused, say);
            let failure = match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            };
            refused(StatusCode::CONFLICT, failure)
        }
        NotKept::Wrong { errors, warnings } => {
            Problem::of_text("the tool cannot be used as it is written", errors, warnings)
        }
        NotKept::Full => {
            let failure = Failure::new(Code::InputRefused, "the store has as many tools as it takes");
            refused(StatusCode::CONFLICT, failure)
        }
        NotKept::Down(down) => Problem::from(down),
        NotKept::NoKeeper => {
            let failure = Failure::new(Code::InputRefused, "the tools of this gateway are not kept in a store");
            refused(StatusCode::CONFLICT, failure)
        }
    }
}

fn no_such(name: &str, near: Option<String>) -> Problem {
    let name = contract::text::one_line(name, 64);
    let near = near.map(|near| format!(": did you mean '{near}'?")).unwrap_or_default();
    let failure = Failure::new(Code::InputRefused, format!("there is no tool '{name}'{near}"));
    Problem::new(StatusCode::NOT_FOUND, failure)
}
