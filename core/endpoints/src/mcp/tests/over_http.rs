//! A server over HTTP that keeps sessions and wants a header.

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, response::IntoResponse, routing};

use super::*;

/// What the service counts, and which session it knows.
#[derive(Default)]
struct Service {
    greetings: AtomicU32,
    /// The session that is known; any other is refused.
    session: AtomicU32,
    token: AtomicU32,
}

async fn post(State(service): State<Arc<Service>>, headers: HeaderMap, body: Bytes) -> axum::response::Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let token = format!("Bearer token-{}", service.token.load(Ordering::SeqCst));
    if headers.get("authorization").and_then(|value| value.to_str().ok()) != Some(&token) {
        return axum::http::StatusCode::UNAUTHORIZED.into_response();
    }
    let known = service.session.load(Ordering::SeqCst).to_string();
    let is_known = headers.get("mcp-session-id").and_then(|value| value.to_str().ok()) == Some(&known);
    let id = message["id"].clone();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let session = service.greetings.fetch_add(1, Ordering::SeqCst) + 1;
            service.session.store(session, Ordering::SeqCst);
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"}});
            let answer = axum::Json(json!({"jsonrpc": "2.0", "id": id, "result": result}));
            return ([("mcp-session-id", session.to_string())], answer).into_response();
        }
        "server/discover" => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return axum::Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
        // As many servers do, rather than with the 404 that is meant for it.
        _ if !is_known => return (axum::http::StatusCode::BAD_REQUEST, "no such session").into_response(),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            json!({"content": [], "structuredContent": {"session": known, "args": message["params"]["arguments"]}})
        }
        _ => return axum::http::StatusCode::ACCEPTED.into_response(),
    };
    axum::Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}

/// A secret that follows what the service wants.
struct Rotating(Arc<Service>);

#[async_trait::async_trait]
impl crate::secret::SecretSource for Rotating {
    async fn read(&self) -> Result<secrecy::SecretString, crate::secret::SecretUnreadable> {
        Ok(format!("token-{}", self.0.token.load(Ordering::SeqCst)).into())
    }
}

async fn service() -> (Arc<Service>, Servers) {
    let service = Arc::new(Service::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route("/mcp", routing::post(post)).with_state(service.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let token =
        vec![Part::Written("Bearer ".into()), Part::Secret(crate::secret::Source::new(Rotating(service.clone())))];
    let headers = vec![(reqwest::header::AUTHORIZATION, token)];
    let via = Via::Http { url, headers };
    (service, Servers::new(vec![Server { id: "test".into(), via, timeout: Duration::from_secs(20) }]))
}

async fn echo(servers: &Servers) -> Result<Value, ToolFailure> {
    let spec = crate::testing::spec("name: t\nendpoint: { type: mcp, server: test, tool: t }");
    let args = Map::from_iter([("a".to_owned(), json!(1))]);
    call_tool(&servers.of(&spec, "test").unwrap(), &reader("echo"), args, &Bench::new().cx()).await
}

#[tokio::test]
async fn a_server_that_forgot_its_sessions_is_greeted_once_more_by_all_calls_together() {
    let (service, servers) = service().await;
    assert_eq!(echo(&servers).await.unwrap(), json!({"session": "1", "args": {"a": 1}}));
    service.session.store(77, Ordering::SeqCst);
    for answer in futures_util::future::join_all((0..8).map(|_| echo(&servers))).await {
        assert_eq!(answer.unwrap()["session"], "2");
    }
    assert_eq!(service.greetings.load(Ordering::SeqCst), 2);
    servers.close().await;
}

#[tokio::test]
async fn a_rotated_token_is_read_again_when_the_old_one_is_refused() {
    let (service, servers) = service().await;
    echo(&servers).await.unwrap();
    service.token.store(5, Ordering::SeqCst);
    assert_eq!(echo(&servers).await.unwrap()["session"], "2");
    servers.close().await;
}

#[tokio::test]
async fn nobody_there_is_said_and_nothing_left_us() {
    let via = Via::Http { url: "http://127.0.0.1:1/mcp".into(), headers: vec![] };
    let servers = Servers::new(vec![Server { id: "test".into(), via, timeout: Duration::from_secs(20) }]);
    let failure = echo(&servers).await.unwrap_err();
    assert_eq!((failure.failure().code, failure.failure().effect), (Code::UpstreamUnreachable, Effect::None));
    assert_eq!(failure.failure().say.as_str(), "'echo' could not be reached");
    servers.close().await;
}

#[tokio::test]
async fn an_address_is_not_repeated_to_operators() {
    let via = Via::Http { url: "http://127.0.0.1:1/mcp?key=hunter22".into(), headers: vec![] };
    let servers = Servers::new(vec![Server { id: "test".into(), via, timeout: Duration::from_secs(20) }]);
    let why = servers.list("test").await.unwrap_err().to_string();
    assert!(why.contains("refused") && !why.contains("hunter22") && !why.contains("rmcp::"), "{why}");
    servers.close().await;
}

/// A server without handshake and sessions, as of 2026.
async fn newer(headers: HeaderMap, body: Bytes) -> axum::response::Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let common = |result: Value| {
        let mut result = result;
        for (key, value) in [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))] {
            result[key] = value;
        }
        axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
    };
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" => common(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"}})),
        "tools/list" => common(json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})),
        "tools/call" => {
            let version = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok());
            let trace = message["params"]["_meta"]["traceparent"].as_str().map(str::len);
            common(json!({"content": [], "structuredContent": {"version": version, "trace": trace}}))
        }
        "initialize" => axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => axum::http::StatusCode::ACCEPTED.into_response(),
    }
}

#[tokio::test]
async fn a_server_without_a_handshake_is_never_asked_for_one() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let via = Via::Http { url: format!("http://{}/mcp", listener.local_addr().unwrap()), headers: vec![] };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/mcp", routing::post(newer))).await });
    let servers = Servers::new(vec![Server { id: "test".into(), via, timeout: Duration::from_secs(20) }]);
    assert_eq!(echo(&servers).await.unwrap(), json!({"version": "2026-07-28", "trace": 55}));
    servers.close().await;
}
