//! Call trees: shape, order, and who may look.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, OTHER, events, until, world};

fn calls<'a>(trace: &'a Value, field: &str) -> Vec<&'a Value> {
    trace["nodes"].as_array().unwrap().iter().filter(|n| n["kind"] == "call").map(|n| &n[field]).collect()
}

#[tokio::test]
async fn a_trace_names_place_person_and_what_was_asked_and_its_nodes_are_in_order() {
    let world = world().await;
    let ask = json!({ "text": "/sleep 20\n/sleep 1\n/crash", "user": "mia", "conversation": "c", "thread": "t" });
    let (_, answer) = world.say(Some(DESKTOP), ask).await;
    let reference = answer["reference"].as_str().unwrap();
    let (status, trace) = world.get(&format!("/v1/traces/{reference}"), Some(ADMIN)).await;
    assert_eq!(status, 200);
    let place: Vec<_> = ["platform", "account", "tenant", "space", "conversation", "thread", "session"]
        .iter()
        .map(|field| trace[field].to_string())
        .collect();
    assert_eq!(
        place,
        [r#""api""#, r#""desktop""#, r#""default""#, "null", r#""c""#, r#""t""#, r#""api/=desktop/-/=c/=t""#]
    );
    assert_eq!(trace["sender"], json!({ "id": "desktop/mia", "name": "mia" }));
    assert!(trace["asked"].as_str().unwrap().starts_with("/sleep 20"));
    assert_eq!(trace["turn"], reference);
    let started: Vec<_> =
        trace["nodes"].as_array().unwrap().iter().map(|n| n["started_us"].as_u64().unwrap()).collect();
    assert!(started.is_sorted());
    assert_eq!(calls(&trace, "path"), ["1.1", "1.2", "1.3"]);
    assert_eq!(calls(&trace, "parent"), [0, 0, 0]);
    assert_eq!(calls(&trace, "state"), ["ok", "ok", "failed"]);
    assert_eq!(calls(&trace, "layer")[2], "fatal");
}

#[tokio::test]
async fn the_trace_of_somebody_else_does_not_exist() {
    let world = world().await;
    let reference = world.said(DESKTOP, "/sleep 1").await;
    for path in [format!("/v1/traces/{reference}"), format!("/v1/traces/{reference}/events")] {
        let foreign = world.get(&path, Some(OTHER)).await;
        let unknown = world.get(&path.replace(&reference, "01KBA7Q3ZJ8M4W0N5RX2VCT008"), Some(OTHER)).await;
        assert_eq!((foreign.0, &foreign), (404, &unknown));
        assert_eq!(world.get(&path, None).await.0, 401);
    }
    assert_eq!(world.get(&format!("/v1/traces/{reference}"), Some(DESKTOP)).await.0, 200);
}

#[tokio::test]
async fn what_operators_are_told_is_not_shown_to_a_client() {
    let world = world().await;
    let reference = world.said(DESKTOP, "/secret_thing\n/fail timeout").await;
    let path = format!("/v1/traces/{reference}");
    let ((_, of_operator), (_, of_client)) =
        (world.get(&path, Some(ADMIN)).await, world.get(&path, Some(DESKTOP)).await);
    assert_eq!(calls(&of_operator, "code"), ["denied", "timeout"]);
    assert!(calls(&of_operator, "detail")[1].as_str().unwrap().contains("internal.test"));
    assert_eq!(calls(&of_client, "code"), ["tool.unknown", "timeout"]);
    assert_eq!(calls(&of_client, "state")[0], "failed");
    let shown = of_client.to_string();
    assert!(!shown.contains("denied") && !shown.contains("internal.test") && !shown.contains(".yaml"), "{shown}");
}

#[tokio::test]
async fn the_list_is_filtered_and_a_client_sees_its_own() {
    let world = world().await;
    let (ok, failed) = (world.said(DESKTOP, "/sleep 1").await, world.said(DESKTOP, "/crash").await);
    let foreign = world.said(OTHER, "/sleep 2").await;
    let turns = |list: &Value| -> Vec<String> {
        list["traces"].as_array().unwrap().iter().map(|t| t["turn"].as_str().unwrap().to_owned()).collect()
    };
    until("all three are listed", || async { turns(&world.get("/v1/traces", Some(ADMIN)).await.1).len() == 3 }).await;
    assert_eq!(turns(&world.get("/v1/traces", Some(ADMIN)).await.1), [foreign.as_str(), &failed, &ok]);
    assert_eq!(turns(&world.get("/v1/traces", Some(DESKTOP)).await.1), [failed.as_str(), &ok]);
    assert_eq!(turns(&world.get("/v1/traces", Some(OTHER)).await.1), [foreign.as_str()]);
    assert_eq!(turns(&world.get("/v1/traces?failed=true", Some(ADMIN)).await.1), [failed.as_str()]);
    assert_eq!(turns(&world.get("/v1/traces?tool=sleep&limit=1&since=10m", Some(ADMIN)).await.1), [foreign.as_str()]);
    let session = "/v1/traces?session=api/%3Dother/-/%3Ddefault/-";
    assert_eq!(turns(&world.get(session, Some(ADMIN)).await.1), [foreign.as_str()]);
    assert!(turns(&world.get(session, Some(DESKTOP)).await.1).is_empty());
    for wrong in ["limit=0", "limit=1001", "since=soon", "failed=perhaps", "nonsense=1"] {
        assert_eq!(world.get(&format!("/v1/traces?{wrong}"), Some(ADMIN)).await.0, 422, "{wrong}");
    }
    assert_eq!(world.get("/v1/traces", None).await.0, 401);
}

#[tokio::test]
async fn a_stream_tells_first_what_was_and_then_what_is() {
    let world = world().await;
    let (_, later) = world.say(Some(DESKTOP), json!({ "text": "/sleep 3000\n/sleep 1", "wait": 0 })).await;
    let path = format!("/v1/traces/{}/events", later["reference"].as_str().unwrap());
    let live = events(world.ask(Method::GET, &path, Some(DESKTOP)).send().await.unwrap()).await;
    let names: Vec<_> = live.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("node", "end"), "{names:?}");
    assert!(live.iter().any(|(name, node)| name == "node" && node["tool"] == "sleep" && node["state"] == "running"));
    let past = events(world.ask(Method::GET, &path, Some(ADMIN)).send().await.unwrap()).await;
    let shape: Vec<_> =
        past.iter().map(|(name, data)| (name.as_str(), data["state"].as_str().unwrap_or("-"))).collect();
    assert_eq!(shape, [("node", "ok"), ("node", "ok"), ("node", "ok"), ("end", "-")]);
    assert_eq!(past.last().unwrap().1, live.last().unwrap().1);
}

#[tokio::test]
async fn the_stream_of_a_call_by_itself_ends_too() {
    let world = world().await;
    let (_, answer) = world.invoke("echo", r#"{"n":7}"#).await;
    let path = format!("/v1/traces/{}/events", answer["reference"].as_str().unwrap());
    let all = events(world.ask(Method::GET, &path, Some(ADMIN)).send().await.unwrap()).await;
    assert_eq!(all.last().unwrap().0, "end");
    until("its tree is written", || async { !world.get("/v1/traces", Some(ADMIN)).await.1["traces"][0].is_null() })
        .await;
    let all = events(world.ask(Method::GET, &path, Some(ADMIN)).send().await.unwrap()).await;
    assert_eq!((all.last().unwrap().0.as_str(), &all.last().unwrap().1["failed"]), ("end", &json!(false)));
}

#[tokio::test]
async fn statistics_agree_with_the_trees() {
    let world = world().await;
    world.said(DESKTOP, "/sleep 1\n/sleep 1\n/crash").await;
    let of = |stats: &Value, tool: &str| stats["tools"].as_array().unwrap().iter().find(|t| t["tool"] == tool).cloned();
    until("the measures are written", || async { of(&world.get("/v1/stats", Some(ADMIN)).await.1, "sleep").is_some() })
        .await;
    let (_, stats) = world.get("/v1/stats?since=1h", Some(ADMIN)).await;
    assert_eq!((&of(&stats, "sleep").unwrap()["ok"], &of(&stats, "sleep").unwrap()["calls"]), (&json!(2), &json!(2)));
    assert_eq!(of(&stats, "crash").unwrap()["failed"], json!({ "panic": 1 }));
    assert_eq!(world.get("/v1/stats", Some(DESKTOP)).await.0, 403);
}
