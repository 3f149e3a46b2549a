//! Tools that are too many to be listed: searched, described and called by their names.

use std::sync::Arc;

use contract::{Code, Heard as HeardBy, Platform};
use dispatch::model::{About, Said};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::{
    InABox, Scripted, Setup, TOOLS, allow_lab_with, message,
    model::{Act, Heard, says, wants},
};

/// Acts in order, with a window whose tenth has no room for the tools of these tests.
fn small(acts: impl IntoIterator<Item = Act>) -> Arc<Scripted> {
    let mut acts = acts.into_iter().collect::<Vec<_>>().into_iter();
    let about = About { context_tokens: 2_000, output_tokens: 200, ..Scripted::usual() };
    Scripted::about(about, move |_| acts.next().unwrap_or_else(|| says("(the script is at its end)")))
}

async fn with(model: &Arc<Scripted>, policy: &str, tools: &str) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).model(model);
    setup.policies = vec![allow_lab_with(Platform::Api, policy)];
    setup.tools = format!("{TOOLS}{tools}");
    setup.start().ready().await
}

/// The results of the step before the last prompt, as JSON.
fn results(heard: &Heard) -> Vec<Value> {
    let last = heard.messages.iter().rposition(|said| matches!(said, Said::Model(_))).unwrap();
    let result = |said: &Said| match said {
        Said::Result { content, .. } => serde_json::from_str(content).unwrap(),
        other => panic!("no result: {other:?}"),
    };
    heard.messages[last + 1..].iter().map(result).collect()
}

#[tokio::test]
async fn too_many_tools_are_searched_described_and_called() {
    let model = small([
        wants(&[("tool_search", r#"{"query": "sleeps a while"}"#)]),
        wants(&[("tool_describe", r#"{"names": ["sleep"]}"#)]),
        wants(&[("tool_call", r#"{"name": "sleep", "arguments": {"ms": 1}}"#)]),
        says("It slept."),
    ]);
    let said = with(&model, "", "").await.say("have a rest").await;
    assert_eq!(said.text, "It slept.");
    expect![[r#"
        turn  ok  400 → 40 tokens
        ├─ model scripted  ok  100 → 10 tokens
        │  └─ tool_search {query: "sleeps a while"}  ok
        ├─ model scripted  ok  100 → 10 tokens
        │  └─ tool_describe {names: ["sleep"]}  ok
        ├─ model scripted  ok  100 → 10 tokens
        │  └─ sleep {ms: 1}  ok
        └─ model scripted “It slept.”  ok  100 → 10 tokens
    "#]]
    .assert_eq(&said.tree);
    let asked = model.asked();
    assert_eq!(asked[0].tool_names(), ["tool_call", "tool_describe", "tool_search"]);
    expect![[r#"{"tools":[{"name":"sleep","description":"Sleeps for some milliseconds","usage":"sleep ms"},{"name":"noop","description":"Does nothing, with five fields to check","usage":"noop a [b=integer] [c=true|false] [d=[…]] [e=x|y]"},{"name":"send_message","description":"Sends a text to another conversation","usage":"send_message to text"}]}"#]]
        .assert_eq(&results(&asked[1])[0].to_string());
    assert_eq!(results(&asked[2])[0]["tools"][0]["parameters"]["required"], json!(["ms"]));
    assert_eq!(results(&asked[3])[0], json!({"slept_ms": 1}));
}

#[tokio::test]
async fn the_node_of_a_call_through_the_bridge_is_the_tools_own() {
    let model = small([wants(&[("tool_call", r#"{"name": "sleep", "arguments": {"ms": "1"}}"#)]), says("Done.")]);
    let gateway = with(&model, "", "").await;
    let said = gateway.say("go").await;
    let nodes = gateway.gateway.tree(said.turn).await.unwrap();
    let node = nodes.iter().find(|node| node.tool == "sleep").unwrap();
    assert!(node.marks.contains(&"through tool_call".to_owned()), "{:?}", node.marks);
    assert!(node.spec.is_some() && nodes.iter().all(|node| node.tool != "tool_call"));
    let listed = gateway.gateway.tools(&testkit::caller(Platform::Api));
    assert_eq!(node.spec, listed.tools.iter().find(|tool| &*tool.name == "sleep").map(|tool| tool.digest));
}

#[tokio::test]
async fn a_visible_tool_called_through_the_bridge_works_also_several_at_once_and_where_all_are_listed() {
    let wait = |id: &str| format!(r#"{{"name": "gate", "arguments": {{"id": "{id}"}}}}"#);
    let (a, b) = (wait("a"), wait("b"));
    let acts = [wants(&[("tool_call", &a), ("gate", r#"{"id": "c"}"#), ("tool_call", &b)]), says("All three.")];
    let model = Scripted::new(acts);
    let gate = testkit::Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let gateway = Setup::new(stores).model(&model).gate(&gate).start().ready().await;
    let opening = async {
        gate.wait_for(3).await;
        gate.open();
    };
    let (said, ()) = tokio::join!(gateway.say("all at once"), opening);
    assert_eq!((said.text.as_str(), gate.most()), ("All three.", 3));
    expect![[r#"
        person: all at once
        model:  [call_1_1 tool_call {"name":"gate","arguments":{"id":"a"}}] [call_1_2 gate {"id":"c"}] [call_1_3 tool_call {"name":"gate","arguments":{"id":"b"}}]
        result call_1_1 tool_call: {"id":"a"}
        result call_1_2 gate: {"id":"c"}
        result call_1_3 tool_call: {"id":"b"}
    "#]]
    .assert_eq(&model.asked()[1].text());
}

#[tokio::test]
async fn what_is_not_in_view_is_not_there_by_search_by_description_or_by_call() {
    let names = r#"{"names": ["secret_thing", "secret_thong"]}"#;
    let call = |name: &str| format!(r#"{{"name": "{name}", "arguments": {{}}}}"#);
    let model = small([
        wants(&[("tool_search", r#"{"query": "nobody is allowed secret thing"}"#), ("tool_describe", names)]),
        wants(&[("tool_call", &call("secret_thing")), ("tool_call", &call("secret_thong"))]),
        says("No."),
    ]);
    let said = with(&model, "", "").await.say("the secret one").await;
    let asked = model.asked();
    assert!(!results(&asked[1])[0].to_string().contains("secret"), "{}", asked[1].text());
    let absent = results(&asked[1])[1]["not_available_here"].to_string();
    assert_eq!(
        absent.replace("secret_thong", "secret_thing").matches(r#"{"name":"secret_thing","near":[]}"#).count(),
        2
    );
    let [denied, unknown] = results(&asked[2]).try_into().unwrap();
    assert_eq!(denied.to_string(), unknown.to_string().replace("secret_thong", "secret_thing"));
    // Operators see which is which.
    expect![[r#"
        turn  ok  300 → 30 tokens
        ├─ model scripted  ok  100 → 10 tokens
        │  ├─ tool_search {query: "nobody is allowed secret thing"}  ok
        │  └─ tool_describe {names: ["secret_thing", "secret_thong"]}  ok
        ├─ model scripted  ok  100 → 10 tokens
        │  ├─ secret_thing {}  denied [denied]
        │  └─ secret_thong {}  failed [tool.unknown]
        └─ model scripted “No.”  ok  100 → 10 tokens
    "#]]
    .assert_eq(&said.tree);
}

#[tokio::test]
async fn a_call_through_the_bridge_is_refused_limited_and_judged_as_the_tool() {
    let many: Vec<_> = (0..3).map(|n| format!(r#"{{"name": "noop", "arguments": {{"a": "{n}"}}}}"#)).collect();
    let mut calls: Vec<_> = many.iter().map(|args| ("tool_call", args.as_str())).collect();
    calls.push(("tool_call", r#"{"name": "sleep", "arguments": {"ms": "soon"}}"#));
    calls.push(("tool_call", r#"{"arguments": {}}"#));
    let model = small([wants(&calls), says("Enough.")]);
    let said = with(&model, "limits: { calls_per_turn: 4, messages_per_minute: 1000000 }", "").await.say("all").await;
    expect![[r#"
        turn  ok  200 → 20 tokens
        ├─ model scripted  ok  100 → 10 tokens
        │  ├─ sleep {ms: "soon"}  failed [args.invalid]
        │  ├─ tool_call {arguments: {}}  failed [limit.reached]
        │  ├─ noop {a: "0"}  ok
        │  ├─ noop {a: "1"}  ok
        │  └─ noop {a: "2"}  ok
        └─ model scripted “Enough.”  ok  100 → 10 tokens
    "#]]
    .assert_eq(&said.tree);
    let told = results(&model.asked()[1]);
    assert_eq!(told[3]["error"]["problems"][0]["path"], "ms");
}

#[tokio::test]
async fn an_approval_through_the_bridge_asks_for_the_tool() {
    let model = small([wants(&[("tool_call", r#"{"name": "once", "arguments": {"id": "x"}}"#)]), says("Done.")]);
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).model(&model);
    let policy = "approve: { once: {} }\napprovers: { users: [\"id:bob\"], deliver: [conversation] }";
    setup.policies = vec![allow_lab_with(Platform::Telegram, policy)];
    let gateway = setup.start().ready().await;
    let mut pay = message(Platform::Telegram, "c1", "ada", "pay");
    (pay.address.direct, pay.heard) = (false, HeardBy::Addressed);
    gateway.gateway_accept(pay).await;
    let mut asked = Vec::new();
    for _ in 0..1_000 {
        asked = gateway.gateway.approvals(10).await.unwrap();
        if !asked.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(asked.iter().map(|approval| &*approval.tool).collect::<Vec<_>>(), ["once"]);
}

#[tokio::test]
async fn pinned_tools_stay_listed_and_what_a_session_mounts_bounds_the_search() {
    let pinned = "---\nname: now\ntoolset: lab\ndescription: Says what time it is\npinned: true\nendpoint: { type: native, name: noop }\n";
    let search = || wants(&[("tool_search", r#"{"query": "sleep, nothing, waits, time", "limit": 20}"#)]);
    let model = small([search(), says("Found."), search(), says("Found less.")]);
    let gateway = with(&model, "", pinned).await;
    gateway.say("look").await;
    assert_eq!(model.asked()[0].tool_names(), ["now", "tool_call", "tool_describe", "tool_search"]);
    let names = |heard: &Heard| {
        let tools = results(heard)[0]["tools"].as_array().unwrap().clone();
        let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&model.asked()[1]), ["gate", "noop", "now", "sleep"]);
    gateway.say("/tools only sleep gate").await;
    gateway.say("look again").await;
    let asked = model.asked();
    // Few enough to be listed now; the search goes on working within them.
    assert_eq!(asked[2].tool_names(), ["gate", "sleep"]);
    assert_eq!(names(&asked[3]), ["gate", "sleep"]);
}

#[tokio::test]
async fn tools_of_the_loop_are_not_known_outside_of_it() {
    let model = Scripted::new([]);
    let gateway = with(&model, "", "").await;
    for name in ["tool_call", "tool_search", "tool_describe", "delegate"] {
        let outcome = gateway.invoke(name, json!({"name": "sleep", "arguments": {"ms": 1}, "query": "x"})).await;
        assert_eq!(outcome.result.unwrap_err().code, Code::ToolUnknown, "{name}");
    }
    let said = gateway.say("/tool_call name=sleep").await;
    assert!(said.text.contains("not available here"), "{}", said.text);
    assert!(!gateway.say("/help").await.text.contains("tool_"));
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn a_thousand_tools_are_searched_at_once() {
    let more: String = (0..1_000)
        .map(|n| {
            format!(
                "---\nname: report_{n}\ntoolset: lab\ndescription: Makes the report number {n} of the warehouse\nendpoint: {{ type: native, name: noop }}\n"
            )
        })
        .collect();
    let model = Scripted::new([wants(&[("tool_search", r#"{"query": "report 417"}"#)]), says("Found.")]);
    let said = with(&model, "", &more).await.say("the report 417").await;
    assert_eq!(said.text, "Found.");
    let asked = model.asked();
    assert_eq!(asked[0].tool_names(), ["tool_call", "tool_describe", "tool_search"]);
    assert_eq!(results(&asked[1])[0]["tools"][0]["name"], "report_417");
}
