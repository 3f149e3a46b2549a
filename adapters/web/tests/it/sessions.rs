//! Sessions: operators see, narrow and forget them; what is stored of a person is erased.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, World, read, world};

async fn ask(world: &World, method: Method, path: &str, token: &str) -> (u16, Value) {
    read(world.ask(method, path, Some(token)).send().await.unwrap()).await
}

async fn ask_with(world: &World, method: Method, path: &str, body: Value) -> (u16, Value) {
    read(world.ask(method, path, Some(ADMIN)).json(&body).send().await.unwrap()).await
}

async fn said(world: &World, text: &str) {
    let (status, answer) = ask_with(world, Method::POST, "/v1/messages", json!({ "text": text })).await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn a_session_is_listed_narrowed_and_forgotten() {
    let world = world().await;
    assert_eq!(ask(&world, Method::GET, "/v1/sessions", DESKTOP).await.0, 403);
    said(&world, "/noop x").await;
    let (_, list) = ask(&world, Method::GET, "/v1/sessions?platform=api", ADMIN).await;
    let session = &list["sessions"][0];
    assert_eq!((&session["title"], &session["turns"], &session["tools"]), (&json!("/noop x"), &json!(1), &Value::Null));
    let (id, key) = (session["id"].as_str().unwrap(), session["key"].as_str().unwrap());
    let by_key = key.replace('%', "%25").replace('/', "%2F").replace('=', "%3D");
    let (status, shown) = ask(&world, Method::GET, &format!("/v1/sessions/{by_key}"), ADMIN).await;
    assert_eq!((status, &shown["id"], &shown["items"][0]["asked"]), (200, &json!(id), &json!("/noop x")));

    let tools = format!("/v1/sessions/{by_key}/tools");
    let (status, problem) = ask_with(&world, Method::PUT, &tools, json!({ "only": ["slep"] })).await;
    assert!(status == 422 || status == 400, "{status} {problem}");
    assert!(problem.to_string().contains("sleep"), "{problem}");
    let (status, narrowed) = ask_with(&world, Method::PUT, &tools, json!({ "only": ["sleep"] })).await;
    assert_eq!((status, &narrowed["tools"]), (200, &json!(["sleep"])));
    let names = async |path: &str| {
        let (_, list) = ask(&world, Method::GET, path, ADMIN).await;
        let names: Vec<String> =
            list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        names
    };
    let here = format!("/v1/tools?session={by_key}");
    assert_eq!(names(&here).await, ["sleep"]);
    assert!(names("/v1/tools?conversation=elsewhere").await.len() > 1);
    assert_eq!(ask(&world, Method::DELETE, &tools, ADMIN).await.0, 200);
    assert!(names(&here).await.len() > 1);

    let reset = world.ask(Method::DELETE, &format!("/v1/sessions/{id}"), Some(ADMIN)).send().await.unwrap();
    assert_eq!(reset.status(), 204);
    assert_eq!(ask(&world, Method::GET, &format!("/v1/sessions/{by_key}"), ADMIN).await.0, 404);
    assert_eq!(ask(&world, Method::DELETE, &tools, ADMIN).await.0, 404);
}

#[tokio::test]
async fn what_is_stored_of_a_person_is_erased() {
    let world = world().await;
    said(&world, "/keep I live in Oslo").await;
    said(&world, "/noop x").await;
    let (_, list) = ask(&world, Method::GET, "/v1/sessions", ADMIN).await;
    let session = &list["sessions"][0];
    let person = json!({ "platform": session["platform"], "account": session["account"], "sender": session["owner"] });
    let (status, erased) = ask_with(&world, Method::POST, "/v1/forget", person.clone()).await;
    assert_eq!(
        (status, &erased["sessions"], &erased["facts"], &erased["pairing"]),
        (200, &json!(1), &json!(1), &json!(false))
    );
    let (_, list) = ask(&world, Method::GET, "/v1/sessions", ADMIN).await;
    assert_eq!(list["sessions"], json!([]));
    let refused = read(world.ask(Method::POST, "/v1/forget", Some(DESKTOP)).json(&person).send().await.unwrap()).await;
    assert_eq!(refused.0, 403);
}
