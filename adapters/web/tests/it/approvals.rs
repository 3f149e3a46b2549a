//! Approvals: operators list what waits, and answer it.

use contract::{Accepted, Inbox, Platform};
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, World, read, until, world};

const ASKING: &str = "platform: telegram\ntoolsets: { allow: [lab] }\napprove: { noop: { by: requester } }\n";

const TOOLS: &str = "name: noop\ntoolset: lab\ndescription: Does nothing\nendpoint: { type: native, name: noop }\n";

/// Something waits for an answer; its id.
async fn waiting(world: &World) -> String {
    let policies = [("telegram.yaml".to_owned(), ASKING.to_owned()), testkit::allow_lab(Platform::Api)];
    world.gateway.gateway.swap(testkit::Setup::snapshot(TOOLS, &policies, endpoints::Endpoints::new(), 2));
    let asked = testkit::message(Platform::Telegram, "7", "7", "/noop");
    let Ok(Accepted::Turn { .. }) = world.gateway.gateway.accept(asked).await else { panic!("a turn") };
    let listed = async || world.get("/v1/approvals", Some(ADMIN)).await.1["approvals"].clone();
    until("something waits", || async { !listed().await.as_array().unwrap().is_empty() }).await;
    listed().await[0]["id"].as_str().unwrap().to_owned()
}

async fn answer(world: &World, id: &str, token: &str, body: Value) -> (u16, Value) {
    let path = format!("/v1/approvals/{id}");
    read(world.ask(Method::POST, &path, Some(token)).body(body.to_string()).send().await.unwrap()).await
}

#[tokio::test]
async fn an_operator_sees_what_waits_and_answers_it_once() {
    let world = world().await;
    let id = waiting(&world).await;
    let (status, one) = world.get(&format!("/v1/approvals/{id}"), Some(ADMIN)).await;
    assert_eq!(
        (status, &one["tool"], &one["state"], &one["sender"]),
        (200, &json!("noop"), &json!("asked"), &json!("7"))
    );
    assert_eq!(world.get("/v1/approvals", Some(DESKTOP)).await.0, 403);
    assert_eq!(answer(&world, &id, DESKTOP, json!({ "answer": "allow" })).await.0, 403);
    for wrong in [json!({}), json!({ "answer": "perhaps" }), json!({ "answer": "allow", "for": "ever" })] {
        assert_eq!(answer(&world, &id, ADMIN, wrong).await.0, 400);
    }
    assert_eq!(answer(&world, "0000000000000", ADMIN, json!({ "answer": "allow" })).await.0, 404);
    let (status, told) = answer(&world, &id, ADMIN, json!({ "answer": "deny", "why": "not today" })).await;
    assert_eq!((status, &told["said"]), (200, &json!("refused: 'noop' is not run")));
    assert_eq!((&told["state"], &told["why"]), (&json!("refused"), &json!("not today")));
    let (status, late) = answer(&world, &id, ADMIN, json!({ "answer": "allow", "session": true })).await;
    assert!(status == 200 && late["said"].as_str().unwrap().contains("was refused already, by an operator"), "{late}");
    assert_eq!(world.get("/v1/approvals", Some(ADMIN)).await.1["approvals"], json!([]));
}
