//! Tasks that a model hands on.

use std::{sync::Arc, time::Duration};

use contract::Platform;
use dispatch::model::Said;
use expect_test::expect;
use testkit::{
    Gate, InABox, Life, Scripted, Setup, allow_lab_with, message,
    model::{Act, Heard, fails, never, says, wants},
};

use crate::scene::for_each_store;

fn policy(limits: &str) -> (String, String) {
    allow_lab_with(Platform::Api, &format!("limits: {{ messages_per_minute: 1000000, delegation: 2{limits} }}"))
}

async fn with(model: &Arc<Scripted>, gate: &Gate, limits: &str) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).model(model).gate(gate);
    setup.policies = vec![policy(limits)];
    setup.start().ready().await
}

/// What was asked first in a conversation: the message, or the task.
fn asked(heard: &Heard) -> &str {
    match &heard.messages[0] {
        Said::Person { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

/// How many steps the conversation has had.
fn steps(heard: &Heard) -> usize {
    heard.messages.iter().filter(|said| matches!(said, Said::Model(_))).count()
}

/// Acts by what is asked and how many steps there were.
fn by(act: impl Fn(&str, usize, &Heard) -> Act + Send + 'static) -> Arc<Scripted> {
    Scripted::by(move |heard| act(asked(heard), steps(heard), heard))
}

#[tokio::test]
async fn a_task_has_a_conversation_tools_and_a_place_in_the_tree_of_its_own() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => {
            wants(&[("delegate", r#"{"task": "rest a bit", "tools": ["sleep"]}"#), ("noop", r#"{"a": "x"}"#)])
        }
        ("rest a bit", 0) => wants(&[("sleep", r#"{"ms": 1}"#), ("sleep", r#"{"ms": 2}"#)]),
        ("rest a bit", _) => says("Rested 3 ms."),
        _ => says("Done."),
    });
    let said = with(&model, &Gate::opened(), "").await.say("please").await;
    assert_eq!(said.text, "Done.");
    expect![[r#"
        turn  ok  400 → 40 tokens
        ├─ model scripted  ok  100 → 10 tokens
        │  ├─ noop {a: "x"}  ok
        │  └─ delegate {task: "rest a bit", tools: ["sleep"]}  ok
        │     ├─ model scripted  ok  100 → 10 tokens
        │     │  ├─ sleep {ms: 1}  ok
        │     │  └─ sleep {ms: 2}  ok
        │     └─ model scripted “Rested 3 ms.”  ok  100 → 10 tokens
        └─ model scripted “Done.”  ok  100 → 10 tokens
    "#]]
    .assert_eq(&said.tree);
    let heard = model.asked();
    let task = heard.iter().find(|heard| asked(heard) == "rest a bit").unwrap();
    assert_eq!(task.tool_names(), ["delegate", "sleep"]);
    assert!(task.system.contains("one task of a larger conversation"));
    let last = heard.last().unwrap();
    expect![[r#"
        person: please
        model:  [call_1_1 delegate {"task":"rest a bit","tools":["sleep"]}] [call_1_2 noop {"a":"x"}]
        result call_1_1 delegate: <untrusted from="delegate">Rested 3 ms.</untrusted>
        result call_1_2 noop: null
    "#]]
    .assert_eq(&last.text());
}

#[tokio::test]
async fn without_a_word_of_policy_nothing_is_handed_on() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "rest a bit"}"#)]),
        _ => says("No."),
    });
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let said = Setup::new(stores).model(&model).start().ready().await.say("please").await;
    assert!(said.tree.contains("delegate {task: \"rest a bit\"}  failed [tool.unknown]"), "{}", said.tree);
    assert!(!model.asked()[0].tool_names().contains(&"delegate".to_owned()));
}

#[tokio::test]
async fn a_task_has_no_right_that_it_was_not_given() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[
            ("delegate", r#"{"task": "narrow", "tools": ["noop"]}"#),
            ("delegate", r#"{"task": "too much", "tools": ["noop", "secret_thing"]}"#),
            ("delegate", r#"{"task": "unheard of", "tools": ["noop", "secret_thong"]}"#),
        ]),
        ("narrow", 0) => wants(&[
            ("sleep", r#"{"ms": 1}"#),
            ("tool_call", r#"{"name": "sleep", "arguments": {"ms": 1}}"#),
            ("tool_describe", r#"{"names": ["sleep"]}"#),
            ("delegate", r#"{"task": "wider", "tools": ["sleep"]}"#),
            ("delegate", r#"{"task": "all", "tools": null}"#),
            ("secret_thing", "{}"),
        ]),
        ("all", 0) => wants(&[("sleep", r#"{"ms": 1}"#), ("noop", r#"{"a": "x"}"#)]),
        (asked, _) => says(&format!("{asked} is over.")),
    });
    let gateway = with(&model, &Gate::opened(), "").await;
    let said = gateway.say("please").await;
    expect![[r#"
        turn  ok  600 → 60 tokens
        ├─ model scripted  ok  100 → 10 tokens
        │  ├─ delegate {task: "too much", tools: ["noop", "secret_thing"]}  failed [args.invalid]
        │  ├─ delegate {task: "unheard of", tools: ["noop", "secret_thong"]}  failed [args.invalid]
        │  └─ delegate {task: "narrow", tools: ["noop"]}  ok
        │     ├─ model scripted  ok  100 → 10 tokens
        │     │  ├─ sleep {ms: 1}  denied [denied]
        │     │  ├─ sleep {ms: 1}  denied [denied]
        │     │  ├─ tool_describe {names: ["sleep"]}  ok
        │     │  ├─ delegate {task: "wider", tools: ["sleep"]}  failed [args.invalid]
        │     │  ├─ secret_thing {}  denied [denied]
        │     │  └─ delegate {task: "all", tools: null}  ok
        │     │     ├─ model scripted  ok  100 → 10 tokens
        │     │     │  ├─ sleep {ms: 1}  denied [denied]
        │     │     │  └─ noop {a: "x"}  ok
        │     │     └─ model scripted “all is over.”  ok  100 → 10 tokens
        │     └─ model scripted “narrow is over.”  ok  100 → 10 tokens
        └─ model scripted “please is over.”  ok  100 → 10 tokens
    "#]]
    .assert_eq(&said.tree);
    let last = model.asked().last().unwrap().text();
    let told =
        |name: &str| last.lines().find(|line| line.contains(name) && line.starts_with("failed")).unwrap().to_owned();
    let same = |line: String| line.replace("secret_thong", "secret_thing").replace("call_1_3", "call_1_2");
    assert_eq!(same(told("secret_thing")), same(told("secret_thong")));
    let mut tasks: Vec<_> = model.asked().iter().map(|heard| (asked(heard).to_owned(), heard.tool_names())).collect();
    tasks.retain(|(task, _)| task == "all");
    // The second level is the last.
    assert_eq!(tasks[0].1, ["noop"]);
}

#[tokio::test]
async fn tasks_of_one_step_are_done_at_the_same_time() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "a"}"#), ("delegate", r#"{"task": "b"}"#)]),
        ("a" | "b", 0) => wants(&[("gate", &format!(r#"{{"id": "{asked}"}}"#))]),
        ("a" | "b", _) => says(&asked.to_uppercase()),
        _ => says("Both."),
    });
    let gate = Gate::closed();
    let gateway = with(&model, &gate, "").await;
    let opening = async {
        gate.wait_for(2).await;
        gate.open();
    };
    let (said, ()) = tokio::join!(gateway.say("please"), opening);
    assert_eq!((said.text.as_str(), gate.most()), ("Both.", 2));
    let last = model.asked().last().unwrap().text();
    assert!(last.contains("call_1_1 delegate: <untrusted from=\"delegate\">A<"), "{last}");
    assert!(last.contains("call_1_2 delegate: <untrusted from=\"delegate\">B<"), "{last}");
}

#[tokio::test]
async fn the_steps_and_calls_of_tasks_are_the_turns() {
    let model = by(|asked, step, heard| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "a"}"#), ("delegate", r#"{"task": "b"}"#)]),
        ("a" | "b", n) if !heard.tool_names().is_empty() => wants(&[("noop", &format!(r#"{{"a": "{asked}{n}"}}"#))]),
        _ => says("That is all."),
    });
    let said = with(&model, &Gate::opened(), ", model_steps: 7").await.say("please").await;
    assert_eq!(said.text, "That is all.");
    assert_eq!(model.asked().len(), 7, "{}", said.tree);
    let calls: Vec<_> = (0..5).map(|n| format!(r#"{{"a": "{n}"}}"#)).collect();
    let model = by(move |asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "a"}"#)]),
        ("a", 0) => wants(&calls.iter().map(|args| ("noop", args.as_str())).collect::<Vec<_>>()),
        _ => says("That is all."),
    });
    let said = with(&model, &Gate::opened(), ", calls_per_turn: 4").await.say("please").await;
    assert_eq!(said.tree.matches("noop").count(), 5);
    assert_eq!(said.tree.matches("limit.reached").count(), 2, "{}", said.tree);
}

#[tokio::test]
async fn a_task_that_has_no_answer_says_why_and_what_was_done() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "pay"}"#)]),
        ("pay", 0) => wants(&[("once", r#"{"id": "x"}"#)]),
        ("pay", _) => fails(),
        _ => says("It may be paid."),
    });
    let said = with(&model, &Gate::opened(), "").await.say("please").await;
    assert_eq!(said.text, "It may be paid.");
    let last = model.asked().last().unwrap().text();
    assert!(
        last.contains("the task has no answer: the language model did not answer; before that 'once' was done"),
        "{last}"
    );
}

#[tokio::test]
async fn stopping_the_turn_stops_its_tasks() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "think"}"#), ("delegate", r#"{"task": "wait"}"#)]),
        ("wait", 0) => wants(&[("sleep", r#"{"ms": 60000}"#)]),
        _ => never(),
    });
    let gateway = with(&model, &Gate::opened(), "").await;
    let accepted = gateway.gateway_accept(message(Platform::Api, "c1", "ada", "please")).await;
    let contract::Accepted::Turn { id, .. } = accepted else { panic!("a turn") };
    testkit::until("both think", || model.asked().len() == 3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    gateway.gateway_accept(message(Platform::Api, "c1", "ada", "/stop")).await;
    let said = gateway.ended(id).await;
    assert!(said.text.contains("stopped, as you asked"), "{}", said.text);
    assert!(!said.tree.contains("running"), "{}", said.tree);
}

/// A task is under way with a once call that has ended, and another that waits, when the process dies.
fn killed() -> Arc<Scripted> {
    by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "quick"}"#), ("delegate", r#"{"task": "slow"}"#)]),
        ("quick" | "slow", 0) => wants(&[("once", &format!(r#"{{"id": "{asked}"}}"#))]),
        ("slow", 1) => wants(&[("gate", r#"{"id": "waits"}"#)]),
        (asked, _) => says(&format!("{asked} is over.")),
    })
}

#[tokio::test]
async fn a_killed_turn_goes_on_in_the_middle_of_its_tasks() {
    for_each_store(|ground| async move {
        let (gate, later) = (Gate::closed(), Gate::opened());
        let once = Gate::opened();
        let start = |gate: Gate, once: Gate, model: Arc<Scripted>| {
            Life::start(ground.opening(), move |stores| {
                let mut setup = Setup::new(stores).model(&model);
                setup.endpoints = endpoints::Endpoints::new().native("gate", gate).native("once", once);
                setup.tools = setup.tools.replace(
                    "parameters: { type: object, required: [id], properties: { id: { type: string } } }\nendpoint: { type: native, name: gate }\n---\nname: send",
                    "parameters: { type: object, required: [id], properties: { id: { type: string } } }\nendpoint: { type: native, name: once }\n---\nname: send",
                );
                setup.policies = vec![policy("")];
                setup
            })
        };
        let first = killed();
        let life = start(gate.clone(), once.clone(), first.clone()).await;
        life.ready().await;
        let turn = life.turn(message(Platform::Api, &contract::TurnId::new().to_string(), "ada", "please")).await;
        gate.wait_for(1).await;
        testkit::until("the quick one is over", || first.asked().len() == 5).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        life.kill();
        let second = killed();
        let life = start(later.clone(), once.clone(), second.clone()).await;
        life.ready().await;
        life.done(turn).await;
        assert_eq!(once.runs(), 2, "{:?}", once.log());
        assert_eq!(later.runs(), 1);
        // Nothing that was planned or answered is asked for again.
        let heard = second.asked();
        let again: Vec<_> = heard.iter().map(|heard| (asked(heard), steps(heard))).collect();
        assert_eq!(again, [("slow", 2), ("please", 1)]);
        let last = heard.last().unwrap().text();
        assert!(last.contains("quick is over.") && last.contains("slow is over."), "{last}");
        life.kill();
    })
    .await;
}

#[tokio::test]
async fn one_task_is_stopped_by_its_button_and_the_rest_of_the_turn_goes_on() {
    let model = by(|asked, step, _| match (asked, step) {
        ("please", 0) => wants(&[("delegate", r#"{"task": "long"}"#), ("delegate", r#"{"task": "short"}"#)]),
        ("long", 0) => wants(&[("noop", r#"{"a": "first"}"#)]),
        ("long", 1) => wants(&[("gate", r#"{"id": "x"}"#), ("noop", r#"{"a": "second"}"#)]),
        ("short", 0) => says("It was short."),
        _ => says("One of them was stopped."),
    });
    let gate = Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).model(&model).gate(&gate);
    let rules = "limits: { messages_per_minute: 1000000, delegation: 2 }";
    setup.policies = vec![allow_lab_with(Platform::Telegram, rules)];
    let gateway = setup.start().ready().await;
    let accepted = gateway.gateway_accept(message(Platform::Telegram, "c", "ada", "please")).await;
    let contract::Accepted::Turn { id: turn, .. } = accepted else { panic!("{accepted:?}") };
    gate.wait_for(1).await;
    let nodes = gateway.gateway.tree(turn).await.unwrap();
    let long = nodes.iter().find(|node| node.tool == "delegate" && node.args.contains("long")).unwrap();
    let press = |who: &str| testkit::press(Platform::Telegram, "c", who, contract::Action::CancelCall(turn, long.call));
    let told = gateway.gateway_accept(press("eve")).await;
    assert!(matches!(&told, contract::Accepted::Signal(words) if words.contains("only the one who asked")), "{told:?}");
    let told = gateway.gateway_accept(press("ada")).await;
    assert!(matches!(&told, contract::Accepted::Signal(words) if words == "stopping it"), "{told:?}");
    let said = gateway.ended(turn).await;
    assert_eq!(said.text, "One of them was stopped.");
    expect![[r#"
        turn  ok  500 → 50 tokens
        ├─ model scripted  ok  100 → 10 tokens
        │  ├─ delegate {task: "long"}  cancelled [cancelled]
        │  │  ├─ model scripted  ok  100 → 10 tokens
        │  │  │  └─ noop {a: "first"}  ok
        │  │  └─ model scripted  ok  100 → 10 tokens
        │  │     ├─ gate {id: "x"}  cancelled [cancelled]
        │  │     └─ noop {a: "second"}  ok
        │  └─ delegate {task: "short"}  ok
        │     └─ model scripted “It was short.”  ok  100 → 10 tokens
        └─ model scripted “One of them was stopped.”  ok  100 → 10 tokens
    "#]]
    .assert_eq(&said.tree);
    let heard = model.asked().last().unwrap().text();
    assert!(heard.contains("stopped, as you asked; before that 'noop' was done"), "{heard}");
}
