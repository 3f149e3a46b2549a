//! Every fault that can be ordered, and the pace.

use expect_test::expect;
use serde_json::{Value, json};
use sim::telegram::Limits;

use crate::rig::{Rig, start, start_with};

async fn ordered(rig: &Rig, fault: Value) {
    let (status, answer) = rig.control("fault", fault).await;
    assert_eq!(status, 200, "{answer}");
}

async fn chat(rig: &Rig) -> i64 {
    rig.say("dm:ann", "ann", "hello").await.0
}

fn hello(chat: i64) -> Value {
    json!({"chat_id": chat, "text": "hello"})
}

#[tokio::test]
async fn an_error_comes_as_often_as_ordered() {
    let rig = start().await;
    let chat = chat(&rig).await;
    ordered(&rig, json!({"kind": "error", "count": 2})).await;
    ordered(&rig, json!({"kind": "error", "status": 400, "description": "Bad Request: retry after 41", "method": "editMessageText"})).await;
    let told = [
        rig.refusal("sendMessage", hello(chat)).await,
        rig.refusal("sendMessage", hello(chat)).await,
        rig.refusal("editMessageText", hello(chat)).await,
    ];
    expect![[r#"
        500 Internal Server Error
        500 Internal Server Error
        400 Bad Request: retry after 41"#]]
    .assert_eq(&told.join("\n"));
    rig.ok("sendMessage", hello(chat)).await;
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn a_rate_limit_names_its_wait() {
    let rig = start().await;
    let chat = chat(&rig).await;
    ordered(&rig, json!({"kind": "rate_limit", "seconds": 33})).await;
    let (status, answer) = rig.call("sendMessage", hello(chat)).await;
    assert_eq!((status, &answer["parameters"]["retry_after"]), (429, &json!(33)));
    assert_eq!(answer["description"], "Too Many Requests: retry after 33");
    rig.ok("sendChatAction", json!({"chat_id": chat, "action": "typing"})).await;
    let again = rig.http.post(rig.address("sendMessage")).json(&hello(chat)).send().await.expect("an answer");
    assert_eq!(again.status(), 429, "the wait is not over");
    assert!(again.headers().contains_key("retry-after"));
    rig.telegram().clear_faults();
    rig.ok("sendMessage", hello(chat)).await;
    rig.end().await;
}

#[tokio::test]
async fn a_chat_that_is_sent_too_much_is_refused_with_a_wait() {
    let rig = start_with(Limits { chat_burst: 3.0, ..Limits::default() }).await;
    let chat = chat(&rig).await;
    for _ in 0..3 {
        rig.ok("sendMessage", hello(chat)).await;
    }
    let (status, answer) = rig.call("sendMessage", hello(chat)).await;
    assert_eq!((status, &answer["parameters"]["retry_after"]), (429, &json!(1)));
    let (other, _) = rig.say("dm:bob", "bob", "hello").await;
    rig.ok("sendMessage", hello(other)).await;
    let (status, limits) = rig.control("limits", json!({"chat_per_second": 0.0, "group_per_minute": 0.0})).await;
    assert_eq!((status, &limits["chat_per_second"]), (200, &json!(0.0)));
    rig.ok("sendMessage", hello(chat)).await;
    rig.end().await;
}

#[tokio::test]
async fn a_dropped_request_has_taken_effect_only_when_ordered_so() {
    let rig = start().await;
    let chat = chat(&rig).await;
    for (when, count) in [("before", 0), ("after", 1)] {
        ordered(&rig, json!({"kind": "drop", "when": when, "method": "sendMessage"})).await;
        let answer = rig.http.post(rig.address("sendMessage")).json(&hello(chat)).send().await;
        assert!(answer.is_err(), "{when}");
        assert_eq!(rig.telegram().transcript(Some("dm:ann"), 1).len(), count, "{when}");
    }
    rig.ok("sendMessage", hello(chat)).await;
    rig.end().await;
}

#[tokio::test]
async fn a_delay_holds_the_answer_and_a_refused_markup_takes_plain_text() {
    let rig = start().await;
    let chat = chat(&rig).await;
    ordered(&rig, json!({"kind": "delay", "seconds": 0.01})).await;
    rig.ok("sendMessage", hello(chat)).await;
    ordered(&rig, json!({"kind": "refuse_markup"})).await;
    rig.ok("sendMessage", hello(chat)).await;
    let told = rig.refusal("sendMessage", json!({"chat_id": chat, "text": "a", "parse_mode": "HTML"})).await;
    assert!(told.starts_with("400 Bad Request: can't parse entities: "), "{told}");
    rig.end().await;
}

#[tokio::test]
async fn a_duplicate_comes_again_after_it_was_confirmed() {
    let rig = start().await;
    rig.ok("getMe", json!({})).await;
    ordered(&rig, json!({"kind": "duplicate"})).await;
    rig.say("dm:ann", "ann", "hi").await;
    let first = rig.ok("getUpdates", json!({})).await;
    let next = json!({"offset": first[0]["update_id"].as_i64().map(|id| id + 1)});
    assert_eq!(rig.ok("getUpdates", next.clone()).await, first);
    assert_eq!(rig.ok("getUpdates", next.clone()).await, json!([]));
    ordered(&rig, json!({"kind": "duplicate", "past": 1})).await;
    assert_eq!(rig.ok("getUpdates", next.clone()).await, first);
    assert_eq!(rig.ok("getUpdates", next).await, json!([]));
    rig.end().await;
}

#[tokio::test]
async fn open_polls_are_cut_and_conflicts_reported_on_demand() {
    let rig = start().await;
    let poll = rig.http.post(rig.address("getUpdates")).json(&json!({"timeout": 50})).send();
    let cut = async {
        while !rig.telegram().stats().requests.contains_key("getUpdates") {
            tokio::task::yield_now().await;
        }
        ordered(&rig, json!({"kind": "disconnect"})).await;
    };
    let (answer, ()) = tokio::join!(poll, cut);
    assert!(answer.is_err());
    ordered(&rig, json!({"kind": "conflict", "count": 1})).await;
    assert!(rig.refusal("getUpdates", json!({})).await.starts_with("409 Conflict: "));
    assert_eq!(rig.ok("getUpdates", json!({})).await, json!([]));
    ordered(&rig, json!({"kind": "close", "count": 1})).await;
    assert!(rig.http.post(rig.address("getUpdates")).send().await.is_err());
    assert_eq!(rig.ok("getUpdates", json!({})).await, json!([]));
    rig.end().await;
}
