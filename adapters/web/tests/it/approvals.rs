//! Approvals: operators list what waits, and answer it.

use std::time::Duration;

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
    // For a client there is nothing but what its own people have to confirm.
    assert_eq!(world.get("/v1/approvals", Some(DESKTOP)).await, (200, json!({ "approvals": [] })));
    assert_eq!(world.get(&format!("/v1/approvals/{id}"), Some(DESKTOP)).await.0, 404);
    assert_eq!(answer(&world, &id, DESKTOP, json!({ "answer": "allow" })).await.0, 404);
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

/// What the client says has to be confirmed by it.
async fn confirming() -> World {
    let world = world().await;
    let rules = "toolsets: { allow: [lab] }\napprove: { noop: { by: requester } }\n";
    let policies = [("api.yaml".to_owned(), format!("platform: api\n{rules}"))];
    world.gateway.gateway.swap(testkit::Setup::snapshot(TOOLS, &policies, endpoints::Endpoints::new(), 2));
    world
}

async fn say(world: &World, body: Value) -> (u16, Value) {
    read(world.ask(Method::POST, "/v1/messages", Some(DESKTOP)).body(body.to_string()).send().await.unwrap()).await
}

#[tokio::test]
async fn a_client_is_told_what_its_user_has_to_confirm_and_answers_it() {
    let world = confirming().await;
    let (status, later) = say(&world, json!({ "text": "/noop", "user": "ann", "conversation": "c" })).await;
    let waits = &later["waits"][0];
    assert_eq!((status, &waits["tool"], &waits["by"]), (202, &json!("noop"), &json!("requester")), "{later}");
    assert!(waits["rule"].is_null(), "{later}");
    let reference = later["reference"].as_str().unwrap();
    let id = waits["id"].as_str().unwrap();
    let lines = world.get("/v1/traces", Some(DESKTOP)).await.1;
    assert_eq!((&lines["traces"][0]["turn"], &lines["traces"][0]["state"]), (&json!(reference), &json!("parked")));
    assert_eq!(world.get("/v1/approvals", Some(DESKTOP)).await.1["approvals"][0]["id"], json!(id));
    let (status, told) = answer(&world, id, DESKTOP, json!({ "answer": "allow" })).await;
    assert_eq!((status, &told["said"]), (200, &json!("allowed: 'noop' goes on")), "{told}");
    let path = format!("/v1/messages/{reference}");
    until("it is answered", async || world.get(&path, Some(DESKTOP)).await.0 == 200).await;
    assert_eq!(world.get(&path, Some(DESKTOP)).await.1["failed"], json!(false));
}

#[tokio::test]
async fn a_press_confirms_as_well_and_nobody_elses_does() {
    let world = confirming().await;
    let (_, later) = say(&world, json!({ "text": "/noop", "user": "ann", "conversation": "c" })).await;
    let press = format!("deny:{}", later["waits"][0]["id"].as_str().unwrap());
    let by = |user: &str| json!({ "press": press, "user": user, "conversation": "c" });
    let (_, told) = say(&world, by("bob")).await;
    assert_eq!(told["text"], json!("only the one who asked can confirm this"));
    assert_eq!(say(&world, by("ann")).await.1["text"], json!("refused: 'noop' is not run"));
    let path = format!("/v1/messages/{}", later["reference"].as_str().unwrap());
    until("it is answered", async || world.get(&path, Some(DESKTOP)).await.0 == 200).await;
    assert_eq!(world.get(&path, Some(DESKTOP)).await.1["failed"], json!(true));
}

#[tokio::test]
async fn whoever_wants_one_answer_is_told_at_once_that_nobody_can_confirm() {
    let world = confirming().await;
    let body = json!({ "messages": [{ "role": "user", "content": "/noop" }] }).to_string();
    let asking = world.ask(Method::POST, "/v1/chat/completions", Some(DESKTOP)).body(body).send();
    let answer = tokio::time::timeout(Duration::from_secs(20), asking).await.unwrap().unwrap();
    let told = read(answer).await.1.to_string();
    assert!(told.contains("nobody can give one here"), "{told}");
}
