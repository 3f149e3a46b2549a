//! What a bot posts, changes and asks, and what it is refused.

use expect_test::expect;
use serde_json::{Value, json};

use crate::rig::{Rig, start};

#[tokio::test]
async fn a_text_is_parsed_shown_and_returned() {
    let rig = start().await;
    let (chat, asked) = rig.say("dm:ann", "ann", "hello").await;
    let sent = rig
        .ok(
            "SendMessage",
            json!({
                "chat_id": chat, "text": "<b>hi</b> x &lt; y @someone ", "parse_mode": "HTML", "reply_parameters": {"message_id": asked},
                "reply_markup": {"inline_keyboard": [[{"text": "Go", "callback_data": "go"}], [{"text": "See", "url": "https://e.test"}]]},
            }),
        )
        .await;
    assert_eq!(sent["text"], "hi x < y @someone");
    assert_eq!(sent["reply_to_message"]["text"], "hello");
    assert_eq!(sent["from"]["username"], "toolgate_bot");
    let entries = rig.telegram().transcript(Some("dm:ann"), 1);
    let mut entry = serde_json::to_value(&entries).expect("entries are plain");
    entry[0]["at"] = json!(0);
    entry[0]["chat"] = json!(0);
    entry[0]["payload"] = json!("…");
    expect![[r#"
        [
          {
            "n": 2,
            "at": 0,
            "conversation": "dm:ann",
            "chat": 0,
            "by": "bot",
            "kind": "message",
            "message": 2,
            "text": "hi x < y @someone",
            "reply_to": 1,
            "entities": [
              {
                "type": "bold",
                "offset": 0,
                "length": 2
              },
              {
                "type": "mention",
                "offset": 9,
                "length": 8
              }
            ],
            "mentions": 1,
            "buttons": [
              {
                "id": "go",
                "text": "Go",
                "row": 0
              },
              {
                "id": "https://e.test",
                "text": "See",
                "row": 1,
                "url": "https://e.test"
              }
            ],
            "files": [],
            "payload": "…"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&entry).expect("plain"));
    assert_eq!((rig.telegram().stats().mentions, rig.rules().len()), (1, 0));
    rig.end().await;
}

#[tokio::test]
async fn limits_count_utf16_units_after_parsing() {
    let rig = start().await;
    let (chat, _) = rig.say("dm:ann", "ann", "hello").await;
    let html = |text: String| json!({"chat_id": chat, "text": text, "parse_mode": "HTML"});
    rig.ok("sendMessage", html(format!("<b>{}</b>", "&amp;".repeat(4_096)))).await;
    rig.ok("sendMessage", html("😀".repeat(2_048))).await;
    let mut told = vec![
        rig.refusal("sendMessage", html("😀".repeat(2_049))).await,
        rig.refusal("sendMessage", html("é".repeat(4_097))).await,
        rig.refusal("sendMessage", html("<b> \u{200b}\n</b>".into())).await,
        rig.refusal("sendMessage", html("a <p>".into())).await,
        rig.refusal("sendMessage", json!({"chat_id": chat, "text": "*a*", "parse_mode": "Markdown"})).await,
        rig.refusal("sendMessage", json!({"chat_id": chat, "text": "a", "parse_mode": "BBCode"})).await,
        rig.refusal("sendMessage", json!({"chat_id": chat})).await,
        rig.refusal("sendMessage", json!({"text": "a"})).await,
        rig.refusal(
            "sendMessage",
            json!({"chat_id": chat, "text": "😀", "entities": [{"type": "bold", "offset": 0, "length": 1}]}),
        )
        .await,
    ];
    let form = reqwest::multipart::Form::new()
        .text("chat_id", chat.to_string())
        .text("caption", "c".repeat(1_025))
        .part("document", reqwest::multipart::Part::bytes(vec![1, 2]).file_name("a.bin"));
    let answer: Value = rig
        .http
        .post(rig.address("sendDocument"))
        .multipart(form)
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    told.push(format!("{} {}", answer["error_code"], answer["description"].as_str().unwrap_or_default()));
    expect![[r#"
        400 Bad Request: message is too long
        400 Bad Request: message is too long
        400 Bad Request: message text is empty
        400 Bad Request: can't parse entities: Unsupported start tag "p" at byte offset 2
        400 Bad Request: legacy parse_mode Markdown is not supported here, use HTML
        400 Bad Request: unsupported parse_mode
        400 Bad Request: message text is empty
        400 Bad Request: chat_id is empty
        400 Bad Request: can't parse entities: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at UTF-16 offset 1
        400 Bad Request: message caption is too long"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(rig.rules().len(), told.len(), "each broke a rule");
    rig.end().await;
}

#[tokio::test]
async fn more_than_a_hundred_entities_are_ignored() {
    let rig = start().await;
    let (chat, _) = rig.say("dm:ann", "ann", "hello").await;
    let sent =
        rig.ok("sendMessage", json!({"chat_id": chat, "text": "<b>a</b> ".repeat(150), "parse_mode": "HTML"})).await;
    assert_eq!(sent["entities"].as_array().map(Vec::len), Some(100));
    rig.end().await;
}

#[tokio::test]
async fn states_of_the_world_are_refused_without_being_violations() {
    let rig = start().await;
    let (chat, asked) = rig.say("dm:ann", "ann", "hello").await;
    let (group, _) = rig.say("general", "bob", "hello").await;
    let sent = rig.ok("sendMessage", json!({"chat_id": chat, "text": "a"})).await;
    let text = |chat: i64| json!({"chat_id": chat, "text": "a"});
    let mut told = vec![
        rig.refusal("sendMessage", text(5)).await,
        rig.refusal("sendMessage", json!({"chat_id": chat, "text": "a", "reply_parameters": {"message_id": 99}})).await,
        rig.refusal("sendMessage", json!({"chat_id": group, "text": "a", "message_thread_id": 77})).await,
        rig.refusal("editMessageText", json!({"chat_id": chat, "message_id": sent["message_id"], "text": "a"})).await,
        rig.refusal("editMessageText", json!({"chat_id": chat, "message_id": asked, "text": "b"})).await,
        rig.refusal("editMessageText", json!({"chat_id": chat, "message_id": 99, "text": "b"})).await,
        rig.refusal("editMessageCaption", json!({"chat_id": chat, "message_id": sent["message_id"], "caption": "b"}))
            .await,
        rig.refusal("deleteMessage", json!({"chat_id": chat, "message_id": 99})).await,
        rig.refusal("answerCallbackQuery", json!({"callback_query_id": "1"})).await,
        rig.refusal("getFile", json!({"file_id": "x"})).await,
    ];
    rig.ok("sendMessage", json!({"chat_id": chat, "text": "a", "reply_parameters": {"message_id": 99, "allow_sending_without_reply": true}})).await;
    rig.control("conversation", json!({"name": "dm:ann", "state": "blocked"})).await;
    told.push(rig.refusal("sendMessage", text(chat)).await);
    rig.control("conversation", json!({"name": "general", "state": "kicked"})).await;
    told.push(rig.refusal("sendMessage", text(group)).await);
    rig.control("conversation", json!({"name": "general", "state": "gone"})).await;
    told.push(rig.refusal("sendMessage", text(group)).await);
    expect![[r#"
        400 Bad Request: chat not found
        400 Bad Request: message to be replied not found
        400 Bad Request: message thread not found
        400 Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message
        400 Bad Request: message can't be edited
        400 Bad Request: message to edit not found
        400 Bad Request: there is no caption in the message to edit
        400 Bad Request: message to delete not found
        400 Bad Request: query is too old and response timeout expired or query ID is invalid
        400 Bad Request: wrong file_id or the file is temporarily unavailable
        403 Forbidden: bot was blocked by the user
        403 Forbidden: bot was kicked from the supergroup chat
        400 Bad Request: chat not found"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn an_upgraded_group_names_its_new_id() {
    let rig = start().await;
    let (_, made) = rig.control("conversation", json!({"name": "team", "kind": "group"})).await;
    let old = made["chat"].clone();
    let (status, now) = rig.control("conversation", json!({"name": "team", "state": "upgraded"})).await;
    assert_eq!(status, 200, "{now}");
    let (status, answer) = rig.call("sendMessage", json!({"chat_id": old, "text": "a"})).await;
    assert_eq!((status, &answer["parameters"]["migrate_to_chat_id"]), (400, &now["chat"]));
    rig.ok("sendMessage", json!({"chat_id": now["chat"], "text": "a"})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0]["message"]["migrate_to_chat_id"], now["chat"]);
    assert_eq!(updates[1]["message"]["migrate_from_chat_id"], old);
    rig.end().await;
}

#[tokio::test]
async fn topics_are_named_by_people_and_numbered_for_bots() {
    let rig = start().await;
    rig.control("conversation", json!({"name": "ops", "kind": "forum"})).await;
    let (_, said) =
        rig.control("say", json!({"conversation": "ops", "user": "ann", "text": "hi", "thread": "Alerts"})).await;
    let (_, general) =
        rig.control("say", json!({"conversation": "ops", "user": "ann", "text": "hi", "thread": "General"})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert!(updates[0]["message"]["forum_topic_created"].is_object());
    let thread = updates[1]["message"]["message_thread_id"].clone();
    assert_eq!(updates[1]["message"]["is_topic_message"], json!(true));
    assert_eq!(updates[2]["message"]["message_thread_id"], Value::Null, "{general}");
    let chat = said["chat"].clone();
    let sent = rig.ok("sendMessage", json!({"chat_id": chat, "text": "a", "message_thread_id": thread})).await;
    assert_eq!(sent["message_thread_id"], thread);
    rig.ok("sendChatAction", json!({"chat_id": chat, "action": "typing", "message_thread_id": 1})).await;
    let told = rig.refusal("sendMessage", json!({"chat_id": chat, "text": "a", "message_thread_id": 1})).await;
    assert_eq!((told.as_str(), rig.rules()), ("400 Bad Request: message thread not found", vec!["general_topic"]));
    let seen: Vec<_> =
        rig.telegram().transcript(Some("ops"), 0).into_iter().map(|entry| entry.thread.unwrap_or_default()).collect();
    assert_eq!(seen, ["Alerts", "General", "Alerts", "General"]);
    rig.end().await;
}

#[tokio::test]
async fn roles_of_people_are_told_when_asked() {
    let rig = start().await;
    let (chat, _) = rig.say("general", "ann", "hello").await;
    rig.say("dm:bob", "bob", "hello").await;
    let (bob, _) = rig.say("dm:bob", "bob", "x").await;
    let role =
        async |user: i64| rig.ok("getChatMember", json!({"chat_id": chat, "user_id": user})).await["status"].clone();
    assert_eq!(role(bob).await, "left");
    rig.control("conversation", json!({"name": "general", "roles": {"bob": "administrator"}})).await;
    assert_eq!(role(bob).await, "administrator");
    let all = rig.ok("getChatAdministrators", json!({"chat_id": chat})).await;
    assert_eq!((&all[0]["user"]["is_bot"], &all[1]["user"]["username"]), (&json!(true), &json!("bob")));
    let told = rig.refusal("getChatMember", json!({"chat_id": chat, "user_id": 5})).await;
    assert_eq!(told, "400 Bad Request: invalid user_id specified");
    rig.end().await;
}

#[tokio::test]
async fn a_removed_topic_or_message_is_not_found_any_more() {
    let rig = start().await;
    let (_, said) =
        rig.control("say", json!({"conversation": "ops", "user": "ann", "text": "hi", "thread": "Alerts"})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    let thread = &updates[1]["message"]["message_thread_id"];
    assert_eq!(rig.control("remove", json!({"conversation": "ops", "thread": "Alerts"})).await.0, 200);
    let chat = &said["chat"];
    let told = rig.refusal("sendMessage", json!({"chat_id": chat, "text": "a", "message_thread_id": thread})).await;
    assert_eq!(told, "400 Bad Request: message thread not found");
    let (chat, number) = rig.say("dm:ann", "ann", "hi").await;
    rig.control("remove", json!({"conversation": "dm:ann", "message": number})).await;
    let reply = json!({"chat_id": chat, "text": "a", "reply_parameters": {"message_id": number}});
    assert_eq!(rig.refusal("sendMessage", reply).await, "400 Bad Request: message to be replied not found");
    assert_eq!(rig.control("remove", json!({"conversation": "dm:ann", "message": number})).await.0, 404);
    assert_eq!(rig.control("remove", json!({"conversation": "dm:ann"})).await.0, 400);
    rig.end().await;
}

#[tokio::test]
async fn files_go_up_and_down() {
    let rig = start().await;
    let file = json!({"name": "a b.txt", "mime": "text/plain", "base64": "aGVsbG8="});
    let (_, said) =
        rig.control("say", json!({"conversation": "dm:ann", "user": "ann", "text": "see", "files": [file]})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0]["message"]["caption"], "see");
    let id = updates[0]["message"]["document"]["file_id"].clone();
    let path = rig.ok("getFile", json!({"file_id": id})).await["file_path"].as_str().expect("a path").to_owned();
    for path in [path.clone(), path.replace('/', "%2F")] {
        let address = format!("{}/telegram/file/bot123456:demo/{path}", rig.running.url);
        let got = rig.http.get(address).send().await.expect("an answer").text().await.expect("text");
        assert_eq!(got, "hello");
    }
    let part =
        reqwest::multipart::Part::bytes(b"report".to_vec()).file_name("r.txt").mime_str("text/plain").expect("a type");
    let form = reqwest::multipart::Form::new()
        .text("chat_id", said["chat"].to_string())
        .text("caption", "c")
        .part("document", part);
    let sent: Value = rig
        .http
        .post(rig.address("sendDocument"))
        .multipart(form)
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    assert_eq!(sent["result"]["document"]["file_name"], "r.txt");
    let entry = rig.telegram().transcript(Some("dm:ann"), 0).pop().expect("an entry");
    assert_eq!((entry.text.as_str(), entry.files[0].name.as_str(), entry.files[0].size), ("c", "r.txt", 6));
    let large = json!({"conversation": "dm:ann", "user": "ann", "files": [{"name": "big.bin", "size": 30_000_000}]});
    rig.control("say", large).await;
    let updates = rig.ok("getUpdates", json!({"offset": -1})).await;
    let told = rig.refusal("getFile", json!({"file_id": updates[0]["message"]["document"]["file_id"]})).await;
    assert_eq!(told, "400 Bad Request: file is too big");
    rig.end().await;
}

#[tokio::test]
async fn an_album_of_a_person_is_several_messages_with_one_mark() {
    let rig = start().await;
    let files = json!([{"name": "1.txt", "text": "1"}, {"name": "2.txt", "text": "2"}]);
    rig.control("say", json!({"conversation": "dm:ann", "user": "ann", "text": "two", "files": files})).await;
    let updates = rig.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0]["message"]["media_group_id"], updates[1]["message"]["media_group_id"]);
    assert_eq!((&updates[0]["message"]["caption"], &updates[1]["message"]["caption"]), (&json!("two"), &Value::Null));
    rig.end().await;
}

#[tokio::test]
async fn commands_are_kept_per_scope_and_language() {
    let rig = start().await;
    let list = json!([{"command": "weather", "description": "What the sky does"}]);
    rig.ok("setMyCommands", json!({"commands": list, "scope": {"type": "all_group_chats"}, "language_code": "de"}))
        .await;
    assert_eq!(
        rig.ok("getMyCommands", json!({"scope": {"type": "all_group_chats"}, "language_code": "de"})).await,
        list
    );
    assert_eq!(rig.ok("getMyCommands", json!({})).await, json!([]));
    let refused =
        |name: &str, description: String| json!({"commands": [{"command": name, "description": description}]});
    let told = [
        rig.refusal("setMyCommands", refused("Weather", "x".into())).await,
        rig.refusal("setMyCommands", refused(&"a".repeat(33), "x".into())).await,
        rig.refusal("setMyCommands", refused("a", String::new())).await,
        rig.refusal("setMyCommands", refused("a", "x".repeat(257))).await,
        rig.refusal("setMyCommands", json!({"commands": vec![json!({"command": "a", "description": "x"}); 101]})).await,
        rig.refusal("setMyCommands", json!({"commands": [], "language_code": "deutsch"})).await,
    ];
    expect![[r#"
        400 Bad Request: BOT_COMMAND_INVALID
        400 Bad Request: BOT_COMMAND_INVALID
        400 Bad Request: BOT_COMMAND_DESCRIPTION_INVALID
        400 Bad Request: BOT_COMMAND_DESCRIPTION_INVALID
        400 Bad Request: BOT_COMMANDS_TOO_MUCH
        400 Bad Request: invalid language code specified"#]]
    .assert_eq(&told.join("\n"));
    rig.ok("deleteMyCommands", json!({"scope": {"type": "all_group_chats"}, "language_code": "de"})).await;
    rig.end().await;
}

#[tokio::test]
async fn names_in_any_case_and_every_way_of_sending_parameters_work() {
    let rig = start().await;
    let (chat, _) = rig.say("dm:ann", "ann", "hello").await;
    let get = format!("{}?chat_id={chat}&text=a%20b+c", rig.address("SENDMESSAGE"));
    let form = [("chat_id", chat.to_string()), ("text", "a b c".into())];
    let multipart = reqwest::multipart::Form::new().text("chat_id", chat.to_string()).text("text", "a b c");
    let requests = [
        rig.http.get(get),
        rig.http.post(rig.address("sendmessage")).form(&form),
        rig.http.post(rig.address("SendMessage")).multipart(multipart),
        rig.http.post(rig.address("sendMessage")).json(&json!({"chat_id": chat.to_string(), "text": "a b c"})),
    ];
    for request in requests {
        let answer: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        assert_eq!(answer["result"]["text"], "a b c", "{answer}");
    }
    rig.end().await;
}

#[tokio::test]
async fn unknown_methods_and_malformed_tokens_are_refused() {
    let rig = start().await;
    assert_eq!(rig.refusal("sendNothing", json!({})).await, "404 Not Found");
    let answer = |path: &'static str| status(&rig, path);
    assert_eq!(answer("/telegram/botx/getMe").await, 401);
    assert_eq!(answer("/telegram/bot1:/getMe").await, 401);
    assert_eq!(answer("/telegram/getMe").await, 404);
    assert_eq!(answer("/telegram/file/bot123456:demo/nothing").await, 404);
    let broken = rig
        .http
        .post(rig.address("getMe"))
        .header("content-type", "application/json")
        .body("{")
        .send()
        .await
        .expect("an answer");
    assert_eq!(broken.status(), 400);
    assert_eq!(rig.rules(), ["unknown_method", "token", "token", "json"]);
    rig.end().await;
}

async fn status(rig: &Rig, path: &str) -> u16 {
    rig.http.get(format!("{}{path}", rig.running.url)).send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn drafts_are_for_private_chats_and_reactions_for_known_emoji() {
    let rig = start().await;
    let (chat, asked) = rig.say("dm:ann", "ann", "hello").await;
    let (group, _) = rig.say("general", "ann", "hello").await;
    rig.ok("sendMessageDraft", json!({"chat_id": chat, "draft_id": 1, "text": "so far"})).await;
    rig.ok(
        "setMessageReaction",
        json!({"chat_id": chat, "message_id": asked, "reaction": [{"type": "emoji", "emoji": "👀"}]}),
    )
    .await;
    rig.ok("setMessageReaction", json!({"chat_id": chat, "message_id": asked})).await;
    rig.refusal("sendMessageDraft", json!({"chat_id": group, "draft_id": 1, "text": "so far"})).await;
    rig.refusal("sendMessageDraft", json!({"chat_id": chat, "text": "so far"})).await;
    rig.refusal(
        "setMessageReaction",
        json!({"chat_id": chat, "message_id": asked, "reaction": [{"type": "emoji", "emoji": "x"}]}),
    )
    .await;
    assert_eq!(rig.rules(), ["draft_chat", "draft_id", "reaction"]);
    rig.end().await;
}
