//! The control side: people write, press and edit over HTTP, faults are ordered, and everything that was seen can be read.
//!
//! Bodies and answers are JSON; conversations are `general` (a group), `dm:NAME`, or made by their first mention; a refusal is `{"error"}`.
//!
//! | verb | body or query | answer |
//! |---|---|---|
//! | POST say | `conversation, user, text, thread?, reply_to?, quote?, files?: [{name, mime?, base64? or text?, size?, kind?}], mention?, language_code?, bot?, sender_chat?` | `message, chat, update` |
//! | POST command | `conversation, user, name, args?, thread?` | as say |
//! | POST press | `conversation, user, message, button` (data or text) | `chat, update, interaction` |
//! | POST edit | `conversation, user, message, text` | as say |
//! | POST react | `conversation, user, message, emoji` (empty takes it away) | as say |
//! | POST submit | | 400: Telegram has no forms |
//! | POST remove | `conversation, message?, thread?` | |
//! | POST raw | `event` | `update` |
//! | POST conversation | `name, kind?: private, group, supergroup, forum, channel, title?, state?: open, blocked, kicked, gone, upgraded, open?: whether members write, roles?: {NAME: creator, administrator, member, left, kicked}` | `chat` |
//! | POST fault | `kind, count?, seconds?, status?, description?, method?, when?, conversation?, past?`; DELETE takes all back | |
//! | GET, POST limits | any of the fields; zero is without limit | all of them |
//! | POST privacy | `on` | |
//! | GET transcript | `conversation?, after?, wait?` (seconds until there is one) | `entries` (the newest 5,000 of a conversation) |
//! | GET transcript/events | `conversation?, after?` | server-sent events `entry` |
//! | GET conversations | | `conversations: [{name, chat, kind, title, forum, topics: [{id, name}]}]` |
//! | GET menu | `conversation, language?` | `commands` that a person is offered there |
//! | GET file | `id` | the bytes |
//! | GET stats | | `requests, methods, received, sent, mentions, unanswered, violation_count, violations` |

use std::net::IpAddr;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, HOST, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Value, json};

use crate::server::Sim;

/// `/{platform}/VERB`, guarded: only a page or a program of this machine may steer.
pub fn routes(sim: &Sim) -> Router {
    Router::new()
        .nest("/telegram", crate::telegram::control(sim.telegram.clone()))
        .nest("/discord", crate::discord::control(sim.discord.clone()))
        .nest("/slack", crate::slack::control(sim.slack.clone()))
        .layer(from_fn(guard))
}

/// Arguments the way a person types them: text as it is, an object as `key=value`, text with blanks in quotes.
pub(crate) fn typed(args: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '\n', '\t']) => text.clone(),
        other => other.to_string(),
    };
    match args {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect::<Vec<_>>().join(" ")
        }
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Lets only this machine in: a foreign name in `Host` is a rebound DNS name, a foreign `Origin` somebody else's page.
async fn guard(request: Request, next: Next) -> Response {
    let Ok(origin) = local_origin(request.headers()) else {
        let refusal = json!({"error": "only pages and programs of this machine may steer"});
        return (StatusCode::FORBIDDEN, Json(refusal)).into_response();
    };
    let preflight = request.method() == Method::OPTIONS;
    let mut response = if preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("origin"));
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type, last-event-id"));
    }
    response
}

/// The origin of a page of this machine, if the request came from a page; an error when it came from elsewhere.
fn local_origin(headers: &HeaderMap) -> Result<Option<HeaderValue>, ()> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    if !headers.get(HOST).is_none_or(|host| is_loopback(&text(host))) {
        return Err(());
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(None) };
    match text(origin).strip_prefix("http://") {
        Some(host) if is_loopback(host) => Ok(Some(origin.clone())),
        _ => Err(()),
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in ["127.0.0.1:80", "localhost", "LOCALHOST:1", "[::1]:80", "127.9.9.9"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["e.test", "127.0.0.1.e.test", "localhost.e.test:80", "0.0.0.0", "[fe80::1]", "", "10.0.0.1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn arguments_are_typed_as_a_person_would() {
        assert_eq!(
            typed(&json!({"city": "Oslo", "days": 3, "note": "two words", "empty": ""})),
            r#"city=Oslo days=3 note="two words" empty="""#
        );
        assert_eq!(typed(&json!("Oslo 3")), "Oslo 3");
        assert_eq!(typed(&json!(["Oslo", 3])), "Oslo 3");
        assert_eq!(typed(&Value::Null), "");
    }
}
