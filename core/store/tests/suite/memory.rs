//! Cases of cursors and leases.

use std::time::Duration;

use crate::ground::Ground;

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
