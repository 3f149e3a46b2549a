use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::*;

struct Bench {
    services: Services,
    client: Client,
}

impl Bench {
    async fn new() -> Self {
        // Another test of this process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().build().unwrap();
        Self { services: Services::start().await.unwrap(), client }
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        let url = format!("{}{path}", self.services.url());
        let answer = self.client.get(url).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("{}{path}", self.services.url());
        let answer = self.client.post(url).json(&body).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap_or_default())
    }
}

#[tokio::test]
async fn a_city_is_known_by_each_of_its_names() {
    let bench = Bench::new().await;
    let (status, by_name) = bench.get("/weather?city=%E4%B8%8A%E6%B5%B7&days=3").await;
    assert_eq!((status, by_name["days"].as_array().unwrap().len()), (StatusCode::OK, 3));
    assert_eq!(bench.get("/weather?city=Shanghai&days=3").await.1, by_name);
    assert_eq!(bench.get("/weather?city=Atlantis").await.0, StatusCode::NOT_FOUND);
    assert_eq!(bench.get("/weather?city=Oslo&days=8").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_order_is_found_by_number_beginning_and_filters() {
    let bench = Bench::new().await;
    let (_, order) = bench.post("/order/query", json!({ "order_id": "a-17" })).await;
    assert_eq!((&order["order_id"], &order["also_matching"]), (&json!("A-17"), &Value::Null));
    let status = order["status"].clone();
    let (_, same) = bench.post("/order/query", json!({ "order_id": "A-17", "status": status })).await;
    assert_eq!(same, order);
    let (_, first) = bench.post("/order/query", json!({ "order_id": "A-", "status": status })).await;
    assert!(!first["also_matching"].as_array().unwrap().is_empty());
    let none = json!({ "order_id": "A-", "date_range": { "start": "2031-01-01" } });
    assert_eq!(bench.post("/order/query", none).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_refund_is_counted_once_and_never_larger_than_its_order() {
    let bench = Bench::new().await;
    let (status, refund) = bench.post("/order/refund", json!({ "order_id": "A-17", "amount": 1.5 })).await;
    assert_eq!((status, &refund["state"]), (StatusCode::OK, &json!("accepted")));
    assert_eq!(bench.get("/counters").await.1["order_refund"], 1);
    let (status, _) = bench.post("/order/refund", json!({ "order_id": "A-17", "amount": 1e9 })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(bench.services.counters()["order_refund"], 2);
}

#[tokio::test]
async fn a_cancelled_order_is_found_as_cancelled() {
    let bench = Bench::new().await;
    let states = ["cancelled", "already cancelled"];
    for state in states {
        let (status, cancelled) = bench.post("/order/cancel", json!({ "order_id": "a-17" })).await;
        assert_eq!((status, cancelled), (StatusCode::OK, json!({ "order_id": "A-17", "state": state })));
    }
    let (_, order) = bench.post("/order/query", json!({ "order_id": "A-17" })).await;
    assert_eq!(order["status"], "cancelled");
    let (status, _) = bench.post("/order/cancel", json!({ "order_id": "Z-1" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn unread_mail_is_told_newest_first() {
    let bench = Bench::new().await;
    let (_, all) = bench.get("/mail?unread=false").await;
    let (_, unread) = bench.get("/mail?limit=2").await;
    assert_eq!((&all["count"], &unread["count"]), (&json!(5), &json!(4)));
    assert_eq!(unread["mails"].as_array().unwrap().len(), 2);
    let received = |mail: &Value| mail["received"].as_str().unwrap().to_owned();
    assert!(all["mails"].as_array().unwrap().windows(2).all(|two| received(&two[0]) > received(&two[1])));
    assert_eq!(bench.get("/mail?limit=99").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn every_second_quote_fails_with_a_stack_that_nobody_should_see() {
    let bench = Bench::new().await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(bench.get("/quote?symbol=acme").await.0.as_u16());
    }
    assert_eq!(statuses, [200, 500, 200, 500]);
}

#[tokio::test]
async fn what_is_searched_can_be_read_and_summarised() {
    let bench = Bench::new().await;
    let (_, found) = bench.get("/search?q=green%20tea").await;
    let mut pages = Vec::new();
    for result in found["results"].as_array().unwrap() {
        let (status, page) = bench.get(&format!("/page?url={}", result["url"].as_str().unwrap())).await;
        assert_eq!((status, &page["title"]), (StatusCode::OK, &result["title"]));
        pages.push(page);
    }
    let (_, summary) = bench.post("/summary", json!({ "topic": "green tea", "text": pages })).await;
    assert_eq!(summary["sources"], 3);
    assert!(summary["summary"].as_str().unwrap().contains("green tea"));
}

#[tokio::test]
async fn what_never_answers_ends_with_the_services() {
    let bench = Bench::new().await;
    let hang = tokio::spawn(bench.client.get(format!("{}/hang", bench.services.url())).send());
    let page = tokio::spawn(bench.client.get(format!("{}/page?url=x/atlantis/y", bench.services.url())).send());
    let mut drip = bench.client.get(format!("{}/drip", bench.services.url())).send().await.unwrap();
    assert_eq!(drip.chunk().await.unwrap().unwrap(), "[");
    while bench.services.counters().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!hang.is_finished() && !page.is_finished());
    drop(drip);
    bench.services.stop().await;
    hang.await.unwrap().unwrap();
    page.await.unwrap().unwrap();
}
