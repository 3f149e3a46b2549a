//! The control side: people write in every form that the platform knows, and pages read what happened.

use serde_json::{Value, json};

use crate::discord_rig::{BOT, Rig, start};

#[tokio::test]
async fn people_write_in_every_form() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    let said = |extra: Value| {
        let mut body = json!({"conversation": "general", "user": "ann", "text": "x"});
        extra.as_object().into_iter().flatten().for_each(|(field, value)| body[field] = value.clone());
        body
    };
    let first = rig.act("say", said(json!({"text": "hello @toolgate"}))).await;
    let heard = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&heard["content"], &heard["mentions"][0]["id"]), (&json!(format!("hello <@{BOT}>")), &json!(BOT)));
    assert_eq!(rig.last("general").text, "hello @toolgate");
    rig.act("say", said(json!({"reply_to": first["message"]}))).await;
    let heard = socket.event("MESSAGE_CREATE").await;
    assert_eq!(
        (&heard["type"], &heard["referenced_message"]["id"], &heard["mentions"][0]["username"]),
        (&json!(19), &first["message"], &json!("ann"))
    );
    rig.act("say", said(json!({"text": "", "files": [{"name": "a.png", "base64": "aGk=", "size": 5_000_000}]}))).await;
    let heard = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&heard["content"], &heard["attachments"][0]["size"]), (&json!(""), &json!(5_000_000)));
    rig.act("say", said(json!({"text": "", "stickers": ["wave"]}))).await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["sticker_items"][0]["name"], "wave");
    rig.act("say", said(json!({"text": "", "forward": first["message"]}))).await;
    let heard = socket.event("MESSAGE_CREATE").await;
    assert_eq!(heard["message_snapshots"][0]["message"]["content"], json!(format!("hello <@{BOT}>")));
    rig.act("say", said(json!({"bot": true, "user": "helper"}))).await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["author"]["bot"], true);
    rig.act("say", said(json!({"webhook": true, "user": "hook"}))).await;
    let heard = socket.event("MESSAGE_CREATE").await;
    assert_eq!((heard["webhook_id"].is_string(), &heard["member"]), (true, &Value::Null));
    rig.act("say", said(json!({"text": "", "system": 7}))).await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["type"], 7);
    rig.act("say", said(json!({"text": "y".repeat(4_500)}))).await;
    for _ in 0..3 {
        assert!(socket.event("MESSAGE_CREATE").await["content"].as_str().is_some_and(|text| text.len() <= 2_000));
    }
    rig.end().await;
}

#[tokio::test]
async fn threads_open_when_they_are_named() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    let (channel, _) = rig.say("general", "ann", "x").await;
    let body = json!({"conversation": "general", "user": "ann", "text": "in it", "thread": "aside"});
    let said = rig.act("say", body.clone()).await;
    let made = socket.event("THREAD_CREATE").await;
    assert_eq!(
        (&made["id"], &made["parent_id"], &made["newly_created"]),
        (&said["chat"], &json!(channel), &json!(true))
    );
    assert_eq!(socket.event("MESSAGE_CREATE").await["channel_id"], said["chat"]);
    assert_eq!(rig.act("say", body).await["chat"], said["chat"], "the same name is the same thread");
    rig.act("conversation", json!({"name": "general", "thread": "aside", "state": "archived"})).await;
    assert_eq!(socket.event("THREAD_UPDATE").await["thread_metadata"]["archived"], true);
    rig.act("say", json!({"conversation": "general", "user": "ann", "text": "again", "thread": said["chat"]})).await;
    assert_eq!(socket.event("THREAD_UPDATE").await["thread_metadata"]["archived"], false);
    rig.act("remove", json!({"conversation": "general", "thread": "aside"})).await;
    assert_eq!(socket.event("THREAD_DELETE").await["id"], said["chat"]);
    rig.end().await;
}

#[tokio::test]
async fn edits_reactions_typing_and_removals_are_events() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    let (_, message) = rig.say("general", "ann", "x").await;
    let at = |extra: Value| {
        let mut body = json!({"conversation": "general", "user": "ann", "message": message});
        extra.as_object().into_iter().flatten().for_each(|(field, value)| body[field] = value.clone());
        body
    };
    rig.act("edit", at(json!({"text": "better"}))).await;
    let heard = socket.event("MESSAGE_UPDATE").await;
    assert_eq!((&heard["content"], heard["edited_timestamp"].is_string()), (&json!("better"), true));
    assert_eq!(
        rig.control("edit", json!({"conversation": "general", "user": "bob", "message": message, "text": "y"})).await.0,
        400
    );
    rig.act("react", at(json!({"emoji": "👍🏽"}))).await;
    let heard = socket.event("MESSAGE_REACTION_ADD").await;
    assert_eq!((&heard["emoji"], &heard["message_id"]), (&json!({"id": null, "name": "👍🏽"}), &json!(message)));
    rig.act("react", at(json!({"emoji": "👍🏽", "remove": true}))).await;
    socket.event("MESSAGE_REACTION_REMOVE").await;
    rig.act("typing", json!({"conversation": "general", "user": "ann"})).await;
    socket.event("TYPING_START").await;
    rig.act("remove", json!({"conversation": "general", "message": message})).await;
    assert_eq!(socket.event("MESSAGE_DELETE").await["id"], json!(message));
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
        ("say", json!({"conversation": "general", "user": "ann", "text": "x", "reply_to": "9"}), 404),
        ("say", json!({"conversation": "general", "user": "ann", "text": "x", "typo": 1}), 400),
        ("edit", json!({"conversation": "general", "user": "ann", "message": "9", "text": "x"}), 404),
        ("react", json!({"conversation": "general", "user": "ann", "message": "9", "emoji": "👍"}), 404),
        ("submit", json!({"conversation": "general", "user": "ann", "values": {}}), 404),
        ("raw", json!({"event": 5}), 400),
        ("fault", json!({"kind": "flood"}), 400),
        ("conversation", json!({"name": "dm:x", "kind": "text"}), 400),
    ] {
        let (got, answer) = rig.control(verb, body.clone()).await;
        assert_eq!(got, status, "{verb} {body}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|why| !why.is_empty()));
    }
    rig.end().await;
}

#[tokio::test]
async fn a_page_reads_conversations_files_limits_and_counts() {
    let rig = start().await;
    let file = json!({"name": "a.html", "mime": "text/html", "text": "<script>"});
    rig.act("say", json!({"conversation": "dm:ann", "user": "ann", "text": "", "files": [file]})).await;
    let entry = rig.last("dm:ann");
    let address = format!("{}/control/discord/file?id={}", rig.running.url, entry.files[0].id);
    let got = rig.http.get(address).send().await.expect("an answer");
    assert_eq!(got.headers()["content-type"], "application/octet-stream");
    assert_eq!(got.text().await.expect("text"), "<script>");
    let names = rig.control_get("conversations").await;
    let names: Vec<_> =
        names["conversations"].as_array().into_iter().flatten().map(|one| one["name"].clone()).collect();
    assert!(names.contains(&json!("general")) && names.contains(&json!("dm:ann")), "{names:?}");
    let limits = rig.act("limits", json!({"route_requests": 7})).await;
    assert_eq!(limits["route_requests"], 7);
    rig.ok("GET users/@me", Value::Null).await;
    let stats = rig.control_get("stats").await;
    assert_eq!(
        (&stats["requests"], &stats["received"], &stats["methods"]["GET users/@me"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let entries = rig.control_get("transcript?conversation=dm:ann&after=0").await;
    assert_eq!(entries["entries"][0]["files"][0]["name"], "a.html");
    rig.end().await;
}

#[tokio::test]
async fn entries_stream_as_they_come() {
    let rig = start().await;
    rig.say("general", "ann", "elsewhere").await;
    let address = format!("{}/control/discord/transcript/events?conversation=dm:ann", rig.running.url);
    let mut stream = rig.http.get(address).send().await.expect("an answer");
    let mut seen = String::new();
    for text in ["one", "two"] {
        rig.say("dm:ann", "ann", text).await;
        while !seen.contains(&format!("\"text\":\"{text}\"")) {
            let chunk = stream.chunk().await.expect("a stream").expect("not yet over");
            seen.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
    assert_eq!(seen.lines().filter(|line| line.starts_with("event: entry")).count(), 2);
    drop(stream);
    rig.end().await;
}

#[tokio::test]
async fn ids_of_people_and_places_stay_the_same_over_restarts() {
    let (one, two) = (start().await, start().await);
    two.say("dm:bob", "bob", "first").await;
    for (conversation, user) in [("dm:ann", "ann"), ("general", "ann")] {
        assert_eq!(one.say(conversation, user, "x").await.0, two.say(conversation, user, "x").await.0);
    }
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn foreign_pages_may_not_steer() {
    let rig: Rig = start().await;
    let request = rig.http.get(format!("{}/control/discord/stats", rig.running.url)).header("origin", "http://e.test");
    assert_eq!(request.send().await.expect("an answer").status(), 403);
    rig.end().await;
}

#[tokio::test]
async fn a_bot_is_taken_out_of_a_guild_and_let_in_again() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    let (channel, _) = rig.say("general", "ann", "x").await;
    let state = |state: &str| json!({"name": "general", "state": state});
    rig.act("conversation", state("outage")).await;
    assert_eq!(socket.event("GUILD_DELETE").await["unavailable"], true);
    rig.act("conversation", state("open")).await;
    socket.event("GUILD_CREATE").await;
    rig.act("conversation", state("removed")).await;
    assert_eq!(socket.event("GUILD_DELETE").await["unavailable"], Value::Null);
    rig.say("general", "ann", "unheard").await;
    let call = format!("POST channels/{channel}/messages");
    assert_eq!(rig.refusal(&call, json!({"content": "x"})).await, "403 50001 Missing Access");
    rig.act("conversation", state("open")).await;
    socket.event("GUILD_CREATE").await;
    rig.say("general", "ann", "heard").await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "heard");
    rig.ok(&call, json!({"content": "x"})).await;
    rig.end().await;
}
