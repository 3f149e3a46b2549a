//! The addresses of the API, the gateway and the files.

use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Query, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{any, get};
use serde::Deserialize;

use super::api::{Answered, Ending, Heads};
use super::error::{ApiError, Scope};
use super::limits::Level;
use super::request::{Body, MAX_BODY};
use super::{Discord, gateway};
use crate::server::Line;

/// `/api/v10/…`, `/gateway`, `/gateway/resume` and `/attachments/…`.
pub fn routes(discord: Arc<Discord>) -> Router<()> {
    Router::new()
        .route("/gateway", get(gateway::first))
        .route("/gateway/", get(gateway::first))
        .route("/gateway/resume", get(gateway::again))
        .route("/gateway/resume/", get(gateway::again))
        .route("/attachments/{channel}/{id}/{name}", get(download))
        .route("/api/{version}/{*path}", any(call))
        .fallback(|| async { refusal(&ApiError::not_found()) })
        .layer(DefaultBodyLimit::max(MAX_BODY + 64 * 1024))
        .with_state(discord)
}

async fn call(
    State(discord): State<Arc<Discord>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path((version, path)): Path<(String, String)>,
    request: Request,
) -> Response {
    if !matches!(version.as_str(), "v9" | "v10") {
        return refusal(&ApiError::new(400, 50_041, "Invalid API version provided"));
    }
    let headers = request.headers().clone();
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let heads = Heads { token: text(&AUTHORIZATION), agent: text(&USER_AGENT) };
    let verb = request.method().as_str().to_owned();
    let segments: Vec<&str> = path.split('/').collect();
    let body = Body::read(request).await;
    match Box::pin(discord.request(&verb, &segments, heads, body)).await {
        Ending::Answer(answered) => {
            let Answered { result, level, bucket } = *answered;
            let mut response = match result {
                Ok((204, _)) => StatusCode::NO_CONTENT.into_response(),
                Ok((status, body)) => (code(status), Json(body)).into_response(),
                Err(error) => refusal(&error),
            };
            if let Some(level) = level {
                paces(response.headers_mut(), level, &bucket);
            }
            if response.status() == StatusCode::TOO_MANY_REQUESTS && !bucket.is_empty() {
                put(response.headers_mut(), "x-ratelimit-bucket", &bucket);
            }
            response
        }
        Ending::Cut => line.cut().await,
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn refusal(error: &ApiError) -> Response {
    let mut response = match &error.raw {
        Some(raw) => (code(error.status), [(CONTENT_TYPE, "text/html")], raw.clone()).into_response(),
        None => (code(error.status), Json(error.json())).into_response(),
    };
    if let Some(wait) = error.wait {
        let headers = response.headers_mut();
        put(headers, "retry-after", &format!("{}", wait.seconds.ceil() as u64));
        put(headers, "x-ratelimit-scope", wait.scope.name());
        if wait.scope == Scope::Global {
            put(headers, "x-ratelimit-global", "true");
        } else {
            paces(headers, Level { limit: 5, remaining: 0, after: wait.seconds }, "");
        }
    }
    response
}

fn paces(headers: &mut HeaderMap, level: Level, bucket: &str) {
    let reset = crate::transcript::now_ms() as f64 / 1_000.0 + level.after;
    put(headers, "x-ratelimit-limit", &level.limit.to_string());
    put(headers, "x-ratelimit-remaining", &level.remaining.to_string());
    put(headers, "x-ratelimit-reset", &format!("{reset:.3}"));
    put(headers, "x-ratelimit-reset-after", &format!("{:.3}", level.after));
    if !bucket.is_empty() {
        put(headers, "x-ratelimit-bucket", bucket);
    }
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// The signature of a file's address.
#[derive(Deserialize)]
struct Signed {
    #[serde(default)]
    ex: String,
    #[serde(default)]
    hm: String,
}

async fn download(
    State(discord): State<Arc<Discord>>,
    Path((_, id, _)): Path<(String, u64, String)>,
    Query(signed): Query<Signed>,
) -> Response {
    match discord.file_at(id, &signed.ex, &signed.hm) {
        Some((mime, bytes)) => ([(CONTENT_TYPE, mime)], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "This content is no longer available.").into_response(),
    }
}
