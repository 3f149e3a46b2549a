//! Changes of tools over HTTP: who may, what is told, which status says what.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use contract::{
    Digest, Finding, StoreDown,
    records::{StoredSpec, StoredTool, ToolChange, ToolVerb},
};
use dispatch::{
    Gateway,
    keeper::{Asked, Keeper, Kept, NotKept, ToolWish},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, World, read, world};

/// A keeper that notes what it was asked, and answers what the test says.
#[derive(Default)]
struct Scripted {
    asked: Mutex<Vec<Asked>>,
    answers: Mutex<Vec<Result<Vec<Kept>, NotKept>>>,
}

fn kept(already: bool) -> Vec<Kept> {
    let finding = Finding::new("f.yaml", (3, 4), "thin");
    vec![Kept {
        name: "nap".into(),
        version: 4,
        digest: Some(Digest::of(b"x")),
        said: "done".into(),
        already,
        warnings: vec![finding],
    }]
}

#[async_trait]
impl Keeper for Scripted {
    async fn change(&self, asked: &Asked) -> Result<Vec<Kept>, NotKept> {
        self.asked.lock().unwrap().push(asked.clone());
        self.answers.lock().unwrap().pop().unwrap_or_else(|| Ok(kept(false)))
    }

    async fn history(&self, name: &str) -> Result<Option<(StoredTool, Vec<ToolChange>)>, StoreDown> {
        let spec = StoredSpec { text: "name: nap\n".into(), digest: Digest::of(b"x"), by: "ada".into(), at_ms: 1 };
        let after = StoredTool { name: name.into(), version: 2, live: Some(spec), ..StoredTool::default() };
        let change = ToolChange {
            what: ToolVerb::Published,
            by: "ada".into(),
            at_ms: 7,
            why: "why".into(),
            to: None,
            after: after.clone(),
        };
        Ok((name == "nap").then(|| (after, vec![change])))
    }

    async fn reload(&self, _gateway: &Gateway) {}
}

async fn kept_world() -> (World, Arc<Scripted>) {
    let (world, keeper) = (world().await, Arc::new(Scripted::default()));
    world.gateway.gateway.keeps_tools(keeper.clone());
    (world, keeper)
}

async fn ask(world: &World, method: Method, path: &str, body: &str) -> (u16, Value) {
    read(world.ask(method, path, Some(ADMIN)).body(body.to_owned()).send().await.unwrap()).await
}

#[tokio::test]
async fn what_is_asked_reaches_the_keeper_with_its_author() {
    let (world, keeper) = kept_world().await;
    let (status, told) =
        ask(&world, Method::POST, "/v1/tools?author=ada&file=f.yaml&publish=true&seen=3", "name: nap").await;
    assert_eq!((status, &told["tools"][0]["name"], &told["tools"][0]["version"]), (201, &json!("nap"), &json!(4)));
    assert_eq!(told["tools"][0]["warnings"][0]["line"], 3);
    for (method, path, body) in [
        (Method::POST, "publish", r#"{"message":"m","description":"d"}"#),
        (Method::POST, "deprecate", r#"{"message":"use u"}"#),
        (Method::POST, "rollback", r#"{"to":4}"#),
        (Method::POST, "cache-invalidate", ""),
    ] {
        let (status, told) = ask(&world, method, &format!("/v1/tools/nap/{path}"), body).await;
        assert_eq!((status, &told["said"], &told["already"]), (200, &json!("done"), &json!(false)), "{path}");
    }
    assert_eq!(ask(&world, Method::DELETE, "/v1/tools/nap?author=bob", "").await.0, 200);
    let asked = keeper.asked.lock().unwrap();
    let by: Vec<_> = asked.iter().map(|asked| asked.by.as_str()).collect();
    assert_eq!(by, ["ada", "operator", "operator", "operator", "operator", "bob"]);
    assert_eq!(asked[0].seen, Some(3));
    let ToolWish::Add { label, text, publish: true } = &asked[0].wish else { panic!("{:?}", asked[0].wish) };
    assert_eq!((&**label, &**text), ("f.yaml", "name: nap"));
    assert!(matches!(&asked[1].wish, ToolWish::Publish { why, description: Some(d), .. } if why == "m" && d == "d"));
    assert!(matches!(&asked[2].wish, ToolWish::Deprecate { why, .. } if why == "use u"));
    assert!(matches!(&asked[3].wish, ToolWish::Rollback { to: Some(4), .. }));
    assert!(matches!(&asked[4].wish, ToolWish::Refresh { name } if name == "nap"));
    assert!(matches!(&asked[5].wish, ToolWish::Remove { .. }));
}

#[tokio::test]
async fn nobody_but_an_operator_changes_tools_or_sees_their_history() {
    let (world, keeper) = kept_world().await;
    for (method, path) in [
        (Method::POST, "/v1/tools"),
        (Method::GET, "/v1/tools?all=true"),
        (Method::GET, "/v1/tools/sleep"),
        (Method::DELETE, "/v1/tools/sleep"),
        (Method::POST, "/v1/tools/sleep/publish"),
        (Method::POST, "/v1/tools/sleep/deprecate"),
        (Method::POST, "/v1/tools/sleep/rollback"),
        (Method::POST, "/v1/tools/sleep/cache-invalidate"),
        (Method::GET, "/v1/tools/nap/history"),
    ] {
        for (token, expected) in [(Some(DESKTOP), StatusCode::FORBIDDEN), (None, StatusCode::UNAUTHORIZED)] {
            let answer = world.ask(method.clone(), path, token).body("name: t").send().await.unwrap();
            assert_eq!(answer.status(), expected, "{method} {path}");
        }
    }
    assert!(keeper.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn each_reason_has_its_status_and_says_what_to_do() {
    let (world, keeper) = kept_world().await;
    let finding = || vec![Finding::new("f.yaml", (3, 4), "wrong").hint("write it right")];
    for (answer, expected, words) in [
        (Ok(kept(true)), 200, "done"),
        (Err(NotKept::Unknown { name: "npa".into(), near: Some("nap".into()) }), 404, "did you mean 'nap'?"),
        (Err(NotKept::Refused { say: "not now".into(), hint: Some("later".into()) }), 409, "later"),
        (Err(NotKept::Wrong { errors: finding(), warnings: Vec::new() }), 422, "write it right"),
        (Err(NotKept::Full), 409, "as many tools as it takes"),
        (Err(NotKept::Down(StoreDown("secret-host".into()))), 503, "store"),
    ] {
        keeper.answers.lock().unwrap().push(answer);
        let (status, told) = ask(&world, Method::POST, "/v1/tools", "name: nap").await;
        assert!(status == expected && told.to_string().contains(words), "{status} {told}");
        assert!(!told.to_string().contains("secret-host"));
    }
    let (status, told) = ask(&world, Method::POST, "/v1/tools/nap/publish", "[1]").await;
    assert_eq!((status, &told["code"]), (422, &json!("args.unreadable")), "{told}");
    let long = json!({ "message": "x".repeat(501) }).to_string();
    assert_eq!(ask(&world, Method::POST, "/v1/tools/nap/deprecate", &long).await.0, 422);
    assert_eq!(ask(&world, Method::POST, "/v1/tools?autor=ada", "name: nap").await.0, 422);
}

#[tokio::test]
async fn an_operator_sees_every_tool_and_its_changes() {
    let (world, _) = kept_world().await;
    let (_, all) = ask(&world, Method::GET, "/v1/tools?all=true", "").await;
    let hidden = all.as_array().unwrap().iter().find(|tool| tool["name"] == "secret_thing").unwrap();
    assert_eq!((&hidden["state"], &hidden["file"]), (&json!("published"), &json!("tools.yaml")));
    let (status, tool) = ask(&world, Method::GET, "/v1/tools/sleep", "").await;
    assert_eq!((status, &tool["labels"], &tool["repeatable"]), (200, &json!(["read"]), &json!(true)));
    assert_eq!(ask(&world, Method::GET, "/v1/tools/slep", "").await.0, 404);
    let (_, history) = ask(&world, Method::GET, "/v1/tools/nap/history", "").await;
    let change = &history["changes"][0];
    assert_eq!(
        (&change["what"], &change["by"], &change["spec"]),
        (&json!("published"), &json!("ada"), &json!("name: nap\n"))
    );
    assert_eq!(ask(&world, Method::GET, "/v1/tools/nobody/history", "").await.0, 404);
}

#[tokio::test]
async fn where_no_store_keeps_tools_that_is_said() {
    let world = world().await;
    let (status, told) = ask(&world, Method::POST, "/v1/tools", "name: nap").await;
    assert!(status == 409 && told.to_string().contains("not kept"), "{told}");
}
