//! `policy show` and `policy explain`.

use super::*;

#[test]
fn an_explanation_names_layer_rule_file_and_line() {
    let folder = Folder::new();
    folder.check(
        &policy::explained(&folder.config(), "weather", &on_telegram("8")),
        expect![[r#"
            LAYER         SAYS     RULE                                         WHERE
            published     allowed  the tool is published                        (built in)
            platform      refused  only: tool:weather does not name the caller  platform-policies/telegram.yaml:4
            tenant        allowed  no rule for tenant 'default'                 (built in)
            conversation  allowed  no rule for this conversation                (built in)
            session       allowed  everything is mounted                        (built in)
            sender        allowed  no rule for this sender                      (built in)
            approval      allowed  no approval is asked                         (built in)
            availability  allowed  the tool is available                        (built in)

            weather is refused for '8' on telegram, tenant default
            their messages are heard: in groups when addressed, directly always
            as the files here say, not a running gateway
        "#]],
    );
    let said = policy::explained(&folder.config(), "weather", &on_telegram("7"));
    assert_eq!(said.json["allowed"], true);
    folder.check(
        &policy::explained(&folder.config(), "wether", &on_telegram("7")),
        expect![[r#"
            LAYER      SAYS     RULE                   WHERE
            published  refused  no tool has this name  (built in)

            wether is refused for '7' on telegram, tenant default
            their messages are heard: in groups when addressed, directly always
            did you mean 'weather'?
            as the files here say, not a running gateway
        "#]],
    );
}

#[test]
fn rules_are_shown_with_their_places() {
    let folder = Folder::new();
    folder.check(
        &policy::listed(&folder.config(), Some(Platform::Telegram)),
        expect![[r#"
            LAYER     RULE                        WHERE
            platform  toolsets.allow: weather     platform-policies/telegram.yaml:2
            platform  only: tool:weather for ops  platform-policies/telegram.yaml:4

            as the files here say, not a running gateway
        "#]],
    );
}

#[tokio::test]
async fn the_running_gateway_says_which_rule_refuses_unless_a_configuration_is_named() {
    let body = json!({ "tool": "order_refund", "allowed": false, "platform": "telegram", "tenant": "default", "nearest": null,
        "layers": [
            { "layer": "published", "allowed": true, "rule": "the tool is published", "file": "(built in)", "line": 0 },
            { "layer": "platform", "allowed": false, "rule": "toolsets.deny: tool:order_refund", "file": "telegram.yaml", "line": 6 },
        ] });
    let remote = answering("/v1/policies/explain", 200, body).await;
    let folder = Folder::new();
    let asked = explain(&folder.config(), "order_refund", &on_telegram("7"), &remote, Whose::Running).await;
    folder.check(
        &asked,
        expect![[r#"
        LAYER      SAYS     RULE                              WHERE
        published  allowed  the tool is published             (built in)
        platform   refused  toolsets.deny: tool:order_refund  telegram.yaml:6

        order_refund is refused for '7' on telegram, tenant default
        as the running gateway has it
    "#]],
    );
    assert_eq!(asked.json["from"], "gateway");
    assert!(Whose::of(true, &remote) == Whose::Running && Whose::of(false, &remote) == Whose::Running);
    let nobody = crate::cli::Remote { gateway: None, token: None };
    assert!(Whose::of(true, &nobody) == Whose::Files && Whose::of(false, &nobody) == Whose::Running);
    let said = explain(&folder.config(), "weather", &on_telegram("7"), &nobody, Whose::Files).await;
    assert_eq!((&said.json["from"], &said.json["allowed"]), (&json!("files"), &json!(true)));
}
