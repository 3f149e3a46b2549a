//! The address that Telegram posts updates to: who may, how much, and what it is answered.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header::CONTENT_LENGTH},
    routing::post,
};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::{Mode, Telegram, lenient, mailbox::NotKept};

/// The largest update; the platform's own are a tenth of it.
const LARGEST: usize = 1 << 20;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);
const HEADER: &str = "x-telegram-bot-api-secret-token";
const LONGEST_SECRET: usize = 256;

/// `POST /`, to be mounted where the webhook's `url` leads. Until [`crate::run`] takes updates in, it answers 503, and
/// Telegram delivers again; in polling mode nothing is there.
pub fn hooks(telegram: &Arc<Telegram>) -> Router {
    Router::new().route("/", post(receive)).with_state(telegram.clone())
}

/// 200 once the update is durable, or when nobody could ever read it: it would be delivered again for ever.
async fn receive(State(telegram): State<Arc<Telegram>>, request: Request) -> StatusCode {
    let account = &telegram.account;
    let Mode::Webhook { secret, .. } = &telegram.config.mode else { return StatusCode::NOT_FOUND };
    let (parts, body) = request.into_parts();
    if !knows(&parts.headers, secret) {
        tracing::debug!(account, "a request to the webhook without its secret");
        return StatusCode::UNAUTHORIZED;
    }
    if announced(&parts.headers).is_some_and(|size| size > LARGEST as u64) {
        tracing::error!(account, "an update is too large and is passed over");
        return StatusCode::OK;
    }
    let arriving = timeout(BODY_TIME, axum::body::to_bytes(Body::new(body), LARGEST));
    let Ok(Ok(body)) = arriving.await else { return StatusCode::BAD_REQUEST };
    let update = lenient::update(&String::from_utf8_lossy(&body));
    if update["update_id"].as_i64().is_none() {
        tracing::error!(account, bytes = body.len(), "what was posted is no update and is passed over");
        return StatusCode::OK;
    }
    match telegram.hand_in(update).await {
        Ok(()) => StatusCode::OK,
        Err(why) => {
            match why {
                NotKept::Closed => tracing::debug!(account, "an update came while nobody takes in"),
                NotKept::Full => tracing::debug!(account, "an update came while too many wait"),
                NotKept::StoreDown(cause) => tracing::debug!(account, %cause, "an update could not be kept"),
            }
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn knows(headers: &HeaderMap, secret: &SecretString) -> bool {
    headers.get(HEADER).is_some_and(|given| same(given.as_bytes(), secret.expose_secret().as_bytes()))
}

/// Compares in a time that tells nothing of where the two differ.
fn same(given: &[u8], secret: &[u8]) -> bool {
    let differ = given.iter().zip(secret).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == secret.len() && std::hint::black_box(differ) == 0
}

/// Whether Telegram takes it as a webhook's secret.
pub(crate) fn is_secret(secret: &SecretString) -> bool {
    let secret = secret.expose_secret();
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    (1..=LONGEST_SECRET).contains(&secret.len()) && secret.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_same_or_not() {
        assert!(same(b"abc", b"abc"));
        for other in [&b"abd"[..], b"ab", b"abcd", b""] {
            assert!(!same(other, b"abc"));
        }
        assert!(is_secret(&"a_B-9".into()) && !is_secret(&"".into()) && !is_secret(&"a b".into()));
        assert!(!is_secret(&"x".repeat(257).into()));
    }

    #[test]
    fn an_address_that_telegram_would_not_take_stops_with_steps() {
        let new = |url: &str, secret: &str, api_url: Option<&str>| {
            let mut config = crate::Config::new("main", "7:a".into(), api_url.map(str::to_owned));
            config.mode = Mode::Webhook { url: url.into(), secret: secret.into() };
            Telegram::new(config).map(|_| ()).map_err(|stopped| (stopped.why, stopped.steps.len()))
        };
        assert!(new("https://e.test/hook", "s", None).is_ok());
        assert!(new("http://127.0.0.1:1/hook", "s", Some("http://127.0.0.1:1")).is_ok());
        let (why, steps) = new("http://e.test/hook", "s", None).unwrap_err();
        assert!(why.contains("https://") && steps == 2);
        assert!(new("https://e.test/hook", "not a secret", None).is_err());
    }
}
