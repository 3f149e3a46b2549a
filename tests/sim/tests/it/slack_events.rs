//! What apps hear through sockets: which events, in which wrapping, how often.

use serde_json::{Value, json};
use sim::slack::Limits;

use crate::slack_rig::{BOT, start, start_with, text_of};

#[tokio::test]
async fn a_mention_is_heard_twice_with_event_ids_of_their_own() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let bot = text_of(&rig.ok("auth.test", json!({})).await["user_id"]);
    rig.done("say", json!({"conversation": "general", "user": "ann", "text": "a < b & @here", "mention": true})).await;
    let (message, mention) = (socket.payload().await, socket.payload().await);
    let told = |payload: &Value| {
        [payload["event"]["type"].clone(), payload["event"]["text"].clone(), payload["event"]["ts"].clone()]
    };
    assert_eq!(message["event"]["text"], json!(format!("<@{bot}> a &lt; b &amp; <!here>")));
    assert_eq!((&message["event"]["type"], &mention["event"]["type"]), (&json!("message"), &json!("app_mention")));
    assert_eq!(told(&message)[1..], told(&mention)[1..]);
    assert_ne!(message["event_id"], mention["event_id"]);
    assert_eq!(message["event"]["channel_type"], "channel");
    assert_eq!(message["authorizations"][0]["user_id"], json!(bot));
    assert_eq!(rig.last("general").pings, [bot, "here".into()]);
    rig.end().await;
}

#[tokio::test]
async fn every_kind_of_conversation_says_what_it_is() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    for (name, kind) in [("secret", "private"), ("trio", "mpim")] {
        rig.done("conversation", json!({"name": name, "kind": kind})).await;
    }
    let mut kinds = Vec::new();
    for name in ["general", "dm:ann", "secret", "trio"] {
        rig.say(name, "ann", "hi").await;
        kinds.push(text_of(&socket.event().await["channel_type"]));
    }
    assert_eq!(kinds, ["channel", "im", "group", "mpim"]);
    rig.end().await;
}

#[tokio::test]
async fn a_bot_hears_its_own_messages_edits_and_deletions_too() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (channel, ts) = rig.say("general", "ann", "question").await;
    socket.event().await;
    let posted = rig.ok("chat.postMessage", json!({"channel": channel, "text": "answer", "thread_ts": ts})).await;
    let own = socket.event().await;
    assert_eq!((&own["ts"], &own["thread_ts"]), (&posted["ts"], &json!(ts)));
    assert!(own["parent_user_id"].is_string());
    assert!(own["bot_id"].is_string() && own["app_id"].is_string(), "{own}");
    rig.ok("chat.update", json!({"channel": channel, "ts": posted["ts"], "text": "better"})).await;
    let changed = socket.event().await;
    assert_eq!(
        (&changed["subtype"], &changed["message"]["text"], &changed["previous_message"]["text"]),
        (&json!("message_changed"), &json!("better"), &json!("answer"))
    );
    rig.ok("chat.delete", json!({"channel": channel, "ts": posted["ts"]})).await;
    let gone = socket.event().await;
    assert_eq!((&gone["subtype"], &gone["deleted_ts"]), (&json!("message_deleted"), &posted["ts"]));
    rig.end().await;
}

#[tokio::test]
async fn people_edit_remove_react_and_send_files() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (_, ts) = rig.say("general", "ann", "helo").await;
    socket.event().await;
    rig.done("edit", json!({"conversation": "general", "user": "ann", "message": ts, "text": "hello @toolgate"})).await;
    let (changed, mention) = (socket.event().await, socket.event().await);
    assert!(changed["message"]["edited"]["ts"].is_string());
    assert_eq!(
        (&mention["type"], &mention["ts"]),
        (&json!("app_mention"), &json!(ts)),
        "an edit that names the bot is a mention"
    );
    rig.done("react", json!({"conversation": "general", "user": "ann", "message": ts, "emoji": "👍"})).await;
    let added = socket.event().await;
    assert_eq!(
        (&added["type"], &added["reaction"], &added["item"]["ts"]),
        (&json!("reaction_added"), &json!("+1"), &json!(ts))
    );
    rig.done(
        "react",
        json!({"conversation": "general", "user": "ann", "message": ts, "emoji": ":+1:", "remove": true}),
    )
    .await;
    assert_eq!(socket.event().await["type"], "reaction_removed");
    rig.done("remove", json!({"conversation": "general", "message": ts})).await;
    assert_eq!(
        socket.event().await["previous_message"]["text"].as_str().map(|text| text.starts_with("hello <@U")),
        Some(true)
    );
    let files = json!([{"name": "a.txt", "mime": "text/plain", "text": "bytes"}]);
    rig.done("say", json!({"conversation": "general", "user": "ann", "text": "see", "files": files})).await;
    let shared = socket.event().await;
    assert_eq!((&shared["subtype"], &shared["files"][0]["size"]), (&json!("file_share"), &json!(5)));
    let address = text_of(&shared["files"][0]["url_private"]);
    let fetched = rig.http.get(&address).bearer_auth(BOT).send().await.expect("an answer");
    assert_eq!(fetched.text().await.expect("text"), "bytes");
    let page = rig.http.get(&address).send().await.expect("an answer").text().await.expect("text");
    assert!(page.starts_with("<!DOCTYPE html>"), "without a token there is a page to sign in");
    rig.end().await;
}

#[tokio::test]
async fn threads_are_told_apart() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let said =
        rig.done("say", json!({"conversation": "general", "user": "ann", "text": "in it", "thread": "plans"})).await;
    let first = socket.event().await;
    let root = text_of(&first["thread_ts"]);
    assert_ne!(root, text_of(&said["message"]));
    assert_eq!(rig.last("general").thread.as_deref(), Some("plans"));
    rig.done(
        "say",
        json!({"conversation": "general", "user": "bob", "text": "all", "thread": root, "broadcast": true}),
    )
    .await;
    let broadcast = socket.event().await;
    assert_eq!((&broadcast["subtype"], &broadcast["thread_ts"]), (&json!("thread_broadcast"), &json!(root)));
    rig.done("say", json!({"conversation": "general", "user": "bob", "text": "re", "reply_to": said["message"]})).await;
    assert_eq!(socket.event().await["thread_ts"], json!(root));
    rig.end().await;
}

#[tokio::test]
async fn other_bots_homes_and_assistants_are_events_of_their_own() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.done("say", json!({"conversation": "general", "user": "helper", "text": "beep", "bot": true})).await;
    let bot = socket.event().await;
    assert_eq!((&bot["subtype"], bot["bot_id"].is_string()), (&json!("bot_message"), true));
    for (what, kind) in [
        ("home", "app_home_opened"),
        ("assistant", "assistant_thread_started"),
        ("context", "assistant_thread_context_changed"),
    ] {
        rig.done("open", json!({"conversation": "dm:ann", "user": "ann", "what": what, "context": "general"})).await;
        assert_eq!(socket.event().await["type"], kind);
    }
    rig.done("conversation", json!({"name": "general", "roles": {"zoe": "member"}})).await;
    assert_eq!(socket.event().await["type"], "member_joined_channel");
    rig.done("conversation", json!({"name": "general", "state": "archived"})).await;
    assert_eq!(socket.event().await["type"], "channel_archive");
    rig.end().await;
}

#[tokio::test]
async fn an_event_that_nobody_acknowledges_comes_again_with_its_number() {
    let rig = start_with(Limits { ack_seconds: 0.05, retry_second: 0.01, retry_third: 0.01, ..Limits::none() }).await;
    let mut socket = rig.greeted().await;
    rig.say("dm:ann", "ann", "hi").await;
    let mut tries = Vec::new();
    for _ in 0..4 {
        let frame = socket.next().await;
        tries.push((
            frame["retry_attempt"].clone(),
            frame["retry_reason"].clone(),
            frame["payload"]["event_id"].clone(),
        ));
    }
    let numbers: Vec<_> = tries.iter().map(|(number, _, _)| number.clone()).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert_eq!((&tries[0].1, &tries[3].1, &tries[0].2), (&json!(""), &json!("timeout"), &tries[3].2));
    while rig.slack().stats().lost == 0 {
        tokio::task::yield_now().await;
    }
    rig.end().await;
}

#[tokio::test]
async fn what_one_socket_does_not_acknowledge_another_gets() {
    let rig = start_with(Limits { ack_seconds: 0.05, ..Limits::none() }).await;
    let mut one = rig.greeted().await;
    let mut two = rig.greeted().await;
    rig.say("dm:ann", "ann", "hi").await;
    let (first, second) = tokio::select! {
        frame = one.next() => (frame, two.next().await),
        frame = two.next() => (frame, one.next().await),
    };
    assert_eq!(first["envelope_id"], second["envelope_id"]);
    assert_eq!(second["retry_attempt"], 1);
    two.acknowledge(&second).await;
    rig.end().await;
}

#[tokio::test]
async fn what_happens_before_the_first_socket_waits_for_it() {
    let rig = start().await;
    rig.say("dm:ann", "ann", "early").await;
    let mut socket = rig.greeted().await;
    assert_eq!(socket.event().await["text"], "early");
    rig.end().await;
}

#[tokio::test]
async fn events_go_to_one_of_several_sockets_and_too_many_are_sent_away() {
    let rig = start_with(Limits { sockets: 2, ..Limits::none() }).await;
    let mut one = rig.greeted().await;
    let mut two = rig.socket().await;
    assert_eq!(two.next().await["num_connections"], 2);
    let mut three = rig.socket().await;
    assert_eq!(three.next().await["reason"], "too_many_websockets");
    assert_eq!(three.raw().await, None);
    for text in ["a", "b"] {
        rig.say("dm:ann", "ann", text).await;
    }
    let (left, right) = (one.event().await, two.event().await);
    let mut heard = [text_of(&left["text"]), text_of(&right["text"])];
    heard.sort();
    assert_eq!(heard, ["a", "b"]);
    assert_eq!(rig.slack().stats().open, 2);
    rig.end().await;
}

#[tokio::test]
async fn sockets_are_sent_away_closed_cut_and_silenced_on_demand() {
    let rig = start_with(Limits { ack_seconds: 0.05, retry_second: 0.05, retry_third: 0.5, ..Limits::none() }).await;
    for (fault, reason) in [
        (json!({"kind": "disconnect"}), Some("refresh_requested")),
        (json!({"kind": "disconnect", "reason": "link_disabled"}), Some("link_disabled")),
        (json!({"kind": "close", "status": 1011}), None),
        (json!({"kind": "cut"}), None),
    ] {
        let mut socket = rig.greeted().await;
        rig.done("fault", fault).await;
        if let Some(reason) = reason {
            assert_eq!(socket.next().await["reason"], reason);
        }
        assert_eq!(socket.raw().await, None);
    }
    let mut silent = rig.greeted().await;
    rig.done("fault", json!({"kind": "silence"})).await;
    rig.say("dm:ann", "ann", "hi").await;
    let mut fresh = rig.greeted().await;
    let frame = fresh.next().await;
    assert!(frame["retry_attempt"].as_u64() > Some(0), "the silent socket swallowed the first try: {frame}");
    fresh.acknowledge(&frame).await;
    rig.done("fault", json!({"kind": "cut"})).await;
    assert_eq!(silent.raw().await, None);
    rig.end().await;
}

#[tokio::test]
async fn a_warned_socket_serves_until_another_is_there() {
    let rig = start().await;
    let mut old = rig.greeted().await;
    rig.done("fault", json!({"kind": "disconnect", "reason": "warning", "seconds": 60})).await;
    assert_eq!(old.next().await["reason"], "warning");
    rig.say("dm:ann", "ann", "one").await;
    assert_eq!(old.event().await["text"], "one");
    let mut fresh = rig.greeted().await;
    rig.say("dm:ann", "ann", "two").await;
    assert_eq!(fresh.event().await["text"], "two");
    rig.end().await;
}

#[tokio::test]
async fn sockets_are_pinged_and_replaced_by_the_clock() {
    let rig =
        start_with(Limits { ping_seconds: 0.01, socket_seconds: 0.05, grace_seconds: 0.05, ..Limits::none() }).await;
    let mut socket = rig.greeted().await;
    assert_eq!(socket.next().await["reason"], "warning");
    assert_eq!(socket.raw().await, None);
    rig.end().await;
}

#[tokio::test]
async fn duplicates_come_after_they_were_acknowledged() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.done("fault", json!({"kind": "duplicate"})).await;
    rig.say("dm:ann", "ann", "hi").await;
    let (first, second) = (socket.payload().await, socket.payload().await);
    assert_eq!(first, second);
    while rig.slack().stats().acknowledged < 2 {
        tokio::task::yield_now().await;
    }
    rig.done("fault", json!({"kind": "duplicate", "past": 1})).await;
    assert_eq!(socket.payload().await, first);
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}
