//! Schedules: operators have all, a client its own.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, OTHER, World, read, until, world};

async fn ask(world: &World, method: Method, path: &str, token: &str, body: Value) -> (u16, Value) {
    let path = format!("/v1/schedules{path}");
    let asked = world.ask(method, &path, Some(token));
    let asked = if body.is_null() { asked } else { asked.body(body.to_string()) };
    read(asked.send().await.unwrap()).await
}

fn wish() -> Value {
    json!({ "say": "/echo n=1", "when": "every weekday at 8:00", "zone": "europe/berlin", "name": "morning" })
}

/// One of the desktop client's; its id.
async fn made(world: &World) -> String {
    let (status, made) = ask(world, Method::POST, "", DESKTOP, wish()).await;
    assert_eq!(status, 201, "{made:#}");
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_client_makes_one_of_its_own_and_others_do_not_see_it() {
    let world = world().await;
    let id = made(&world).await;
    let path = format!("/{id}");
    let (status, one) = ask(&world, Method::GET, &path, DESKTOP, Value::Null).await;
    assert_eq!((status, &one["owner"]["sender"], &one["owner"]["platform"]), (200, &json!("desktop"), &json!("api")));
    assert_eq!(
        (&one["zone"], &one["when"], &one["missed"]),
        (&json!("Europe/Berlin"), &json!("0 8 * * 1-5"), &json!("latest"))
    );
    assert!(one["next"].as_str().unwrap().ends_with("08:00 Europe/Berlin"), "{one:#}");
    assert!(one["next_ms"].is_u64() && one["paused"].is_null() && one["last"].is_null(), "{one:#}");
    let unknown = ask(&world, Method::GET, "/1v5zk3m9", OTHER, Value::Null).await;
    for (method, end) in [(Method::GET, ""), (Method::DELETE, ""), (Method::POST, "/pause"), (Method::POST, "/run")] {
        let foreign = ask(&world, method, &format!("{path}{end}"), OTHER, Value::Null).await;
        assert_eq!((foreign.0, &foreign), (404, &unknown), "{end}");
    }
    let count =
        async |token| ask(&world, Method::GET, "", token, Value::Null).await.1["schedules"].as_array().unwrap().len();
    assert_eq!((count(DESKTOP).await, count(OTHER).await, count(ADMIN).await), (1, 0, 1));
    assert_eq!(world.get("/v1/schedules", None).await.0, 401);
    let foreign =
        json!({ "say": "/echo n=1", "when": "every day at 8:00", "owner": { "platform": "telegram", "sender": "7" } });
    assert_eq!(ask(&world, Method::POST, "", DESKTOP, foreign).await.0, 403);
}

#[tokio::test]
async fn what_is_wrong_with_a_wish_is_told_at_its_place() {
    let world = world().await;
    for (field, wrong) in [
        ("when", json!({ "say": "/echo n=1", "when": "every blue moon" })),
        ("when", json!({ "say": "/echo n=1", "when": "*/10 * * * * *" })),
        ("zone", json!({ "say": "/echo n=1", "when": "every day at 8:00", "zone": "Berlin/Europe" })),
        ("say", json!({ "say": " ", "when": "every day at 8:00" })),
        ("to", json!({ "say": "/echo n=1", "when": "every day at 8:00", "to": "somewhere" })),
    ] {
        let (status, problem) = ask(&world, Method::POST, "", ADMIN, wrong).await;
        assert_eq!((status, &problem["error"]["problems"][0]["path"]), (422, &json!(field)), "{problem:#}");
    }
    for wrong in [
        json!({}),
        json!({ "say": "/x", "when": "every day at 8:00", "wen": 1 }),
        json!({ "say": "/x", "when": "hourly", "missed": "perhaps" }),
    ] {
        assert_eq!(ask(&world, Method::POST, "", ADMIN, wrong).await.0, 422);
    }
    assert_eq!(ask(&world, Method::GET, "", ADMIN, Value::Null).await.1["schedules"], json!([]));
}

#[tokio::test]
async fn it_rests_goes_on_and_is_removed() {
    let world = world().await;
    let path = format!("/{}", made(&world).await);
    let (status, rests) =
        ask(&world, Method::POST, &format!("{path}/pause"), DESKTOP, json!({ "why": "over Easter" })).await;
    assert_eq!((status, &rests["paused"]["why"], &rests["next_ms"]), (200, &json!("over Easter"), &Value::Null));
    let (status, rests) = ask(&world, Method::POST, &format!("{path}/pause"), ADMIN, Value::Null).await;
    assert_eq!(status, 200, "{rests:#}");
    let (status, runs) = ask(&world, Method::POST, &format!("{path}/resume"), DESKTOP, Value::Null).await;
    assert_eq!((status, &runs["paused"]), (200, &Value::Null));
    assert!(runs["next_ms"].is_u64(), "{runs:#}");
    for status in [204, 404] {
        let removed = world.ask(Method::DELETE, &format!("/v1/schedules{path}"), Some(DESKTOP)).send().await.unwrap();
        assert_eq!(removed.status(), status);
    }
}

#[tokio::test]
async fn a_run_is_a_turn_that_is_found_by_its_schedule() {
    let world = world().await;
    let id = made(&world).await;
    for _ in 0..2 {
        let (status, ran) = ask(&world, Method::POST, &format!("/{id}/run"), DESKTOP, Value::Null).await;
        assert_eq!(status, 202, "{ran:#}");
        let path = format!("/v1/messages/{}", ran["turn"].as_str().unwrap());
        until("it is answered", || async { world.get(&path, Some(DESKTOP)).await.0 == 200 }).await;
    }
    let listed = async |query: &str, token| {
        world.get(&format!("/v1/traces?{query}"), Some(token)).await.1["traces"].as_array().unwrap().len()
    };
    let all = format!("schedule={id}");
    until("both are listed", || async { listed(&all, ADMIN).await == 2 }).await;
    assert_eq!(
        (listed("schedule=any", ADMIN).await, listed(&all, DESKTOP).await, listed(&all, OTHER).await),
        (2, 2, 0)
    );
    assert_eq!(listed("schedule=1v5zk3m9", ADMIN).await, 0);
    assert_eq!(world.get("/v1/traces?schedule=tomorrow", Some(ADMIN)).await.0, 422);
    until("their calls are counted", || async {
        world.get(&format!("/v1/stats?schedule={id}"), Some(ADMIN)).await.1["tools"][0]["calls"] == 2
    })
    .await;
    let (_, fared) = world.get(&format!("/v1/stats?schedule={id}"), Some(ADMIN)).await;
    assert_eq!(
        (&fared["turns"]["turns"], &fared["tools"][0]["tool"], &fared["more"]),
        (&json!(2), &json!("echo"), &json!(false))
    );
    assert_eq!(world.get(&format!("/v1/stats?schedule={id}"), Some(DESKTOP)).await.0, 403);
}
