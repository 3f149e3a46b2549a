//! Cases of call trees, their indexes and measures.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::{
    CallId, Code, Digest, Node, NodeKind, Place, SessionKey, State, TurnId,
    records::{Measure, ScheduleId, Stores, TurnLine, TurnQuery, bucket_of},
};

use crate::{ground::Ground, make::*};

async fn tree(stores: &Stores, turn: TurnId) -> Vec<Node> {
    let mut nodes = stores.trees.tree(turn).await.unwrap();
    nodes.sort_by_key(|node| node.call);
    nodes
}

pub async fn a_tree_is_put_together_from_what_came_in_any_order(ground: Ground) {
    let stores = ground.open("a").await;
    let turn = TurnId::new();
    let (one, two) = (node(turn, 1, "t", State::Ok), node(turn, 2, "t", State::Failed));
    let root = Node { state: State::Ok, ..Node::new(turn, CallId(0), NodeKind::Turn, 1) };
    write(&stores, vec![two.clone()], &[]).await;
    write(&stores, vec![node(turn, 1, "t", State::Running)], &[]).await;
    write(&stores, vec![one.clone(), root.clone(), two.clone()], &[]).await;
    assert_eq!(tree(&stores, turn).await, [root, one, two]);
    assert!(tree(&stores, TurnId::new()).await.is_empty());
}

pub async fn a_start_that_comes_late_does_not_hide_the_end(ground: Ground) {
    let stores = ground.open("a").await;
    let turn = TurnId::new();
    let end = node(turn, 1, "t", State::Ok);
    write(&stores, vec![end.clone()], &[]).await;
    write(&stores, vec![node(turn, 1, "t", State::Running)], &[]).await;
    write(&stores, vec![end.clone(), node(turn, 1, "t", State::Running)], &[]).await;
    assert_eq!(tree(&stores, turn).await, [end]);
}

pub async fn nodes_without_parents_are_kept(ground: Ground) {
    let stores = ground.open("a").await;
    let turn = TurnId::new();
    let orphan = Node { parent: Some(CallId(77)), ..node(turn, 5, "t", State::Interrupted) };
    write(&stores, vec![orphan.clone()], &[]).await;
    assert_eq!(tree(&stores, turn).await, [orphan]);
}

pub async fn every_field_of_a_node_is_kept(ground: Ground) {
    let stores = ground.open("a").await;
    let record = record("chat\u{0}", "k");
    let full = Node {
        spec: Some(Digest::of(b"spec")),
        code: Some(Code::OutcomeUnknown),
        queued_us: u64::MAX,
        attempts: u32::MAX,
        args_digest: Some(Digest::of(b"args")),
        result_digest: Some(contract::Digest::of(b"result")),
        bodies: Some(Box::new(contract::Bodies { args: "{}".into(), result: "[]".into() })),
        args_bytes: u32::MAX,
        result_bytes: 1,
        args: "\u{0}\u{202e}".into(),
        result: "r".into(),
        detail: "d".into(),
        upstream_status: Some(503),
        marks: vec!["late".into(), String::new()],
        place: Some(Box::new(Place { caller: record.caller, session: record.session })),
        ..node(record.id, u32::MAX, "tool", State::Unknown)
    };
    write(&stores, vec![full.clone()], &[]).await;
    assert_eq!(tree(&stores, record.id).await, [full]);
}

async fn found(stores: &Stores, query: TurnQuery) -> Vec<TurnId> {
    stores.trees.turns(&query).await.unwrap().into_iter().map(|line| line.turn).collect()
}

/// Ids in the order of time; ids made in one millisecond have none.
async fn ids(n: usize) -> Vec<TurnId> {
    let mut ids = Vec::new();
    for _ in 0..n {
        ids.push(TurnId::new());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    ids
}

pub async fn turns_are_listed_newest_first(ground: Ground) {
    let stores = ground.open("a").await;
    let ids = ids(60).await;
    for id in &ids {
        write(&stores, Vec::new(), &[line(*id, "chat", None)]).await;
    }
    let newest: Vec<_> = ids.iter().rev().copied().collect();
    assert_eq!(found(&stores, TurnQuery::default()).await, newest[..50]);
    assert_eq!(found(&stores, TurnQuery { most: 2, ..TurnQuery::default() }).await, newest[..2]);
    assert_eq!(found(&stores, TurnQuery { most: 999, ..TurnQuery::default() }).await, newest);
    let listed = stores.trees.turns(&TurnQuery { most: 1, ..TurnQuery::default() }).await.unwrap();
    assert_eq!(listed, [line(ids[59], "chat", None)]);
}

pub async fn turns_are_found_by_session_tool_failure_and_time(ground: Ground) {
    let stores = ground.open("a").await;
    let ids = ids(4).await;
    let tools = ["one", "two", "one", "two"];
    let chats = ["x", "x", "y", "y"];
    let codes = [None, Some(Code::Timeout), Some(Code::Denied), None];
    for n in 0..4 {
        let state = if codes[n].is_some() { State::Failed } else { State::Ok };
        let call = Node { code: codes[n], ..node(ids[n], 1, tools[n], state) };
        write(&stores, vec![call], &[line(ids[n], chats[n], codes[n])]).await;
    }
    // What somebody typed in place of a tool's name has no index of its own.
    let typed = Node { code: Some(Code::ToolUnknown), ..node(ids[0], 2, "typed", State::Failed) };
    write(&stores, vec![typed], &[]).await;
    assert_eq!(found(&stores, TurnQuery { tool: Some("typed".to_owned()), ..TurnQuery::default() }).await, []);
    let session = |chat| Some(SessionKey::of(&address(chat)));
    let tool = |name: &str| Some(name.to_owned());
    let all = TurnQuery::default;
    assert_eq!(found(&stores, TurnQuery { session: session("x"), ..all() }).await, [ids[1], ids[0]]);
    assert_eq!(found(&stores, TurnQuery { tool: tool("one"), ..all() }).await, [ids[2], ids[0]]);
    assert_eq!(found(&stores, TurnQuery { failed: true, ..all() }).await, [ids[2], ids[1]]);
    assert_eq!(found(&stores, TurnQuery { failed: true, tool: tool("two"), ..all() }).await, [ids[1]]);
    assert_eq!(found(&stores, TurnQuery { session: session("y"), tool: tool("two"), ..all() }).await, [ids[3]]);
    assert_eq!(found(&stores, TurnQuery { session: session("z"), ..all() }).await, []);
    assert_eq!(found(&stores, TurnQuery { tool: tool("\u{0}"), ..all() }).await, []);
    let since_ms = Some(ids[2].at_ms());
    assert_eq!(found(&stores, TurnQuery { since_ms, ..all() }).await, [ids[3], ids[2]]);
    assert_eq!(found(&stores, TurnQuery { since_ms: Some(u64::MAX), ..all() }).await, []);
}

pub async fn turns_of_schedules_are_found_among_all_others(ground: Ground) {
    let stores = ground.open("a").await;
    let ids = ids(5).await;
    let schedule = |n| ScheduleId::made_by(ids[0], n).session();
    for (n, id) in (0u32..).zip(&ids) {
        let scheduled = TurnLine { session: schedule(n % 2), ..line(*id, "chat", None) };
        let line = if n == 2 { line(*id, "chat", None) } else { scheduled };
        let tool = if n < 3 { "one" } else { "two" };
        write(&stores, vec![node(*id, 1, tool, State::Ok)], &[line]).await;
    }
    let all = || TurnQuery { scheduled: true, ..TurnQuery::default() };
    assert_eq!(found(&stores, all()).await, [ids[4], ids[3], ids[1], ids[0]]);
    assert_eq!(found(&stores, TurnQuery { most: 1, ..all() }).await, [ids[4]]);
    assert_eq!(found(&stores, TurnQuery { tool: Some("one".into()), ..all() }).await, [ids[1], ids[0]]);
    assert_eq!(found(&stores, TurnQuery { failed: true, ..all() }).await, []);
    assert_eq!(found(&stores, TurnQuery { since_ms: Some(ids[3].at_ms()), ..all() }).await, [ids[4], ids[3]]);
    let of_one = TurnQuery { session: Some(schedule(1)), ..TurnQuery::default() };
    assert_eq!(found(&stores, of_one.clone()).await, [ids[3], ids[1]]);
    assert_eq!(found(&stores, TurnQuery { scheduled: true, ..of_one }).await, [ids[3], ids[1]]);
}

pub async fn a_batch_may_come_twice(ground: Ground) {
    let stores = ground.open("a").await;
    let turn = TurnId::new();
    let failed = Node { code: Some(Code::Timeout), ..node(turn, 1, "t", State::Failed) };
    for _ in 0..3 {
        write(&stores, vec![failed.clone()], &[line(turn, "chat", Some(Code::Timeout))]).await;
    }
    assert_eq!(tree(&stores, turn).await, [failed]);
    for query in [
        TurnQuery::default(),
        TurnQuery { tool: Some("t".into()), ..TurnQuery::default() },
        TurnQuery { failed: true, ..TurnQuery::default() },
        TurnQuery { session: Some(SessionKey::of(&address("chat"))), ..TurnQuery::default() },
    ] {
        assert_eq!(found(&stores, query).await, [turn]);
    }
}

pub async fn measures_of_two_lives_are_added(ground: Ground) {
    let stores = ground.open("a").await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 60;
    let measure = |ok, minute, failed: &[(Code, u64)]| Measure {
        tool: "t".into(),
        minute,
        ok,
        failed: failed.to_vec(),
        buckets: vec![(bucket_of(100), ok), (bucket_of(9_000), failed.iter().map(|(_, n)| n).sum())],
        ..Measure::default()
    };
    stores.trees.measure("life 1", &[measure(10, now, &[])]).await.unwrap();
    stores.trees.measure("life 1", &[measure(90, now, &[(Code::Timeout, 2)])]).await.unwrap();
    stores.trees.measure("life 2", &[measure(5, now, &[(Code::Timeout, 1)])]).await.unwrap();
    stores.trees.measure("life 2", &[measure(1, now - 5, &[]), measure(1000, now - 90, &[])]).await.unwrap();
    stores.trees.measure("life 2", &[Measure { tool: "other".into(), ok: 1, ..measure(0, now, &[]) }]).await.unwrap();
    let stats = stores.trees.stats((now - 10) * 60_000).await.unwrap();
    assert_eq!(stats.iter().map(|stats| stats.tool.as_str()).collect::<Vec<_>>(), ["other", "t"]);
    assert_eq!((stats[1].calls, stats[1].ok), (99, 96), "a repeat changes nothing, an old minute is not asked for");
    assert_eq!(stats[1].failed, [(Code::Timeout, 3)]);
    assert!(stats[1].p50_us < 120 && stats[1].p95_us < 120);
    assert!(stores.trees.stats(u64::MAX).await.unwrap().is_empty());
}

pub async fn measures_say_for_whom_they_were_counted(ground: Ground) {
    let stores = ground.open("a").await;
    let minute = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 60;
    let measure = |platform, tenant: &str, ok| Measure {
        tool: "t".into(),
        platform: Some(platform),
        tenant: tenant.into(),
        minute,
        ok,
        failed: vec![(Code::Timeout, 1)],
        buckets: vec![(bucket_of(100), ok + 1)],
    };
    let all = [
        measure(contract::Platform::Slack, "a:b:ok", 1),
        measure(contract::Platform::Slack, "c/d", 2),
        measure(contract::Platform::Telegram, "c/d", 3),
    ];
    stores.trees.measure("life 1", &all).await.unwrap();
    stores.trees.measure("life 1", &all).await.unwrap();
    let mut found = stores.trees.measures((minute - 1) * 60_000).await.unwrap();
    found.sort_by_key(|measure| measure.ok);
    assert_eq!(found, all);
}
