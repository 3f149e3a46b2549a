//! Services and programs that are asked about calls: what they refuse, and what becomes of a call when they are away, slow or
//! in the middle of a kill.

use serde_json::json;

use crate::world::{World, eventually, on_both_stores};

on_both_stores!(
    a_service_decides_on_a_call_and_while_it_is_away_none_runs,
    a_call_that_is_being_decided_on_when_the_gateway_dies_runs_once,
    a_program_that_hangs_refuses_the_call_and_is_gone,
);

/// The configuration with these hooks.
fn with_hooks(world: &World, hooks: &str) {
    let before = std::fs::read_to_string(world.path("toolgate.yaml")).expect("the configuration is there");
    let hooks = hooks.replace("SERVICE", &world.service.url);
    world.write("toolgate.yaml", &format!("{before}hooks:\n{hooks}\n"));
}

async fn a_service_decides_on_a_call_and_while_it_is_away_none_runs(world: World) {
    with_hooks(
        &world,
        "  judge: { stage: before, webhook: \"SERVICE/judge?key=sk_live_7\", tools: [act], timeout: 2s }\n  \
         seen: { stage: after, webhook: \"SERVICE/seen\", tools: [act] }",
    );
    world.service.answers("judge", 200, json!({ "decision": "allow" }));
    let (gateway, team) = (world.start().await, world.chat("team"));
    assert!(team.says("/act one").answer().await.text.contains("done: act"));
    world.service.answers("judge", 200, json!({ "decision": "refuse", "say": "not on a Sunday" }));
    let refused = team.says("/act two").answer().await;
    assert!(refused.text.contains("not on a Sunday"), "{refused:?}");
    world.service.answers("judge", 503, json!({ "decision": "allow" }));
    let unsure = team.says("/act three").answer().await;
    assert!(unsure.text.contains("could not be checked"), "{unsure:?}");
    let tree = gateway.tree(&unsure.reference()).await.to_string();
    assert!(tree.contains("hook 'judge': no decision") && tree.contains("it answers 503"), "{tree}");
    gateway.logged("a hook failed").await;
    assert!(!gateway.log_says("sk_live_7"));
    // Others are none of its business.
    assert!(team.says("/look four").answer().await.text.contains("done: look"));
    assert_eq!((world.service.count("act", "two"), world.service.count("act", "three")), (0, 0));
    world.service.asked("seen", "", 3).await;
    world.no_rule_was_broken();
}

async fn a_call_that_is_being_decided_on_when_the_gateway_dies_runs_once(world: World) {
    with_hooks(&world, "  judge: { stage: before, webhook: \"SERVICE/judge\", tools: [act], timeout: 20s }");
    world.service.answers("judge", 200, json!({ "decision": "allow" }));
    world.service.hold("judge");
    let (gateway, team) = (world.start().await, world.chat("team"));
    let asked = team.says("/act once");
    world.service.asked("judge", "", 1).await;
    gateway.kill();
    assert_eq!(world.service.count("act", "once"), 0);
    world.service.let_go("judge");
    let gateway = world.start().await;
    let answer = asked.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("done: act"), "{answer:?}");
    assert_eq!((world.service.count("act", "once"), world.service.count("judge", "")), (1, 2));
}

async fn a_program_that_hangs_refuses_the_call_and_is_gone(world: World) {
    with_hooks(&world, "  slow: { stage: before, command: [sh, slow.sh], toolsets: [default], timeout: 1s }");
    world.write("slow.sh", "sleep 3600 & echo $! > pid.new; mv pid.new pid; wait\n");
    let (gateway, team) = (world.start().await, world.chat("team"));
    let refused = team.says("/act late").answer().await;
    assert!(refused.text.contains("could not be checked"), "{refused:?}");
    assert_eq!(world.service.count("act", "late"), 0);
    let pid = std::fs::read_to_string(world.path("pid")).expect("the program began");
    let stat = format!("/proc/{}/stat", pid.trim());
    let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    eventually("what the program started is gone", async || is_gone()).await;
    gateway.logged("a hook failed").await;
}
