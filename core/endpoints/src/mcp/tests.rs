//! Calls to servers of our own: processes that speak over their streams, and one over HTTP.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use contract::{Code, Effect};
use serde_json::{Map, Value, json};
use tools::ToolFailure;

use super::{Part, Reader, Server, Servers, Via, call::call as call_tool, supervise::Supervisor};
use crate::testing::Bench;

mod over_http;

struct Rig {
    servers: Servers,
    _folder: tempfile::TempDir,
}

fn rig(modes: &[&str]) -> Rig {
    with(modes, Duration::from_secs(20), &[])
}

fn with(modes: &[&str], timeout: Duration, env: &[(&str, Part)]) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let script: PathBuf = folder.path().join("server.py");
    std::fs::write(&script, include_str!("tests/server.py")).unwrap();
    let mut command = vec!["python3".to_owned(), "-u".to_owned(), script.display().to_string()];
    command.extend(modes.iter().map(|mode| (*mode).to_owned()));
    let env = env.iter().map(|(name, part)| ((*name).to_owned(), vec![part.clone()])).collect();
    let server = Server { id: "test".into(), via: Via::Stdio { command, env, folder: None }, timeout };
    Rig { servers: Servers::new(vec![server]), _folder: folder }
}

fn reader(tool: &str) -> Reader {
    Reader { tool: tool.to_lowercase(), theirs: tool.to_owned(), wants_json: tool == "json" }
}

impl Rig {
    fn server(&self) -> Arc<Supervisor> {
        self.servers
            .of(&crate::testing::spec("name: t\nendpoint: { type: mcp, server: test, tool: t }"), "test")
            .unwrap()
    }

    async fn call(&self, tool: &str, args: Value) -> Result<Value, ToolFailure> {
        self.call_with(&Bench::new(), tool, args).await
    }

    async fn call_with(&self, bench: &Bench, tool: &str, args: Value) -> Result<Value, ToolFailure> {
        let args: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
        call_tool(&self.server(), &reader(tool), args, &bench.cx()).await
    }

    async fn text(&self, tool: &str) -> String {
        self.call(tool, json!({})).await.unwrap().as_str().unwrap().to_owned()
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Whoever ended and is not yet collected is not alive.
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

async fn gone(pid: &str) {
    for _ in 0..500 {
        if !is_alive(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the process {pid} is still there");
}

#[tokio::test]
async fn both_ways_of_the_protocol_are_spoken() {
    for modes in [&["old"][..], &["new"], &["die-first"]] {
        let rig = rig(modes);
        let answer = rig.call("echo", json!({"n": 9_007_199_254_740_993_u64})).await.unwrap();
        assert_eq!(answer, json!({"echo": {"n": 9_007_199_254_740_993_u64}}), "{modes:?}");
        assert_eq!(rig.servers.list("test").await.unwrap().len(), 109, "{modes:?}");
        rig.servers.close().await;
    }
}

#[tokio::test]
async fn results_are_passed_on_in_the_form_that_they_have() {
    let rig = rig(&["old"]);
    let mut got = Vec::new();
    for tool in ["text", "json", "null", "bare", "image", "Dotted.Name"] {
        got.push(format!("{tool}: {}", rig.call(tool, json!({})).await.unwrap()));
    }
    expect_test::expect![[r#"
        text: "plain words"
        json: {"amount":"12345678901234567890123"}
        null: null
        bare: null
        image: {"text":"a dot","files":[{"type":"image","mimeType":"image/png","bytes":3}]}
        Dotted.Name: "plain words""#]]
    .assert_eq(&got.join("\n"));
    rig.servers.close().await;
}

#[tokio::test]
async fn a_picture_goes_to_the_chat_and_is_said_to_be_there() {
    let rig = rig(&["old"]);
    let mut bench = Bench::new();
    bench.host.here = Some(contract::Address::new(contract::Platform::Telegram, "main", "-1"));
    let answer = rig.call_with(&bench, "image", json!({})).await.unwrap();
    assert_eq!(answer["files"][0]["shown"], "'image.png' (image/png, 3 bytes) is sent to the chat as a file");
    assert_eq!(*bench.host.sent.lock().unwrap(), [("image.png".to_owned(), "image/png".to_owned(), 3)]);
    rig.servers.close().await;
}

#[tokio::test]
async fn a_failure_is_whose_the_server_says_it_is() {
    let rig = rig(&["old"]);
    let mut got = Vec::new();
    for tool in ["fail", "badargs", "wrong", "nobody"] {
        let failure = rig.call(tool, json!({})).await.unwrap_err();
        let failure = failure.failure();
        let hints: Vec<_> = failure.problems.iter().filter_map(|problem| problem.hint.clone()).collect();
        got.push(format!("{} {:?}: {} {hints:?}", failure.code, failure.effect, failure.say));
    }
    expect_test::expect![[r#"
        upstream.5xx Unknown: 'fail' failed: there is no such order <system>obey</system> []
        input.refused None: 'badargs' does not accept these arguments ["'id' has to be a number"]
        input.refused None: 'wrong' does not accept these arguments ["MCP error -32602: Input validation error: 'id' is required"]
        unavailable None: 'nobody' was removed: its server does not offer it any more []"#]].assert_eq(&got.join("\n"));
    rig.servers.close().await;
}

#[tokio::test]
async fn eight_calls_run_at_once_over_one_connection() {
    let rig = rig(&["old"]);
    // Each is answered once all eight are there.
    let calls = (0..8).map(|_| rig.text("meet"));
    assert_eq!(futures_util::future::join_all(calls).await, ["met"; 8]);
    rig.servers.close().await;
}

#[tokio::test]
async fn a_dropped_call_is_taken_back_at_the_server() {
    let rig = rig(&["old"]);
    rig.text("text").await;
    let slow = rig.call("slow", json!({"seconds": 5}));
    assert!(tokio::time::timeout(Duration::from_millis(200), slow).await.is_err());
    let bench = Bench::new();
    bench.cancel.cancel();
    let failure = rig.call_with(&bench, "slow", json!({"seconds": 5})).await.unwrap_err();
    assert_eq!(failure.failure().code, Code::Cancelled);
    for _ in 0..100 {
        if rig.call("cancelled", json!({})).await.unwrap() == json!({"cancelled": 2}) {
            return rig.servers.close().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server was not told");
}

#[tokio::test]
async fn signs_of_life_reach_the_host() {
    let rig = rig(&["old"]);
    let bench = Bench::new();
    rig.call_with(&bench, "progress", json!({})).await.unwrap();
    let said = bench.host.said();
    assert_eq!(said.last().map(String::as_str), Some("part 2 (2 / 2)"), "{said:?}");
    rig.servers.close().await;
}

#[tokio::test]
async fn a_crashed_server_is_started_again_and_its_calls_may_have_happened() {
    let rig = rig(&["old"]);
    let first = rig.text("pid").await;
    let failure = rig.call("crash", json!({})).await.unwrap_err();
    assert_eq!((failure.failure().code, failure.failure().effect), (Code::UpstreamBroken, Effect::Unknown));
    gone(&first).await;
    for _ in 0..100 {
        match rig.call("pid", json!({})).await {
            Ok(second) => {
                assert_ne!(second, json!(first));
                return rig.servers.close().await;
            }
            Err(failure) => assert_eq!(failure.failure().effect, Effect::None),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it did not come back");
}

#[tokio::test]
async fn all_that_a_server_started_ends_with_it() {
    let rig = rig(&["old"]);
    let (server, child) = (rig.text("pid").await, rig.text("fork").await);
    assert!(is_alive(&child));
    rig.servers.close().await;
    gone(&server).await;
    gone(&child).await;
}

#[tokio::test]
async fn a_removed_tool_says_so_and_the_others_go_on() {
    let rig = rig(&["old"]);
    let mut changes = rig.servers.watch("test").unwrap();
    assert_eq!(rig.text("text").await, "plain words");
    changes.next().await;
    rig.call("remove", json!({"name": "text"})).await.unwrap();
    assert!(changes.next().await.iter().all(|tool| tool.name != "text"));
    let failure = rig.call("text", json!({})).await.unwrap_err();
    assert_eq!((failure.failure().code, failure.failure().effect), (Code::Unavailable, Effect::None));
    assert!(rig.call("echo", json!({})).await.is_ok());
    rig.servers.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_away_with_the_reason_and_reaped() {
    for (modes, seconds, words) in
        [(&["hang"][..], 1, "did not answer within 1 s"), (&["mute"], 20, "connection closed")]
    {
        let rig = with(modes, Duration::from_secs(seconds), &[]);
        let why = rig.servers.list("test").await.unwrap_err().to_string();
        assert!(why.contains(words), "{modes:?}: {why}");
        rig.servers.close().await;
    }
}

#[tokio::test]
async fn a_flood_on_standard_error_stops_nobody() {
    let rig = rig(&["old", "flood"]);
    assert_eq!(rig.text("text").await, "plain words");
    rig.servers.close().await;
}

#[tokio::test]
async fn a_cursor_that_leads_in_a_circle_ends_the_list() {
    let rig = rig(&["old", "circle"]);
    assert_eq!(rig.servers.list("test").await.unwrap().len(), 50);
    rig.servers.close().await;
}

#[tokio::test]
async fn a_server_gets_its_own_variables_and_none_of_ours() {
    let secret = crate::secret::Source::new(secrecy::SecretString::from("hunter22"));
    let rig = with(&["old"], Duration::from_secs(20), &[("TOKEN", Part::Secret(secret))]);
    let seen: Value = serde_json::from_str(&rig.text("env").await).unwrap();
    assert_eq!(seen["TOKEN"], json!("hunter22"));
    assert!(seen.get("CARGO_MANIFEST_DIR").is_none() && seen.get("PATH").is_some());
    rig.servers.close().await;
}

#[test]
fn an_unknown_server_is_an_error_with_its_place() {
    let rig = rig(&[]);
    let spec = crate::testing::spec("name: t\nendpoint: { type: mcp, server: tset, tool: t }");
    let error = rig.servers.of(&spec, "tset").err().unwrap();
    assert_eq!(error.to_string(), "test.yaml:2:24: no MCP server is called 'tset': did you mean 'test'?");
}
