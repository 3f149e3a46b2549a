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
//! | POST conversation | `name, kind?: private, group, supergroup, forum, channel, title?, state?: open, blocked, kicked, gone, upgraded, roles?: {NAME: creator, administrator, member, left, kicked}` | `chat` |
//! | POST fault | `kind, count?, seconds?, status?, description?, method?, when?, conversation?, past?`; DELETE takes all back | |
//! | GET, POST limits | any of the fields; zero is without limit | all of them |
//! | POST privacy | `on` | |
//! | GET transcript | `conversation?, after?, wait?` (seconds until there is one) | `entries` (the newest 5,000 of a conversation) |
//! | GET transcript/events | `conversation?, after?` | server-sent events `entry` |
//! | GET conversations | | `conversations: [{name, chat, kind, title, forum, topics: [{id, name}]}]` |
//! | GET menu | `conversation, language?` | `commands` that a person is offered there |
//! | GET file | `id` | the bytes |
//! | GET stats | | `requests, methods, received, sent, mentions, unanswered, violation_count, violations` |

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, HOST,
    ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::server::Sim;
use crate::telegram::{Conversation, Edit, Fault, Outcome, Press, Raw, React, Refused, Remove, Say, Telegram};

/// `/{platform}/VERB`, guarded: only a page or a program of this machine may steer.
pub fn routes(sim: &Sim) -> Router {
    Router::new()
        .nest("/telegram", telegram(sim.telegram.clone()))
        .nest("/discord", crate::discord::control(sim.discord.clone()))
        .nest("/slack", crate::slack::control(sim.slack.clone()))
        .layer(from_fn(guard))
}

fn telegram(telegram: Arc<Telegram>) -> Router {
    Router::new()
        .route("/say", post(say))
        .route("/command", post(command))
        .route("/press", post(press))
        .route("/edit", post(edit))
        .route("/react", post(react))
        .route("/submit", post(submit))
        .route("/remove", post(remove))
        .route("/raw", post(raw))
        .route("/conversation", post(conversation))
        .route("/fault", post(fault).delete(clear))
        .route("/limits", get(limits).post(set_limits))
        .route("/privacy", post(privacy))
        .route("/transcript", get(transcript))
        .route("/transcript/events", get(events))
        .route("/stats", get(stats))
        .route("/conversations", get(conversations))
        .route("/menu", get(menu))
        .route("/file", get(file))
        .with_state(telegram)
}

type Shared = State<Arc<Telegram>>;

async fn say(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Say>(&body).and_then(|say| telegram.say(say)))
}

/// A command as a person types it: name and arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    conversation: String,
    user: String,
    name: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    thread: Option<Value>,
}

async fn command(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Command>(&body).and_then(|command| {
        let name = command.name.trim_start_matches('/');
        let text = format!("/{name} {}", typed(&command.args));
        telegram.say(Say { thread: command.thread, ..Say::new(&command.conversation, &command.user, text.trim_end()) })
    }))
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

async fn press(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Press>(&body).and_then(|press| telegram.press(&press)))
}

async fn edit(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Edit>(&body).and_then(|edit| telegram.edit(&edit)))
}

async fn react(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<React>(&body).and_then(|react| telegram.react(&react)))
}

async fn submit() -> Response {
    reply::<()>(Err(Refused {
        status: 400,
        why: "Telegram has no forms: people type arguments or press buttons".into(),
    }))
}

async fn remove(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Remove>(&body).and_then(|wanted| telegram.remove(&wanted)).map(|()| json!({"ok": true})))
}

async fn raw(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Raw>(&body).and_then(|raw| telegram.raw(raw.event)).map(|update| json!({"update": update})))
}

async fn conversation(State(telegram): Shared, body: Bytes) -> Response {
    reply(
        read::<Conversation>(&body).and_then(|wanted| telegram.conversation(&wanted)).map(|chat| json!({"chat": chat})),
    )
}

async fn fault(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Fault>(&body).and_then(|fault| telegram.fault(fault)).map(|()| json!({"ok": true})))
}

async fn clear(State(telegram): Shared) -> Response {
    telegram.clear_faults();
    reply(Ok(json!({"ok": true})))
}

async fn limits(State(telegram): Shared) -> Response {
    reply(Ok(telegram.limits()))
}

async fn set_limits(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Map<String, Value>>(&body).and_then(|wanted| {
        let mut merged = serde_json::to_value(telegram.limits()).unwrap_or_default();
        wanted.into_iter().for_each(|(name, value)| merged[name] = value);
        let limits = serde_json::from_value(merged).map_err(|cause| Refused { status: 400, why: cause.to_string() })?;
        telegram.set_limits(limits);
        Ok(telegram.limits())
    }))
}

#[derive(Deserialize)]
struct Privacy {
    on: bool,
}

async fn privacy(State(telegram): Shared, body: Bytes) -> Response {
    reply(read::<Privacy>(&body).map(|privacy| {
        telegram.set_privacy(privacy.on);
        json!({"ok": true})
    }))
}

/// Which entries are wanted: of one conversation or all, newer than a number.
#[derive(Deserialize)]
struct Wanted {
    conversation: Option<String>,
    #[serde(default)]
    after: u64,
    /// Seconds to wait for the first entry.
    #[serde(default)]
    wait: f64,
}

async fn transcript(State(telegram): Shared, Query(wanted): Query<Wanted>) -> Response {
    let patience = Duration::try_from_secs_f64(wanted.wait.min(60.0)).unwrap_or_default();
    let new = telegram.first(wanted.conversation.as_deref(), wanted.after, |_| true);
    // Without an entry in time the answer is an empty list.
    let _ = tokio::time::timeout(patience, new).await;
    let entries = telegram.transcript(wanted.conversation.as_deref(), wanted.after);
    reply(Ok(json!({"entries": entries, "kept": crate::telegram::transcript::KEPT})))
}

/// The entries as they come. A reader that was away names the last one it saw, in `after` or as `Last-Event-ID`.
async fn events(
    State(telegram): Shared,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let start = (telegram.updates(), seen.unwrap_or(wanted.after));
    let entries = stream::unfold(start, move |(mut updates, last)| {
        let (telegram, conversation) = (telegram.clone(), wanted.conversation.clone());
        async move {
            loop {
                updates.borrow_and_update();
                let new = telegram.transcript(conversation.as_deref(), last);
                if let Some(newest) = new.last().map(|entry| entry.n) {
                    return Some((new, (updates, newest)));
                }
                tokio::select! {
                    changed = updates.changed() => changed.ok()?,
                    () = telegram.stopped() => return None,
                }
            }
        }
    });
    let events = entries.flat_map(stream::iter).map(|entry| {
        let data = serde_json::to_string(&entry).unwrap_or_default();
        Ok(Event::default().event("entry").id(entry.n.to_string()).data(data))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn stats(State(telegram): Shared) -> Response {
    let stats = telegram.stats();
    let total: u64 = stats.requests.values().sum();
    let mut out = serde_json::to_value(&stats).unwrap_or_default();
    out["methods"] = out["requests"].take();
    out["requests"] = json!(total);
    reply(Ok(out))
}

async fn conversations(State(telegram): Shared) -> Response {
    reply(Ok(json!({"conversations": telegram.conversations()})))
}

/// Whose menu is wanted.
#[derive(Deserialize)]
struct Place {
    conversation: String,
    #[serde(default)]
    language: String,
}

async fn menu(State(telegram): Shared, Query(place): Query<Place>) -> Response {
    reply(telegram.menu(&place.conversation, &place.language).map(|commands| json!({"commands": commands})))
}

/// Which file is wanted, by the id that an entry gives.
#[derive(Deserialize)]
struct FileWanted {
    id: String,
}

async fn file(State(telegram): Shared, Query(wanted): Query<FileWanted>) -> Response {
    let Some((mime, bytes)) = telegram.file_by_id(&wanted.id) else {
        return reply::<()>(Err(Refused { status: 404, why: "no such file".into() }));
    };
    // A bot's file is not to run as a page of this origin.
    let plain = HeaderValue::from_static("application/octet-stream");
    let mime = HeaderValue::from_str(&mime)
        .ok()
        .filter(|_| mime.starts_with("image/") && !mime.contains("svg"))
        .unwrap_or(plain);
    ([(CONTENT_TYPE, mime), (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))], bytes).into_response()
}

pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Outcome<T> {
    serde_json::from_slice(body).map_err(|cause| Refused { status: 400, why: cause.to_string() })
}

pub(crate) fn reply<T: serde::Serialize>(outcome: Outcome<T>) -> Response {
    match outcome {
        Ok(value) => Json(value).into_response(),
        Err(refused) => {
            let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, Json(json!({"error": refused.why}))).into_response()
        }
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
