//! The playground page over canned data, to work on its looks: `cargo run -p toolgate --example playground`.
//!
//! What is sent shows up in the chat and is answered by an echo; calls and older messages stand in the two JSON files.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
    routing::{get, post},
};
use futures_util::{Stream, StreamExt};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use toolgate::demo::page::Playground;

#[derive(Clone)]
struct Canned {
    traces: Arc<Vec<Value>>,
    entries: Arc<Mutex<Vec<Value>>>,
    live: broadcast::Sender<Value>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let traces: Vec<Value> = serde_json::from_str(include_str!("traces.json")).expect("the file is a list");
    let entries: Vec<Value> = serde_json::from_str(include_str!("transcript.json")).expect("the file is a list");
    let canned = Canned {
        traces: Arc::new(traces.into_iter().map(recent).collect()),
        entries: Arc::new(Mutex::new(entries)),
        live: broadcast::channel(64).0,
    };
    let app = Router::new()
        .route("/v1/traces", get(list))
        .route("/v1/traces/{turn}", get(one))
        .route("/v1/traces/{turn}/events", get(nothing))
        .route("/v1/tools", get(tools))
        .route("/control/telegram/transcript", get(transcript))
        .route("/control/telegram/transcript/events", get(events))
        .route("/control/telegram/say", post(say))
        .route("/control/telegram/press", post(press))
        .with_state(canned)
        .merge(page().routes());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 8790)).await?;
    eprintln!("http://{}/playground", listener.local_addr()?);
    axum::serve(listener, app).await
}

/// With as many panes as `PANES` says, to see how several stand beside each other.
fn page() -> Playground {
    let mut page = Playground::new("");
    let panes = std::env::var("PANES").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let telegram = page.panes[0].clone();
    page.panes.resize(panes, telegram);
    page
}

/// Moves the times of a canned turn to now; in the file they count from the turn's start.
fn recent(mut turn: Value) -> Value {
    let now = jiff::Timestamp::now().as_microsecond() as u64;
    let start = now - turn["ago_s"].as_u64().unwrap_or_default() * 1_000_000;
    for node in turn["nodes"].as_array_mut().into_iter().flatten() {
        node["started_us"] = json!(start + node["started_us"].as_u64().unwrap_or_default());
    }
    turn
}

async fn list(State(canned): State<Canned>) -> Json<Value> {
    let row = |turn: &Value| {
        let root = &turn["nodes"][0];
        json!({ "turn": turn["turn"], "platform": turn["platform"], "sender": turn["sender"], "asked": root["args"], "state": root["state"],
                "layer": root["layer"], "code": root["code"], "started_us": root["started_us"], "duration_us": root["duration_us"] })
    };
    Json(json!({ "traces": canned.traces.iter().map(row).collect::<Vec<_>>() }))
}

async fn one(State(canned): State<Canned>, Path(turn): Path<String>) -> Response {
    match canned.traces.iter().find(|known| known["turn"] == turn) {
        Some(turn) => Json(turn).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn nothing() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(futures_util::stream::pending())
}

async fn tools() -> Json<Value> {
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description });
    Json(json!({ "tools": [
        tool("weather_query", "Forecast for a city, up to seven days ahead (天气预报)"),
        tool("order_query", "Look up an order by its number or the beginning of it"),
        tool("inventory_check", "How many of an article are in stock, by warehouse"),
        tool("research", "Search a topic, read what was found and sum it up"),
        tool("sleep", "Waits inside the gateway for some milliseconds"),
    ] }))
}

async fn transcript(State(canned): State<Canned>) -> Json<Value> {
    Json(json!({ "entries": *canned.entries.lock().unwrap_or_else(PoisonError::into_inner) }))
}

async fn events(State(canned): State<Canned>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let entries = BroadcastStream::new(canned.live.subscribe()).filter_map(|entry| async { entry.ok() });
    Sse::new(entries.map(|entry| Ok(Event::default().event("entry").data(entry.to_string()))))
}

async fn say(State(canned): State<Canned>, Json(said): Json<Value>) -> Json<Value> {
    canned.add(json!({ "by": "user", "user": said["user"], "conversation": said["conversation"], "kind": "message", "text": said["text"], "reply_to": said["reply_to"] }));
    canned.add(json!({ "by": "bot", "conversation": said["conversation"], "kind": "message", "text": format!("You said: {}", said["text"].as_str().unwrap_or_default()) }));
    Json(json!({ "ok": true }))
}

async fn press(State(canned): State<Canned>, Json(pressed): Json<Value>) -> Json<Value> {
    canned.add(json!({ "by": "bot", "conversation": pressed["conversation"], "kind": "private", "message": pressed["message"], "to": pressed["user"], "text": "Stopping…" }));
    Json(json!({ "ok": true }))
}

impl Canned {
    fn add(&self, mut entry: Value) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let n = entries.len() + 1;
        entry["n"] = json!(n);
        entry["at"] = json!(jiff::Timestamp::now().as_millisecond());
        if entry["message"].is_null() {
            entry["message"] = json!(n + 100);
        }
        entries.push(entry.clone());
        // Nobody may be listening.
        let _ = self.live.send(entry);
    }
}
