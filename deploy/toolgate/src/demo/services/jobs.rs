//! Reports that are made in the background.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{Shared, draw};

const TAKES: Duration = Duration::from_secs(15);
/// Most reports that are remembered; the oldest is forgotten first.
const MOST: usize = 1_000;

/// Reports by their numbers.
#[derive(Default)]
pub(super) struct Jobs(Mutex<BTreeMap<u64, Job>>);

struct Job {
    name: String,
    since: Instant,
    cancelled: bool,
}

#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    name: String,
}

impl Jobs {
    fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<u64, Job>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) async fn begin(State(shared): State<Shared>, Json(asked): Json<Asked>) -> Response {
    let number = shared.count("jobs");
    shared.jobs.with(|jobs| {
        jobs.insert(number, Job { name: asked.name, since: Instant::now(), cancelled: false });
        if jobs.len() > MOST {
            jobs.pop_first();
        }
    });
    (StatusCode::ACCEPTED, Json(json!({ "job": number, "status": "running" }))).into_response()
}

pub(super) async fn stands(State(shared): State<Shared>, Path(number): Path<u64>) -> Response {
    let stands = shared.jobs.with(|jobs| {
        let job = jobs.get(&number)?;
        let percent = job.since.elapsed().as_millis() * 100 / TAKES.as_millis();
        Some(match (job.cancelled, percent) {
            (true, _) => json!({ "status": "cancelled" }),
            (false, 0..100) => json!({ "status": "running", "so_far": format!("{percent} %") }),
            (false, _) => {
                let rows = 10_000 + draw(&job.name, 0) % 90_000;
                json!({ "status": "done", "result": { "report": job.name, "rows": rows, "number": number } })
            }
        })
    });
    match stands {
        Some(stands) => Json(stands).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(super) async fn cancel(State(shared): State<Shared>, Path(number): Path<u64>) -> StatusCode {
    let known = shared.jobs.with(|jobs| jobs.get_mut(&number).map(|job| job.cancelled = true));
    if known.is_some() { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}
