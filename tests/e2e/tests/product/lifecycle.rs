//! Tools that are added, published, deprecated, rolled back and removed under a running gateway.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{
    gateway::{Gateway, binary},
    world::{World, eventually, on_both_stores},
};

on_both_stores!(
    a_tool_lives_from_adding_to_removing_while_a_chat_uses_it,
    a_turn_ends_on_the_version_that_it_began_with_and_what_is_removed_is_refused,
    a_change_reaches_every_process_of_the_store,
    what_was_changed_without_a_gateway_is_there_when_it_starts,
    of_concurrent_editors_each_is_told_what_became_of_theirs,
    a_files_tool_is_restricted_and_never_redefined,
    of_several_in_one_file_all_are_added_or_none,
    a_bad_spec_changes_nothing_and_says_where,
    specs_of_tutorials_are_published_and_run,
);

const GREET: &str = "name: greet\ndescription: DESCRIBED\nparameters: { type: object }\n\
                     endpoint: { method: GET, url: \"SERVICE/PATH\" }\n";

/// The spec of `greet` in a file of the test's, outside of the folder of tools.
fn greet(world: &World, described: &str, path: &str) -> String {
    let text = GREET.replace("DESCRIBED", described).replace("SERVICE", &world.service.url).replace("PATH", path);
    world.write("greet.yaml", &text);
    world.path("greet.yaml").display().to_string()
}

/// The command line of somebody who is logged in as `ada`.
struct Ada<'w> {
    world: &'w World,
    url: Option<String>,
}

impl Ada<'_> {
    /// Exit code and the answer for programs.
    async fn tool(&self, args: &[&str]) -> (i32, Value) {
        let mut command = Command::new(binary());
        command.arg("tool").args(args).arg("--json").arg("--config").arg(self.world.path("toolgate.yaml"));
        if let Some(url) = &self.url {
            command.args(["--gateway", url]);
        }
        command.env_clear().env("TELEGRAM_TOKEN", crate::world::TOKEN).env("USER", "ada");
        command.current_dir(self.world.folder.path()).stdin(Stdio::null());
        let ran = tokio::task::spawn_blocking(move || command.output().expect("the binary starts")).await;
        let output = ran.expect("the command is waited for");
        let json = serde_json::from_slice(&output.stdout);
        let json = json.unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().unwrap_or(-1), json)
    }

    /// What has to succeed.
    async fn does(&self, args: &[&str]) -> Value {
        let (code, answer) = self.tool(args).await;
        assert_eq!(code, 0, "{args:?}: {answer:#}");
        answer
    }
}

async fn ada<'w>(world: &'w World, gateway: &Gateway) -> Ada<'w> {
    Ada { world, url: Some(gateway.is_up().await) }
}

/// What a model in a chat is told of a tool.
async fn described(gateway: &Gateway, tool: &str) -> Option<String> {
    let (_, list) = gateway.get("/v1/tools?platform=telegram").await;
    let found = list.as_array().expect("a list").iter().find(|listed| listed["name"] == tool)?;
    Some(found["description"].as_str().unwrap_or_default().to_owned())
}

async fn a_tool_lives_from_adding_to_removing_while_a_chat_uses_it(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    let ada = ada(&world, &gateway).await;
    let (first, name) = (greet(&world, "Greets politely, in the morning", "one"), ["--name", "greet"]);
    let added = ada.does(&["add", "--spec", &first]).await;
    assert_eq!((&added["tools"][0]["version"], &added["from"]), (&Value::from(1), &Value::from("gateway")));
    assert_eq!(described(&gateway, "greet").await, None, "it waits");

    // Each is in force when the command has ended: nothing is waited for.
    ada.does(&["publish", name[0], name[1]]).await;
    assert_eq!(described(&gateway, "greet").await.as_deref(), Some("Greets politely, in the morning"));
    assert!(team.says("/greet").answer().await.text.contains("done: one"));

    let second = greet(&world, "Greets warmly, at any time", "two");
    ada.does(&["add", "--spec", &second]).await;
    assert!(team.says("/greet").answer().await.text.contains("done: one"), "what is offered stays");
    ada.does(&["publish", name[0], name[1]]).await;
    assert!(team.says("/greet").answer().await.text.contains("done: two"));

    ada.does(&["deprecate", name[0], name[1], "--message", "write yourself"]).await;
    let words = "Greets warmly, at any time (deprecated: write yourself)";
    assert_eq!(described(&gateway, "greet").await.as_deref(), Some(words));
    assert!(team.says("/greet").answer().await.text.contains("done: two"), "it can still be called");

    ada.does(&["rollback", name[0], name[1]]).await;
    assert_eq!(described(&gateway, "greet").await.as_deref(), Some("Greets warmly, at any time"));
    ada.does(&["rollback", name[0], name[1]]).await;
    assert!(team.says("/greet").answer().await.text.contains("done: one"));

    ada.does(&["remove", name[0], name[1]]).await;
    assert_eq!(described(&gateway, "greet").await, None);
    let removed = team.says("/greet").answer().await;
    assert!(removed.text.contains("Not available"), "{removed:?}");

    let history = ada.does(&["history", name[0], name[1]]).await;
    let changes = history["changes"].as_array().expect("changes");
    let did: Vec<_> = changes.iter().rev().map(|change| change["what"].as_str().unwrap_or_default()).collect();
    let expected = ["added", "published", "added", "published", "deprecated", "rolled back", "rolled back", "removed"];
    assert_eq!(did, expected);
    assert!(changes.iter().all(|change| change["by"] == "ada" && change["at_ms"].as_u64() > Some(0)), "{history:#}");
    let (code, _) = ada.tool(&["publish", name[0], name[1]]).await;
    assert_eq!(code, 1, "what was removed is not published");
    assert_eq!(ada.tool(&["history", "--name", "gret"]).await.0, 1);
    gateway.shows("tools and policies", "ready").await;
}

async fn a_turn_ends_on_the_version_that_it_began_with_and_what_is_removed_is_refused(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    let ada = ada(&world, &gateway).await;
    ada.does(&["add", "--publish", "--spec", &greet(&world, "Greets politely, in the morning", "one")]).await;
    // One that calls two tools, the second when the first has answered.
    let both = "name: both\ndescription: Looks something up and greets\nparameters: { type: object }\nendpoint:\n  \
                type: pipeline\n  steps:\n  - { id: seen, tool: look, args: { tag: a } }\n  \
                - { id: greeted, tool: greet, args: {} }\n  result: \"{{ steps.greeted.done }}\"\n";
    world.write("both.yaml", both);
    ada.does(&["add", "--publish", "--spec", &world.path("both.yaml").display().to_string()]).await;

    world.service.hold("look");
    let under_way = team.says("/both");
    world.service.asked("look", "a", 1).await;
    ada.does(&["add", "--publish", "--spec", &greet(&world, "Greets warmly, at any time", "two")]).await;
    world.service.let_go("look");
    assert!(under_way.answer().await.text.contains("one"), "the version of the turn's beginning");
    assert!(team.says("/greet").answer().await.text.contains("done: two"));

    world.service.hold("look");
    let under_way = team.says("/both");
    world.service.asked("look", "a", 2).await;
    ada.does(&["remove", "--name", "greet"]).await;
    world.service.let_go("look");
    let refused = under_way.answered_once_unmarked(&gateway).await;
    let tree = gateway.tree(&refused.reference()).await.to_string();
    assert!(tree.contains("tool.removed"), "{tree}");
}

async fn a_change_reaches_every_process_of_the_store(world: World) {
    let first = world.start().await;
    let second = world.launch();
    second.is_up().await;
    let (ada, there) = (ada(&world, &first).await, self::ada(&world, &second).await);
    ada.does(&["add", "--publish", "--spec", &greet(&world, "Greets politely, in the morning", "one")]).await;
    let said = async |gateway: &Gateway, words: &str| described(gateway, "greet").await.as_deref() == Some(words);
    eventually("it is listed there", async || said(&second, "Greets politely, in the morning").await).await;
    there.does(&["add", "--publish", "--spec", &greet(&world, "Greets warmly, at any time", "two")]).await;
    eventually("it is listed here", async || said(&first, "Greets warmly, at any time").await).await;
    there.does(&["remove", "--name", "look"]).await;
    eventually("it is not listed here", async || described(&first, "look").await.is_none()).await;
    ada.does(&["cache-invalidate", "--name", "act"]).await;
}

async fn what_was_changed_without_a_gateway_is_there_when_it_starts(world: World) {
    let alone = Ada { world: &world, url: None };
    let added = alone.does(&["add", "--spec", &greet(&world, "Greets politely, in the morning", "one")]).await;
    assert_eq!(added["from"], "store");
    alone.does(&["publish", "--name", "greet"]).await;
    let all = alone.does(&["list", "--all"]).await;
    let state = |name: &str| all["tools"].as_array().and_then(|all| all.iter().find(|t| t["name"] == name).cloned());
    assert_eq!(state("greet").expect("it is listed")["state"], "published");
    // A policy that names it is no error without a gateway either.
    world.write("policies/telegram.yaml", &format!("{}tools: {{ deny: [greet] }}\n", crate::world::POLICY));
    assert_eq!(alone.tool(&["list"]).await.0, 0);
    world.write("policies/telegram.yaml", crate::world::POLICY);
    let gateway = world.start().await;
    assert_eq!(described(&gateway, "greet").await.as_deref(), Some("Greets politely, in the morning"));
    assert!(world.chat("team").says("/greet").answer().await.text.contains("done: one"));
}

async fn of_concurrent_editors_each_is_told_what_became_of_theirs(world: World) {
    let gateway = world.start().await;
    let url = gateway.is_up().await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client without a proxy");
    let spec = |n: usize| {
        format!("name: shared\ndescription: The version of editor {n}\nendpoint: {{ type: native, name: noop }}\n")
    };
    let adds = (0..8).map(|n| {
        let request = http.post(format!("{url}/v1/tools?author=editor-{n}")).body(spec(n));
        async move {
            let answer = request.send().await.expect("it answers");
            (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
        }
    });
    let answers = futures_util::future::join_all(adds).await;
    let mut versions: Vec<_> = answers
        .iter()
        .map(|(status, answer)| {
            assert_eq!(*status, 201, "{answer:#}");
            answer["tools"][0]["version"].as_u64().unwrap_or_default()
        })
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=8).collect::<Vec<_>>(), "each change has a number of its own");
    // Who has seen an older one is told so.
    let late = http.post(format!("{url}/v1/tools?author=late&seen=3")).body(spec(9)).send().await.expect("it answers");
    assert_eq!(late.status(), 409);
    let told = late.text().await.expect("a text");
    assert!(told.contains("not at version 3 any more") && told.contains("editor-"), "{told}");
}

async fn a_files_tool_is_restricted_and_never_redefined(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    let ada = ada(&world, &gateway).await;
    world.write("look.yaml", "name: look\ndescription: Another look\nendpoint: { type: native, name: noop }\n");
    let (code, answer) = ada.tool(&["add", "--spec", &world.path("look.yaml").display().to_string()]).await;
    assert!(code == 1 && answer.to_string().contains("tools/all.yaml:2"), "{answer:#}");
    let (code, answer) = ada.tool(&["rollback", "--name", "look"]).await;
    assert!(code == 1 && answer.to_string().contains("tools/all.yaml:2"), "{answer:#}");
    let published = ada.does(&["publish", "--name", "look"]).await;
    assert_eq!(published["already"], true);

    ada.does(&["deprecate", "--name", "look"]).await;
    assert_eq!(described(&gateway, "look").await.as_deref(), Some("Looks something up (deprecated)"));
    ada.does(&["remove", "--name", "look", "--message", "the service moves"]).await;
    assert_eq!(described(&gateway, "look").await, None);
    assert!(team.says("/look tag=a").answer().await.text.contains("Not available"));
    // Also after the file was read again, and after a restart.
    drop(gateway);
    let gateway = world.start().await;
    let ada = self::ada(&world, &gateway).await;
    assert_eq!(described(&gateway, "look").await, None);
    let shown = ada.does(&["show", "--name", "look"]).await;
    assert_eq!((&shown["off"]["by"], &shown["off"]["why"]), (&Value::from("ada"), &Value::from("the service moves")));
    ada.does(&["publish", "--name", "look"]).await;
    assert_eq!(described(&gateway, "look").await.as_deref(), Some("Looks something up"));
    assert!(team.says("/look tag=b").answer().await.text.contains("done: look"));

    // Who says so may stand in its place, from when it is published until it is removed.
    let over = format!(
        "name: look\ndescription: Looks elsewhere\noverride: true\nparameters: {{ properties: {{ tag: {{}} }} }}\n\
         endpoint: {{ method: GET, url: \"{}/elsewhere\" }}\n",
        world.service.url
    );
    world.write("look.yaml", &over);
    ada.does(&["add", "--spec", "look.yaml"]).await;
    assert_eq!(described(&gateway, "look").await.as_deref(), Some("Looks something up"));
    ada.does(&["publish", "--name", "look"]).await;
    assert!(team.says("/look tag=c").answer().await.text.contains("done: elsewhere"));
    ada.does(&["remove", "--name", "look"]).await;
    assert!(team.says("/look tag=d").answer().await.text.contains("done: look"));
    gateway.shows("tools and policies", "ready").await;
}

async fn of_several_in_one_file_all_are_added_or_none(world: World) {
    let gateway = world.start().await;
    let ada = ada(&world, &gateway).await;
    let (first, second) = (
        "name: one\ndescription: The first of two tools of a test\nendpoint: { type: native, name: noop }\n",
        "name: look\ndescription: A name that a file has\nendpoint: { type: native, name: noop }\n",
    );
    world.write("two.yaml", &format!("{first}---\n{second}"));
    assert_eq!(ada.tool(&["add", "--publish", "--spec", "two.yaml"]).await.0, 1);
    assert_eq!(described(&gateway, "one").await, None);
    world.write("two.yaml", &format!("{first}---\n{}", second.replace("look", "two")));
    let added = ada.does(&["add", "--publish", "--spec", "two.yaml"]).await;
    assert_eq!(added["tools"].as_array().map(Vec::len), Some(2));
    assert!(described(&gateway, "one").await.is_some() && described(&gateway, "two").await.is_some());
}

async fn a_bad_spec_changes_nothing_and_says_where(world: World) {
    let gateway = world.start().await;
    let ada = ada(&world, &gateway).await;
    ada.does(&["add", "--publish", "--spec", &greet(&world, "Greets politely, in the morning", "one")]).await;
    let bad = "name: greet\ndescription: Greets warmly, at any time\nparameters: { properties: { a: { type: strin } } }\nendpoint: { url: 'ftp://x' }\n";
    world.write("greet.yaml", bad);
    let (code, answer) = ada.tool(&["add", "--publish", "--spec", "greet.yaml"]).await;
    assert_eq!(code, 78, "{answer:#}");
    let places: Vec<_> =
        answer["errors"].as_array().expect("errors").iter().map(|e| (e["file"].clone(), e["line"].clone())).collect();
    assert_eq!(places, [("greet.yaml".into(), 3.into()), ("greet.yaml".into(), 4.into())], "{answer:#}");
    assert_eq!(described(&gateway, "greet").await.as_deref(), Some("Greets politely, in the morning"));
    // Without a description nothing is published, unless it is said then.
    let nameless = format!("name: report\nendpoint: {{ method: POST, url: \"{}/act\" }}\n", world.service.url);
    world.write("report.yaml", &nameless);
    ada.does(&["add", "--spec", "report.yaml"]).await;
    let (code, answer) = ada.tool(&["publish", "--name", "report"]).await;
    assert!(code == 1 && answer.to_string().contains("--description"), "{answer:#}");
    ada.does(&["publish", "--name", "report", "--description", "Makes the \"monthly\" report: slow"]).await;
    assert_eq!(described(&gateway, "report").await.as_deref(), Some("Makes the \"monthly\" report: slow"));
    gateway.shows("tools and policies", "ready").await;
}

async fn specs_of_tutorials_are_published_and_run(world: World) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs");
    if !folder.is_dir() {
        // They are others' texts and not part of the sources.
        return;
    }
    let (gateway, team) = (world.start().await, world.chat("team"));
    let ada = ada(&world, &gateway).await;
    world.service.answers(
        "query",
        200,
        serde_json::json!({ "order_id": "A-17", "status": "paid", "amount": 12.5, "items": [] }),
    );
    for (name, host) in [
        ("order_query", "https://internal-api.example.local/order"),
        ("slow_report_service", "https://report-api.example.local"),
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.yaml"))).expect("the spec is there");
        assert!(text.contains(host), "{text}");
        world.write("tutorial.yaml", &text.replace(host, &world.service.url));
        ada.does(&["add", "--spec", "tutorial.yaml"]).await;
        let mut publish = vec!["publish", "--name", name];
        if !text.contains("description:") {
            publish.extend(["--description", "Makes a report of all orders; takes half a minute"]);
        }
        ada.does(&publish).await;
    }
    let said = team.says("/order_query order_id=A-17 status=paid").answer().await;
    assert!(said.text.contains("12.5"), "{said:?}");
    let invoked = ada
        .does(&[
            "invoke",
            "--name",
            "order_query",
            "--params",
            r#"{"order_id":"A-17","date_range":{"start":"2026-11-01"}}"#,
        ])
        .await;
    assert_eq!(invoked["result"]["amount"], 12.5);
    ada.does(&["invoke", "--name", "slow_report_service"]).await;
    gateway.shows("tools and policies", "ready").await;
}
