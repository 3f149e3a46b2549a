//! Services that misbehave on purpose.

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::{Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;

use super::{Shared, draw};

const REPORT_TAKES: Duration = Duration::from_secs(3);
const DRIP_EVERY: Duration = Duration::from_millis(500);
/// What careless services put into an error page; none of it may reach a chat.
const STACK: &str = "Traceback (most recent call last):\n  File \"/srv/quotes/engine.py\", line 214, in quote\n    \
                     raise FeedDown(\"feed-3.internal\", token=\"sk_live_51Hq\")\nFeedDown: feed-3.internal";

#[derive(Deserialize)]
pub(super) struct Report {
    #[serde(default = "sales")]
    name: String,
}

#[derive(Deserialize)]
pub(super) struct Quote {
    #[serde(default = "acme")]
    symbol: String,
}

fn sales() -> String {
    "sales".into()
}

fn acme() -> String {
    "ACME".into()
}

pub(super) async fn report(State(shared): State<Shared>, Json(report): Json<Report>) -> Response {
    let count = shared.count("report");
    tokio::select! {
        () = tokio::time::sleep(REPORT_TAKES) => {}
        () = shared.end.cancelled() => {}
    }
    let rows = 100 + draw(&report.name, 0) % 900;
    Json(json!({ "report": report.name, "rows": rows, "number": count, "state": "ready" })).into_response()
}

pub(super) async fn quote(State(shared): State<Shared>, Query(quote): Query<Quote>) -> Response {
    if shared.count("quote").is_multiple_of(2) {
        return (StatusCode::INTERNAL_SERVER_ERROR, STACK).into_response();
    }
    let symbol = quote.symbol.to_uppercase();
    let price = f64::from(1_000 + draw(&symbol, 0) % 90_000) / 100.0;
    Json(json!({ "symbol": symbol, "price": price, "currency": "USD" })).into_response()
}

pub(super) async fn hang(State(shared): State<Shared>) -> Response {
    shared.count("hang");
    shared.end.cancelled().await;
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

/// Begins a JSON text at once and never comes to its end: only a deadline over the whole answer helps.
pub(super) async fn drip(State(shared): State<Shared>) -> Response {
    shared.count("drip");
    let end = shared.end.clone();
    let drops = stream::unfold((end, 0_u64), |(end, n)| async move {
        let drop = if n == 0 { Bytes::from_static(b"[") } else { Bytes::from_static(b" ") };
        tokio::select! {
            () = tokio::time::sleep(DRIP_EVERY) => Some((Ok::<_, Infallible>(drop), (end, n + 1))),
            () = end.cancelled() => None,
        }
    });
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(drops)).into_response()
}
