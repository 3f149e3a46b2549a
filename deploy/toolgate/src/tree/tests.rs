use contract::{CallId, CallPath, Code, TurnId};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn turn() -> Node {
    let mut node = Node::new(TurnId::default(), CallId(1000), NodeKind::Turn, 1_000_000);
    node.state = State::Ok;
    node.duration_us = Some(60_000);
    node
}

fn call(id: u32, parent: Option<u32>, path: &str, tool: &str, start_ms: u64) -> Node {
    let mut node = Node::new(TurnId::default(), CallId(id), NodeKind::Call, 1_000_000 + start_ms * 1_000);
    node.parent = parent.map(CallId);
    node.path = CallPath::try_from(path.to_owned()).ok();
    node.tool = tool.into();
    node.state = State::Ok;
    node.duration_us = Some(41_000);
    node
}

fn check(nodes: &[Node], expected: Expect) {
    expected.assert_eq(&draw(nodes, Style { details: true, ..Style::PLAIN }));
}

#[test]
fn a_models_step_says_what_it_took_and_its_calls_what_it_was_told() {
    let mut step = call(1001, Some(1000), "1", "qwen3:8b", 1);
    step.kind = NodeKind::ModelStep;
    step.result = "I look it up.".into();
    step.usage = Some(contract::Usage { input: 812, cached: 600, output: 55, cost_micros: 1_250 });
    let mut late = call(1002, Some(1001), "1.1", "read_page", 3);
    late.state = State::Failed;
    late.code = Some(Code::Timeout);
    late.detail = "no answer within 2 s".into();
    late.told = r#"{"error":{"code":"timeout"}}"#.into();
    check(
        &[turn(), step, late],
        expect![[r#"
        ✓ turn                      +0 µs       60 ms  ok
        └─ ✓ model 1 qwen3:8b     +1.0 ms       41 ms  ok  812 (600 cached) → 55 tokens  cost 0.001250  “I look it up.”
           └─ ✗ read_page 1.1     +3.0 ms       41 ms  execution · timeout
                no answer within 2 s
                told: {"error":{"code":"timeout"}}"#]],
    );
}

#[test]
fn children_hang_under_their_parents_in_order_of_start() {
    let mut failed = call(1003, Some(1001), "1.1.2", "read_page", 46);
    failed.state = State::Failed;
    failed.code = Some(Code::Timeout);
    failed.duration_us = Some(2_002_000);
    failed.detail = "no answer within 2 s\nGET /page".into();
    failed.attempts = 2;
    let mut waited = call(1004, Some(1000), "1.2", "weather_query", 1);
    waited.queued_us = 12_000;
    waited.marks = vec!["coerced days: \"3\" to 3".into()];
    waited.args = r#"{"city":"上海","days":3}"#.into();
    let mut refused = call(1005, Some(1000), "1.3", "order_refund", 2);
    refused.state = State::Denied;
    refused.code = Some(Code::Denied);
    let nodes = [
        failed,
        waited,
        turn(),
        call(1002, Some(1001), "1.1.1", "search_web", 3),
        call(1001, Some(1000), "1.1", "research", 1),
        refused,
    ];
    check(
        &nodes,
        expect![[r#"
            ✓ turn                         +0 µs       60 ms  ok
            ├─ ✓ research 1.1            +1.0 ms       41 ms  ok
            │  ├─ ✓ search_web 1.1.1     +3.0 ms       41 ms  ok
            │  └─ ✗ read_page 1.1.2       +46 ms      2.00 s  execution · timeout  2 attempts
            │       no answer within 2 s GET /page
            ├─ ✓ weather_query 1.2       +1.0 ms       41 ms  ok  waited 12 ms  coerced days: "3" to 3  {"city":"上海","days":3}
            └─ ⊘ order_refund 1.3        +2.0 ms       41 ms  permission · denied"#]],
    );
}

#[test]
fn orphans_duplicates_and_circles_are_shown_once() {
    let mut running = call(1001, Some(1000), "1.1", "sleep", 1);
    running.state = State::Running;
    running.duration_us = None;
    let nodes = [
        turn(),
        call(1001, Some(1000), "1.1", "sleep", 1),
        running,
        call(1007, Some(1999), "1.2.1", "orphan", 5),
        call(1010, Some(1011), "1.8", "egg", 6),
        call(1011, Some(1010), "1.9", "hen", 7),
        call(1012, Some(1012), "1.7", "own_parent", 8),
    ];
    check(
        &nodes,
        expect![[r#"
        ✓ turn                                    +0 µs       60 ms  ok
        └─ ✓ sleep 1.1                          +1.0 ms       41 ms  ok
        ? call 1999 was not recorded
        └─ ✓ orphan 1.2.1                       +5.0 ms       41 ms  ok
        ? calls whose parents form a circle
        ✓ egg 1.8                               +6.0 ms       41 ms  ok
        └─ ✓ hen 1.9                            +7.0 ms       41 ms  ok
        ✓ own_parent 1.7                        +8.0 ms       41 ms  ok"#]],
    );
}

#[test]
fn a_tree_without_its_turn_is_shown() {
    check(
        &[call(1001, Some(1000), "1.1", "sleep", 0)],
        expect![[r#"
        ? call 1000 was not recorded
        └─ ✓ sleep 1.1                     +0 µs       41 ms  ok"#]],
    );
    check(&[], expect![[""]]);
}

#[test]
fn what_others_wrote_cannot_steer_the_terminal() {
    let mut node = call(1001, None, "1.1", "sl\x1b[2Jeep", 0);
    node.args = "\x1b]0;title\x07\nnext line".into();
    let drawn = draw(&[node], Style { ink: Ink::Plain, details: true });
    assert!(!drawn.contains('\x1b') && drawn.lines().count() == 1, "{drawn:?}");
}

#[test]
fn a_very_deep_tree_is_drawn_without_recursion() {
    let nodes: Vec<_> = (0..20_000).map(|i| call(1001 + i, Some(1000 + i), "1.1", "deep", u64::from(i))).collect();
    assert_eq!(draw(&nodes, Style::PLAIN).lines().count(), 20_001);
}

proptest! {
    #[test]
    fn every_node_is_drawn_exactly_once(parents in proptest::collection::vec(0_u32..30, 1..25)) {
        let nodes: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(i, parent)| call(i as u32, Some(*parent), "1.1", &format!("tool{i}_"), i as u64))
            .collect();
        let drawn = draw(&nodes, Style::PLAIN);
        for i in 0..nodes.len() {
            let name = format!(" tool{i}_ ");
            prop_assert_eq!(drawn.matches(&name).count(), 1, "{} in\n{}", name, drawn);
        }
    }
}
