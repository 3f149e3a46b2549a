mod faults;
mod jobs;
mod loading;
mod placing;

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request as Asked, State},
    http::{Response as Answer, StatusCode},
};
use contract::{Code, Failure};
use expect_test::{Expect, expect};
use futures_util::StreamExt;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tools::{Build, spec::EndpointSpec};

use super::*;
use crate::{
    Endpoints,
    testing::{Bench, spec},
};

/// What the service was asked, one line each: method, address, headers of interest, body.
type Asks = Arc<Mutex<Vec<String>>>;

/// A service that answers according to its path, on a port of its own.
struct Service {
    address: SocketAddr,
    asks: Asks,
}

impl Service {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asks = Asks::default();
        let app = Router::new().fallback(answer).with_state(asks.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, asks }
    }

    /// A tool at this service; `path` goes behind its address, `more` below the endpoint.
    fn tool(&self, path: &str, more: &str) -> Http {
        tool(&format!("http://{}{path}", self.address), more)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asks.lock().unwrap())
    }
}

fn tool(url: &str, more: &str) -> Http {
    let yaml = format!(
        "name: orders\ndescription: d\nparameters: {{}}\nendpoint:\n  url: \"{url}\"\n{}",
        more.lines().map(|line| format!("{line}\n")).collect::<String>()
    );
    build(&yaml).unwrap()
}

fn build(yaml: &str) -> Result<Http, Finding> {
    let endpoints = Endpoints::new();
    let spec = spec(yaml);
    match &spec.endpoint {
        EndpointSpec::Http(http) => Http::build(&spec, http, endpoints.client.unwrap(), endpoints.credentials.as_ref()),
        other => panic!("not http: {other:?}"),
    }
}

async fn answer(State(asks): State<Asks>, ask: Asked) -> Answer<Body> {
    let (parts, body) = ask.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let header = |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok()).map(|v| format!(" {name}={v}"));
    let headers: String = ["content-type", "idempotency-key", "x-static"].into_iter().filter_map(header).collect();
    let body_text = String::from_utf8_lossy(&body).into_owned();
    asks.lock().unwrap().push(format!("{} {}{headers} {body_text}", parts.method, parts.uri));
    let path = parts.uri.path().trim_start_matches('/').to_owned();
    let mut reply = Answer::builder();
    if let Some(code) = path.strip_prefix("status/").and_then(|code| code.parse::<u16>().ok()) {
        if code == 429 || code == 503 {
            reply = reply.header("retry-after", "3");
        }
        if code == 302 {
            reply = reply.header("location", "http://127.0.0.1:1/elsewhere");
        }
        let body = format!("bad key {} for {}", "sk_live_abcdefgh123", parts.uri);
        return reply.status(code).body(body.into()).unwrap();
    }
    let json =
        |text: &str| Answer::builder().header("content-type", "application/json").body(text.to_owned().into()).unwrap();
    match path.as_str() {
        "big" => {
            json(r#"{"n": 18446744073709551615, "m": -9223372036854775808, "long": 123456789012345678901234567890}"#)
        }
        "text" => reply.header("content-type", "text/plain").body("just text".into()).unwrap(),
        "json-as-text" => reply.header("content-type", "text/plain").body("{\"a\": 1}".into()).unwrap(),
        "html" => reply.header("content-type", "text/html").body("<html>sk_live_abcdefgh123</html>".into()).unwrap(),
        "broken-json" => json("{\"a\": 1"),
        "deep" => json(&format!("{}1{}", "[".repeat(200), "]".repeat(200))),
        "latin" => reply.body(vec![b'c', b'a', b'f', 0xE9].into()).unwrap(),
        "bom" => json("\u{feff}{\"a\": 1}"),
        "empty" => reply.status(StatusCode::NO_CONTENT).body(Body::empty()).unwrap(),
        "large" => json(&format!("\"{}\"", "x".repeat(5 << 20))),
        "endless" => reply.body(endless(Duration::ZERO)).unwrap(),
        "file/png" => reply.header("content-type", "image/png").body(b"\x89PNG\r\n\x1a\n".to_vec().into()).unwrap(),
        "file/named" => reply
            .header("content-type", "application/pdf")
            .header("content-disposition", "attachment; filename=\"../../inv oice.pdf\"")
            .body(b"%PDF-1.7".to_vec().into())
            .unwrap(),
        "file/huge" => reply.header("content-type", "image/jpeg").body(vec![0xFF; 2 << 20].into()).unwrap(),
        "drip" => reply.body(endless(Duration::from_millis(20))).unwrap(),
        _ => json(&json!({ "path": parts.uri.to_string() }).to_string()),
    }
}

fn endless(pause: Duration) -> Body {
    let chunks = futures_util::stream::repeat(()).then(move |()| async move {
        tokio::time::sleep(pause).await;
        Ok::<_, Infallible>("x".repeat(if pause.is_zero() { 65_536 } else { 1 }))
    });
    Body::from_stream(chunks)
}

async fn send(http: &Http, args: Value) -> Result<Value, Failure> {
    http.send(&args, &Bench::new().cx()).await.map_err(Failure::from)
}

/// Everything that is told of a call: to people, then to operators.
fn told(outcome: &Result<Value, Failure>) -> String {
    match outcome {
        Ok(value) => contract::text::cut(&value.to_string(), 100),
        Err(failure) => {
            let hint = failure.hint.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
            let wait = failure.retry_after.map(|w| format!(" wait {w:?}")).unwrap_or_default();
            format!(
                "{} {:?}{wait}: {}{hint} | {}",
                failure.code,
                failure.effect,
                failure.say,
                failure.cause.for_operator()
            )
        }
    }
}

#[tokio::test]
async fn arguments_go_to_the_path_the_query_or_the_body() {
    let service = Service::start().await;
    let rows: [(&str, &str, Value); 6] = [
        ("/orders/{id}", "", json!({"id": "A/17", "status": "paid", "tags": ["a", "b"]})),
        ("/orders/{id}?v=2", "  method: DELETE", json!({"id": 5, "why": "x&y"})),
        (
            "/orders",
            "  method: POST\n  rename: { id: order.number }",
            json!({"id": 1234567890123456789_i64, "note": null}),
        ),
        (
            "/orders/{id}",
            "  method: PATCH\n  headers: { content-type: application/merge-patch+json, x-static: yes-1 }",
            json!({"id": "A", "n": 18446744073709551615_u64}),
        ),
        (
            "/orders",
            "  method: POST\n  headers: { content-type: application/x-www-form-urlencoded }",
            json!({"q": "a b", "n": 1}),
        ),
        ("/orders", "  method: PUT\n  headers: { Idempotency-Key: \"{idempotency_key}\" }", json!({})),
    ];
    for (path, more, args) in rows {
        assert!(send(&service.tool(path, more), args).await.is_ok());
    }
    let asked = service.asked().join("\n").replace(&service.address.to_string(), "HOST") + "\n";
    expect![[r#"
        GET /orders/A%2F17?status=paid&tags=a&tags=b 
        DELETE /orders/5?v=2&why=x%26y 
        POST /orders content-type=application/json {"note":null,"order":{"number":1234567890123456789}}
        PATCH /orders/A content-type=application/merge-patch+json x-static=yes-1 {"n":18446744073709551615}
        POST /orders content-type=application/x-www-form-urlencoded q=a+b&n=1
        PUT /orders content-type=application/json idempotency-key=key-1 {}
    "#]]
    .assert_eq(&asked);
}

#[tokio::test]
async fn path_parameters_cannot_reach_another_endpoint() {
    let service = Service::start().await;
    let http = service.tool("/orders/{id}/items", "");
    for id in ["..", "a/../b", "%2e%2e", ".", "", "..\\..", "%252e%252e/x"] {
        let failure = send(&http, json!({ "id": id })).await.unwrap_err();
        assert_eq!((failure.code, failure.problems[0].path.as_str()), (Code::InputRefused, "id"), "{id}");
    }
    assert!(send(&http, json!({})).await.is_err());
    assert_eq!(service.asked(), Vec::<String>::new());
    for id in ["a?x=1", "a#f", "a\\b", "//evil/", "a%2fb"] {
        assert!(send(&http, json!({ "id": id })).await.is_ok());
    }
    for line in service.asked() {
        let path = line.split(' ').nth(1).unwrap();
        assert!(path.starts_with("/orders/") && path.ends_with("/items") && path.matches('/').count() == 3, "{line}");
        assert!(!path.contains('?'));
    }
}

#[tokio::test]
async fn each_status_has_its_code_and_sentence() {
    let service = Service::start().await;
    let mut out = String::new();
    for code in [302, 304, 400, 401, 403, 404, 409, 413, 418, 422, 429, 500, 503] {
        let http = service.tool(&format!("/status/{code}?key=sk_live_abcdefgh123"), "");
        out += &(told(&send(&http, json!({})).await) + "\n");
    }
    expect![[r#"
        upstream.broken Unknown: 'orders' answered with a redirect, which is not followed (302) | 302: bad key *** for /status/302?key=***
        upstream.broken Unknown: 'orders' answered with a redirect, which is not followed (304) | 304: 
        upstream.4xx Unknown: 'orders' refused the request: it does not accept these values (400) | 400: bad key *** for /status/400?key=***
        upstream.4xx Unknown: 'orders' refused the request: it does not accept the gateway's credentials (401) (an operator has to look at this) | 401: bad key *** for /status/401?key=***
        upstream.4xx Unknown: 'orders' refused the request: the gateway may not do that there (403) (an operator has to look at this) | 403: bad key *** for /status/403?key=***
        upstream.4xx Unknown: 'orders' refused the request: there is no such thing (404) | 404: bad key *** for /status/404?key=***
        upstream.4xx Unknown: 'orders' refused the request: it contradicts what is there now (409) | 409: bad key *** for /status/409?key=***
        upstream.4xx Unknown: 'orders' refused the request: it is too large (413) | 413: bad key *** for /status/413?key=***
        upstream.4xx Unknown: 'orders' refused the request: it says no (418) | 418: bad key *** for /status/418?key=***
        upstream.4xx Unknown: 'orders' refused the request: it does not accept these values (422) | 422: bad key *** for /status/422?key=***
        rate_limited Unknown wait 3s: 'orders' is asked too often; it can be asked again in 3 s | 429: bad key *** for /status/429?key=***
        upstream.5xx Unknown: 'orders' failed on its own side (500) | 500: bad key *** for /status/500?key=***
        upstream.5xx Unknown wait 3s: 'orders' is not available at the moment (503); try again in 3 s | 503: bad key *** for /status/503?key=***
    "#]].assert_eq(&out);
}

#[tokio::test]
async fn answers_are_understood_without_losing_a_digit() {
    let service = Service::start().await;
    let check = async |path: &str, more: &str, expect: Expect| {
        let text = told(&send(&service.tool(path, more), json!({})).await);
        expect.assert_eq(&text);
    };
    let object = "returns: { type: object }";
    check(
        "/big",
        "",
        expect![[r#"{"n":18446744073709551615,"m":-9223372036854775808,"long":"123456789012345678901234567890"}"#]],
    )
    .await;
    check("/text", "", expect![[r#""just text""#]]).await;
    check("/json-as-text", "", expect![[r#"{"a":1}"#]]).await;
    check("/html", "", expect![[r#""<html>sk_live_abcdefgh123</html>""#]]).await;
    check("/html", object, expect!["upstream.broken Unknown: 'orders' answered something that is not readable | not JSON (text/html): <html>***</html>"]).await;
    check("/text", "returns: { type: string }", expect![[r#""just text""#]]).await;
    check("/broken-json", object, expect![[r#"upstream.broken Unknown: 'orders' answered something that is not readable | not JSON (application/json): {"a": 1"#]]).await;
    check("/deep", object, expect!["upstream.broken Unknown: 'orders' answered something that is not readable | not JSON (application/json): [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]…"]).await;
    check("/latin", "", expect![[r#""caf�""#]]).await;
    check("/bom", object, expect![[r#"{"a":1}"#]]).await;
    check("/empty", "", expect!["null"]).await;
    check(
        "/large",
        "",
        expect!["upstream.broken Unknown: 'orders' answered more than 4 MiB (ask for less at once) | "],
    )
    .await;
    check(
        "/endless",
        "",
        expect!["upstream.broken Unknown: 'orders' answered more than 4 MiB (ask for less at once) | "],
    )
    .await;
}

/// A server that says these bytes and then does nothing, or hangs up.
async fn rude(says: &'static str, hangs_up: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(says.as_bytes()).await;
            if !hangs_up {
                held.push(socket);
            }
        }
    });
    address
}

#[tokio::test]
async fn a_service_that_hangs_is_left_at_the_deadline_with_its_effect_unknown() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    let service = Service::start().await;
    let places = [
        rude("", false).await,
        rude("HTTP/1.1 200 OK\r\ncontent-le", false).await,
        rude(head, false).await,
        rude("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it", false).await,
        rude("HTTP/1.1 100 Continue\r\n\r\n", false).await,
    ];
    let mut tools: Vec<Http> = places.iter().map(|place| tool(&format!("http://{place}/x"), "")).collect();
    tools.push(service.tool("/drip", ""));
    for http in &tools {
        let bench = Bench::new();
        let left = tokio::time::timeout(Duration::from_millis(150), http.send(&json!({}), &bench.cx())).await;
        assert!(left.is_err(), "the guard's deadline ends it, whatever bytes arrive");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_told_from_one_that_was_never_made() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rows = [
        format!("http://{unused}/v2?key=sk_live_abcdefgh123"),
        format!("http://{}/", rude("", true).await),
        format!("http://{}/", rude("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", true).await),
        format!("http://{}/", rude("not http at all\r\n\r\n", true).await),
        format!("https://{}/", rude("plain text, no TLS\r\n\r\n", true).await),
        "http://no-such-host.invalid/bot123456:AAFabcdefghijklmnopqrstuv/x".to_owned(),
    ];
    let mut out = String::new();
    for url in rows {
        let outcome = send(&tool(&url, "  headers: { authorization: Bearer topsecret }"), json!({})).await;
        let failure = outcome.unwrap_err();
        let all = format!("{} {}", failure.say, failure.cause.for_operator());
        for secret in ["sk_live", "AAFabc", "topsecret"] {
            assert!(!all.contains(secret), "{all}");
        }
        assert!(!failure.say.as_str().contains("127.0.0.1") && !failure.say.as_str().contains("invalid"));
        out += &format!("{} {:?}: {}\n", failure.code, failure.effect, failure.say);
    }
    expect![[r#"
        upstream.unreachable None: 'orders' could not be reached
        upstream.broken Unknown: the connection to 'orders' broke before its answer was complete
        upstream.broken Unknown: the connection to 'orders' broke before its answer was complete
        upstream.broken Unknown: the connection to 'orders' broke before its answer was complete
        upstream.unreachable None: 'orders' could not be reached
        upstream.unreachable None: 'orders' could not be reached
    "#]]
    .assert_eq(&out);
}

#[tokio::test]
async fn no_secret_reaches_a_reply_or_an_operator() {
    let service = Service::start().await;
    let more = "  method: POST\n  headers: { x-api-key: hunter2-hunter2 }\nreturns: { type: object }";
    for path in ["/status/401?token=plainsecret", "/status/500?api_key=plainsecret", "/html?sig=plainsecret"] {
        let http = service.tool(path, more);
        let bench = Bench::new();
        let failure: Failure = http.send(&json!({"password": "hunter3"}), &bench.cx()).await.unwrap_err().into();
        let (_, shown) = http
            .request(&json!({"password": "hunter3", "q": "tea"}), &bench.cx())
            .await
            .unwrap_or_else(|_| unreachable!());
        let all = format!("{} {} {}", failure.for_model(false), failure.cause.for_operator(), shown.for_operator());
        for secret in ["plainsecret", "hunter2", "hunter3", "sk_live"] {
            assert!(!all.contains(secret), "{secret} in {all}");
        }
        assert!(shown.for_operator().ends_with(r#"{"password":"***","q":"tea"}"#), "{}", shown.for_operator());
    }
}

#[tokio::test]
async fn a_trace_goes_along_and_a_key_only_where_it_is_asked_for() {
    let bench = Bench::new();
    let http = tool("http://127.0.0.1:1/", "  method: POST\n  headers: { X-Key: \"{idempotency_key}\" }");
    let (request, _) = http.request(&json!({}), &bench.cx()).await.unwrap_or_else(|_| unreachable!());
    assert_eq!(request.headers()["x-key"], "key-1");
    let parent = request.headers()["traceparent"].to_str().unwrap();
    assert!(parent.starts_with(&format!("00-{:032x}-", bench.turn.0.0)) && parent.len() == 55, "{parent}");
    let http = tool("http://127.0.0.1:1/", "  method: POST");
    let (request, _) = http.request(&json!({}), &bench.cx()).await.unwrap_or_else(|_| unreachable!());
    assert!(!request.headers().contains_key("idempotency-key"));
}

#[tokio::test]
async fn parallel_requests_share_connections_and_keep_their_answers() {
    let service = Service::start().await;
    let http = service.tool("/orders/{id}", "");
    let calls = (0..32).map(|n| send(&http, json!({ "id": n })));
    let answers = futures_util::future::join_all(calls).await;
    for (n, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap()["path"], format!("/orders/{n}"));
    }
}
