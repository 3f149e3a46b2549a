//! Two places at once: whose schedules a place takes, and what a call may that both have to allow.

use policies::{Permit, permit};
use serde_json::json;

use crate::{caller, compile};

const RULES: &str = r#"
# telegram.yaml
platform: telegram
toolsets: { allow: [orders, messaging] }
# slack.yaml
platform: slack
toolsets: { allow: [orders] }
approve: { order_refund: {} }
schedules: { from: ["telegram:id:1", "discord:role:998"] }
conversations:
  "channel:C1": { schedules: { from: ["telegram:id:1", "telegram:id:2"] } }
  "channel:C2": { schedules: { from: [] } }
# discord.yaml
platform: discord
toolsets: { allow: [orders] }
"#;

#[test]
fn a_place_takes_schedules_of_those_whom_each_of_its_layers_names() {
    let policies = compile(RULES);
    let takes = |there: &str, owner: &str| policies.takes_schedules_of(&caller(there), &caller(owner));
    assert!(takes("slack", "telegram id:1") && takes("slack", "discord id:9 role:998"));
    assert!(!takes("slack", "telegram id:2") && !takes("slack", "slack id:1") && !takes("slack", "discord id:1"));
    assert!(takes("slack channel:C1", "telegram id:1"));
    assert!(!takes("slack channel:C1", "telegram id:2"), "the platform does not name them");
    assert!(!takes("slack channel:C1", "discord id:9 role:998"), "the channel does not name them");
    assert!(!takes("slack channel:C2", "telegram id:1"), "an empty list is nobody");
    assert!(!takes("discord", "telegram id:1"), "where nothing is said, nobody");
}

fn permitted(who: &str, tool: &str) -> Permit {
    let policies = compile(RULES);
    permit(&policies, &policies, &caller(who), tool, None).expect("it is permitted")
}

#[test]
fn what_two_places_allow_is_what_both_do_and_what_either_asks_is_asked() {
    let alone = permitted("telegram", "order_refund");
    assert!(alone.need(&json!({})).is_none() && alone.rights().allows("send_message"));
    for both in [
        permitted("telegram", "order_refund").and(permitted("slack", "order_refund")),
        permitted("slack", "order_refund").and(permitted("telegram", "order_refund")),
    ] {
        assert!(both.need(&json!({})).is_some(), "Slack asks");
        assert!(both.rights().allows("order_refund") && !both.rights().allows("send_message"), "Slack has no messages");
    }
    let of_another = permitted("telegram", "order_refund").and(permitted("slack", "order_query"));
    assert_eq!(of_another.rights().iter().count(), 0, "a permit for another tool gives nothing");
}
