//! A service that tools call: it counts, and answers when the test lets it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Json, Response},
    routing::any,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// The service, in the test's hand.
pub struct Service {
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Requests>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Requests {
    counts: BTreeMap<(String, String), u32>,
    held: BTreeSet<String>,
    takes: Duration,
    answers: BTreeMap<String, (u16, Value)>,
}

impl Service {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let shared = Arc::new(Shared::default());
        let app = Router::new().route("/{what}", any(serve)).with_state(shared.clone());
        let server = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("the service runs as long as the test");
        });
        Self { url, shared, server }
    }

    /// Requests of a kind are counted and then wait until they are let go.
    pub fn hold(&self, what: &str) {
        self.shared.change(|state| state.held.insert(what.to_owned()));
    }

    pub fn let_go(&self, what: &str) {
        self.shared.change(|state| state.held.remove(what));
    }

    /// From now on a kind of request is answered like this.
    pub fn answers(&self, what: &str, status: u16, body: Value) {
        self.shared.change(|state| state.answers.insert(what.to_owned(), (status, body)));
    }

    /// From now on a request takes so long.
    pub fn takes(&self, time: Duration) {
        self.shared.change(|state| state.takes = time);
    }

    /// How often something was asked for.
    pub fn count(&self, what: &str, tag: &str) -> u32 {
        self.shared.lock().counts.get(&(what.to_owned(), tag.to_owned())).copied().unwrap_or_default()
    }

    /// Waits until something was asked for so often.
    pub async fn asked(&self, what: &str, tag: &str, times: u32) {
        let waiting = async {
            let mut changed = self.shared.changed.subscribe();
            while self.count(what, tag) < times {
                changed.changed().await.expect("the service lives");
            }
        };
        let patience = Duration::from_secs(30);
        if tokio::time::timeout(patience, waiting).await.is_err() {
            panic!("'{what}' was asked for '{tag}' {} times, not {times}", self.count(what, tag));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Requests> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Requests) -> T) -> T {
        let out = change(&mut self.lock());
        self.changed.send_modify(|n| *n += 1);
        out
    }

    async fn let_through(&self, what: &str) {
        let mut changed = self.changed.subscribe();
        while self.lock().held.contains(what) && changed.changed().await.is_ok() {}
    }
}

async fn serve(
    State(shared): State<Arc<Shared>>,
    Path(what): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let tag = body["tag"].as_str().or(query.get("tag").map(String::as_str)).unwrap_or_default().to_owned();
    shared.change(|state| *state.counts.entry((what.clone(), tag.clone())).or_default() += 1);
    let takes = shared.lock().takes;
    tokio::time::sleep(takes).await;
    shared.let_through(&what).await;
    let told = shared.lock().answers.get(&what).cloned();
    if let Some((status, body)) = told {
        let status = StatusCode::from_u16(status).expect("a status of the test's");
        return (status, Json(body)).into_response();
    }
    match what.as_str() {
        "fail" => (StatusCode::INTERNAL_SERVER_ERROR, "it broke").into_response(),
        "drip" => Response::new(Body::from_stream(futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
        }))),
        "long" => Json(json!(long_text(&tag))).into_response(),
        _ => Json(json!({ "tag": tag, "done": what })).into_response(),
    }
}

/// Numbered lines for a reply of three messages.
pub fn long_text(tag: &str) -> String {
    (0..200).map(|n| format!("line {n:03} of {tag}: forty more characters to fill it")).collect::<Vec<_>>().join("\n")
}
