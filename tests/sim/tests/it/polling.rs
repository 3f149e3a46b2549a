//! The long poll: offsets, redelivery, one poller at a time.

use serde_json::{Value, json};

use crate::rig::{Rig, start};

fn texts(updates: &Value) -> Vec<&str> {
    updates.as_array().into_iter().flatten().filter_map(|update| update["message"]["text"].as_str()).collect()
}

async fn three(rig: &Rig) -> i64 {
    for text in ["one", "two", "three"] {
        rig.say("dm:ann", "ann", text).await;
    }
    let updates = rig.ok("getUpdates", json!({})).await;
    updates[0]["update_id"].as_i64().expect("a number")
}

#[tokio::test]
async fn updates_come_again_until_an_offset_confirms_them() {
    let rig = start().await;
    let first = three(&rig).await;
    assert_eq!(texts(&rig.ok("getUpdates", json!({})).await), ["one", "two", "three"]);
    assert_eq!(texts(&rig.ok("getUpdates", json!({"limit": 1})).await), ["one"]);
    assert_eq!(texts(&rig.ok("getUpdates", json!({"offset": first + 1})).await), ["two", "three"]);
    assert_eq!(texts(&rig.ok("getUpdates", json!({"offset": first})).await), ["two", "three"], "confirmed is gone");
    assert_eq!(texts(&rig.ok("getUpdates", json!({"offset": -1})).await), ["three"]);
    assert_eq!(texts(&rig.ok("getUpdates", json!({})).await), ["three"], "a negative offset forgets the others");
    assert_eq!(texts(&rig.ok("getUpdates", json!({"offset": first + 3})).await), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn what_was_said_before_the_bot_came_is_delivered() {
    let rig = start().await;
    rig.telegram().say(sim::telegram::Say::new("dm:ann", "ann", "early")).expect("said");
    assert_eq!(texts(&rig.ok("getUpdates", json!({})).await), ["early"]);
    rig.end().await;
}

#[tokio::test]
async fn a_waiting_poll_ends_with_the_update() {
    let rig = start().await;
    let poll = rig.ok("getUpdates", json!({"timeout": 50}));
    let said = async {
        while !rig.telegram().stats().requests.contains_key("getUpdates") {
            tokio::task::yield_now().await;
        }
        rig.say("dm:ann", "ann", "hi").await
    };
    let (updates, _) = tokio::join!(poll, said);
    assert_eq!(texts(&updates), ["hi"]);
    rig.end().await;
}

#[tokio::test]
async fn a_second_poll_ends_the_first_with_a_conflict() {
    let rig = start().await;
    let first = rig.refusal("getUpdates", json!({"timeout": 50}));
    let second = async {
        while !rig.telegram().stats().requests.contains_key("getUpdates") {
            tokio::task::yield_now().await;
        }
        rig.ok("getUpdates", json!({})).await
    };
    let (told, updates) = tokio::join!(first, second);
    assert_eq!(
        told,
        "409 Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    );
    assert_eq!(updates, json!([]));
    rig.end().await;
}

#[tokio::test]
async fn a_webhook_excludes_polling() {
    let rig = start().await;
    rig.ok("setWebhook", json!({"url": "https://e.test/hook"})).await;
    assert_eq!(rig.ok("getWebhookInfo", json!({})).await["url"], "https://e.test/hook");
    let told = rig.refusal("getUpdates", json!({})).await;
    assert!(told.starts_with("409 Conflict: can't use getUpdates method while webhook is active"), "{told}");
    rig.say("dm:ann", "ann", "hi").await;
    rig.ok("deleteWebhook", json!({"drop_pending_updates": true})).await;
    assert_eq!(rig.ok("getUpdates", json!({})).await, json!([]));
    rig.end().await;
}

#[tokio::test]
async fn only_the_kinds_that_were_asked_for_are_queued() {
    let rig = start().await;
    rig.ok("getUpdates", json!({"allowed_updates": ["edited_message"]})).await;
    let (_, message) = rig.say("dm:ann", "ann", "one").await;
    rig.control("edit", json!({"conversation": "dm:ann", "user": "ann", "message": message, "text": "two"})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!((updates.as_array().map(Vec::len), &updates[0]["edited_message"]["text"]), (Some(1), &json!("two")));
    rig.ok("getUpdates", json!({"allowed_updates": []})).await;
    rig.say("dm:ann", "ann", "three").await;
    assert_eq!(texts(&rig.ok("getUpdates", json!({"offset": -1})).await), ["three"]);
    rig.end().await;
}

#[tokio::test]
async fn an_open_poll_does_not_hold_up_the_end() {
    let rig = start().await;
    let poll = rig.http.post(rig.address("getUpdates")).json(&json!({"timeout": 50})).send();
    let end = async {
        while !rig.telegram().stats().requests.contains_key("getUpdates") {
            tokio::task::yield_now().await;
        }
        rig.stop.cancel();
    };
    let (answer, ()) = tokio::join!(poll, end);
    assert!(answer.is_ok_and(|answer| answer.status() == 200));
    rig.end().await;
}
