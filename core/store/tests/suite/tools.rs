//! Cases of added tools.

use contract::{
    Digest,
    records::{CHANGES_MAX, Mark, PutTool, StoredSpec, StoredTool, Stores, ToolChange, ToolVerb},
};

use crate::ground::Ground;

fn change(name: &str, version: u64, words: &str) -> ToolChange {
    let text = format!("name: {name}\ndescription: {words}\n");
    let spec = StoredSpec { digest: Digest::of(text.as_bytes()), text, by: "ada".into(), at_ms: 7 };
    ToolChange {
        what: ToolVerb::Published,
        by: "ada".into(),
        at_ms: u64::MAX,
        why: "\u{0} \"why\"".into(),
        to: Some(1),
        after: StoredTool {
            name: name.into(),
            version,
            live: Some(spec.clone()),
            waiting: Some(spec),
            released: Some(Digest::of(b"file")),
            deprecated: Some(Mark { by: "bob".into(), at_ms: 8, why: String::new() }),
            off: None,
        },
    }
}

async fn put(stores: &Stores, change: &ToolChange) -> PutTool {
    stores.registry.put_tool(change).await.unwrap()
}

pub async fn a_tool_is_found_as_it_was_put(ground: Ground) {
    let first = ground.open("a").await;
    assert_eq!(first.registry.shelf().await.unwrap(), contract::records::Shelf::default());
    assert_eq!(first.registry.stored_tool("b").await.unwrap(), None);
    for name in ["b", "a"] {
        assert_eq!(put(&first, &change(name, 1, "one")).await, PutTool::Made);
    }
    first.registry.refresh_tool("file").await.unwrap();
    first.registry.refresh_tool("file").await.unwrap();
    first.close().await;
    let second = ground.open("b").await;
    let shelf = second.registry.shelf().await.unwrap();
    assert_eq!(shelf.tools, [change("a", 1, "one").after, change("b", 1, "one").after]);
    assert_eq!((shelf.generation, shelf.refreshed["file"]), (4, 2));
    assert_eq!(shelf.tool("b"), second.registry.stored_tool("b").await.unwrap().as_ref());
    assert_eq!(second.registry.tool_changes("a", 9).await.unwrap(), [change("a", 1, "one")]);
}

pub async fn of_two_who_change_a_tool_one_is_late(ground: Ground) {
    let (a, b) = (ground.open("a").await, ground.open("b").await);
    assert_eq!(put(&a, &change("t", 1, "one")).await, PutTool::Made);
    assert_eq!(put(&b, &change("t", 1, "other")).await, PutTool::Late);
    // Sent twice, since its answer was lost.
    assert_eq!(put(&a, &change("t", 1, "one")).await, PutTool::Made);
    assert_eq!(put(&b, &change("t", 2, "two")).await, PutTool::Made);
    assert_eq!(put(&a, &change("t", 2, "three")).await, PutTool::Late);
    assert_eq!(put(&a, &change("t", 4, "three")).await, PutTool::Late);
    assert_eq!(put(&a, &change("new", 2, "three")).await, PutTool::Late);
    let versions: Vec<_> = a.registry.tool_changes("t", 9).await.unwrap().iter().map(|c| c.after.version).collect();
    assert_eq!(versions, [2, 1]);
    assert_eq!(a.registry.shelf().await.unwrap().generation, 2, "what was not made is not told");
}

pub async fn the_newest_changes_of_a_tool_are_kept(ground: Ground) {
    let stores = ground.open("a").await;
    let all = u64::try_from(CHANGES_MAX).unwrap() + 3;
    for version in 1..=all {
        assert_eq!(put(&stores, &change("t", version, "x")).await, PutTool::Made);
    }
    assert_eq!(put(&stores, &change("u", 1, "x")).await, PutTool::Made);
    let kept = stores.registry.tool_changes("t", 500).await.unwrap();
    assert_eq!((kept.len(), kept[0].after.version, kept[CHANGES_MAX - 1].after.version), (CHANGES_MAX, all, 4));
    assert_eq!(stores.registry.tool_changes("t", 2).await.unwrap().len(), 2);
    assert!(stores.registry.tool_changes("t", 0).await.unwrap().is_empty());
}

pub async fn every_process_hears_of_a_change(ground: Ground) {
    let (a, b) = (ground.open("a").await, ground.open("b").await);
    let heard = |since| {
        let registry = b.registry.clone();
        tokio::spawn(async move { registry.tools_changed(since).await.unwrap() })
    };
    let first = heard(0);
    put(&a, &change("t", 1, "one")).await;
    let generation = first.await.unwrap();
    assert_eq!(generation, 1);
    // What was changed while nobody listened is heard at once.
    put(&a, &change("t", 2, "two")).await;
    assert_eq!(heard(generation).await.unwrap(), 2);
    let refreshed = heard(2);
    a.registry.refresh_tool("t").await.unwrap();
    assert_eq!(refreshed.await.unwrap(), 3);
}
