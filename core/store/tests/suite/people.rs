//! Cases of what is kept of people, and of its erasure.

use contract::{
    CallId, Kind, Node, NodeKind, Place, SessionKey,
    records::{Erased, FACTS_MAX, Fact, Kept, Person, Record, Session, SessionChange, Stores, TurnQuery},
};

use crate::{ground::Ground, make::*};

fn person(who: &str) -> Person {
    visit_of("chat", who).person
}

async fn facts(stores: &Stores, person: &Person) -> Vec<(u32, String)> {
    let facts = stores.people.facts(person).await.unwrap();
    facts.into_iter().map(|Fact { n, text }| (n, text)).collect()
}

pub async fn facts_have_numbers_that_stay(ground: Ground) {
    let stores = ground.open("a").await;
    let (one, two) = (person("7"), person("8"));
    for (n, fact) in (1..).zip(["lives in Oslo", "{likes} \u{0} tea", "has a dog"]) {
        assert_eq!(stores.people.keep(&one, fact).await.unwrap(), Kept::As(n));
    }
    assert_eq!(stores.people.keep(&one, "has a dog").await.unwrap(), Kept::As(3), "it is known");
    assert!(!stores.people.drop_fact(&two, 2).await.unwrap());
    assert!(stores.people.drop_fact(&one, 2).await.unwrap());
    assert!(!stores.people.drop_fact(&one, 2).await.unwrap());
    assert_eq!(facts(&stores, &one).await, [(1, "lives in Oslo".to_owned()), (3, "has a dog".to_owned())]);
    assert_eq!(stores.people.keep(&one, "has a cat").await.unwrap(), Kept::As(2));
    assert!(facts(&stores, &two).await.is_empty());
}

pub async fn a_person_keeps_fifty_facts(ground: Ground) {
    let stores = ground.open("a").await;
    for n in 0..FACTS_MAX {
        stores.people.keep(&person("7"), &n.to_string()).await.unwrap();
    }
    assert_eq!(stores.people.keep(&person("7"), "one more").await.unwrap(), Kept::Full);
    assert_eq!(facts(&stores, &person("7")).await.len(), FACTS_MAX);
}

pub async fn facts_are_told_in_the_space_where_they_were_said(ground: Ground) {
    let stores = ground.open("a").await;
    let here = person("7");
    let there = Person { space: Some("guild".into()), ..here.clone() };
    stores.people.keep(&here, "a secret").await.unwrap();
    stores.people.keep(&there, "a public fact").await.unwrap();
    assert_eq!(facts(&stores, &there).await, [(2, "a public fact".to_owned())]);
    assert!(!stores.people.drop_fact(&there, 1).await.unwrap());
    assert_eq!(stores.people.forget(&here).await.unwrap().facts, 2, "in all spaces");
}

/// A turn of somebody, answered and traced.
async fn answered(stores: &Stores, chat: &str, who: &str, key: &str) -> Record {
    let mut record = record(chat, key);
    record.caller.sender.id = who.into();
    record.message.sender.id = who.into();
    let fence = accepted(stores, &record).await;
    change(stores, fence, &record, &[finish("x", Vec::new()), DONE]).await;
    stores.sessions.remember(&remembered(&visit(&record), 1)).await.unwrap();
    let mut root = Node::new(record.id, CallId(0), NodeKind::Turn, 1);
    let session = SessionKey::of(&address(chat));
    root.place = Some(Box::new(Place { caller: record.caller.clone(), session }));
    let mut line = line(record.id, chat, None);
    line.sender = who.into();
    write(stores, vec![root, node(record.id, 1, "echo", contract::State::Ok)], &[line]).await;
    record
}

pub async fn who_is_forgotten_leaves_nothing(ground: Ground) {
    let stores = ground.open("a").await;
    let mine = answered(&stores, "chat", "7", "a").await;
    let other = answered(&stores, "other", "8", "b").await;
    stores.people.keep(&person("7"), "lives in Oslo").await.unwrap();
    let mut open = record("chat", "open");
    open.message.kind = Kind::Text { text: "under way".into() };
    stores.turns.accept(&open).await.unwrap();
    let erased = stores.people.forget(&person("7")).await.unwrap();
    assert_eq!(erased, Erased { sessions: 1, items: 0, facts: 1, records: 1, trees: 1, open: 1, ..Erased::default() });
    assert_eq!(stores.sessions.current(&visit(&mine)).await.unwrap(), None);
    assert!(stores.trees.tree(mine.id).await.unwrap().is_empty());
    let left = get(&stores, &mine).await;
    assert_eq!((left.caller.sender.id.as_str(), left.message.sender.name.as_str(), left.reply), ("", "", None));
    assert_eq!(stores.trees.turns(&TurnQuery::default()).await.unwrap().len(), 1);
    assert_eq!(stores.trees.tree(other.id).await.unwrap().len(), 2, "others stay");
    assert_eq!(get(&stores, &other).await.caller.sender.id, "8");
    assert!(stores.sessions.current(&visit(&other)).await.unwrap().is_some());
    let again = stores.people.forget(&person("7")).await.unwrap();
    assert_eq!(again, Erased { open: 1, ..Erased::default() });
}

pub async fn who_is_forgotten_leaves_shared_sessions_to_the_others(ground: Ground) {
    let stores = ground.open("a").await;
    let mine = answered(&stores, "chat", "7", "a").await;
    let other = answered(&stores, "chat", "8", "b").await;
    let session = stores.sessions.current(&visit(&mine)).await.unwrap().unwrap();
    let summary = SessionChange::Summary { text: "7 lives in Oslo".into(), to: mine.id };
    stores.sessions.change(&session, &summary).await.unwrap();
    let erased = stores.people.forget(&person("7")).await.unwrap();
    assert_eq!((erased.sessions, erased.items), (0, 1));
    let session = stores.sessions.current(&visit(&other)).await.unwrap().unwrap();
    assert_eq!((session.summary, session.title.as_str(), session.owner.sender.as_str()), (None, "", ""));
    let session = stores.sessions.current(&visit(&other)).await.unwrap().unwrap();
    let items = stores.sessions.items(&session, None, 9).await.unwrap();
    assert_eq!(items.iter().map(|item| item.turn).collect::<Vec<_>>(), [other.id]);
}

/// A summary of what `session` held when it was read.
async fn note(stores: &Stores, session: &Session, to: &Record) -> bool {
    let summary = SessionChange::Summary { text: "7 lives in Oslo".into(), to: to.id };
    stores.sessions.change(session, &summary).await.unwrap()
}

pub async fn a_summary_of_what_was_forgotten_meanwhile_is_not_written(ground: Ground) {
    let stores = ground.open("a").await;
    let mine = answered(&stores, "chat", "7", "a").await;
    let other = answered(&stores, "chat", "8", "b").await;
    let third = answered(&stores, "chat", "9", "c").await;
    let now = async || stores.sessions.current(&visit(&other)).await.unwrap().unwrap();
    let never_noted = now().await;
    stores.people.forget(&person("7")).await.unwrap();
    assert!(note(&stores, &never_noted, &other).await, "the session is there");
    assert_eq!(now().await.summary, None);
    let forgotten = now().await;
    assert_eq!(stores.sessions.items(&forgotten, forgotten.summarised_to, 9).await.unwrap().len(), 2);
    stores.people.forget(&person("9")).await.unwrap();
    assert!(note(&stores, &forgotten, &third).await);
    assert_eq!(now().await.summary, None, "also when it was forgotten in twice");
    assert!(note(&stores, &now().await, &mine).await);
    assert!(now().await.summary.is_some(), "what is left is noted again");
}

pub async fn a_summary_of_an_erased_session_is_not_written_into_the_one_in_its_place(ground: Ground) {
    let stores = ground.open("a").await;
    let mine = answered(&stores, "chat", "7", "a").await;
    let erased = stores.sessions.current(&visit(&mine)).await.unwrap().unwrap();
    stores.people.forget(&person("7")).await.unwrap();
    assert!(!note(&stores, &erased, &mine).await, "it is gone");
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let other = answered(&stores, "chat", "8", "b").await;
    note(&stores, &erased, &mine).await;
    assert_eq!(stores.sessions.current(&visit(&other)).await.unwrap().unwrap().summary, None);
}
