//! Several commands of one message run at once.

use crate::world::{World, on_both_stores};

on_both_stores!(eight_lines_run_side_by_side, a_bad_tool_harms_no_other_of_its_batch);

async fn eight_lines_run_side_by_side(world: World) {
    let (gateway, ann) = (world.start().await, world.chat("dm:ann"));
    let asked = ann.says(&["/sleep 50"; 8].join("\n"));
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert_eq!(answer.text.matches("slept_ms: 50").count(), 8, "{answer:?}");
    let tree = gateway.tree(&answer.reference()).await;
    let nodes = tree["nodes"].as_array().expect("nodes");
    let root = nodes.iter().find(|node| node["parent"].is_null()).expect("a root");
    let calls: Vec<_> = nodes.iter().filter(|node| node["tool"] == "sleep").collect();
    assert_eq!(calls.len(), 8, "{tree:#}");
    assert!(calls.iter().all(|call| call["parent"] == root["call"]), "{tree:#}");
    let micros = |node: &serde_json::Value, key: &str| node[key].as_u64().expect("a time");
    // All had started before the first had ended.
    let last_start = calls.iter().map(|call| micros(call, "started_us")).max();
    let first_end = calls.iter().map(|call| micros(call, "started_us") + micros(call, "duration_us")).min();
    assert!(last_start < first_end, "{tree:#}");
}

async fn a_bad_tool_harms_no_other_of_its_batch(world: World) {
    let (gateway, ann) = (world.start().await, world.chat("dm:ann"));
    let asked = ann.says("/crash\n/act tag=a\n/fail tag=b\n/drip tag=c\n/look tag=d\n/nothing\n/sleep ms=abc");
    let answer = asked.answered_once_unmarked(&gateway).await;
    for words in [
        "code: panic",
        "done: act",
        "code: upstream.5xx",
        "code: timeout",
        "done: look",
        "code: tool.unknown",
        "code: args.invalid",
    ] {
        assert!(answer.text.contains(words), "'{words}': {answer:?}");
    }
    let order: Vec<_> = (1..=7).map(|n| answer.text.find(&format!("{n}."))).collect();
    assert!(order.is_sorted() && order.iter().all(Option::is_some), "{answer:?}");
    gateway.tree(&answer.reference()).await;
    world.no_rule_was_broken();
}
