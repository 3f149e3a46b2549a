//! Conversations that end, close or change, and what becomes of answers to them.

use std::time::Duration;

use conformance::Stage;
use contract::Platform;
use serde_json::json;

cases! {
    "Conversations that end, close or change";
    a_chat_that_is_gone_ends_its_answer_and_nothing_else: "D6";
    a_bot_that_is_thrown_out_goes_on_elsewhere: "D6";
    a_thread_that_is_deleted_is_answered_in_its_chat: "D6" on [Discord Telegram] since "a thread is a message; who deletes it deletes no answers";
    a_message_that_is_deleted_is_answered_all_the_same: "D6";
    an_archived_thread_is_answered: "D6" on [Discord] since "threads are not archived by themselves";
    a_group_that_is_upgraded_stays_one_conversation: "I5" on [Telegram] since "conversations keep their ids";
    the_general_topic_is_answered_without_a_number: "I5" on [Telegram] since "there is no such topic";
}

/// A turn runs there, then something happens to the place, then it is answered.
async fn answered_after(platform: Platform, kind: serde_json::Value, then: serde_json::Value) -> Stage {
    let stage = Stage::gated(platform).await;
    stage.people.conversation(kind).await;
    stage.people.mention("room", "ann", "/gate id=A").await;
    stage.gate.wait_for(1).await;
    stage.people.conversation(then).await;
    stage.gate.open();
    stage
}

/// What happens there is over, and others are answered.
async fn others_go_on(stage: Stage) {
    stage.people.say("dm:bob", "bob", "/gate id=B").await;
    stage.people.reads("dm:bob", "id: B").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let turns = stage.gateway().turns(&Default::default()).await.expect("the store answers");
    assert_eq!(turns.len(), 2, "what could not be delivered is recorded: {turns:?}");
    assert!(stage.gateway().running().is_empty(), "nothing goes on without end");
    assert!(stage.people.posts().await < 12, "it is not tried without end");
    stage.connected().await;
    stage
        .end_but_for(&[
            "unknown_channel",
            "missing_access",
            "forbidden",
            "chat_not_found",
            "channel_not_found",
            "not_in_channel",
            "is_archived",
            "kicked",
            "gone",
            "access",
            "not_found",
        ])
        .await;
}

async fn a_chat_that_is_gone_ends_its_answer_and_nothing_else(platform: Platform) {
    let gone = json!({ "name": "room", "state": "gone" });
    others_go_on(answered_after(platform, json!({ "name": "room" }), gone).await).await;
}

async fn a_bot_that_is_thrown_out_goes_on_elsewhere(platform: Platform) {
    let kicked = json!({ "name": "room", "state": "kicked" });
    others_go_on(answered_after(platform, json!({ "name": "room" }), kicked).await).await;
}

async fn a_thread_that_is_deleted_is_answered_in_its_chat(platform: Platform) {
    let stage = Stage::gated(platform).await;
    let kind = if platform == Platform::Telegram { "forum" } else { "text" };
    stage.people.conversation(json!({ "name": "room", "kind": kind })).await;
    stage.people.say_with("room", "ann", "/gate id=A", json!({ "thread": "plans", "mention": true })).await;
    stage.gate.wait_for(1).await;
    stage.people.post("remove", json!({ "conversation": "room", "thread": "plans" })).await;
    stage.gate.open();
    let seen = stage.people.reads("room", "id: A").await;
    assert_ne!(seen.thread.as_deref(), Some("plans"), "{seen:?}");
    assert!(stage.people.transcript("dm:ann").await.is_empty(), "never in a direct message");
    stage.end_but_for(&["unknown_channel", "thread_not_found", "not_found", "gone"]).await;
}

async fn a_message_that_is_deleted_is_answered_all_the_same(platform: Platform) {
    let stage = Stage::gated(platform).await;
    let asked = stage.people.mention("general", "ann", "/gate id=A").await;
    stage.gate.wait_for(1).await;
    stage.people.remove("general", &asked).await;
    stage.gate.open();
    stage.people.reads("general", "id: A").await;
    stage.people.settled("general", 1).await;
    stage.end_but_for(&["unknown_message", "thread_not_found", "reply_not_found"]).await;
}

async fn an_archived_thread_is_answered(platform: Platform) {
    let stage = Stage::gated(platform).await;
    stage.people.say_with("general", "ann", "/gate id=A", json!({ "thread": "plans", "mention": true })).await;
    stage.gate.wait_for(1).await;
    stage.people.conversation(json!({ "name": "general", "thread": "plans", "state": "archived" })).await;
    stage.gate.open();
    let seen = stage.people.reads("general", "id: A").await;
    assert_eq!(seen.thread.as_deref(), Some("plans"), "writing opens it again: {seen:?}");
    stage.end().await;
}

async fn a_group_that_is_upgraded_stays_one_conversation(platform: Platform) {
    let group = json!({ "name": "room", "kind": "group" });
    let stage = answered_after(platform, group, json!({ "name": "room", "state": "upgraded" })).await;
    stage.people.reads("room", "id: A").await;
    stage.people.mention("room", "ann", "/gate id=B").await;
    stage.people.reads("room", "id: B").await;
    let turns = stage.gateway().turns(&Default::default()).await.expect("the store answers");
    assert!(turns.windows(2).all(|pair| pair[0].session == pair[1].session), "{turns:?}");
    stage.people.settled("room", 2).await;
    stage.end_but_for(&["migrated", "upgraded"]).await;
}

async fn the_general_topic_is_answered_without_a_number(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.conversation(json!({ "name": "room", "kind": "forum" })).await;
    stage.people.mention("room", "ann", "/gate id=A").await;
    let seen = stage.people.reads("room", "id: A").await;
    assert_eq!(seen.payload.get("message_thread_id"), None, "{seen:?}");
    stage.end().await;
}
