//! Request URLs: the proof, signatures, tries, forms.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use sim::slack::Limits;
use slack_morphism::prelude::SlackSigningSecret;
use slack_morphism::signature_verifier::SlackEventSignatureVerifier;
use tokio::sync::mpsc;

use crate::slack_rig::{Rig, start, start_with, text_of, typed};

/// What came to the request URL.
struct Heard {
    headers: HeaderMap,
    body: String,
}

/// Status, whether no further try is wanted, and body.
type Answer = (u16, Option<&'static str>, Value);

#[derive(Clone)]
struct Hook {
    heard: mpsc::UnboundedSender<Heard>,
    /// The next answers; the last one stays.
    answers: Arc<Mutex<Vec<Answer>>>,
}

async fn hear(State(hook): State<Hook>, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8_lossy(&body).into_owned();
    if let Ok(json) = serde_json::from_str::<Value>(&body)
        && json["type"] == "url_verification"
    {
        return json["challenge"].as_str().unwrap_or_default().to_owned().into_response();
    }
    hook.heard.send(Heard { headers, body }).expect("a listener");
    let mut answers = hook.answers.lock().expect("a lock");
    let (status, no_retry, body) = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
    let mut response = (StatusCode::from_u16(status).expect("a status"), axum::Json(body.clone())).into_response();
    if body.is_null() {
        response = StatusCode::from_u16(status).expect("a status").into_response();
    }
    if no_retry.is_some() {
        response.headers_mut().insert("x-slack-no-retry", "1".parse().expect("a header"));
    }
    response
}

/// A request URL that answers as told, and what it hears.
async fn hook(rig: &Rig, answers: Vec<Answer>) -> mpsc::UnboundedReceiver<Heard> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hooks/slack", listener.local_addr().expect("an address"));
    let (heard, out) = mpsc::unbounded_channel();
    let app = Router::new()
        .route("/hooks/slack", post(hear))
        .with_state(Hook { heard, answers: Arc::new(Mutex::new(answers)) });
    let stop = rig.stop.clone();
    tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await });
    let answer = rig.done("events", json!({"url": url, "signing_secret": "s3cret"})).await;
    assert_eq!(answer["signing_secret"], "s3cret");
    out
}

fn verified(heard: &Heard) {
    let header = |name: &str| heard.headers[name].to_str().expect("text").to_owned();
    let verifier = SlackEventSignatureVerifier::new(&SlackSigningSecret::new("s3cret".into()));
    verifier
        .verify(&header("x-slack-signature"), &heard.body, &header("x-slack-request-timestamp"))
        .expect("a good signature");
}

#[tokio::test]
async fn events_are_posted_signed() {
    let rig = start().await;
    let mut heard = hook(&rig, vec![(200, None, Value::Null)]).await;
    rig.say("dm:ann", "ann", "hi").await;
    let event = heard.recv().await.expect("an event");
    verified(&event);
    let payload: Value = serde_json::from_str(&event.body).expect("JSON");
    typed(&json!("events_api"), &payload);
    assert_eq!((&payload["event"]["text"], event.headers.get("x-slack-retry-num")), (&json!("hi"), None));
    assert_eq!(
        text_of(&rig.call_as("xapp-1-A", "apps.connections.open", json!({})).await.1["error"]),
        "forbidden_team"
    );
    rig.end().await;
}

#[tokio::test]
async fn what_is_not_taken_comes_again_until_it_is_or_the_app_has_enough() {
    let rig = start_with(Limits { retry_second: 0.01, ..Limits::none() }).await;
    let bad = |no_retry| (500, no_retry, Value::Null);
    let mut heard = hook(&rig, vec![bad(None), bad(None), (200, None, Value::Null), bad(Some("1"))]).await;
    rig.say("dm:ann", "ann", "hi").await;
    let mut tries = Vec::new();
    for _ in 0..3 {
        let heard = heard.recv().await.expect("an event");
        let header =
            |name: &str| heard.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned();
        tries.push(format!("{} {}", header("x-slack-retry-num"), header("x-slack-retry-reason")));
    }
    assert_eq!(tries, ["- -", "1 http_error", "2 http_error"]);
    rig.say("dm:ann", "ann", "enough").await;
    heard.recv().await.expect("an event");
    while rig.slack().stats().lost == 0 {
        tokio::task::yield_now().await;
    }
    assert!(heard.try_recv().is_err());
    rig.end().await;
}

#[tokio::test]
async fn a_slow_url_is_asked_again_with_the_reason() {
    let rig = start_with(Limits { ack_seconds: 0.05, ..Limits::none() }).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let (sender, mut reasons) = mpsc::unbounded_channel();
    let app = Router::new().route(
        "/",
        post(async move |headers: HeaderMap, body: String| {
            let Ok(body) = serde_json::from_str::<Value>(&body) else { return String::new() };
            if let Some(challenge) = body["challenge"].as_str() {
                return challenge.to_owned();
            }
            let reason = headers.get("x-slack-retry-reason").and_then(|reason| reason.to_str().ok()).map(str::to_owned);
            sender.send(reason.clone()).expect("a listener");
            if reason.is_none() {
                std::future::pending::<()>().await;
            }
            String::new()
        }),
    );
    let stop = rig.stop.clone();
    tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await });
    rig.done("events", json!({"url": url})).await;
    rig.say("dm:ann", "ann", "hi").await;
    assert_eq!((reasons.recv().await, reasons.recv().await), (Some(None), Some(Some("http_timeout".into()))));
    rig.stop.cancel();
}

#[tokio::test]
async fn commands_and_presses_are_forms_and_their_answers_are_shown() {
    let rig = start().await;
    let mut heard = hook(&rig, vec![(200, None, json!({"text": "*here*", "response_type": "in_channel"}))]).await;
    rig.done("command", json!({"conversation": "general", "user": "ann", "name": "ask", "args": "a&b c"})).await;
    let command = heard.recv().await.expect("a command");
    verified(&command);
    assert!(command.body.contains("&command=%2Fask&text=a%26b+c&"), "{}", command.body);
    let shown = rig.slack().until("general", 0, |entry| entry.is_bot()).await.expect("an entry");
    assert_eq!((shown.text.as_str(), shown.to), ("here", None));
    let event = heard.recv().await.expect("the bot's own message");
    assert!(event.body.contains("*here*"));
    rig.done("shortcut", json!({"conversation": "general", "user": "ann", "callback_id": "x"})).await;
    let press = heard.recv().await.expect("a shortcut");
    verified(&press);
    assert!(press.body.starts_with("payload=%7B%22type%22%3A%22shortcut%22"), "{}", press.body);
    rig.end().await;
}

#[tokio::test]
async fn a_url_that_does_not_prove_itself_is_refused() {
    let rig = start().await;
    let (status, answer) =
        rig.control("events", json!({"url": format!("{}/slack/api/api.test", rig.running.url)})).await;
    assert_eq!((status, text_of(&answer["error"]).starts_with("url: the challenge")), (400, true));
    rig.end().await;
}
