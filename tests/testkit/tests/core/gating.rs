//! Whose messages are heard: one gate for every kind of message; bots, floods, strangers.

use std::time::Duration;

use contract::{Accepted, Action, Heard, Inbox, Kind, Message, Platform, TurnId};
use dispatch::NotPaired;
use serde_json::Map;
use testkit::{Gate, Ground, InABox, Setup, StoreKind, allow_lab_with, message, until};

async fn gateway(policy: &str) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup { policies: vec![allow_lab_with(Platform::Telegram, policy)], ..Setup::new(stores) }.start().ready().await
}

fn direct(sender: &str, text: &str) -> Message {
    message(Platform::Telegram, &format!("dm {sender}"), sender, text)
}

fn in_group(sender: &str, text: &str, heard: Heard) -> Message {
    let mut message = message(Platform::Telegram, "g", sender, text);
    (message.address.direct, message.heard) = (false, heard);
    message
}

async fn became(gateway: &InABox, message: Message) -> &'static str {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { .. } => "turn",
        Accepted::Signal(_) => "signal",
        Accepted::NotForUs => "nothing",
    }
}

fn kinds() -> Vec<Kind> {
    vec![
        Kind::Text { text: "/noop x".into() },
        Kind::Command { name: "noop".into(), args: Map::new() },
        Kind::Form { name: "noop".into(), args: Map::new() },
        Kind::Press { data: Action::Details(TurnId::new()).to_string() },
        Kind::Press { data: Action::Cancel(TurnId::new()).to_string() },
    ]
}

#[tokio::test]
async fn one_gate_is_for_messages_commands_forms_and_buttons() {
    let gateway = gateway("gating: { groups: nobody, direct: allowlist, allowlist: ['id:ada'] }").await;
    for kind in kinds() {
        let what = format!("{kind:?}");
        let of = |message: Message| Message { kind: kind.clone(), ..message };
        assert_eq!(became(&gateway, of(in_group("ada", "", Heard::Addressed))).await, "nothing", "{what}");
        assert_eq!(became(&gateway, of(direct("eve", ""))).await, "nothing", "{what}");
        assert_ne!(became(&gateway, of(direct("ada", ""))).await, "nothing", "{what}");
        // A name is nobody's proof.
        let mut named = of(direct("eve", ""));
        named.sender.name = "ada".into();
        assert_eq!(became(&gateway, named).await, "nothing", "{what}");
    }
}

#[tokio::test]
async fn a_reaction_passes_the_same_gate() {
    let gate = Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let policies = vec![allow_lab_with(Platform::Telegram, "")];
    let gateway = Setup { policies, ..Setup::new(stores) }.gate(&gate).start().ready().await;
    let mut asked = direct("ada", "/gate id=A");
    asked.address.reply_to = Some("77".into());
    gateway.gateway_accept(asked).await;
    gate.wait_for(1).await;
    let nobody = [allow_lab_with(Platform::Telegram, "gating: { direct: nobody }")];
    let endpoints = || endpoints::Endpoints::new().native("gate", gate.clone());
    gateway.gateway.swap(Setup::snapshot(testkit::TOOLS, &nobody, endpoints(), 2));
    let stop = || Message { kind: Kind::Reaction { emoji: "🛑".into(), message: "77".into() }, ..direct("ada", "") };
    assert_eq!(became(&gateway, stop()).await, "nothing");
    let anybody = [allow_lab_with(Platform::Telegram, "")];
    gateway.gateway.swap(Setup::snapshot(testkit::TOOLS, &anybody, endpoints(), 3));
    assert_eq!(became(&gateway, stop()).await, "signal");
    until("it ends", || gateway.gateway.load() == (0, 0, 0)).await;
}

#[tokio::test]
async fn bots_are_heard_when_policy_says_so_and_never_for_ever() {
    let deaf = gateway("gating: { groups: everyone }").await;
    let bot = |key: &str| Message { from_bot: true, key: key.into(), ..in_group("bot", "/noop x", Heard::Overheard) };
    assert_eq!(became(&deaf, bot("1")).await, "nothing");
    let open = gateway("gating: { groups: everyone, bots: true, bot_turns: 2 }").await;
    assert_eq!(became(&open, bot("1")).await, "turn");
    assert_eq!(became(&open, bot("1")).await, "turn", "the same event again is the same turn");
    assert_eq!(became(&open, bot("2")).await, "turn");
    let mut in_a_thread = bot("3");
    in_a_thread.address.thread = Some("new".into());
    assert_eq!(became(&open, in_a_thread).await, "nothing", "nor in a new thread");
    assert_eq!(became(&open, bot("4")).await, "nothing");
    assert_eq!(became(&open, in_group("ada", "hm", Heard::Overheard)).await, "turn");
    assert_eq!(became(&open, bot("5")).await, "turn");
}

#[tokio::test]
async fn who_sends_too_many_is_told_once_and_signals_are_not_counted() {
    let gateway =
        gateway("limits: { messages_per_minute: 3 }\nsenders: { 'id:tom': { limits: { messages_per_minute: 1 } } }")
            .await;
    for _ in 0..3 {
        assert_eq!(became(&gateway, direct("ada", "/noop x")).await, "turn");
    }
    let Accepted::Signal(words) = gateway.gateway_accept(direct("ada", "/noop x")).await else { panic!("told") };
    assert!(words.starts_with("too many messages; try again in "), "{words}");
    let elsewhere = Message {
        kind: Kind::Command { name: "noop".into(), args: Map::new() },
        ..in_group("ada", "", Heard::Addressed)
    };
    assert_eq!(became(&gateway, elsewhere).await, "nothing");
    let press = |action: Action| Message { kind: Kind::Press { data: action.to_string() }, ..direct("ada", "") };
    assert_eq!(became(&gateway, press(Action::Cancel(TurnId::new()))).await, "signal");
    assert_eq!(became(&gateway, press(Action::Details(TurnId::new()))).await, "nothing");
    until("nothing runs", || gateway.gateway.load() == (0, 0, 0)).await;
    assert_eq!(became(&gateway, direct("ada", "/stop")).await, "turn", "nothing runs, and that is said");
    assert_eq!(became(&gateway, direct("bob", "/noop x")).await, "turn");
    assert_eq!(became(&gateway, direct("tom", "/noop x")).await, "turn");
    assert_eq!(became(&gateway, direct("tom", "/noop x")).await, "signal", "the least of the layers counts");
}

#[tokio::test]
async fn a_message_that_is_brought_again_is_counted_once() {
    let gateway = gateway("limits: { messages_per_minute: 2 }").await;
    let one = direct("ada", "/noop x");
    for _ in 0..10 {
        assert_eq!(became(&gateway, one.clone()).await, "turn");
    }
    assert_eq!(became(&gateway, direct("ada", "/noop x")).await, "turn");
    assert_eq!(became(&gateway, direct("ada", "/noop x")).await, "signal");
}

const PAIRING: &str = "gating: { direct: pairing, groups: pairing, allowlist: ['id:listed'] }";

#[tokio::test]
async fn a_stranger_is_heard_once_an_operator_lets_them_in_also_after_a_restart() {
    let ground = Ground::new(StoreKind::Sqlite).await;
    let open = async || {
        let policies = vec![allow_lab_with(Platform::Telegram, PAIRING)];
        Setup { policies, ..Setup::new(ground.open().await) }.start().ready().await
    };
    let gateway = open().await;
    assert_eq!(became(&gateway, direct("listed", "/noop x")).await, "turn");
    assert_eq!(became(&gateway, Message { from_bot: true, ..direct("bot", "hi") }).await, "nothing");
    assert_eq!(became(&gateway, in_group("eve", "talk", Heard::Overheard)).await, "nothing");
    let Accepted::Signal(words) = gateway.gateway_accept(direct("eve", "hello")).await else { panic!("a code") };
    assert_eq!(became(&gateway, direct("eve", "hello?")).await, "nothing", "once an hour");
    assert_eq!(became(&gateway, in_group("eve", "/noop x", Heard::Addressed)).await, "nothing");
    let pairings = gateway.gateway.pairings().await.unwrap();
    assert_eq!((pairings.people.len(), pairings.waiting.len()), (0, 1));
    let code = &pairings.waiting[0].code;
    assert!(words.contains(code.as_str()), "{words}");
    // The code by itself does nothing, whoever says it.
    assert_eq!(became(&gateway, direct("eve", code)).await, "nothing");
    assert!(matches!(gateway.gateway.approve_pairing("AAAAAAAA").await, Err(NotPaired::NoSuchCode)));
    let person = gateway.gateway.approve_pairing(code).await.unwrap();
    assert_eq!((person.sender.as_str(), person.account.as_str()), ("eve", "main"));
    assert!(
        gateway.outlet.wait_for_finals(1).await.iter().any(|seen| seen.text.contains("let you in")) || {
            gateway.outlet.wait_for_finals(2).await.iter().any(|seen| seen.text.contains("let you in"))
        }
    );
    assert_eq!(became(&gateway, direct("eve", "/noop x")).await, "turn");
    assert_eq!(became(&gateway, in_group("eve", "/noop x", Heard::Addressed)).await, "turn");
    gateway.gateway.drain().await;
    drop(gateway);

    let gateway = open().await;
    assert_eq!(became(&gateway, direct("eve", "/noop x")).await, "turn");
    let mut other_account = direct("eve", "/noop x");
    other_account.address.account = "second".into();
    assert_eq!(became(&gateway, other_account).await, "signal", "an account of its own");
    assert!(gateway.gateway.remove_pairing(Platform::Telegram, "main", "eve").await.unwrap());
    assert_eq!(became(&gateway, direct("eve", "/noop x")).await, "signal");
}

#[tokio::test]
async fn nothing_is_offered_to_whom_the_gate_does_not_hear() {
    let gateway = gateway("gating: { groups: allowlist, direct: pairing, allowlist: ['id:listed'] }").await;
    let hears = async |message: Message| {
        let caller = gateway.gateway.caller_of(&message);
        gateway.gateway.core().catalog.hears(&caller, &message.address).await
    };
    for (message, expected) in [
        (in_group("listed", "", Heard::Addressed), true),
        (in_group("eve", "", Heard::Addressed), false),
        (direct("listed", ""), true),
        (direct("eve", ""), false),
    ] {
        assert_eq!(hears(message.clone()).await, expected, "{message:?}");
    }
    assert!(gateway.gateway.pairings().await.unwrap().waiting.is_empty(), "asking for choices asks for no code");
}

#[tokio::test]
async fn the_same_chat_of_two_accounts_is_two_conversations() {
    let gate = Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let gateway = Setup::new(stores).gate(&gate).start().ready().await;
    let second = std::sync::Arc::new(testkit::Recorder::default());
    gateway.gateway.connect(Platform::Telegram, "second", second.clone(), second.clone());
    let asks = |account: &str, key: &str| {
        let mut message = Message { key: key.into(), ..message(Platform::Telegram, "c", "ada", "/gate id=A") };
        message.address.account = account.into();
        message
    };
    // The platform counts each bot's updates for itself.
    let Ok(Accepted::Turn { id: one, .. }) = gateway.gateway.accept(asks("main", "1")).await else { panic!("a turn") };
    let Ok(Accepted::Turn { id: two, known, .. }) = gateway.gateway.accept(asks("second", "1")).await else {
        panic!("a turn")
    };
    assert!(one != two && !known);
    // Neither waits behind the other.
    gate.wait_for(2).await;
    let mut stop = message(Platform::Telegram, "c", "ada", "/stop");
    stop.address.account = "second".into();
    assert_eq!(became(&gateway, stop).await, "signal");
    let stopped = tokio::time::timeout(Duration::from_secs(30), gateway.gateway.reply(two)).await;
    assert!(stopped.unwrap().unwrap().unwrap().failed);
    assert_eq!(gate.inside(), 1, "the other goes on");
    gate.open();
    assert!(!gateway.ended(one).await.reply.failed);
    until("both are answered", || gateway.outlet.finals().len() == 1 && second.finals().len() == 1).await;
}
