//! The calls of one step: limits, order, modes, resources.

use std::sync::Arc;

use contract::{Code, Platform, State};
use expect_test::expect;
use proptest::prelude::*;
use testkit::{Gate, InABox, Setup, TOOLS, message};

const MORE: &str = r#"
---
name: outer
toolset: lab
description: Calls tools side by side
parameters: { type: object }
endpoint:
  type: pipeline
  steps:
    - parallel:
        - { id: one, tool: gate, args: { id: one } }
        - { id: two, tool: gate, args: { id: two } }
        - { id: three, tool: gate, args: { id: three } }
        - { id: four, tool: gate, args: { id: four } }
---
name: nest1
toolset: lab
description: Calls deeper
endpoint: { type: pipeline, steps: [{ tool: nest2, args: {} }] }
---
name: nest2
toolset: lab
description: Calls deeper
endpoint: { type: pipeline, steps: [{ tool: nest3, args: {} }] }
---
name: nest3
toolset: lab
description: Calls the secret thing
endpoint: { type: pipeline, steps: [{ tool: secret_thing, args: {} }] }
---
name: hurried
toolset: lab
description: Does not wait long for what it calls
execution: { timeout: 300ms }
endpoint:
  type: pipeline
  steps: [{ parallel: [{ tool: gate, args: { id: a } }, { tool: once, args: { id: b } }, { tool: noop, args: { a: x } }] }]
---
name: buys
toolset: lab
description: Does something once
endpoint: { type: pipeline, steps: [{ tool: once, args: { id: A } }] }
---
name: alone
toolset: lab
description: One at a time for each key
permissions: [read]
parameters: { type: object, required: [id], properties: { id: { type: string }, key: { type: string } } }
execution: { resource: "key:{key}" }
endpoint: { type: native, name: gate }
"#;

async fn gateway(gate: &Gate, limits: &str) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).gate(gate);
    setup.tools = format!("{TOOLS}{MORE}");
    let policy = format!("platform: api\ntoolsets: {{ allow: [lab] }}\nlimits: {{ {limits} }}\n");
    setup.policies = vec![("api.yaml".into(), policy)];
    setup.start().ready().await
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_calls_of_a_step_run_at_once_than_policy_says() {
    let gate = Gate::closed();
    let gateway = Arc::new(gateway(&gate, "concurrent_calls: 3").await);
    let asking = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.say(&lines(12, |n| format!("/gate id={n}"))).await }
    });
    gate.wait_for(3).await;
    gate.open();
    let said = asking.await.unwrap();
    assert_eq!((gate.most(), gate.runs()), (3, 12));
    let order: Vec<_> = (0..12).map(|n| said.text.find(&format!("id: {n}")).unwrap()).collect();
    assert!(order.is_sorted(), "{}", said.text);
}

#[tokio::test]
async fn a_message_makes_no_more_calls_than_policy_says() {
    let gateway = gateway(&Gate::opened(), "calls_per_turn: 2").await;
    let said = gateway.say("/gate id=1\n/gate id=2\n/gate id=3").await;
    expect![[r#"
        turn  failed [limit.reached]
        ├─ gate {id: "3"}  failed [limit.reached]
        ├─ gate {id: "1"}  ok
        └─ gate {id: "2"}  ok
    "#]]
    .assert_eq(&said.tree);
}

#[tokio::test]
async fn a_message_of_very_many_calls_is_answered_and_its_tree_stays_small() {
    let gateway = gateway(&Gate::opened(), "calls_per_turn: 2").await;
    let said = gateway.say(&lines(50_000, |_| "/noop x".into())).await;
    assert!(said.reply.failed && said.text.len() < 2_000, "{}", said.text.len());
    assert_eq!(said.tree.lines().count(), 1 + 2 + 100);
}

#[tokio::test]
async fn calls_are_nested_no_deeper_than_policy_says_and_gain_no_rights() {
    let shallow = gateway(&Gate::opened(), "call_depth: 2").await.say("/nest1").await;
    assert!(shallow.tree.contains("limit.reached"), "{}", shallow.tree);
    let deep = gateway(&Gate::opened(), "call_depth: 4").await.say("/nest1").await;
    expect![[r#"
        turn  failed [step.failed]
        └─ nest1 {}  failed [step.failed]
           └─ nest2 {}  failed [step.failed]
              └─ nest3 {}  failed [step.failed]
                 └─ secret_thing {}  denied [denied]
    "#]]
    .assert_eq(&deep.tree);
    assert!(!deep.text.contains("denied"), "{}", deep.text);
}

#[tokio::test]
async fn children_of_a_call_keep_to_the_limit_too() {
    let gate = Gate::opened();
    let gateway = gateway(&gate, "concurrent_calls: 2").await;
    let said = gateway.say("/outer").await;
    assert!(!said.reply.failed, "{}", said.text);
    assert!(gate.most() <= 2);
    expect![[r#"
        turn  ok
        └─ outer {}  ok
           ├─ gate {id: "one"}  ok
           ├─ gate {id: "two"}  ok
           ├─ gate {id: "three"}  ok
           └─ gate {id: "four"}  ok
    "#]]
    .assert_eq(&said.tree);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_message_share_its_places_however_they_are_nested() {
    for at_once in [1, 3] {
        let gate = Gate::closed();
        let gateway = Arc::new(gateway(&gate, &format!("concurrent_calls: {at_once}")).await);
        let asking = tokio::spawn({
            let gateway = gateway.clone();
            async move { gateway.say("/outer\n/gate id=five\n/outer\n/outer").await }
        });
        gate.wait_for(at_once).await;
        gate.open();
        let said = asking.await.unwrap();
        assert!(!said.reply.failed, "{}", said.text);
        assert_eq!((gate.most(), gate.runs()), (at_once, 13));
    }
}

#[tokio::test]
async fn what_a_call_leaves_behind_when_its_time_is_over_ends_in_the_tree_too() {
    let gate = Gate::closed();
    let said = gateway(&gate, "turn_timeout: 60s").await.say("/hurried").await;
    expect![[r#"
        turn  failed [timeout]
        └─ hurried {}  unknown [timeout]
           ├─ gate {id: "a"}  cancelled [cancelled]
           ├─ once {id: "b"}  unknown [cancelled]
           └─ noop {a: "x"}  ok
    "#]]
    .assert_eq(&said.tree);
    assert_eq!(gate.inside(), 0);
}

#[tokio::test]
async fn in_order_means_one_after_the_other_and_the_first_failure_ends_it() {
    let gate = Gate::opened();
    let gateway = gateway(&gate, "execution_mode: sequential").await;
    let said = gateway.say("/gate id=1\n/once id=2\n/crash\n/gate id=4\n/secret_thing").await;
    assert_eq!(gate.log(), ["in 1", "out 1", "in 2", "out 2"]);
    expect![[r#"
        turn  failed [panic]
        ├─ gate {id: "1"}  ok
        ├─ once {id: "2"}  ok
        ├─ crash {}  failed [panic]
        ├─ gate {id: "4"}  not_started [not_started]
        └─ secret_thing null  denied [denied]
    "#]]
    .assert_eq(&said.tree);
}

#[tokio::test]
async fn calls_that_need_one_thing_run_one_by_one_in_their_order_and_others_beside_them() {
    let gate = Gate::opened();
    let gateway = gateway(&gate, "concurrent_calls: 8").await;
    gateway.say("/alone id=1 key=x\n/alone id=2 key=x\n/alone id=3 key=x").await;
    assert_eq!(gate.log(), ["in 1", "out 1", "in 2", "out 2", "in 3", "out 3"]);
    let gate = Gate::closed();
    let gateway = Arc::new(self::gateway(&gate, "concurrent_calls: 8").await);
    let asking = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.say("/alone id=1 key=x\n/alone id=2 key=y\n/alone id=3 key=x").await }
    });
    gate.wait_for(2).await;
    assert_eq!(gate.inside(), 2);
    gate.open();
    assert!(!asking.await.unwrap().reply.failed);
}

#[tokio::test]
async fn a_call_by_itself_passes_the_same_gate() {
    let gate = Gate::opened();
    let gateway = gateway(&gate, "calls_per_turn: 1").await;
    let outcome = gateway.invoke("once", serde_json::json!({"id": "A"})).await;
    assert_eq!((outcome.state, gate.runs()), (State::Ok, 1));
    let denied = gateway.invoke("secret_thing", serde_json::json!({})).await.result.unwrap_err();
    let unknown = gateway.invoke("secret_thong", serde_json::json!({})).await.result.unwrap_err();
    assert_eq!((denied.code, denied.true_code()), (Code::ToolUnknown, Code::Denied));
    assert_eq!(
        denied.for_model(false).to_string().replace("secret_thing", "X"),
        unknown.for_model(false).to_string().replace("secret_thong", "X")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gateway_leaves_when_a_call_by_itself_has_ended() {
    let gate = Gate::closed();
    let gateway = gateway(&gate, "calls_per_turn: 32").await.gateway;
    let calling = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.invoke(testkit::caller(Platform::Api), "once", Ok(serde_json::json!({"id": "A"}))).await }
    });
    gate.wait_for(1).await;
    let leaving = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.drain().await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(!leaving.is_finished());
    gate.open();
    leaving.await.unwrap();
    let record = gateway.record(calling.await.unwrap().turn).await.unwrap().unwrap();
    assert_eq!(record.state, contract::records::TurnState::Done);
}

#[tokio::test]
async fn a_pipeline_by_itself_has_a_record_for_what_it_does_once() {
    let gateway = gateway(&Gate::opened(), "calls_per_turn: 32").await.gateway;
    let invoked = gateway.invoke(testkit::caller(Platform::Api), "buys", Ok(serde_json::json!({}))).await;
    assert_eq!((invoked.outcome.state, invoked.outcome.repeatable), (State::Ok, false));
    assert!(gateway.record(invoked.turn).await.unwrap().is_some());
    let looked = gateway.invoke(testkit::caller(Platform::Api), "outer", Ok(serde_json::json!({}))).await;
    assert!(looked.outcome.repeatable && gateway.record(looked.turn).await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_is_counted_under_names_that_somebody_typed() {
    let gateway = gateway(&Gate::opened(), "calls_per_turn: 3").await;
    gateway.say("/noop x\n/secret_thing\n/no_such\n/nor_such\n/noop y").await;
    let counted = || async {
        let stats = gateway.gateway.stats(0).await.unwrap();
        stats.into_iter().map(|s| (s.tool, s.calls)).collect::<Vec<_>>()
    };
    while counted().await.iter().map(|(_, calls)| calls).sum::<u64>() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(counted().await, [("noop".to_owned(), 2), ("secret_thing".to_owned(), 1)]);
}

#[tokio::test]
async fn what_is_listed_is_what_can_be_called() {
    let gateway = gateway(&Gate::opened(), "calls_per_turn: 32").await;
    let caller = testkit::caller(Platform::Api);
    let list = gateway.gateway.tools(&caller);
    let names: Vec<_> = list.described.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(!names.contains(&"secret_thing") && names.contains(&"noop"), "{names:?}");
    let (builtins, tools): (Vec<_>, Vec<_>) = list.menu.items.iter().partition(|item| item.toolset.is_empty());
    assert_eq!(tools.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), names);
    // Built-ins come first: where a platform takes fewer commands, they stay.
    let builtins: Vec<_> = builtins.iter().map(|item| item.name.as_str()).collect();
    let mut known: Vec<_> = dispatch::commands::BUILTINS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(builtins.last(), Some(&"start"));
    let mut builtins = builtins;
    builtins.sort_unstable();
    assert_eq!(builtins, known);
    assert_eq!(list.menu.items[0].name, "help");
    for name in ["noop", "gate", "once", "secret_thing", "crash"] {
        let outcome = gateway.invoke(name, serde_json::json!({})).await;
        let is_unknown = outcome.result.as_ref().is_err_and(|f| f.code == Code::ToolUnknown);
        assert_eq!(is_unknown, !names.contains(&name), "{name}: {outcome:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn results_come_in_the_order_of_the_calls(times in proptest::collection::vec(0_u64..30, 1..12), at_once in 1_u32..9) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let text = runtime.block_on(async {
            let gateway = gateway(&Gate::opened(), &format!("concurrent_calls: {at_once}")).await;
            let calls = lines(times.len(), |n| match times[n] % 5 {
                4 => format!("/noop x b={n}wrong{n}"),
                3 => format!("/secret_{n}"),
                _ => format!("/sleep {}", times[n]),
            });
            gateway.say_as(message(Platform::Api, "c", "ada", &calls)).await.text
        });
        let mut rest = text.as_str();
        for (n, time) in times.iter().enumerate() {
            let mark = match time % 5 {
                4 => format!("{n}wrong{n}"),
                3 => format!("secret_{n}"),
                _ => format!("slept_ms: {time}"),
            };
            let found = rest.find(&mark);
            prop_assert!(found.is_some(), "{} does not follow in {}", mark, text);
            rest = &rest[found.unwrap_or_default() + mark.len()..];
        }
    }
}

#[tokio::test]
async fn a_turns_time_ends_calls_that_do_not_end() {
    let gate = Gate::closed();
    let gateway = gateway(&gate, "turn_timeout: 1s").await;
    let said = gateway.say("/gate id=1\n/once id=2\n/noop x").await;
    expect![[r#"
        turn  failed [timeout]
        ├─ gate {id: "1"}  failed [timeout]
        ├─ once {id: "2"}  unknown [timeout]
        └─ noop {a: "x"}  ok
    "#]]
    .assert_eq(&said.tree);
    assert_eq!(gate.inside(), 0);
}
