//! Cases of sessions, cursors and leases.

use std::time::Duration;

use contract::{SessionKey, records::Change};

use crate::{ground::Ground, make::*};

fn session(chat: &str) -> SessionKey {
    SessionKey::of(&address(chat))
}

pub async fn a_session_gives_its_newest_items_oldest_first(ground: Ground) {
    let stores = ground.open("a").await;
    let items: Vec<_> = (0..5).map(item).collect();
    for item in &items {
        stores.sessions.remember(&session("chat"), item).await.unwrap();
    }
    assert_eq!(stores.sessions.items(&session("chat"), 3).await.unwrap(), items[2..]);
    assert!(stores.sessions.items(&session("other"), 3).await.unwrap().is_empty());
    assert!(stores.sessions.items(&session("chat"), 0).await.unwrap().is_empty());
    stores.sessions.reset(&session("chat")).await.unwrap();
    assert!(stores.sessions.items(&session("chat"), 3).await.unwrap().is_empty());
}

pub async fn an_item_that_comes_twice_is_kept_once(ground: Ground) {
    let stores = ground.open("a").await;
    let item = item(1);
    for _ in 0..2 {
        stores.sessions.remember(&session("chat"), &item).await.unwrap();
    }
    assert_eq!(stores.sessions.items(&session("chat"), 9).await.unwrap(), [item]);
}

pub async fn a_session_keeps_two_hundred_items(ground: Ground) {
    let stores = ground.open("a").await;
    for n in 0..205 {
        stores.sessions.remember(&session("chat"), &item(n)).await.unwrap();
    }
    let kept = stores.sessions.items(&session("chat"), usize::MAX).await.unwrap();
    assert_eq!((kept.len(), kept[0].asked.as_str()), (200, "question 5"));
}

pub async fn a_finish_lets_the_session_remember(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let item = item(1);
    let finish = Change::Finish { reply: contract::Reply::text("x"), deliveries: Vec::new(), item: Some(item.clone()) };
    for _ in 0..2 {
        change(&stores, fence, &record, std::slice::from_ref(&finish)).await;
    }
    assert_eq!(stores.sessions.items(&record.session, 9).await.unwrap(), [item]);
}

pub async fn cursors_are_kept_over_lives(ground: Ground) {
    let first = ground.open("a").await;
    assert_eq!(first.cursors.load("telegram/main").await.unwrap(), None);
    first.cursors.save("telegram/main", b"1").await.unwrap();
    first.cursors.save("telegram/main", &[0, 255]).await.unwrap();
    first.close().await;
    assert!(first.cursors.load("telegram/main").await.is_err(), "it is closed");
    let second = ground.open("b").await;
    assert_eq!(second.cursors.load("telegram/main").await.unwrap(), Some(vec![0, 255]));
}

pub async fn a_lease_has_one_holder(ground: Ground) {
    let (a, b) = (ground.open("a").await, ground.open("b").await);
    let minute = Duration::from_secs(60);
    let first = a.cursors.lease("poll", minute).await.unwrap().unwrap();
    assert_eq!(a.cursors.lease("poll", minute).await.unwrap(), Some(first), "a renewal");
    assert_eq!(b.cursors.lease("poll", minute).await.unwrap(), None);
    b.cursors.release("poll").await.unwrap();
    assert_eq!(b.cursors.lease("poll", minute).await.unwrap(), None, "it was not theirs to release");
    a.cursors.release("poll").await.unwrap();
    let second = b.cursors.lease("poll", Duration::from_millis(1)).await.unwrap().unwrap();
    assert!(second > first);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let third = a.cursors.lease("poll", minute).await.unwrap().unwrap();
    assert!(third > second, "what has run out is free");
}

pub async fn a_lease_of_a_dead_process_is_free_at_once(ground: Ground) {
    let me = store::owner::this_process();
    // The same process number with another start: a life that is over.
    let (life, _) = me.rsplit_once(':').unwrap();
    let (dead, alive) = (ground.open(&format!("{life}:1")).await, ground.open(&me).await);
    let first = dead.cursors.lease("poll", Duration::from_secs(60)).await.unwrap().unwrap();
    let second = alive.cursors.lease("poll", Duration::from_secs(60)).await.unwrap().unwrap();
    assert!(second > first);
    assert_eq!(dead.cursors.lease("poll", Duration::from_secs(60)).await.unwrap(), None);
}
