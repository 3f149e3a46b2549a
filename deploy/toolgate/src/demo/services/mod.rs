//! Small web services on loopback for the demo tools: real HTTP, made-up data that is the same every time.
//!
//! | path | what it does |
//! |---|---|
//! | `GET /weather?city=&days=` | a forecast; an unknown place such as `Atlantis` is a 404 |
//! | `POST /order/query`, `POST /order/refund` | orders `A-1` to `A-42`; refunds are only counted |
//! | `POST /order/cancel` | the order is cancelled until the services end |
//! | `GET /inventory/{sku}` | stock per warehouse |
//! | `GET /search?q=`, `GET /page?url=`, `POST /summary` | a library; a page never answers when its address has one of [`library::HANGING`] in it |
//! | `GET /mail?unread=&limit=` | today's mails in the shop's mailbox |
//! | `POST /report` | answers after three seconds |
//! | `POST /jobs`, `GET /jobs/ID`, `DELETE /jobs/ID` | a report that is made for a quarter of a minute |
//! | `GET /quote?symbol=` | every second request fails with 500 |
//! | `GET /sample?what=` | a text with everything that a message can hold, or one with more code than fits |
//! | `GET /hang` | never answers |
//! | `GET /drip` | sends a byte every 500 ms for ever |
//! | `GET /counters` | how often each of them began to work, `{"refund": 1, …}` |

mod jobs;
mod lab;
pub mod library;
mod mail;
mod sample;
mod shop;
mod weather;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// The running services. They end when this is dropped or stopped.
pub struct Services {
    address: SocketAddr,
    shared: Shared,
    server: JoinHandle<std::io::Result<()>>,
}

/// What every handler sees.
#[derive(Clone, Default)]
struct Shared {
    counters: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    /// Numbers of orders, of which there are few.
    cancelled: Arc<Mutex<BTreeSet<String>>>,
    jobs: Arc<jobs::Jobs>,
    /// Ends what never answers.
    end: CancellationToken,
}

impl Shared {
    /// Counts one more execution and tells which it is, from 1.
    fn count(&self, what: &'static str) -> u64 {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counters.entry(what).or_default();
        *count += 1;
        *count
    }

    /// False when it was cancelled before.
    fn cancel(&self, order: &str) -> bool {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).insert(order.to_owned())
    }

    /// An order with what has become of it since.
    fn as_it_stands(&self, mut order: Value) -> Value {
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        if order["order_id"].as_str().is_some_and(|id| cancelled.contains(id)) {
            order["status"] = json!("cancelled");
        }
        order
    }
}

impl Services {
    /// Starts on a free port of 127.0.0.1.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Shared::default();
        let server = axum::serve(listener, router(shared.clone()))
            .with_graceful_shutdown(shared.end.clone().cancelled_owned())
            .into_future();
        // Owned by the value returned here: `stop` awaits it, dropping it ends it.
        let server = tokio::spawn(server);
        Ok(Self { address, shared, server })
    }

    /// `http://127.0.0.1:PORT`, to be put in front of a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often each service began to work.
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the services and what still hangs in them.
    pub async fn stop(mut self) {
        self.shared.end.cancel();
        // The server has nothing to tell at its end: it was asked to.
        let _ = (&mut self.server).await;
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.shared.end.cancel();
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/weather", get(weather::forecast))
        .route("/order/query", post(shop::query))
        .route("/order/refund", post(shop::refund))
        .route("/order/cancel", post(shop::cancel))
        .route("/inventory/{sku}", get(shop::inventory))
        .route("/search", get(library::search))
        .route("/page", get(library::page))
        .route("/summary", post(library::summary))
        .route("/mail", get(mail::inbox))
        .route("/report", post(lab::report))
        .route("/jobs", post(jobs::begin))
        .route("/jobs/{id}", get(jobs::stands).delete(jobs::cancel))
        .route("/quote", get(lab::quote))
        .route("/sample", get(sample::sample))
        .route("/hang", get(lab::hang))
        .route("/drip", get(lab::drip))
        .route("/counters", get(counters))
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(shared)
}

async fn counters(State(shared): State<Shared>) -> Json<Value> {
    let counters = shared.counters.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Json(json!(counters))
}

/// A refusal as such services give it.
fn refuse(status: StatusCode, message: impl Into<String>) -> Response {
    (status, Json(json!({ "error": message.into() }))).into_response()
}

/// A number that depends on the words alone: the same data at every start.
fn draw(words: &str, salt: u32) -> u32 {
    let hash = words
        .bytes()
        .chain(salt.to_le_bytes())
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests;
