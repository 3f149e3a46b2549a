//! Pairings, as the running gateway tells them.

use super::*;
use crate::cli::Person;

#[tokio::test]
async fn who_asks_and_who_was_let_in_are_listed() {
    let folder = Folder::new();
    let asking = json!({ "code": "K7QM2XWZ", "platform": "telegram", "account": "main", "sender": "7", "name": "Eve",
                         "left_s": 3_541 });
    let person =
        json!({ "platform": "slack", "account": "work", "sender": "U1", "name": "Ada\u{1b}[2J", "since_ms": 1 });
    let remote = answering("/v1/pairings", 200, json!({ "waiting": [asking], "people": [person] })).await;
    let said = pairings(&folder.config(), &remote).await;
    expect![[r#"
        CODE      WHO ASKS         NAME  MINUTES LEFT
        K7QM2XWZ  telegram:main/7  Eve             60

        LET IN         NAME
        slack:work/U1  Ada [2J
    "#]]
    .assert_eq(&(said.text + "\n"));
}

#[tokio::test]
async fn a_person_is_let_in_by_code_and_out_by_name() {
    let folder = Folder::new();
    let person = json!({ "platform": "telegram", "account": "main", "sender": "7", "name": "Eve", "since_ms": 1 });
    let remote = answering("/v1/pairings/K7QM2XWZ/approve", 200, person).await;
    let said = approve(&folder.config(), "K7QM-2XWZ", &remote).await;
    assert_eq!((said.exit, said.text.as_str()), (Exit::Ok, "telegram:main/7 (Eve) is heard from now on"));
    assert_eq!(approve(&folder.config(), "--", &remote).await.exit, Exit::Usage);

    let problem = json!({ "detail": "no request that still holds has this code", "hint": "GET /v1/pairings" });
    let remote = answering("/v1/pairings/K7QM2XWZ/approve", 404, problem).await;
    let said = approve(&folder.config(), "K7QM 2-XWZ", &remote).await;
    assert!(said.text.contains("`toolgate pairing list`") && !said.text.contains("/v1/"), "{}", said.text);

    let remote = answering("/v1/pairings/slack/work/U%2F1", 200, json!(null)).await;
    let nobody = Person { platform: Platform::Slack, account: "work".into(), sender: "U/1".into() };
    assert_eq!(remove(&folder.config(), &nobody, &remote).await.exit, Exit::Ok);
    let problem = json!({ "detail": "this person was not let in there" });
    let remote = answering("/v1/pairings/slack/work/U%2F1", 404, problem).await;
    let said = remove(&folder.config(), &nobody, &remote).await;
    assert!(said.exit == Exit::Failed && said.text.contains("not let in"), "{}", said.text);
}
