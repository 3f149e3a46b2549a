//! Pairings: operators list who asks, let them in and out.

use contract::{Accepted, Inbox, Platform};
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, World, read, world};

const PAIRING: &str = "platform: telegram\ntoolsets: { allow: [lab] }\ngating: { direct: pairing }\n";

const TOOLS: &str = "name: noop\ntoolset: lab\ndescription: Does nothing\nendpoint: { type: native, name: noop }\n";

async fn paired_world() -> World {
    let world = world().await;
    let policies = [("telegram.yaml".to_owned(), PAIRING.to_owned()), testkit::allow_lab(Platform::Api)];
    let snapshot = testkit::Setup::snapshot(TOOLS, &policies, endpoints::Endpoints::new(), 2);
    world.gateway.gateway.swap(snapshot);
    world
}

async fn ask(world: &World, method: Method, path: &str, token: &str) -> (u16, Value) {
    let (status, body) = read(world.ask(method, path, Some(token)).send().await.unwrap()).await;
    (status, body)
}

#[tokio::test]
async fn an_operator_lets_in_whose_code_it_is_and_out_again() {
    let world = paired_world().await;
    let hello = |key: &str| {
        let message = testkit::message(Platform::Telegram, "7", "7", "/noop x");
        contract::Message { key: key.into(), ..message }
    };
    let Ok(Accepted::Signal(words)) = world.gateway.gateway.accept(hello("a")).await else { panic!("a code") };
    let (status, list) = ask(&world, Method::GET, "/v1/pairings", ADMIN).await;
    assert_eq!((status, &list["people"], &list["waiting"][0]["sender"]), (200, &json!([]), &json!("7")));
    let code = list["waiting"][0]["code"].as_str().unwrap().to_owned();
    assert!(words.contains(&code), "{words}");

    let approve = format!("/v1/pairings/{code}/approve");
    assert_eq!(ask(&world, Method::POST, &approve, DESKTOP).await.0, 403);
    assert_eq!(ask(&world, Method::POST, "/v1/pairings/AAAAAAAA/approve", ADMIN).await.0, 404);
    let (status, person) = ask(&world, Method::POST, &approve.to_lowercase(), ADMIN).await;
    assert_eq!((status, &person["sender"], &person["platform"]), (200, &json!("7"), &json!("telegram")));
    assert_eq!(ask(&world, Method::POST, &approve, ADMIN).await.0, 404);
    assert!(matches!(world.gateway.gateway.accept(hello("b")).await, Ok(Accepted::Turn { .. })));

    let (_, list) = ask(&world, Method::GET, "/v1/pairings", ADMIN).await;
    assert_eq!((&list["waiting"], &list["people"][0]["sender"]), (&json!([]), &json!("7")));
    assert_eq!(ask(&world, Method::DELETE, "/v1/pairings/telegram/main/7", DESKTOP).await.0, 403);
    let removed = world.ask(Method::DELETE, "/v1/pairings/telegram/main/7", Some(ADMIN)).send().await.unwrap();
    assert_eq!(removed.status(), 204);
    assert_eq!(ask(&world, Method::DELETE, "/v1/pairings/telegram/main/7", ADMIN).await.0, 404);
    assert!(matches!(world.gateway.gateway.accept(hello("c")).await, Ok(Accepted::Signal(_))));
}

#[tokio::test]
async fn wrong_codes_are_not_looked_at_for_ever() {
    let world = paired_world().await;
    let mut last = 404;
    for n in 0..12 {
        last = ask(&world, Method::POST, &format!("/v1/pairings/AAAAAAA{n}/approve"), ADMIN).await.0;
    }
    assert_eq!(last, 429);
}
