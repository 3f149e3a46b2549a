//! What is heard: direct messages, mentions, threads; and what is not.

use conformance::Stage;
use serde_json::json;

use crate::on_every_platform;

on_every_platform!(a_direct_message_is_answered, a_mention_in_a_group_is_answered, talk_among_others_is_not_ours);

async fn a_direct_message_is_answered(stage: Stage) {
    stage.people.say("dm:ann", "ann", "/sleep 1").await;
    stage.people.reads("dm:ann", "slept").await;
    stage.end().await;
}

async fn a_mention_in_a_group_is_answered(stage: Stage) {
    stage.people.mention("general", "ann", "/sleep 1").await;
    stage.people.reads("general", "slept").await;
    stage.end().await;
}

async fn talk_among_others_is_not_ours(stage: Stage) {
    stage.people.say("general", "ann", "what a day").await;
    stage.people.say_with("general", "robot", "/sleep 1", json!({ "bot": true, "mention": true })).await;
    stage.people.mention("general", "ann", "/sleep 2").await;
    stage.people.reads("general", "2").await;
    assert_eq!(stage.people.chat("general").await.len(), 1);
    stage.end().await;
}
