//! Orders, refunds, cancellations and stock.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shared, draw, refuse};

const PRODUCTS: &[(&str, &str, u32)] = &[
    ("TEA-100", "龙井茶 100 g (Longjing tea)", 1_290),
    ("TEA-250", "铁观音 250 g (Tieguanyin tea)", 2_450),
    ("POT-01", "紫砂壶 (Yixing teapot)", 18_900),
    ("CUP-06", "Set of six porcelain cups", 3_400),
    ("KETTLE-2", "Electric kettle, 1.7 l", 4_999),
    ("SCALE-1", "Kitchen scale, 0.1 g", 2_195),
    ("TIN-S", "Tea tin, small", 650),
    ("TOWEL-3", "Three linen towels", 1_850),
];
const STATUSES: &[&str] = &["pending", "paid", "shipped", "completed"];
const CUSTOMERS: &[&str] = &["M. Okafor", "L. Haugen", "陈思远", "R. Castellanos", "王雅琴", "P. Demir"];
const CARRIERS: &[&str] = &["SF Express 顺丰", "DHL", "Post"];
const WAREHOUSES: &[&str] = &["上海", "北京", "Rotterdam", "Memphis"];
/// Orders are `A-1` to `A-42`.
const ORDERS: u32 = 42;

#[derive(Deserialize)]
pub(super) struct Wanted {
    order_id: String,
    status: Option<String>,
    date_range: Option<Range>,
}

#[derive(Deserialize)]
struct Range {
    start: Option<String>,
    end: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Refund {
    order_id: String,
    amount: f64,
}

#[derive(Deserialize)]
pub(super) struct Cancel {
    order_id: String,
}

/// The order with this number, or the first whose number begins with it, and the numbers of the others.
pub(super) async fn query(State(shared): State<Shared>, Json(wanted): Json<Wanted>) -> Response {
    shared.count("order_query");
    let id = wanted.order_id.trim().to_uppercase();
    let all: Vec<_> = (1..=ORDERS)
        .map(|number| shared.as_it_stands(order(number)))
        .filter(|order| is_wanted(order, &wanted))
        .collect();
    let number = |order: &Value| order["order_id"].as_str().unwrap_or_default().to_owned();
    let mut found: Vec<_> = all.iter().filter(|order| number(order) == id).collect();
    if found.is_empty() && !id.is_empty() {
        found = all.iter().filter(|order| number(order).starts_with(&id)).collect();
    }
    let Some((first, others)) = found.split_first() else {
        return refuse(StatusCode::NOT_FOUND, format!("no order '{}' with these filters", wanted.order_id));
    };
    let mut answer = (*first).clone();
    if !others.is_empty() {
        answer["also_matching"] = others.iter().map(|order| order["order_id"].clone()).collect();
    }
    Json(answer).into_response()
}

/// Counts, and takes nothing back: the order is the same afterwards.
pub(super) async fn refund(State(shared): State<Shared>, Json(refund): Json<Refund>) -> Response {
    let count = shared.count("order_refund");
    let known = (1..=ORDERS).map(order).find(|order| order["order_id"] == refund.order_id.to_uppercase());
    let Some(order) = known else {
        return refuse(StatusCode::NOT_FOUND, format!("no order '{}'", refund.order_id));
    };
    if refund.amount > order["amount"].as_f64().unwrap_or_default() {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "the refund is larger than the order");
    }
    let id = format!("R-{:04}", 1_000 + count);
    Json(json!({ "refund_id": id, "order_id": order["order_id"], "amount": refund.amount, "state": "accepted" }))
        .into_response()
}

/// From then on the order is cancelled, for as long as the services run.
pub(super) async fn cancel(State(shared): State<Shared>, Json(cancel): Json<Cancel>) -> Response {
    shared.count("order_cancel");
    let id = cancel.order_id.trim().to_uppercase();
    if !(1..=ORDERS).any(|number| order(number)["order_id"] == id) {
        return refuse(StatusCode::NOT_FOUND, format!("no order '{}'", cancel.order_id));
    }
    let state = if shared.cancel(&id) { "cancelled" } else { "already cancelled" };
    Json(json!({ "order_id": id, "state": state })).into_response()
}

pub(super) async fn inventory(State(shared): State<Shared>, Path(sku): Path<String>) -> Response {
    shared.count("inventory");
    let sku = sku.to_uppercase();
    let Some((sku, name, _)) = PRODUCTS.iter().find(|(known, ..)| *known == sku) else {
        let known: Vec<_> = PRODUCTS.iter().map(|(sku, ..)| *sku).collect();
        return refuse(StatusCode::NOT_FOUND, format!("no article '{sku}'; there are {}", known.join(", ")));
    };
    let stock: Vec<_> = WAREHOUSES
        .iter()
        .enumerate()
        .map(|(i, place)| json!({ "warehouse": place, "quantity": draw(sku, i as u32) % 60 }))
        .collect();
    let total: u64 = stock.iter().filter_map(|place| place["quantity"].as_u64()).sum();
    Json(json!({ "sku": sku, "name": name, "total": total, "stock": stock })).into_response()
}

fn order(number: u32) -> Value {
    let id = format!("A-{number}");
    let lines: Vec<_> = (0..1 + draw(&id, 1) % 3).map(|line| item(&id, line)).collect();
    let cents: u64 = lines.iter().map(|line| line.1).sum();
    let status = STATUSES[draw(&id, 2) as usize % STATUSES.len()];
    let mut order = json!({
        "order_id": id,
        "status": status,
        "amount": cents as f64 / 100.0,
        "currency": "EUR",
        "placed_on": format!("2026-{:02}-{:02}", 1 + draw(&id, 3) % 10, 1 + draw(&id, 4) % 28),
        "customer": CUSTOMERS[draw(&id, 5) as usize % CUSTOMERS.len()],
        "items": lines.into_iter().map(|line| line.0).collect::<Vec<_>>(),
    });
    if matches!(status, "shipped" | "completed") {
        order["carrier"] = json!(CARRIERS[draw(&id, 6) as usize % CARRIERS.len()]);
    }
    order
}

/// One line of an order, and its price in cents.
fn item(id: &str, line: u32) -> (Value, u64) {
    let (sku, name, price) = PRODUCTS[draw(id, 10 + line) as usize % PRODUCTS.len()];
    let quantity = 1 + draw(id, 20 + line) % 3;
    (json!({ "sku": sku, "name": name, "quantity": quantity }), u64::from(price) * u64::from(quantity))
}

fn is_wanted(order: &Value, wanted: &Wanted) -> bool {
    let placed = order["placed_on"].as_str().unwrap_or_default();
    let range = wanted.date_range.as_ref();
    let start = range.and_then(|range| range.start.as_deref());
    let end = range.and_then(|range| range.end.as_deref());
    wanted.status.as_deref().is_none_or(|status| order["status"] == status)
        && start.is_none_or(|start| placed >= start)
        && end.is_none_or(|end| placed <= end)
}
