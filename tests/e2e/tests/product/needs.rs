//! What tools need of others: services that have to be there, and lists that their parameters are filled with.

use serde_json::{Value, json};

use crate::{
    database::Kind,
    gateway::Gateway,
    world::{World, eventually},
};

async fn listed(gateway: &Gateway, tool: &str) -> Option<Value> {
    let (_, list) = gateway.get("/v1/tools?platform=telegram").await;
    list.as_array().expect("a list").iter().find(|listed| listed["name"] == tool).cloned()
}

#[tokio::test]
async fn a_tool_is_hidden_while_what_it_needs_is_not_there_and_operators_read_why() {
    let world = World::new(Kind::Sqlite).await;
    let tool = |name: &str| {
        let url = &world.service.url;
        format!(
            "name: {name}\ndescription: Needs its service to be well\ncheck: {{ http: \"{url}/{name}-health?key=sk_live_9\" }}\n\
             endpoint: {{ method: GET, url: \"{url}/{name}\" }}\n"
        )
    };
    world.service.answers("ill-health", 503, json!({}));
    world.write("tools/well.yaml", &tool("well"));
    world.write("tools/ill.yaml", &tool("ill"));
    let (gateway, team) = (world.start().await, world.chat("team"));
    eventually("what is not there is hidden", async || listed(&gateway, "ill").await.is_none()).await;
    assert!(listed(&gateway, "well").await.is_some());
    gateway.logged("its 'check' says: it answers 503").await;
    assert!(!gateway.log_says("sk_live_9"));
    assert!(team.says("/well").answer().await.text.contains("done: well"));
    let hidden = team.says("/ill").answer().await;
    assert!(!hidden.text.contains("503"), "{hidden:?}");
    assert_eq!(world.service.count("ill", ""), 0);
}

#[tokio::test]
async fn parameters_are_filled_with_what_was_fetched_and_follow_it() {
    let world = World::new(Kind::Sqlite).await;
    world.service.answers("regions", 200, json!({ "regions": [{ "id": "eu" }, { "id": "us" }] }));
    let url = &world.service.url;
    world.write(
        "tools/deploy.yaml",
        &format!(
            "name: deploy\ndescription: Deploys to a region\nparameters:\n  type: object\n  required: [region]\n  \
             properties: {{ region: {{ type: string }} }}\ndynamic:\n  parameters.properties.region.enum:\n    \
             {{ url: \"{url}/regions\", ttl: 5s, select: \"regions[].id\" }}\n\
             endpoint: {{ method: GET, url: \"{url}/deploy\" }}\n"
        ),
    );
    let (gateway, team) = (world.start().await, world.chat("team"));
    let regions = async |expected: Value| {
        let tool = listed(&gateway, "deploy").await.expect("it is listed");
        tool["parameters"]["properties"]["region"]["enum"] == expected
    };
    eventually("the regions are there", async || regions(json!(["eu", "us"])).await).await;
    let refused = team.says("/deploy region=mars").answer().await;
    assert!(refused.text.contains("eu"), "{refused:?}");
    // What fails leaves what was known.
    world.service.answers("regions", 500, json!({}));
    gateway.logged("a part of a tool's parameters cannot be fetched").await;
    assert!(regions(json!(["eu", "us"])).await);
    world.service.answers("regions", 200, json!({ "regions": [{ "id": "mars" }] }));
    eventually("the new regions are there", async || regions(json!(["mars"])).await).await;
    assert!(team.says("/deploy region=mars").answer().await.text.contains("done: deploy"));
}
