//! What only a server can do: go away, come back, be set up in a way that loses things.

use std::time::Duration;

use contract::records::{Admitted, Stores};
use tokio::time::{Instant, timeout};

use crate::{ground::Ground, make::*};

/// The promise is three seconds; the rest is for a machine that does other things too.
const AWAY: Duration = Duration::from_secs(5);

async fn is_away(stores: &Stores) {
    let (turns, trees, cursors) = (stores.turns.clone(), stores.trees.clone(), stores.cursors.clone());
    let accepted = tokio::spawn(async move { turns.accept(&record("chat", "away")).await.is_err() });
    let counted = tokio::spawn(async move { trees.measure("a", &[Default::default()]).await.is_err() });
    let saved = tokio::spawn(async move { cursors.save("what", b"1").await.is_err() });
    let all = async { (accepted.await.unwrap(), counted.await.unwrap(), saved.await.unwrap()) };
    assert_eq!(timeout(AWAY, all).await.unwrap(), (true, true, true), "each says that the store is down, and soon");
}

/// Every operation works at once or after short attempts within a bound.
async fn is_back(stores: &Stores) {
    let since = Instant::now();
    loop {
        if stores.turns.hold().await.is_ok() && stores.trees.tree(contract::TurnId::new()).await.is_ok() {
            break;
        }
        assert!(since.elapsed() < AWAY, "it does not find its server again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eprintln!("back after {:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_down_and_found_again() {
    let mut ground = Ground::redis().await;
    let stores = ground.open("a").await;
    let before = record("chat", "before");
    let fence = accepted(&stores, &before).await;
    ground.server().signal("STOP");
    is_away(&stores).await;
    is_away(&stores).await;
    ground.server().signal("CONT");
    is_back(&stores).await;
    assert_eq!(get(&stores, &before).await, before);
    change(&stores, fence, &before, &[finish("x", Vec::new())]).await;
    assert!(matches!(stores.turns.accept(&record("chat", "after")).await.unwrap(), Admitted::New { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_died_is_down_and_found_again() {
    let mut ground = Ground::redis().await;
    let stores = ground.open("a").await;
    let old = accepted(&stores, &record("chat", "before")).await;
    ground.server().kill();
    is_away(&stores).await;
    ground.server().restart().await;
    is_back(&stores).await;
    assert!(matches!(stores.turns.accept(&record("chat", "after")).await.unwrap(), Admitted::New { .. }));
    let new = fence(&stores, &record("chat", "after")).await;
    assert!(new > old, "the server forgot its fences, and they still grow");
}

/// Asks until the store answers, as callers do: whatever is repeated may have been done already.
async fn until_done<T, E: std::fmt::Debug, F: Future<Output = Result<T, E>>>(work: impl Fn() -> F) -> T {
    let since = Instant::now();
    loop {
        match work().await {
            Ok(done) => return done,
            Err(error) => assert!(since.elapsed() < 8 * AWAY, "{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_the_server_hangs_under_load() {
    let mut ground = Ground::redis().await;
    let stores = ground.open("a").await;
    let fences: Vec<_> = stores.turns.hold().await.unwrap().into_iter().map(|owned| owned.fence).collect();
    let mut chats = tokio::task::JoinSet::new();
    for chat in 0..16 {
        let (stores, fences) = (stores.clone(), fences.clone());
        chats.spawn(async move {
            let mut turns = Vec::new();
            let end = Instant::now() + Duration::from_secs(4);
            while Instant::now() < end {
                let record = record(&chat.to_string(), &format!("{chat} {}", turns.len()));
                let fence = fences[usize::from(record.session.partition())];
                let admitted = until_done(|| stores.turns.accept(&record)).await;
                assert_eq!(admitted, Admitted::New { ahead: 0 });
                let change = [contract::records::Change::Life, finish("x", Vec::new())];
                until_done(|| stores.turns.change(fence, record.id, &record.session, &change)).await;
                turns.push(record);
            }
            turns
        });
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    ground.server().signal("STOP");
    tokio::time::sleep(Duration::from_millis(3200)).await;
    ground.server().signal("CONT");
    let turns: Vec<_> = chats.join_all().await.into_iter().flatten().collect();
    let mut open = 0;
    for partition in 0..64 {
        for record in stores.turns.unfinished(partition).await.unwrap() {
            assert_eq!((record.lives, record.state), (1, contract::records::TurnState::Answered));
            open += 1;
        }
    }
    assert_eq!(open, turns.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_whose_lease_ran_out_while_the_server_was_away_keeps_its_fence() {
    let mut ground = Ground::redis().await;
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let before = accepted(&stores, &record).await;
    let partition = record.session.partition();
    let _: i64 = ground.server().ask(&format!("HSET toolgate:{{p{partition}}}:lease until 1")).await;
    assert_eq!(fence(&stores, &record).await, before, "nobody owned it in between");
    let _: i64 = ground.server().ask(&format!("HSET toolgate:{{p{partition}}}:lease until 1")).await;
    let other = ground.open("b").await;
    assert!(fence(&other, &record).await > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_a_dead_process_are_taken_at_once() {
    let ground = Ground::redis().await;
    let me = store::owner::this_process();
    let (life, _) = me.rsplit_once(':').unwrap();
    let dead = ground.open(&format!("{life}:1")).await;
    let record = record("chat", "k");
    let before = accepted(&dead, &record).await;
    let alive = ground.open(&me).await;
    assert_eq!(alive.turns.hold().await.unwrap().len(), 64);
    assert!(fence(&alive, &record).await > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsafe_server_is_warned_of() {
    let mut ground = Ground::redis().await;
    let _: String = ground.server().ask("CONFIG SET maxmemory-policy allkeys-lru").await;
    let warnings = store::warnings(&ground.url()).await.unwrap();
    expect_test::expect![[r#"
        redis runs without 'appendonly yes': when it restarts, messages and replies since its last snapshot are lost
        redis has maxmemory-policy allkeys-lru: when its memory is full it drops records; set noeviction"#]]
    .assert_eq(&warnings.join("\n"));
    let _: String = ground.server().ask("CONFIG SET maxmemory-policy noeviction").await;
    let _: String = ground.server().ask("CONFIG SET appendonly yes").await;
    assert!(store::warnings(&ground.url()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_is_down_and_nothing_is_half_written() {
    let mut ground = Ground::redis().await;
    let stores = ground.open("a").await;
    let record = record("chat", "k");
    let fence = accepted(&stores, &record).await;
    let _: String = ground.server().ask("CONFIG SET maxmemory 1").await;
    let made = stores.turns.change(fence, record.id, &record.session, &[finish("x", Vec::new())]).await;
    assert!(matches!(made, Err(contract::records::ChangeError::Down(_))), "{made:?}");
    assert_eq!(get(&stores, &record).await, record);
    let _: String = ground.server().ask("CONFIG SET maxmemory 0").await;
    change(&stores, fence, &record, &[finish("x", Vec::new())]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_working_state_of_a_session_is_on_one_slot_and_expires_when_done() {
    let mut ground = Ground::redis().await;
    let stores = ground.open("a").await;
    let record = record("a {brace}", "k");
    let fence = accepted(&stores, &record).await;
    change(&stores, fence, &record, &[finish("x", Vec::new()), DONE]).await;
    let tag = format!("{{p{}}}", record.session.partition());
    let keys: Vec<String> = ground.server().ask("KEYS toolgate:*").await;
    let mine: Vec<_> = keys.iter().filter(|key| !key.ends_with(":lease") && !key.ends_with(":made")).collect();
    assert_eq!(mine.len(), 3, "turn, seen and the account's keys: {mine:?}");
    for key in mine {
        assert!(key.contains(&tag) && key.matches('{').count() == 1, "{key}");
        assert!(ground.server().ask::<i64>(&format!("TTL {key}")).await > 0, "{key}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Err(error) = store::open(&format!("redis://127.0.0.1:{free}"), Default::default()).await else {
        panic!("nothing is there");
    };
    assert!(matches!(error, store::OpenError::Unreachable(_)), "{error}");
}
