//! Tools from their YAML to their outcome: registry, policy, schema, guard and endpoint together, over real HTTP.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is how they fail")]

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::{Json, Router, body::Body, extract::State as Shared, http::StatusCode, response::Response, routing};
use contract::{
    Address, Call, CallPath, Caller, Code, Effect, Failure, FileRef, Origin, Outcome, Platform, Private, Reply, Sender,
    State, TurnId, seams::ByteStream,
};
use endpoints::{Endpoints, Native, secret::Known};
use expect_test::expect;
use futures_util::{StreamExt, future::BoxFuture};
use policies::{Compiled, Policies, Rights, Source};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tools::{Cx, Fault, Host, Instant, Permitted, Registry, Report, Resources, RunCx, Snapshot, ToolFailure};

const TOOLS: &str = r#"
name: order_query
description: Look up an order
parameters: { type: object, required: [id], properties: { id: { type: string } } }
returns: { type: object, required: [amount], properties: { amount: { type: number } } }
endpoint: { url: "SERVICE/orders/{id}" }
---
name: count
description: Count how many are inside
parameters: {}
endpoint: { url: "SERVICE/count", method: POST }
execution: { concurrency_limit: 5, timeout: 20s }
---
name: read_slowly
description: Never gets an answer
parameters: { type: object, properties: { how: { type: string } } }
endpoint: { url: "SERVICE/hang/{how}" }
execution: { timeout: 300ms }
---
name: write_slowly
description: Never gets an answer, and may have written
parameters: { type: object, properties: { how: { type: string } } }
endpoint: { url: "SERVICE/hang/{how}", method: POST }
execution: { timeout: 300ms }
---
name: nobody
description: Nobody is there
parameters: {}
endpoint: { url: "http://127.0.0.1:1/x", method: POST }
---
name: sleep
description: Sleep
parameters: { type: object, required: [ms], properties: { ms: { type: integer, maximum: 60000 } } }
endpoint: { type: native, name: sleep }
---
name: crash
description: Crash
parameters: {}
endpoint: { type: native, name: crash }
---
name: secret
description: Nobody may
parameters: {}
endpoint: { type: native, name: noop }
---
name: both
description: Two orders and their sum
parameters: { type: object, required: [ids], properties: { ids: { type: array, items: { type: string } } } }
returns: { type: object, properties: { total: { type: number } } }
endpoint:
  type: pipeline
  steps:
    - { id: orders, for_each: "{{ args.ids }}", tool: order_query, args: { id: "{{ item }}" } }
  result: { total: "{{ steps.orders | map(attribute='amount') | sum }}" }
---
name: slow_pipeline
description: Its second step never answers
parameters: {}
endpoint: { type: pipeline, steps: [{ tool: order_query, args: { id: A } }, { tool: read_slowly, args: { how: before } }] }
---
name: leaks
description: Tells what it should not
parameters: { type: object, properties: { fail: { type: boolean } } }
endpoint: { type: native, name: leaks }
---
name: sly_pipeline
description: Calls what its caller may not
parameters: {}
endpoint: { type: pipeline, steps: [{ tool: secret }] }
"#;

const POLICY: &str = "platform: telegram\ntoolsets: { allow: [default] }\ntools: { deny: [secret] }\n";

/// A function that tells a secret wherever it can.
struct Leaks;

#[async_trait]
impl Native for Leaks {
    async fn call(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let secret = SecretString::from("the-secret-of-somebody");
        Known::shared().note(&secret);
        let words = format!("it is {}", secret.expose_secret());
        cx.host.progress(&words);
        match args["fail"] == true {
            true => Err(ToolFailure::new(Fault::Broken, words.clone()).hint(words.clone()).cause(Private::new(words))),
            false => Ok(json!({ "words": words, secret.expose_secret(): 1 })),
        }
    }
}

/// How many are at the service at once, and the most that ever were.
#[derive(Default)]
struct Inside(AtomicUsize, AtomicUsize);

async fn service(inside: Arc<Inside>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .route("/orders/{id}", routing::get(order))
        .route("/count", routing::post(count))
        .route("/hang/{how}", routing::any(hang))
        .with_state(inside);
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

async fn order(axum::extract::Path(id): axum::extract::Path<String>) -> Result<Json<Value>, StatusCode> {
    match id.as_str() {
        "text" => Ok(Json(json!({ "amount": "12.5" }))),
        "odd" => Ok(Json(json!({ "amount": "a lot" }))),
        "broken" => Err(StatusCode::INTERNAL_SERVER_ERROR),
        _ => Ok(Json(json!({ "amount": 2, "id": id }))),
    }
}

async fn count(Shared(inside): Shared<Arc<Inside>>) -> &'static str {
    let now = inside.0.fetch_add(1, Ordering::SeqCst) + 1;
    inside.1.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(20)).await;
    inside.0.fetch_sub(1, Ordering::SeqCst);
    "ok"
}

async fn hang(axum::extract::Path(how): axum::extract::Path<String>) -> Response {
    let drip = |pause: u64| {
        let chunks = futures_util::stream::repeat(()).then(move |()| async move {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            Ok::<_, Infallible>(" ")
        });
        Response::new(Body::from_stream(chunks))
    };
    match how.as_str() {
        "after" => Response::new(Body::from_stream(futures_util::stream::pending::<Result<&str, Infallible>>())),
        "middle" => Response::new(Body::from_stream(
            futures_util::stream::iter([Ok::<_, Infallible>("{\"a\":")]).chain(futures_util::stream::pending()),
        )),
        "drip" => drip(20),
        _ => std::future::pending().await,
    }
}

struct World {
    snapshot: Arc<Snapshot>,
    policies: Compiled,
    resources: Resources,
    caller: Caller,
    turn: TurnId,
    cancel: CancellationToken,
    inside: Arc<Inside>,
    /// What calls say while they run.
    progress: Mutex<Vec<String>>,
}

impl World {
    async fn new() -> Arc<Self> {
        let inside = Arc::new(Inside::default());
        let address = service(inside.clone()).await;
        let tools = TOOLS.replace("SERVICE", &format!("http://{address}"));
        let loaded =
            Registry::new(Arc::new(Endpoints::new().native("leaks", Leaks))).load_with(&[], &[("tools.yaml", &tools)]);
        assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
        let policies = Policies::parse(&[Source::new("telegram.yaml", POLICY)]).unwrap().policies;
        let (policies, _) = policies.compile(&loaded.snapshot.facts()).unwrap();
        let caller = Caller {
            platform: Platform::Telegram,
            account: "main".into(),
            tenant: "default".into(),
            space: None,
            conversation: "-1".into(),
            thread: None,
            sender: Sender { id: "1".into(), name: "Ann".into() },
            roles: vec![],
            origin: Origin::Command,
        };
        let (turn, cancel) = (TurnId::new(), CancellationToken::new());
        Arc::new(Self {
            snapshot: loaded.snapshot,
            policies,
            resources: Resources::default(),
            caller,
            turn,
            cancel,
            inside,
            progress: Mutex::default(),
        })
    }

    /// One call through the whole of it, as dispatch would.
    fn run(self: Arc<Self>, call: Call, within: Option<Rights>) -> BoxFuture<'static, (Outcome, Option<Report>)> {
        Box::pin(async move {
            let ended = |state, result, repeatable| Outcome {
                path: call.path.clone(),
                tool: call.tool.clone(),
                state,
                result,
                repeatable,
                took_us: 0,
            };
            let permit =
                match policies::permit(&self.policies, &self.policies, &self.caller, &call.tool, within.as_ref()) {
                    Ok(permit) => permit,
                    Err(refusal) => {
                        return (ended(State::Denied, Err(refusal.to_failure(&call.tool, &[])), false), None);
                    }
                };
            let tool = self.snapshot.get(&call.tool).unwrap().clone();
            let prepared = match tool.prepare(call.args.clone()) {
                Ok(prepared) => prepared,
                Err(failure) => return (ended(State::Failed, Err(failure), true), None),
            };
            let permitted = Permitted::new(permit, tool, prepared, call.path.clone()).unwrap().queue(&self.resources);
            let host = Children { world: self.clone(), path: call.path.clone(), rights: permitted.rights().clone() };
            let cx = RunCx {
                caller: &self.caller,
                turn: self.turn,
                deadline: Instant::now() + Duration::from_secs(60),
                cancel: &self.cancel,
                idempotency_key: "key",
                host: &host,
                resources: &self.resources,
                places: None,
                repeatable: self.snapshot.is_repeatable(&call.tool),
                stages: None,
            };
            let report = tools::run(permitted, cx).await;
            let state = if report.result.is_ok() { State::Ok } else { State::Failed };
            (ended(state, report.result.clone(), report.repeatable), Some(report))
        })
    }

    async fn call(self: &Arc<Self>, tool: &str, args: Value) -> (Outcome, Option<Report>) {
        self.clone().run(Call { path: CallPath::top(1, 1), tool: tool.into(), args }, None).await
    }

    async fn batch(self: &Arc<Self>, calls: Vec<(&str, Value)>) -> Vec<String> {
        let calls = calls.into_iter().zip(1..).map(|((tool, args), n)| {
            self.clone().run(Call { path: CallPath::top(1, n), tool: tool.into(), args }, None)
        });
        futures_util::future::join_all(calls).await.into_iter().map(|(outcome, _)| line(&outcome)).collect()
    }
}

fn line(outcome: &Outcome) -> String {
    match &outcome.result {
        Ok(value) => format!("{} {}: {value}", outcome.tool, outcome.state.as_str()),
        Err(failure) => format!("{} {}: {} {failure}", outcome.tool, outcome.state.as_str(), failure.code),
    }
}

struct Children {
    world: Arc<World>,
    path: CallPath,
    rights: Rights,
}

#[async_trait]
impl Host for Children {
    async fn children(&self, calls: Vec<(String, Value)>) -> Vec<Outcome> {
        let calls = calls.into_iter().zip(1..).map(|((tool, args), n)| {
            let call = Call { path: self.path.child(n), tool, args };
            self.world.clone().run(call, Some(self.rights.clone()))
        });
        futures_util::future::join_all(calls).await.into_iter().map(|(outcome, _)| outcome).collect()
    }

    fn progress(&self, text: &str) {
        self.world.progress.lock().unwrap().push(text.to_owned());
    }

    async fn post(&self, _to: Address, _reply: Reply) -> Result<(), ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "no other conversations here"))
    }

    async fn open(&self, _file: &FileRef) -> Result<ByteStream, ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "no files here"))
    }
}

#[tokio::test]
async fn a_batch_keeps_its_order_whatever_becomes_of_each_call() {
    let world = World::new().await;
    let calls = vec![
        ("sleep", json!({ "ms": "80" })),
        ("order_query", json!({ "id": "A-17" })),
        ("order_query", json!({ "id": "text" })),
        ("order_query", json!({ "id": "odd" })),
        ("order_query", json!({ "id": "broken" })),
        ("order_query", json!({ "id": ".." })),
        ("order_query", json!({})),
        ("crash", json!({})),
        ("secret", json!({})),
        ("nothing", json!({})),
        ("nobody", json!({})),
    ];
    let lines = world.batch(calls).await.join("\n") + "\n";
    expect![[r#"
        sleep ok: {"slept_ms":80}
        order_query ok: {"amount":2,"id":"A-17"}
        order_query ok: {"amount":12.5}
        order_query failed: returns.invalid 'order_query' answered something else than it declares
        order_query failed: upstream.5xx 'order_query' failed on its own side (500)
        order_query failed: input.refused 'order_query' cannot be called with these values
        order_query failed: args.invalid 'order_query' cannot run with these arguments: one thing is wrong
        crash failed: panic something broke on our side; other calls were not affected
        secret denied: tool.unknown 'secret' is not available here
        nothing denied: tool.unknown 'nothing' is not available here
        nobody failed: upstream.unreachable 'nobody' could not be reached
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn a_service_that_hangs_anywhere_is_left_at_the_deadline() {
    let world = World::new().await;
    for how in ["before", "after", "middle", "drip"] {
        let (read, report) = world.call("read_slowly", json!({ "how": how })).await;
        assert_eq!(read.result.unwrap_err().code, Code::Timeout, "{how}");
        assert!(report.unwrap().request.for_operator().ends_with(&format!("/hang/{how}")));
        let (written, _) = world.call("write_slowly", json!({ "how": how })).await;
        let failure = written.result.unwrap_err();
        assert_eq!(
            (failure.code, failure.effect),
            (Code::Timeout, Effect::Unknown),
            "{how}: it may have been carried out"
        );
        assert!(!written.repeatable);
    }
}

#[tokio::test]
async fn no_more_than_the_limit_are_at_the_service_at_once() {
    let world = World::new().await;
    let ends = world.batch(vec![("count", json!({})); 16]).await;
    assert!(ends.iter().all(|end| end == "count ok: \"ok\""), "{ends:?}");
    let most = world.inside.1.load(Ordering::SeqCst);
    assert!((2..=5).contains(&most), "{most}");
}

#[tokio::test]
async fn a_pipeline_runs_its_steps_as_children_with_its_callers_rights() {
    let world = World::new().await;
    let (sum, _) = world.call("both", json!({ "ids": ["A", "text"] })).await;
    assert_eq!(line(&sum), r#"both ok: {"total":14.5}"#);
    let (slow, _) = world.call("slow_pipeline", json!({})).await;
    let failure: Failure = slow.result.unwrap_err();
    assert_eq!(failure.code, Code::StepFailed);
    expect!["'read_slowly' did not answer within 300 ms"].assert_eq(failure.say.as_str());
    let (sly, _) = world.call("sly_pipeline", json!({})).await;
    assert_eq!(line(&sly), "sly_pipeline failed: step.failed 'secret' is not available here");
}

#[tokio::test]
async fn whatever_an_endpoint_tells_no_secret_leaves_it() {
    let world = World::new().await;
    let (_, report) = world.call("leaks", json!({})).await;
    assert_eq!(report.unwrap().result.unwrap(), json!({ "words": "it is ***", "***": 1 }));
    let (_, report) = world.call("leaks", json!({ "fail": true })).await;
    let failure = report.unwrap().result.unwrap_err();
    assert_eq!((failure.say.as_str(), failure.cause.for_operator()), ("it is ***", "it is ***"));
    assert_eq!(failure.hint.unwrap().as_str(), "it is ***");
    assert_eq!(*world.progress.lock().unwrap(), ["it is ***", "it is ***"]);
}

#[tokio::test]
async fn a_cancel_reaches_what_is_under_way() {
    let world = World::new().await;
    let stop = world.cancel.clone();
    let run = world.batch(vec![("sleep", json!({ "ms": 60_000 })), ("slow_pipeline", json!({}))]);
    let (ends, ()) = tokio::join!(run, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.cancel();
    });
    assert!(ends.iter().all(|end| end.contains("cancelled")), "{ends:?}");
}
