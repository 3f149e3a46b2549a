use contract::{
    Failure,
    Platform::{Discord, Slack},
};
use expect_test::{Expect, expect};
use policies::{Permit, Policies, Refusal, RefusalKind, Rights, permit, permit_in};

use crate::{caller, compile, sources, tool, tools, view};

/// Files, a caller, a tool: the decision and what every layer that speaks from a file says.
#[track_caller]
fn check(text: &str, who: &str, tool: &str, expect: Expect) {
    let policies = compile(text);
    let who = caller(who);
    let mut out = decision(&permit(&policies, &policies, &who, tool, None));
    for verdict in policies.explain(&who, tool) {
        let is_quiet = verdict.allowed && verdict.line == 0;
        if !is_quiet {
            out.push_str(&format!("{verdict}\n"));
        }
    }
    expect.assert_eq(&out);
}

fn decision(result: &Result<Permit, Refusal>) -> String {
    match result {
        Ok(permit) => match permit.need(&serde_json::json!({})) {
            Some(need) => format!("asks the {} for {}\n", need.by.as_str(), permit.tool()),
            None => format!("permitted {}\n", permit.tool()),
        },
        Err(refusal) => format!("{:?}: {refusal}\n", refusal.kind),
    }
}

const DISCORD: &str = r#"
# discord.yaml
platform: discord
toolsets: { allow: [orders, weather, messaging], deny: [shell] }
tools: { deny: [order_refund] }
names: { ops: "role:998", interns: "role:999", finance: ["channel:C1", "channel:C2"] }
permissions: { deny: [write_files, shell], approve: [money, delete] }
approve: { order_query: { when: "amount > 100", by: approver } }
only: { "tool:send_message": [ops] }
approvers: { users: [ops, "slack:T0FIN/id:U12"], deliver: [conversation, private, "slack:main/C0OPS"] }
senders: { interns: { permissions: { deny: [read] } } }
conversations: { finance: { toolsets: { deny: [messaging] } } }
limits: { calls_per_turn: 32, concurrent_calls: 8, call_depth: 4, turn_timeout: 300s, result_chars: 24000, messages_per_reply: 5 }
gating: { groups: mention, direct: everyone }
replies: { detail: plain, reference: true, private_errors: true, mentions: [users], locale: auto }
# tenants.yaml
tenant_rules:
  finance: { match: [{ platform: slack, space: T0FIN }, { platform: discord, space: G1 }], tools: { deny: [weather_query] } }
"#;

#[test]
fn a_listed_tool_is_permitted_and_the_list_is_named() {
    check(
        DISCORD,
        "discord",
        "weather_query",
        expect![[r#"
        permitted weather_query
        platform     allowed  toolsets.allow: weather  discord.yaml:3
    "#]],
    );
}

#[test]
fn a_denied_tool_is_refused_by_its_rule() {
    check(
        DISCORD,
        "discord",
        "order_refund",
        expect![[r#"
            Denied: platform layer, tools.deny: order_refund, discord.yaml:4
            platform     refused  tools.deny: order_refund  discord.yaml:4
            approval     asks     permissions.approve: money by an approver  discord.yaml:6
        "#]],
    );
}

#[test]
fn what_is_not_listed_is_denied() {
    check(
        DISCORD,
        "discord",
        "draft",
        expect![[r#"
        Denied: platform layer, 'allow' lists neither tool 'draft' nor toolset 'default', discord.yaml:3
        platform     refused  'allow' lists neither tool 'draft' nor toolset 'default'  discord.yaml:3
    "#]],
    );
}

#[test]
fn a_name_that_no_tool_has_is_unknown() {
    check(
        DISCORD,
        "discord",
        "wether_query",
        expect![[r#"
        Unknown: published layer, no tool has this name, (built in)
        published    refused  no tool has this name  (built in)
    "#]],
    );
}

#[test]
fn a_call_that_needs_an_approval_is_permitted_once_people_said_yes() {
    check(
        DISCORD,
        "discord",
        "order_query",
        expect![[r#"
            asks the approver for order_query
            platform     allowed  toolsets.allow: orders  discord.yaml:3
            approval     asks     approve: order_query when amount > 100 by an approver  discord.yaml:7
        "#]],
    );
}

#[test]
fn a_tool_that_is_kept_for_some_is_refused_to_others() {
    check(
        DISCORD,
        "discord",
        "send_message",
        expect![[r#"
        Denied: platform layer, only: tool:send_message does not name the caller, discord.yaml:8
        platform     refused  only: tool:send_message does not name the caller  discord.yaml:8
    "#]],
    );
    check(
        DISCORD,
        "discord role:998",
        "send_message",
        expect![[r#"
        permitted send_message
        platform     allowed  toolsets.allow: messaging  discord.yaml:3
    "#]],
    );
}

#[test]
fn a_conversation_narrows_what_its_platform_allows() {
    check(
        DISCORD,
        "discord role:998 channel:C2",
        "send_message",
        expect![[r#"
        Denied: conversation layer, conversation 'finance': toolsets.deny: messaging, discord.yaml:11
        platform     allowed  toolsets.allow: messaging  discord.yaml:3
        conversation refused  conversation 'finance': toolsets.deny: messaging  discord.yaml:11
    "#]],
    );
}

#[test]
fn a_sender_is_narrowed_by_role() {
    check(
        DISCORD,
        "discord role:999",
        "weather_query",
        expect![[r#"
        Denied: sender layer, sender 'interns': permissions.deny: read, discord.yaml:10
        platform     allowed  toolsets.allow: weather  discord.yaml:3
        sender       refused  sender 'interns': permissions.deny: read  discord.yaml:10
    "#]],
    );
}

#[test]
fn a_tenant_narrows_what_its_platform_allows() {
    check(
        DISCORD,
        "discord tenant:finance",
        "weather_query",
        expect![[r#"
        Denied: tenant layer, tenant 'finance': tools.deny: weather_query, tenants.yaml:3
        platform     allowed  toolsets.allow: weather  discord.yaml:3
        tenant       refused  tenant 'finance': tools.deny: weather_query  tenants.yaml:3
    "#]],
    );
}

#[test]
fn a_tenant_is_found_by_its_place() {
    let policies = compile(DISCORD);
    assert_eq!(policies.tenant(Slack, Some("T0FIN"), "C9"), "finance");
    assert_eq!(policies.tenant(Discord, Some("G1"), "C9"), "finance");
    assert_eq!(policies.tenant(Slack, Some("T0ELSE"), "C9"), "default");
    assert_eq!(policies.tenant(Slack, None, "C9"), "default");
}

#[test]
fn a_narrower_allow_never_undoes_a_deny() {
    let text = r#"
# slack.yaml
platform: slack
toolsets: { allow: [weather], deny: [shell] }
senders: { "id:U0": { toolsets: { allow: [shell, orders, weather] } } }
conversations: { "channel:C0": { tools: { allow: [run, weather_query] } } }
"#;
    assert_eq!(view(&compile(text), "slack"), "weather_query");
    check(
        text,
        "slack",
        "run",
        expect![[r#"
        Denied: platform layer, toolsets.deny: shell, slack.yaml:3
        platform     refused  toolsets.deny: shell  slack.yaml:3
        conversation allowed  conversation 'channel:C0': tools.allow: run  slack.yaml:5
        sender       allowed  sender 'id:U0': toolsets.allow: shell  slack.yaml:4
    "#]],
    );
}

#[test]
fn a_deny_wins_over_an_allow_of_the_same_layer() {
    let text = "# slack.yaml\nplatform: slack\ntools: { allow: [run], deny: [run] }\n";
    assert_eq!(view(&compile(text), "slack"), "");
}

#[test]
fn lists_of_a_layer_unite_and_layers_intersect() {
    let text = r#"
# slack.yaml
platform: slack
toolsets: { allow: [weather, orders] }
tools: { allow: [run] }
conversations:
  "channel:C1": { tools: { allow: [run, weather_query] } }
  "channel:C2": { toolsets: { allow: [] } }
"#;
    let policies = compile(text);
    assert_eq!(view(&policies, "slack"), "order_query order_refund run weather_query");
    assert_eq!(view(&policies, "slack channel:C1"), "run weather_query");
    assert_eq!(view(&policies, "slack channel:C2"), "");
}

#[test]
fn every_matching_rule_applies_not_the_first() {
    let text = r#"
# slack.yaml
platform: slack
names: { team: ["id:U1", "id:U2"], lead: "id:U1" }
toolsets: { allow: [weather, orders, shell] }
senders:
  team: { tools: { deny: [run] } }
  lead: { tools: { deny: [weather_query] } }
  "role:R1": { tools: { deny: [order_refund] } }
"#;
    let policies = compile(text);
    assert_eq!(view(&policies, "slack id:U2"), "order_query order_refund weather_query");
    assert_eq!(view(&policies, "slack id:U1"), "order_query order_refund");
    assert_eq!(view(&policies, "slack id:U1 role:R1"), "order_query");
}

#[test]
fn people_of_one_conversation_are_narrowed_there_only() {
    let text = r#"
# slack.yaml
platform: slack
toolsets: { allow: [weather, shell] }
conversations: { "channel:C1": { senders: { "id:U1": { tools: { deny: [run] } } } } }
"#;
    let policies = compile(text);
    assert_eq!(view(&policies, "slack id:U1 channel:C1"), "weather_query");
    assert_eq!(view(&policies, "slack id:U1"), "run weather_query");
    assert_eq!(view(&policies, "slack id:U2 channel:C1"), "run weather_query");
}

#[test]
fn a_topic_can_be_named_apart_from_its_chat() {
    let text = r#"
# telegram.yaml
platform: telegram
toolsets: { allow: [weather, shell] }
conversations: { "channel:-1001/5": { tools: { deny: [run] } } }
"#;
    let policies = compile(text);
    assert_eq!(view(&policies, "telegram channel:-1001 thread:5"), "weather_query");
    assert_eq!(view(&policies, "telegram channel:-1001 thread:6"), "run weather_query");
    assert_eq!(view(&policies, "telegram channel:-1001"), "run weather_query");
}

#[test]
fn only_lists_intersect_and_an_empty_one_is_nobody() {
    let text = r#"
# slack.yaml
platform: slack
toolsets: { allow: [weather, orders] }
only: { "toolset:orders": ["id:U1", "id:U2"], "label:money": ["id:U2", "id:U3"], "tool:weather_query": [] }
"#;
    let policies = compile(text);
    assert_eq!(view(&policies, "slack id:U1"), "order_query");
    assert_eq!(view(&policies, "slack id:U2"), "order_query order_refund");
    assert_eq!(view(&policies, "slack id:U3"), "");
}

#[test]
fn identity_is_the_platforms_id_never_a_name() {
    let text = r#"
# slack.yaml
platform: slack
names: { ops: "id:U1" }
toolsets: { allow: [weather] }
only: { "tool:weather_query": [ops] }
"#;
    // Every caller of these tests is displayed as 'ops'.
    assert_eq!(view(&compile(text), "slack id:U2"), "");
    assert_eq!(view(&compile(text), "slack id:ops role:U1"), "");
}

#[test]
fn an_id_of_another_platform_or_workspace_is_somebody_else() {
    let text = r#"
# tenants.yaml
names: { boss: "slack:T1/id:U1" }
tenant_rules: { all: { only: { "toolset:weather": [boss, "telegram:id:7"] } } }
# slack.yaml
platform: slack
toolsets: { allow: [weather] }
# telegram.yaml
platform: telegram
toolsets: { allow: [weather] }
"#;
    let policies = compile(text);
    assert_eq!(view(&policies, "slack tenant:all space:T1 id:U1"), "weather_query");
    assert_eq!(view(&policies, "slack tenant:all space:T2 id:U1"), "");
    assert_eq!(view(&policies, "slack tenant:all id:7"), "");
    assert_eq!(view(&policies, "telegram tenant:all id:7"), "weather_query");
    assert_eq!(view(&policies, "telegram id:8"), "weather_query");
}

#[test]
fn a_platform_without_a_file_allows_nothing_but_the_console_does() {
    let text = "# tenants.yaml\ntenant_rules: { default: { permissions: { approve: [money], deny: [shell] } } }\n";
    let policies = compile(text);
    for platform in ["discord", "telegram", "slack", "web", "api", "mcp"] {
        assert_eq!(view(&policies, platform), "");
    }
    assert_eq!(view(&policies, "console"), "draft note order_query order_refund send_message weather_query");
    check(
        text,
        "console",
        "order_refund",
        expect![[r#"
            asks the approver for order_refund
            tenant       allowed  tenant 'default': does not narrow it  tenants.yaml:2
            approval     asks     tenant 'default': permissions.approve: money by an approver  tenants.yaml:2
            approval     refused  nobody is an approver: see 'approvers.users'  (built in)
        "#]],
    );
    check(
        text,
        "api",
        "draft",
        expect![[r#"
        Denied: platform layer, no file is for platform 'api', so nothing is allowed, (built in)
        platform     refused  no file is for platform 'api', so nothing is allowed  (built in)
        tenant       allowed  tenant 'default': does not narrow it  tenants.yaml:2
    "#]],
    );
}

#[test]
fn a_file_without_allow_allows_nothing() {
    check(
        "# console.yaml\nplatform: console\n",
        "console",
        "draft",
        expect![[r#"
        Denied: platform layer, nothing is allowed, console.yaml:2
        platform     refused  nothing is allowed  console.yaml:2
    "#]],
    );
}

#[test]
fn what_a_spec_says_of_itself_counts() {
    let mut tools = tools();
    tools[0].platforms = Some(vec![contract::Platform::Slack]);
    tools[1].published = false;
    tools[2].available = false;
    let text = "# web.yaml\nplatform: web\ntoolsets: { allow: [weather, orders, shell] }\n";
    let (policies, _) = Policies::parse(&sources(text)).unwrap().policies.compile(&tools).unwrap();
    assert_eq!(view(&policies, "web"), "run");
    let who = caller("web");
    let answers = ["weather_query", "order_query", "order_refund"]
        .map(|tool| decision(&permit(&policies, &policies, &who, tool, None)));
    expect![[r#"
        Denied: platform layer, the tool's own 'platforms' does not list web, (built in)
        Denied: published layer, the tool is not published, (built in)
        Unavailable: availability layer, the tool is not available at present, (built in)
    "#]]
    .assert_eq(&answers.concat());
    assert!(policies.set_available("order_refund", true));
    assert_eq!(view(&policies, "web"), "order_refund run");
    assert!(permit(&policies, &policies, &who, "order_refund", None).is_ok());
    assert!(!policies.set_available("nothing", true));
}

#[test]
fn denied_and_unknown_are_told_apart_by_operators_only() {
    let policies = compile(DISCORD);
    let who = caller("discord");
    let refusal = |tool| permit(&policies, &policies, &who, tool, None).unwrap_err();
    let said = |failure: &Failure| format!("{:?} {} {:?}", failure.code, failure.say, failure.hint);
    let denied = refusal("order_refund").to_failure("order_refund", &[]);
    let unknown = refusal("order_refunx").to_failure("order_refunx", &[]);
    assert_eq!(said(&denied), said(&unknown).replace("order_refunx", "order_refund"));
    assert_eq!(denied.for_model(false), Failure::unknown_tool("order_refund", &[]).for_model(false));
    assert_eq!(denied.true_code(), contract::Code::Denied);
    assert_eq!(unknown.true_code(), contract::Code::ToolUnknown);
    expect!["platform layer, tools.deny: order_refund, discord.yaml:4"].assert_eq(denied.cause.for_operator());
    let needs = permit(&policies, &policies, &who, "order_query", None).unwrap().need(&serde_json::json!({})).unwrap();
    assert_eq!(needs.unavailable("order_query").code, contract::Code::ApprovalUnavailable);
}

#[test]
fn a_child_has_no_right_that_its_parent_lacks() {
    let policies = compile("# web.yaml\nplatform: web\ntoolsets: { allow: [weather, orders] }\n");
    let wide = compile("# web.yaml\nplatform: web\ntoolsets: { allow: [weather, orders, shell] }\n");
    let who = caller("web");
    let parent = permit(&policies, &policies, &who, "weather_query", None).unwrap();
    assert!(permit(&policies, &policies, &who, "order_query", Some(parent.rights())).is_ok());
    // Taken up under other policies, or as another caller, the rights are still those of the parent.
    let refusal = permit(&wide, &wide, &who, "run", Some(parent.rights())).unwrap_err();
    expect!["parent layer, the parent call lacks this right, (built in)"].assert_eq(&refusal.to_string());
    let console = caller("console");
    let refusal = permit(&policies, &policies, &console, "run", Some(parent.rights())).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Denied);
    let grandchild = permit(&wide, &wide, &who, "order_query", Some(parent.rights())).unwrap();
    let held: Vec<_> = grandchild.rights().iter().collect();
    assert_eq!(held, ["order_query", "order_refund", "weather_query"]);
}

#[test]
fn a_session_uses_what_it_has_mounted() {
    let policies = compile("# web.yaml\nplatform: web\ntoolsets: { allow: [weather, orders] }\n");
    let (who, mounted) = (caller("web"), Rights::to(["weather_query", "run", "gone"]));
    let seen = policies.view_in(&who, Some(&mounted));
    assert_eq!(seen.iter().map(|ix| policies.name(ix)).collect::<Vec<_>>(), ["weather_query"]);
    let call = |tool| permit_in(&policies, &policies, &who, tool, Some(&mounted), None);
    assert!(call("weather_query").is_ok());
    assert_eq!(call("weather_query").unwrap().rights().iter().collect::<Vec<_>>(), ["weather_query"]);
    expect!["session layer, the session has not mounted it, (built in)"]
        .assert_eq(&call("order_query").unwrap_err().to_string());
}

#[test]
fn nothing_is_gained_in_the_middle_of_a_turn_and_anything_can_be_lost() {
    let narrow = compile("# web.yaml\nplatform: web\ntoolsets: { allow: [weather] }\n");
    let wide = compile("# web.yaml\nplatform: web\ntoolsets: { allow: [weather, orders] }\n");
    let asks = compile("# web.yaml\nplatform: web\ntoolsets: { allow: [weather] }\npermissions: { approve: [read] }\n");
    let text = "# web.yaml\nplatform: web\ntoolsets: { allow: [weather] }\n";
    let fewer = Policies::parse(&sources(text)).unwrap();
    let (gone, _) = fewer.policies.compile(&[tool("other weather")]).unwrap();
    let who = caller("web");
    let kind = |turn, now, tool| permit(turn, now, &who, tool, None).map(|_| ()).map_err(|refusal| refusal.kind);
    assert_eq!(kind(&narrow, &wide, "order_query"), Err(RefusalKind::Denied));
    assert_eq!(kind(&wide, &narrow, "order_query"), Err(RefusalKind::Denied));
    assert_eq!(kind(&wide, &narrow, "weather_query"), Ok(()));
    assert_eq!(kind(&wide, &gone, "weather_query"), Err(RefusalKind::Removed));
    assert_eq!(kind(&wide, &gone, "run"), Err(RefusalKind::Denied));
    let asked =
        |turn, now| permit(turn, now, &who, "weather_query", None).unwrap().need(&serde_json::json!({})).is_some();
    assert!(asked(&wide, &asks) && asked(&asks, &wide) && !asked(&wide, &wide));
    assert_eq!(kind(&gone, &wide, "weather_query"), Err(RefusalKind::Unknown));
    wide.set_available("weather_query", false);
    assert_eq!(kind(&narrow, &wide, "weather_query"), Err(RefusalKind::Unavailable));
}

#[test]
fn a_view_of_seventy_tools_is_what_the_rules_say() {
    let many: Vec<_> = (0..70).map(|n| tool(&format!("tool_{n:02} {}", ["default", "other"][n % 2]))).collect();
    let text = r#"
# web.yaml
platform: web
toolsets: { allow: [default] }
tools: { allow: [tool_69], deny: [tool_68] }
senders: { "id:U0": { tools: { deny: [tool_00] } } }
"#;
    let (policies, _) = Policies::parse(&sources(text)).unwrap().policies.compile(&many).unwrap();
    let who = caller("web");
    let seen = policies.view(&who);
    assert_eq!(seen.len(), 34);
    assert!(seen.iter().all(|ix| permit(&policies, &policies, &who, policies.name(ix), None).is_ok()));
    assert!(seen.contains(69) && !seen.contains(68) && !seen.contains(0));
}
