//! `GET /v1/policies` and `GET /v1/policies/explain`: the rules in force, for operators.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    http::Uri,
    response::{IntoResponse, Response},
};
use contract::Platform;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    body,
    callers::{self, Named},
    gate::Who,
    problem::Problem,
    routes::App,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    platform: Option<String>,
}

/// Every rule that says yes or no, with its file and line.
pub async fn list(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.operator()?;
    let filter: Filter = body::query(&uri)?;
    let platform = filter.platform.as_deref().map(callers::platform).transpose()?;
    let rules: Vec<_> = app
        .gateway
        .rules(platform)
        .iter()
        .map(|rule| json!({ "layer": rule.layer.as_str(), "rule": rule.rule, "file": rule.file, "line": rule.line }))
        .collect();
    Ok(Json(json!({ "rules": rules })).into_response())
}

/// A call as the query names it; [`Named`] without what policy does not look at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    tool: String,
    platform: Option<String>,
    tenant: Option<String>,
    space: Option<String>,
    conversation: Option<String>,
    sender: Option<String>,
    roles: Option<String>,
}

/// What every layer says of a call.
pub async fn explain(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    uri: Uri,
) -> Result<Response, Problem> {
    who.operator()?;
    let Asked { tool, platform, tenant, space, conversation, sender, roles } = body::query(&uri)?;
    let platform = platform.or_else(|| Some(Platform::Api.to_string()));
    let named = Named { platform, tenant, space, conversation, sender, roles, ..Named::default() };
    let caller = callers::named(&app.gateway, &who, named)?;
    let verdicts = app.gateway.explain(&caller, &tool);
    let layers: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            json!({ "layer": verdict.layer.as_str(), "allowed": verdict.allowed, "rule": verdict.rule,
                    "file": verdict.file, "line": verdict.line })
        })
        .collect();
    let gating = app.gateway.gating(&caller);
    // Who asks over a program is heard by their token.
    let heard = (!caller.platform.is_pull()).then(|| {
        json!({ "groups": gating.hearing(false).as_str(), "direct": gating.hearing(true).as_str(), "bots": gating.bots })
    });
    let answer = json!({
        "tool": tool,
        "allowed": verdicts.iter().all(|verdict| verdict.allowed),
        "platform": caller.platform.as_str(),
        "tenant": caller.tenant,
        "layers": layers,
        "heard": heard,
        "nearest": app.gateway.nearest(&tool),
    });
    Ok(Json(answer).into_response())
}
