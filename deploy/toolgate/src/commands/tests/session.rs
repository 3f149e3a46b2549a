//! Sessions, as the running gateway tells them.

use super::*;
use crate::cli::{SessionFilter, Whom};

#[tokio::test]
async fn sessions_are_listed_shown_and_forgotten() {
    let folder = Folder::new();
    let line = json!({ "id": "01KBA7Q3ZJ8M4W0N5RX2VCT007", "key": "telegram/=main/-/=7/-", "platform": "telegram",
                       "account": "main", "owner": "7", "tenant": "default", "title": "where is\u{1b}[2J order A-17?",
                       "began_ms": 0, "used_ms": 60_000, "turns": 3, "summary": null, "tools": ["orders"], "allowed": 0 });
    let remote = answering("/v1/sessions", 200, json!({ "sessions": [line] })).await;
    let said = sessions(&folder.config(), &SessionFilter::default(), &remote).await;
    assert!(
        said.text.contains("1970-01-01 00:01 UTC") && said.text.contains("where is [2J order A-17?"),
        "{}",
        said.text
    );

    let mut one = line.clone();
    one["items"] = json!([{ "turn": "x", "sender": "7", "asked": "where?", "answered": "here",
                            "calls": [{ "tool": "order_query", "failed": true }] }]);
    let remote = answering("/v1/sessions/telegram%2F%3Dmain%2F-%2F%3D7%2F-", 200, one).await;
    let said = session(&folder.config(), "telegram/=main/-/=7/-", &remote).await;
    assert!(said.text.contains("tools    orders") && said.text.contains("order_query (failed)"), "{}", said.text);
    assert!(said.text.contains("7: where?") && said.text.contains("→ here"), "{}", said.text);
    assert_eq!(reset(&folder.config(), "nothing", &remote).await.exit, Exit::Failed);
}

#[tokio::test]
async fn what_was_erased_of_a_person_is_said() {
    let folder = Folder::new();
    let erased = json!({ "sessions": 2, "items": 1, "facts": 3, "records": 4, "trees": 5, "approvals": 6, "open": 1, "pairing": true });
    let remote = answering("/v1/forget", 200, erased).await;
    let whom = Whom { platform: Platform::Telegram, account: "main".into(), sender: "7".into() };
    let said = forget(&folder.config(), &whom, &remote).await;
    expect![[r#"
        erased of telegram:main/7:
          2 sessions, whole
          1 turns out of sessions that others share, with the notes on those
          3 facts that were kept
          4 records of answered turns: of each the key of its message stays for a day
          5 call trees
          6 approvals that they asked for or answered: what was decided stays for a day
          that they had been let in
        1 turns are under way and were left alone: run it again when they have ended
    "#]]
    .assert_eq(&(said.text + "\n"));
}
