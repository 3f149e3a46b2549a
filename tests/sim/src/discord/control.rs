//! The control side of this platform; the verbs and shapes are those of the others.
//!
//! | verb | body or query | answer |
//! |---|---|---|
//! | POST say | `conversation, user, text, thread?, reply_to?, files?, mention?, language_code?, bot?, webhook?, stickers?, forward?, voice?, system?` | `message, chat` |
//! | POST command | `conversation, user, name` (with sub-commands behind blanks)`, args?` (by option)`, thread?, language_code?` | `interaction, chat` |
//! | POST autocomplete | `conversation, user, name, field, typed, args?` | `interaction, choices` |
//! | POST press | `conversation, user, message, button` (id or text)`, values?` (of a menu) | `interaction, chat` |
//! | POST submit | `conversation, user, interaction?, values` (by the field's id or label) | `interaction, chat` |
//! | POST edit, react, typing, remove | as their names say | |
//! | POST raw | `event`: `{t, d}` for sessions, or a frame with an `op` | `update` |
//! | POST conversation | `name, kind?: private, text, announcement, forum, title?, state?: open, blocked, kicked, gone, archived, locked, removed, outage, guild?, thread?, roles?` | `chat` |
//! | POST fault | `kind, count?, seconds?, status?, code?, description?, method?, when?, conversation?, past?, global?, shared?, resumable?, body?`; DELETE takes all back | |
//! | POST intents | `content?, members?, presences?`: what is switched on in the portal; `privacy` with `on` is the first, turned round | |
//! | GET, POST limits · GET transcript, transcript/events, conversations, menu, file, stats | as on the other platforms | |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::people::{Intents, Outcome, Raw, Refused};
use super::{Discord, transcript};

type Shared = State<Arc<Discord>>;

/// What people do, below `/control/discord`.
pub fn control(discord: Arc<Discord>) -> Router {
    Router::new()
        .route("/say", post(async |State(it): Shared, body: Bytes| reply(read(&body).and_then(|say| it.say(say)))))
        .route(
            "/command",
            post(async |State(it): Shared, body: Bytes| reply(read(&body).and_then(|one| it.command(&one)))),
        )
        .route("/autocomplete", post(autocomplete))
        .route("/press", post(async |State(it): Shared, body: Bytes| reply(read(&body).and_then(|one| it.press(&one)))))
        .route(
            "/submit",
            post(async |State(it): Shared, body: Bytes| reply(read(&body).and_then(|one| it.submit(&one)))),
        )
        .route("/edit", post(async |State(it): Shared, body: Bytes| reply(read(&body).and_then(|one| it.edit(&one)))))
        .route("/react", post(async |State(it): Shared, body: Bytes| done(read(&body).and_then(|one| it.react(&one)))))
        .route(
            "/typing",
            post(async |State(it): Shared, body: Bytes| done(read(&body).and_then(|one| it.typing(&one)))),
        )
        .route(
            "/remove",
            post(async |State(it): Shared, body: Bytes| done(read(&body).and_then(|one| it.remove(&one)))),
        )
        .route("/raw", post(raw))
        .route("/conversation", post(conversation))
        .route("/fault", post(fault).delete(clear))
        .route("/limits", get(limits).post(set_limits))
        .route("/intents", post(intents))
        .route("/privacy", post(privacy))
        .route("/transcript", get(entries))
        .route("/transcript/events", get(events))
        .route("/stats", get(stats))
        .route("/conversations", get(conversations))
        .route("/menu", get(menu))
        .route("/file", get(file))
        .with_state(discord)
}

async fn autocomplete(State(discord): Shared, body: Bytes) -> Response {
    match read(&body) {
        Ok(typed) => reply(discord.autocomplete(&typed).await),
        Err(refused) => reply::<()>(Err(refused)),
    }
}

async fn raw(State(discord): Shared, body: Bytes) -> Response {
    reply(read::<Raw>(&body).and_then(|raw| discord.raw(raw.event)).map(|update| json!({"update": update})))
}

async fn conversation(State(discord): Shared, body: Bytes) -> Response {
    reply(read(&body).and_then(|wanted| discord.conversation(&wanted)).map(|chat| json!({"chat": chat})))
}

async fn fault(State(discord): Shared, body: Bytes) -> Response {
    done(read(&body).and_then(|fault| discord.fault(fault)))
}

async fn clear(State(discord): Shared) -> Response {
    discord.clear_faults();
    done(Ok(()))
}

async fn limits(State(discord): Shared) -> Response {
    reply(Ok(discord.limits()))
}

async fn set_limits(State(discord): Shared, body: Bytes) -> Response {
    reply(read::<Map<String, Value>>(&body).and_then(|wanted| {
        let mut merged = serde_json::to_value(discord.limits()).unwrap_or_default();
        wanted.into_iter().for_each(|(name, value)| merged[name] = value);
        let limits = serde_json::from_value(merged).map_err(|cause| Refused { status: 400, why: cause.to_string() })?;
        discord.set_limits(limits);
        Ok(discord.limits())
    }))
}

async fn intents(State(discord): Shared, body: Bytes) -> Response {
    done(read(&body).map(|wanted| discord.set_intents(wanted)))
}

#[derive(Deserialize)]
struct Privacy {
    on: bool,
}

async fn privacy(State(discord): Shared, body: Bytes) -> Response {
    done(read::<Privacy>(&body).map(|privacy| {
        discord.set_intents(Intents { content: Some(!privacy.on), ..Intents::default() });
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

async fn entries(State(discord): Shared, Query(wanted): Query<Wanted>) -> Response {
    let patience = Duration::try_from_secs_f64(wanted.wait.min(60.0)).unwrap_or_default();
    let new = discord.first(wanted.conversation.as_deref(), wanted.after, |_| true);
    // Without an entry in time the answer is an empty list.
    let _ = tokio::time::timeout(patience, new).await;
    let entries = discord.transcript(wanted.conversation.as_deref(), wanted.after);
    reply(Ok(json!({"entries": entries, "kept": transcript::KEPT})))
}

/// The entries as they come. A reader that was away names the last one it saw, in `after` or as `Last-Event-ID`.
async fn events(
    State(discord): Shared,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let start = (discord.updates(), seen.unwrap_or(wanted.after));
    let entries = stream::unfold(start, move |(mut updates, last)| {
        let (discord, conversation) = (discord.clone(), wanted.conversation.clone());
        async move {
            loop {
                updates.borrow_and_update();
                let new = discord.transcript(conversation.as_deref(), last);
                if let Some(newest) = new.last().map(|entry| entry.n) {
                    return Some((new, (updates, newest)));
                }
                tokio::select! {
                    changed = updates.changed() => changed.ok()?,
                    () = discord.pause(Duration::from_secs(1)) => {}
                }
                if discord.stop.is_cancelled() {
                    return None;
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

async fn stats(State(discord): Shared) -> Response {
    let stats = discord.stats();
    let total: u64 = stats.requests.values().sum();
    let mut out = serde_json::to_value(&stats).unwrap_or_default();
    out["methods"] = out["requests"].take();
    out["requests"] = json!(total);
    reply(Ok(out))
}

async fn conversations(State(discord): Shared) -> Response {
    reply(Ok(json!({"conversations": discord.conversations()})))
}

/// Whose menu is wanted.
#[derive(Deserialize)]
struct Place {
    conversation: String,
}

async fn menu(State(discord): Shared, Query(place): Query<Place>) -> Response {
    reply(discord.menu(&place.conversation).map(|commands| json!({"commands": commands})))
}

/// Which file is wanted, by the id that an entry gives.
#[derive(Deserialize)]
struct FileWanted {
    id: String,
}

async fn file(State(discord): Shared, Query(wanted): Query<FileWanted>) -> Response {
    let Some((mime, bytes)) = discord.file_by_id(&wanted.id) else {
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

fn read<T: DeserializeOwned>(body: &[u8]) -> Outcome<T> {
    serde_json::from_slice(body).map_err(|cause| Refused { status: 400, why: cause.to_string() })
}

fn done(outcome: Outcome<()>) -> Response {
    reply(outcome.map(|()| json!({"ok": true})))
}

fn reply<T: serde::Serialize>(outcome: Outcome<T>) -> Response {
    match outcome {
        Ok(value) => Json(value).into_response(),
        Err(refused) => {
            let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, Json(json!({"error": refused.why}))).into_response()
        }
    }
}
