//! Leaving in order, and one process following another.

use crate::world::{World, on_both_stores};

on_both_stores!(
    asked_to_leave_it_finishes_what_runs_and_leaves_the_rest,
    what_outlasts_the_drain_time_is_taken_up_at_the_next_start,
    a_second_process_says_that_it_waits_and_takes_over,
);

async fn asked_to_leave_it_finishes_what_runs_and_leaves_the_rest(world: World) {
    let (mut gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("act");
    let running = team.says("/act tag=a");
    let progress = running.progress().await;
    gateway.terminate();
    gateway.logged("stopping").await;
    let late = team.says("/look tag=late");
    world.service.let_go("act");
    assert_eq!(gateway.ended().await.code(), Some(0));
    let answer = running.check_once();
    assert!(answer.message == progress.message && answer.text.contains("done: act"), "{answer:?}");
    assert_eq!(world.service.count("look", "late"), 0);

    let gateway = world.start().await;
    late.answered_once_unmarked(&gateway).await;
    running.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("act", "a"), 1);
    world.no_rule_was_broken();
}

async fn what_outlasts_the_drain_time_is_taken_up_at_the_next_start(world: World) {
    let configuration = std::fs::read_to_string(world.path("toolgate.yaml")).expect("it was written");
    world.write("toolgate.yaml", &configuration.replace("drain: 10s", "drain: 1s"));
    let (mut gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("look");
    world.service.hold("act");
    let looks = team.says("/look tag=a");
    let acts = world.chat("other").says("/act tag=b");
    world.service.asked("look", "a", 1).await;
    world.service.asked("act", "b", 1).await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
    assert!(looks.answers().is_empty() && acts.answers().is_empty());
    world.service.let_go("look");
    world.service.let_go("act");
    let gateway = world.start().await;
    assert!(looks.answered_once_unmarked(&gateway).await.text.contains("done: look"));
    assert!(acts.answered_once_unmarked(&gateway).await.text.contains("it is not known whether"));
    assert_eq!(world.service.count("act", "b"), 1);
}

async fn a_second_process_says_that_it_waits_and_takes_over(world: World) {
    let (mut first, team) = (world.start().await, world.chat("team"));
    let second = world.launch();
    second.is_up().await;
    let why = second.shows("work", "degraded").await;
    assert!(why.contains("no partition is held"), "{why}");
    second.says("telegram/main", "degraded", "another process takes in").await;
    assert_eq!(second.readiness().await.0, 503);
    team.says("/act tag=a").answered_once_unmarked(&first).await;
    first.shows("telegram/main", "ready").await;

    // In order: what runs is finished by the first.
    world.service.hold("act");
    let running = team.says("/act tag=b");
    world.service.asked("act", "b", 1).await;
    first.terminate();
    let behind = team.says("/act tag=c");
    world.service.let_go("act");
    first.ended().await;
    assert!(running.answer().await.text.contains("done: act"));
    behind.answered_once_unmarked(&second).await;
    second.shows("telegram/main", "ready").await;

    // And by a kill: the third knows that the second is dead.
    let third = world.launch();
    third.is_up().await;
    third.shows("work", "degraded").await;
    world.service.hold("look");
    let looks = team.says("/look tag=d");
    world.service.asked("look", "d", 1).await;
    second.kill();
    world.service.let_go("look");
    looks.answered_once_unmarked(&third).await;
    running.answered_once_unmarked(&third).await;
    assert_eq!(["a", "b", "c"].map(|tag| world.service.count("act", tag)), [1, 1, 1]);
    world.no_rule_was_broken();
}
