//! Cases of sessions.

use std::time::Duration;

use contract::{
    Digest, MemoryKey, TurnId,
    records::{
        ALLOWED_MAX, Change, ITEMS_MAX, Retained, Retention, SESSIONS_MAX, Session, SessionChange, SessionQuery,
        Stores, Visit,
    },
};

use crate::{ground::Ground, make::*};

/// Another turn of the same person at the same place.
fn next(visit: &Visit) -> Visit {
    Visit { turn: TurnId::new(), ..visit.clone() }
}

async fn say(stores: &Stores, visit: &Visit, n: usize) -> Session {
    stores.sessions.remember(&remembered(visit, n)).await.unwrap();
    current(stores, visit).await
}

async fn current(stores: &Stores, visit: &Visit) -> Session {
    stores.sessions.current(visit).await.unwrap().unwrap()
}

async fn asked(stores: &Stores, session: &Session) -> Vec<String> {
    let items = stores.sessions.items(session, None, usize::MAX).await.unwrap();
    items.into_iter().map(|item| item.asked).collect()
}

fn of_place(visit: &Visit) -> SessionQuery {
    SessionQuery { place: Some(visit.place.clone()), ..SessionQuery::default() }
}

pub async fn a_session_gives_its_newest_items_oldest_first(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    assert_eq!(stores.sessions.current(&visit).await.unwrap(), None);
    for n in 0..5 {
        say(&stores, &next(&visit), n).await;
    }
    let session = current(&stores, &next(&visit)).await;
    assert_eq!((session.turns, session.title.as_str()), (5, "question 0"));
    let items = stores.sessions.items(&session, None, 3).await.unwrap();
    assert_eq!(items.iter().map(|item| &*item.asked).collect::<Vec<_>>(), ["question 2", "question 3", "question 4"]);
    assert!(stores.sessions.items(&session, None, 0).await.unwrap().is_empty());
    assert_eq!(stores.sessions.current(&visit_of("other", "7")).await.unwrap(), None);
}

pub async fn items_behind_a_turn_are_given_alone(ground: Ground) {
    let stores = ground.open("a").await;
    let visits: Vec<_> = (0..5).map(|_| visit_of("chat", "7")).collect();
    for (n, visit) in visits.iter().enumerate() {
        say(&stores, visit, n).await;
    }
    let session = current(&stores, &visits[4]).await;
    let after = stores.sessions.items(&session, Some(visits[2].turn), 9).await.unwrap();
    assert_eq!(after.iter().map(|item| item.turn).collect::<Vec<_>>(), [visits[3].turn, visits[4].turn]);
    assert!(stores.sessions.items(&session, Some(visits[4].turn), 9).await.unwrap().is_empty());
}

pub async fn an_item_that_comes_twice_is_kept_once(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    say(&stores, &visit, 1).await;
    let session = say(&stores, &visit, 1).await;
    assert_eq!((session.turns, asked(&stores, &session).await), (1, vec!["question 1".to_owned()]));
}

pub async fn a_session_keeps_two_hundred_items(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    for n in 0..205 {
        stores.sessions.remember(&remembered(&next(&visit), n)).await.unwrap();
    }
    let session = current(&stores, &next(&visit)).await;
    let kept = asked(&stores, &session).await;
    assert_eq!((session.turns, kept.len(), kept[0].as_str()), (205, ITEMS_MAX, "question 5"));
}

pub async fn a_finish_lets_the_session_remember(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let visit = visit(&record);
    let what = remembered(&visit, 1);
    let item = Some(Box::new(what.clone()));
    let finish = Change::Finish { reply: contract::Reply::text("x"), deliveries: Vec::new(), item };
    for _ in 0..2 {
        change(&stores, fence, &record, std::slice::from_ref(&finish)).await;
    }
    let session = current(&stores, &visit).await;
    assert_eq!((session.turns, session.owner.clone()), (1, visit.person.clone()));
    assert_eq!(stores.sessions.items(&session, None, 9).await.unwrap(), [what.item]);
}

pub async fn a_place_and_a_person_in_it_have_memories_of_their_own(ground: Ground) {
    let stores = ground.open("a").await;
    let all = visit_of("chat", "7");
    let alone = |who| {
        let visit = visit_of("chat", who);
        Visit { place: MemoryKey::of(visit.place.lane(), Some(who)), ..visit }
    };
    let (one, two) = (alone("7"), alone("8"));
    for (n, visit) in [&all, &one, &two].into_iter().enumerate() {
        let session = say(&stores, visit, n).await;
        assert_eq!(asked(&stores, &session).await, [format!("question {n}")]);
    }
}

pub async fn a_new_session_is_current_from_its_turn_on(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    let first = say(&stores, &visit, 1).await;
    let new = next(&visit);
    let second = stores.sessions.begin(&new).await.unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(stores.sessions.begin(&new).await.unwrap().id, second.id, "the same turn run again");
    assert_eq!(current(&stores, &next(&visit)).await.id, second.id);
    assert_eq!(asked(&stores, &say(&stores, &next(&visit), 2).await).await, ["question 2"]);
    assert_eq!(asked(&stores, &first).await, ["question 1"]);
}

pub async fn a_turn_that_waited_long_finds_its_own_session(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    let (before, waited) = (next(&visit), next(&visit));
    let first = say(&stores, &before, 1).await;
    stores.sessions.begin(&next(&visit)).await.unwrap();
    let second = say(&stores, &next(&visit), 2).await;
    stores.sessions.begin(&next(&visit)).await.unwrap();
    assert_eq!(say(&stores, &waited, 3).await.id, first.id);
    assert_eq!(asked(&stores, &first).await, ["question 1", "question 3"]);
    assert_eq!(asked(&stores, &second).await, ["question 2"]);
    assert_eq!(current(&stores, &visit).await.id, first.id, "older than all that is known");
}

pub async fn a_session_is_resumed_by_its_owner_alone(ground: Ground) {
    let stores = ground.open("a").await;
    let (one, two) = (visit_of("chat", "7"), visit_of("chat", "8"));
    let first = say(&stores, &one, 1).await;
    stores.sessions.begin(&next(&two)).await.unwrap();
    let second = say(&stores, &next(&two), 2).await;
    let elsewhere = visit_of("other", "7");
    for (visit, id) in [(next(&two), first.id), (elsewhere, first.id), (next(&one), second.id)] {
        assert_eq!(stores.sessions.resume(&visit, id).await.unwrap(), None);
    }
    assert_eq!(current(&stores, &next(&one)).await.id, second.id);
    let back = next(&one);
    assert_eq!(stores.sessions.resume(&back, first.id).await.unwrap().map(|session| session.id), Some(first.id));
    assert_eq!(current(&stores, &next(&two)).await.id, first.id, "it is the conversation's again");
}

pub async fn a_session_in_which_nothing_was_said_leaves_the_list(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    for _ in 0..3 {
        stores.sessions.begin(&next(&visit)).await.unwrap();
    }
    assert_eq!(stores.sessions.list(&of_place(&visit)).await.unwrap().len(), 1);
}

pub async fn sessions_are_listed_by_their_last_use(ground: Ground) {
    let stores = ground.open("a").await;
    let (here, there) = (visit_of("chat", "7"), visit_of("other", "8"));
    let mut ids = Vec::new();
    for (n, visit) in [&here, &there, &here].into_iter().enumerate() {
        let visit = next(visit);
        stores.sessions.begin(&visit).await.unwrap();
        ids.push(say(&stores, &visit, n).await.id);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let back = next(&here);
    stores.sessions.resume(&back, ids[0]).await.unwrap();
    say(&stores, &back, 3).await;
    let list = async |query: SessionQuery| {
        let sessions = stores.sessions.list(&query).await.unwrap();
        sessions.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert_eq!(list(SessionQuery::default()).await, [ids[0], ids[2], ids[1]]);
    assert_eq!(list(of_place(&here)).await, [ids[0], ids[2]]);
    assert_eq!(list(SessionQuery { most: 1, ..SessionQuery::default() }).await, [ids[0]]);
    let theirs = SessionQuery { owner: Some(there.person.clone()), ..SessionQuery::default() };
    assert_eq!(list(theirs).await, [ids[1]]);
    let elsewhere = SessionQuery { platform: Some(contract::Platform::Slack), ..SessionQuery::default() };
    assert!(list(elsewhere).await.is_empty());
    assert_eq!(stores.sessions.get(ids[1]).await.unwrap().map(|session| session.title), Some("question 1".into()));
}

pub async fn a_place_keeps_a_hundred_sessions(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    let mut ids = Vec::new();
    for n in 0..SESSIONS_MAX + 3 {
        let visit = next(&visit);
        stores.sessions.begin(&visit).await.unwrap();
        ids.push(say(&stores, &visit, n).await.id);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let query = SessionQuery { most: usize::MAX, ..of_place(&visit) };
    let kept: Vec<_> = stores.sessions.list(&query).await.unwrap().into_iter().map(|session| session.id).collect();
    assert_eq!(kept.len(), SESSIONS_MAX);
    assert!(ids[..3].iter().all(|old| !kept.contains(old)), "the oldest went");
}

pub async fn changes_of_a_session_are_kept_with_it(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    let opened = stores.sessions.open(&visit).await.unwrap();
    assert_eq!(stores.sessions.open(&next(&visit)).await.unwrap(), opened);
    let change = async |change: SessionChange| assert!(stores.sessions.change(&opened, &change).await.unwrap());
    change(SessionChange::Mount(Some(vec!["orders".into(), "weather".into()]))).await;
    for n in 0..ALLOWED_MAX + 2 {
        change(SessionChange::Allow(Digest::of(n.to_string().as_bytes()))).await;
    }
    change(SessionChange::Allow(Digest::of(b"5"))).await;
    change(SessionChange::Summary { text: "so far".into(), to: visit.turn }).await;
    let session = say(&stores, &next(&visit), 1).await;
    assert_eq!(session.mounted, Some(vec!["orders".to_owned(), "weather".to_owned()]));
    assert_eq!((session.allowed.len(), session.allowed.last()), (ALLOWED_MAX, Some(&Digest::of(b"5"))));
    assert!(!session.allowed.contains(&Digest::of(b"1")), "the oldest went");
    assert_eq!((session.summary.as_deref(), session.summarised_to), (Some("so far"), Some(visit.turn)));
    change(SessionChange::Mount(None)).await;
    assert_eq!(current(&stores, &visit).await.mounted, None);
    let new = stores.sessions.begin(&next(&visit)).await.unwrap();
    assert_eq!((new.summary, new.mounted, new.allowed), (None, None, Vec::new()), "a new session has none of it");
}

pub async fn an_older_summary_changes_nothing(ground: Ground) {
    let stores = ground.open("a").await;
    let visits = [visit_of("chat", "7"), visit_of("chat", "7")];
    let session = stores.sessions.open(&visits[0]).await.unwrap();
    for (n, text) in [(1, "newer"), (0, "older"), (1, "again")] {
        let change = SessionChange::Summary { text: text.into(), to: visits[n].turn };
        assert!(stores.sessions.change(&session, &change).await.unwrap());
    }
    assert_eq!(current(&stores, &visits[1]).await.summary.as_deref(), Some("newer"));
}

pub async fn an_erased_session_begins_anew_in_its_place(ground: Ground) {
    let stores = ground.open("a").await;
    let visit = visit_of("chat", "7");
    say(&stores, &visit, 1).await;
    stores.sessions.begin(&next(&visit)).await.unwrap();
    let session = say(&stores, &next(&visit), 2).await;
    assert!(stores.sessions.erase(&session).await.unwrap());
    assert!(!stores.sessions.erase(&session).await.unwrap());
    let gone = stores.sessions.change(&session, &SessionChange::Mount(None)).await.unwrap();
    assert!(!gone, "there is nothing to change");
    assert_eq!(stores.sessions.current(&next(&visit)).await.unwrap(), None, "the one before does not come back");
    let anew = say(&stores, &next(&visit), 3).await;
    assert_eq!((anew.turns, asked(&stores, &anew).await), (1, vec!["question 3".to_owned()]));
}

pub async fn silent_sessions_go_by_their_tenant(ground: Ground) {
    let stores = ground.open("a").await;
    let (one, mut two) = (visit_of("chat", "7"), visit_of("other", "8"));
    two.tenant = "finance".into();
    let (one, two) = (say(&stores, &one, 1).await, say(&stores, &two, 2).await);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let keep = |keep| Retention(vec![Retained { platform: None, tenant: Some("finance".to_owned()), keep }]);
    assert_eq!(stores.sessions.retain(&keep(Duration::from_secs(60))).await.unwrap(), 0);
    assert_eq!(stores.sessions.retain(&keep(Duration::from_millis(5))).await.unwrap(), 1);
    assert!(stores.sessions.get(one.id).await.unwrap().is_some());
    assert_eq!(stores.sessions.get(two.id).await.unwrap(), None);
    let of = |platform| Retained { platform: Some(platform), tenant: None, keep: Duration::from_millis(5) };
    assert_eq!(stores.sessions.retain(&Retention(vec![of(contract::Platform::Slack)])).await.unwrap(), 0);
    assert_eq!(stores.sessions.retain(&Retention(vec![of(contract::Platform::Telegram)])).await.unwrap(), 1);
}
