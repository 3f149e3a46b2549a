//! What apps hear through sockets: which events, in which wrapping, how often.

use serde_json::{Value, json};
use sim::slack::{Limits, NewApp, Setup};

use crate::slack_rig::{APP, BOT, start, start_setup, start_with, text_of};

fn app(name: &str) -> NewApp {
    NewApp {
        name: name.into(),
        bot_tokens: vec![format!("xoxb-{name}")],
        app_token: Some(format!("xapp-{name}")),
        ..NewApp::default()
    }
}

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

#[tokio::test]
async fn two_apps_in_one_workspace_hear_their_own_events() {
    let rig = start_setup(Setup { apps: vec![app("other")], limits: Limits::none(), ..Setup::default() }).await;
    let mut one = rig.greeted().await;
    let mut two = rig.socket_as("xapp-other").await;
    assert_eq!(two.next().await["type"], "hello");
    rig.done("say", json!({"conversation": "general", "user": "ann", "text": "@other hi"})).await;
    let (first, second, mention) = (one.payload().await, two.payload().await, two.payload().await);
    assert_eq!(first["event"]["ts"], second["event"]["ts"]);
    assert_ne!(first["event_id"], second["event_id"]);
    assert_ne!(first["api_app_id"], second["api_app_id"]);
    assert_eq!(mention["event"]["type"], "app_mention");
    rig.say("dm:ann@other", "ann", "just you").await;
    assert_eq!(two.event().await["text"], "just you");
    let (_, me) = rig.call_as("xoxb-other", "auth.test", json!({})).await;
    assert_eq!(me["user"], "other");
    assert_eq!(rig.slack().stats().unanswered, 0);
    rig.end().await;
}

#[tokio::test]
async fn an_org_wide_install_is_told_so_and_workspaces_are_apart() {
    let grid = NewApp { teams: vec!["east".into(), "west".into()], enterprise: Some("E0ORG".into()), ..app("grid") };
    let rig = start_setup(Setup { apps: vec![grid], limits: Limits::none(), ..Setup::default() }).await;
    let mut socket = rig.socket_as("xapp-grid").await;
    socket.raw().await;
    rig.done("conversation", json!({"name": "west-talk", "team": "west"})).await;
    rig.say("west-talk", "ann", "hi").await;
    let frame = socket.raw().await.expect("a frame");
    let payload = &frame["payload"];
    assert_eq!(
        payload["authorizations"][0],
        json!({"enterprise_id": "E0ORG", "team_id": null, "user_id": payload["authorizations"][0]["user_id"], "is_bot": true, "is_enterprise_install": true})
    );
    assert_eq!(payload["enterprise_id"], "E0ORG");
    let (_, posted) = rig
        .call_as("xoxb-grid", "chat.postMessage", json!({"channel": payload["event"]["channel"], "text": "yes"}))
        .await;
    assert_eq!(posted["ok"], true, "{posted}");
    assert_eq!(
        rig.refusal("chat.postMessage", json!({"channel": payload["event"]["channel"], "text": "no"})).await,
        "channel_not_found"
    );
    rig.end().await;
}

#[tokio::test]
async fn tokens_are_of_one_kind_and_sockets_need_the_apps_own() {
    let rig =
        start_setup(Setup { tokens: vec![BOT.into(), APP.into()], limits: Limits::none(), ..Setup::default() }).await;
    let ask = async |token: &str, method: &str| text_of(&rig.call_as(token, method, json!({})).await.1["error"]);
    assert_eq!(ask(BOT, "apps.connections.open").await, "not_allowed_token_type");
    assert_eq!(ask(APP, "auth.test").await, "not_allowed_token_type");
    assert_eq!(ask("xoxb-wrong", "auth.test").await, "invalid_auth");
    assert_eq!(ask("nonsense", "auth.test").await, "invalid_auth");
    let bare: Value =
        rig.http.post(rig.address("auth.test")).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(bare["error"], "not_authed");
    let inside = rig.http.post(rig.address("auth.test")).json(&json!({"token": BOT})).send().await.expect("an answer");
    assert_eq!(
        inside.json::<Value>().await.expect("JSON")["error"],
        "not_authed",
        "a token in a JSON body is not looked at"
    );
    rig.end().await;
}

#[tokio::test]
async fn raw_events_and_frames_are_sent_as_they_are() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.done("raw", json!({"event": {"type": "future_thing", "odd": [1, null]}})).await;
    let frame = socket.raw().await.expect("a frame");
    assert_eq!(
        (&frame["payload"]["type"], &frame["payload"]["event"]["odd"]),
        (&json!("event_callback"), &json!([1, null]))
    );
    let odd = json!({"envelope_id": "e1", "type": "future", "payload": {}});
    rig.done("raw", json!({"event": odd})).await;
    assert_eq!(socket.raw().await, Some(odd));
    rig.end().await;
}

#[tokio::test]
async fn frames_that_make_no_sense_are_counted() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    for frame in [json!({"envelope_id": "nobody's"}), json!({"type": "ping"}), json!(5)] {
        socket.send(frame).await;
    }
    while rig.rules().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.rules(), ["unknown_envelope", "frame_without_envelope", "frame_without_envelope"]);
    rig.end().await;
}

#[tokio::test]
async fn more_events_than_an_hour_allows_are_one_warning() {
    let rig = start_with(Limits { events_per_hour: 1, ..Limits::none() }).await;
    let mut socket = rig.greeted().await;
    for text in ["a", "b", "c"] {
        rig.say("dm:ann", "ann", text).await;
    }
    assert_eq!(socket.event().await["text"], "a");
    let warning = socket.raw().await.expect("a frame");
    assert_eq!(warning["payload"]["type"], "app_rate_limited");
    rig.end().await;
}

#[tokio::test]
async fn a_ticket_is_good_once() {
    let rig = start().await;
    let (_, answer) = rig.call_as(APP, "apps.connections.open", json!({})).await;
    let url = text_of(&answer["url"]).replacen("ws", "http", 1);
    let ask = async || {
        let request = rig.http.get(&url).header("connection", "upgrade").header("upgrade", "websocket");
        request
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .send()
            .await
            .expect("an answer")
            .status()
            .as_u16()
    };
    assert_eq!((ask().await, ask().await), (101, 404));
    rig.end().await;
}
