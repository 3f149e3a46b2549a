//! A gateway with its HTTP interface, and those who ask it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{Router, routing::get};
use contract::{Platform, seams::Condition};
use endpoints::{Endpoints, Native};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use testkit::{InABox, Scripted, Setup};
use tokio_util::sync::CancellationToken;
use tools::{Cx, Fault, ToolFailure};

pub const ADMIN: &str = "admin-token";
pub const DESKTOP: &str = "desktop-token";
pub const OTHER: &str = "other-token";

const TOOLS: &str = r#"
name: sleep
toolset: lab
description: Sleeps for some milliseconds
permissions: [read]
parameters: { type: object, required: [ms], properties: { ms: { type: integer, minimum: 0, maximum: 60000 } } }
endpoint: { type: native, name: sleep }
---
name: crash
toolset: lab
description: Crashes on purpose
permissions: [read]
endpoint: { type: native, name: crash }
---
name: secret_thing
toolset: secret
description: A tool that nobody is allowed
endpoint: { type: native, name: noop }
---
name: echo
toolset: lab
description: Gives its arguments back
permissions: [read]
parameters: { type: object, required: [n], properties: { n: { type: integer }, m: { type: integer } } }
endpoint: { type: native, name: echo }
---
name: fail
toolset: lab
description: Fails in the way that is asked for
permissions: [read]
parameters: { type: object, required: [how], properties: { how: { type: string } } }
endpoint: { type: native, name: fail }
---
name: transfer
toolset: lab
description: Takes effect once
endpoint: { type: native, name: noop }
"#;

pub struct World {
    pub gateway: InABox,
    pub web: web::Running,
    pub shutdown: CancellationToken,
    pub http: Client,
}

struct Echo;

#[async_trait]
impl Native for Echo {
    async fn call(&self, args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        Ok(args.clone())
    }
}

struct Fail;

#[async_trait]
impl Native for Fail {
    async fn call(&self, args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let fault = match args["how"].as_str().unwrap_or_default() {
            "timeout" => Fault::Timeout,
            "refused" => Fault::Refused,
            "rate" => Fault::RateLimited,
            "busy" => Fault::Busy,
            "input" => return Err(ToolFailure::input_refused("no such order", Vec::new())),
            _ => Fault::Failed,
        };
        let cause = contract::Private::new("https://internal.test/?key=sk_live_1");
        let failure = ToolFailure::new(fault, "the service did not answer well").cause(cause);
        Err(if fault == Fault::RateLimited { failure.retry_after(Duration::from_millis(6_500)) } else { failure })
    }
}

/// With an admin token and two clients.
pub async fn world() -> World {
    let fixed = |text: &'static str| web::token(move || async move { Some(text.into()) });
    let client = |name: &str, token, tenant: Option<&str>| web::Client {
        name: name.into(),
        token: fixed(token),
        platform: Platform::Api,
        tenant: tenant.map(Into::into),
    };
    let clients = vec![client("desktop", DESKTOP, None), client("other", OTHER, Some("elsewhere"))];
    open(Some(fixed(ADMIN)), clients, None).await
}

/// With one client of a platform, under a token of the test's.
pub async fn world_of(platform: Platform, token: web::Token) -> World {
    open(None, vec![web::Client { name: "one".into(), token, platform, tenant: None }], None).await
}

/// Without any token.
pub async fn world_of_loopback() -> World {
    open(None, Vec::new(), None).await
}

/// With a client, and a model that says what the test wants.
pub async fn world_with(model: Arc<Scripted>) -> World {
    let token = web::token(|| async { Some(DESKTOP.into()) });
    let client = web::Client { name: "desktop".into(), token, platform: Platform::Api, tenant: None };
    open(None, vec![client], Some(model)).await
}

async fn open(admin: Option<web::Token>, clients: Vec<web::Client>, model: Option<Arc<Scripted>>) -> World {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores);
    setup.tools = TOOLS.into();
    setup.model = model.map(|model| model as Arc<dyn dispatch::Model>);
    setup.endpoints = Endpoints::new().native("echo", Echo).native("fail", Fail);
    let gateway = setup.start();
    until("partitions are held", || async { gateway.gateway.partitions_held() > 0 }).await;
    let pages = Router::new()
        .route("/playground", get(|| async { "a page" }))
        .route("/playground/panic", get(|| async { panic!("secret-path") as () }));
    let config = web::Config {
        listen: ([127, 0, 0, 1], 0).into(),
        admin,
        clients,
        pages: Some(pages),
        hooks: None,
        allowed_origins: vec!["https://chat.example.org".into()],
    };
    let shutdown = CancellationToken::new();
    let more = || vec![("more".to_owned(), Condition::Ready)];
    let web = web::serve(config, gateway.gateway.clone(), more, shutdown.clone()).await.unwrap();
    World { gateway, web, shutdown, http: Client::builder().no_proxy().build().unwrap() }
}

/// Waits for something that comes by itself.
pub async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    for _ in 0..1_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

impl World {
    pub fn ask(&self, method: Method, path: &str, token: Option<&str>) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.web.url)).timeout(Duration::from_secs(30));
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn get(&self, path: &str, token: Option<&str>) -> (u16, Value) {
        read(self.ask(Method::GET, path, token).send().await.unwrap()).await
    }

    pub async fn say(&self, token: Option<&str>, body: Value) -> (u16, Value) {
        read(self.ask(Method::POST, "/v1/messages", token).body(body.to_string()).send().await.unwrap()).await
    }

    pub async fn invoke(&self, tool: &str, args: &str) -> (u16, Value) {
        let request = self.ask(Method::POST, &format!("/v1/tools/{tool}/invoke"), Some(ADMIN));
        read(request.body(args.to_owned()).send().await.unwrap()).await
    }

    /// The reference of a message that was answered.
    pub async fn said(&self, token: &str, text: &str) -> String {
        let (status, answer) = self.say(Some(token), json!({ "text": text })).await;
        assert_eq!(status, 200, "{answer}");
        answer["reference"].as_str().unwrap().to_owned()
    }
}

/// Status and body; an error is always problem details.
pub async fn read(answer: Response) -> (u16, Value) {
    let status = answer.status();
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    let text = answer.text().await.unwrap();
    let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {status} {kind} {text}"));
    let is_error = (status.is_client_error() || status.is_server_error()) && body.get("ready").is_none();
    let expected = if is_error { "application/problem+json" } else { "application/json" };
    assert_eq!(kind, expected, "{text}");
    if is_error {
        assert_eq!(body["status"], status.as_u16());
        assert_eq!(body["code"], body["error"]["code"]);
    }
    (status.as_u16(), body)
}

/// The events of a whole stream: name and data.
pub async fn events(answer: Response) -> Vec<(String, Value)> {
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = answer.text().await.unwrap();
    let field = |event: &str, name: &str| event.lines().find_map(|l| l.strip_prefix(name).map(|v| v.trim().to_owned()));
    text.split("\n\n")
        .filter_map(|event| Some((field(event, "event:")?, serde_json::from_str(&field(event, "data:")?).unwrap())))
        .collect()
}

pub fn shared(world: World) -> Arc<World> {
    Arc::new(world)
}
