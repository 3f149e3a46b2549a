//! What adapters ask while a platform waits: menus, checks, completions.

use std::time::Duration;

use contract::{Caller, Platform};
use serde_json::{Value, json};
use testkit::{Gate, InABox, Setup, TOOLS, allow_lab_with, caller, message, until};

async fn gateway(more: &str) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup { policies: vec![allow_lab_with(Platform::Telegram, more)], ..Setup::new(stores) }.start().ready().await
}

fn ada() -> Caller {
    caller(Platform::Telegram)
}

async fn completed(gateway: &InABox, command: &str, field: &str, typed: &str) -> Vec<String> {
    let choices = gateway.gateway.core().catalog.complete(&ada(), command, field, typed).await;
    choices.into_iter().map(|choice| choice.value).collect()
}

#[tokio::test]
async fn the_menu_holds_what_the_caller_may_use_with_its_parameters() {
    let gateway = gateway("senders: { 'id:bob': { tools: { deny: [crash] } } }").await;
    let catalog = gateway.gateway.core().catalog;
    let menu = catalog.menu(&ada());
    let names: Vec<_> = menu.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "help",
            "tools",
            "trace",
            "stop",
            "new",
            "status",
            "sessions",
            "resume",
            "keep",
            "forget",
            "approvals",
            "approve",
            "deny",
            "schedule",
            "start",
            "crash",
            "gate",
            "noop",
            "once",
            "send_message",
            "sleep"
        ]
    );
    assert_eq!(menu.items[2].parameters["required"], json!(["reference"]));
    assert_eq!((&*menu.items[17].toolset, &menu.items[17].parameters["required"]), ("lab", &json!(["a"])));
    let mut bob = ada();
    bob.sender.id = "bob".into();
    let narrower = catalog.menu(&bob);
    assert!(narrower.items.iter().all(|item| item.name != "crash") && narrower.digest != menu.digest);
    // Another process makes the same of the same.
    assert_eq!(self::gateway("").await.gateway.core().catalog.menu(&ada()).digest, menu.digest);
}

#[tokio::test]
async fn arguments_are_checked_as_a_call_would_convert_them() {
    let gateway = gateway("").await;
    let catalog = gateway.gateway.core().catalog;
    let check = |command: &str, args: Value| {
        let problems = catalog.check(&ada(), command, args.as_object().unwrap()).err().unwrap_or_default();
        problems.into_iter().map(|problem| problem.path).collect::<Vec<_>>()
    };
    assert!(check("noop", json!({ "a": "x", "b": "3", "c": "true" })).is_empty(), "texts are converted");
    assert_eq!(check("noop", json!({})), ["a"]);
    let mut wrong = check("noop", json!({ "b": "three", "e": "q" }));
    wrong.sort();
    assert_eq!(wrong, ["a", "b", "e"]);
    assert_eq!(check("trace", json!({})), ["reference"]);
    assert!(check("tools", json!({})).is_empty() && check("trace", json!({ "reference": "x" })).is_empty());
    // What cannot be used is told by its refusal, not by its arguments.
    assert!(check("secret_thing", json!({})).is_empty() && check("nothing", json!({})).is_empty());
}

#[tokio::test]
async fn values_are_completed_for_those_who_may_use_the_tool() {
    let gateway = gateway("").await;
    assert_eq!(completed(&gateway, "noop", "e", "").await, ["x", "y"]);
    assert_eq!(completed(&gateway, "noop", "e", "Y").await, ["y"]);
    assert_eq!(completed(&gateway, "noop", "c", "t").await, ["true"]);
    assert!(completed(&gateway, "noop", "a", "").await.is_empty());
    assert!(completed(&gateway, "secret_thing", "e", "").await.is_empty());
    assert_eq!(completed(&gateway, "tools", "word", "LA").await, ["lab"]);
    let mut asked = message(Platform::Telegram, "c1", "ada", "/noop x");
    asked.address.thread = None;
    let said = gateway.say_as(asked).await;
    let found = || async { completed(&gateway, "trace", "reference", "noop").await };
    for _ in 0..2_000 {
        if !found().await.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(found().await, [said.turn.to_string()]);
    let mut eve = ada();
    eve.sender.id = "eve".into();
    assert!(gateway.gateway.core().catalog.complete(&eve, "trace", "reference", "").await.is_empty());
}

#[tokio::test]
async fn a_change_of_tools_or_policies_is_told() {
    let gateway = gateway("").await;
    let catalog = gateway.gateway.core().catalog;
    let before = catalog.menu(&ada()).digest;
    let waiting = tokio::spawn({
        let catalog = catalog.clone();
        async move { catalog.changed(1).await }
    });
    let policies = [allow_lab_with(Platform::Telegram, "tools: { deny: [crash] }")];
    let endpoints = endpoints::Endpoints::new().native("gate", Gate::opened());
    gateway.gateway.swap(Setup::snapshot(TOOLS, &policies, endpoints, 2));
    until("it is told", || waiting.is_finished()).await;
    assert_eq!(waiting.await.unwrap(), 2);
    assert_ne!(catalog.menu(&ada()).digest, before);
}

#[tokio::test]
async fn a_tool_whose_check_says_no_is_hidden_and_whose_says_yes_stays() {
    let tool = |name: &str, check: &str| {
        format!("---\nname: {name}\ntoolset: lab\ncheck: {check}\nendpoint: {{ type: native, name: noop }}\n")
    };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let checked = [
        tool("well", "{ command: [\"true\"] }"),
        tool("ill", "{ command: [\"sh\", \"-c\", \"exit 3\"] }"),
        tool("deaf", &format!("{{ tcp: \"{nobody}\" }}")),
    ];
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let policies = vec![allow_lab_with(Platform::Api, "")];
    let gateway = Setup { tools: format!("{TOOLS}{}", checked.concat()), policies, ..Setup::new(stores) }.start();
    let gateway = gateway.ready().await;
    let listed =
        |name: &str| gateway.gateway.tools(&caller(Platform::Api)).tools.iter().any(|tool| &*tool.name == name);
    assert!(listed("well"));
    until("what is not there is hidden", || !listed("ill") && !listed("deaf")).await;
    assert!(listed("well"));
    let said = gateway.say("/ill").await;
    assert!(said.tree.contains("[unavailable]") || said.tree.contains("denied"), "{}", said.tree);
    let ill = gateway.gateway.snapshot().tools.get("ill").unwrap().unavailable();
    assert_eq!(ill.as_deref(), Some("its 'check' says: 'sh' ends with exit status: 3"));
}
