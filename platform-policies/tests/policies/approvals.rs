//! Which calls people are asked about, and which people.

use contract::{
    CallPath, Caller, Digest, SessionKey, TurnId,
    records::{Approval, ApprovalId, ApprovalState, By, Decider, Exact, Extent},
};
use policies::{Compiled, Deliver, Permit, permit};
use serde_json::{Value, json};

use crate::{caller, compile};

const RULES: &str = r#"
# discord.yaml
platform: discord
toolsets: { allow: [orders, messaging] }
names: { ops: "role:998" }
permissions: { approve: [money] }
approve: { order_query: { when: "amount > 100", by: requester }, send_message: { by: requester } }
approvers: { users: [ops, "id:7", "slack:T0FIN/id:U12"], deliver: [conversation, private, "slack:main/C0OPS"] }
approval: { expires: 10m }
# tenants.yaml
names: { chiefs: ["discord:role:998", "slack:T0FIN/id:U12"] }
tenant_rules:
  strict: { approvers: { users: [chiefs], deliver: [private] }, approval: { expires: 1h, two: true } }
  closed: { approvers: { users: [] } }
  careful: { approve: { order_query: {} } }
"#;

fn permitted(policies: &Compiled, who: &str, tool: &str) -> Permit {
    permit(policies, policies, &caller(who), tool, None).expect("it is permitted")
}

fn asked(who: &str, tool: &str, args: Value) -> Option<By> {
    permitted(&compile(RULES), who, tool).need(&args).map(|need| need.by)
}

#[test]
fn a_label_a_tool_and_a_condition_ask() {
    assert_eq!(asked("discord", "order_refund", json!({})), Some(By::Approver));
    assert_eq!(asked("discord", "send_message", json!({})), Some(By::Requester));
    assert_eq!(asked("discord", "order_query", json!({"amount": 100})), None);
    assert_eq!(asked("discord", "order_query", json!({"amount": 100.5})), Some(By::Requester));
    assert_eq!(asked("discord", "order_query", json!({})), Some(By::Requester), "what is missing asks");
}

#[test]
fn of_several_rules_the_one_that_asks_most_counts() {
    assert_eq!(asked("discord tenant:careful", "order_query", json!({"amount": 101})), Some(By::Approver));
    assert_eq!(asked("discord tenant:careful", "order_query", json!({"amount": 1})), Some(By::Approver));
}

#[test]
fn approvers_are_those_whom_every_layer_names() {
    let policies = compile(RULES);
    let may = |requester: &str, who: &str| policies.approvers(&caller(requester)).include(&caller(who));
    for (who, in_general, strictly) in [
        ("discord id:1 role:998", true, true),
        ("discord id:7", true, false),
        ("slack id:7", false, false),
        ("discord id:8", false, false),
        ("slack space:T0FIN id:U12", true, true),
        ("slack space:T0HR id:U12", false, false),
    ] {
        assert_eq!(may("discord", who), in_general, "{who}");
        assert_eq!(may("discord tenant:strict", who), strictly, "{who}");
        assert!(!may("discord tenant:closed", who) && !may("slack", who), "{who}");
    }
    let none = |who: &str| policies.approvers(&caller(who)).are_none();
    assert!(none("discord tenant:closed") && none("slack") && !none("discord") && !none("discord tenant:strict"));
    let people = |who: &str| {
        let who = caller(who);
        policies.approvers(&who).people().iter().map(|(on, _, id)| format!("{on} {id}")).collect::<Vec<_>>()
    };
    assert_eq!(people("discord"), ["discord 7", "slack U12"]);
    assert_eq!(people("discord tenant:strict"), ["discord 7", "slack U12"]);
}

#[test]
fn the_least_time_counts_two_when_any_says_so_and_the_narrowest_place() {
    let policies = compile(RULES);
    let how = policies.asks_how(&caller("discord"));
    assert_eq!((how.expires.as_secs(), how.two, how.deliver.len()), (600, false, 3));
    let Deliver::To(to) = &how.deliver[2] else { panic!("{:?}", how.deliver) };
    assert_eq!(to.written(), "slack:main/C0OPS");
    let strict = policies.asks_how(&caller("discord tenant:strict"));
    assert_eq!((strict.expires.as_secs(), strict.two, strict.deliver), (600, true, vec![Deliver::Private]));
    let silent = policies.asks_how(&caller("slack"));
    assert_eq!((silent.expires.as_secs(), silent.two, silent.deliver), (1_800, false, vec![Deliver::Conversation]));
}

fn yes(tool: &str, spec: Digest, args: &Value, who: Caller, state: ApprovalState) -> Approval {
    let session = SessionKey::from_text("s");
    let (turn, path) = (TurnId::new(), CallPath::top(1, 1));
    Approval {
        id: ApprovalId::of(&session, turn, &path),
        turn,
        path,
        tool: tool.into(),
        spec,
        args: Digest::of_json(args),
        session,
        caller: who,
        asked_ms: 0,
        until_ms: 0,
        by: By::Approver,
        need: 1,
        shown: String::new(),
        whole: String::new(),
        why: String::new(),
        rule: String::new(),
        cards: Vec::new(),
        state,
    }
}

#[test]
fn a_permit_covers_what_people_said_yes_to_and_nothing_else() {
    let policies = compile(RULES);
    let (spec, other, args) = (Digest::of(b"spec"), Digest::of(b"other"), json!({"id": 1}));
    let by = Decider {
        platform: contract::Platform::Discord,
        account: "a".into(),
        id: "1".into(),
        name: "".into(),
        at_ms: 0,
    };
    let allowed = ApprovalState::Allowed { by: vec![by], extent: Extent::Once };
    let covers = |tool: &str, state: ApprovalState, spec_now, args_now: &Value| {
        let approval = yes(tool, spec, &args, caller("discord"), state);
        permitted(&policies, "discord", "order_refund").approved(&approval).covers(spec_now, args_now)
    };
    assert!(covers("order_refund", allowed.clone(), spec, &args));
    assert!(!covers("order_refund", allowed.clone(), other, &args));
    assert!(!covers("order_refund", allowed.clone(), spec, &json!({"id": 2})));
    assert!(!covers("send_message", allowed, spec, &args));
    assert!(!covers("order_refund", ApprovalState::default(), spec, &args));
    assert!(!covers("order_refund", ApprovalState::Expired { at_ms: 0 }, spec, &args));
    let (session, who) = (SessionKey::from_text("s"), caller("discord"));
    let exact = |tool| Exact {
        tool,
        spec,
        args: Digest::of_json(&args),
        session: &session,
        caller: &who,
        by: By::Approver,
        need: 1,
    };
    assert!(permitted(&policies, "discord", "order_refund").allowed_before(&exact("order_refund")).covers(spec, &args));
    assert!(!permitted(&policies, "discord", "order_refund").allowed_before(&exact("other")).covers(spec, &args));
    assert!(permitted(&policies, "discord", "order_query").covers(spec, &json!({"amount": 5})));
}
