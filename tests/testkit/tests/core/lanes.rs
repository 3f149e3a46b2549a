//! Who waits for whom, what is taken once, and what stops what.

use std::{sync::Arc, time::Duration};

use contract::{Accepted, Action, Heard, Kind, Message, Platform, TurnId};
use testkit::{Gate, InABox, Setup, message, press, until};

use crate::scene::for_each_store;

async fn gated(gate: &Gate) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup::new(stores).gate(gate).start().ready().await
}

fn says(conversation: &str, sender: &str, text: &str) -> Message {
    message(Platform::Telegram, conversation, sender, text)
}

async fn turn(gateway: &InABox, message: Message) -> TurnId {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, .. } => id,
        other => panic!("not a turn: {other:?}"),
    }
}

async fn signal(gateway: &InABox, message: Message) -> String {
    match gateway.gateway_accept(message).await {
        Accepted::Signal(words) => words,
        other => panic!("not a signal: {other:?}"),
    }
}

#[tokio::test]
async fn people_in_one_session_are_answered_one_after_the_other() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    turn(&gateway, says("c", "ada", "/gate id=first")).await;
    turn(&gateway, says("c", "bob", "/gate id=second")).await;
    turn(&gateway, says("c", "ada", "/gate id=third")).await;
    gate.wait_for(1).await;
    assert_eq!(gate.most(), 1);
    gate.open();
    let seen = gateway.outlet.wait_for_finals(3).await;
    assert_eq!(gate.log(), ["in first", "out first", "in second", "out second", "in third", "out third"]);
    let order: Vec<_> = seen.iter().map(|s| s.text.clone()).collect();
    assert_eq!(order, ["- id: first", "- id: second", "- id: third"]);
}

#[tokio::test]
async fn a_hundred_chats_that_wait_do_not_delay_the_next() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    for n in 0..100 {
        turn(&gateway, says(&format!("busy {n}"), "ada", "/gate id=slow")).await;
    }
    gate.wait_for(100).await;
    let said = gateway.say("/noop x").await;
    assert_eq!(gate.inside(), 100, "none of them has ended");
    assert!(!said.reply.failed);
    gate.open();
    gateway.outlet.wait_for_finals(100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_event_makes_one_turn_however_many_bring_it() {
    for_each_store(|ground| async move {
        let gate = Gate::opened();
        let gateway = Arc::new(Setup::new(ground.open().await).gate(&gate).start().ready().await);
        let event = says("c", "ada", "/once id=A");
        let mut bringing = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let (gateway, event) = (gateway.clone(), event.clone());
            bringing.spawn(async move { turn(&gateway, event).await });
        }
        let mut turns = bringing.join_all().await;
        turns.dedup();
        assert_eq!(turns.len(), 1);
        gateway.outlet.wait_for_finals(1).await;
        assert_eq!(turn(&gateway, event).await, turns[0], "and later");
        gateway.gateway.drain().await;
        assert_eq!((gate.runs(), gateway.outlet.finals().len()), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_the_lane_full_is_told_and_those_after_together() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let gateway = Setup::new(ground.open().await).gate(&gate).start().ready().await;
        for n in 0..32 {
            turn(&gateway, says("c", "ada", &format!("/gate id={n}"))).await;
        }
        for _ in 0..5 {
            turn(&gateway, says("c", "bob", "/gate id=late")).await;
        }
        let told = gateway.outlet.wait_for_finals(1).await;
        assert!(told[0].text.contains("this one was not taken"), "{told:?}");
        let told = gateway.outlet.wait_for_finals(2).await;
        assert!(told[1].text.contains("the last 4 were not taken"), "{told:?}");
        gate.open();
        gateway.outlet.wait_for_finals(34).await;
        gateway.gateway.drain().await;
        assert_eq!((gate.runs(), gateway.outlet.finals().len()), (32, 34));
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_fetches_is_told_that_the_lane_is_full() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    for n in 0..32 {
        gateway.gateway_accept(message(Platform::Api, "c", "ada", &format!("/gate id={n}"))).await;
    }
    let said = gateway.say_as(message(Platform::Api, "c", "ada", "/gate id=late")).await;
    assert!(said.text.contains("code: busy"), "{}", said.text);
    gate.open();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_what_runs_and_waits_for_that_person_alone() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let gateway = Setup::new(ground.open().await).gate(&gate).start().ready().await;
        turn(&gateway, says("c", "ada", "/gate id=running")).await;
        turn(&gateway, says("c", "ada", "/gate id=waiting")).await;
        turn(&gateway, says("c", "bob", "/gate id=bobs")).await;
        turn(&gateway, says("elsewhere", "ada", "/gate id=elsewhere")).await;
        gate.wait_for(2).await;
        assert_eq!(signal(&gateway, says("c", "ada", "/stop")).await, "stopping");
        let seen = gateway.outlet.wait_for_finals(2).await;
        assert!(seen[0].text.contains("code: cancelled"), "{seen:?}");
        assert!(seen[1].text.contains("code: not_started"), "{seen:?}");
        gate.wait_for(3).await;
        assert_eq!(gate.inside(), 2, "bob's and the one elsewhere: {:?}", gate.log());
        gate.open();
        let seen = gateway.outlet.wait_for_finals(4).await;
        let rest: Vec<_> = seen[2..].iter().map(|s| s.text.as_str()).collect();
        assert!(rest.contains(&"- id: bobs") && rest.contains(&"- id: elsewhere"), "{seen:?}");
        assert!(!gate.log().contains(&"in waiting".to_owned()));
        turn(&gateway, says("c", "ada", "/stop")).await;
        let seen = gateway.outlet.wait_for_finals(5).await;
        assert_eq!(seen[4].text, "Nothing of yours is running here.");
    })
    .await;
}

#[tokio::test]
async fn only_who_asked_stops_a_turn_by_its_button() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    let asked = turn(&gateway, says("c", "ada", "/gate id=A")).await;
    gate.wait_for(1).await;
    let cancel = |who| press(Platform::Telegram, "c", who, Action::Cancel(asked));
    assert_eq!(signal(&gateway, cancel("bob")).await, "only the one who asked can stop it");
    assert_eq!(gate.inside(), 1);
    assert_eq!(signal(&gateway, cancel("ada")).await, "stopping it");
    let seen = gateway.outlet.wait_for_finals(1).await;
    assert!(seen[0].text.contains("code: cancelled"), "{seen:?}");
    assert_eq!(signal(&gateway, cancel("ada")).await, "it has ended already");
}

#[tokio::test]
async fn a_once_call_that_is_stopped_is_told_as_unknown() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    let asked = turn(&gateway, says("c", "ada", "/once id=A")).await;
    gate.wait_for(1).await;
    signal(&gateway, says("c", "ada", "/stop")).await;
    let seen = gateway.outlet.wait_for_finals(1).await;
    assert!(seen[0].text.contains("it may have happened at"), "{seen:?}");
    let nodes = gateway.gateway.tree(asked).await.unwrap();
    assert_eq!(nodes[1].state, contract::State::Unknown);
    assert!(seen[0].buttons.iter().all(|b| !b.starts_with("again:")), "it is not to be tried again: {seen:?}");
}

#[tokio::test]
async fn to_try_again_twice_makes_one_turn() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    let first = turn(&gateway, says("c", "ada", "/gate id=A")).await;
    gate.wait_for(1).await;
    signal(&gateway, says("c", "ada", "/stop")).await;
    let seen = gateway.outlet.wait_for_finals(1).await;
    assert!(seen[0].buttons.contains(&format!("again:{first}")), "{seen:?}");
    until("it is done", || gateway.gateway.load() == (0, 0, 0)).await;
    let again = |who| press(Platform::Telegram, "c", who, Action::TryAgain(first));
    assert_eq!(signal(&gateway, again("bob")).await, "only the one who asked can have it tried again");
    gate.open();
    let one = turn(&gateway, again("ada")).await;
    assert_eq!(turn(&gateway, again("ada")).await, one);
    assert_ne!(one, first);
    let seen = gateway.outlet.wait_for_finals(2).await;
    assert_eq!(seen[1].text, "- id: A");
    gateway.gateway.drain().await;
    assert_eq!((gate.runs(), gateway.outlet.finals().len()), (2, 2));
}

#[tokio::test]
async fn details_and_traces_are_for_who_asked() {
    let gate = Gate::opened();
    let gateway = gated(&gate).await;
    let asked = turn(&gateway, says("c", "ada", "/gate id=A\n/noop x\n/secret_thing")).await;
    gateway.outlet.wait_for_finals(1).await;
    turn(&gateway, press(Platform::Telegram, "c", "ada", Action::Details(asked))).await;
    let seen = gateway.outlet.wait_for_finals(2).await;
    assert!(seen[1].text.contains("├─ gate"), "{seen:?}");
    assert!(!seen[1].text.contains("denied"), "a denied tool does not exist: {seen:?}");
    let trace = |who, reference: String| says("c", who, &format!("/trace {reference}"));
    turn(&gateway, trace("ada", asked.to_string().to_lowercase())).await;
    assert!(gateway.outlet.wait_for_finals(3).await[2].text.contains("├─ gate"));
    let unknown = TurnId::new();
    turn(&gateway, trace("bob", asked.to_string())).await;
    let foreign = gateway.outlet.wait_for_finals(4).await[3].text.clone();
    turn(&gateway, trace("bob", unknown.to_string())).await;
    let missing = gateway.outlet.wait_for_finals(5).await[4].text.clone();
    assert_eq!(foreign.replace(&asked.to_string(), "REF"), missing.replace(&unknown.to_string(), "REF"));
}

#[tokio::test]
async fn the_status_is_told_while_the_lane_is_busy() {
    let gate = Gate::closed();
    let gateway = gated(&gate).await;
    turn(&gateway, says("c", "ada", "/gate id=A")).await;
    turn(&gateway, says("c", "bob", "/gate id=B")).await;
    gate.wait_for(1).await;
    turn(&gateway, says("c", "ada", "/status")).await;
    let seen = gateway.outlet.wait_for_finals(1).await;
    assert!(seen[0].text.contains("/gate id=A") && seen[0].text.contains("1 message waits behind it"), "{seen:?}");
    gate.open();
    gateway.outlet.wait_for_finals(3).await;
}

#[tokio::test]
async fn edits_bots_and_what_is_said_among_others_make_no_turn() {
    let gateway = gated(&Gate::opened()).await;
    let said = says("c", "ada", "/noop x");
    let edit = Message { kind: Kind::Edit { text: "/noop x".into() }, ..said.clone() };
    let bot = Message { from_bot: true, ..said.clone() };
    let mut group = said.clone();
    group.address.direct = false;
    let overheard = Message { heard: Heard::Overheard, ..group.clone() };
    let blank = Message { kind: Kind::Text { text: " \n".into() }, ..said };
    for message in [edit, bot, overheard, blank] {
        let accepted = gateway.gateway_accept(message.clone()).await;
        assert!(matches!(accepted, Accepted::NotForUs), "{message:?}: {accepted:?}");
    }
    turn(&gateway, Message { heard: Heard::Addressed, key: "another".into(), ..group }).await;
    gateway.outlet.wait_for_finals(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_at_the_end_of_the_drain_is_taken_up_in_its_order() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let mut setup = Setup::new(ground.open().await).gate(&gate);
        setup.drain = Duration::from_millis(50);
        let gateway = setup.start().ready().await;
        for id in ["a", "b", "c"] {
            turn(&gateway, says("c", "ada", &format!("/gate id={id}"))).await;
        }
        gate.wait_for(1).await;
        gateway.gateway.drain().await;
        assert!(gateway.outlet.finals().is_empty());
        drop(gateway);
        gate.open();
        let gateway = Setup::new(ground.open().await).gate(&gate).start().ready().await;
        turn(&gateway, says("c", "ada", "/gate id=d")).await;
        let seen = gateway.outlet.wait_for_finals(4).await;
        let order: Vec<_> = seen.iter().map(|s| s.text.clone()).collect();
        assert_eq!(order, ["- id: a", "- id: b", "- id: c", "- id: d"]);
    })
    .await;
}
