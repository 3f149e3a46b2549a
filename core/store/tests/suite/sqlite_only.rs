//! What only a file can do: be left behind by a crash, be opened twice, be of another version.

use contract::records::{Admitted, Change, TurnState};
use store::{OpenError, Options, open};

use crate::{ground::Ground, make::*};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_before_a_crash_is_there_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let stores = open(&url("a.db"), Options::default()).await.unwrap();
    let (first, second) = (record("chat", "1"), record("chat", "2"));
    let before = accepted(&stores, &first).await;
    change(&stores, before, &first, &[Change::Life, finish("x", Vec::new())]).await;
    stores.turns.accept(&second).await.unwrap();
    // As the system leaves the files of a process that was killed: the log is not yet in the database.
    for end in ["", "-wal"] {
        std::fs::copy(folder.path().join(format!("a.db{end}")), folder.path().join(format!("b.db{end}"))).unwrap();
    }
    let after = open(&url("b.db"), Options::default()).await.unwrap();
    let stored = get(&after, &first).await;
    assert_eq!((stored.state, stored.lives), (TurnState::Answered, 1));
    assert_eq!(get(&after, &second).await, second);
    assert_eq!(after.turns.accept(&second).await.unwrap(), Admitted::New { ahead: 0 });
    assert!(fence(&after, &first).await > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_reads_while_the_first_writes() {
    let ground = Ground::sqlite();
    let (owner, reader) = (ground.open("a").await, ground.open("b").await);
    owner.turns.hold().await.unwrap();
    for n in 0..20 {
        let record = record("chat", &n.to_string());
        accepted(&owner, &record).await;
        write(&owner, Vec::new(), &[line(record.id, "chat", None)]).await;
        assert_eq!(reader.trees.turns(&Default::default()).await.unwrap().len(), n + 1);
    }
    assert!(reader.turns.hold().await.unwrap().is_empty());
    owner.close().await;
    assert_eq!(reader.turns.hold().await.unwrap().len(), 64, "the lock is free at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_memory_is_a_store_like_others() {
    let stores = open("sqlite::memory:", Options::default()).await.unwrap();
    let record = record("chat", "k");
    accepted(&stores, &record).await;
    assert_eq!(get(&stores, &record).await, record);
    stores.close().await;
    assert!(stores.turns.get(record.id).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_a_later_version_is_left_alone() {
    let ground = Ground::sqlite();
    ground.open("a").await.close().await;
    let path = ground.url().strip_prefix("sqlite:").unwrap().to_owned();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(error) = open(&ground.url(), Options::default()).await else { panic!("it is not ours") };
    assert!(matches!(error, OpenError::Foreign(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_may_make_the_file_at_once() {
    for _ in 0..8 {
        let ground = Ground::sqlite();
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..8 {
            let url = ground.url();
            let options = Options { owner: n.to_string(), ..Options::default() };
            tasks.spawn(async move { open(&url, options).await.map(drop).map_err(|error| error.to_string()) });
        }
        assert_eq!(tasks.join_all().await, vec![Ok(()); 8]);
    }
}

#[tokio::test]
async fn whoever_only_reads_makes_no_file() {
    let ground = Ground::sqlite();
    let options = Options { create: false, ..Options::default() };
    let Err(error) = open(&ground.url(), options.clone()).await else { panic!("there is none") };
    assert!(error.to_string().starts_with("there is no database '"), "{error}");
    ground.open("a").await;
    assert!(open(&ground.url(), options).await.is_ok());
}

#[tokio::test]
async fn an_address_that_is_none_is_said_with_what_is_one() {
    for (url, said) in [
        ("mysql://x", "no store is called 'mysql': write sqlite:PATH, sqlite::memory: or redis://HOST:PORT/DB"),
        ("sqlite:", "'sqlite:' needs a path, such as sqlite:toolgate.db"),
    ] {
        let Err(error) = open(url, Options::default()).await else { panic!("{url}") };
        assert_eq!(error.to_string(), said);
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/no/such/folder.db", folder.path().display());
    assert!(matches!(open(&url, Options::default()).await, Err(OpenError::Unreachable(_))));
    assert_eq!(store::describe("redis://user:secret@host:6379/0"), "redis://host:6379/0");
    assert_eq!(store::describe("redis://host/0"), "redis://host/0");
    assert_eq!(store::describe("sqlite:a@b.db"), "sqlite:a@b.db");
}
