//! Schedules before the real binary: killed around the time at which they are due, and from one platform to another.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contract::records::{Put, Schedule, ScheduleId, When};
use serde_json::{Value, json};

use crate::{
    chat::Chat,
    gateway::Gateway,
    platforms::{Platforms, Way},
    world::{World, eventually, on_both_stores},
};

on_both_stores!(
    a_run_survives_a_kill_between_its_time_and_its_answer,
    kills_around_the_time_lose_no_run_and_make_none_twice,
    what_was_due_while_nothing_ran_is_made_up_for_once,
    a_schedule_that_rests_or_is_removed_is_not_run_by_the_next_life,
    made_on_one_platform_it_posts_to_another_by_the_rights_of_both,
);

/// Due in ten thousand minutes: it is run when the test says so.
const LATER: &str = "in 10000 minutes";

impl World {
    /// The person of a direct conversation on Telegram, as an owner is named.
    fn owner(&self, name: &str) -> (Chat, Value) {
        let place = sim::telegram::Conversation { name: format!("dm:{name}"), ..Default::default() };
        let id = self.telegram.conversation(&place).expect("somebody can be there").to_string();
        (self.chat(&format!("dm:{name}")), json!({ "platform": "telegram", "conversation": id, "sender": id }))
    }

    /// A schedule of Ann's that answers her; its id, and where she reads.
    async fn scheduled(&self, gateway: &Gateway, say: &str) -> (ScheduleId, Chat) {
        let (chat, owner) = self.owner("ann");
        let wish = json!({ "say": say, "when": LATER, "owner": owner, "direct": true });
        (made(gateway, wish).await, chat)
    }

    /// Moves the time at which a schedule is due, as a clock would; nothing else runs on the store meanwhile.
    async fn due(&self, id: ScheduleId, at_ms: u64) {
        let stores = store::open(&self.database.url(), store::Options::default()).await.expect("the store is there");
        let there = stores.schedules.schedule(id).await.expect("it answers").expect("it is kept");
        let moved =
            Schedule { version: there.version + 1, when: When::At { ms: at_ms }, next_ms: Some(at_ms), ..there };
        assert_eq!(stores.schedules.put(&moved).await.expect("it answers"), Put::Made);
        stores.close().await;
    }
}

async fn made(gateway: &Gateway, wish: Value) -> ScheduleId {
    let (status, schedule) = gateway.post("/v1/schedules", wish).await;
    assert_eq!(status, 201, "{schedule:#}");
    schedule["id"].as_str().expect("it has an id").parse().expect("an id")
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("a time")
}

/// Waits until all is quiet; the chat has one answer with these words, or a second that says that it may be one.
async fn told_once(gateway: &Gateway, chat: &Chat, words: &str) {
    let told = || chat.seen().into_iter().filter(|seen| seen.text.contains(words)).collect::<Vec<_>>();
    eventually(&format!("the chat says '{words}'"), async || !told().is_empty()).await;
    gateway.idles().await;
    let told = told();
    assert!(told[1..].iter().all(|seen| seen.is_marked()) && told.len() <= 2, "{told:#?}");
}

/// The turns of a schedule that have ended.
async fn turns(gateway: &Gateway, id: ScheduleId) -> Vec<Value> {
    let (status, listed) = gateway.get(&format!("/v1/traces?schedule={id}")).await;
    assert_eq!(status, 200, "{listed:#}");
    listed["traces"].as_array().expect("a list").iter().filter(|line| line["state"] != "running").cloned().collect()
}

async fn a_run_survives_a_kill_between_its_time_and_its_answer(world: World) {
    let gateway = world.start().await;
    let (id, chat) = world.scheduled(&gateway, "/look tag=due").await;
    gateway.kill();
    world.due(id, now_ms() + 500).await;
    world.service.hold("look");
    let gateway = world.start().await;
    world.service.asked("look", "due", 1).await;
    gateway.kill();
    world.service.let_go("look");
    let gateway = world.start().await;
    told_once(&gateway, &chat, "tag: due").await;
    eventually("the turn has ended", async || turns(&gateway, id).await.len() == 1).await;
    // A life that died between having the run accepted and noting it leaves the note to the next one.
    let mut schedule = Value::Null;
    eventually("the run is noted", async || {
        schedule = gateway.get(&format!("/v1/schedules/{id}")).await.1;
        schedule["next_ms"].is_null()
    })
    .await;
    assert_eq!(schedule["left_out"], 0, "{schedule:#}");
    assert_eq!(schedule["last"]["turn"], turns(&gateway, id).await[0]["turn"]);
    world.no_rule_was_broken();
}

async fn kills_around_the_time_lose_no_run_and_make_none_twice(world: World) {
    let gateway = world.start().await;
    let mut scheduled = Vec::new();
    for n in 0..6 {
        scheduled.push(world.scheduled(&gateway, &format!("/act tag=kill{n}")).await);
    }
    gateway.kill();
    // Each is due a little later than the one before, so that kills find them at different steps.
    let start = now_ms() + 1_500;
    for (n, (id, _)) in (0..).zip(&scheduled) {
        world.due(*id, start + n * 150).await;
    }
    for n in 0..5 {
        let gateway = world.launch();
        gateway.is_up().await;
        let wake = Duration::from_millis((start + n * 200).saturating_sub(now_ms()) + 40);
        tokio::time::sleep(wake).await;
        gateway.kill();
    }
    let gateway = world.start().await;
    let mut ran = BTreeSet::new();
    for (n, (id, chat)) in scheduled.iter().enumerate() {
        // A turn's line is written behind, so the last one of a life may be in no list; its record is.
        let mut last = String::new();
        eventually("it was run", async || {
            let (_, schedule) = gateway.get(&format!("/v1/schedules/{id}")).await;
            last = schedule["last"]["turn"].as_str().unwrap_or_default().to_owned();
            !last.is_empty()
        })
        .await;
        told_once(&gateway, chat, &last).await;
        ran.insert(last);
        let acted = world.service.count("act", &format!("kill{n}"));
        assert!(acted <= 1, "it acted {acted} times: {:#?}", chat.seen());
    }
    let answers = scheduled[0].1.seen();
    let told: BTreeSet<String> = answers.iter().map(|seen| seen.reference()).collect();
    assert_eq!((ran.len(), &told), (scheduled.len(), &ran), "{answers:#?}");
    world.no_rule_was_broken();
}

async fn what_was_due_while_nothing_ran_is_made_up_for_once(world: World) {
    let gateway = world.start().await;
    let (recent, chat) = world.scheduled(&gateway, "/look tag=recent").await;
    let (old, _) = world.scheduled(&gateway, "/look tag=old").await;
    gateway.kill();
    world.due(recent, now_ms() - 60_000).await;
    world.due(old, now_ms() - 26 * 3_600_000).await;
    let gateway = world.start().await;
    told_once(&gateway, &chat, "tag: recent").await;
    gateway.kill();
    let gateway = world.start().await;
    gateway.idles().await;
    told_once(&gateway, &chat, "tag: recent").await;
    // Its partition may be taken after the other's.
    let mut schedule = Value::Null;
    eventually("the old one was left out", async || {
        schedule = gateway.get(&format!("/v1/schedules/{old}")).await.1;
        schedule["left_out"] == 1
    })
    .await;
    assert_eq!((&schedule["last"], world.service.count("look", "old")), (&Value::Null, 0), "{schedule:#}");
    assert_eq!(world.service.count("look", "recent"), 1);
}

async fn a_schedule_that_rests_or_is_removed_is_not_run_by_the_next_life(world: World) {
    let gateway = world.start().await;
    let (resting, chat) = world.scheduled(&gateway, "/look tag=resting").await;
    let (removed, _) = world.scheduled(&gateway, "/look tag=removed").await;
    let (runs, _) = world.scheduled(&gateway, "/look tag=runs").await;
    let (status, paused) =
        gateway.post(&format!("/v1/schedules/{resting}/pause"), json!({ "why": "over Easter" })).await;
    assert_eq!((status, &paused["paused"]["why"], &paused["next_ms"]), (200, &json!("over Easter"), &Value::Null));
    assert_eq!(gateway.delete(&format!("/v1/schedules/{removed}")).await.0, 204);
    assert_eq!(gateway.get(&format!("/v1/schedules/{removed}")).await.0, 404);
    gateway.kill();
    world.due(runs, now_ms() + 300).await;
    let gateway = world.start().await;
    told_once(&gateway, &chat, "tag: runs").await;
    let (_, all) = gateway.get("/v1/schedules").await;
    assert_eq!(all["schedules"].as_array().map(Vec::len), Some(2), "{all:#}");
    let (status, again) = gateway.post(&format!("/v1/schedules/{resting}/resume"), json!({})).await;
    assert_eq!((status, &again["paused"]), (200, &Value::Null));
    assert_eq!((world.service.count("look", "resting"), world.service.count("look", "removed")), (0, 0));
    // What rests can be run by hand all the same.
    let (status, ran) = gateway.post(&format!("/v1/schedules/{resting}/run"), json!({})).await;
    assert_eq!(status, 202, "{ran:#}");
    told_once(&gateway, &chat, "tag: resting").await;
}

async fn made_on_one_platform_it_posts_to_another_by_the_rights_of_both(world: World) {
    let all = Platforms::new(world, Way::Sockets).await;
    let gateway = all.start().await;
    let general = all.conversation("slack", "general").await;
    let (ann, owner) = all.world.owner("ann");
    let wish = |say: &str| json!({ "say": say, "when": LATER, "owner": owner, "direct": true, "to": format!("slack:main/{general}") });
    let looks = made(&gateway, wish("/look tag=across")).await;
    let acts = made(&gateway, wish("/act tag=across")).await;
    let policy = crate::world::POLICY.replace("telegram", "slack");
    all.world.write("policies/slack.yaml", &format!("{policy}tools: {{ deny: [act] }}\n"));
    eventually("the new rule is in force", async || {
        gateway.get("/v1/policies?platform=slack").await.1.to_string().contains("tools.deny: act")
    })
    .await;
    let (status, refused) = gateway.post("/v1/schedules", wish("/act tag=across")).await;
    assert_eq!((status, &refused["code"]), (404, &json!("tool.unknown")), "{refused:#}");
    for id in [looks, acts] {
        let (status, ran) = gateway.post(&format!("/v1/schedules/{id}/run"), json!({})).await;
        assert_eq!(status, 202, "{ran:#}");
    }
    all.answered_once(&gateway, "slack", "tag: across").await;
    eventually("both have ended", async || {
        turns(&gateway, looks).await.len() == 1 && turns(&gateway, acts).await.len() == 1
    })
    .await;
    gateway.idles().await;
    assert_eq!((all.world.service.count("look", "across"), all.world.service.count("act", "across")), (1, 0));
    assert!(ann.seen().iter().all(|seen| !seen.text.contains("across")), "{:#?}", ann.seen());

    let (_, any) = gateway.get("/v1/traces?schedule=any").await;
    assert_eq!(any["traces"].as_array().map(Vec::len), Some(2), "{any:#}");
    let (status, fared) = gateway.get(&format!("/v1/stats?schedule={looks}")).await;
    let tool = &fared["tools"][0];
    assert_eq!(
        (status, &fared["turns"]["turns"], &tool["tool"], &tool["calls"], &tool["ok"]),
        (200, &json!(1), &json!("look"), &json!(1), &json!(1))
    );
    assert_eq!(fared["tools"][0]["slowest_in"], turns(&gateway, looks).await[0]["turn"]);
    all.secrets_are_nowhere(&gateway).await;
}
