//! The example of docs/HOOKS.md does what the page says.

use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};

use axum::{Json, Router, routing::post};
use contract::{Caller, Origin, Platform, Sender};
use serde_json::{Value, json};

use super::*;
use crate::{
    config,
    run::gateway::{self, Running},
    sources::{Origins, endpoints},
};

const PAGE: &str = include_str!("../../../../../docs/HOOKS.md");

/// The first block of the page that is marked so.
fn block(marked: &str) -> &'static str {
    let begin = format!("```{marked}\n");
    let (_, rest) = PAGE.split_once(&begin).unwrap_or_else(|| panic!("a block is marked '{marked}'"));
    rest.split_once("```").unwrap().0
}

/// Answers a refund with what it was sent, and with somebody's address.
async fn service() -> String {
    let answer = |Json(sent): Json<Value>| async move { Json(json!({"sent": sent, "by": "ada@example.org"})) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/refunds", post(answer))).await });
    format!("http://{address}/refunds")
}

fn tool(url: &str) -> String {
    format!(
        "name: refund\ntoolset: orders\ndescription: Gives the money for an order back\npermissions: [pii]\n\
         parameters:\n  type: object\n  required: [order, amount, region]\n  properties:\n    order: {{ type: string }}\n    \
         amount: {{ type: integer }}\n    region: {{ type: string }}\nendpoint: {{ method: POST, url: \"{url}\" }}\n"
    )
}

async fn start(folder: &Path) -> Running {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    for sub in ["tools", "platform-policies"] {
        std::fs::create_dir(folder.join(sub)).unwrap();
    }
    write("tools/refund.yaml", &tool(&service().await));
    write("platform-policies/api.yaml", "platform: api\ntoolsets: { allow: [orders] }\n");
    write("platform-policies/labels.yaml", "labels: { pii: says something of people }\n");
    for script in ["ceiling.sh", "journal.sh"] {
        write(script, block(&format!("sh hook {script}")));
        std::fs::set_permissions(folder.join(script), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = format!("store: sqlite:toolgate.db\n{}", block("yaml config"));
    let config = config::parse(Some(&folder.join("toolgate.yaml")), &text, []).unwrap().config;
    let endpoints = endpoints(&config);
    let settings = added(gateway::settings(&config), &config, &endpoints).unwrap();
    let stores = gateway::open_store(&config).await.unwrap();
    let running = gateway::open(Origins::of(&config), stores, settings, None, endpoints).await.unwrap();
    assert_eq!(for_nothing(&config, &running.gateway.snapshot().tools), []);
    running.start();
    assert!(running.is_ours().await);
    running
}

fn caller() -> Caller {
    Caller {
        platform: Platform::Api,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: "c".into(),
        thread: None,
        sender: Sender { id: "1".into(), name: "ada".into() },
        roles: Vec::new(),
        origin: Origin::Api,
    }
}

#[tokio::test]
async fn the_example_of_the_page_fills_refuses_masks_and_writes_down() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path()).await;
    let done = running.gateway.invoke(caller(), "refund", Ok(json!({"order": "A-17", "amount": 5}))).await;
    let answer = json!({"sent": {"order": "A-17", "amount": 5, "region": "eu"}, "by": "[email]"});
    assert_eq!(done.outcome.result.unwrap(), answer);
    let nodes = running.gateway.tree(done.turn).await.unwrap();
    let marks = &nodes.iter().find(|node| node.tool == "refund").unwrap().marks;
    assert_eq!(*marks, ["hook 'region': set region", "hook 'ceiling': allowed", "hook 'privacy': masked 1"]);
    for mark in marks {
        assert!(PAGE.contains(mark.as_str()), "the page shows {mark}");
    }

    let refused = running.gateway.invoke(caller(), "refund", Ok(json!({"order": "A-18", "amount": 1000}))).await;
    assert_eq!(refused.outcome.result.unwrap_err().to_string(), "refunds above 999 need a ticket");

    let written = || std::fs::read_to_string(folder.path().join("journal.jsonl")).unwrap_or_default();
    for _ in 0..2_000 {
        if written().lines().count() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut ends: Vec<Value> = written().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    ends.sort_by_key(|end| end["end"]["state"].to_string());
    let shown: Vec<_> = ends.iter().map(|end| (end["hook"].clone(), end["end"]["code"].clone())).collect();
    assert_eq!(shown, [(json!("journal"), json!("hook.refused")), (json!("journal"), Value::Null)]);
    running.stop(None).await;
}
