//! What Slack sends over HTTP: checked by its signature over the raw bytes, answered when it is stored.

use std::sync::Arc;

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Json, Response},
    routing::post,
};
use secrecy::ExposeSecret;
use serde_json::Value;
use slack_morphism::signature_verifier::SlackEventSignatureVerifier as Verifier;
use tokio::sync::oneshot;

use crate::{
    Mode, Slack, body,
    inbound::text,
    intake::{Answer, Door},
};

/// More than any event has.
const LARGEST: usize = 1024 * 1024;
/// One address for everything, and one for each kind: the app's settings may name either.
pub(crate) fn router(slack: Arc<Slack>) -> Router {
    Router::new()
        .route("/", post(receive))
        .route("/events", post(receive))
        .route("/commands", post(receive))
        .route("/interactive", post(receive))
        .with_state(slack)
}

async fn receive(State(slack): State<Arc<Slack>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST).await else { return refuse(StatusCode::PAYLOAD_TOO_LARGE) };
    if !is_signed(&slack, &parts.headers, &body) {
        tracing::warn!(account = slack.account, "a request without a good signature");
        return refuse(StatusCode::UNAUTHORIZED);
    }
    let Some((door, payload)) = read(&parts.headers, &body) else { return refuse(StatusCode::BAD_REQUEST) };
    if text(&payload, "type") == Some("url_verification") {
        return text(&payload, "challenge").unwrap_or_default().to_owned().into_response();
    }
    // Slack tests a command's address so.
    if text(&payload, "ssl_check").is_some() {
        return StatusCode::OK.into_response();
    }
    if let Some(again) = parts.headers.get("x-slack-retry-num") {
        tracing::debug!(account = slack.account, ?again, reason = ?parts.headers.get("x-slack-retry-reason"), "comes again");
    }
    take(&slack, door, payload).await
}

async fn take(slack: &Slack, door: Door, payload: Value) -> Response {
    let Some(intake) = slack.intake() else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    let (done, answered) = oneshot::channel();
    let put = intake.put(door, payload, move |answer| {
        // Whoever asked may have gone; then Slack asks again and it is known.
        let _ = done.send(answer);
    });
    put.await;
    match answered.await {
        Ok(Answer::Taken(None)) => StatusCode::OK.into_response(),
        Ok(Answer::Taken(Some(words))) => Json(words).into_response(),
        Ok(Answer::NotTaken) | Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Nothing else is done with a request before its signature is checked: in constant time, and not older than five minutes.
fn is_signed(slack: &Slack, headers: &HeaderMap, body: &Bytes) -> bool {
    let Mode::Events { signing_secret } = &slack.config.mode else { return false };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (signature, at) = (header(Verifier::SLACK_SIGNED_HASH_HEADER), header(Verifier::SLACK_SIGNED_TIMESTAMP));
    let (Some(signature), Some(at), Ok(body)) = (signature, at, std::str::from_utf8(body)) else { return false };
    let verifier = Verifier::new(&signing_secret.expose_secret().trim().into());
    verifier.verify(signature, body, at).is_ok()
}

/// By the kind that its headers name.
fn read(headers: &HeaderMap, body: &[u8]) -> Option<(Door, Value)> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    body::read(kind, body)
}

/// Sending it again is of no use.
fn refuse(status: StatusCode) -> Response {
    (status, [("x-slack-no-retry", "1")]).into_response()
}
