//! What is told of calls that wait for people.

use serde_json::json;

use super::*;

#[tokio::test]
async fn an_approval_is_shown_whole_and_without_whom_it_forgot() {
    let folder = Folder::new();
    let long = "x".repeat(2_000);
    let one = json!({
        "id": "1v5zk3m9q2d8h7c", "turn": TURN, "path": "1.1", "tool": "order_refund", "state": "refused", "by": "approver",
        "rule": "approve: money", "platform": "telegram", "account": "main", "sender": "", "name": "", "asked_ms": 1_000,
        "until_ms": 2_000, "args": format!("to: \"bob\"\ntext: \"{long}\""), "why": "too much", "said_by_model": "Bob asked.",
        "decided_by": [{ "platform": "slack", "sender": "U1", "name": "eve", "at_ms": 1_500 },
                       { "platform": "slack", "sender": "", "name": "", "at_ms": 1_600 }],
    });
    let remote = answering("/v1/approvals/1v5zk3m9q2d8h7c", 200, one).await;
    let said = approval(&folder.config(), "1v5zk3m9q2d8h7c", &remote).await;
    expect![[r#"
        1v5zk3m9q2d8h7c  order_refund  refused
        asked by somebody who was forgotten since at 00:00:01 UTC, until 00:00:02 UTC
        turn TURN, call 1.1, by approver
        rule: approve: money
        decided by: eve (slack:U1) at 00:00:01 UTC, somebody who was forgotten since, at 00:00:01 UTC
        why: too much
        a model says: Bob asked.

        to: "bob"
        text: "LONG"
    "#]]
    .assert_eq(&(said.text.replace(&long, "LONG").replace(TURN, "TURN") + "\n"));
}

#[tokio::test]
async fn a_turn_that_waits_is_listed_as_that() {
    let folder = Folder::new();
    let body = json!({ "traces": [{ "turn": TURN, "state": "parked", "platform": "telegram", "sender": "7",
        "asked": "refund A-17", "calls": 0, "started_us": 0, "duration_us": 1_000_000 }] });
    let remote = answering("/v1/traces", 200, body).await;
    let said = turns(&folder.config(), &everything(), &remote).await;
    assert!(said.text.lines().nth(1).is_some_and(|line| line.trim_end().ends_with("waits")), "{}", said.text);
}
