//! Several apps and workspaces, tokens, and what is sent as it is.

use serde_json::{Value, json};
use sim::slack::{Limits, NewApp, Setup};

use crate::slack_rig::{APP, BOT, start, start_setup, start_with, text_of};

fn app(name: &str) -> NewApp {
    NewApp {
        name: name.into(),
        bot_tokens: vec![format!("xoxb-{name}")],
        app_token: Some(format!("xapp-{name}")),
        ..NewApp::default()
    }
}

#[tokio::test]
async fn two_apps_in_one_workspace_hear_their_own_events() {
    let rig = start_setup(Setup { apps: vec![app("other")], limits: Limits::none(), ..Setup::default() }).await;
    let mut one = rig.greeted().await;
    let mut two = rig.socket_as("xapp-other").await;
    assert_eq!(two.next().await["type"], "hello");
    rig.done("say", json!({"conversation": "general", "user": "ann", "text": "@other hi"})).await;
    let (first, second, mention) = (one.payload().await, two.payload().await, two.payload().await);
    assert_eq!(first["event"]["ts"], second["event"]["ts"]);
    assert_ne!(first["event_id"], second["event_id"]);
    assert_ne!(first["api_app_id"], second["api_app_id"]);
    assert_eq!(mention["event"]["type"], "app_mention");
    rig.say("dm:ann@other", "ann", "just you").await;
    assert_eq!(two.event().await["text"], "just you");
    let (_, me) = rig.call_as("xoxb-other", "auth.test", json!({})).await;
    assert_eq!(me["user"], "other");
    assert_eq!(rig.slack().stats().unanswered, 0);
    rig.end().await;
}

#[tokio::test]
async fn an_org_wide_install_is_told_so_and_workspaces_are_apart() {
    let grid = NewApp { teams: vec!["east".into(), "west".into()], enterprise: Some("E0ORG".into()), ..app("grid") };
    let rig = start_setup(Setup { apps: vec![grid], limits: Limits::none(), ..Setup::default() }).await;
    let mut socket = rig.socket_as("xapp-grid").await;
    socket.raw().await;
    rig.done("conversation", json!({"name": "west-talk", "team": "west"})).await;
    rig.say("west-talk", "ann", "hi").await;
    let frame = socket.raw().await.expect("a frame");
    let payload = &frame["payload"];
    assert_eq!(
        payload["authorizations"][0],
        json!({"enterprise_id": "E0ORG", "team_id": null, "user_id": payload["authorizations"][0]["user_id"], "is_bot": true, "is_enterprise_install": true})
    );
    assert_eq!(payload["enterprise_id"], "E0ORG");
    let (_, posted) = rig
        .call_as("xoxb-grid", "chat.postMessage", json!({"channel": payload["event"]["channel"], "text": "yes"}))
        .await;
    assert_eq!(posted["ok"], true, "{posted}");
    assert_eq!(
        rig.refusal("chat.postMessage", json!({"channel": payload["event"]["channel"], "text": "no"})).await,
        "channel_not_found"
    );
    rig.end().await;
}

#[tokio::test]
async fn tokens_are_of_one_kind_and_sockets_need_the_apps_own() {
    let rig =
        start_setup(Setup { tokens: vec![BOT.into(), APP.into()], limits: Limits::none(), ..Setup::default() }).await;
    let ask = async |token: &str, method: &str| text_of(&rig.call_as(token, method, json!({})).await.1["error"]);
    assert_eq!(ask(BOT, "apps.connections.open").await, "not_allowed_token_type");
    assert_eq!(ask(APP, "auth.test").await, "not_allowed_token_type");
    assert_eq!(ask("xoxb-wrong", "auth.test").await, "invalid_auth");
    assert_eq!(ask("nonsense", "auth.test").await, "invalid_auth");
    let bare: Value =
        rig.http.post(rig.address("auth.test")).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(bare["error"], "not_authed");
    let inside = rig.http.post(rig.address("auth.test")).json(&json!({"token": BOT})).send().await.expect("an answer");
    assert_eq!(
        inside.json::<Value>().await.expect("JSON")["error"],
        "not_authed",
        "a token in a JSON body is not looked at"
    );
    rig.end().await;
}

#[tokio::test]
async fn raw_events_and_frames_are_sent_as_they_are() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.done("raw", json!({"event": {"type": "future_thing", "odd": [1, null]}})).await;
    let frame = socket.raw().await.expect("a frame");
    assert_eq!(
        (&frame["payload"]["type"], &frame["payload"]["event"]["odd"]),
        (&json!("event_callback"), &json!([1, null]))
    );
    let odd = json!({"envelope_id": "e1", "type": "future", "payload": {}});
    rig.done("raw", json!({"event": odd})).await;
    assert_eq!(socket.raw().await, Some(odd));
    rig.end().await;
}

#[tokio::test]
async fn frames_that_make_no_sense_are_counted() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    for frame in [json!({"envelope_id": "nobody's"}), json!({"type": "ping"}), json!(5)] {
        socket.send(frame).await;
    }
    while rig.rules().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.rules(), ["unknown_envelope", "frame_without_envelope", "frame_without_envelope"]);
    rig.end().await;
}

#[tokio::test]
async fn more_events_than_an_hour_allows_are_one_warning() {
    let rig = start_with(Limits { events_per_hour: 1, ..Limits::none() }).await;
    let mut socket = rig.greeted().await;
    for text in ["a", "b", "c"] {
        rig.say("dm:ann", "ann", text).await;
    }
    assert_eq!(socket.event().await["text"], "a");
    let warning = socket.raw().await.expect("a frame");
    assert_eq!(warning["payload"]["type"], "app_rate_limited");
    rig.end().await;
}

#[tokio::test]
async fn a_ticket_is_good_once() {
    let rig = start().await;
    let (_, answer) = rig.call_as(APP, "apps.connections.open", json!({})).await;
    let url = text_of(&answer["url"]).replacen("ws", "http", 1);
    let ask = async || {
        let request = rig.http.get(&url).header("connection", "upgrade").header("upgrade", "websocket");
        request
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .send()
            .await
            .expect("an answer")
            .status()
            .as_u16()
    };
    assert_eq!((ask().await, ask().await), (101, 404));
    rig.end().await;
}
