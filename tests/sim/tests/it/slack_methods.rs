//! The Web API as a bot meets it: answers, refusals, limits.

use expect_test::expect;
use serde_json::{Value, json};
use sim::slack::{Limits, NewApp, Setup};
use slack_morphism::prelude::{
    SlackApiAuthTestResponse, SlackApiChatPostMessageResponse, SlackApiConversationsHistoryResponse,
    SlackApiConversationsInfoResponse, SlackApiConversationsRepliesResponse, SlackApiUsersInfoResponse,
    SlackApiUsersListResponse,
};

use crate::slack_rig::{BOT, start, start_setup, start_with, text_of};

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text}})
}

#[tokio::test]
async fn answers_are_what_a_strict_client_takes() {
    let rig = start().await;
    let (channel, ts) = rig.say("general", "ann", "hello").await;
    let read = |answer: &Value| answer.clone();
    serde_json::from_value::<SlackApiAuthTestResponse>(read(&rig.ok("auth.test", json!({})).await)).expect("auth.test");
    let body =
        json!({"channel": channel, "thread_ts": ts, "text": "a", "blocks": [section("*b*"), {"type": "divider"}]});
    let posted = rig.ok("chat.postMessage", body).await;
    serde_json::from_value::<SlackApiChatPostMessageResponse>(read(&posted)).expect("chat.postMessage");
    let info = rig.ok("conversations.info", json!({"channel": channel})).await;
    serde_json::from_value::<SlackApiConversationsInfoResponse>(info).expect("conversations.info");
    let history = rig.ok("conversations.history", json!({"channel": channel})).await;
    serde_json::from_value::<SlackApiConversationsHistoryResponse>(history).expect("conversations.history");
    let replies = rig.ok("conversations.replies", json!({"channel": channel, "ts": ts})).await;
    serde_json::from_value::<SlackApiConversationsRepliesResponse>(replies).expect("conversations.replies");
    let users = rig.ok("users.list", json!({})).await;
    let user = users["members"][0]["id"].clone();
    serde_json::from_value::<SlackApiUsersListResponse>(users).expect("users.list");
    let user = rig.ok("users.info", json!({"user": user, "include_locale": true})).await;
    serde_json::from_value::<SlackApiUsersInfoResponse>(user).expect("users.info");
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn a_form_is_read_like_an_object() {
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let blocks = json!([section("*bold* &lt;3")]).to_string();
    let form = [("token", BOT), ("channel", channel.as_str()), ("text", "x"), ("blocks", blocks.as_str())];
    let answer: Value = rig
        .http
        .post(rig.address("chat.postMessage"))
        .form(&form)
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(rig.last("general").text, "bold <3");
    let bare =
        rig.http.post(rig.address("api.test")).header("content-type", "application/json").body("{}").send().await;
    let warned: Value = bare.expect("an answer").json().await.expect("JSON");
    assert_eq!(warned["warning"], "missing_charset");
    rig.end().await;
}

#[tokio::test]
async fn refusals_have_the_platforms_names() {
    let rig = start().await;
    let (channel, ts) = rig.say("general", "ann", "hello").await;
    rig.done("conversation", json!({"name": "attic", "state": "archived"})).await;
    rig.done("conversation", json!({"name": "elsewhere", "state": "left"})).await;
    rig.done("conversation", json!({"name": "secret", "kind": "private", "state": "left"})).await;
    let attic = rig.done("conversation", json!({"name": "attic"})).await["chat"].clone();
    let elsewhere = rig.done("conversation", json!({"name": "elsewhere"})).await["chat"].clone();
    let secret = rig.done("conversation", json!({"name": "secret"})).await["chat"].clone();
    let posted = rig.ok("chat.postMessage", json!({"channel": channel, "text": "mine"})).await["ts"].clone();
    let reply =
        rig.ok("chat.postMessage", json!({"channel": channel, "text": "reply", "thread_ts": ts})).await["ts"].clone();
    let long = "x".repeat(4_001);
    let cases = [
        ("chat.postMessage", json!({"text": "x"})),
        ("chat.postMessage", json!({"channel": "C0NOWHERE", "text": "x"})),
        ("chat.postMessage", json!({"channel": attic, "text": "x"})),
        ("chat.postMessage", json!({"channel": elsewhere, "text": "x"})),
        ("chat.postMessage", json!({"channel": secret, "text": "x"})),
        ("chat.postMessage", json!({"channel": channel})),
        ("chat.postMessage", json!({"channel": channel, "text": "x", "thread_ts": "1700000000.000001"})),
        ("chat.postMessage", json!({"channel": channel, "text": "x", "thread_ts": 5})),
        ("chat.postMessage", json!({"channel": channel, "text": "x", "thread_ts": reply})),
        ("chat.postMessage", json!({"channel": channel, "blocks": {"type": "divider"}})),
        ("chat.postMessage", json!({"channel": channel, "blocks": [{"type": "odd"}]})),
        ("chat.postMessage", json!({"channel": channel, "text": "x", "markdown_text": "y"})),
        ("chat.postMessage", json!({"channel": channel, "markdown_text": "y".repeat(12_001)})),
        ("chat.postMessage", json!({"channel": channel, "text": "x", "metadata": {"event_type": "t"}})),
        ("chat.update", json!({"channel": channel, "ts": ts, "text": "x"})),
        ("chat.update", json!({"channel": channel, "ts": "1700000000.000001", "text": "x"})),
        ("chat.update", json!({"channel": channel, "ts": posted, "text": long})),
        ("chat.delete", json!({"channel": channel, "ts": ts})),
        ("chat.postEphemeral", json!({"channel": channel, "user": "U0NOBODY", "text": "x"})),
        ("reactions.add", json!({"channel": channel, "timestamp": "1700000000.000001", "name": "eyes"})),
        ("reactions.add", json!({"channel": channel, "timestamp": ts, "name": "👀"})),
        ("reactions.remove", json!({"channel": channel, "timestamp": ts, "name": "eyes"})),
        ("conversations.info", json!({"channel": secret})),
        ("conversations.history", json!({"channel": elsewhere})),
        ("conversations.history", json!({"channel": channel, "limit": 5_000})),
        ("conversations.replies", json!({"channel": channel, "ts": "1700000000.000001"})),
        ("conversations.open", json!({"users": "U0NOBODY"})),
        ("users.info", json!({"user": "U0NOBODY"})),
        ("bots.info", json!({"bot": "B0NOBODY"})),
        ("team.info", json!({"team": "T0NOWHERE"})),
        ("files.info", json!({"file": "F0NOTHING"})),
        ("files.getUploadURLExternal", json!({"filename": "a"})),
        (
            "views.open",
            json!({"trigger_id": "1.2.3", "view": {"type": "modal", "title": {"type": "plain_text", "text": "t"}, "blocks": []}}),
        ),
        (
            "assistant.threads.setStatus",
            json!({"channel_id": channel, "thread_ts": "1700000000.000001", "status": "x"}),
        ),
        ("files.upload", json!({})),
        ("chat.unknown", json!({})),
    ];
    let mut told = Vec::new();
    for (method, body) in cases {
        told.push(format!("{method} {}", rig.refusal(method, body).await));
    }
    expect![[r#"
        chat.postMessage channel_not_found
        chat.postMessage channel_not_found
        chat.postMessage is_archived
        chat.postMessage not_in_channel
        chat.postMessage channel_not_found
        chat.postMessage no_text
        chat.postMessage thread_not_found
        chat.postMessage invalid_thread_ts
        chat.postMessage cannot_reply_to_message
        chat.postMessage invalid_blocks_format
        chat.postMessage invalid_blocks
        chat.postMessage markdown_text_conflict
        chat.postMessage msg_too_long
        chat.postMessage invalid_metadata_format
        chat.update cant_update_message
        chat.update message_not_found
        chat.update msg_too_long
        chat.delete cant_delete_message
        chat.postEphemeral user_not_in_channel
        reactions.add message_not_found
        reactions.add invalid_name
        reactions.remove no_reaction
        conversations.info channel_not_found
        conversations.history not_in_channel
        conversations.history invalid_limit
        conversations.replies thread_not_found
        conversations.open user_not_found
        users.info user_not_found
        bots.info bot_not_found
        team.info team_not_found
        files.info file_not_found
        files.getUploadURLExternal invalid_arguments
        views.open invalid_trigger_id
        assistant.threads.setStatus invalid_thread_ts
        files.upload method_deprecated
        chat.unknown unknown_method"#]]
    .assert_eq(&told.join("\n"));
    rig.end().await;
}

#[tokio::test]
async fn a_long_text_is_cut_and_a_wrong_block_is_explained() {
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let posted = rig.ok("chat.postMessage", json!({"channel": channel, "text": "é".repeat(40_001)})).await;
    assert_eq!(posted["message"]["text"].as_str().map(|text| text.chars().count()), Some(40_000));
    let (_, refused) = rig.call("chat.postMessage", json!({"channel": channel, "blocks": [section("")]})).await;
    assert_eq!(
        refused["response_metadata"]["messages"],
        json!(["[ERROR] must be more than 0 characters [json-pointer:/blocks/0/text/text]"])
    );
    assert_eq!(rig.rules(), ["invalid_blocks"]);
    rig.end().await;
}

#[tokio::test]
async fn metadata_is_given_back_to_whom_asks_for_it() {
    let rig = start().await;
    let (channel, ts) = rig.say("general", "ann", "hello").await;
    let metadata = json!({"event_type": "reply", "event_payload": {"id": "R1"}});
    let body = json!({"channel": channel, "text": "x", "thread_ts": ts, "metadata": metadata});
    rig.ok("chat.postMessage", body).await;
    let found =
        rig.ok("conversations.replies", json!({"channel": channel, "ts": ts, "include_all_metadata": true})).await;
    assert_eq!(found["messages"][1]["metadata"], metadata);
    let found = rig.ok("conversations.replies", json!({"channel": channel, "ts": ts})).await;
    assert_eq!((&found["messages"][1]["metadata"], &found["messages"][0]["reply_count"]), (&Value::Null, &json!(1)));
    rig.end().await;
}

#[tokio::test]
async fn histories_are_paged_newest_first_without_what_threads_hold() {
    let rig = start().await;
    let mut last = (String::new(), String::new());
    for text in ["a", "b", "c"] {
        last = rig.say("general", "ann", text).await;
    }
    let channel = &last.0;
    rig.ok("chat.postMessage", json!({"channel": channel, "text": "hidden", "thread_ts": last.1})).await;
    rig.ok(
        "chat.postMessage",
        json!({"channel": channel, "text": "shown", "thread_ts": last.1, "reply_broadcast": true}),
    )
    .await;
    let texts = |page: &Value| -> Vec<String> {
        page["messages"].as_array().into_iter().flatten().map(|message| text_of(&message["text"])).collect()
    };
    let first = rig.ok("conversations.history", json!({"channel": channel, "limit": 3})).await;
    assert_eq!((texts(&first), &first["has_more"]), (vec!["shown".into(), "c".into(), "b".into()], &json!(true)));
    let next = json!({"channel": channel, "limit": 3, "cursor": first["response_metadata"]["next_cursor"]});
    let second = rig.ok("conversations.history", next).await;
    assert_eq!((texts(&second), &second["has_more"]), (vec!["a".into()], &json!(false)));
    let newer = rig.ok("conversations.history", json!({"channel": channel, "oldest": last.1})).await;
    assert_eq!(texts(&newer), ["shown"]);
    let newer = rig.ok("conversations.history", json!({"channel": channel, "oldest": last.1, "inclusive": true})).await;
    assert_eq!(texts(&newer), ["shown", "c"]);
    rig.end().await;
}

#[tokio::test]
async fn what_is_private_is_seen_by_one_person_and_in_no_history() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let user = text_of(&socket.event().await["user"]);
    rig.ok("chat.postEphemeral", json!({"channel": channel, "user": user, "text": "*psst*"})).await;
    let entry = rig.last("general");
    assert_eq!((entry.to.as_deref(), entry.text.as_str()), (Some("ann"), "psst"));
    assert_eq!(serde_json::to_value(entry.kind).expect("JSON"), "private");
    let history = rig.ok("conversations.history", json!({"channel": channel})).await;
    assert_eq!(history["messages"].as_array().map(Vec::len), Some(1));
    rig.end().await;
}

#[tokio::test]
async fn a_message_to_a_person_opens_the_direct_conversation() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.say("general", "ann", "hello").await;
    let user = socket.event().await["user"].clone();
    let opened = rig.ok("conversations.open", json!({"users": user})).await;
    let posted = rig.ok("chat.postMessage", json!({"channel": user, "text": "hi"})).await;
    assert_eq!(posted["channel"], opened["channel"]["id"]);
    assert_eq!(rig.last("dm:ann").text, "hi");
    rig.end().await;
}

#[tokio::test]
async fn an_update_keeps_the_blocks_that_it_does_not_name() {
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let posted = rig.ok("chat.postMessage", json!({"channel": channel, "text": "x", "blocks": [section("old")]})).await;
    rig.ok("chat.update", json!({"channel": channel, "ts": posted["ts"], "text": "new"})).await;
    assert_eq!(rig.last("general").text, "old");
    rig.ok("chat.update", json!({"channel": channel, "ts": posted["ts"], "text": "new", "blocks": []})).await;
    assert_eq!(rig.last("general").text, "new");
    rig.end().await;
}

#[tokio::test]
async fn the_pace_of_messages_and_methods_is_held() {
    let rig = start_with(Limits { message_burst: 2.0, tier3: 2.0, ..Limits::default() }).await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let (other, _) = rig.say("dm:bob", "bob", "hello").await;
    for _ in 0..2 {
        rig.ok("chat.postMessage", json!({"channel": channel, "text": "x"})).await;
    }
    let response = rig
        .http
        .post(rig.address("chat.postMessage"))
        .bearer_auth(BOT)
        .form(&[("channel", channel.as_str()), ("text", "x")])
        .send()
        .await
        .expect("an answer");
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"1".parse().expect("a header"))
    );
    assert_eq!(response.json::<Value>().await.expect("JSON"), json!({"ok": false, "error": "ratelimited"}));
    rig.ok("chat.postMessage", json!({"channel": other, "text": "x"})).await;
    for _ in 0..2 {
        rig.ok("conversations.info", json!({"channel": channel})).await;
    }
    assert_eq!(rig.refusal("conversations.info", json!({"channel": channel})).await, "ratelimited");
    rig.done("limits", json!({"tier3": 0.0})).await;
    rig.ok("conversations.info", json!({"channel": channel})).await;
    rig.end().await;
}

#[tokio::test]
async fn scopes_that_are_missing_are_named() {
    let first = NewApp {
        name: "toolgate".into(),
        scopes: Some(vec!["chat:write".into(), "channels:read".into()]),
        ..NewApp::default()
    };
    let rig = start_setup(Setup { apps: vec![first], limits: Limits::none(), ..Setup::default() }).await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    rig.ok("chat.postMessage", json!({"channel": channel, "text": "x"})).await;
    let (_, refused) = rig.call("conversations.history", json!({"channel": channel})).await;
    assert_eq!(
        refused,
        json!({"ok": false, "error": "missing_scope", "needed": "channels:history", "provided": "channels:read,chat:write"})
    );
    rig.end().await;
}
