//! The people's side over HTTP, and who may use it.

use serde_json::{Value, json};
use sim::telegram::Setup;

use crate::rig::{Rig, start, start_setup};

#[tokio::test]
async fn a_press_names_a_button_by_data_or_text_and_is_answered_once() {
    let rig = start().await;
    let (chat, _) = rig.say("dm:ann", "ann", "hello").await;
    let markup = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go:1"}]]});
    let sent = rig.ok("sendMessage", json!({"chat_id": chat, "text": "a", "reply_markup": markup})).await;
    let press = |button: &str| json!({"conversation": "dm:ann", "user": "ann", "message": sent["message_id"], "button": button});
    assert_eq!(rig.control("press", press("Stop")).await.0, 404);
    rig.control("press", press("Go")).await;
    rig.control("press", press("go:1")).await;
    let updates = rig.ok("getUpdates", json!({"offset": -2})).await;
    let query = &updates[0]["callback_query"];
    assert_eq!((&query["data"], &query["from"]["username"]), (&json!("go:1"), &json!("ann")));
    assert_eq!(query["message"]["message_id"], sent["message_id"]);
    assert_eq!(rig.telegram().stats().unanswered, 2);
    let answer = json!({"callback_query_id": query["id"], "text": "done"});
    rig.ok("answerCallbackQuery", answer.clone()).await;
    assert!(rig.refusal("answerCallbackQuery", answer).await.contains("query is too old"));
    let long = json!({"callback_query_id": updates[1]["callback_query"]["id"], "text": "x".repeat(201)});
    rig.refusal("answerCallbackQuery", long).await;
    assert_eq!(rig.rules(), ["callback_text"]);
    let shown =
        rig.telegram().transcript(Some("dm:ann"), 0).into_iter().rfind(|entry| entry.is_bot()).expect("an entry");
    assert_eq!(
        (shown.text.as_str(), shown.to.as_deref(), shown.message),
        ("done", Some("ann"), sent["message_id"].as_i64())
    );
    rig.end().await;
}

#[tokio::test]
async fn what_people_write_carries_the_marks_of_the_platform() {
    let rig = start().await;
    let (_, first) = rig.say("general", "Bob", "/weather city=Oslo").await;
    let reply = json!({"conversation": "general", "user": "Bob", "text": "and now?", "mention": true, "reply_to": first, "language_code": "de"});
    rig.control("say", reply).await;
    rig.control(
        "command",
        json!({"conversation": "general", "user": "ann", "name": "weather", "args": {"city": "New York"}}),
    )
    .await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0]["message"]["entities"], json!([{"type": "bot_command", "offset": 0, "length": 8}]));
    assert_eq!(updates[0]["message"]["from"]["username"], "bob");
    assert_eq!(updates[1]["message"]["text"], "@toolgate_bot and now?");
    assert_eq!(updates[1]["message"]["entities"], json!([{"type": "mention", "offset": 0, "length": 13}]));
    assert_eq!(updates[1]["message"]["reply_to_message"]["message_id"], first);
    assert_eq!(updates[1]["message"]["from"]["language_code"], "de");
    assert_eq!(updates[2]["message"]["text"], r#"/weather city="New York""#);
    rig.end().await;
}

#[tokio::test]
async fn a_text_too_long_for_one_message_arrives_in_parts() {
    let rig = start().await;
    let (_, first) = rig.say("dm:ann", "ann", &"😀".repeat(5_000)).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    let lengths: Vec<_> =
        (0..3).filter_map(|n| updates[n]["message"]["text"].as_str()).map(|text| text.chars().count()).collect();
    assert_eq!((first, lengths), (1, vec![2_048, 2_048, 904]));
    rig.end().await;
}

#[tokio::test]
async fn another_bot_is_marked_as_one() {
    let rig = start().await;
    rig.control("say", json!({"conversation": "general", "user": "helper", "text": "beep", "bot": true})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0]["message"]["from"]["is_bot"], json!(true));
    rig.end().await;
}

#[tokio::test]
async fn with_known_tokens_others_are_refused() {
    let rig = start_setup(Setup { tokens: vec!["1:good".into()], ..Setup::default() }).await;
    assert_eq!(rig.refusal("getMe", json!({})).await, "401 Unauthorized");
    let good = rig.http.get(format!("{}/telegram/bot1:good/getMe", rig.running.url)).send().await.expect("an answer");
    assert_eq!(good.status(), 200);
    rig.end().await;
}

#[tokio::test]
async fn ids_of_people_and_places_stay_the_same_over_restarts() {
    let (one, two) = (start().await, start().await);
    two.say("dm:bob", "bob", "first").await;
    assert_eq!(one.say("dm:ann", "ann", "x").await, two.say("dm:ann", "ann", "x").await);
    assert_eq!(one.say("general", "ann", "x").await, two.say("general", "ann", "x").await);
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn privacy_mode_shows_a_bot_what_is_meant_for_it() {
    let rig = start().await;
    rig.ok("getMe", json!({})).await;
    rig.control("privacy", json!({"on": true})).await;
    for text in ["chatter", "/cmd", "/cmd@other_bot", "@toolgate_bot hello"] {
        rig.say("general", "ann", text).await;
    }
    rig.say("dm:ann", "ann", "private").await;
    let updates = rig.ok("getUpdates", json!({})).await;
    let seen: Vec<_> =
        updates.as_array().into_iter().flatten().map(|update| update["message"]["text"].clone()).collect();
    assert_eq!(seen, ["/cmd", "@toolgate_bot hello", "private"]);
    assert_eq!(rig.ok("getMe", json!({})).await["can_read_all_group_messages"], json!(false));
    rig.end().await;
}

#[tokio::test]
async fn a_raw_event_is_delivered_as_it_is() {
    let rig = start().await;
    rig.ok("getMe", json!({})).await;
    let (_, made) = rig.control("raw", json!({"event": {"message": {"odd": [1, null]}}})).await;
    rig.control("raw", json!({"event": {"update_id": 900_000_000, "future": {}}})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0], json!({"message": {"odd": [1, null]}, "update_id": made["update"]}));
    assert_eq!(updates[1], json!({"update_id": 900_000_000, "future": {}}));
    rig.end().await;
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_with_the_reason() {
    let rig = start().await;
    for (verb, body, status) in [
        ("say", json!({"conversation": "general", "user": "ann"}), 400),
        ("say", json!({"conversation": "", "user": "ann", "text": "x"}), 400),
        ("say", json!({"conversation": "general", "text": "x"}), 400),
        ("say", json!({"conversation": "dm:ann", "user": "bob", "text": "x"}), 400),
        ("say", json!({"conversation": "dm:ann", "user": "ann", "text": "x", "thread": "y"}), 400),
        ("say", json!({"conversation": "general", "user": "ann", "text": "x", "reply_to": 9}), 404),
        ("say", json!({"conversation": "general", "user": "ann", "text": "x", "typo": 1}), 400),
        ("edit", json!({"conversation": "general", "user": "ann", "message": 9, "text": "x"}), 404),
        ("raw", json!({"event": 5}), 400),
        ("fault", json!({"kind": "flood"}), 400),
        ("conversation", json!({"name": "dm:x", "kind": "group"}), 400),
    ] {
        let (got, answer) = rig.control(verb, body.clone()).await;
        assert_eq!(got, status, "{verb} {body}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|why| !why.is_empty()));
    }
    rig.end().await;
}

#[tokio::test]
async fn entries_stream_as_they_come() {
    let rig = start().await;
    rig.say("general", "ann", "elsewhere").await;
    let address = format!("{}/control/telegram/transcript/events?conversation=dm:ann", rig.running.url);
    let mut stream = rig.http.get(address).send().await.expect("an answer");
    let mut seen = String::new();
    for text in ["one", "two"] {
        rig.say("dm:ann", "ann", text).await;
        while !seen.contains(&format!("\"text\":\"{text}\"")) {
            let chunk = stream.chunk().await.expect("a stream").expect("not yet over");
            seen.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
    let events = seen.lines().filter(|line| line.starts_with("event: entry")).count();
    let ids: Vec<&str> = seen.lines().filter(|line| line.starts_with("id: ")).collect();
    assert_eq!((events, ids), (2, vec!["id: 2", "id: 3"]));
    drop(stream);
    rig.end().await;
}

#[tokio::test]
async fn a_page_finds_conversations_menus_and_files() {
    let rig = start().await;
    let (chat, _) = rig.say("dm:ann", "ann", "hello").await;
    let list = |name: &str| json!([{"command": name, "description": "x"}]);
    rig.ok("setMyCommands", json!({"commands": list("wide")})).await;
    rig.ok(
        "setMyCommands",
        json!({"commands": list("near"), "scope": {"type": "chat", "chat_id": chat}, "language_code": "de"}),
    )
    .await;
    assert_eq!(rig.control_get("menu?conversation=dm:ann&language=de").await["commands"], list("near"));
    assert_eq!(rig.control_get("menu?conversation=dm:ann").await["commands"], list("wide"));
    let names = rig.control_get("conversations").await;
    let names: Vec<_> =
        names["conversations"].as_array().into_iter().flatten().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["general", "dm:ann"]);
    let file = json!({"name": "a.html", "mime": "text/html", "text": "<script>"});
    rig.control("say", json!({"conversation": "dm:ann", "user": "ann", "files": [file]})).await;
    let entry = rig.telegram().transcript(Some("dm:ann"), 0).pop().expect("an entry");
    let address = format!("{}/control/telegram/file?id={}", rig.running.url, entry.files[0].id);
    let got = rig.http.get(address).send().await.expect("an answer");
    assert_eq!(got.headers()["content-type"], "application/octet-stream");
    assert_eq!(got.text().await.expect("text"), "<script>");
    rig.end().await;
}

#[tokio::test]
async fn a_reader_may_wait_for_the_next_entry() {
    let rig = start().await;
    let waiting = rig.control_get("transcript?conversation=dm:ann&wait=50");
    let (entries, _) = tokio::join!(waiting, rig.say("dm:ann", "ann", "hello"));
    assert_eq!(entries["entries"][0]["text"], "hello");
    assert_eq!(rig.control_get("transcript?conversation=dm:ann&after=1").await["entries"], json!([]));
    rig.end().await;
}

#[tokio::test]
async fn foreign_hosts_and_origins_may_not_steer() {
    let rig = start().await;
    assert_eq!(headers(&rig, "host", "e.test").await, 403);
    assert_eq!(headers(&rig, "origin", "http://e.test").await, 403);
    assert_eq!(headers(&rig, "origin", "null").await, 403);
    assert_eq!(headers(&rig, "origin", "http://127.0.0.1:8787").await, 200);
    assert_eq!(headers(&rig, "host", "localhost:1").await, 200);
    rig.end().await;
}

async fn headers(rig: &Rig, name: &str, value: &str) -> u16 {
    let request = rig.http.get(format!("{}/control/telegram/stats", rig.running.url)).header(name, value);
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn stats_count_requests_and_violations() {
    let rig = start().await;
    let (chat, _) = rig.say("dm:ann", "ann", "hello").await;
    rig.ok("sendMessage", json!({"chat_id": chat, "text": "a"})).await;
    rig.refusal("sendMessage", json!({"chat_id": chat, "text": ""})).await;
    let mut stats = rig.control_get("stats").await;
    let violations = stats["violations"].take();
    assert_eq!((&stats["requests"], &stats["received"], &stats["sent"]), (&json!(2), &json!(1), &json!(1)));
    let expected: Value =
        json!([{"rule": "empty_text", "method": "sendMessage", "detail": "Bad Request: message text is empty"}]);
    assert_eq!(violations, expected);
    let entries = rig.control_get("transcript?conversation=dm:ann&after=1").await;
    assert_eq!(entries["entries"][0]["text"], "a");
    rig.end().await;
}

#[tokio::test]
async fn only_loopback_is_listened_on() {
    let options = sim::Options { listen: ([0, 0, 0, 0], 0).into(), ..sim::Options::default() };
    let refused = sim::serve(options, tokio_util::sync::CancellationToken::new()).await;
    assert!(matches!(refused, Err(sim::Error::NotLoopback(_))));
}
