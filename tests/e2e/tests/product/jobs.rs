//! Work that goes on elsewhere: the turn is put aside, the conversation goes on, and a killed process loses nothing of it.

use serde_json::json;

use crate::{
    chat::Asked,
    world::{World, eventually, on_both_stores},
};

on_both_stores!(
    a_job_that_takes_long_holds_nobody_up_and_survives_a_kill,
    a_job_is_asked_about_by_the_next_life_though_the_process_died_at_once,
    a_job_that_is_stopped_is_called_off_and_may_have_taken_effect,
    a_quick_job_is_waited_for_in_place,
    a_job_within_a_pipeline_is_waited_for_over_a_kill,
);

const TOOL: &str = r#"
name: make
description: Makes a report in the background
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
returns: { type: object, required: [rows], properties: { rows: { type: integer } } }
endpoint: { method: POST, url: "SERVICE/make" }
execution:
  timeout: 5s
  concurrency_limit: 4
  async:
    id: /job
    poll: { url: "SERVICE/poll?tag={id}", interval: 500ms }
    cancel: { url: "SERVICE/cancel?tag={id}" }
    done: "/status == 'done'"
    result: /result
    timeout: 5m
---
name: report
description: Looks something up, makes a report of it and acts on that
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint:
  type: pipeline
  steps:
    - { id: seen, tool: act, args: { tag: "{{ args.tag }}" } }
    - { id: made, tool: make, args: { tag: "{{ steps.seen.tag }}" } }
  result: "rows: {{ steps.made.rows }}"
execution: { timeout: 30s, concurrency_limit: 4 }
"#;

fn prepare(world: &World) {
    world.write("tools/make.yaml", &TOOL.replace("SERVICE", &world.service.url));
    world.service.answers("make", 200, json!({ "job": "j1" }));
    world.service.answers("poll", 200, json!({ "status": "running" }));
}

fn is_done(world: &World) {
    world.service.answers("poll", 200, json!({ "status": "done", "result": { "rows": 7 } }));
}

async fn waits(asked: &Asked) {
    asked.answer_with("is still at work").await;
}

async fn a_job_that_takes_long_holds_nobody_up_and_survives_a_kill(world: World) {
    prepare(&world);
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/make tag=a");
    waits(&asked).await;
    let other = team.says("/look tag=b");
    assert!(other.answer().await.text.contains("done: look"));
    let polls = world.service.count("poll", "j1");
    world.service.asked("poll", "j1", polls + 2).await;
    gateway.kill();
    let polls = world.service.count("poll", "j1");
    let gateway = world.start().await;
    world.service.asked("poll", "j1", polls + 1).await;
    is_done(&world);
    asked.answer_with("rows: 7").await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("make", "a"), 1);
    world.no_rule_was_broken();
}

async fn a_job_is_asked_about_by_the_next_life_though_the_process_died_at_once(world: World) {
    prepare(&world);
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/make tag=a");
    world.service.asked("poll", "j1", 1).await;
    gateway.kill();
    is_done(&world);
    let gateway = world.start().await;
    asked.answer_with("rows: 7").await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("make", "a"), 1);
}

async fn a_job_that_is_stopped_is_called_off_and_may_have_taken_effect(world: World) {
    prepare(&world);
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/make tag=a");
    waits(&asked).await;
    team.says("/stop");
    world.service.asked("cancel", "j1", 1).await;
    asked.answer_with("may have taken effect").await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("make", "a"), 1);
}

async fn a_quick_job_is_waited_for_in_place(world: World) {
    prepare(&world);
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/make tag=a");
    world.service.asked("poll", "j1", 1).await;
    is_done(&world);
    asked.answer_with("rows: 7").await;
    asked.answered_once_unmarked(&gateway).await;
    assert!(!gateway.log_says("turn parked"));
}

async fn a_job_within_a_pipeline_is_waited_for_over_a_kill(world: World) {
    prepare(&world);
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/report tag=a");
    waits(&asked).await;
    // It says that it waits before it is put aside.
    let listed = async || team.says("/status").answer().await.text.contains("make is still at work");
    eventually("the status says what waits", listed).await;
    gateway.kill();
    let gateway = world.start().await;
    is_done(&world);
    asked.answer_with("rows: 7").await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!((world.service.count("act", "a"), world.service.count("make", "a")), (1, 1));
}
