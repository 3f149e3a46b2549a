//! Every fault that can be ordered of the Web API, and what is counted.

use serde_json::{Value, json};

use crate::slack_rig::{BOT, start, text_of};

#[tokio::test]
async fn errors_waits_and_refused_markup_come_as_ordered() {
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let (other, _) = rig.say("dm:bob", "bob", "hello").await;
    let hello = json!({"channel": channel, "text": "x"});
    rig.done("fault", json!({"kind": "error", "error": "service_unavailable", "count": 2})).await;
    for _ in 0..2 {
        assert_eq!(rig.refusal("chat.postMessage", hello.clone()).await, "service_unavailable");
    }
    rig.done("fault", json!({"kind": "error", "status": 503, "method": "chat.update"})).await;
    rig.ok("chat.postMessage", hello.clone()).await;
    assert_eq!(rig.call("chat.update", hello.clone()).await.0, 503);
    rig.done("fault", json!({"kind": "refuse_markup"})).await;
    rig.ok("chat.postMessage", hello.clone()).await;
    assert_eq!(
        rig.refusal("chat.postMessage", json!({"channel": channel, "text": "x", "blocks": [{"type": "divider"}]}))
            .await,
        "invalid_blocks"
    );
    rig.done("fault", json!({"kind": "rate_limit", "seconds": 33, "conversation": "general"})).await;
    rig.ok("chat.postMessage", json!({"channel": other, "text": "x"})).await;
    for _ in 0..2 {
        assert_eq!(rig.refusal("chat.postMessage", hello.clone()).await, "ratelimited");
    }
    let cleared = rig.http.delete(format!("{}/control/slack/fault", rig.running.url)).send().await.expect("an answer");
    assert_eq!(cleared.status(), 200);
    rig.ok("chat.postMessage", hello).await;
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn a_dropped_request_has_taken_effect_only_when_ordered_so() {
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    for (when, count) in [("before", 0), ("after", 1)] {
        rig.done("fault", json!({"kind": "drop", "when": when})).await;
        let answer = rig
            .http
            .post(rig.address("chat.postMessage"))
            .bearer_auth(BOT)
            .json(&json!({"channel": channel, "text": "x"}))
            .send()
            .await;
        assert!(answer.is_err(), "{when}");
        assert_eq!(rig.slack().transcript(Some("general"), 1).len(), count, "{when}");
    }
    rig.done("fault", json!({"kind": "delay", "seconds": 0.01})).await;
    rig.ok("chat.postMessage", json!({"channel": channel, "text": "x"})).await;
    rig.end().await;
}

#[tokio::test]
async fn a_conflict_sends_new_sockets_away() {
    let rig = start().await;
    rig.done("fault", json!({"kind": "conflict"})).await;
    assert_eq!(rig.socket().await.next().await["reason"], "too_many_websockets");
    rig.greeted().await;
    rig.done("fault", json!({"kind": "rate_limit", "seconds": 1, "method": "apps.connections.open"})).await;
    assert_eq!(rig.call_as(crate::slack_rig::APP, "apps.connections.open", json!({})).await.0, 429);
    rig.end().await;
}

#[tokio::test]
async fn stats_transcripts_files_and_streams_are_read_over_http() {
    let rig = start().await;
    let file = json!({"name": "a.html", "mime": "text/html", "text": "<script>"});
    let waiting = rig.control_get("transcript?conversation=dm:ann&wait=50");
    let said = rig.control("say", json!({"conversation": "dm:ann", "user": "ann", "text": "see", "files": [file]}));
    let (entries, _) = tokio::join!(waiting, said);
    let entry = &entries["entries"][0];
    assert_eq!(
        (&entry["by"], &entry["kind"], &entry["text"], &entry["files"][0]["name"]),
        (&json!("user"), &json!("message"), &json!("see"), &json!("a.html"))
    );
    let address = format!("{}/control/slack/file?id={}", rig.running.url, text_of(&entry["files"][0]["id"]));
    let got = rig.http.get(address).send().await.expect("an answer");
    assert_eq!(got.headers()["content-type"], "application/octet-stream");
    let mut stream =
        rig.http.get(format!("{}/control/slack/transcript/events", rig.running.url)).send().await.expect("an answer");
    let chunk = stream.chunk().await.expect("a stream").expect("an entry");
    assert!(String::from_utf8_lossy(&chunk).contains("event: entry"));
    drop(stream);
    rig.refusal("chat.postMessage", json!({"channel": entry["chat"]})).await;
    let stats = rig.control_get("stats").await;
    let violation: Value = json!([{"rule": "no_text", "method": "chat.postMessage", "detail": "no_text"}]);
    assert_eq!((&stats["requests"], &stats["received"], &stats["violations"]), (&json!(1), &json!(1), &violation));
    let names = rig.control_get("conversations").await;
    assert_eq!(
        (&names["conversations"][0]["name"], &names["conversations"][1]["kind"]),
        (&json!("general"), &json!("im"))
    );
    let foreign = rig.http.get(format!("{}/control/slack/stats", rig.running.url)).header("origin", "http://e.test");
    assert_eq!(foreign.send().await.expect("an answer").status(), 403);
    rig.end().await;
}
