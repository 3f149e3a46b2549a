//! Events over HTTP: signed, stored before they are answered, and answered otherwise so that Slack sends them again.

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use hmac::{Hmac, KeyInit, Mac};
use tower::ServiceExt;

use super::stage::*;

async fn stage() -> Stage {
    Stage::quiet(Setup { limits: quick(), ..Setup::default() }, events_config).await
}

/// Serves the hooks where the simulator finds them.
async fn serve(stage: &Stage) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (app, stop) = (slack::hooks(&stage.slack), stage.everything.clone());
    tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await });
    let events = Events {
        url: Some(format!("{url}/events")),
        commands_url: Some(format!("{url}/commands")),
        interactivity_url: Some(format!("{url}/interactive")),
        signing_secret: Some(SECRET.into()),
        app: None,
    };
    stage.world().set_events(events).await.unwrap();
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn signature(secret: &str, at: u64, body: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("v0:{at}:{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v0={hex}")
}

async fn send(stage: &Stage, secret: &str, at: u64, kind: &str, body: &str) -> (StatusCode, String) {
    let request = Request::post("/events")
        .header("content-type", kind)
        .header("x-slack-request-timestamp", at.to_string())
        .header("x-slack-signature", signature(secret, at, body))
        .body(Body::from(body.to_owned()))
        .unwrap();
    let answer = slack::hooks(&stage.slack).oneshot(request).await.unwrap();
    let status = answer.status();
    let body = to_bytes(answer.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

const JSON: &str = "application/json";

#[tokio::test]
async fn only_what_is_signed_and_fresh_is_looked_at() {
    let mut stage = stage().await;
    let challenge = json!({"type": "url_verification", "challenge": "c-5"}).to_string();
    assert_eq!(
        send(&stage, SECRET, now(), JSON, &challenge).await,
        (StatusCode::OK, "c-5".into()),
        "before it runs, too"
    );
    let event = json!({"type": "event_callback", "event": {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": "hi", "ts": "1.1"}}).to_string();
    assert_eq!(
        send(&stage, SECRET, now(), JSON, &event).await.0,
        StatusCode::SERVICE_UNAVAILABLE,
        "nobody takes it in yet"
    );
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    assert_eq!(send(&stage, "other", now(), JSON, &event).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(send(&stage, SECRET, now() - 301, JSON, &event).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(send(&stage, SECRET, now() + 301, JSON, &event).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(send(&stage, SECRET, now(), JSON, "no json").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(send(&stage, SECRET, now(), JSON, &"x".repeat(2 << 20)).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let unsigned = Request::post("/events").header("content-type", JSON).body(Body::from(event.clone())).unwrap();
    assert_eq!(slack::hooks(&stage.slack).oneshot(unsigned).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert!(stage.fake.tries.lock().unwrap().is_empty());
    for _ in 0..2 {
        assert_eq!(send(&stage, SECRET, now(), JSON, &event).await.0, StatusCode::OK);
    }
    assert_eq!(stage.heard().await.text(), "hi");
    assert!(stage.accepted.try_recv().is_err(), "what comes twice is one message");
    stage.fake.down.store(true, Ordering::Relaxed);
    assert_eq!(send(&stage, SECRET, now(), JSON, &event).await.0, StatusCode::SERVICE_UNAVAILABLE);
    stage.end().await;
}

#[tokio::test]
async fn events_commands_and_forms_come_over_http() {
    let mut stage = stage().await;
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    serve(&stage).await;
    let root = stage.mention("general", "hello");
    let heard = stage.heard().await;
    assert_eq!((heard.text(), heard.address.thread.as_deref()), ("hello", Some(root.as_str())));
    stage.command("general", "weather_query", "city=Oslo");
    let heard = stage.heard().await;
    assert_eq!(heard.text(), "/weather_query city=Oslo");
    stage.post(&heard.address, &private("psst")).await.unwrap();
    stage.shown("general", |entry| entry.kind == transcript::Kind::Private && entry.text == "psst").await;
    stage.command("general", "weather_query", "");
    stage.shown("general", |entry| entry.kind == transcript::Kind::Modal).await;
    for city in ["Atlantis", "Oslo"] {
        let values = json!({"city": city}).as_object().unwrap().clone();
        let submit = Submit { conversation: "general".into(), user: "ann".into(), values, ..Submit::default() };
        stage.world().submit(&submit).unwrap();
        stage.until("it is answered", |stage| stage.world().stats().unanswered == 0).await;
    }
    assert!(matches!(stage.heard().await.kind, Kind::Form { .. }));
    stage.end().await;
}

#[tokio::test]
async fn what_was_not_stored_is_sent_again() {
    let mut stage = stage().await;
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    serve(&stage).await;
    stage.fake.down.store(true, Ordering::Relaxed);
    stage.say("dm:ann", "one");
    stage.until("it comes again", |stage| stage.world().stats().redelivered > 0).await;
    stage.fake.down.store(false, Ordering::Relaxed);
    assert_eq!(stage.heard().await.text(), "one");
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn while_another_process_takes_in_everything_is_to_be_sent_again() {
    let mut stage = stage().await;
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.start().await;
    stage.condition(|now| matches!(now, Condition::Degraded(why) if why.contains("another process"))).await;
    assert_eq!(send(&stage, SECRET, now(), JSON, "{}").await.0, StatusCode::SERVICE_UNAVAILABLE);
    stage.fake.foreign.store(false, Ordering::Relaxed);
    stage.condition(|now| *now == Condition::Ready).await;
    assert_eq!(send(&stage, SECRET, now(), JSON, "{}").await.0, StatusCode::OK);
    stage.end().await;
}
