//! What becomes of what people say while a turn of theirs runs: it waits, joins, ends it, or is collected.

use std::{sync::Arc, time::Duration};

use contract::{Accepted, Message, Platform, State, TurnId, records::TurnState};
use testkit::{
    Gate, InABox, Life, Recorder, Scripted, Setup, allow_lab_with, message,
    model::{Act, never, says, wants},
    remembered, until,
};

use crate::scene::for_each_store;

fn busy(setup: Setup, mode: &str) -> Setup {
    let policies = vec![allow_lab_with(Platform::Telegram, &format!("while_busy: {mode}"))];
    Setup { policies, ..setup }
}

fn says_ada(text: &str) -> Message {
    message(Platform::Telegram, "c", "ada", text)
}

fn says_bob(text: &str) -> Message {
    message(Platform::Telegram, "c", "bob", text)
}

async fn turn(gateway: &InABox, message: Message) -> TurnId {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, .. } => id,
        other => panic!("not a turn: {other:?}"),
    }
}

fn texts(outlet: &Recorder) -> Vec<String> {
    outlet.finals().into_iter().map(|seen| seen.text).collect()
}

async fn state(gateway: &InABox, turn: TurnId) -> TurnState {
    gateway.gateway.record(turn).await.unwrap().unwrap().state
}

/// A model that opens the gate first.
fn opens_the_gate() -> Vec<Act> {
    vec![wants(&[("gate", r#"{"id":"A"}"#)]), says("Both are done."), says("And the rest.")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_meanwhile_joins_the_next_step_and_is_answered_with_it() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let model = Scripted::new(opens_the_gate());
        let stores = ground.open().await;
        let setup = Setup::new(stores.clone()).model(&model).gate(&gate);
        let gateway = busy(setup, "steer").start().ready().await;
        let first = turn(&gateway, says_ada("open the gate")).await;
        gate.wait_for(1).await;
        let bobs = turn(&gateway, says_bob("what is for lunch?")).await;
        let second = turn(&gateway, says_ada("and greet who comes")).await;
        gate.open();
        gateway.outlet.wait_for_finals(2).await;
        assert_eq!(texts(&gateway.outlet), ["Both are done.", "And the rest."], "one answer to both, one to bob");
        let heard = model.asked()[1].text();
        let at = |text: &str| heard.find(text).unwrap_or_else(|| panic!("{text}: {heard}"));
        assert!(at("open the gate") < at("result call_1_1") && at("result call_1_1") < at("and greet who comes"));
        assert!(!heard.contains("lunch"), "nobody's words but the asker's: {heard}");
        for turn in [first, second, bobs] {
            while state(&gateway, turn).await != TurnState::Done {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let nodes = gateway.gateway.tree(second).await.unwrap();
        assert_eq!((nodes.len(), nodes[0].state), (1, State::Ok));
        let items = remembered(&stores, &says_ada("").address).await;
        assert_eq!(items[0].asked, "open the gate\n\nand greet who comes");
        gateway.gateway.drain().await;
    })
    .await;
}

#[tokio::test]
async fn what_is_said_when_no_step_comes_any_more_is_a_turn_of_its_own() {
    let model = Scripted::new([says("The first.").after(Duration::from_millis(300)), says("The second.")]);
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let gateway = busy(Setup::new(stores).model(&model), "steer").start().ready().await;
    turn(&gateway, says_ada("one")).await;
    until("it thinks", || model.asked().len() == 1).await;
    turn(&gateway, says_ada("two")).await;
    gateway.outlet.wait_for_finals(2).await;
    assert_eq!(texts(&gateway.outlet), ["The first.", "The second."]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_joined_a_turn_is_neither_lost_nor_answered_twice_when_the_process_dies() {
    for_each_store(|ground| async move {
        let platform = Arc::new(Recorder::default());
        platform.can_find();
        let model = Scripted::new([
            wants(&[("gate", r#"{"id":"A"}"#)]).after(Duration::from_millis(300)),
            never(),
            says("Both are done."),
        ]);
        let gate = Gate::closed();
        let start = || {
            let (platform, model, gate) = (platform.clone(), model.clone(), gate.clone());
            let setup = move |stores| busy(Setup::new(stores).model(&model).gate(&gate).outlet(&platform), "steer");
            Life::start(ground.opening(), setup)
        };
        let life = start().await;
        life.ready().await;
        let first = life.turn(says_ada("open the gate")).await;
        gate.wait_for(1).await;
        let second = life.turn(says_ada("and greet who comes")).await;
        gate.open();
        until("the second step is asked for", || model.asked().len() == 2).await;
        let merged = life.gateway.record(second).await.unwrap().unwrap().state;
        assert_eq!(merged, TurnState::Merged(first));
        life.kill();
        let life = start().await;
        life.done(first).await;
        life.done(second).await;
        let heard = model.asked()[2].text();
        assert!(heard.contains("and greet who comes"), "{heard}");
        assert_eq!(texts(&platform), ["Both are done."]);
        life.kill();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_collected_into_one_turn() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let model = Scripted::new([
            wants(&[("gate", r#"{"id":"A"}"#)]),
            says("The first is done."),
            says("All three are done."),
        ]);
        let setup = Setup::new(ground.open().await).model(&model).gate(&gate);
        let gateway = busy(setup, "collect").start().ready().await;
        turn(&gateway, says_ada("open the gate")).await;
        gate.wait_for(1).await;
        for text in ["one", "two", "three"] {
            turn(&gateway, says_ada(text)).await;
        }
        gate.open();
        gateway.outlet.wait_for_finals(2).await;
        assert_eq!(texts(&gateway.outlet), ["The first is done.", "All three are done."]);
        let heard = model.asked()[2].text();
        let heard = heard.rsplit_once("The first is done.").unwrap().1;
        assert!(heard.contains("one") && heard.contains("two") && heard.contains("three"), "{heard}");
        gateway.gateway.drain().await;
        assert_eq!(gateway.outlet.finals().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_ends_the_turn_that_runs_of_the_same_person_alone() {
    for_each_store(|ground| async move {
        let model = Scripted::new([never(), says("This instead."), says("For bob.")]);
        let gateway = busy(Setup::new(ground.open().await).model(&model), "interrupt").start().ready().await;
        turn(&gateway, says_ada("think")).await;
        until("it thinks", || model.asked().len() == 1).await;
        turn(&gateway, says_bob("me too")).await;
        turn(&gateway, says_ada("/noop x")).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(gateway.outlet.finals().is_empty(), "neither another person nor a command ends it");
        turn(&gateway, says_ada("no, do this")).await;
        gateway.outlet.wait_for_finals(4).await;
        let said = texts(&gateway.outlet);
        assert!(said[0].contains("stopped, as you asked"), "{said:?}");
        assert_eq!((said[1].as_str(), said[3].as_str()), ("This instead.", "For bob."), "in their order");
        gateway.gateway.drain().await;
    })
    .await;
}

#[tokio::test]
async fn a_once_call_that_is_interrupted_is_told_truthfully() {
    let gate = Gate::closed();
    let model = Scripted::new([wants(&[("once", r#"{"id":"A"}"#)]), says("This instead.")]);
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let gateway = busy(Setup::new(stores).model(&model).gate(&gate), "interrupt").start().ready().await;
    turn(&gateway, says_ada("do it once")).await;
    gate.wait_for(1).await;
    turn(&gateway, says_ada("do this instead")).await;
    gateway.outlet.wait_for_finals(2).await;
    let said = texts(&gateway.outlet);
    assert!(said[0].contains("may have"), "{said:?}");
    assert_eq!((said[1].as_str(), gate.runs()), ("This instead.", 1));
}

#[tokio::test]
async fn commands_while_a_turn_runs_are_neither_lost_nor_do_they_end_it_nor_join_it() {
    for mode in ["queue", "steer", "collect", "interrupt"] {
        let gate = Gate::closed();
        let model = Scripted::new([wants(&[("gate", r#"{"id":"A"}"#)]), says("It is open.")]);
        let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
        let gateway = busy(Setup::new(stores).model(&model).gate(&gate), mode).start().ready().await;
        turn(&gateway, says_ada("open the gate")).await;
        gate.wait_for(1).await;
        turn(&gateway, says_ada("/gate id=B")).await;
        gate.open();
        gateway.outlet.wait_for_finals(2).await;
        assert_eq!(texts(&gateway.outlet), ["It is open.", "- id: B"], "{mode}");
    }
}

#[tokio::test]
async fn who_waits_long_behind_several_is_told_once_how_many() {
    let gate = Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let gateway = Setup::new(stores).gate(&gate).start().ready().await;
    for id in ["a", "b", "c", "d"] {
        turn(&gateway, says_ada(&format!("/gate id={id}"))).await;
    }
    gateway.outlet.wait_for_finals(1).await;
    gate.open();
    gateway.outlet.wait_for_finals(5).await;
    let told: Vec<_> = texts(&gateway.outlet).into_iter().filter(|text| text.contains("answered before it")).collect();
    assert_eq!(told, ["Your message waits: 2 are answered before it."]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_stopped_takes_what_joined_it_along() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let model = Scripted::new([wants(&[("gate", r#"{"id":"A"}"#)]), never()]);
        let setup = Setup::new(ground.open().await).model(&model).gate(&gate);
        let gateway = busy(setup, "steer").start().ready().await;
        turn(&gateway, says_ada("open the gate")).await;
        gate.wait_for(1).await;
        let second = turn(&gateway, says_ada("and greet who comes")).await;
        gate.open();
        until("it thinks again", || model.asked().len() == 2).await;
        gateway.gateway_accept(says_ada("/stop")).await;
        gateway.outlet.wait_for_finals(1).await;
        while state(&gateway, second).await != TurnState::Done {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        gateway.gateway.drain().await;
        assert_eq!(gateway.outlet.finals().len(), 1);
    })
    .await;
}
