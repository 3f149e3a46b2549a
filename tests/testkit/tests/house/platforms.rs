//! What the platforms' pages tell people to set up is what the adapters ask for and listen to.

use serde_json::Value;

use crate::{examples::fences, root};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The Slack manifests of the page: two whole ones and what the assistant view adds.
fn manifests() -> Vec<Value> {
    let page = read("docs/SLACK.md");
    let blocks = fences("docs/SLACK.md", &page).into_iter().filter(|example| example.info == "yaml slack");
    blocks
        .map(|example| {
            let document = policies::tree::documents(&example.text).remove(0);
            document.root.unwrap_or_else(|fault| panic!("{}: {}", example.place, fault.message)).value()
        })
        .collect()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_whole(manifest: &Value) -> bool {
    manifest["display_information"].is_object()
}

#[test]
fn slacks_manifests_ask_for_the_scopes_that_are_checked() {
    let source = read("adapters/slack/src/inspect.rs");
    let (_, list) = source.split_once("const SCOPES").expect("the list of scopes");
    let (list, _) = list.split_once("];").expect("its end");
    let checked: Vec<_> = list.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next()).collect();
    let whole: Vec<_> = manifests().into_iter().filter(is_whole).collect();
    assert_eq!(whole.len(), 2);
    for manifest in whole {
        assert_eq!(texts(&manifest["oauth_config"]["scopes"]["bot"]), checked);
    }
    let page = read("docs/SLACK.md");
    for scope in checked {
        assert!(page.contains(&format!("| `{scope}` |")), "docs/SLACK.md does not say what '{scope}' is for");
    }
}

#[test]
fn slacks_manifests_subscribe_to_what_is_heard() {
    let sources = read("adapters/slack/src/inbound.rs") + &read("adapters/slack/src/intake.rs");
    for manifest in manifests() {
        for event in texts(&manifest["settings"]["event_subscriptions"]["bot_events"]) {
            let kind = event.split('.').next().unwrap_or_default();
            assert!(sources.contains(&format!("\"{kind}\"")), "'{event}' is heard by nobody");
        }
    }
}

#[test]
fn slacks_addresses_are_routes() {
    let routes = read("adapters/slack/src/hooks.rs");
    let mut seen = 0;
    for manifest in manifests() {
        let settings = &manifest["settings"];
        let commands = manifest["features"]["slash_commands"].as_array().into_iter().flatten();
        let named = [&settings["event_subscriptions"]["request_url"], &settings["interactivity"]["request_url"]];
        for url in named.into_iter().chain(commands.map(|command| &command["url"])).filter_map(Value::as_str) {
            let (_, rest) = url.split_once("/hooks/slack/main").expect("it leads to the account's hooks");
            assert!(routes.contains(&format!(".route(\"{rest}\"")), "{url}");
            seen += 1;
        }
    }
    assert_eq!(seen, 3);
}

#[test]
fn discords_invitation_asks_for_the_permissions_that_are_checked() {
    let source = read("adapters/discord/src/inspect.rs");
    let (_, sum) = source.split_once("const PERMISSIONS: u64 = ").expect("the permissions");
    let bits: Vec<u32> = sum
        .split(';')
        .next()
        .unwrap_or_default()
        .split('|')
        .map(|bit| bit.trim().strip_prefix("1 << ").expect("a bit").parse().expect("a number"))
        .collect();
    let number = bits.iter().fold(0_u64, |sum, bit| sum | 1 << bit);
    let page = read("docs/DISCORD.md");
    let invite = format!("&scope=bot+applications.commands&permissions={number}\n");
    assert!(page.contains(&invite), "the invitation is not {number}");
    let said = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1)?.parse::<u32>().ok());
    let (mut said, mut bits) = (said.collect::<Vec<_>>(), bits);
    said.sort_unstable();
    bits.sort_unstable();
    assert_eq!(said, bits, "the table of permissions");
}
