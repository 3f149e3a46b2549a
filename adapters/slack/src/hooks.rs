//! What Slack sends over HTTP: checked by its signature over the raw bytes, answered when it is stored.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

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
use tokio::{sync::oneshot, time::timeout};

use crate::{
    Mode, Slack, body,
    inbound::text,
    intake::{Answer, Door},
    lock,
};

/// More than any event has.
const LARGEST: usize = 1024 * 1024;
/// How long a body may take to arrive: nobody has shown a secret yet, and connections are few.
const BODY_TIME: Duration = Duration::from_secs(10);

/// How often it is said that strangers knock, however often they do: a log is filled more easily than it is emptied.
const COMPLAINT: Duration = Duration::from_secs(60);

/// One account's address, and when it was last said that strangers knock.
struct Hooks {
    slack: Arc<Slack>,
    complained: Mutex<Option<Instant>>,
}

/// One address for everything, and one for each kind: the app's settings may name either.
pub(crate) fn router(slack: Arc<Slack>) -> Router {
    Router::new()
        .route("/", post(receive))
        .route("/events", post(receive))
        .route("/commands", post(receive))
        .route("/interactive", post(receive))
        .with_state(Arc::new(Hooks { slack, complained: Mutex::default() }))
}

async fn receive(State(hooks): State<Arc<Hooks>>, request: Request) -> Response {
    let slack = &hooks.slack;
    let (parts, body) = request.into_parts();
    let body = match timeout(BODY_TIME, to_bytes(body, LARGEST)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refuse(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT),
    };
    if !is_signed(slack, &parts.headers, &body) {
        hooks.complain();
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
    take(slack, door, payload).await
}

impl Hooks {
    fn complain(&self) {
        let mut complained = lock(&self.complained);
        if complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            *complained = Some(Instant::now());
            tracing::warn!(account = self.slack.account, "requests come without a good signature");
        }
    }
}

async fn take(slack: &Slack, door: Door, payload: Value) -> Response {
    let ours = slack.intake().filter(|_| slack.holds.load(Ordering::Relaxed));
    let Some(intake) = ours else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
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
    // The library reckons with it, and what is no time since 1970 can make it overflow.
    if at.parse::<u32>().is_err() {
        return false;
    }
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

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt;

    use super::*;

    fn hooks() -> Router {
        let mode = Mode::Events { signing_secret: "8f742231b10e8888abcd99yyyzzz85a5".into() };
        let config = crate::Config::new("main", "xoxb-1".into(), mode, Some("http://127.0.0.1:1".into()));
        router(Slack::new(config).unwrap_or_else(|stopped| panic!("{stopped}")))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_holds_its_connection_for_seconds() {
        let never = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let answer =
            hooks().oneshot(Request::post("/events").body(never).expect("a request")).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn a_time_that_is_none_is_no_signature() {
        for at in [i64::MIN.to_string(), i64::MAX.to_string(), "soon".into(), String::new()] {
            // Whoever signs so has the secret, and still breaks nothing.
            let request = Request::post("/events").header(Verifier::SLACK_SIGNED_TIMESTAMP, &at);
            let request = request.header(Verifier::SLACK_SIGNED_HASH_HEADER, signed("{}", &at));
            let answer = hooks().oneshot(request.body(Body::from("{}")).expect("a request")).await.expect("an answer");
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{at}");
        }
    }

    fn signed(body: &str, at: &str) -> String {
        use hmac::{KeyInit, Mac};
        let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"8f742231b10e8888abcd99yyyzzz85a5").expect("a key");
        mac.update(format!("v0:{at}:{body}").as_bytes());
        let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("v0={hex}")
    }
}
