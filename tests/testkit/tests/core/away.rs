//! The store is away, slow or lost to another process; trees fail or hang; the rules change during a turn.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use contract::{Accepted, Inbox, Message, Platform, State, TurnId};
use endpoints::Endpoints;
use testkit::{Flaky, Gate, Ground, InABox, Recorder, Setup, TOOLS, message, until};

use crate::scene::for_each_store;

fn says(conversation: &str, sender: &str, text: &str) -> Message {
    message(Platform::Telegram, conversation, sender, text)
}

async fn flaky(ground: &Ground, gate: &Gate) -> (InABox, Arc<Flaky>) {
    let flaky = Flaky::new();
    let gateway = Setup::new(ground.open().await).gate(gate).hook(flaky.clone()).start().ready().await;
    (gateway, flaky)
}

async fn turn(gateway: &InABox, message: Message) -> TurnId {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, .. } => id,
        other => panic!("not a turn: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_away_nothing_is_accepted_and_each_conversation_is_told_once() {
    for_each_store(|ground| async move {
        let (gateway, flaky) = flaky(&ground, &Gate::opened()).await;
        flaky.go_down(true);
        let message = says("c", "ada", "/gate id=1");
        for _ in 0..3 {
            assert!(gateway.gateway.accept(message.clone()).await.is_err());
            let mut overheard = says("c", "bob", "hello");
            overheard.from_bot = true;
            assert!(matches!(gateway.gateway_accept(overheard).await, Accepted::NotForUs));
        }
        let told = gateway.outlet.wait_for_finals(1).await;
        assert!(told[0].text.contains("I cannot take messages at present"), "{told:?}");
        flaky.go_down(false);
        turn(&gateway, message).await;
        let seen = gateway.outlet.wait_for_finals(2).await;
        assert_eq!(seen[1].text, "- id: 1", "{seen:?}");
        flaky.go_down(true);
        assert!(gateway.gateway.accept(says("c", "ada", "/gate id=2")).await.is_err());
        gateway.outlet.wait_for_finals(3).await;
        flaky.go_down(false);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_turn_finishes_and_holds_its_reply_until_it_can_be_stored() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let (gateway, flaky) = flaky(&ground, &gate).await;
        turn(&gateway, says("c", "ada", "/gate id=1\n/once id=2")).await;
        gate.wait_for(2).await;
        flaky.go_down(true);
        gate.open();
        until("the calls have ended", || gate.inside() == 0).await;
        assert!(gateway.outlet.finals().is_empty());
        flaky.go_down(false);
        let seen = gateway.outlet.wait_for_finals(1).await;
        assert!(seen[0].text.contains("id: 1") && seen[0].text.contains("id: 2"), "{seen:?}");
        assert_eq!(gate.runs(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_once_call_whose_start_cannot_be_written_is_not_started() {
    let gate = Gate::opened();
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    let (gateway, flaky) = flaky(&ground, &gate).await;
    flaky.fail_next.lock().unwrap().push("change Started");
    turn(&gateway, says("c", "ada", "/once id=1\n/gate id=2")).await;
    let seen = gateway.outlet.wait_for_finals(1).await;
    assert!(seen[0].text.contains("it was not started") && seen[0].text.contains("id: 2"), "{seen:?}");
    assert_eq!(gate.log(), ["in 2", "out 2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_whose_answer_was_lost_is_made_good_when_it_comes_again() {
    for_each_store(|ground| async move {
        let gate = Gate::opened();
        let (gateway, flaky) = flaky(&ground, &gate).await;
        flaky.lose_next.lock().unwrap().push("accept");
        let message = says("c", "ada", "/once id=1");
        assert!(gateway.gateway.accept(message.clone()).await.is_err());
        assert_eq!(gate.runs(), 0);
        turn(&gateway, message.clone()).await;
        turn(&gateway, message).await;
        let seen = gateway.outlet.wait_for_finals(2).await;
        assert!(seen.iter().any(|s| s.text == "- id: 1"), "{seen:?}");
        gateway.gateway.drain().await;
        assert_eq!((gate.runs(), gateway.outlet.finals().len()), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn a_stop_is_felt_while_the_store_is_away() {
    let gate = Gate::closed();
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    let (gateway, flaky) = flaky(&ground, &gate).await;
    turn(&gateway, says("c", "ada", "/gate id=1")).await;
    gate.wait_for(1).await;
    flaky.go_down(true);
    assert!(gateway.gateway.accept(says("c", "ada", "/stop")).await.is_err(), "it is not acknowledged");
    until("the call has ended", || gate.inside() == 0).await;
    flaky.go_down(false);
    let seen = gateway.outlet.wait_for_finals(2).await;
    assert!(seen.iter().any(|s| s.text.contains("code: cancelled")), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_lost_its_lease_says_nothing_and_starts_nothing_more() {
    let ground = Ground::new(testkit::StoreKind::Redis).await;
    let (platform, gate) = (Arc::new(Recorder::default()), Gate::closed());
    let one = Setup::new(ground.open().await).gate(&gate).outlet(&platform).start().ready().await;
    turn(&one, says("c", "ada", "/once id=1\n/gate id=2")).await;
    gate.wait_for(2).await;
    // The second takes the first one for dead, as it does with a process that was paused for too long.
    let two = Setup::new(ground.open().await).gate(&gate).outlet(&platform).start().ready().await;
    gate.wait_for(3).await;
    gate.open();
    let seen = platform.wait_for_finals(1).await;
    assert!(seen[0].text.contains("not known") && seen[0].text.contains("id: 2"), "{seen:?}");
    until("the first has noticed", || one.gateway.load().2 == 0).await;
    assert_eq!(gate.log().iter().filter(|line| *line == "in 1").count(), 1);
    two.gateway.drain().await;
    assert_eq!(platform.finals().len(), 1, "{:?}", platform.finals());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_was_lost_and_came_back_has_its_turns_taken_up_again() {
    let ground = Ground::new(testkit::StoreKind::Redis).await;
    let (platform, gate) = (Arc::new(Recorder::default()), Gate::closed());
    let one = Setup::new(ground.open().await).gate(&gate).outlet(&platform).start().ready().await;
    turn(&one, says("c", "ada", "/gate id=1")).await;
    turn(&one, says("c", "ada", "/gate id=2")).await;
    gate.wait_for(1).await;
    let other = ground.open().await;
    assert!(!other.turns.hold().await.unwrap().is_empty());
    // The first one takes the other for dead, and takes them back.
    gate.wait_for(2).await;
    gate.open();
    let seen = platform.wait_for_finals(2).await;
    let texts: Vec<_> = seen.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(texts, ["- id: 1", "- id: 2"]);
    one.gateway.drain().await;
    assert_eq!(platform.finals().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trees_that_fail_or_hang_neither_fail_nor_hold_up_a_turn() {
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    let (gateway, flaky) = flaky(&ground, &Gate::opened()).await;
    flaky.trees_down.store(true, Ordering::SeqCst);
    let failing = turn(&gateway, says("c", "ada", "/gate id=1")).await;
    gateway.outlet.wait_for_finals(1).await;
    flaky.trees_hang.store(true, Ordering::SeqCst);
    turn(&gateway, says("c", "ada", "/gate id=2")).await;
    gateway.outlet.wait_for_finals(2).await;
    turn(&gateway, says("c", "ada", &format!("/trace {failing}"))).await;
    let seen = gateway.outlet.wait_for_finals(3).await;
    assert!(seen[2].text.contains("cannot be read just now"), "{seen:?}");
    flaky.trees_hang.store(false, Ordering::SeqCst);
    flaky.trees_down.store(false, Ordering::SeqCst);
    for _ in 0..2_000 {
        if gateway.gateway.tree(failing).await.is_ok_and(|tree| tree.len() == 2 && tree[0].state == State::Ok) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    until("what waited is written", || gateway.gateway.trace_health().waiting == 0).await;
    assert_eq!(gateway.gateway.trace_health().dropped, 0);
    let kept = ground.open().await;
    until_written(&kept, failing).await;
}

async fn until_written(stores: &contract::records::Stores, turn: TurnId) {
    for _ in 0..2_000 {
        if stores.trees.tree(turn).await.unwrap().len() == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the tree of {turn} was not written");
}

#[tokio::test]
async fn the_process_leaves_although_trees_hang() {
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    let (gateway, flaky) = flaky(&ground, &Gate::opened()).await;
    flaky.trees_hang.store(true, Ordering::SeqCst);
    turn(&gateway, says("c", "ada", "/gate id=1")).await;
    gateway.outlet.wait_for_finals(1).await;
    let leaving = tokio::time::timeout(Duration::from_secs(30), gateway.gateway.drain());
    assert!(leaving.await.is_ok());
}

fn without(name: &str) -> String {
    let documents = TOOLS.split("---\n").filter(|document| !document.contains(&format!("name: {name}\n")));
    documents.collect::<Vec<_>>().join("---\n")
}

/// A step of `sequential` calls: the first waits, and meanwhile the rules change.
async fn changed_meanwhile(tools: &str, policy: &str, calls: &str) -> testkit::Said {
    let gate = Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).gate(&gate);
    let before = "platform: api\ntoolsets: { allow: [lab] }\nlimits: { execution_mode: sequential }\n";
    setup.policies = vec![("api.yaml".into(), before.into())];
    let gateway = Arc::new(setup.start().ready().await);
    let asking = tokio::spawn({
        let (gateway, calls) = (gateway.clone(), calls.to_owned());
        async move { gateway.say(&calls).await }
    });
    gate.wait_for(1).await;
    let policies = [("api.yaml".to_owned(), policy.to_owned())];
    let endpoints = Endpoints::new().native("gate", gate.clone());
    gateway.gateway.swap(Setup::snapshot(tools, &policies, endpoints, 2));
    gate.open();
    asking.await.unwrap()
}

#[tokio::test]
async fn what_is_removed_denied_or_allowed_during_a_turn_can_be_lost_and_not_gained() {
    let allowed = "platform: api\ntoolsets: { allow: [lab] }\n";
    let said = changed_meanwhile(&without("noop"), allowed, "/gate id=1\n/noop x").await;
    assert!(said.text.contains("code: tool.removed"), "{}", said.text);
    let denied = "platform: api\ntoolsets: { allow: [lab] }\ntools: { deny: [noop] }\n";
    let said = changed_meanwhile(TOOLS, denied, "/gate id=1\n/noop x").await;
    assert!(said.text.contains("code: tool.unknown") && said.tree.contains("denied [denied]"), "{}", said.text);
    let more = "platform: api\ntoolsets: { allow: [lab, secret] }\n";
    let said = changed_meanwhile(TOOLS, more, "/gate id=1\n/secret_thing").await;
    assert!(said.text.contains("code: tool.unknown"), "{}", said.text);
    let other = TOOLS.replace("required: [a]", "required: [a, b]");
    let said = changed_meanwhile(&other, allowed, "/gate id=1\n/noop x").await;
    assert!(!said.reply.failed, "what a call means comes from the turn's own snapshot: {}", said.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_hangs_or_dies_stops_the_intake_and_loses_no_running_turn() {
    let mut ground = Ground::new(testkit::StoreKind::Redis).await;
    let gate = Gate::closed();
    let gateway = Setup::new(ground.open().await).gate(&gate).start().ready().await;
    let running = turn(&gateway, says("c", "ada", "/gate id=1")).await;
    gate.wait_for(1).await;
    ground.server().unwrap().hangs();
    let late = says("d", "ada", "/gate id=2");
    assert!(gateway.gateway.accept(late.clone()).await.is_err());
    gate.open();
    until("the call has ended", || gate.inside() == 0).await;
    let told = gateway.outlet.wait_for_finals(1).await;
    assert!(told[0].text.contains("I cannot take messages at present"), "{told:?}");
    ground.server().unwrap().goes_on();
    gateway.gateway.reply(running).await.unwrap();
    let mut seen = gateway.outlet.wait_for_finals(2).await;
    assert!(seen.iter().any(|s| s.text == "- id: 1"), "{seen:?}");
    turn(&gateway, late.clone()).await;
    seen = gateway.outlet.wait_for_finals(3).await;
    assert!(seen.iter().any(|s| s.text == "- id: 2"), "{seen:?}");
    // It comes back empty: what it forgot is gone, and what comes now is taken.
    ground.server().unwrap().kill();
    let next = says("e", "ada", "/gate id=3");
    assert!(gateway.gateway.accept(next.clone()).await.is_err());
    ground.server().unwrap().restart().await;
    for _ in 0..400 {
        if gateway.gateway.accept(next.clone()).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    until("it is answered", || gateway.outlet.finals().iter().any(|s| s.text == "- id: 3")).await;
}

#[tokio::test]
async fn what_is_counted_agrees_with_the_trees() {
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    let (gateway, _) = flaky(&ground, &Gate::opened()).await;
    for n in 0..5 {
        gateway.say(&format!("/noop x\n/gate id={n}\n/crash\n/noop")).await;
    }
    gateway.gateway.drain().await;
    let stats = ground.open().await.trees.stats(0).await.unwrap();
    let of = |name: &str| stats.iter().find(|s| s.tool == name).map(|s| (s.calls, s.ok));
    assert_eq!((of("noop"), of("gate"), of("crash")), (Some((10, 5)), Some((5, 5)), Some((5, 0))), "{stats:?}");
}
