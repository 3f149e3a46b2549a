//! Tools: who sees which, and calls by themselves.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{ADMIN, DESKTOP, read, world, world_of_loopback};

#[tokio::test]
async fn the_list_is_exactly_what_a_model_would_be_sent() {
    let world = world().await;
    let (_, list) = world.get("/v1/tools?platform=telegram&conversation=1&sender=7", Some(ADMIN)).await;
    let caller = testkit::caller(contract::Platform::Telegram);
    assert_eq!(list, *world.gateway.gateway.tools(&caller).described);
    assert!(!list.to_string().contains("secret_thing"));
    let (_, of_a_session) = world.get("/v1/tools?session=telegram/=main/-/=1/-", Some(ADMIN)).await;
    assert_eq!(of_a_session, list);
    let (_, nowhere) = world.get("/v1/tools?platform=slack", Some(ADMIN)).await;
    assert_eq!(nowhere, json!([]));
}

#[tokio::test]
async fn a_client_sees_its_own_view_and_no_other() {
    let world = world().await;
    assert_eq!(world.get("/v1/tools", Some(DESKTOP)).await.0, 200);
    assert_eq!(world.get("/v1/tools?platform=api&tenant=default&conversation=x&sender=y", Some(DESKTOP)).await.0, 200);
    for foreign in
        ["platform=console", "tenant=elsewhere", "account=other", "roles=ops", "session=telegram/=main/-/=1/-"]
    {
        assert_eq!(world.get(&format!("/v1/tools?{foreign}"), Some(DESKTOP)).await.0, 403, "{foreign}");
    }
    assert_eq!(world.get("/v1/tools?plattform=api", Some(ADMIN)).await.0, 422);
    assert_eq!(world.get("/v1/tools?platform=irc", Some(ADMIN)).await.0, 422);
}

#[tokio::test]
async fn integers_are_kept_digit_for_digit_through_arguments_and_result() {
    let world = world().await;
    let request = world.ask(Method::POST, "/v1/tools/echo/invoke", Some(ADMIN));
    let args = r#"{"n": 18446744073709551615, "m": 9007199254740993}"#;
    let text = request.body(args).send().await.unwrap().text().await.unwrap();
    assert!(text.contains(r#""result":{"n":18446744073709551615,"m":9007199254740993}"#), "{text}");
    let (status, problem) = world.invoke("echo", r#"{"n": 18446744073709551616}"#).await;
    assert_eq!((status, problem["code"].as_str().unwrap()), (422, "args.unreadable"), "{problem}");
}

#[tokio::test]
async fn a_denied_tool_and_one_that_does_not_exist_are_answered_alike() {
    let world = world().await;
    // The same letters, so that only the name differs.
    let mut answers = Vec::new();
    for tool in ["secret_thing", "sekret_thing"] {
        let request = world.ask(Method::POST, &format!("/v1/tools/{tool}/invoke"), Some(ADMIN));
        let answer = request.body("not even JSON").send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        let problem: Value = serde_json::from_str(&text).unwrap();
        let reference = problem["reference"].as_str().unwrap().to_owned();
        answers.push((status, text.replace(&reference, "REF").replace(tool, "NAME")));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].0, 404);
    assert!(answers[0].1.contains("tool.unknown"));
}

#[tokio::test]
async fn each_failure_has_the_status_of_its_code() {
    let world = world().await;
    for (how, status, code) in [
        ("timeout", 504, "timeout"),
        ("refused", 502, "upstream.4xx"),
        ("failed", 502, "upstream.5xx"),
        ("busy", 503, "busy"),
        ("input", 422, "input.refused"),
    ] {
        let (got, problem) = world.invoke("fail", &json!({ "how": how }).to_string()).await;
        assert_eq!((got, problem["code"].as_str().unwrap()), (status, code), "{problem}");
        assert!(problem["reference"].is_string());
        assert!(!problem.to_string().contains("sk_live"), "{problem}");
    }
    let (status, problem) = world.invoke("crash", "{}").await;
    assert_eq!((status, &problem["error"]["layer"]), (500, &json!("fatal")));
    let (status, problem) = world.invoke("sleep", r#"{"ms": "x"}"#).await;
    assert_eq!((status, &problem["error"]["problems"][0]["path"]), (422, &json!("ms")));
    let request = world.ask(Method::POST, "/v1/tools/fail/invoke", Some(ADMIN));
    let limited = request.body(r#"{"how":"rate"}"#).send().await.unwrap();
    assert_eq!(limited.headers()["retry-after"], "7");
    assert_eq!(read(limited).await.0, 429);
}

#[tokio::test]
async fn a_call_by_itself_needs_an_operator() {
    let world = world().await;
    let request = world.ask(Method::POST, "/v1/tools/echo/invoke", Some(DESKTOP));
    assert_eq!(read(request.body(r#"{"n":1}"#).send().await.unwrap()).await.0, 403);
    let request = world.ask(Method::POST, "/v1/tools/echo/invoke", None);
    assert_eq!(read(request.body(r#"{"n":1}"#).send().await.unwrap()).await.0, 401);
    assert_eq!(world.invoke("transfer", "").await.0, 200);
}

#[tokio::test]
async fn a_call_goes_on_when_its_client_goes_away() {
    let world = world().await;
    let request = world.ask(Method::POST, "/v1/tools/sleep/invoke", Some(ADMIN));
    let gone = request.body(r#"{"ms":200}"#).timeout(std::time::Duration::from_millis(50)).send().await;
    assert!(gone.is_err());
    crate::world::until("the call has ended", || async {
        let (_, list) = world.get("/v1/traces?tool=sleep", Some(ADMIN)).await;
        list["traces"].as_array().unwrap().iter().any(|turn| turn["state"] == "ok")
    })
    .await;
}

#[tokio::test]
async fn without_tokens_this_machine_is_an_operator() {
    let world = world_of_loopback().await;
    let request = world.ask(Method::POST, "/v1/tools/echo/invoke", None);
    let (status, answer) = read(request.body(r#"{"n":"5"}"#).send().await.unwrap()).await;
    assert_eq!((status, &answer["result"], &answer["state"]), (200, &json!({ "n": 5 }), &json!("ok")));
    let (_, trace) = world.get(&format!("/v1/traces/{}", answer["reference"].as_str().unwrap()), None).await;
    assert_eq!([&trace["platform"], &trace["account"], &trace["tenant"]], ["api", "operator", "default"]);
}

#[tokio::test]
async fn an_operator_is_told_which_rule_of_which_file_refuses() {
    let world = world().await;
    let path = "/v1/policies/explain?platform=api&tool=secret_thing&sender=7&roles=a,b";
    let (status, answer) = world.get(path, Some(ADMIN)).await;
    assert_eq!((status, &answer["allowed"], &answer["nearest"]), (200, &json!(false), &Value::Null), "{answer}");
    let layers = answer["layers"].as_array().unwrap();
    let refusing: Vec<_> = layers.iter().filter(|layer| layer["allowed"] == false).collect();
    assert_eq!(refusing.len(), 1, "{answer}");
    assert_eq!((&refusing[0]["layer"], &refusing[0]["file"]), (&json!("platform"), &json!("api.yaml")));
    assert!(refusing[0]["line"].as_u64().is_some_and(|line| line > 0));
    assert_eq!(answer["heard"], Value::Null, "a program is heard by its token");
    let (_, chat) = world.get("/v1/policies/explain?platform=slack&tool=sleep&sender=7", Some(ADMIN)).await;
    assert_eq!(chat["heard"], json!({ "groups": "addressed", "direct": "always", "bots": false }));
    let (_, unknown) = world.get("/v1/policies/explain?tool=slep", Some(ADMIN)).await;
    assert_eq!((&unknown["allowed"], &unknown["nearest"]), (&json!(false), &json!("sleep")));
    let (_, rules) = world.get("/v1/policies?platform=api", Some(ADMIN)).await;
    assert_eq!(rules["rules"][0]["file"], "api.yaml", "{rules}");
    for path in ["/v1/policies", path] {
        assert_eq!(world.get(path, Some(DESKTOP)).await.0, 403);
    }
    assert_eq!(world.get("/v1/policies/explain", Some(ADMIN)).await.0, 422);
    assert_eq!(world.get("/v1/policies?platform=smoke", Some(ADMIN)).await.0, 422);
}
