//! Connections end in every way that they can, processes die and start: nothing is lost, nothing is answered twice.

use std::time::Duration;

use conformance::{Options, Stage};
use contract::{Platform, seams::Condition};
use serde_json::json;
use testkit::{Death, Flaky, Gate, StoreKind};

use crate::delivery::answered_once_or_marked;

cases! {
    "Connections and processes end, and nothing is lost";
    a_connection_that_ends_in_any_way_loses_nothing: "D8";
    a_connection_that_falls_silent_is_noticed_and_rebuilt: "D8";
    what_is_brought_by_http_is_answered_once: "I1 D2" on [Telegram Slack] since "everything comes over the gateway";
    messages_that_come_while_nobody_listens_are_answered_at_the_next_start: "D3";
    what_was_missed_without_a_session_is_caught_up_once: "D9" on [Discord] since "what was not acknowledged is kept by the platform and comes again";
    a_restart_in_the_middle_of_work_answers_everything_once: "D3";
    a_kill_at_any_step_is_answered_once_or_says_so: "D1";
    a_kill_in_the_middle_of_a_turn_is_answered_once_on_redis: "D1";
    what_must_not_run_twice_is_told_to_be_unknown_after_a_kill: "D1 E16";
    a_kill_after_the_answer_repeats_nothing: "D1";
    a_second_process_stands_by_and_takes_over: "D7";
    a_second_program_with_our_token_is_one_clear_state: "D7" on [Telegram] since "several connections with one token are how the platform is meant to be used";
    a_bad_token_stops_that_adapter_with_the_steps_and_others_go_on: "D8";
    a_missing_intent_stops_with_the_steps: "D8" on [Discord] since "there are no intents";
}

async fn a_connection_that_ends_in_any_way_loses_nothing(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=before").await;
    stage.people.reads("dm:ann", "id: before").await;
    let endings = stage.people.endings();
    for (n, ending) in endings.iter().enumerate() {
        stage.people.fault(ending.clone()).await;
        for more in 0..2 {
            stage.people.say("dm:ann", "ann", &format!("/gate id=A{n}-{more}")).await;
        }
        for more in 0..2 {
            stage.people.reads("dm:ann", &format!("id: A{n}-{more}")).await;
        }
        stage.connected().await;
    }
    stage.people.settled("dm:ann", 1 + 2 * endings.len()).await;
    assert_eq!(stage.gate.runs(), 1 + 2 * endings.len());
    stage.end().await;
}

async fn a_connection_that_falls_silent_is_noticed_and_rebuilt(platform: Platform) {
    let simulators = |setup: &mut sim::Options| {
        setup.discord.limits.heartbeat_ms = 200;
        setup.slack.limits.ack_seconds = 1.0;
    };
    let stage = Stage::with(platform, Options { simulators: Box::new(simulators), ..Options::default() }).await;
    stage.people.say("dm:ann", "ann", "/gate id=before").await;
    stage.people.reads("dm:ann", "id: before").await;
    stage.people.fault(stage.people.silence()).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.people.reads("dm:ann", "id: A").await;
    stage.people.say("dm:ann", "ann", "/gate id=B").await;
    stage.people.reads("dm:ann", "id: B").await;
    stage.people.settled("dm:ann", 3).await;
    stage.end().await;
}

async fn what_is_brought_by_http_is_answered_once(platform: Platform) {
    let options = Options { hooks: true, ..Options::default() };
    let flaky = Flaky::new();
    let stage = Stage::hooked(platform, options, Gate::opened(), flaky.clone()).await;
    stage.people.fault(json!({ "kind": "duplicate", "count": 1 })).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.people.reads("dm:ann", "id: A").await;
    for event in stage.people.poison() {
        stage.people.raw(event).await;
    }
    stage.people.say("dm:ann", "ann", "/crash").await;
    let error = stage.people.reads("dm:ann", "panic").await;
    stage.people.press("ann", &error, "Details").await;
    stage.people.sees("dm:ann", |entry| entry.n > error.n && entry.is_said() && entry.text.contains("turn")).await;
    stage.people.command("general", "ann", "gate", json!({ "id": "G" })).await;
    stage.people.reads("general", "id: G").await;
    flaky.go_down(true);
    stage.people.say("dm:bob", "bob", "/gate id=B").await;
    stage.people.reads("dm:bob", "cannot take messages").await;
    flaky.go_down(false);
    stage.people.reads("dm:bob", "id: B").await;
    stage.people.settled("dm:bob", 2).await;
    assert_eq!(stage.gate.runs(), 3);
    stage.end().await;
}

async fn messages_that_come_while_nobody_listens_are_answered_at_the_next_start(platform: Platform) {
    let mut stage = Stage::new(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=before").await;
    stage.people.reads("dm:ann", "id: before").await;
    stage.people.mention("general", "bob", "/gate id=before").await;
    stage.people.reads("general", "id: before").await;
    stage.stop().await.expect("it stops when it is asked to");
    for n in 0..3 {
        stage.people.say("dm:ann", "ann", &format!("/gate id=A{n}")).await;
    }
    stage.people.mention("general", "bob", "/gate id=G").await;
    stage.start().await;
    for n in 0..3 {
        stage.people.reads("dm:ann", &format!("id: A{n}")).await;
    }
    stage.people.reads("general", "id: G").await;
    stage.people.settled("dm:ann", 4).await;
    stage.people.settled("general", 2).await;
    stage.end().await;
}

async fn what_was_missed_without_a_session_is_caught_up_once(platform: Platform) {
    let simulators = |setup: &mut sim::Options| setup.discord.limits.resume_seconds = 0.2;
    let options = Options { simulators: Box::new(simulators), ..Options::default() };
    let mut stage = Stage::with(platform, options).await;
    stage.people.mention("general", "bob", "/gate id=before").await;
    stage.people.reads("general", "id: before").await;
    stage.people.say("dm:ann", "ann", "/gate id=before").await;
    stage.people.reads("dm:ann", "id: before").await;
    stage.stop().await.expect("it stops when it is asked to");
    tokio::time::sleep(Duration::from_millis(400)).await;
    stage.people.mention("general", "bob", "/gate id=G").await;
    stage.people.say("general", "bob", "and nobody is meant").await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.start().await;
    stage.people.reads("general", "id: G").await;
    stage.people.reads("dm:ann", "id: A").await;
    stage.people.settled("general", 2).await;
    stage.people.settled("dm:ann", 2).await;
    assert_eq!(stage.gate.runs(), 4);
    stage.end().await;
}

async fn a_restart_in_the_middle_of_work_answers_everything_once(platform: Platform) {
    let mut stage = Stage::gated(platform).await;
    for n in 0..4 {
        stage.people.say(&format!("dm:p{n}"), &format!("p{n}"), "/gate id=A").await;
    }
    stage.gate.wait_for(4).await;
    let gate = stage.gate.clone();
    let opens = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        gate.open();
    });
    stage.stop().await.expect("it stops when it is asked to");
    opens.await.expect("it opens");
    for n in 0..4 {
        stage.people.say(&format!("dm:p{n}"), &format!("p{n}"), "/gate id=B").await;
    }
    stage.start().await;
    for n in 0..4 {
        stage.people.reads(&format!("dm:p{n}"), "id: B").await;
        stage.people.settled(&format!("dm:p{n}"), 2).await;
    }
    assert_eq!(stage.gate.runs(), 8, "turns ended within the drain time: none ran twice");
    stage.end().await;
}

async fn a_kill_at_any_step_is_answered_once_or_says_so(platform: Platform) {
    let mut stage = Stage::new(platform).await;
    // Somebody is known already, so that nothing depends on who came first.
    for step in 0.. {
        let conversation = format!("dm:p{step}");
        let user = format!("p{step}");
        stage.stop().await.expect("it stops when it is asked to");
        let death = Death::at(step);
        stage.start_with(Some(death.clone())).await;
        stage.people.say(&conversation, &user, "/gate id=A").await;
        let came_to_the_end = tokio::select! {
            () = death.reached() => false,
            _ = stage.people.reads(&conversation, "id: A") => {
                tokio::time::timeout(Duration::from_millis(400), death.reached()).await.is_err()
            }
        };
        stage.kill();
        stage.start().await;
        answered_once_or_marked(&stage, &conversation, "id: A").await;
        if came_to_the_end {
            assert!(step > 8, "the steps are seen: {step} {:?}", death.names());
            break;
        }
    }
    stage.end().await;
}

async fn a_kill_in_the_middle_of_a_turn_is_answered_once_on_redis(platform: Platform) {
    let options = Options { store: StoreKind::Redis, ..Options::default() };
    let mut stage = Stage::at(platform, options, Gate::closed(), None).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.gate.wait_for(1).await;
    stage.kill();
    stage.people.say("dm:ann", "ann", "/gate id=B").await;
    stage.gate.open();
    stage.start().await;
    stage.people.reads("dm:ann", "id: A").await;
    stage.people.reads("dm:ann", "id: B").await;
    stage.people.settled("dm:ann", 2).await;
    stage.end().await;
}

async fn what_must_not_run_twice_is_told_to_be_unknown_after_a_kill(platform: Platform) {
    let mut stage = Stage::gated(platform).await;
    stage.people.say("dm:ann", "ann", "/once id=A").await;
    stage.gate.wait_for(1).await;
    stage.kill();
    stage.gate.open();
    stage.start().await;
    let told = stage.people.sees("dm:ann", |entry| entry.is_said() && entry.text.contains("not known")).await;
    assert!(told.text.contains("outcome.unknown"), "{told:?}");
    stage.people.settled("dm:ann", 1).await;
    assert_eq!(stage.gate.runs(), 1);
    stage.end().await;
}

async fn a_kill_after_the_answer_repeats_nothing(platform: Platform) {
    let mut stage = Stage::new(platform).await;
    for n in 0..3 {
        stage.people.say("dm:ann", "ann", &format!("/gate id=A{n}")).await;
        stage.people.reads("dm:ann", &format!("id: A{n}")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        stage.kill();
        stage.start().await;
    }
    stage.people.settled("dm:ann", 3).await;
    assert_eq!(stage.gate.runs(), 3);
    stage.end().await;
}

async fn a_second_process_stands_by_and_takes_over(platform: Platform) {
    let options = Options { store: StoreKind::Redis, side_by_side: true, ..Options::default() };
    let mut stage = Stage::with(platform, options).await;
    stage.start_second().await;
    let stands_by = |now: &Condition| matches!(now, Condition::Degraded(why) if why.contains("another process"));
    testkit::until("it stands by", || stage.conditions_of_second().iter().any(stands_by)).await;
    for n in 0..4 {
        stage.people.say("dm:ann", "ann", &format!("/gate id=A{n}")).await;
        stage.people.reads("dm:ann", &format!("id: A{n}")).await;
    }
    stage.people.settled("dm:ann", 4).await;
    stage.stop().await.expect("it stops when it is asked to");
    stage.second_goes_on_alone();
    stage.people.say("dm:ann", "ann", "/gate id=B").await;
    stage.people.reads("dm:ann", "id: B").await;
    stage.people.settled("dm:ann", 5).await;
    assert_eq!(stage.gate.runs(), 5);
    stage.end().await;
}

async fn a_second_program_with_our_token_is_one_clear_state(platform: Platform) {
    let stage = Stage::new(platform).await;
    let polls = async || stage.people.stats().await["methods"]["getUpdates"].as_u64().unwrap_or_default();
    let before = polls().await;
    stage.people.fault(json!({ "kind": "conflict", "count": 4 })).await;
    let told = |now: &Condition| matches!(now, Condition::Degraded(why) if why.contains("another"));
    stage.shows("it is said", told).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.people.reads("dm:ann", "id: A").await;
    stage.connected().await;
    let tries = polls().await - before;
    assert!(tries < 20, "it does not poll in a loop: {tries}");
    stage.people.settled("dm:ann", 1).await;
    stage.end().await;
}

async fn a_bad_token_stops_that_adapter_with_the_steps_and_others_go_on(platform: Platform) {
    let simulators = move |setup: &mut sim::Options| match platform {
        Platform::Discord => setup.discord.tokens = vec!["bad.bad.bad".into()],
        Platform::Telegram => setup.telegram.tokens = vec!["1:bad".into()],
        _ => setup.slack.tokens = vec!["xoxb-bad".into()],
    };
    let other = if platform == Platform::Telegram { Platform::Slack } else { Platform::Telegram };
    let options = Options { simulators: Box::new(simulators), beside: vec![other], waits: false, ..Options::default() };
    let mut stage = Stage::with(platform, options).await;
    let stopped = stage.adapter_ended().await.expect_err("it cannot work");
    assert!(!stopped.steps.is_empty(), "{stopped:?}");
    let said = format!("{stopped:?} {:?}", stage.gateway().health().all());
    assert!(conformance::SECRETS.iter().all(|secret| !said.contains(secret)), "{said}");
    stage.shows("operators see it", |now| matches!(now, Condition::Stopped(_))).await;
    let people = stage.people_of(other);
    people.say("dm:ann", "ann", "/gate id=A").await;
    people.reads("dm:ann", "id: A").await;
    people.is_content().await;
    stage.kill();
}

async fn a_missing_intent_stops_with_the_steps(platform: Platform) {
    let simulators = |setup: &mut sim::Options| setup.discord.content = false;
    let options = Options { simulators: Box::new(simulators), waits: false, ..Options::default() };
    let mut stage = Stage::with(platform, options).await;
    let stopped = stage.adapter_ended().await.expect_err("it cannot work");
    assert!(stopped.why.contains("4014"), "{stopped:?}");
    assert!(stopped.steps.iter().any(|step| step.contains("Message Content Intent")), "{stopped:?}");
    stage.kill();
}
