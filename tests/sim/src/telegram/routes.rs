//! The addresses of the Bot API.

use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::any;
use serde_json::{Value, json};

use super::params::MAX_BODY;
use super::{ApiError, Params, Telegram};
use crate::server::Line;

/// `/bot{token}/METHOD` and `/file/bot{token}/PATH`.
pub fn routes(telegram: Arc<Telegram>) -> Router<()> {
    // It ends with the server's token, and what it carries with it.
    tokio::spawn(telegram.clone().courier());
    Router::new()
        .route("/{bot}/{method}", any(call))
        .route("/file/{bot}/{*path}", any(download))
        .fallback(|| async { answer(404, json!({"ok": false, "error_code": 404, "description": "Not Found"})) })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(telegram)
}

async fn call(
    State(telegram): State<Arc<Telegram>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    if !matches!(*request.method(), Method::GET | Method::POST) {
        return answer(405, ApiError::new(405, "Method Not Allowed").json());
    }
    let Some(token) = bot.strip_prefix("bot") else { return answer(404, ApiError::new(404, "Not Found").json()) };
    let params = Params::read(request).await;
    match Box::pin(telegram.request(token, &method, params)).await.wire() {
        Some((status, body)) => answer(status, body),
        None => line.cut().await,
    }
}

async fn download(State(telegram): State<Arc<Telegram>>, Path((bot, path)): Path<(String, String)>) -> Response {
    let known = bot.strip_prefix("bot").is_some_and(|token| telegram.knows(token));
    match telegram.file(&path).filter(|_| known) {
        Some((mime, bytes)) => ([(CONTENT_TYPE, mime)], bytes).into_response(),
        None => answer(404, ApiError::new(404, "Not Found").json()),
    }
}

fn answer(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let wait = body["parameters"]["retry_after"].as_u64().map(|seconds| [(RETRY_AFTER, seconds.to_string())]);
    match wait {
        Some(wait) => (status, wait, Json(body)).into_response(),
        None => (status, Json(body)).into_response(),
    }
}
