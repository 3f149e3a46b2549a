//! Files, streams, statuses, and how everything rich is seen.

use expect_test::expect;
use serde_json::{Value, json};

use crate::slack_rig::{start, text_of};

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text}})
}

#[tokio::test]
async fn a_file_is_sent_in_three_steps_and_read_back() {
    let rig = start().await;
    let (channel, ts) = rig.say("general", "ann", "hello").await;
    let address = rig.ok("files.getUploadURLExternal", json!({"filename": "a.csv", "length": 3})).await;
    let (url, id) = (text_of(&address["upload_url"]), &address["file_id"]);
    assert_eq!(rig.refusal("files.completeUploadExternal", json!({"files": [{"id": id}]})).await, "file_not_uploaded");
    assert_eq!(rig.http.post(&url).body("wrong").send().await.expect("an answer").status(), 400);
    let sent = rig.http.post(&url).body("a,b").send().await.expect("an answer");
    assert_eq!((sent.status().as_u16(), sent.text().await.expect("text").as_str()), (200, "OK - 3"));
    assert_eq!(rig.http.post(&url).body("a,b").send().await.expect("an answer").status(), 404);
    let body = json!({"files": [{"id": id, "title": "Table"}], "channel_id": channel, "thread_ts": ts, "initial_comment": "*see*"});
    rig.ok("files.completeUploadExternal", body).await;
    let entry = rig.last("general");
    assert_eq!((entry.text.as_str(), entry.files[0].mime.as_str(), entry.thread), ("see", "text/csv", Some(ts)));
    let info = rig.ok("files.info", json!({"file": id})).await;
    assert_eq!(info["file"]["title"], "Table");
    assert_eq!(rig.rules(), ["file_not_uploaded", "upload_length"]);
    rig.end().await;
}

#[tokio::test]
async fn a_stream_grows_and_ends() {
    let rig = start().await;
    let (channel, ts) = rig.say("dm:ann", "ann", "tell me").await;
    let stream = rig.ok("chat.startStream", json!({"channel": channel, "thread_ts": ts})).await["ts"].clone();
    rig.ok("chat.appendStream", json!({"channel": channel, "ts": stream, "markdown_text": "**one** "})).await;
    assert_eq!(
        rig.refusal("chat.update", json!({"channel": channel, "ts": stream, "text": "x"})).await,
        "streaming_state_conflict"
    );
    rig.ok(
        "chat.stopStream",
        json!({"channel": channel, "ts": stream, "markdown_text": "two", "blocks": [section("end")]}),
    )
    .await;
    assert_eq!(rig.last("dm:ann").text, "one two\nend");
    assert_eq!(
        rig.refusal("chat.appendStream", json!({"channel": channel, "ts": stream, "markdown_text": "x"})).await,
        "message_not_in_streaming_state"
    );
    let (general, root) = rig.say("general", "ann", "here").await;
    assert_eq!(
        rig.refusal("chat.startStream", json!({"channel": general, "thread_ts": root})).await,
        "missing_recipient_user_id"
    );
    rig.end().await;
}

#[tokio::test]
async fn an_assistant_says_what_it_does_until_it_answers() {
    let rig = start().await;
    let opened = rig.done("open", json!({"conversation": "dm:ann", "user": "ann", "what": "assistant"})).await;
    let (channel, root) = (&opened["chat"], &opened["message"]);
    rig.ok("assistant.threads.setStatus", json!({"channel_id": channel, "thread_ts": root, "status": "is thinking…"}))
        .await;
    rig.ok("assistant.threads.setTitle", json!({"channel_id": channel, "thread_ts": root, "title": "Weather"})).await;
    let prompts = json!([{"title": "Oslo", "message": "weather in Oslo"}]);
    rig.ok(
        "assistant.threads.setSuggestedPrompts",
        json!({"channel_id": channel, "thread_ts": root, "prompts": prompts}),
    )
    .await;
    rig.ok("chat.postMessage", json!({"channel": channel, "thread_ts": root, "text": "done"})).await;
    let seen: Vec<String> = rig
        .slack()
        .transcript(Some("dm:ann"), 0)
        .iter()
        .map(|entry| format!("{:?} {}", entry.kind, entry.text))
        .collect();
    expect![[r#"
        Status is thinking…
        Status title: Weather
        Status prompts: Oslo
        Status 
        Message done"#]]
    .assert_eq(&seen.join("\n"));
    rig.end().await;
}

#[tokio::test]
async fn everything_rich_is_seen_as_a_person_reads_it() {
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let me = rig.ok("auth.test", json!({})).await["user_id"].clone();
    let piece = |text: &str| json!({"type": "rich_text_section", "elements": [{"type": "text", "text": text}]});
    let plain = |text: &str| json!({"type": "plain_text", "text": text});
    let blocks = json!([
        {"type": "header", "text": plain("*Title*")},
        section("*bold* <https://e.test|link> &amp; <!here> `code`"),
        {"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [{"type": "user", "user_id": me}, {"type": "text", "text": " said"}]},
            {"type": "rich_text_list", "style": "ordered", "elements": [piece("one"), piece("two")]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "let x = 1;"}]}]},
        {"type": "markdown", "text": "**md** | `x`\n\n- item"},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}, {"type": "raw_text", "text": "b"}], [null, {"type": "rich_text", "elements": [piece("c")]}]]},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "_small_"}]},
        {"type": "actions", "elements": [
            {"type": "button", "action_id": "go", "text": plain("Go"), "value": "1"},
            {"type": "button", "action_id": "web", "text": plain("Open"), "url": "https://e.test"},
            {"type": "overflow", "action_id": "more", "options": [{"text": plain("Later"), "value": "later"}]}]},
    ]);
    rig.ok("chat.postMessage", json!({"channel": channel, "text": "fallback", "blocks": blocks})).await;
    let entry = rig.last("general");
    let buttons: Vec<String> = entry.buttons.iter().map(|button| format!("{}={}", button.id, button.text)).collect();
    expect![[r#"
        *Title*
        bold link & @here code
        @toolgate said
        1. one
        2. two
        let x = 1;
        md | x
        • item
        a | b
         | c
        small
        ["go=Go", "web=Open", "more=later=Later"] 2"#]]
    .assert_eq(&format!("{}\n{buttons:?} {}", entry.text, entry.mentions));
    rig.end().await;
}

#[tokio::test]
async fn links_to_messages_name_their_place() {
    let rig = start().await;
    let (channel, ts) = rig.say("general", "ann", "hello").await;
    let link = rig.ok("chat.getPermalink", json!({"channel": channel, "message_ts": ts})).await;
    assert!(text_of(&link["permalink"]).ends_with(&format!("/archives/{channel}/p{}", ts.replace('.', ""))));
    rig.end().await;
}
