//! Turns that a language model plans.

use std::{sync::Arc, time::Duration};

use contract::{Code, Platform};
use dispatch::model::{Said, Stopped};
use expect_test::{Expect, expect};
use testkit::{
    InABox, Scripted, Setup, message,
    model::{Act, Heard, fails, never, says, wants},
};

async fn with(model: &Arc<Scripted>) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup::new(stores).model(model).start().ready().await
}

/// Says something to a model that acts so; its reply, its tree, and what the model was asked last.
async fn check(acts: impl IntoIterator<Item = Act>, reply: Expect, tree: Expect) -> Vec<Heard> {
    let model = Scripted::new(acts);
    let said = with(&model).await.say("please do it").await;
    reply.assert_eq(&said.text);
    tree.assert_eq(&said.tree);
    model.asked()
}

fn last_result(heard: &Heard) -> String {
    let result = heard.messages.iter().rev().find_map(|said| match said {
        Said::Result { content, .. } => Some(content.clone()),
        _ => None,
    });
    result.expect("it was told a result")
}

#[tokio::test]
async fn results_come_back_in_the_order_of_the_calls_and_then_it_answers() {
    let calls = wants(&[("sleep", r#"{"ms": 30}"#), ("sleep", r#"{"ms": 1}"#)]).saying("I sleep twice.");
    let asked = check(
        [calls, says("Slept **31 ms**.")],
        expect!["Slept 31 ms."],
        expect![[r#"
            turn  ok  200 → 20 tokens
            ├─ model scripted “I sleep twice.”  ok  100 → 10 tokens
            │  ├─ sleep {ms: 30}  ok
            │  └─ sleep {ms: 1}  ok
            └─ model scripted “Slept **31 ms**.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    expect![[r#"
        person: please do it
        model: I sleep twice. [call_1_1 sleep {"ms":30}] [call_1_2 sleep {"ms":1}]
        result call_1_1 sleep: {"slept_ms":30}
        result call_1_2 sleep: {"slept_ms":1}
    "#]]
    .assert_eq(&asked[1].text());
}

#[tokio::test]
async fn a_model_that_only_talks_has_one_step() {
    let asked = check(
        [says("Hello!")],
        expect!["Hello!"],
        expect![[r#"
            turn  ok  100 → 10 tokens
            └─ model scripted “Hello!”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    assert_eq!(asked[0].tool_names(), ["crash", "gate", "noop", "once", "send_message", "sleep"]);
}

#[tokio::test]
async fn commands_are_not_the_models() {
    let model = Scripted::new([]);
    let said = with(&model).await.say("/sleep 1").await;
    expect!["- slept_ms: 1"].assert_eq(&said.text);
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn wrong_arguments_are_told_where_and_how_and_may_be_corrected() {
    let acts = [wants(&[("sleep", r#"{"ms": "soon"}"#)]), wants(&[("sleep", r#"{"ms": 1}"#)]), says("Done.")];
    let asked = check(
        acts,
        expect!["Done."],
        expect![[r#"
            turn  ok  300 → 30 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "soon"}  failed [args.invalid]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: 1}  ok
            └─ model scripted “Done.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    expect![[r#"{"error":{"layer":"validation","code":"args.invalid","message":"'sleep' cannot run with these arguments: one thing is wrong","retryable":false,"usage":"/sleep ms","problems":[{"path":"ms","expected":"integer","got":"\"soon\"","hint":"a whole number in digits, like 3"}]}}"#]].assert_eq(&last_result(&asked[1]));
}

#[tokio::test]
async fn three_strikes_end_in_an_honest_answer_without_tools() {
    let wrong = |n: &str| wants(&[("sleep", &format!(r#"{{"ms": "{n}"}}"#))]);
    let acts = [wrong("a"), wrong("b"), wrong("c"), says("I could not make it sleep.")];
    let asked = check(
        acts,
        expect!["I could not make it sleep."],
        expect![[r#"
            turn  ok  400 → 40 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "a"}  failed [args.invalid]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "b"}  failed [args.invalid]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "c"}  failed [args.invalid]
            └─ model scripted “I could not make it sleep.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    assert!(asked[3].tool_names().is_empty());
    expect![[r#"
        person: please do it
        model: [called sleep with {"ms":"a"}]
        person: [sleep failed: <untrusted from="sleep">{"error":{"layer":"validation","code":"args.invalid","message":"'sleep' cannot run with these arguments: one thing is wrong","retryable":false,"usage":"/sleep ms","problems":[{"path":"ms","expected":"integer","got":"\"a\"","hint":"a whole number in digits, like 3"}]}}</untrusted>]
        model: [called sleep with {"ms":"b"}]
        person: [sleep failed: <untrusted from="sleep">{"error":{"layer":"validation","code":"args.invalid","message":"'sleep' cannot run with these arguments: one thing is wrong","retryable":false,"usage":"/sleep ms","problems":[{"path":"ms","expected":"integer","got":"\"b\"","hint":"a whole number in digits, like 3"}]}}</untrusted>]
        model: [called sleep with {"ms":"c"}]
        person: [sleep failed: <untrusted from="sleep">{"error":{"layer":"validation","code":"args.invalid","message":"'sleep' cannot run with these arguments: one thing is wrong","retryable":false,"usage":"/sleep ms","problems":[{"path":"ms","expected":"integer","got":"\"c\"","hint":"a whole number in digits, like 3"}]}}</untrusted>]
        [From the gateway, not from a person: The arguments for 'sleep' were wrong several times, so no further call is made. Answer now, in words: what was found out, what was tried, what did not work and why.]
    "#]].assert_eq(&asked[3].text());
}

#[tokio::test]
async fn where_the_last_step_fails_too_the_person_is_told_what_was_tried() {
    let wrong = |n: &str| wants(&[("sleep", &format!(r#"{{"ms": "{n}"}}"#))]);
    check(
        [wrong("a"), wrong("b"), wrong("c"), fails()],
        expect![[r#"
        ⚠️ No answer: the language model did not manage to call 'sleep' rightly
          code: model.stuck
        → ask again in other words, or for less at once

        What was done for it:
        - ⚠️ sleep
        - ⚠️ sleep
        - ⚠️ sleep"#]],
        expect![[r#"
            turn  failed [model.stuck]  300 → 30 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "a"}  failed [args.invalid]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "b"}  failed [args.invalid]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ sleep {ms: "c"}  failed [args.invalid]
            └─ model scripted  failed [model.unavailable]
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_never_made() {
    let cut = wants(&[("once", r#"{"id": "a"#)]).stopped(Stopped::Length);
    let asked = check(
        [cut, says("Then not.")],
        expect!["Then not."],
        expect![[r#"
            turn  ok  200 → 20 tokens
            ├─ model scripted  ok  100 → 10 tokens
            └─ model scripted “Then not.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    assert!(asked[1].text().contains("cut off"), "{}", asked[1].text());
    // Where only its text is cut, it is read as such and told.
    check(
        [wants(&[("once", r#"{"id": "a"#)]), says("Then not.")],
        expect!["Then not."],
        expect![[r#"
            turn  ok  200 → 20 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ once "{"id": "a"  failed [args.unreadable]
            └─ model scripted “Then not.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
}

#[tokio::test]
async fn arguments_come_in_every_dress() {
    let calls = wants(&[
        ("sleep", r#""{\"ms\": 1}""#),
        ("sleep", r#"{"arguments": {"ms": 1}}"#),
        ("sleep", r#"{"ms": "1"}"#),
        ("noop", ""),
    ]);
    check(
        [calls, says("Done.")],
        expect!["Done."],
        expect![[r#"
            turn  ok  200 → 20 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  ├─ noop {}  failed [args.invalid]
            │  ├─ sleep {ms: 1}  ok
            │  ├─ sleep {ms: 1}  ok
            │  └─ sleep {ms: 1}  ok
            └─ model scripted “Done.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_name_that_does_not_exist_gets_its_neighbours_and_runs_none_of_them() {
    let acts = [wants(&[("slep", r#"{"ms": 1}"#), ("secret_thing", "{}")]), says("No.")];
    let asked = check(
        acts,
        expect!["No."],
        expect![[r#"
            turn  ok  200 → 20 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  ├─ slep {ms: 1}  failed [tool.unknown]
            │  └─ secret_thing {}  denied [denied]
            └─ model scripted “No.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    expect![[r#"
        person: please do it
        model:  [call_1_1 slep {"ms":1}] [call_1_2 secret_thing {}]
        failed call_1_1 slep: {"error":{"layer":"permission","code":"tool.unknown","message":"'slep' is not available here","retryable":false,"hint":"did you mean sleep?"}}
        failed call_1_2 secret_thing: {"error":{"layer":"permission","code":"tool.unknown","message":"'secret_thing' is not available here","retryable":false,"hint":"call only tools that are in your list"}}
    "#]].assert_eq(&asked[1].text());
}

#[tokio::test]
async fn an_attempt_at_a_refused_tool_is_answered_at_once() {
    let secret = || wants(&[("secret_thing", "{}"), ("sleep", r#"{"ms": 1}"#)]);
    let asked = check(
        [secret(), secret(), says("No.")],
        expect!["No."],
        expect![[r#"
            turn  ok  300 → 30 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  ├─ secret_thing {}  denied [denied]
            │  └─ sleep {ms: 1}  ok
            ├─ model scripted  ok  100 → 10 tokens
            │  ├─ secret_thing {}  denied [denied]
            │  └─ sleep {ms: 1}  ok
            └─ model scripted “No.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    assert_eq!(asked[0].tools, asked[2].tools);
}

#[tokio::test]
async fn the_same_failing_call_is_pointed_out_and_circles_end() {
    let crash = || wants(&[("crash", "{}")]);
    let asked = check(
        [crash(), crash(), crash(), says("It crashes.")],
        expect!["It crashes."],
        expect![[r#"
            turn  ok  400 → 40 tokens
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ crash {}  failed [panic]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ crash {}  failed [panic]
            ├─ model scripted  ok  100 → 10 tokens
            │  └─ crash {}  failed [panic]
            └─ model scripted “It crashes.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    assert!(!last_result(&asked[1]).contains("repeated"));
    assert!(last_result(&asked[2]).contains("repeated"));
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more_then_told() {
    check(
        [says(" "), says("Here I am.")],
        expect!["Here I am."],
        expect![[r#"
            turn  ok  200 → 20 tokens
            ├─ model scripted  ok  100 → 10 tokens
            └─ model scripted “Here I am.”  ok  100 → 10 tokens
        "#]],
    )
    .await;
    check(
        [says(""), says("")],
        expect![[r#"
        ⚠️ No answer: the language model gave an empty answer
          code: model.stuck
        → ask again in other words, or for less at once"#]],
        expect![[r#"
            turn  failed [model.stuck]  200 → 20 tokens
            ├─ model scripted  ok  100 → 10 tokens
            └─ model scripted  ok  100 → 10 tokens
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_model_that_fails_is_told_and_may_be_tried_again_while_nothing_ran_once() {
    check(
        [fails()],
        expect![[r#"
        ⚠️ No answer: the language model did not answer
          code: model.unavailable
        → if it goes on, tell an operator the reference"#]],
        expect![[r#"
            turn  failed [model.unavailable]
            └─ model scripted  failed [model.unavailable]
        "#]],
    )
    .await;
    let once = Scripted::new([wants(&[("once", r#"{"id": "x"}"#)]), fails()]);
    let said = with(&once).await.say("pay").await;
    expect![[r#"
        ⚠️ No answer: the language model did not answer
          code: model.unavailable
        → if it goes on, tell an operator the reference

        What was done for it:
        - ✅ once"#]]
    .assert_eq(&said.text);
    let labels = |reply: &contract::Reply| reply.buttons.iter().map(|b| b.label.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&said.reply), ["Details"]);
    let said = with(&Scripted::new([fails()])).await.say("hello").await;
    assert_eq!(labels(&said.reply), ["Try again"]);
}

#[tokio::test]
async fn the_steps_of_a_turn_are_limited() {
    let model = Scripted::by({
        let mut n = 0;
        move |heard| {
            n += 1;
            match heard.tool_names().is_empty() {
                true => says("That is how far I came."),
                false => wants(&[("noop", &format!(r#"{{"a": "{n}"}}"#))]),
            }
        }
    });
    let said = with(&model).await.say("go on and on").await;
    assert_eq!(said.text, "That is how far I came.");
    assert_eq!(model.asked().len(), 10);
}

#[tokio::test]
async fn the_calls_of_a_turn_are_limited() {
    let many: Vec<_> = (0..40).map(|n| format!(r#"{{"a": "{n}"}}"#)).collect();
    let calls: Vec<_> = many.iter().map(|args| ("noop", args.as_str())).collect();
    let model = Scripted::new([wants(&calls), wants(&[("noop", r#"{"a": "x"}"#)]), says("Enough.")]);
    let said = with(&model).await.say("all of it").await;
    assert_eq!(said.text, "Enough.");
    let asked = model.asked();
    assert_eq!(asked[1].messages.len(), 1 + 1 + 40);
    assert_eq!(asked[1].text().matches("limit.reached").count(), 8);
    assert!(asked[2].tool_names().is_empty());
}

#[tokio::test]
async fn stop_is_felt_while_the_model_thinks_and_while_calls_run() {
    for acts in [vec![never()], vec![wants(&[("sleep", r#"{"ms": 60000}"#), ("once", r#"{"id": "x"}"#)]), never()]] {
        let gateway = with(&Scripted::new(acts)).await;
        let contract::Accepted::Turn { id, .. } =
            gateway.gateway_accept(message(Platform::Api, "c1", "ada", "think long")).await
        else {
            panic!("a turn");
        };
        testkit::until("it runs", || gateway.gateway.running().len() == 1).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        gateway.gateway_accept(message(Platform::Api, "c1", "ada", "/stop")).await;
        let said = gateway.ended(id).await;
        assert!(said.text.contains("stopped, as you asked"), "{}", said.text);
        assert_eq!(said.reply.content.len(), if said.tree.contains("sleep") { 2 } else { 1 });
    }
}

#[tokio::test]
async fn the_tokens_of_all_steps_stand_on_the_turn() {
    let model = Scripted::new([wants(&[("sleep", r#"{"ms": 1}"#)]), says("Done.")]);
    let gateway = with(&model).await;
    let said = gateway.say("go").await;
    let nodes = gateway.gateway.tree(said.turn).await.unwrap();
    let usage = nodes[0].usage.unwrap();
    assert_eq!((usage.input, usage.output), (200, 20));
    assert!(nodes.iter().all(|n| n.code != Some(Code::Internal)));
    let spent = gateway.gateway.spent();
    assert_eq!((spent[0].tenant.as_str(), spent[0].model.as_str(), spent[0].steps), ("default", "scripted", 2));
}
