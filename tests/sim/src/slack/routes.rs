//! The addresses that apps ask: methods, sockets, uploads, downloads and response URLs.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{any, get, post};

use super::api::{Answer, Ending};
use super::upload::MAX_FILE;
use super::{Params, Slack, link};
use crate::server::Line;
use crate::socket::upgrade;

/// `/api/METHOD`, `/socket/TICKET`, `/upload/ID`, `/files/…`, `/response/…`.
pub fn routes(slack: Arc<Slack>) -> Router {
    slack.clone().start();
    Router::new()
        .route("/api/{method}", any(call))
        .route("/socket/{ticket}", get(socket))
        .route("/upload/{id}", post(upload))
        .route("/files/{id}/{*name}", get(download))
        .route("/response/{id}", post(respond))
        .layer(DefaultBodyLimit::max(MAX_FILE))
        .with_state(slack)
}

async fn call(
    State(slack): State<Arc<Slack>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let params = Params::read(request).await;
    match Box::pin(slack.request(&method, params)).await {
        Ending::Answer(answer) => written(answer),
        Ending::Cut => line.cut().await,
    }
}

/// The answer with its headers: how long to wait, what the token may, and what would have done.
fn written(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(answer.body)).into_response();
    let (given, accepted) = answer.scopes.map_or((None, None), |scopes| (Some(scopes.given), Some(scopes.accepted)));
    for (name, value) in [
        (RETRY_AFTER, answer.wait.map(|wait| wait.to_string())),
        (HeaderName::from_static("x-oauth-scopes"), given),
        (HeaderName::from_static("x-accepted-oauth-scopes"), accepted.filter(|scopes| !scopes.is_empty())),
    ] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn socket(State(slack): State<Arc<Slack>>, Path(ticket): Path<String>, request: Request) -> Response {
    match slack.write(|world| world.redeem(&ticket)) {
        Some(app) => upgrade(request, move |socket| link::serve(slack, app, socket)),
        None => (StatusCode::NOT_FOUND, "no such ticket").into_response(),
    }
}

/// The bytes of a file, sent as they are or inside a form; the answer is text, as the platform gives it.
async fn upload(State(slack): State<Arc<Slack>>, Path(id): Path<String>, request: Request) -> Response {
    let bytes = match super::upload::body(request).await {
        Ok(bytes) => bytes,
        Err(why) => return (StatusCode::BAD_REQUEST, why).into_response(),
    };
    let length = bytes.len();
    match slack.write(|world| world.take_upload(&id, bytes)) {
        Ok(()) => {
            (StatusCode::OK, [(CONTENT_TYPE, "text/plain; charset=utf-8")], format!("OK - {length}")).into_response()
        }
        Err((status, why)) => (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), why).into_response(),
    }
}

/// A file for whoever shows a token; anybody else is sent to a page that asks them to sign in.
async fn download(
    State(slack): State<Arc<Slack>>,
    Path((id, _)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let token = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    match slack.write(|world| world.download(&id, token)) {
        Ok((mime, bytes)) => ([(CONTENT_TYPE, mime)], bytes).into_response(),
        Err(404) => (StatusCode::NOT_FOUND, "no such file").into_response(),
        Err(_) => {
            ([(CONTENT_TYPE, "text/html; charset=utf-8")], "<!DOCTYPE html><title>Sign in</title>").into_response()
        }
    }
}

async fn respond(State(slack): State<Arc<Slack>>, Path(id): Path<String>, headers: HeaderMap, body: Body) -> Response {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    match slack.write(|world| world.respond(&id, &kind, &body)) {
        Ok(()) => (StatusCode::OK, [(CONTENT_TYPE, "text/plain; charset=utf-8")], "ok").into_response(),
        Err((status, why)) => (StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND), why).into_response(),
    }
}
