use std::path::Path;

use expect_test::{Expect, expect};
use futures_util::FutureExt;

use super::*;
use crate::config::{self, Loaded};

mod approvals;
mod asking;
mod lifecycle;
mod pairing;
mod policies;
mod session;

const WEATHER: &str = "\
name: weather
toolset: weather
description: Forecast for a city
parameters: { type: object, required: [city], properties: { city: { type: string } } }
returns: { type: object }
permissions: [read]
endpoint: { method: GET, url: \"http://127.0.0.1:1/weather\" }
execution: { concurrency_limit: 4, timeout: 5s }
";

/// Nothing is asked of a platform, so nothing is waited for.
fn check(loaded: Result<Loaded, Vec<Finding>>) -> Said {
    super::check(loaded, true).now_or_never().expect("without platforms nothing is waited for")
}

/// A folder with a configuration, one tool and one policy.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for name in ["tools", "platform-policies"] {
            std::fs::create_dir(folder.0.path().join(name)).unwrap();
        }
        folder.with("tools/weather.yaml", WEATHER).with(
            "platform-policies/telegram.yaml",
            "platform: telegram\ntoolsets: { allow: [weather] }\nnames: { ops: \"id:7\" }\nonly: { \"tool:weather\": [ops] }\n",
        )
    }

    fn with(self, file: &str, text: &str) -> Self {
        std::fs::write(self.0.path().join(file), text).unwrap();
        self
    }

    fn loaded(&self, text: &str) -> Result<config::Loaded, Vec<Finding>> {
        config::parse(Some(&self.0.path().join("toolgate.yaml")), text, [])
    }

    fn config(&self) -> Config {
        self.loaded("").unwrap().config
    }

    fn check(&self, said: &Said, expected: Expect) {
        let folder = format!("{}/", self.0.path().display());
        let text = said.text.replace(&folder, "");
        let text = text.lines().filter(|line| !line.starts_with("version ")).collect::<Vec<_>>().join("\n");
        expected.assert_eq(&text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>());
    }
}

fn on_telegram(sender: &str) -> Who {
    Who {
        platform: Some(Platform::Telegram),
        tenant: None,
        space: None,
        conversation: None,
        sender: Some(sender.into()),
        role: Vec::new(),
    }
}

#[test]
fn a_good_configuration_is_summed_up() {
    let folder = Folder::new();
    let said = check(folder.loaded("platforms: { telegram: { token: env:T } }"));
    folder.check(
        &said,
        expect![[r#"
        toolgate.yaml: 1 tool, 1 chat account, 0 errors, 0 warnings
    "#]],
    );
    assert_eq!(said.exit, Exit::Ok);
}

#[test]
fn every_kind_of_file_is_checked() {
    let folder = Folder::new()
        .with("tools/bad.yaml", "name: bad\nendpont: { url: x }\n")
        .with("platform-policies/web.yaml", "platform: web\ntolsets: { allow: [] }\n");
    let said = check(folder.loaded("audit: required"));
    folder.check(
        &said,
        expect![[r#"
            error: tools/bad.yaml:2:1: unknown key 'endpont' in a tool: did you mean 'endpoint'?
            error: platform-policies/web.yaml:2:1: unknown key 'tolsets': did you mean 'toolsets'?
            toolgate.yaml: 1 tool, 0 chat accounts, 2 errors, 0 warnings
        "#]],
    );
    assert_eq!((said.exit, &said.json["ok"]), (Exit::BadConfig, &json!(false)));
    let said = check(folder.loaded("lisen: 1"));
    folder.check(
        &said,
        expect![[r#"
        error: toolgate.yaml:1:1: unknown key 'lisen': did you mean 'listen'?
        the configuration cannot be used, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn a_tool_file_is_validated_alone() {
    let folder = Folder::new();
    let path = |name: &str| folder.0.path().join(name);
    let said = validate(&[path("tools/weather.yaml")], None);
    folder.check(
        &said,
        expect![[r#"
        1 tool: weather, 0 errors, 0 warnings
    "#]],
    );
    assert_eq!(validate(&[path("tools/none.yaml")], None).exit, Exit::BadConfig);
}

#[test]
fn specs_as_printed_in_tutorials_are_taken() {
    let text = "name: slow_report_service\nendpoint: { url: \"https://report-api.example.local/generate\", method: POST }\n\
                execution: { timeout: 30s, retries: 2, retry_interval: 500ms, backoff_multiplier: 2, concurrency_limit: 10, \
                circuit_breaker: { failure_threshold: 5, cooldown: 60s } }\n";
    let folder = Folder::new().with("tools/report.yaml", text);
    let said = validate(&[folder.0.path().join("tools/report.yaml")], None);
    folder.check(&said, expect![[r#"
        warning: tools/report.yaml:1:1: no 'description': nobody can tell what the tool is for: write 'description': what it does, and when to use it
        warning: tools/report.yaml:1:1: no 'returns': the answer passes unchecked
        warning: tools/report.yaml:3:28: 'retries' of a tool that is not idempotent: only what was surely not carried out is repeated
        1 tool: slow_report_service, 0 errors, 3 warnings
    "#]]);
    assert_eq!(said.exit, Exit::Ok);
}

#[test]
fn a_list_is_what_somebody_may_use() {
    let folder = Folder::new();
    folder.check(
        &tool::listed(&folder.config(), &on_telegram("7")),
        expect![[r#"
            NAME     DESCRIPTION
            weather  Forecast for a city
        "#]],
    );
    folder.check(
        &tool::listed(&folder.config(), &on_telegram("8")),
        expect![[r#"
        no tool can be used there; 'toolgate policy explain --tool NAME' with the same options says why
    "#]],
    );
    folder.check(
        &tool::shown(&folder.config(), "weather"),
        expect![[r#"
            weather
            Forecast for a city

            usage  /weather city

            parameters
            {
              "type": "object",
              "required": [
                "city"
              ],
              "properties": {
                "city": {
                  "type": "string"
                }
              }
            }

            state       published
            from        tools/weather.yaml:1
            toolset     weather
            labels      read
            repeatable  yes
            timeout     5 s

            returns
            {
              "type": "object"
            }
        "#]],
    );
    folder.check(
        &tool::shown(&folder.config(), "wether"),
        expect![[r#"
        there is no tool 'wether': did you mean 'weather'?
    "#]],
    );
}

#[test]
fn a_folder_that_nobody_named_need_not_be_there() {
    let empty = tempfile::tempdir().unwrap();
    let said = check(config::parse(Some(&empty.path().join("toolgate.yaml")), "", []));
    assert_eq!(said.exit, Exit::Ok, "{}", said.text);
    let said = check(config::parse(Some(Path::new("/nowhere/toolgate.yaml")), "tools: [none/]", []));
    assert_eq!(said.exit, Exit::BadConfig);
}

/// A gateway that answers what a test lets it answer.
async fn answering(path: &'static str, status: u16, body: Value) -> crate::cli::Remote {
    // Another test of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let status = axum::http::StatusCode::from_u16(status).unwrap();
    let answer = move || async move { (status, axum::Json(body)) };
    let app = axum::Router::new().route(path, axum::routing::any(answer));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let gateway = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, app).into_future());
    crate::cli::Remote { gateway: Some(gateway), token: None }
}

fn everything() -> crate::cli::TraceFilter {
    crate::cli::TraceFilter { failed: false, tool: None, session: None, schedule: None, since: None, limit: 20 }
}

const TURN: &str = "01KBA7Q3ZJ8M4W0N5RX2VCT007";

#[tokio::test]
async fn a_trace_is_drawn_with_who_where_and_what() {
    let body = json!({
        "turn": TURN, "platform": "telegram", "account": "main", "tenant": "default", "conversation": "-100",
        "session": "telegram/=main/-/=-100/-", "sender": { "id": "7", "name": "Mia" }, "asked": "/research atlantis",
        "nodes": [
            { "call": 1002, "path": "1.1.1", "parent": 1001, "kind": "call", "tool": "read_page", "state": "failed", "layer": "execution",
              "code": "timeout", "started_us": 1_002_000, "duration_us": 2_002_000, "attempts": 1, "args": "{url: \"x\"}", "detail": "GET /page" },
            { "call": 1000, "path": null, "parent": null, "kind": "turn", "state": "failed", "code": "step.failed", "started_us": 1_000_000, "duration_us": 2_010_000 },
            { "call": 1001, "path": "1.1", "parent": 1000, "kind": "call", "tool": "research", "state": "failed", "code": "step.failed", "started_us": 1_001_000, "duration_us": 2_005_000 },
            { "call": 1003, "kind": "something new", "state": "also new", "code": "code.of.tomorrow", "started_us": 1_001_500, "tool": "later" },
        ],
    });
    let remote = answering("/v1/traces/{turn}", 200, body).await;
    let folder = Folder::new();
    let said = turn(&folder.config(), TURN, false, &remote).await;
    let text: String =
        said.text.lines().filter(|line| !line.starts_with("started ")).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        reference  01KBA7Q3ZJ8M4W0N5RX2VCT007
        where      telegram / main / -100
        who        Mia
        tenant     default
        session    telegram/=main/-/=-100/-
        asked      /research atlantis

        ✗ turn                        +0 µs      2.01 s  execution · step.failed
        ├─ ✗ research 1.1           +1.0 ms      2.00 s  execution · step.failed
        │  └─ ✗ read_page 1.1.1     +2.0 ms      2.00 s  execution · timeout  {url: "x"}
        │       GET /page
        └─ ? later                  +1.5 ms           …  unknown
    "#]]
    .assert_eq(&text);
    assert_eq!(turn(&folder.config(), "no reference", false, &remote).await.exit, Exit::Usage);
}

#[tokio::test]
async fn turns_and_stats_are_tables() {
    let body = json!({ "traces": [{ "turn": TURN, "state": "denied", "code": "denied", "platform": "telegram", "sender": "7",
        "asked": "/order_refund \u{1b}[2J A-17 5", "calls": 1, "started_us": 0, "duration_us": 640 }] });
    let remote = answering("/v1/traces", 200, body).await;
    let folder = Folder::new();
    let said = turns(&folder.config(), &everything(), &remote).await;
    let row = said.text.lines().nth(1).unwrap().to_owned();
    assert!(row.contains(TURN) && row.ends_with("640 µs  permission · denied") && !row.contains('\u{1b}'), "{row}");

    let body = json!({ "tools": [{ "tool": "sleep", "calls": 8, "ok": 7, "failed": { "timeout": 1 }, "p50_us": 50_900, "p95_us": 61_000 }] });
    let remote = answering("/v1/stats", 200, body).await;
    let said = stats(&folder.config(), &crate::cli::StatsFilter::default(), &remote).await;
    folder.check(
        &said,
        expect![[r#"
            TOOL   CALLS      OK    P50    P95  P99  FAILURES
            sleep      8  87.5 %  50 ms  61 ms       1 timeout
        "#]],
    );
}

#[tokio::test]
async fn how_a_schedule_fared_is_a_table_with_its_slowest_tool_first() {
    let tool = |name: &str, calls: u64, us: u64| {
        json!({ "tool": name, "calls": calls, "ok": calls - 1, "failed": { "timeout": 1 }, "p50_us": us / 2,
            "slowest_us": us, "slowest_in": TURN })
    };
    let turns =
        json!({ "turns": 4, "ok": 4, "failed": {}, "p50_us": 2_000_000, "slowest_us": 5_100_000, "slowest_in": TURN });
    let body = json!({ "since_ms": null, "turns": turns, "more": true,
        "tools": [tool("weather_query", 4, 5_000_000), tool("order_query", 4, 40_000)] });
    let remote = answering("/v1/stats", 200, body).await;
    let folder = Folder::new();
    let filter = crate::cli::StatsFilter { schedule: Some(Some("a1b2c3d4".parse().unwrap())), ..Default::default() };
    folder.check(
        &stats(&folder.config(), &filter, &remote).await,
        expect![[r#"
        4 turns, 100.0 % ok, p50 2.00 s, the slowest 5.10 s in 01KBA7Q3ZJ8M4W0N5RX2VCT007; older turns are not counted

        TOOL           CALLS      OK     P50  SLOWEST  SLOWEST IN                  FAILURES
        weather_query      4  75.0 %  2.50 s   5.00 s  01KBA7Q3ZJ8M4W0N5RX2VCT007  1 timeout
        order_query        4  75.0 %   20 ms    40 ms  01KBA7Q3ZJ8M4W0N5RX2VCT007  1 timeout
    "#]],
    );
    let nothing = answering("/v1/stats", 200, json!({ "turns": null, "tools": [] })).await;
    let said = stats(&folder.config(), &filter, &nothing).await;
    assert_eq!(said.text, "no schedule had a turn in that time");
}

#[tokio::test]
async fn a_problem_of_the_gateway_is_told_with_its_layer() {
    let body = json!({
        "title": "invalid arguments", "detail": "'weather' cannot run with these arguments: one thing is wrong",
        "code": "args.invalid", "layer": "validation", "reference": TURN, "usage": "/weather city",
        "problems": [{ "path": "city", "expected": "text", "hint": "for example Oslo" }],
    });
    let remote = answering("/v1/tools/{name}/invoke", 422, body).await;
    let who = on_telegram("7");
    let asked = crate::cli::Invoke { name: "weather".into(), params: "{}".into(), who, remote };
    let folder = Folder::new();
    let said = invoke(&folder.config(), &asked).await;
    folder.check(
        &said,
        expect![[r#"
        'weather' cannot run with these arguments: one thing is wrong
          city: expected text, but it is missing (for example Oslo)
          usage: /weather city
          validation · args.invalid
          toolgate trace show 01KBA7Q3ZJ8M4W0N5RX2VCT007
    "#]],
    );
    assert_eq!(said.exit, Exit::Failed);
}

#[tokio::test]
async fn readiness_decides_the_exit_code() {
    let folder = Folder::new();
    let conditions =
        json!({ "ready": false, "conditions": [{ "part": "store", "state": "degraded", "says": "away" }] });
    let said = health(&folder.config(), &answering("/readyz", 503, conditions).await).await;
    assert_eq!((said.text.as_str(), said.exit), ("not ready\nstore: degraded away", Exit::Failed));
    let said = health(&folder.config(), &answering("/readyz", 200, json!({ "ready": true })).await).await;
    assert_eq!((said.text.as_str(), said.exit), ("ready", Exit::Ok));
}

#[tokio::test]
async fn without_gateway_and_store_nothing_is_made() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = Folder::new();
    let config = folder.loaded("listen: 127.0.0.1:1").unwrap().config;
    let remote = crate::cli::Remote { gateway: None, token: None };
    let said = turns(&config, &everything(), &remote).await;
    assert_eq!(said.exit, Exit::Failed);
    assert!(!folder.0.path().join("toolgate.db").exists());
}

const ACT: &str = "\
name: act
description: Takes effect once
parameters: { type: object, required: [ms], properties: { ms: { type: integer } } }
endpoint: { type: native, name: sleep }
execution: { concurrency_limit: 4, timeout: 5s }
";

fn acting(ms: &str) -> crate::cli::Invoke {
    let who = Who { platform: None, sender: None, ..on_telegram("") };
    crate::cli::Invoke {
        name: "act".into(),
        params: json!({ "ms": ms }).to_string(),
        who,
        remote: crate::cli::Remote { gateway: None, token: None },
    }
}

/// With a store of its own, and listening where nothing does.
fn without_gateway(folder: &Folder) -> Config {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    folder.loaded(&format!("listen: {free}\nstore: sqlite:toolgate.db\n")).unwrap().config
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_gateway_a_tool_is_run_alone_and_its_tree_stays() {
    let folder = Folder::new().with("tools/act.yaml", ACT);
    let config = without_gateway(&folder);
    let asked = acting("1");
    let said = invoke(&config, &asked).await;
    assert_eq!(said.exit, Exit::Ok, "{}", said.text);
    let reference = said.json["reference"].as_str().unwrap();
    let listed = turns(&config, &everything(), &asked.remote).await;
    assert_eq!(listed.json["traces"][0]["turn"], reference, "{}", listed.text);
    let shown = turn(&config, reference, false, &asked.remote).await;
    let call = shown.json["nodes"].as_array().unwrap().iter().find(|node| node["tool"] == "act").unwrap();
    assert_eq!((&call["state"], &call["marks"]), (&json!("ok"), &json!(["coerced ms: \"1\" to 1"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_process_is_said_and_nothing_is_run() {
    let folder = Folder::new().with("tools/act.yaml", ACT);
    let config = without_gateway(&folder);
    let stores = crate::run::gateway::open_store(&config).await.unwrap();
    assert!(!stores.turns.hold().await.unwrap().is_empty());
    let asked = acting("1");
    let said = invoke(&config, &asked).await;
    assert_eq!(said.exit, Exit::Restart);
    folder.check(&said, expect![[r#"
        another process works on the store sqlite:toolgate.db, so nothing was run; ask it with --gateway URL, or stop it first
    "#]]);
    stores.close().await;
    assert_eq!(turns(&config, &everything(), &asked.remote).await.json["traces"], json!([]));
}
