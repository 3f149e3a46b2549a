//! What people do besides writing: commands with collected arguments, forms, buttons, reactions; and who sees the answer.

use contract::{Accepted, Action, Audience, Heard, Kind, Message, Platform, TurnId};
use serde_json::{Value, json};
use testkit::{Gate, InABox, Setup, allow_lab, allow_lab_with, message, press, until};

async fn gateway(gate: &Gate, more: &str) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let policies = vec![allow_lab_with(Platform::Telegram, more), allow_lab(Platform::Api)];
    Setup { policies, ..Setup::new(stores) }.gate(gate).start().ready().await
}

fn of_kind(sender: &str, kind: Kind) -> Message {
    Message { kind, ..in_group(sender, "") }
}

/// Said to us in a group.
fn in_group(sender: &str, text: &str) -> Message {
    let mut message = message(Platform::Telegram, "g", sender, text);
    (message.address.direct, message.heard) = (false, Heard::Addressed);
    message
}

fn object(args: Value) -> serde_json::Map<String, Value> {
    args.as_object().unwrap().clone()
}

fn command(sender: &str, name: &str, args: Value) -> Message {
    of_kind(sender, Kind::Command { name: name.into(), args: object(args) })
}

fn form(sender: &str, name: &str, args: Value) -> Message {
    of_kind(sender, Kind::Form { name: name.into(), args: object(args) })
}

fn reaction(sender: &str, emoji: &str, on: &str) -> Message {
    let mut message = of_kind(sender, Kind::Reaction { emoji: emoji.into(), message: on.into() });
    message.heard = Heard::Overheard;
    message
}

async fn turn(gateway: &InABox, message: Message) -> (TurnId, Audience) {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, show, .. } => (id, show),
        other => panic!("not a turn: {other:?}"),
    }
}

async fn signal(gateway: &InABox, message: Message) -> String {
    match gateway.gateway_accept(message).await {
        Accepted::Signal(words) => words,
        other => panic!("not a signal: {other:?}"),
    }
}

async fn idle(gateway: &InABox) {
    until("nothing runs", || gateway.gateway.load() == (0, 0, 0)).await;
}

#[tokio::test]
async fn collected_arguments_are_taken_as_they_are() {
    let gateway = gateway(&Gate::opened(), "").await;
    let typed = json!({ "a": "two words = {\"not\": json}", "b": 7, "c": true, "d": [1.5], "e": "x" });
    for message in [command("ada", "noop", typed.clone()), form("ada", "noop", typed)] {
        let (id, show) = turn(&gateway, message).await;
        let said = gateway.ended(id).await;
        assert_eq!((said.reply.failed, show), (false, Audience::Everyone), "{}", said.text);
        assert!(said.tree.contains(r#"{a: "two words = {"not": json}", b: 7, c: true, d: [1.5]"#), "{}", said.tree);
    }
    let (id, _) = turn(&gateway, command("ada", "noop", json!({ "b": "x" }))).await;
    let said = gateway.ended(id).await;
    assert!(said.text.contains("'b'") || said.text.contains("b:"), "{}", said.text);
}

#[tokio::test]
async fn built_ins_are_commands_too() {
    let gateway = gateway(&Gate::opened(), "").await;
    let (first, _) = turn(&gateway, command("ada", "noop", json!({ "a": "x" }))).await;
    gateway.ended(first).await;
    let (id, _) = turn(&gateway, command("ada", "trace", json!({ "reference": first.to_string() }))).await;
    assert!(gateway.ended(id).await.text.contains("noop"));
    let (id, _) = turn(&gateway, command("ada", "tools", json!({ "word": "sleep" }))).await;
    let text = gateway.ended(id).await.text;
    assert!(text.contains("/sleep") && !text.contains("/noop"), "{text}");
    for name in ["help", "status", "start", "new", "stop"] {
        let (id, _) = turn(&gateway, command("ada", name, json!({}))).await;
        assert!(!gateway.ended(id).await.reply.failed, "{name}");
    }
}

#[tokio::test]
async fn stop_as_a_command_is_a_signal_and_a_failed_command_is_tried_again() {
    let gate = Gate::closed();
    let gateway = gateway(&gate, "").await;
    let (first, _) = turn(&gateway, command("ada", "gate", json!({ "id": "A" }))).await;
    gate.wait_for(1).await;
    assert_eq!(signal(&gateway, command("ada", "stop", json!({}))).await, "stopping");
    gateway.ended(first).await;
    idle(&gateway).await;
    gate.open();
    let again = Message {
        address: in_group("ada", "").address,
        ..press(Platform::Telegram, "g", "ada", Action::TryAgain(first))
    };
    let (second, _) = turn(&gateway, again).await;
    assert_eq!(gateway.ended(second).await.text.trim(), "- id: A");
}

#[tokio::test]
async fn a_reaction_on_what_was_asked_or_on_its_progress_stops_it() {
    let gate = Gate::closed();
    let gateway = gateway(&gate, "gating: { groups: mention }").await;
    let asks = |id: &str| {
        let mut message = in_group("ada", &format!("/gate id={id}"));
        message.address.reply_to = Some(id.into());
        message
    };
    let (running, _) = turn(&gateway, asks("101")).await;
    let (waiting, _) = turn(&gateway, asks("102")).await;
    gate.wait_for(1).await;
    for not_ours in [
        reaction("bob", "❌", "101"),
        reaction("ada", "👍", "101"),
        reaction("ada", "❌", "999"),
        reaction("ada", "🛑", ""),
    ] {
        assert!(matches!(gateway.gateway_accept(not_ours).await, Accepted::NotForUs));
    }
    // In another thread's words: reactions often do not say in which thread they are.
    let mut elsewhere = reaction("ada", "⏹\u{fe0f}", "102");
    elsewhere.address.thread = None;
    assert_eq!(signal(&gateway, elsewhere).await, "", "the answer itself says it");
    until("the progress is shown", || gateway.outlet.seen().iter().any(|seen| seen.op == "draft")).await;
    // The recorder's first message.
    until("it is known", || gateway.outlet.standing().len() == 1).await;
    let mut stopped = false;
    for _ in 0..200 {
        stopped = matches!(gateway.gateway_accept(reaction("ada", "x", "1")).await, Accepted::Signal(_));
        if stopped {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(stopped);
    for id in [running, waiting] {
        assert!(gateway.ended(id).await.reply.failed, "{id}");
    }
    idle(&gateway).await;
    assert!(matches!(gateway.gateway_accept(reaction("ada", "❌", "101")).await, Accepted::NotForUs));
}

/// What is asked, whether it is known at once that its answer is private, and whether it is.
fn answers() -> Vec<(Message, Audience, Audience)> {
    use Audience::{Everyone, Sender};
    vec![
        (command("ada", "noop", json!({ "a": "x" })), Everyone, Everyone),
        (command("ada", "noop", json!({})), Sender, Sender),
        (command("ada", "nothing_like_it", json!({})), Sender, Sender),
        (command("ada", "secret_thing", json!({})), Sender, Sender),
        (command("ada", "crash", json!({})), Everyone, Sender),
        (form("ada", "noop", json!({ "b": "wrong" })), Sender, Sender),
        (command("ada", "help", json!({})), Sender, Sender),
        (command("ada", "trace", json!({})), Sender, Sender),
        (command("ada", "status", json!({})), Sender, Sender),
        (command("ada", "new", json!({})), Everyone, Everyone),
        (in_group("ada", "/noop x"), Everyone, Everyone),
        (in_group("ada", "/noop x b=wrong"), Sender, Sender),
        (in_group("ada", "/noop x\n/secret_thing"), Everyone, Everyone),
        (in_group("ada", "/secret_thing\n/noop"), Everyone, Sender),
        (in_group("ada", "what is this?"), Everyone, Everyone),
        // What nobody else saw: the words behind a slash command.
        (in_group("ada", "/what's the weather like?"), Sender, Sender),
        (in_group("ada", "/天气怎么样"), Sender, Sender),
        (of_kind("ada", Kind::Press { data: Action::Details(TurnId::new()).to_string() }), Sender, Sender),
    ]
}

#[tokio::test]
async fn failures_and_help_are_for_the_sender_alone_where_the_platform_can() {
    let gateway = gateway(&Gate::opened(), "").await;
    gateway.outlet.can_be_private();
    for (n, (message, foreseen, shown)) in answers().into_iter().enumerate() {
        let what = format!("{:?}", message.kind);
        let (id, show) = turn(&gateway, message).await;
        let said = gateway.ended(id).await;
        assert_eq!((show, said.reply.audience), (foreseen, shown), "{what}: {}", said.text);
        assert_eq!(gateway.outlet.wait_for_finals(n + 1).await[n].audience, shown, "{what}");
    }
    // With one person nobody else is there.
    let mut direct = command("ada", "nothing_like_it", json!({}));
    (direct.address.direct, direct.heard) = (true, Heard::Direct);
    let (id, show) = turn(&gateway, direct).await;
    assert_eq!((show, gateway.ended(id).await.reply.audience), (Audience::Everyone, Audience::Everyone));
}

#[tokio::test]
async fn where_it_cannot_be_private_or_is_not_to_be_everybody_sees_it() {
    let public = gateway(&Gate::opened(), "replies: { private_errors: false, mentions: [users] }").await;
    public.outlet.can_be_private();
    let plain = gateway(&Gate::opened(), "").await;
    for gateway in [&public, &plain] {
        let (id, show) = turn(gateway, command("ada", "crash", json!({}))).await;
        assert_eq!((show, gateway.ended(id).await.reply.audience), (Audience::Everyone, Audience::Everyone));
    }
    let (id, show) = turn(&public, command("ada", "help", json!({}))).await;
    let reply = public.ended(id).await.reply;
    assert_eq!((show, reply.audience), (Audience::Sender, Audience::Sender), "no error");
    assert_eq!((reply.pings.users, reply.pings.everyone), (true, false));
}

#[tokio::test]
async fn where_policy_says_so_the_tree_stands_under_a_failure() {
    let gateway = gateway(&Gate::opened(), "replies: { detail: full }").await;
    let (id, _) = turn(&gateway, command("ada", "crash", json!({}))).await;
    let said = gateway.ended(id).await;
    assert!(said.text.contains("└─ crash"), "{}", said.text);
    assert!(said.reply.buttons.iter().all(|button| !matches!(button.action, Action::Details(_))));
    let (id, _) = turn(&gateway, command("ada", "noop", json!({ "a": "x" }))).await;
    assert!(!gateway.ended(id).await.text.contains("└─"));
}

#[tokio::test]
async fn a_private_answer_stands_beside_its_progress_which_goes_away() {
    let gate = Gate::closed();
    let gateway = gateway(&gate, "limits: { turn_timeout: 3s, messages_per_minute: 1000 }").await;
    gateway.outlet.can_be_private();
    let (id, _) = turn(&gateway, command("ada", "gate", json!({ "id": "A" }))).await;
    assert_eq!(gateway.ended(id).await.reply.audience, Audience::Sender);
    idle(&gateway).await;
    let ops: Vec<_> = gateway.outlet.seen().into_iter().map(|seen| (seen.op, seen.audience)).collect();
    let ends = [("post", Audience::Sender), ("remove", Audience::Everyone)];
    assert!(ops.ends_with(&ends) && ops[0] == ("draft", Audience::Everyone), "{ops:?}");
    assert_eq!(gateway.outlet.standing().len(), 1);
}

#[tokio::test]
async fn a_tool_that_is_denied_is_denied_however_it_is_asked_for() {
    let gateway = gateway(&Gate::opened(), "").await;
    let asked = [
        in_group("ada", "/secret_thing"),
        command("ada", "secret_thing", json!({})),
        command("ada", "secret-thing", json!({ "a": 1 })),
        form("ada", "secret_thing", json!({})),
    ];
    for message in asked {
        let what = format!("{:?}", message.kind);
        let (id, _) = turn(&gateway, message).await;
        let said = gateway.ended(id).await;
        assert!(said.text.contains("tool.unknown"), "{what}: {}", said.text);
    }
    // A retry of what was allowed once is decided anew.
    let gate = Gate::closed();
    let gateway = self::gateway(&gate, "").await;
    let (first, _) = turn(&gateway, command("ada", "gate", json!({ "id": "A" }))).await;
    gate.wait_for(1).await;
    signal(&gateway, command("ada", "stop", json!({}))).await;
    idle(&gateway).await;
    let denied = [allow_lab_with(Platform::Telegram, "tools: { deny: [gate] }")];
    let endpoints = endpoints::Endpoints::new().native("gate", gate.clone());
    gateway.gateway.swap(Setup::snapshot(testkit::TOOLS, &denied, endpoints, 2));
    let again = Message {
        address: in_group("ada", "").address,
        ..press(Platform::Telegram, "g", "ada", Action::TryAgain(first))
    };
    let (second, show) = turn(&gateway, again).await;
    assert_eq!(show, Audience::Everyone);
    assert!(gateway.ended(second).await.text.contains("tool.unknown"));
    assert_eq!(gate.runs(), 1);
}
