//! Who is let in, what is said at the door, and how it closes.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::{ADMIN, DESKTOP, World, read, shared, until, world, world_of, world_of_loopback};

/// A request as it is written, and the answer's head and body.
async fn raw(world: &World, request: &str) -> String {
    let mut stream = TcpStream::connect(world.web.addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_on_every_route() {
    for world in [world().await, world_of_loopback().await] {
        for (_, path) in web::ROUTES.iter().copied().chain([("get", "/playground"), ("get", "/nowhere")]) {
            for (name, value) in [("host", "evil.test"), ("origin", "http://evil.test"), ("origin", "null")] {
                let request = world.ask(Method::GET, path, Some(ADMIN)).header(name, value);
                let (status, problem) = read(request.send().await.unwrap()).await;
                assert_eq!((status, &problem["code"]), (403, &json!("client.unknown")), "{path} {name}: {value}");
            }
        }
        let own = world.ask(Method::GET, "/healthz", None).header("origin", world.web.url.as_str());
        assert_eq!(own.send().await.unwrap().status(), 200);
        world.shutdown.cancel();
    }
}

#[tokio::test]
async fn a_request_line_that_names_another_host_is_refused() {
    let world = world_of_loopback().await;
    let two = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\nConnection: close\r\n\r\n";
    let absolute = "GET http://evil.test/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let none = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n";
    for request in [two, absolute, none] {
        assert!(raw(&world, request).await.starts_with("HTTP/1.1 403"), "{request}");
    }
    assert!(raw(&world, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await.starts_with("HTTP/1.0 200"));
}

#[tokio::test]
async fn without_tokens_what_a_proxy_passes_on_is_refused() {
    let world = world_of_loopback().await;
    for name in ["x-forwarded-for", "forwarded", "x-real-ip", "via", "x-forwarded-host", "cf-connecting-ip"] {
        let request = world.ask(Method::GET, "/v1/tools", None).header(name, "203.0.113.9");
        assert_eq!(read(request.send().await.unwrap()).await.0, 403);
    }
    assert_eq!(world.get("/v1/tools", None).await.0, 200);
}

#[tokio::test]
async fn an_allowed_origin_may_read_the_answer() {
    let world = world().await;
    let request = world.ask(Method::GET, "/v1/tools", Some(DESKTOP)).header("origin", "https://chat.example.org");
    let answer = request.send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["access-control-allow-origin"]),
        (200, &"https://chat.example.org".parse().unwrap())
    );
    let first = world
        .ask(Method::OPTIONS, "/v1/messages", None)
        .header("origin", "https://chat.example.org")
        .header("access-control-request-method", "POST");
    let answer = first.send().await.unwrap();
    assert_eq!(answer.status(), 204);
    assert!(answer.headers()["access-control-allow-headers"].to_str().unwrap().contains("authorization"));
}

#[tokio::test]
async fn a_token_is_needed_once_there_are_tokens() {
    let world = world().await;
    for token in [None, Some("wrong"), Some(""), Some("admin-toke")] {
        let answer = world.ask(Method::GET, "/v1/tools", token).send().await.unwrap();
        assert_eq!(answer.headers()["www-authenticate"], "Bearer");
        assert_eq!(read(answer).await.0, 401, "{token:?}");
        assert_eq!(world.ask(Method::GET, "/healthz", token).send().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn a_token_is_read_anew_and_one_that_cannot_be_read_lets_nobody_in() {
    let now = Arc::new(Mutex::new(Some("first")));
    let read_now = now.clone();
    let token = web::token(move || {
        let text = *read_now.lock().unwrap();
        async move { text.map(Into::into) }
    });
    let world = world_of(contract::Platform::Mcp, token).await;
    let enters = async |token: &str| world.get("/v1/tools", Some(token)).await.0 == 200;
    assert!(enters("first").await && !enters("second").await);
    *now.lock().unwrap() = Some("second");
    until("the new token counts", || enters("second")).await;
    assert!(!enters("first").await);
    *now.lock().unwrap() = None;
    until("no token counts", async || !enters("second").await).await;
    assert!(!enters("").await);
}

#[tokio::test]
async fn a_client_of_the_web_fetches_its_answers_as_others_do() {
    let world = world_of(contract::Platform::Web, web::token(|| async { Some("t".into()) })).await;
    let (status, answer) = world.say(Some("t"), json!({ "text": "/sleep 1" })).await;
    // The web's policy of this world allows nothing.
    assert_eq!((status, &answer["parts"][0]["code"]), (200, &json!("tool.unknown")), "{answer}");
}

#[tokio::test]
async fn readiness_lists_conditions_and_words_are_for_operators() {
    let world = world().await;
    world.gateway.gateway.health().set("telegram/main", contract::seams::Condition::Degraded("secret-host".into()));
    let busy = contract::seams::Condition::Degraded("the platform asks to wait".into());
    world.gateway.gateway.health().set("delivery to telegram:main/-100", busy);
    let (status, of_anybody) = world.get("/readyz", None).await;
    assert_eq!(status, 200, "{of_anybody}");
    assert!(!of_anybody.to_string().contains("secret-host"));
    let parts: Vec<_> =
        of_anybody["conditions"].as_array().unwrap().iter().map(|c| c["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["store", "work", "traces", "telegram/main", "delivery to telegram", "more"]);
    world.gateway.gateway.health().set("telegram/main", contract::seams::Condition::Stopped("do this".into()));
    let (status, of_operator) = world.get("/readyz", Some(ADMIN)).await;
    assert_eq!(of_operator["conditions"][4]["part"], "delivery to telegram:main/-100");
    assert_eq!((status, &of_operator["conditions"][3]["says"]), (503, &json!("do this")));
}

#[tokio::test]
async fn what_is_not_there_and_a_wrong_method_are_problems() {
    let world = world().await;
    assert_eq!(world.get("/v2", Some(ADMIN)).await.0, 404);
    assert_eq!(world.get("/v1/traces/%FF", Some(ADMIN)).await.0, 404);
    let answer = world.ask(Method::DELETE, "/v1/messages", Some(ADMIN)).send().await.unwrap();
    assert_eq!(answer.headers()["allow"], "POST");
    assert_eq!(read(answer).await.0, 405);
}

#[tokio::test]
async fn every_route_answers_with_what_the_document_says() {
    let world = world().await;
    let (status, document) = world.get("/v1/openapi.json", None).await;
    assert_eq!(status, 200);
    for (method, path) in web::ROUTES {
        assert!(document["paths"][path][method].is_object(), "{method} {path}");
        let there = path.replace("{reference}", "x").replace("{name}", "echo");
        let there = there.replace(['{', '}'], "");
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let status = world.ask(method, &there, None).send().await.unwrap().status().as_u16();
        assert!([200, 401].contains(&status), "{there}: {status}");
    }
}

#[tokio::test]
async fn a_panic_is_a_problem_without_details_and_others_are_answered() {
    let world = world().await;
    let (status, problem) = world.get("/playground/panic", None).await;
    assert_eq!((status, &problem["code"]), (500, &json!("internal")));
    assert!(!problem.to_string().contains("secret-path"));
    assert_eq!(world.ask(Method::GET, "/playground", None).send().await.unwrap().text().await.unwrap(), "a page");
}

#[tokio::test]
async fn streams_and_waits_end_at_shutdown() {
    let world = shared(world().await);
    let (_, later) = world.say(Some(DESKTOP), json!({ "text": "/sleep 20000", "wait": 0 })).await;
    let path = format!("/v1/traces/{}/events", later["reference"].as_str().unwrap());
    let mut stream = world.ask(Method::GET, &path, Some(DESKTOP)).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let waiting = tokio::spawn({
        let world = world.clone();
        async move { world.say(Some(DESKTOP), json!({ "text": "/sleep 1", "conversation": "default" })).await }
    });
    until("the message waits", || async { world.gateway.gateway.load().0 > 0 }).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.shutdown.cancel();
    while stream.chunk().await.unwrap().is_some() {}
    assert_eq!(waiting.await.unwrap().0, 202);
    until("the interface has ended", || async { world.web.join.is_finished() }).await;
    assert!(TcpStream::connect(world.web.addr).await.is_err());
}

#[tokio::test]
async fn a_configuration_that_cannot_be_meant_is_refused() {
    let world = world().await;
    let client = |name: &str, platform| web::Client {
        name: name.into(),
        token: web::token(|| async { None }),
        platform,
        tenant: None,
    };
    for (clients, says) in [
        (vec![client("operator", contract::Platform::Api)], "not usable"),
        (vec![client("a/b", contract::Platform::Api)], "not usable"),
        (vec![client("main", contract::Platform::Telegram)], "cannot be on platform 'telegram'"),
        (vec![client("a", contract::Platform::Api), client("a", contract::Platform::Mcp)], "two clients"),
    ] {
        let config = web::Config {
            listen: ([127, 0, 0, 1], 0).into(),
            admin: None,
            clients,
            pages: None,
            hooks: None,
            allowed_origins: Vec::new(),
        };
        let gateway = world.gateway.gateway.clone();
        let refused = web::serve(config, gateway, Vec::new, world.shutdown.clone()).await.err().unwrap();
        assert!(refused.to_string().contains(says), "{refused}");
    }
}
