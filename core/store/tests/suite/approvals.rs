//! Cases of approvals.

use contract::{
    CallPath, Digest, Platform,
    records::{
        Approval, ApprovalId, ApprovalState, By, Card, Change, ChangeError, Decider, Extent, Parked, Person, Record,
        Settled, TurnState,
    },
};

use crate::{ground::Ground, make::*};

fn approval(record: &Record, call: u32, until_ms: u64) -> Approval {
    let path = CallPath::top(1, call);
    Approval {
        id: ApprovalId::of(&record.session, record.id, &path),
        turn: record.id,
        path,
        tool: "order_refund".into(),
        spec: Digest::of(b"spec"),
        args: Digest::of(b"args"),
        session: record.session.clone(),
        caller: record.caller.clone(),
        asked_ms: 1,
        until_ms,
        by: By::Approver,
        need: 2,
        shown: "order_id: \u{0} \"A-17\"".into(),
        whole: String::new(),
        why: String::new(),
        rule: "permissions.approve: money".into(),
        cards: vec![Card { n: 7, to: address("ops") }],
        state: ApprovalState::default(),
    }
}

fn decider(name: &str) -> Decider {
    Decider { platform: Platform::Slack, account: "main".into(), id: name.into(), name: name.into(), at_ms: 5 }
}

fn allowed(name: &str) -> ApprovalState {
    ApprovalState::Allowed { by: vec![decider(name)], extent: Extent::Session }
}

fn parked(approval: &Approval) -> Change {
    Change::Park(Parked { wait: approval.id.to_string(), until_ms: approval.until_ms })
}

pub async fn an_approval_is_asked_once_and_found_as_it_was(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let asked = approval(&record, 1, 9_000);
    assert_eq!(stores.approvals.approval(asked.id).await.unwrap(), None);
    change(&stores, fence, &record, &[Change::Ask(vec![asked.clone()]), parked(&asked)]).await;
    assert_eq!(stores.approvals.approval(asked.id).await.unwrap().as_ref(), Some(&asked));
    let refused = ApprovalState::Refused { by: decider("bob"), why: "too much".into() };
    stores.approvals.settle(&asked, &refused).await.unwrap();
    // A turn that is run again asks again.
    change(&stores, fence, &record, &[Change::Ask(vec![asked.clone()])]).await;
    assert_eq!(stores.approvals.approval(asked.id).await.unwrap().unwrap().state, refused);
}

pub async fn the_first_answer_wins(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let asked = approval(&record, 1, 9_000);
    change(&stores, fence, &record, &[Change::Ask(vec![asked.clone()])]).await;
    let half = ApprovalState::Asked { yes: vec![decider("bob")] };
    assert_eq!(stores.approvals.settle(&asked, &half).await.unwrap(), Settled::Made { woke: false });
    assert_eq!(stores.approvals.settle(&asked, &allowed("eve")).await.unwrap(), Settled::Late);
    let asked = stores.approvals.approval(asked.id).await.unwrap().unwrap();
    assert_eq!(asked.state, half);
    for _ in 0..2 {
        // Sent twice, since its answer was lost.
        assert_eq!(stores.approvals.settle(&asked, &allowed("ada")).await.unwrap(), Settled::Made { woke: true });
    }
    assert_eq!(stores.approvals.settle(&asked, &allowed("eve")).await.unwrap(), Settled::Late);
    assert_eq!(stores.approvals.approval(asked.id).await.unwrap().unwrap().state, allowed("ada"));
}

pub async fn an_answer_puts_a_parked_turn_at_the_front_of_its_lane(ground: Ground) {
    let stores = ground.open("a").await;
    let (first, second) = (record("chat", "1"), record("chat", "2"));
    let fence = accepted(&stores, &first).await;
    stores.turns.accept(&second).await.unwrap();
    let asked = [approval(&first, 1, 9_000), approval(&first, 2, 9_000)];
    change(&stores, fence, &first, &[Change::Life, Change::Ask(asked.to_vec())]).await;
    // It runs: there is nothing to be woken.
    assert_eq!(stores.approvals.settle(&asked[0], &allowed("ada")).await.unwrap(), Settled::Made { woke: false });
    change(&stores, fence, &first, &[parked(&asked[1])]).await;
    assert_eq!(unfinished(&stores, &first).await, [second.id, first.id]);
    let expired = ApprovalState::Expired { at_ms: 9_000 };
    assert_eq!(stores.approvals.settle(&asked[1], &expired).await.unwrap(), Settled::Made { woke: true });
    assert_eq!(unfinished(&stores, &first).await, [first.id, second.id]);
    let woken = get(&stores, &first).await;
    assert_eq!((woken.state, woken.parked), (TurnState::Queued, None));
}

pub async fn a_call_starts_by_what_is_allowed_or_not_at_all(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let asked = [approval(&record, 1, 9_000), approval(&record, 2, 9_000)];
    change(&stores, fence, &record, &[Change::Ask(asked.to_vec())]).await;
    stores.approvals.settle(&asked[0], &allowed("ada")).await.unwrap();
    let start = |calls: &[u32]| {
        let entries = calls.iter().map(|call| entry(CallPath::top(1, *call))).collect();
        let used = calls.iter().map(|call| Change::Use(asked[*call as usize - 1].id));
        std::iter::once(Change::Started(entries)).chain(used).collect::<Vec<_>>()
    };
    let both = stores.turns.change(fence, record.id, &record.session, &start(&[1, 2])).await;
    assert!(matches!(both, Err(ChangeError::NotAllowed)), "{both:?}");
    assert!(get(&stores, &record).await.journal.is_empty());
    assert_eq!(stores.approvals.approval(asked[0].id).await.unwrap().unwrap().state, allowed("ada"));
    for _ in 0..2 {
        change(&stores, fence, &record, &start(&[1])).await;
        let used = stores.approvals.approval(asked[0].id).await.unwrap().unwrap().state;
        assert_eq!(used, ApprovalState::Used { by: vec![decider("ada")], extent: Extent::Session });
    }
    assert_eq!(get(&stores, &record).await.journal.len(), 1);
    let unknown = Change::Use(ApprovalId::of(&record.session, record.id, &CallPath::top(9, 9)));
    let made = stores.turns.change(fence, record.id, &record.session, &[unknown]).await;
    assert!(matches!(made, Err(ChangeError::NotAllowed)), "{made:?}");
}

pub async fn what_waits_for_an_answer_is_listed_by_when_it_expires(ground: Ground) {
    let stores = ground.open("a").await;
    let mut asked = Vec::new();
    for n in 0..4u32 {
        let record = record(&format!("chat {n}"), &n.to_string());
        let fence = accepted(&stores, &record).await;
        let approval = approval(&record, 1, 9_000 - u64::from(n));
        change(&stores, fence, &record, &[Change::Ask(vec![approval.clone()])]).await;
        asked.insert(0, approval);
    }
    stores.approvals.settle(&asked[1], &allowed("ada")).await.unwrap();
    let open = stores.approvals.open_approvals(2).await.unwrap();
    assert_eq!(open, [asked[0].clone(), asked[2].clone()]);
    assert_eq!(stores.approvals.open_approvals(9).await.unwrap().len(), 3);
    assert!(stores.approvals.open_approvals(0).await.unwrap().is_empty());
}

pub async fn one_that_cannot_be_read_is_settled_once_and_wakes_its_turn(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let asked = approval(&record, 1, 9_000);
    // As a version would leave it that knows another state between.
    change(&stores, fence, &record, &[Change::Ask(vec![asked.clone()])]).await;
    let half = ApprovalState::Asked { yes: vec![decider("bob")] };
    stores.approvals.settle(&asked, &half).await.unwrap();
    change(&stores, fence, &record, &[parked(&asked)]).await;
    let gone = ApprovalState::Withdrawn { why: "unreadable".into(), at_ms: 7 };
    let settle = async |to: &ApprovalState| {
        stores.approvals.settle_unread(asked.id, record.id, &record.session, to).await.unwrap()
    };
    for _ in 0..2 {
        assert_eq!(settle(&gone).await, Settled::Made { woke: true });
    }
    assert_eq!(settle(&ApprovalState::Expired { at_ms: 8 }).await, Settled::Late);
    assert_eq!(stores.approvals.approval(asked.id).await.unwrap().unwrap().state, gone);
    assert!(stores.approvals.open_approvals(9).await.unwrap().is_empty());
    assert_eq!(get(&stores, &record).await.state, TurnState::Queued);
}

pub async fn who_is_forgotten_leaves_only_what_was_decided(ground: Ground) {
    let stores = ground.open("a").await;
    let (mut mine, mut other) = (record("chat", "1"), record("chat 2", "2"));
    mine.caller.sender.id = "7".into();
    other.caller.sender.id = "8".into();
    let person = |record: &Record| Person::of(&record.caller);
    let mut asked = Vec::new();
    for record in [&mine, &other] {
        let fence = accepted(&stores, record).await;
        let approval = Approval { whole: "all of it".into(), ..approval(record, 1, 9_000) };
        change(&stores, fence, record, &[Change::Ask(vec![approval.clone()])]).await;
        // The one who is forgotten refused what the other asked for.
        let by = Decider {
            platform: mine.caller.platform,
            account: mine.caller.account.clone(),
            ..decider(&mine.caller.sender.id)
        };
        let refused = ApprovalState::Refused { by, why: "they said so".into() };
        stores.approvals.settle(&approval, &refused).await.unwrap();
        asked.push(approval);
    }
    assert_eq!(stores.people.forget(&person(&mine)).await.unwrap().approvals, 0, "their turns are under way");
    for record in [&mine, &other] {
        let fence = accepted(&stores, record).await;
        change(&stores, fence, record, &[finish("x", Vec::new()), DONE]).await;
    }
    assert_eq!(stores.people.forget(&person(&mine)).await.unwrap().approvals, 2);
    assert_eq!(stores.people.forget(&person(&mine)).await.unwrap().approvals, 0);
    let own = stores.approvals.approval(asked[0].id).await.unwrap().unwrap();
    assert_eq!((own.shown.as_str(), own.whole.as_str(), own.caller.sender.name.as_str()), ("", "", ""));
    let theirs = stores.approvals.approval(asked[1].id).await.unwrap().unwrap();
    assert_eq!((theirs.whole.as_str(), theirs.caller.sender.id.as_str()), ("all of it", "8"));
    for approval in [own, theirs] {
        let ApprovalState::Refused { by, why } = approval.state else { panic!("{:?}", approval.state) };
        assert_eq!((by.id.as_str(), by.name.as_str(), why.as_str()), ("", "", ""));
    }
}
