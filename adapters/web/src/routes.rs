//! The table of contents of the API.

use std::sync::Arc;

use axum::{
    Router,
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::{delete, get, post, put},
};
use dispatch::Gateway;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::catch_panic::CatchPanicLayer;

use crate::{
    approvals, chat,
    gate::{self, Gate},
    health::{self, Conditions},
    messages, metrics, openapi, page, pairings,
    pictures::Pictures,
    policies,
    problem::Problem,
    schedules, sessions, stats,
    tools::{self, lifecycle},
    traces,
};

/// Method and path of every route.
pub const ROUTES: &[(&str, &str)] = &[
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("get", "/metrics"),
    ("post", "/v1/messages"),
    ("get", "/v1/messages/{reference}"),
    ("post", "/v1/chat/completions"),
    ("get", "/v1/models"),
    ("get", "/v1/tools"),
    ("post", "/v1/tools"),
    ("get", "/v1/tools/{name}"),
    ("delete", "/v1/tools/{name}"),
    ("post", "/v1/tools/{name}/invoke"),
    ("post", "/v1/tools/{name}/publish"),
    ("post", "/v1/tools/{name}/deprecate"),
    ("post", "/v1/tools/{name}/rollback"),
    ("post", "/v1/tools/{name}/cache-invalidate"),
    ("get", "/v1/tools/{name}/history"),
    ("get", "/v1/traces"),
    ("get", "/v1/traces/{reference}"),
    ("get", "/v1/traces/{reference}/events"),
    ("get", "/v1/stats"),
    ("get", "/v1/audit"),
    ("get", "/v1/policies"),
    ("get", "/v1/policies/explain"),
    ("get", "/v1/approvals"),
    ("get", "/v1/approvals/{id}"),
    ("post", "/v1/approvals/{id}"),
    ("get", "/v1/schedules"),
    ("post", "/v1/schedules"),
    ("get", "/v1/schedules/{id}"),
    ("delete", "/v1/schedules/{id}"),
    ("post", "/v1/schedules/{id}/pause"),
    ("post", "/v1/schedules/{id}/resume"),
    ("post", "/v1/schedules/{id}/run"),
    ("get", "/v1/pairings"),
    ("post", "/v1/pairings/{code}/approve"),
    ("delete", "/v1/pairings/{platform}/{account}/{sender}"),
    ("get", "/v1/sessions"),
    ("get", "/v1/sessions/{key}"),
    ("delete", "/v1/sessions/{key}"),
    ("put", "/v1/sessions/{key}/tools"),
    ("delete", "/v1/sessions/{key}/tools"),
    ("post", "/v1/forget"),
    ("get", "/v1/openapi.json"),
];

/// Most calls and acceptances that run at once.
const AT_ONCE: usize = 512;
/// Most bodies of more than 1 MiB that are read at once.
const LARGE_BODIES: usize = 8;

/// What the routes work with.
pub struct App {
    pub gateway: Gateway,
    pub conditions: Conditions,
    pub shutdown: CancellationToken,
    /// What was begun for a client goes on when the client leaves; it is waited for at the end.
    pub tasks: TaskTracker,
    pub places: Arc<Semaphore>,
    /// Places for bodies with pictures in them.
    pub large_bodies: Arc<Semaphore>,
    pub pictures: Arc<Pictures>,
}

impl App {
    pub fn new(gateway: Gateway, conditions: Conditions, shutdown: CancellationToken) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let pictures = Arc::new(Pictures::default());
        gateway.brings_files(pictures.clone());
        let large_bodies = Arc::new(Semaphore::new(LARGE_BODIES));
        Self { gateway, conditions, shutdown, tasks: TaskTracker::new(), places, large_bodies, pictures }
    }

    /// Runs work to its end even when the client goes away in the middle: dropped half-way, a stored message would
    /// wait for the next start, and a call would have no end in its tree.
    pub async fn see_through<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return Err(Problem::busy("too many requests are under way already"));
        };
        let running = self.tasks.spawn(async move {
            let done = work.await;
            drop(place);
            done
        });
        running.await.map_err(|error| Problem::internal(error.to_string()))
    }
}

pub fn router(app: Arc<App>, gate: Arc<Gate>, pages: Option<Router>, hooks: Option<Router>) -> Router {
    let api = Router::new()
        .route("/healthz", get(health::live).fallback(only_get))
        .route("/readyz", get(health::ready).fallback(only_get))
        .route("/metrics", get(metrics::metrics).fallback(only_get))
        .route("/v1/messages", post(messages::post).fallback(only_post))
        .route("/v1/messages/{reference}", get(messages::get).fallback(only_get))
        .route("/v1/chat/completions", post(chat::complete).fallback(only_post))
        .route("/v1/models", get(chat::models).fallback(only_get))
        .route("/v1/tools", get(tools::list).post(lifecycle::add).fallback(get_or_post))
        .route("/v1/tools/{name}", get(lifecycle::show).delete(lifecycle::remove).fallback(get_or_delete))
        .route("/v1/tools/{name}/publish", post(lifecycle::publish).fallback(only_post))
        .route("/v1/tools/{name}/deprecate", post(lifecycle::deprecate).fallback(only_post))
        .route("/v1/tools/{name}/rollback", post(lifecycle::rollback).fallback(only_post))
        .route("/v1/tools/{name}/cache-invalidate", post(lifecycle::cache_invalidate).fallback(only_post))
        .route("/v1/tools/{name}/history", get(lifecycle::history).fallback(only_get))
        .route("/v1/tools/{name}/invoke", post(tools::invoke).fallback(only_post))
        .route("/v1/traces", get(traces::list).fallback(only_get))
        .route("/v1/traces/{reference}", get(traces::show).fallback(only_get))
        .route("/v1/traces/{reference}/events", get(traces::events).fallback(only_get))
        .route("/v1/stats", get(stats::stats).fallback(only_get))
        .route("/v1/audit", get(stats::audit).fallback(only_get))
        .route("/v1/policies", get(policies::list).fallback(only_get))
        .route("/v1/policies/explain", get(policies::explain).fallback(only_get))
        .route("/v1/approvals", get(approvals::list).fallback(only_get))
        .route("/v1/approvals/{id}", get(approvals::show).post(approvals::answer).fallback(get_or_post))
        .route("/v1/schedules", get(schedules::list).post(schedules::add).fallback(get_or_post))
        .route("/v1/schedules/{id}", get(schedules::show).delete(schedules::remove).fallback(get_or_delete))
        .route("/v1/schedules/{id}/pause", post(schedules::pause).fallback(only_post))
        .route("/v1/schedules/{id}/resume", post(schedules::resume).fallback(only_post))
        .route("/v1/schedules/{id}/run", post(schedules::run).fallback(only_post))
        .route("/v1/pairings", get(pairings::list).fallback(only_get))
        .route("/v1/pairings/{code}/approve", post(pairings::approve).fallback(only_post))
        .route("/v1/pairings/{platform}/{account}/{sender}", delete(pairings::remove).fallback(only_delete))
        .route("/v1/sessions", get(sessions::list).fallback(only_get))
        .route("/v1/sessions/{key}", get(sessions::show).delete(sessions::reset).fallback(get_or_delete))
        .route("/v1/sessions/{key}/tools", put(sessions::mount).delete(sessions::unmount).fallback(put_or_delete))
        .route("/v1/forget", post(sessions::forget).fallback(only_post))
        .route("/v1/openapi.json", get(openapi::document).fallback(only_get))
        .fallback(nothing)
        .with_state(app);
    let all = match pages {
        Some(pages) => api.merge(pages),
        None => api,
    };
    let guarded = all.merge(page::routes()).layer(middleware::from_fn_with_state(gate, gate::guard));
    let all = match hooks {
        Some(hooks) => guarded.nest("/hooks", hooks.fallback(no_hook)),
        None => guarded,
    };
    all.layer(CatchPanicLayer::custom(caught))
}

async fn get_or_post() -> Problem {
    Problem::wrong_method("GET, POST")
}

async fn only_get() -> Problem {
    Problem::wrong_method("GET")
}

async fn only_post() -> Problem {
    Problem::wrong_method("POST")
}

async fn only_delete() -> Problem {
    Problem::wrong_method("DELETE")
}

async fn get_or_delete() -> Problem {
    Problem::wrong_method("GET, DELETE")
}

async fn put_or_delete() -> Problem {
    Problem::wrong_method("PUT, DELETE")
}

async fn no_hook() -> StatusCode {
    StatusCode::NOT_FOUND
}

async fn nothing() -> Problem {
    Problem::no_such_route()
}

/// A panic in a route: told without details.
fn caught(_panic: Box<dyn std::any::Any + Send>) -> Response {
    let problem = Problem::internal("a route panicked").into_response();
    debug_assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR);
    problem
}
