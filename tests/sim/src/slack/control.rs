//! The control side: what people do over HTTP, and everything that was seen.
//!
//! The verbs and their answers are those of the other platforms; `message` is a `ts`. Beside them:
//!
//! | verb | body | answer |
//! |---|---|---|
//! | POST command | `conversation, user, name, args?` | `chat, interaction` (the trigger) |
//! | POST press | `conversation, user, message` (`ts` or view), `button` (action, value, `action=value` or text) | `chat, interaction` |
//! | POST submit | `conversation, user, view?, values, close?` | `chat, interaction` (the view) |
//! | POST react | `conversation, user, message, emoji, remove?` | `chat, update` |
//! | POST shortcut | `conversation, user, callback_id, message?` | `chat, interaction` |
//! | POST open | `conversation, user, what: home, messages, assistant, context, context?, thread?` | `chat, message, update` |
//! | POST conversation | `name, kind?: channel, private, im, mpim, title?, team?, state?: open, archived, left, joined, renamed, gone, roles?: {NAME: member, left}` | `chat` |
//! | POST app | `name, bot_tokens?, app_token?, signing_secret?, teams?, enterprise?, scopes?, commands?` | `app, signing_secret, installs` |
//! | POST events | `url?, commands_url?, interactivity_url?, signing_secret?, app?`; without a URL, sockets again | `signing_secret` once the URL proved itself |
//! | POST fault | `kind: rate_limit, error, drop, delay, duplicate, disconnect, close, cut, silence, refuse_markup, conflict`, `error?` names the answer, `reason?` that of a disconnect | |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::people::{
    Command, Conversation, Edit, Events, Open, Press, Raw, React, Refused, Remove, Say, Shortcut, Submit,
};
use super::{Fault, NewApp, Slack};
use crate::control::{read, reply};

/// What people do, below `/control/slack`.
pub fn control(slack: Arc<Slack>) -> Router {
    Router::new()
        .route("/say", post(say))
        .route("/command", post(command))
        .route("/press", post(press))
        .route("/submit", post(submit))
        .route("/react", post(react))
        .route("/shortcut", post(shortcut))
        .route("/open", post(open))
        .route("/edit", post(edit))
        .route("/remove", post(remove))
        .route("/raw", post(raw))
        .route("/conversation", post(conversation))
        .route("/app", post(app))
        .route("/events", post(events))
        .route("/fault", post(fault).delete(clear))
        .route("/limits", get(limits).post(set_limits))
        .route("/transcript", get(transcript))
        .route("/transcript/events", get(stream_entries))
        .route("/stats", get(stats))
        .route("/conversations", get(conversations))
        .route("/menu", get(menu))
        .route("/file", get(file))
        .with_state(slack)
}

type Shared = State<Arc<Slack>>;

async fn say(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Say>(&body).and_then(|say| slack.say(say)))
}

async fn command(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Command>(&body).and_then(|command| slack.command(command)))
}

async fn press(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Press>(&body).and_then(|press| slack.press(&press)))
}

async fn submit(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Submit>(&body).and_then(|submit| slack.submit(&submit)))
}

async fn react(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<React>(&body).and_then(|react| slack.react(&react)))
}

async fn shortcut(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Shortcut>(&body).and_then(|shortcut| slack.shortcut(&shortcut)))
}

async fn open(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Open>(&body).and_then(|open| slack.open(&open)))
}

async fn edit(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Edit>(&body).and_then(|edit| slack.edit(&edit)))
}

async fn remove(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Remove>(&body).and_then(|wanted| slack.remove(&wanted)).map(|()| json!({"ok": true})))
}

async fn raw(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Raw>(&body).and_then(|raw| slack.raw(raw)).map(|update| json!({"update": update})))
}

async fn conversation(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Conversation>(&body).and_then(|wanted| slack.conversation(&wanted)).map(|chat| json!({"chat": chat})))
}

async fn app(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<NewApp>(&body).and_then(|app| slack.app(app)))
}

async fn events(State(slack): Shared, body: Bytes) -> Response {
    match read::<Events>(&body) {
        Ok(events) => reply(slack.set_events(events).await.map(|secret| json!({"signing_secret": secret}))),
        Err(refused) => reply::<Value>(Err(refused)),
    }
}

async fn fault(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Fault>(&body).and_then(|fault| slack.fault(fault)).map(|()| json!({"ok": true})))
}

async fn clear(State(slack): Shared) -> Response {
    slack.clear_faults();
    reply(Ok(json!({"ok": true})))
}

async fn limits(State(slack): Shared) -> Response {
    reply(Ok(slack.limits()))
}

async fn set_limits(State(slack): Shared, body: Bytes) -> Response {
    reply(read::<Map<String, Value>>(&body).and_then(|wanted| {
        let mut merged = serde_json::to_value(slack.limits()).unwrap_or_default();
        wanted.into_iter().for_each(|(name, value)| merged[name] = value);
        let limits = serde_json::from_value(merged).map_err(|cause| Refused { status: 400, why: cause.to_string() })?;
        slack.set_limits(limits);
        Ok(slack.limits())
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

async fn transcript(State(slack): Shared, Query(wanted): Query<Wanted>) -> Response {
    let patience = Duration::try_from_secs_f64(wanted.wait.min(60.0)).unwrap_or_default();
    let new = slack.first(wanted.conversation.as_deref(), wanted.after, |_| true);
    // Without an entry in time the answer is an empty list.
    let _ = tokio::time::timeout(patience, new).await;
    let entries = slack.transcript(wanted.conversation.as_deref(), wanted.after);
    reply(Ok(json!({"entries": entries, "kept": super::transcript::KEPT})))
}

/// The entries as they come. A reader that was away names the last one it saw, in `after` or as `Last-Event-ID`.
async fn stream_entries(
    State(slack): Shared,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let start = (slack.updates(), seen.unwrap_or(wanted.after));
    let entries = stream::unfold(start, move |(mut updates, last)| {
        let (slack, conversation) = (slack.clone(), wanted.conversation.clone());
        async move {
            loop {
                updates.borrow_and_update();
                let new = slack.transcript(conversation.as_deref(), last);
                if let Some(newest) = new.last().map(|entry| entry.n) {
                    return Some((new, (updates, newest)));
                }
                tokio::select! {
                    changed = updates.changed() => changed.ok()?,
                    () = slack.stopped() => return None,
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

async fn stats(State(slack): Shared) -> Response {
    let stats = slack.stats();
    let total: u64 = stats.requests.values().sum();
    let mut out = serde_json::to_value(&stats).unwrap_or_default();
    out["methods"] = out["requests"].take();
    out["requests"] = json!(total);
    reply(Ok(out))
}

async fn conversations(State(slack): Shared) -> Response {
    reply(Ok(json!({"conversations": slack.conversations()})))
}

/// Whose menu is wanted.
#[derive(Deserialize)]
struct Place {
    conversation: String,
}

async fn menu(State(slack): Shared, Query(place): Query<Place>) -> Response {
    reply(slack.menu(&place.conversation).map(|commands| json!({"commands": commands})))
}

/// Which file is wanted, by the id that an entry gives.
#[derive(Deserialize)]
struct FileWanted {
    id: String,
}

async fn file(State(slack): Shared, Query(wanted): Query<FileWanted>) -> Response {
    let Some((mime, bytes)) = slack.file_by_id(&wanted.id) else {
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
