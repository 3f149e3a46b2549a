//! Calls that wait for people: who may answer, what an answer is bound to, and what becomes of it when a process dies.

mod answers;
mod crowded;
mod unreadable;
mod within;

use std::sync::Arc;

use contract::{
    Accepted, Action, Heard, Message, Platform, TurnId,
    records::{ApprovalId, ApprovalState, TurnState},
};
use expect_test::expect;
use testkit::{Gate, Ground, Life, Recorder, Setup, allow_lab_with, message, until};

use crate::scene::for_each_store;

const RULES: &str = r#"
approve: { once: {}, noop: { by: requester }, gate: { when: "id == 'ask'" } }
approvers: { users: ["id:bob", "id:eve"], deliver: [conversation] }
"#;

/// A message in a group.
fn said(conversation: &str, who: &str, text: &str) -> Message {
    let mut message = message(Platform::Telegram, conversation, who, text);
    message.address.direct = false;
    message.heard = Heard::Addressed;
    message
}

/// A far end and a tool that outlive the lives.
struct Scene {
    ground: Ground,
    outlet: Arc<Recorder>,
    gate: Gate,
    rules: &'static str,
}

impl Scene {
    fn new(ground: Ground) -> Self {
        Self::with(ground, RULES)
    }

    fn with(ground: Ground, rules: &'static str) -> Self {
        Self { ground, outlet: Arc::default(), gate: Gate::opened(), rules }
    }

    async fn life(&self) -> Life {
        let (outlet, gate, rules) = (self.outlet.clone(), self.gate.clone(), self.rules);
        let life = Life::start(self.ground.opening(), move |stores| {
            let mut setup = Setup::new(stores).gate(&gate).outlet(&outlet);
            setup.policies = vec![allow_lab_with(Platform::Telegram, rules)];
            setup
        })
        .await;
        life.ready().await;
        life
    }

    /// The approvals that were shown, in their order.
    fn asked(&self) -> Vec<ApprovalId> {
        let seen = self.outlet.seen();
        let posts = seen.iter().filter(|seen| seen.op == "post");
        let buttons = posts.flat_map(|seen| seen.buttons.iter().filter_map(|data| data.parse().ok()));
        buttons.filter_map(|action| if let Action::Allow(id) = action { Some(id) } else { None }).collect()
    }

    async fn wait_for(&self, cards: usize) -> Vec<ApprovalId> {
        until(&format!("{cards} cards"), || self.asked().len() >= cards).await;
        self.asked()
    }

    fn stands(&self) -> String {
        self.outlet.standing().join("\n---\n")
    }

    async fn wait_to_stand(&self, text: &str) {
        until(&format!("somebody sees {text}"), || self.stands().contains(text)).await;
    }
}

async fn tell(life: &Life, message: Message) -> String {
    match life.accept_behind(message).await.unwrap().unwrap() {
        Accepted::Signal(words) => words,
        other => panic!("not told alone: {other:?}"),
    }
}

async fn press(life: &Life, conversation: &str, who: &str, action: Action) -> String {
    let mut press = testkit::press(Platform::Telegram, conversation, who, action);
    press.address.direct = false;
    press.heard = Heard::Addressed;
    tell(life, press).await
}

async fn parked(life: &Life, turn: TurnId) {
    for _ in 0..6_000 {
        if life.gateway.record(turn).await.unwrap().is_some_and(|record| record.state == TurnState::Parked) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("it was not parked: {:?}", life.gateway.record(turn).await);
}

async fn state(life: &Life, id: ApprovalId) -> ApprovalState {
    life.gateway.approval(id).await.unwrap().unwrap().state
}

/// Without what differs each time.
fn fixed(text: &str, turn: TurnId, ids: &[ApprovalId]) -> String {
    let text = ids.iter().fold(text.replace(&turn.to_string(), "REF"), |text, id| text.replace(&id.to_string(), "ID"));
    let mut out = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let is_clock = word.len() >= 8 && word.as_bytes()[2] == b':' && word.as_bytes()[5] == b':';
        out.push_str(if is_clock { "HH:MM:SS " } else { word });
    }
    out
}

async fn tree(life: &Life, turn: TurnId, ids: &[ApprovalId]) -> String {
    let nodes = life.gateway.tree(turn).await.unwrap();
    fixed(&testkit::without_durations(&dispatch::tree::draw_text(&nodes, true)), turn, ids)
}

#[tokio::test]
async fn a_call_waits_for_an_approver_and_runs_when_one_says_yes() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        parked(&life, turn).await;
        expect![[r#"
            🔐 Approval needed: once, asked for by ada

            id: "x"

            Until HH:MM:SS UTC · ID"#]]
        .assert_eq(&fixed(&scene.stands(), turn, &ids));
        assert_eq!(scene.gate.runs(), 0);
        expect!["allowed: 'once' goes on"].assert_eq(&press(&life, "g", "bob", Action::Allow(ids[0])).await);
        life.done(turn).await;
        assert_eq!(scene.gate.runs(), 1);
        scene.wait_to_stand("was allowed by bob").await;
        expect![[r#"
            turn  ok
            └─ once {id: "x"}  ok
               └─ approval: allowed by bob  ok
        "#]]
        .assert_eq(&tree(&life, turn, &ids).await);
        assert!(matches!(state(&life, ids[0]).await, ApprovalState::Used { .. }));
    })
    .await;
}

#[tokio::test]
async fn what_is_refused_does_not_run_and_the_one_who_asked_hears_by_whom_and_why() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        let deny = said("g", "eve", &format!("/deny {} too much at once", ids[0]));
        expect!["refused: 'once' is not run"].assert_eq(&tell(&life, deny).await);
        life.done(turn).await;
        assert_eq!(scene.gate.runs(), 0);
        scene.wait_to_stand("'once' was refused by eve: too much at once").await;
        scene.wait_to_stand("was refused by eve at").await;
    })
    .await;
}

#[tokio::test]
async fn approving_the_second_of_two_runs_the_second() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/once id=first\n/once id=second")).await;
        let ids = scene.wait_for(2).await;
        parked(&life, turn).await;
        press(&life, "g", "bob", Action::Allow(ids[1])).await;
        scene.gate.wait_for(1).await;
        assert_eq!(scene.gate.log()[0], "in second");
        parked(&life, turn).await;
        press(&life, "g", "bob", Action::Deny(ids[0])).await;
        life.done(turn).await;
        assert_eq!(scene.gate.runs(), 1);
        expect![[r#"
            turn  failed [approval.refused]
            ├─ once {id: "second"}  ok
            │  └─ approval: allowed by bob  ok
            └─ once {id: "first"}  denied [approval.refused]
               └─ approval: refused by bob  denied [approval.refused]
        "#]]
        .assert_eq(&tree(&life, turn, &ids).await);
    })
    .await;
}

#[tokio::test]
async fn one_call_that_waits_does_not_hold_its_siblings_nor_the_lane() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/gate id=ask\n/gate id=one\n/sleep 1")).await;
        let ids = scene.wait_for(1).await;
        parked(&life, turn).await;
        assert_eq!(scene.gate.log(), ["in one", "out one"]);
        // Others of the lane go on meanwhile.
        let other = life.turn(said("g", "ada", "/sleep 2")).await;
        life.done(other).await;
        press(&life, "g", "bob", Action::Allow(ids[0])).await;
        life.done(turn).await;
        // What ended before is not run again.
        assert_eq!(scene.gate.log(), ["in one", "out one", "in ask", "out ask"]);
        expect![[r#"
            turn  ok
            ├─ gate {id: "one"}  ok
            ├─ sleep {ms: 1}  ok
            └─ gate {id: "ask"}  ok
               └─ approval: allowed by bob  ok
        "#]]
        .assert_eq(&tree(&life, turn, &ids).await);
    })
    .await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_is_said_at_once() {
    const NOBODY: &str = "approve: { once: {} }\napprovers: { users: [] }";
    const UNSAID: &str = "permissions: { approve: [read] }";
    const FAR: &str = "approve: { once: {} }\napprovers: { users: [\"id:bob\"], deliver: [\"discord:main/1\"] }";
    for (rules, command) in [(NOBODY, "/once id=x"), (UNSAID, "/sleep 1"), (FAR, "/once id=x")] {
        for_each_store(|ground| async move {
            let scene = Scene::with(ground, rules);
            let life = scene.life().await;
            let turn = life.turn(said("g", "ada", command)).await;
            life.done(turn).await;
            scene.wait_to_stand("needs an approval, and nobody can give one here").await;
            assert_eq!((scene.gate.runs(), scene.asked().len()), (0, 0));
        })
        .await;
    }
    // In a direct conversation nobody but the one who asked reads.
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(message(Platform::Telegram, "d", "ada", "/once id=x")).await;
        life.done(turn).await;
        scene.wait_to_stand("nobody can give one here").await;
    })
    .await;
}

#[tokio::test]
async fn it_is_asked_in_another_conversation_and_the_one_who_asked_is_told_that_it_waits() {
    const OPS: &str = r#"
approve: { once: {} }
approvers: { users: ["id:bob"], deliver: ["telegram:main/ops"] }
"#;
    for_each_store(|ground| async move {
        let scene = Scene::with(ground, OPS);
        let life = scene.life().await;
        let turn = life.turn(message(Platform::Telegram, "d", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        scene.wait_to_stand("once waits until somebody approves it").await;
        let is_card = |seen: &testkit::Seen| seen.buttons.iter().any(|data| data.starts_with("allow:"));
        let card = scene.outlet.seen().into_iter().find(is_card).unwrap();
        assert_eq!(card.conversation, "ops");
        assert!(card.text.contains("Asked in telegram:main/d"), "{}", card.text);
        assert_eq!(
            press(&life, "g", "bob", Action::Allow(ids[0])).await,
            "this can be answered only where it was asked"
        );
        let listed = life.turn(said("ops", "bob", "/approvals")).await;
        life.done(listed).await;
        scene.wait_to_stand(&format!("{} · once, asked for by ada", ids[0])).await;
        press(&life, "ops", "bob", Action::Allow(ids[0])).await;
        life.done(turn).await;
        scene.wait_to_stand("was allowed by bob").await;
        // What said that it waits has become the answer.
        assert!(!scene.stands().contains("waits until"), "{}", scene.stands());
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_changed_meanwhile_is_not_run() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        parked(&life, turn).await;
        let tools = testkit::TOOLS.replace("Has an effect", "Has another effect");
        let endpoints = endpoints::Endpoints::new().native("gate", scene.gate.clone());
        let policies = [allow_lab_with(Platform::Telegram, RULES)];
        life.gateway.swap(Setup::snapshot(&tools, &policies, endpoints, 2));
        let told = press(&life, "g", "bob", Action::Allow(ids[0])).await;
        expect!["'once' is another one by now, or not permitted any more: it is not run"].assert_eq(&told);
        life.done(turn).await;
        assert_eq!(scene.gate.runs(), 0);
        scene.wait_to_stand("was changed after it was asked for").await;
    })
    .await;
}

#[tokio::test]
async fn stop_ends_a_turn_that_waits() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        parked(&life, turn).await;
        assert_eq!(tell(&life, said("g", "ada", "/stop")).await, "stopping");
        life.done(turn).await;
        scene.wait_to_stand("is not asked for any more").await;
        let told = press(&life, "g", "bob", Action::Allow(ids[0])).await;
        assert!(told.contains("is not asked for any more since"), "{told}");
        assert_eq!(scene.gate.runs(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_answer_while_siblings_run_is_taken_at_once() {
    for_each_store(|ground| async move {
        let scene = Scene { gate: Gate::closed(), ..Scene::new(ground) };
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/gate id=ask\n/gate id=slow")).await;
        let ids = scene.wait_for(1).await;
        scene.gate.wait_for(1).await;
        press(&life, "g", "bob", Action::Allow(ids[0])).await;
        scene.gate.wait_for(2).await;
        scene.gate.open();
        life.done(turn).await;
        let record = life.gateway.record(turn).await.unwrap().unwrap();
        assert_eq!(record.lives, 0);
    })
    .await;
}

#[tokio::test]
async fn a_long_preview_is_one_message_and_hides_secrets() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let long = "```rust fn()```".repeat(340);
        let turn =
            life.turn(said("g", "ada", &format!("/once {{\"id\": \"{long}\", \"api_key\": \"sk-live-1\"}}"))).await;
        scene.wait_for(1).await;
        parked(&life, turn).await;
        let card = scene.stands();
        assert!(card.chars().count() < 1_500 && card.contains("characters, 4832 left out)"), "{card}");
        assert!(card.contains("api_key: ***") && !card.contains("sk-live-1"), "{card}");
    })
    .await;
}
