//! Answers arrive once and in order, whatever becomes of the requests that bring them.

use std::{sync::Arc, time::Duration};

use conformance::{Entry, Options, Stage};
use contract::{Platform, reply::DUPLICATE_MARK, seams::Condition};
use serde_json::json;
use testkit::{Flaky, Gate};

use crate::tools::says;

cases! {
    "Answers, whatever becomes of the requests that bring them";
    a_wait_of_the_platform_is_kept_and_the_order_too: "D4";
    a_wait_of_hours_blocks_its_chat_alone_and_operators_see_it: "D4";
    a_wait_that_is_only_in_the_words_is_kept: "D4" on [Telegram] since "waits come in a field or a header, never in the words alone";
    a_wait_of_the_whole_account_is_kept: "D4" on [Discord] since "waits are for a conversation or a method";
    a_server_error_loses_nothing_and_repeats_nothing_silently: "D5";
    a_request_that_never_arrived_is_made_again: "D5";
    an_answer_that_was_cut_off_is_not_repeated_silently: "D5";
    a_cut_in_the_middle_of_a_long_answer_loses_nothing: "D5 R4";
    markup_that_is_refused_goes_out_without: "R5" on [Telegram Slack] since "Discord draws whatever comes";
    nothing_is_acknowledged_before_it_is_stored: "D2";
    a_store_that_is_away_is_told_once_and_nothing_is_lost: "D2";
    what_waits_for_a_slow_tool_was_acknowledged_in_time: "D2";
    a_slow_answer_shows_that_it_is_being_made_and_takes_that_place: "R6";
    an_answer_after_its_token_ended_goes_to_the_channel: "D2" on [Discord] since "answers need no token that ends";
}

async fn a_wait_of_the_platform_is_kept_and_the_order_too(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=A0").await;
    stage.people.reads("dm:ann", "id: A0").await;
    stage.people.posting_fault(json!({ "kind": "rate_limit", "seconds": 1 })).await;
    for n in 1..4 {
        stage.people.say("dm:ann", "ann", &format!("/gate id=A{n}")).await;
        // Slack spreads events over our sockets, of which the later may come first by a moment.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.people.reads("dm:ann", "id: A3").await;
    let chat = stage.people.settled("dm:ann", 4).await;
    for (n, entry) in chat.iter().enumerate() {
        assert!(entry.text.contains(&format!("id: A{n}")), "{chat:#?}");
    }
    stage.end().await;
}

async fn a_wait_of_hours_blocks_its_chat_alone_and_operators_see_it(platform: Platform) {
    let stage = Stage::new(platform).await;
    for who in ["ann", "bob"] {
        stage.people.say(&format!("dm:{who}"), who, "/gate id=A").await;
        stage.people.reads(&format!("dm:{who}"), "id: A").await;
    }
    stage.people.posting_fault(json!({ "kind": "rate_limit", "seconds": 13_938, "conversation": "dm:ann" })).await;
    stage.people.say("dm:ann", "ann", "/gate id=B").await;
    let waits =
        |(part, now): &(String, Condition)| part.starts_with("delivery to ") && matches!(now, Condition::Degraded(_));
    testkit::until("operators see it", || stage.gateway().health().all().iter().any(waits)).await;
    stage.people.say("dm:bob", "bob", "/gate id=B").await;
    stage.people.reads("dm:bob", "id: B").await;
    assert_eq!(stage.people.chat("dm:ann").await.len(), 1);
    stage.end().await;
}

async fn a_wait_that_is_only_in_the_words_is_kept(platform: Platform) {
    let stage = Stage::new(platform).await;
    let words = "Too Many Requests: retry after 1";
    stage.people.posting_fault(json!({ "kind": "error", "status": 429, "description": words })).await;
    let asked = std::time::Instant::now();
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.people.reads("dm:ann", "id: A").await;
    assert!(asked.elapsed() >= Duration::from_secs(1));
    let chat = stage.people.settled("dm:ann", 1).await;
    assert!(!is_marked(&chat[0]), "{chat:?}");
    stage.end().await;
}

async fn a_wait_of_the_whole_account_is_kept(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.posting_fault(json!({ "kind": "rate_limit", "seconds": 1, "global": true })).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    // What is under way when the platform says so does not know of it.
    tokio::time::sleep(Duration::from_millis(200)).await;
    stage.people.say("dm:bob", "bob", "/gate id=A").await;
    stage.people.reads("dm:ann", "id: A").await;
    stage.people.reads("dm:bob", "id: A").await;
    stage.end().await;
}

pub(crate) fn is_marked(entry: &Entry) -> bool {
    entry.text.contains(DUPLICATE_MARK)
}

/// Answered once where the platform lets us look; elsewhere what may be a repeat says so.
pub(crate) async fn answered_once_or_marked(stage: &Stage, conversation: &str, words: &str) {
    stage.people.reads(conversation, words).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let chat = stage.people.chat(conversation).await;
    let answers: Vec<_> = chat.iter().filter(|entry| entry.text.contains(words)).collect();
    let unmarked = answers.iter().filter(|entry| !is_marked(entry)).count();
    match stage.platform {
        Platform::Telegram => assert!(unmarked <= 1 && answers.len() <= 2, "{answers:#?}"),
        // It takes a nonce once, and does not say whether it had it.
        Platform::Discord => assert_eq!(answers.len(), 1, "{answers:#?}"),
        _ => assert_eq!((unmarked, answers.len()), (1, 1), "{answers:#?}"),
    }
}

async fn a_server_error_loses_nothing_and_repeats_nothing_silently(platform: Platform) {
    let stage = Stage::new(platform).await;
    for status in [500, 503] {
        stage.people.posting_fault(json!({ "kind": "error", "status": status })).await;
        stage.people.say("dm:ann", "ann", &format!("/gate id=A{status}")).await;
        answered_once_or_marked(&stage, "dm:ann", &format!("id: A{status}")).await;
    }
    stage.end().await;
}

async fn a_request_that_never_arrived_is_made_again(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.posting_fault(json!({ "kind": "drop", "when": "before" })).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    answered_once_or_marked(&stage, "dm:ann", "id: A").await;
    assert_eq!(stage.people.chat("dm:ann").await.len(), 1);
    stage.end().await;
}

async fn an_answer_that_was_cut_off_is_not_repeated_silently(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.posting_fault(json!({ "kind": "drop", "when": "after" })).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    answered_once_or_marked(&stage, "dm:ann", "id: A").await;
    stage.people.say("dm:ann", "ann", "/gate id=B").await;
    answered_once_or_marked(&stage, "dm:ann", "id: B").await;
    answered_once_or_marked(&stage, "dm:ann", "id: A").await;
    stage.end().await;
}

async fn a_cut_in_the_middle_of_a_long_answer_loses_nothing(platform: Platform) {
    const WORDS: usize = 1_300;
    let long: String = (0..WORDS).map(|n| format!("w{n} ")).collect();
    let last = format!("w{}", WORDS - 1);
    let stage = Stage::with(platform, says(json!(long))).await;
    stage.people.say("dm:ann", "ann", "/says").await;
    stage.people.reads("dm:ann", &last).await;
    let parts = stage.people.chat("dm:ann").await.len();
    for (who, fault) in
        [("bob", json!({ "kind": "error", "status": 500 })), ("eve", json!({ "kind": "drop", "when": "after" }))]
    {
        let place = format!("dm:{who}");
        stage.people.posting_fault(fault).await;
        stage.people.say(&place, who, "/says").await;
        stage.people.reads(&place, &last).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let chat = stage.people.chat(&place).await;
        let all: String = chat.iter().map(|entry| format!("{} ", entry.text)).collect();
        let words: std::collections::HashSet<&str> = all.split_whitespace().collect();
        assert!((0..WORDS).all(|n| words.contains(format!("w{n}").as_str())), "nothing is lost");
        if platform != Platform::Telegram {
            assert_eq!(chat.len(), parts, "nothing is there twice");
        }
    }
    stage.end().await;
}

async fn markup_that_is_refused_goes_out_without(platform: Platform) {
    let stage = Stage::with(platform, says(json!("**bold** and `code`"))).await;
    stage.people.fault(json!({ "kind": "refuse_markup" })).await;
    stage.people.say("dm:ann", "ann", "/says").await;
    let seen = stage.people.reads("dm:ann", "bold and code").await;
    assert!(!seen.text.contains('<') && !seen.text.contains("**"), "{seen:?}");
    stage.people.settled("dm:ann", 1).await;
    stage.end_but_for(&["refuse_markup", "markup", "invalid_blocks"]).await;
}

async fn flaky(platform: Platform) -> (Stage, Arc<Flaky>) {
    let flaky = Flaky::new();
    let stage = Stage::hooked(platform, Options::default(), Gate::opened(), flaky.clone()).await;
    stage.people.say("dm:ann", "ann", "/gate id=before").await;
    stage.people.reads("dm:ann", "id: before").await;
    // What is written behind the answer is written.
    tokio::time::sleep(Duration::from_millis(150)).await;
    (stage, flaky)
}

async fn nothing_is_acknowledged_before_it_is_stored(platform: Platform) {
    let (mut stage, flaky) = flaky(platform).await;
    flaky.go_down(true);
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.people.reads("dm:ann", "cannot take messages").await;
    stage.kill();
    stage.start().await;
    stage.people.reads("dm:ann", "id: A").await;
    stage.people.settled("dm:ann", 3).await;
    assert_eq!(stage.gate.runs(), 2);
    stage.end().await;
}

async fn a_store_that_is_away_is_told_once_and_nothing_is_lost(platform: Platform) {
    let (stage, flaky) = flaky(platform).await;
    flaky.go_down(true);
    for n in 0..3 {
        stage.people.say("dm:ann", "ann", &format!("/gate id=A{n}")).await;
    }
    stage.people.reads("dm:ann", "cannot take messages").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    flaky.go_down(false);
    for n in 0..3 {
        stage.people.reads("dm:ann", &format!("id: A{n}")).await;
    }
    let chat = stage.people.settled("dm:ann", 5).await;
    assert_eq!(chat.iter().filter(|entry| entry.text.contains("cannot take messages")).count(), 1);
    assert_eq!(stage.gate.runs(), 4);
    stage.connected().await;
    stage.end().await;
}

async fn what_waits_for_a_slow_tool_was_acknowledged_in_time(platform: Platform) {
    let stage = Stage::gated(platform).await;
    stage.people.offers("general", "gate").await;
    stage.people.command("general", "ann", "gate", json!({ "id": "A" })).await;
    stage.people.say("dm:bob", "bob", "/gate id=B").await;
    stage.gate.wait_for(2).await;
    tokio::time::sleep(Duration::from_millis(3_300)).await;
    let stats = stage.people.stats().await;
    assert_eq!(stats["unanswered"].as_u64().unwrap_or_default(), 0, "{stats:#}");
    assert_eq!(stats["redelivered"].as_u64().unwrap_or_default(), 0, "{stats:#}");
    stage.gate.open();
    stage.people.reads("general", "id: A").await;
    stage.people.reads("dm:bob", "id: B").await;
    assert_eq!(stage.gate.runs(), 2);
    stage.end().await;
}

async fn a_slow_answer_shows_that_it_is_being_made_and_takes_that_place(platform: Platform) {
    let stage = Stage::gated(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    let progress = stage.people.reads("dm:ann", "Working on it").await;
    assert_eq!(progress.buttons.iter().map(|button| button.text.as_str()).collect::<Vec<_>>(), ["Cancel"]);
    stage.gate.open();
    stage.people.reads("dm:ann", "id: A").await;
    let chat = stage.people.settled("dm:ann", 1).await;
    assert_eq!((chat[0].message.as_deref(), chat[0].buttons.len()), (progress.message.as_deref(), 0), "{chat:?}");
    stage.end().await;
}

async fn an_answer_after_its_token_ended_goes_to_the_channel(platform: Platform) {
    let simulators = |setup: &mut sim::Options| setup.discord.limits.token_seconds = 0.6;
    let options = Options { simulators: Box::new(simulators), ..Options::default() };
    let stage = Stage::at(platform, options, Gate::closed(), None).await;
    stage.people.offers("general", "gate").await;
    stage.people.command("general", "ann", "gate", json!({ "id": "A" })).await;
    stage.gate.wait_for(1).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    stage.gate.open();
    let seen = stage.people.reads("general", "id: A").await;
    assert_eq!(seen.to, None);
    stage.end_but_for(&["interaction_token_expired"]).await;
}
