//! Files that change under a running gateway.

use crate::{
    gateway::Gateway,
    world::{POLICY, World, eventually, on_both_stores},
};

on_both_stores!(
    a_bad_file_keeps_the_last_good_tool_and_says_so,
    a_change_reaches_the_list_and_what_is_removed_is_not_available,
    what_a_policy_denies_is_refused_at_once_also_within_a_turn,
);

const GREET: &str = "name: greet\ndescription: DESCRIBED\nparameters: { type: object }\n\
                     endpoint: { method: GET, url: \"SERVICE/greet\" }\n";

fn greet(world: &World, described: &str) -> String {
    GREET.replace("DESCRIBED", described).replace("SERVICE", &world.service.url)
}

/// What a model in a chat would be told of a tool.
async fn description(gateway: &Gateway, tool: &str) -> Option<String> {
    let (_, list) = gateway.get("/v1/tools?platform=telegram").await;
    let tools = list.as_array().cloned().expect("a list");
    let found = tools.into_iter().find(|listed| listed["name"] == tool)?;
    Some(found["description"].as_str().unwrap_or_default().to_owned())
}

async fn a_bad_file_keeps_the_last_good_tool_and_says_so(world: World) {
    world.write("tools/greet.yaml", &greet(&world, "Greets politely"));
    let (gateway, team) = (world.start().await, world.chat("team"));
    gateway.shows("tools and policies", "ready").await;

    // Half written.
    let whole = greet(&world, "Greets warmly");
    world.write("tools/greet.yaml", &whole[..whole.len() - 30]);
    let why = gateway.shows("tools and policies", "degraded").await;
    assert!(why.contains("last good version"), "{why}");
    assert!(gateway.log_says("tools/greet.yaml:"), "the log names file and line");
    assert_eq!(description(&gateway, "greet").await.as_deref(), Some("Greets politely"));
    assert!(team.says("/greet").answer().await.text.contains("done: greet"));

    world.write("tools/greet.yaml", &whole);
    gateway.shows("tools and policies", "ready").await;
    assert_eq!(description(&gateway, "greet").await.as_deref(), Some("Greets warmly"));

    // Wrong.
    world.write("tools/greet.yaml", &whole.replace("endpoint:", "endpiont:"));
    gateway.shows("tools and policies", "degraded").await;
    gateway.logged("endpiont").await;
    assert!(team.says("/greet").answer().await.text.contains("done: greet"));

    // A policy that is wrong leaves the last good one in force.
    world.write("tools/greet.yaml", &whole);
    gateway.shows("tools and policies", "ready").await;
    world.write("policies/telegram.yaml", &POLICY.replace("allow", "alow"));
    gateway.shows("tools and policies", "degraded").await;
    assert!(team.says("/look tag=a").answer().await.text.contains("done: look"));
    world.write("policies/telegram.yaml", POLICY);
    gateway.shows("tools and policies", "ready").await;
}

async fn a_change_reaches_the_list_and_what_is_removed_is_not_available(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    assert_eq!(description(&gateway, "greet").await, None);
    world.write("tools/greet.yaml", &greet(&world, "Greets politely"));
    let said = async |words: &str| description(&gateway, "greet").await.as_deref() == Some(words);
    eventually("a new tool is listed", async || said("Greets politely").await).await;
    world.write("tools/greet.yaml", &greet(&world, "Greets warmly"));
    eventually("the list has the new words", async || said("Greets warmly").await).await;
    assert!(team.says("/greet").answer().await.text.contains("done: greet"));
    std::fs::remove_file(world.path("tools/greet.yaml")).expect("the file is there");
    eventually("it is not listed any more", async || description(&gateway, "greet").await.is_none()).await;
    let removed = team.says("/greet").answer().await;
    assert!(removed.text.contains("Not available"), "{removed:?}");
}

async fn what_a_policy_denies_is_refused_at_once_also_within_a_turn(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("look");
    let under_way = team.says("/pair tag=a");
    world.service.asked("look", "a", 1).await;
    world.write("policies/telegram.yaml", &format!("{POLICY}tools: {{ deny: [act] }}\n"));
    eventually("it is not listed any more", async || description(&gateway, "act").await.is_none()).await;
    world.service.let_go("look");
    let answer = under_way.answered_once_unmarked(&gateway).await;
    assert!(answer.text.contains("pair"), "{answer:?}");
    // Denied and never heard of look the same to the person, and different to the operator.
    let denied = team.says("/act tag=b").answered_once_unmarked(&gateway).await;
    let unknown = team.says("/acc tag=b").answered_once_unmarked(&gateway).await;
    let words = |text: &str, name: &str, reference: &str| text.replace(name, "NAME").replace(reference, "REF");
    assert_eq!(words(&denied.text, "act", &denied.reference()), words(&unknown.text, "acc", &unknown.reference()));
    let tree = gateway.tree(&denied.reference()).await.to_string();
    assert!(tree.contains("\"denied\"") && tree.contains("telegram.yaml"), "{tree}");
    assert_eq!(world.service.count("act", "a") + world.service.count("act", "b"), 0);
    world.write("policies/telegram.yaml", POLICY);
    eventually("it is listed again", async || description(&gateway, "act").await.is_some()).await;
    assert!(team.says("/act tag=c").answer().await.text.contains("done: act"));
}
