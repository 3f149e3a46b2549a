//! Cases of turns: acceptance, ownership, changes.

use contract::{
    Call, CallPath, Fence, Kind, Reply, TurnId,
    records::{Admitted, Change, ChangeError, DeliveryState, End, LANE_MAX, ModelStep, Parked, Record, TurnState},
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{ground::Ground, make::*};

pub async fn what_was_accepted_is_found_as_it_was(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    assert_eq!(stores.turns.accept(&record).await.unwrap(), Admitted::New { ahead: 0 });
    assert_eq!(get(&stores, &record).await, record);
    assert_eq!(stores.turns.get(TurnId::new()).await.unwrap(), None);
    stores.close().await;
}

pub async fn the_same_event_makes_one_turn_however_many_bring_it(ground: Ground) {
    let stores = ground.open("a").await;
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let turns = stores.turns.clone();
        tasks.spawn(async move {
            let record = record("chat", "same");
            (record.id, turns.accept(&record).await.unwrap())
        });
    }
    let answers = tasks.join_all().await;
    let new: Vec<_> = answers.iter().filter(|(_, admitted)| *admitted == Admitted::New { ahead: 0 }).collect();
    let [(id, _)] = new[..] else { panic!("one is new: {answers:?}") };
    for (own, admitted) in &answers {
        assert!(own == id || *admitted == Admitted::Known { id: *id }, "{admitted:?}");
    }
    assert_eq!(unfinished(&stores, &record("chat", "same")).await, [*id]);
}

pub async fn an_acceptance_whose_answer_was_lost_may_be_repeated(ground: Ground) {
    let stores = ground.open("a").await;
    let (first, second) = (record("chat", "1"), record("chat", "2"));
    for _ in 0..2 {
        assert_eq!(stores.turns.accept(&first).await.unwrap(), Admitted::New { ahead: 0 });
        assert_eq!(stores.turns.accept(&second).await.unwrap(), Admitted::New { ahead: 1 });
    }
    assert_eq!(unfinished(&stores, &first).await, [first.id, second.id]);
}

pub async fn keys_of_other_accounts_are_other_keys(ground: Ground) {
    let stores = ground.open("a").await;
    let mine = record("chat", "k");
    let mut other = record("chat", "k");
    other.message.address.account = "second".into();
    assert_eq!(stores.turns.accept(&mine).await.unwrap(), Admitted::New { ahead: 0 });
    assert!(matches!(stores.turns.accept(&other).await.unwrap(), Admitted::New { .. }));
}

pub async fn a_lane_keeps_its_order_and_is_full_at_its_limit(ground: Ground) {
    let stores = ground.open("a").await;
    let records: Vec<_> = (0..LANE_MAX).map(|n| record("chat", &n.to_string())).collect();
    for (ahead, record) in records.iter().enumerate() {
        assert_eq!(stores.turns.accept(record).await.unwrap(), Admitted::New { ahead });
    }
    let beyond = record("chat", "beyond");
    for _ in 0..2 {
        assert_eq!(stores.turns.accept(&beyond).await.unwrap(), Admitted::Full);
    }
    let again = record("chat", "beyond");
    assert_eq!(stores.turns.accept(&again).await.unwrap(), Admitted::Known { id: beyond.id });
    let stored = get(&stores, &beyond).await;
    assert_eq!((stored.state, stored.deliveries.len()), (TurnState::Done, 0));
    assert!(matches!(stores.turns.accept(&record("other", "first")).await.unwrap(), Admitted::New { ahead: 0 }));
    assert_eq!(unfinished(&stores, &beyond).await, records.iter().map(|r| r.id).collect::<Vec<_>>());
}

pub async fn a_lane_holds_as_many_as_the_operator_says(ground: Ground) {
    let stores = ground.open_with(store::Options { lane: 2, ..store::Options::default() }).await;
    for ahead in 0..2 {
        assert_eq!(stores.turns.accept(&record("chat", &ahead.to_string())).await.unwrap(), Admitted::New { ahead });
    }
    assert_eq!(stores.turns.accept(&record("chat", "beyond")).await.unwrap(), Admitted::Full);
}

pub async fn a_finish_takes_the_turn_out_of_its_lane(ground: Ground) {
    let stores = ground.open("a").await;
    let (first, second) = (record("chat", "1"), record("chat", "2"));
    let fence = accepted(&stores, &first).await;
    stores.turns.accept(&second).await.unwrap();
    let ready = delivery(0, DeliveryState::Ready { part: 0, due_ms: 5 });
    change(&stores, fence, &first, &[finish("done", vec![ready.clone()])]).await;
    let stored = get(&stores, &first).await;
    assert_eq!(stored.state, TurnState::Answered);
    assert_eq!((stored.reply, stored.deliveries), (Some(Reply::text("done")), vec![ready]));
    let third = record("chat", "3");
    assert_eq!(stores.turns.accept(&third).await.unwrap(), Admitted::New { ahead: 1 });
    let mut open = unfinished(&stores, &first).await;
    assert_eq!(open.iter().position(|id| *id == second.id).map(|at| open[at + 1]), Some(third.id));
    open.retain(|id| *id != second.id && *id != third.id);
    assert_eq!(open, [first.id], "what is answered is still to be delivered");
}

pub async fn another_owner_raises_the_fence_and_the_old_one_has_lost(ground: Ground) {
    let (old, new) = (ground.open("a").await, ground.open("b").await);
    let record = record("chat", "k");
    let before = accepted(&old, &record).await;
    assert_eq!(fence(&old, &record).await, before, "a renewal changes nothing");
    assert!(new.turns.hold().await.unwrap().is_empty(), "somebody else holds them");
    old.turns.let_go().await.unwrap();
    let after = fence(&new, &record).await;
    assert!(after > before);
    let late = old.turns.change(before, record.id, &record.session, &[Change::Life]).await;
    assert!(matches!(late, Err(ChangeError::Lost)), "{late:?}");
    assert_eq!(get(&new, &record).await.lives, 0);
    change(&new, after, &record, &[Change::Life]).await;
    assert_eq!(get(&old, &record).await.lives, 1);
    assert!(old.turns.hold().await.unwrap().is_empty());
}

pub async fn a_change_of_a_turn_that_is_not_there_is_refused(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = fence(&stores, &record).await;
    let made = stores.turns.change(fence, record.id, &record.session, &[finish("x", Vec::new())]).await;
    assert!(matches!(made, Err(ChangeError::Lost)), "{made:?}");
    assert_eq!(stores.turns.get(record.id).await.unwrap(), None);
}

pub async fn lives_are_counted_once_per_owner(ground: Ground) {
    let record = record("chat", "k");
    let first = ground.open("a").await;
    let fence = accepted(&first, &record).await;
    change(&first, fence, &record, &[Change::Life]).await;
    change(&first, fence, &record, &[Change::Life]).await;
    assert_eq!(get(&first, &record).await.lives, 1);
    first.turns.let_go().await.unwrap();
    let second = ground.open("b").await;
    let fence = self::fence(&second, &record).await;
    change(&second, fence, &record, &[Change::Life]).await;
    let stored = get(&second, &record).await;
    assert_eq!((stored.lives, stored.state), (2, TurnState::Running));
}

pub async fn the_journal_keeps_starts_and_ends(ground: Ground) {
    let stores = ground.open("a").await;
    let mut record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let paths: Vec<_> = (1..=11).map(|n| CallPath::top(1, n)).chain([CallPath::top(1, 2).child(1)]).collect();
    let calls = vec![call(paths[0].clone(), json!({"big": u64::MAX, "null": null, "list": [[], {}]}))];
    let plan =
        ModelStep { said: "I look".into(), calls, carried: Some(json!({"signature": "abc"})), ..ModelStep::default() };
    // A call that has steps of its own.
    let below = planned(vec![call(CallPath::top(1, 11).child(1).child(2), json!([]))]);
    let changes = [
        Change::Planned(plan.clone()),
        Change::Planned(plan),
        Change::Planned(below),
        Change::Started(paths.iter().cloned().map(entry).collect()),
        Change::Ended { path: paths[0].clone(), end: End::Ok(json!({"n": i64::MIN, "text": "\u{0}"})) },
        Change::Ended { path: CallPath::top(9, 9), end: End::Ok(json!(null)) },
    ];
    change(&stores, fence, &record, &changes).await;
    changes[1..].iter().for_each(|change| record.apply(change));
    record.journal.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(get(&stores, &record).await, record, "and a plan that was written twice is one");
}

pub async fn a_parked_turn_leaves_its_lane_and_comes_back_to_the_front(ground: Ground) {
    let stores = ground.open("a").await;
    let (first, second) = (record("chat", "1"), record("chat", "2"));
    let fence = accepted(&stores, &first).await;
    stores.turns.accept(&second).await.unwrap();
    let parked = Parked { wait: "approval".into(), until_ms: 9_999_999_999_999 };
    change(&stores, fence, &first, &[Change::Park(parked.clone())]).await;
    let stored = get(&stores, &first).await;
    assert_eq!((stored.state, stored.parked), (TurnState::Parked, Some(parked)));
    assert_eq!(stores.turns.accept(&record("chat", "3")).await.unwrap(), Admitted::New { ahead: 1 });
    assert_eq!(unfinished(&stores, &first).await.len(), 3);
    for _ in 0..2 {
        change(&stores, fence, &first, &[Change::Unpark]).await;
    }
    let stored = get(&stores, &first).await;
    assert_eq!((stored.state, stored.parked), (TurnState::Queued, None));
    assert_eq!(unfinished(&stores, &first).await[..2], [first.id, second.id]);
}

pub async fn a_merged_turn_leaves_its_lane_and_is_not_forgotten(ground: Ground) {
    let stores = ground.open("a").await;
    let (first, second) = (record("chat", "1"), record("chat", "2"));
    let fence = accepted(&stores, &first).await;
    stores.turns.accept(&second).await.unwrap();
    change(&stores, fence, &second, &[Change::Merge(first.id)]).await;
    assert_eq!(get(&stores, &second).await.state, TurnState::Merged(first.id));
    assert_eq!(stores.turns.accept(&record("chat", "3")).await.unwrap(), Admitted::New { ahead: 1 });
    assert_eq!(unfinished(&stores, &first).await.len(), 3);
}

pub async fn deliveries_are_replaced_by_number(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let mut own = delivery(2, DeliveryState::Drafting);
    own.reply = Some(Reply::text("its own"));
    own.draft = Some(own.receipts[0].clone());
    change(&stores, fence, &record, &[Change::Delivery(own.clone())]).await;
    let sending = delivery(0, DeliveryState::Sending { part: 3 });
    change(&stores, fence, &record, &[finish("x", vec![sending.clone()]), Change::Delivery(own.clone())]).await;
    assert_eq!(get(&stores, &record).await.deliveries, [sending, own.clone()]);
    own.reply = None;
    own.state = DeliveryState::Failed(contract::Code::DeliveryRefused);
    change(&stores, fence, &record, &[Change::Delivery(own.clone())]).await;
    assert_eq!(get(&stores, &record).await.deliveries[1], own);
}

pub async fn when_all_is_delivered_bodies_go_and_receipts_stay(ground: Ground) {
    let stores = ground.open("a").await;
    for (keep_message, keep_reply) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut record = record("chat", &format!("{keep_message} {keep_reply}"));
        let fence = accepted(&stores, &record).await;
        let mut own = delivery(1, DeliveryState::Done);
        own.reply = Some(Reply::text("its own"));
        let changes = [
            Change::Planned(planned(vec![call(CallPath::top(1, 1), json!({}))])),
            Change::Started(vec![entry(CallPath::top(1, 1))]),
            Change::Ended { path: CallPath::top(1, 1), end: End::Ok(json!(1)) },
            finish("x", vec![delivery(0, DeliveryState::Done), own]),
            Change::Done { keep_message, keep_reply },
        ];
        for _ in 0..2 {
            change(&stores, fence, &record, &changes).await;
        }
        changes.iter().for_each(|change| record.apply(change));
        assert_eq!(get(&stores, &record).await, record);
        assert!(unfinished(&stores, &record).await.is_empty());
        let again = Record { id: TurnId::new(), ..record.clone() };
        assert_eq!(stores.turns.accept(&again).await.unwrap(), Admitted::Known { id: record.id });
    }
}

pub async fn a_wish_to_stop_reaches_turns_that_are_not_answered(ground: Ground) {
    let (owner, other) = (ground.open("a").await, ground.open("b").await);
    let record = record("chat", "k");
    let fence = accepted(&owner, &record).await;
    assert!(other.turns.cancel(record.id).await.unwrap());
    assert!(get(&owner, &record).await.cancelled);
    change(&owner, fence, &record, &[finish("stopped", Vec::new())]).await;
    assert!(!other.turns.cancel(record.id).await.unwrap());
    assert!(!other.turns.cancel(TurnId::new()).await.unwrap());
}

pub async fn all_changes_are_made_or_none(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let changes = [Change::Life, Change::Cancel, finish("x", Vec::new()), DONE];
    let made = stores.turns.change(Fence(fence.0 - 1), record.id, &record.session, &changes).await;
    assert!(matches!(made, Err(ChangeError::Lost)));
    assert_eq!(get(&stores, &record).await, record);
}

pub async fn hostile_text_survives(ground: Ground) {
    let stores = ground.open("a").await;
    let long = "\u{1F468}\u{200D}\u{1F469}\u{202e}".repeat(50_000);
    for (n, text) in ["\u{0}", "{}{p1}'\"\\\r\n--", "\u{10ffff}\u{feff}e\u{301}", "", &long].into_iter().enumerate() {
        let mut record = record(text, text);
        record.message.kind = Kind::Edit { text: text.into() };
        record.caller.tenant = text.into();
        let fence = accepted(&stores, &record).await;
        let finish = Change::Finish {
            reply: Reply::text(text),
            deliveries: Vec::new(),
            item: Some(Box::new(remembered(&visit(&record), n))),
        };
        change(&stores, fence, &record, std::slice::from_ref(&finish)).await;
        record.apply(&finish);
        assert_eq!(get(&stores, &record).await, record);
        stores.cursors.save(text, text.as_bytes()).await.unwrap();
        assert_eq!(stores.cursors.load(text).await.unwrap().unwrap(), text.as_bytes());
        let session = stores.sessions.current(&visit(&record)).await.unwrap().unwrap();
        assert_eq!((&*session.tenant, session.turns), (text, 1));
        assert_eq!(stores.sessions.items(&session, None, 9).await.unwrap()[0].asked, format!("question {n}"));
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(sides)).unwrap()
    }

    fn change(&mut self, step: u32) -> Change {
        let path = CallPath::top(self.roll(3) + 1, self.roll(2) + 1);
        let state = DeliveryState::Sending { part: self.roll(9) };
        match self.roll(8) {
            0 => Change::Planned(planned(vec![call(CallPath::top(step, 1), json!([step]))])),
            1 => Change::Started(vec![entry(path.clone()), entry(path.child(1))]),
            2 => Change::Ended { path, end: End::Ok(json!({ "step": step })) },
            3 => Change::Cancel,
            4 => Change::Park(Parked { wait: "job".into(), until_ms: u64::from(step) }),
            5 => Change::Unpark,
            6 => Change::Merge(TurnId(ulid::Ulid::from_parts(step.into(), 0))),
            _ => Change::Delivery(delivery(self.roll(3), state)),
        }
    }
}

pub async fn changes_in_any_order_mean_what_the_contract_says(ground: Ground) {
    let stores = ground.open("a").await;
    for walk in 0..24 {
        let mut dice = Dice(walk);
        let mut record = record("chat", &walk.to_string());
        let fence = accepted(&stores, &record).await;
        let mut changes: Vec<_> = (1..=16).map(|step| dice.change(step)).collect();
        let last = [finish("x", vec![delivery(0, DeliveryState::Done), delivery(7, DeliveryState::Done)]), DONE];
        changes.extend(last);
        for changes in changes.chunks(3) {
            change(&stores, fence, &record, changes).await;
            changes.iter().for_each(|change| record.apply(change));
            record.journal.sort_by(|a, b| a.path.cmp(&b.path));
            record.deliveries.sort_by_key(|delivery| delivery.n);
            if record.state == TurnState::Done {
                // Nothing waits any more; what it waited for is a body too.
                record.parked = None;
            }
            assert_eq!(get(&stores, &record).await, record, "walk {walk}: {changes:?}");
        }
        assert!(unfinished(&stores, &record).await.is_empty(), "walk {walk}");
    }
}

pub async fn what_is_past_its_time_is_swept(ground: Ground) {
    let mut options = store::Options { owner: "a".into(), ..store::Options::default() };
    options.keep.done = std::time::Duration::from_secs(1);
    options.keep.traces = std::time::Duration::from_secs(1);
    let stores = ground.open_with(options).await;
    let (old, open) = (record("chat", "old"), record("chat", "open"));
    let fence = accepted(&stores, &old).await;
    stores.turns.accept(&open).await.unwrap();
    change(&stores, fence, &old, &[finish("x", Vec::new()), DONE]).await;
    write(&stores, vec![node(old.id, 1, "t", contract::State::Ok)], &[line(old.id, "chat", None)]).await;
    for _ in 0..200 {
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        stores.turns.sweep().await.unwrap();
        if stores.turns.get(old.id).await.unwrap().is_none() && stores.trees.tree(old.id).await.unwrap().is_empty() {
            break;
        }
    }
    assert_eq!(stores.turns.get(old.id).await.unwrap(), None);
    assert!(stores.trees.tree(old.id).await.unwrap().is_empty());
    assert!(stores.trees.turns(&Default::default()).await.unwrap().is_empty());
    assert_eq!(get(&stores, &open).await, open);
    assert!(matches!(stores.turns.accept(&record("chat", "old")).await.unwrap(), Admitted::New { .. }));
}

fn planned(calls: Vec<Call>) -> ModelStep {
    ModelStep { calls, ..ModelStep::default() }
}
