//! The verbs that every platform has on its control side, and how those of its own are answered.

use std::convert::Infallible;
use std::future::ready;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::platform::{Platform, World};
use crate::refused::{Outcome, Refused, refused};
use crate::transcript::KEPT;

/// Faults, limits, transcript, statistics, conversations and files.
pub fn common<P, W>() -> Router<Arc<P>>
where
    P: Deref<Target = Platform<W>> + Send + Sync + 'static,
    W: World,
{
    Router::new()
        .route("/fault", verb(|it: &P, fault| done(it.fault(fault))).delete(clear::<P, W>))
        .route("/limits", get(limits::<P, W>).post(set_limits::<P, W>))
        .route("/transcript", get(transcript::<P, W>))
        .route("/transcript/events", get(events::<P, W>))
        .route("/stats", get(stats::<P, W>))
        .route("/conversations", get(conversations::<P, W>))
        .route("/file", get(file::<P, W>))
}

/// A verb that reads a body of JSON and answers with one.
pub fn verb<P, T, R>(act: impl Fn(&P, T) -> Outcome<R> + Clone + Send + Sync + 'static) -> MethodRouter<Arc<P>>
where
    P: Send + Sync + 'static,
    T: DeserializeOwned + 'static,
    R: Serialize + 'static,
{
    post(move |State(it): State<Arc<P>>, body: Bytes| ready(reply(read(&body).and_then(|asked| act(&it, asked)))))
}

/// What is answered when something was done and there is no more to say.
pub fn done(outcome: Outcome<()>) -> Outcome<Value> {
    outcome.map(|()| json!({"ok": true}))
}

/// Reads a body of JSON.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Outcome<T> {
    serde_json::from_slice(body).map_err(|cause| Refused { status: 400, why: cause.to_string() })
}

pub fn reply<T: Serialize>(outcome: Outcome<T>) -> Response {
    match outcome {
        Ok(value) => Json(value).into_response(),
        Err(refused) => {
            let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, Json(json!({"error": refused.why}))).into_response()
        }
    }
}

/// Whose menu is wanted, in which language.
#[derive(Deserialize)]
pub struct MenuWanted {
    pub conversation: String,
    #[serde(default)]
    pub language: String,
}

async fn clear<P: Deref<Target = Platform<W>>, W: World>(State(it): State<Arc<P>>) -> Response {
    it.clear_faults();
    reply(done(Ok(())))
}

async fn limits<P: Deref<Target = Platform<W>>, W: World>(State(it): State<Arc<P>>) -> Response {
    reply(Ok(it.limits()))
}

/// Changes the limits that are named and leaves the others.
async fn set_limits<P: Deref<Target = Platform<W>>, W: World>(State(it): State<Arc<P>>, body: Bytes) -> Response {
    reply(read::<Map<String, Value>>(&body).and_then(|wanted| {
        let mut merged = serde_json::to_value(it.limits()).unwrap_or_default();
        wanted.into_iter().for_each(|(name, value)| merged[name] = value);
        let limits = serde_json::from_value(merged).map_err(|cause| Refused { status: 400, why: cause.to_string() })?;
        it.set_limits(limits);
        Ok(it.limits())
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

async fn transcript<P: Deref<Target = Platform<W>>, W: World>(
    State(it): State<Arc<P>>,
    Query(wanted): Query<Wanted>,
) -> Response {
    let patience = Duration::try_from_secs_f64(wanted.wait.min(60.0)).unwrap_or_default();
    let new = it.first(wanted.conversation.as_deref(), wanted.after, |_| true);
    // Without an entry in time the answer is an empty list.
    let _ = tokio::time::timeout(patience, new).await;
    let entries = it.transcript(wanted.conversation.as_deref(), wanted.after);
    reply(Ok(json!({"entries": entries, "kept": KEPT})))
}

/// The entries as they come. A reader that was away names the last one it saw, in `after` or as `Last-Event-ID`.
async fn events<P, W>(
    State(it): State<Arc<P>>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>>
where
    P: Deref<Target = Platform<W>> + Send + Sync + 'static,
    W: World,
{
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let start = (it.updates(), seen.unwrap_or(wanted.after));
    let entries = stream::unfold(start, move |(mut updates, last)| {
        let (it, conversation) = (it.clone(), wanted.conversation.clone());
        async move {
            loop {
                updates.borrow_and_update();
                let new = it.transcript(conversation.as_deref(), last);
                if let Some(newest) = new.last().map(|entry| entry.n) {
                    return Some((new, (updates, newest)));
                }
                it.moved(&mut updates).await?;
            }
        }
    });
    let events = entries.flat_map(stream::iter).map(|entry| {
        let data = serde_json::to_string(&entry).unwrap_or_default();
        Ok(Event::default().event("entry").id(entry.n.to_string()).data(data))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn stats<P: Deref<Target = Platform<W>>, W: World>(State(it): State<Arc<P>>) -> Response {
    let stats = it.stats();
    let total: u64 = stats.requests.values().sum();
    let mut out = serde_json::to_value(&stats).unwrap_or_default();
    out["methods"] = out["requests"].take();
    out["requests"] = json!(total);
    reply(Ok(out))
}

async fn conversations<P: Deref<Target = Platform<W>>, W: World>(State(it): State<Arc<P>>) -> Response {
    reply(Ok(json!({"conversations": it.conversations()})))
}

/// Which file is wanted, by the id that an entry gives.
#[derive(Deserialize)]
struct FileWanted {
    id: String,
}

async fn file<P: Deref<Target = Platform<W>>, W: World>(
    State(it): State<Arc<P>>,
    Query(wanted): Query<FileWanted>,
) -> Response {
    let Some((mime, bytes)) = it.file_by_id(&wanted.id) else {
        return reply::<()>(refused(404, "no such file"));
    };
    // A bot's file is not to run as a page of this origin.
    let plain = HeaderValue::from_static("application/octet-stream");
    let mime = HeaderValue::from_str(&mime)
        .ok()
        .filter(|_| mime.starts_with("image/") && !mime.contains("svg"))
        .unwrap_or(plain);
    ([(CONTENT_TYPE, mime), (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))], bytes).into_response()
}
