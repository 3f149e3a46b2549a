use contract::Code;
use expect_test::expect;
use policies::{Policies, Source, ToolFacts, permit};

use crate::{caller, lines, tool};

fn compiled(files: &[(&str, &str)], tools: &[ToolFacts]) -> policies::Compiled {
    let sources: Vec<_> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
    let loaded = Policies::parse(&sources).unwrap_or_else(|errors| panic!("{}", lines(&errors)));
    let (compiled, warnings) = loaded.policies.compile(tools).unwrap_or_else(|errors| panic!("{}", lines(&errors)));
    assert_eq!(lines(&loaded.warnings) + &lines(&warnings), "");
    compiled
}

#[test]
fn the_shipped_files_are_valid_with_no_tool_at_all() {
    compiled(policies::shipped(), &[]);
}

#[test]
fn every_file_of_the_folder_is_shipped() {
    let mut found: Vec<_> = std::fs::read_dir(env!("CARGO_MANIFEST_DIR"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    found.sort();
    assert_eq!(found, policies::shipped().iter().map(|(name, _)| *name).collect::<Vec<_>>());
    Policies::load(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
}

#[test]
fn the_shipped_files_keep_files_and_shells_out_of_chats() {
    let policies = compiled(
        policies::shipped(),
        &[tool("note default write_files"), tool("run default shell"), tool("say default")],
    );
    for platform in ["discord", "telegram", "slack", "web", "api"] {
        let who = caller(platform);
        assert!(permit(&policies, &policies, &who, "note", None).is_err());
        assert!(permit(&policies, &policies, &who, "run", None).is_err());
        assert!(permit(&policies, &policies, &who, "say", None).is_ok());
    }
    assert!(permit(&policies, &policies, &caller("console"), "run", None).is_ok());
}

#[test]
fn the_demo_refunds_in_the_terminal_and_not_in_telegram() {
    let tools = [
        "weather_query weather read",
        "order_query orders read",
        "order_refund orders money",
        "order_cancel orders delete",
        "search_web research network",
        "mail_inbox mail read",
        "hang lab",
        "send_message messaging write",
    ]
    .map(tool);
    let policies = compiled(policies::demo(), &tools);
    assert_eq!(policies.view(&caller("console")).len(), 8);
    assert_eq!(policies.view(&caller("telegram")).len(), 7);
    let refusal = permit(&policies, &policies, &caller("telegram"), "order_refund", None).unwrap_err();
    assert_eq!((refusal.file.as_str(), refusal.rule.as_str()), ("telegram.yaml", "tools.deny: order_refund"));
    assert_eq!(refusal.to_failure("order_refund", &[]).code, Code::ToolUnknown);
}

#[test]
fn rules_can_be_listed_as_written() {
    let sources: Vec<_> = policies::demo().iter().map(|(name, text)| Source::new(*name, *text)).collect();
    let rules = Policies::parse(&sources).unwrap().policies.rules(Some(contract::Platform::Telegram));
    let rules: Vec<_> = rules.iter().map(|rule| format!("{rule}\n")).collect();
    expect![[r#"
        platform layer, toolsets.allow: default, telegram.yaml:3
        platform layer, toolsets.allow: weather, telegram.yaml:3
        platform layer, toolsets.allow: orders, telegram.yaml:3
        platform layer, toolsets.allow: research, telegram.yaml:3
        platform layer, toolsets.allow: mail, telegram.yaml:3
        platform layer, toolsets.allow: lab, telegram.yaml:3
        platform layer, toolsets.allow: messaging, telegram.yaml:3
        platform layer, tools.deny: order_refund, telegram.yaml:4
        platform layer, permissions.approve: delete, telegram.yaml:5
    "#]]
    .assert_eq(&rules.concat());
}
