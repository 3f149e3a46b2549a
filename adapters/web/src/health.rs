//! Whether the process lives, and whether it can take messages.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use contract::{TurnId, seams::Condition};
use dispatch::AuditHealth;
use serde_json::{Value, json};

use crate::{gate::Who, routes::App};

/// What the binary adds to the conditions: names and how they fare.
pub type Conditions = Arc<dyn Fn() -> Vec<(String, Condition)> + Send + Sync>;

/// How long the store may take before it counts as away.
const STORE_TIME: Duration = Duration::from_secs(2);

pub async fn live() -> &'static str {
    "ok\n"
}

/// 200 when the store answers, partitions are held and nothing is stopped; 503 otherwise.
pub async fn ready(State(app): State<Arc<App>>, Extension(who): Extension<Who>) -> Response {
    let conditions = conditions(&app).await;
    let needed = |(name, condition): &(String, Condition)| match condition {
        Condition::Ready => true,
        Condition::Degraded(_) => name != "store" && name != "work",
        Condition::Stopped(_) => false,
    };
    let is_ready = conditions.iter().all(needed);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let shown: Vec<_> = conditions.iter().map(|c| shown(c, who.is_operator())).collect();
    (status, Json(json!({ "ready": is_ready, "conditions": shown }))).into_response()
}

/// The gateway's own parts first. Where somebody else tells of a part of the same name too, trouble wins.
async fn conditions(app: &App) -> Vec<(String, Condition)> {
    let mut all = vec![("store".to_owned(), store(app).await), ("work".to_owned(), work(app))];
    all.push(("traces".to_owned(), traces(app)));
    all.extend(app.gateway.audit_health().iter().map(trail));
    for (name, condition) in app.gateway.health().all().into_iter().chain((app.conditions)()) {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == Condition::Ready => *known = condition,
            Some(_) => {}
            None => all.push((name, condition)),
        }
    }
    all
}

async fn store(app: &App) -> Condition {
    let asked = tokio::time::timeout(STORE_TIME, app.gateway.record(TurnId::new())).await;
    match asked {
        Ok(Ok(_)) => Condition::Ready,
        Ok(Err(down)) => Condition::Degraded(down.to_string()),
        Err(_) => Condition::Degraded("the store does not answer in time".into()),
    }
}

fn work(app: &App) -> Condition {
    match app.gateway.partitions_held() {
        0 => Condition::Degraded("no partition is held, so nothing is run here yet".into()),
        _ => Condition::Ready,
    }
}

fn traces(app: &App) -> Condition {
    let health = app.gateway.trace_health();
    match (health.waiting, health.dropped) {
        (0, 0) => Condition::Ready,
        (waiting, dropped) => Condition::Degraded(format!("{waiting} records wait, {dropped} were lost")),
    }
}

fn trail(health: &AuditHealth) -> (String, Condition) {
    let condition = match (health.waiting, health.lost, health.is_full) {
        (_, 0, false) => Condition::Ready,
        (waiting, lost, _) => Condition::Degraded(format!("{waiting} events wait, {lost} were lost")),
    };
    (format!("audit:{}", health.name), condition)
}

/// Sentences and names of conversations are for operators; anybody may know which part is not well.
fn shown((name, condition): &(String, Condition), with_words: bool) -> Value {
    let name = if with_words { name } else { name.split(':').next().unwrap_or_default() };
    let (state, words) = match condition {
        Condition::Ready => ("ready", None),
        Condition::Degraded(words) => ("degraded", Some(words)),
        Condition::Stopped(words) => ("stopped", Some(words)),
    };
    let mut out = json!({ "part": name, "state": state });
    if let Some(words) = words.filter(|_| with_words) {
        out["says"] = json!(words);
    }
    out
}
