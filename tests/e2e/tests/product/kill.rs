//! `kill -9` at each step that a message takes: nothing is lost, no effect happens twice, no repeat is silent.

use serde_json::{Value, json};
use sim::telegram::{Conversation, Fault, Limits, NewKind, fault};

use crate::{
    chat::Chat,
    gateway::Gateway,
    service::long_text,
    world::{World, eventually, on_both_stores},
};

on_both_stores!(
    a_message_said_while_the_gateway_is_down_waits_for_it,
    a_message_that_was_fetched_and_not_stored_comes_again,
    messages_that_wait_in_their_lane_are_answered_in_order,
    a_repeatable_call_under_way_is_run_again,
    a_once_call_under_way_is_not_run_again_and_the_reply_says_so,
    a_once_call_that_ended_is_not_run_again_and_its_result_is_used,
    a_once_call_within_a_pipeline_is_not_run_again,
    a_reply_that_may_have_arrived_is_sent_again_with_the_mark,
    a_reply_whose_receipt_was_lost_is_repeated_with_the_mark,
    a_long_reply_goes_on_behind_the_parts_that_arrived,
    a_reply_that_arrived_is_not_repeated,
    an_answer_takes_the_place_of_the_progress_that_an_earlier_life_showed,
    a_message_to_another_conversation_arrives_once,
    what_a_process_did_last_is_in_the_tree,
    buttons_of_an_earlier_life_work,
    a_message_over_http_is_answered_by_the_next_life,
    a_once_call_over_http_is_not_run_again_and_its_tree_says_so,
    a_message_that_kills_the_process_thrice_is_given_up_and_the_others_go_on,
);

async fn a_message_said_while_the_gateway_is_down_waits_for_it(world: World) {
    world.start().await.kill();
    let asked = world.chat("team").says("/look tag=a");
    let gateway = world.start().await;
    assert!(asked.answered_once_unmarked(&gateway).await.text.contains("done: look"));
    gateway.kill();
    let gateway = world.start().await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("look", "a"), 1);
    world.no_rule_was_broken();
}

async fn a_message_that_was_fetched_and_not_stored_comes_again(world: World) {
    let gateway = world.start().await;
    world.loses_answer("getUpdates");
    world.fault(Fault::new(fault::Kind::Disconnect));
    let asked = world.chat("team").says("/act tag=a");
    gateway.kill();
    let gateway = world.start().await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("act", "a"), 1);
}

async fn messages_that_wait_in_their_lane_are_answered_in_order(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("look");
    let first = team.says("/look tag=a");
    world.service.asked("look", "a", 1).await;
    let behind: Vec<_> = (0..4).map(|n| team.says(&format!("/act tag=b{n}"))).collect();
    is_accepted(&world).await;
    gateway.kill();
    world.service.let_go("look");
    let gateway = world.start().await;
    let mut messages = vec![first.answered_once_unmarked(&gateway).await.message];
    for (n, asked) in behind.iter().enumerate() {
        messages.push(asked.answered_once_unmarked(&gateway).await.message);
        assert_eq!(world.service.count("act", &format!("b{n}")), 1);
    }
    assert!(messages.is_sorted(), "{messages:?}");
    world.no_rule_was_broken();
}

async fn a_repeatable_call_under_way_is_run_again(world: World) {
    let (gateway, ann) = (world.start().await, world.chat("dm:ann"));
    world.service.hold("look");
    let asked = ann.says("/look tag=a");
    world.service.asked("look", "a", 1).await;
    gateway.kill();
    world.service.let_go("look");
    let gateway = world.start().await;
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("done: look"), "{answer:?}");
    assert_eq!(world.service.count("look", "a"), 2);
    gateway.tree(&answer.reference()).await;
}

async fn a_once_call_under_way_is_not_run_again_and_the_reply_says_so(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("act");
    let asked = team.says("/act tag=a");
    world.service.asked("act", "a", 1).await;
    gateway.kill();
    world.service.let_go("act");
    let gateway = world.start().await;
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("it is not known whether 'act' took effect"), "{answer:?}");
    assert!(answer.text.contains("code: outcome.unknown"), "{answer:?}");
    assert_eq!(world.service.count("act", "a"), 1);
    let tree = gateway.tree(&answer.reference()).await;
    let states: Vec<_> = tree["nodes"].as_array().expect("nodes").iter().map(|node| node["state"].clone()).collect();
    assert!(states.contains(&"unknown".into()), "{tree:#}");
    world.no_rule_was_broken();
}

async fn a_once_call_that_ended_is_not_run_again_and_its_result_is_used(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("look");
    let asked = team.says("/act tag=a\n/look tag=b\n/fail tag=c\n/crash");
    world.service.asked("look", "b", 1).await;
    eventually("the once call has ended", async || {
        let traces = gateway.get("/v1/traces").await.1;
        let reference = traces["traces"][0]["turn"].as_str().unwrap_or_default().to_owned();
        let tree = gateway.get(&format!("/v1/traces/{reference}")).await.1;
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        ["act", "fail", "crash"]
            .iter()
            .all(|tool| nodes.iter().any(|node| node["tool"] == *tool && node["state"] != "running"))
    })
    .await;
    gateway.kill();
    world.service.let_go("look");
    let gateway = world.start().await;
    let answer = asked.answered_once_unmarked(&gateway).await;
    for words in ["done: act", "done: look", "code: upstream.5xx", "code: panic"] {
        assert!(answer.text.contains(words), "{answer:?}");
    }
    assert_eq!((world.service.count("act", "a"), world.service.count("look", "b")), (1, 2));
}

async fn a_once_call_within_a_pipeline_is_not_run_again(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("act");
    let asked = team.says("/pair tag=a");
    world.service.asked("act", "a", 1).await;
    gateway.kill();
    world.service.let_go("act");
    let gateway = world.start().await;
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("it is not known whether"), "{answer:?}");
    assert_eq!(world.service.count("act", "a"), 1);
    gateway.tree(&answer.reference()).await;
}

async fn a_reply_that_may_have_arrived_is_sent_again_with_the_mark(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.delays("sendMessage", 3_000.0);
    let asked = team.says("/act tag=a");
    world.request_after("sendMessage", 0).await;
    gateway.kill();
    let gateway = world.start().await;
    let answer = asked.answered_once(&gateway).await;
    assert!(answer.is_marked() && answer.text.contains("done: act"), "{answer:?}");
    assert_eq!((asked.answers().len(), world.service.count("act", "a")), (1, 1));
    world.no_rule_was_broken();
}

async fn a_reply_whose_receipt_was_lost_is_repeated_with_the_mark(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.loses_answer("sendMessage");
    let asked = team.says("/act tag=a");
    asked.answer().await;
    gateway.kill();
    let gateway = world.start().await;
    asked.answer_with("you may have received this already").await;
    asked.answered_once(&gateway).await;
    let answers = asked.answers();
    assert_eq!(answers.len(), 2, "{answers:#?}");
    assert!(!answers[0].is_marked() && answers[1].is_marked(), "{answers:#?}");
    assert!(answers[1].text.contains(&answers[0].text), "{answers:#?}");
    assert_eq!(world.service.count("act", "a"), 1);
}

async fn a_long_reply_goes_on_behind_the_parts_that_arrived(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    // One message fits; for the second the platform asks to wait.
    world.telegram.set_limits(Limits { chat_per_second: 1.0, chat_burst: 1.0, ..Limits::none() });
    let asked = team.says("/long tag=a");
    world.request_after("sendMessage", 1).await;
    gateway.kill();
    world.telegram.set_limits(Limits::none());
    // Killed again, in the middle of sending the second.
    let before = world.requests("sendMessage");
    world.delays("sendMessage", 3_000.0);
    let gateway = world.start().await;
    world.request_after("sendMessage", before).await;
    gateway.kill();
    let gateway = world.start().await;
    let last = "line 199 of a";
    eventually("the last part arrives", async || team.seen().iter().any(|seen| seen.text.contains(last))).await;
    asked.quiet(&gateway).await;
    arrived_whole(&team, &long_text("a"));
}

/// Line after line; where lines come again, the mark stands before them.
fn arrived_whole(chat: &Chat, text: &str) {
    let seen: Vec<String> = chat.seen().into_iter().map(|seen| seen.text).collect();
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut marked) = (0, false);
    for line in seen.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()) {
        if line.contains("you may have received this already") {
            marked = true;
        } else if lines.get(at) == Some(&line) {
            at += 1;
        } else if let Some(again) = lines.iter().position(|known| *known == line) {
            assert!(marked && again < at, "'{line}' is repeated without the mark or out of order: {seen:#?}");
            (at, marked) = (again + 1, false);
        }
    }
    assert_eq!(at, lines.len(), "the whole answer arrived: {seen:#?}");
}

async fn a_reply_that_arrived_is_not_repeated(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/act tag=a");
    asked.answered_once_unmarked(&gateway).await;
    gateway.kill();
    // The platform delivers the update once more, to two lives.
    world.fault(Fault { past: Some(1), ..Fault::new(fault::Kind::Duplicate) });
    let gateway = world.start().await;
    team.says("/look tag=b").answered_once_unmarked(&gateway).await;
    gateway.kill();
    world.fault(Fault { past: Some(5), ..Fault::new(fault::Kind::Duplicate) });
    let gateway = world.start().await;
    team.says("/look tag=c").answered_once_unmarked(&gateway).await;
    asked.answered_once_unmarked(&gateway).await;
    let counts = ["a", "b", "c"].map(|tag| world.service.count("act", tag) + world.service.count("look", tag));
    assert_eq!(counts, [1, 1, 1]);
}

async fn an_answer_takes_the_place_of_the_progress_that_an_earlier_life_showed(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("look");
    world.service.hold("act");
    let asked = [team.says("/look tag=a"), world.chat("dm:bob").says("/act tag=b")];
    let mut progress = Vec::new();
    for asked in &asked {
        progress.push(asked.progress().await.message);
    }
    receipts_are_stored().await;
    gateway.kill();
    world.service.let_go("look");
    world.service.let_go("act");
    let gateway = world.start().await;
    for (asked, progress) in asked.iter().zip(progress) {
        let answer = asked.answered_once_unmarked(&gateway).await;
        assert_eq!(answer.message, progress, "{answer:?}");
    }
    assert_eq!((world.service.count("act", "b"), world.service.count("look", "a")), (1, 2));
    world.no_rule_was_broken();
}

async fn a_message_to_another_conversation_arrives_once(world: World) {
    let there = Conversation { name: "ops".into(), kind: Some(NewKind::Supergroup), ..Conversation::default() };
    let id = world.telegram.conversation(&there).expect("a group can be made");
    let ops = world.chat("ops");
    let (gateway, ann) = (world.start().await, world.chat("dm:ann"));
    // Whoever wrote there is a member.
    world.telegram.say(sim::telegram::Say::new("ops", "ann", "hello")).expect("it can be said");
    world.service.hold("look");
    let asked = ann.says(&format!("/send_message to={id} text=lunch\n/look tag=a"));
    eventually("the message is in the other conversation", async || ops.seen().iter().any(|s| s.text == "lunch")).await;
    world.service.asked("look", "a", 1).await;
    gateway.kill();
    world.service.let_go("look");
    let gateway = world.start().await;
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("done: look"), "{answer:?}");
    let lunches: Vec<_> = ops.seen().into_iter().filter(|seen| seen.text.contains("lunch")).collect();
    assert!(lunches.len() == 1 || lunches[1].is_marked() && lunches.len() == 2, "{lunches:#?}");
}

async fn what_a_process_did_last_is_in_the_tree(world: World) {
    for n in 0..5 {
        let (gateway, team) = (world.start().await, world.chat("team"));
        let asked = team.says(&format!("/act tag={n}"));
        let answer = asked.answer().await;
        // Nodes are written behind: the last ones are not there yet.
        gateway.kill();
        let gateway = world.start().await;
        let tree = gateway.tree(&answer.reference()).await;
        let nodes = tree["nodes"].as_array().expect("nodes");
        assert!(nodes.iter().any(|node| node["kind"] == "turn"), "{tree:#}");
        // Once it was delivered, nothing keeps what was asked.
        assert!(tree["asked"] == "" || tree["asked"] == asked.text.as_str(), "{tree:#}");
        asked.answered_once(&gateway).await;
    }
}

/// What was posted is seen before its receipt is stored; Telegram cannot be asked for one that was lost in between.
async fn receipts_are_stored() {
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
}

async fn buttons_of_an_earlier_life_work(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    let failed = team.says("/fail tag=f").answer().await;
    world.service.hold("look");
    let asked = team.says("/look tag=a");
    let progress = asked.progress().await;
    receipts_are_stored().await;
    gateway.kill();
    let gateway = world.start().await;
    world.service.asked("look", "a", 2).await;
    team.presses(progress.message, "Cancel");
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("Stopped") && answer.message == progress.message, "{answer:?}");

    assert_eq!(failed.buttons, ["Try again", "Details"]);
    team.presses(failed.message, "Try again");
    world.service.asked("fail", "f", 2).await;
    team.presses(failed.message, "Details");
    let details = || {
        team.seen()
            .into_iter()
            .any(|seen| seen.text.contains("✗") || seen.text.contains("upstream.5xx") && seen.message != failed.message)
    };
    eventually("details are shown", async || details()).await;
    // A second press finds what the first one asked for.
    team.presses(failed.message, "Try again");
    asked.quiet(&gateway).await;
    assert_eq!(world.service.count("fail", "f"), 2);
}

async fn a_message_over_http_is_answered_by_the_next_life(world: World) {
    let gateway = world.start().await;
    world.service.hold("act");
    let path = "/v1/messages";
    let reference = cut_off(&world, &gateway, path, json!({"text": "/act tag=a"})).await;
    gateway.kill();
    world.service.let_go("act");
    let gateway = world.start().await;
    let mut reply = Value::Null;
    eventually("the reply can be fetched", async || {
        reply = gateway.get(&format!("{path}/{reference}")).await.1;
        reply["text"].as_str().is_some_and(|text| text.contains("it is not known whether 'act' took effect"))
    })
    .await;
    assert_eq!((&reply["failed"], world.service.count("act", "a")), (&json!(true), 1), "{reply:#}");
    gateway.tree(&reference).await;
}

async fn a_once_call_over_http_is_not_run_again_and_its_tree_says_so(world: World) {
    let gateway = world.start().await;
    world.service.hold("act");
    let reference = cut_off(&world, &gateway, "/v1/tools/act/invoke", json!({"tag": "a"})).await;
    gateway.kill();
    world.service.let_go("act");
    let gateway = world.start().await;
    // What is known is written behind the record.
    eventually("the tree says that it is not known", async || {
        gateway.tree(&reference).await["nodes"].to_string().contains("\"state\":\"unknown\"")
    })
    .await;
    assert_eq!(world.service.count("act", "a"), 1);
}

/// Posts something that calls `act` and goes away while the call is under way; the turn's reference.
async fn cut_off(world: &World, gateway: &Gateway, path: &str, body: Value) -> String {
    tokio::select! {
        answer = gateway.post(path, body) => panic!("answered too early: {answer:?}"),
        () = world.service.asked("act", "a", 1) => {}
    }
    let traces = gateway.get("/v1/traces").await.1;
    traces["traces"][0]["turn"].as_str().expect("the turn is listed while it runs").to_owned()
}

async fn a_message_that_kills_the_process_thrice_is_given_up_and_the_others_go_on(world: World) {
    let (team, other) = (world.chat("team"), world.chat("other"));
    let mut gateway = world.start().await;
    // What comes while a partition is being taken counts as found there, so as having lived before.
    team.says("/look tag=first").answer().await;
    world.service.hold("look");
    let asked = team.says("/look tag=deadly");
    let behind = team.says("/act tag=behind");
    other.says("/act tag=0").answer_with("done: act").await;
    for life in 1..=3 {
        world.service.asked("look", "deadly", life).await;
        gateway.kill();
        gateway = world.start().await;
        other.says(&format!("/act tag={life}")).answer_with("done: act").await;
    }
    let answer = asked.answer().await;
    assert!(answer.text.contains("code: crashed"), "{answer:?}");
    assert!(behind.answered_once_unmarked(&gateway).await.text.contains("done: act"));
    assert_eq!(world.service.count("look", "deadly"), 3);
    asked.answered_once_unmarked(&gateway).await;
    gateway.tree(&answer.reference()).await;
}

/// Waits until the platform was told that all is taken in.
async fn is_accepted(world: &World) {
    let polls = world.requests("getUpdates");
    world.request_after("getUpdates", polls).await;
}
