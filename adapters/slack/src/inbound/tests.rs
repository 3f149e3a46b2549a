//! What becomes of payloads, as a table; and that none panics.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

pub(super) fn me() -> Me {
    Me { user: "UBOT".into(), bot: Some("BBOT".into()), app: None, team: "T1".into(), organisation: None }
}

/// One line: how it is heard, the key, where, who, what; then files.
pub(super) fn line(message: Option<Message>) -> String {
    let Some(message) = message else { return "nothing".into() };
    let Address { conversation, thread, reply_to, direct, space, .. } = &message.address;
    let thread = thread.as_ref().map(|thread| format!("/{thread}")).unwrap_or_default();
    let mut line = format!(
        "{:?} {} {}{}/{conversation}{thread}>{} {}={:?} {:?}",
        message.heard,
        message.key,
        if *direct { "dm:" } else { "" },
        space.as_deref().unwrap_or("-"),
        reply_to.as_deref().unwrap_or("-"),
        message.sender.id,
        message.sender.name,
        message.kind,
    );
    for file in &message.files {
        line.push_str(&format!(" file:{}:{}:{:?}:{:?}", file.name, file.handle.reveal(), file.media_type, file.size));
    }
    line.push_str(if message.from_bot { " bot" } else { "" });
    line
}

/// An event around some fields of a message in a channel.
fn callback(fields: Value) -> Value {
    let mut event = json!({"type": "message", "channel": "C1", "user": "U1", "text": "x", "ts": "1700000000.000100",
        "event_ts": "1700000000.000100", "channel_type": "channel"});
    for (key, value) in fields.as_object().expect("an object") {
        event[key.as_str()] = value.clone();
    }
    json!({"team_id": "T1", "api_app_id": "A1", "event": event, "type": "event_callback", "event_id": "Ev1",
        "authorizations": [{"team_id": "T1", "user_id": "UBOT", "is_bot": true, "is_enterprise_install": false}]})
}

fn check(fields: Value, expected: Expect) {
    expected.assert_eq(&line(event(&callback(fields), &me(), "main")));
}

fn said(fields: Value) -> String {
    event(&callback(fields), &me(), "main").expect("a message").text().to_owned()
}

#[test]
fn a_direct_message_is_for_us_and_needs_no_thread() {
    check(
        json!({"channel": "D1", "channel_type": "im", "text": "hi"}),
        expect![[r#"Direct m:T1:D1:1700000000.000100 dm:T1/D1>1700000000.000100 U1="" Text { text: "hi" }"#]],
    );
    check(
        json!({"channel": "D1", "channel_type": "im", "text": "hi", "thread_ts": "5.5"}),
        expect![[r#"Direct m:T1:D1:1700000000.000100 dm:T1/D1/5.5>1700000000.000100 U1="" Text { text: "hi" }"#]],
    );
}

#[test]
fn a_mention_is_one_message_although_it_comes_as_two_events() {
    let text = "<@UBOT> do it";
    let heard = event(&callback(json!({"text": text})), &me(), "main");
    let mention = callback(json!({"text": text, "type": "app_mention", "channel_type": null}));
    assert_eq!(heard, event(&mention, &me(), "main"));
    check(
        json!({"text": text}),
        expect![[
            r#"Addressed m:T1:C1:1700000000.000100 T1/C1/1700000000.000100>1700000000.000100 U1="" Text { text: "do it" }"#
        ]],
    );
}

#[test]
fn a_thread_answers_in_its_thread_and_is_one_session() {
    let key = |fields| contract::SessionKey::of(&event(&callback(fields), &me(), "main").expect("a message").address);
    let root = key(json!({"text": "<@UBOT> root", "ts": "1.1"}));
    assert_eq!(root, key(json!({"text": "<@UBOT> more", "ts": "1.2", "thread_ts": "1.1"})));
    assert_ne!(root, key(json!({"text": "<@UBOT> other", "ts": "1.3"})));
    check(
        json!({"text": "a reply", "ts": "1.2", "thread_ts": "1.1", "parent_user_id": "UBOT", "subtype": "thread_broadcast"}),
        expect![[r#"Addressed m:T1:C1:1.2 T1/C1/1.1>1.2 U1="" Text { text: "a reply" }"#]],
    );
}

#[test]
fn the_marks_of_a_text_are_resolved() {
    for (written, read) in [
        ("hi <@U123|ann>", "hi @ann"),
        ("hi <@U123>", "hi @U123"),
        ("<@UBOT>, do it", "do it"),
        ("do it <@UBOT|gate>", "do it"),
        ("hey <@UBOT> do it", "hey do it"),
        ("<@UBOT>", ""),
        ("<#C9|gen> and <#C8>", "#gen and #C8"),
        ("<!here> <!channel|channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops @S2"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("<https://e.com/a?b=1&amp;c=2|link>", "link (https://e.com/a?b=1&c=2)"),
        ("<https://e.com/a?b=1&amp;c=2>", "https://e.com/a?b=1&c=2"),
        ("<http://e.com|e.com> <mailto:a@e.com|a@e.com>", "e.com a@e.com"),
        ("&lt;b&gt; &amp;amp; a & b &quot;", "<b> &amp; a & b &quot;"),
        ("a < b > c <> <\n>", "a < b > c <> <\n>"),
        ("1 &lt; 2 <@U1", "1 < 2 <@U1"),
        (":tada: مرحبا 👩‍👩‍👧", ":tada: مرحبا 👩‍👩‍👧"),
        ("*b* _i_ `c &lt; d`", "*b* _i_ `c < d`"),
    ] {
        assert_eq!(said(json!({"text": written, "files": [{"id": "F"}]})), read, "{written}");
    }
}

#[test]
fn what_only_blocks_say_is_read_from_them() {
    let rich =
        |elements| json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}]);
    let blocks = rich(
        json!([{"type": "user", "user_id": "UBOT"}, {"type": "text", "text": " run "}, {"type": "text", "text": "a<b", "style": {"code": true}},
        {"type": "emoji", "name": "tada", "unicode": "1f389"}, {"type": "link", "url": "https://e.com", "text": "here"}]),
    );
    check(
        json!({"text": "", "blocks": blocks}),
        expect![[
            r#"Addressed m:T1:C1:1700000000.000100 T1/C1/1700000000.000100>1700000000.000100 U1="" Text { text: "run a<b🎉here (https://e.com)" }"#
        ]],
    );
    let list = json!([{"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": [
        {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
        {"type": "rich_text_section", "elements": [{"type": "text", "text": "two"}]}]}]}]);
    assert_eq!(said(json!({"text": "", "blocks": list})), "- one\n- two");
    let table = json!([{"type": "table", "rows": [
        [{"type": "raw_text", "text": "a"}, {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "b"}]}]}],
        [{"type": "raw_text", "text": "1"}, {"type": "raw_text", "text": "2"}]]}]);
    assert_eq!(said(json!({"text": "", "blocks": table})), "a | b\n1 | 2");
    let sections = json!([{"type": "header", "text": {"type": "plain_text", "text": "H"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; b"}, "fields": [{"type": "mrkdwn", "text": "f1"}, {"type": "plain_text", "text": "f2"}]},
        {"type": "hologram", "text": "from the future"}]);
    assert_eq!(said(json!({"text": "", "blocks": sections})), "H\na < b\nf1\nf2\nfrom the future");
    assert_eq!(
        said(
            json!({"text": "", "attachments": [{"title": "T", "text": "x &amp; y", "fallback": "f"}, {"fallback": "only"}]})
        ),
        "T\nx & y\nonly"
    );
}

#[test]
fn bots_are_marked_and_our_own_words_are_nothing() {
    check(
        json!({"bot_id": "B9", "user": "U9", "text": "beep"}),
        expect![[
            r#"Overheard m:T1:C1:1700000000.000100 T1/C1/1700000000.000100>1700000000.000100 U9="" Text { text: "beep" } bot"#
        ]],
    );
    check(
        json!({"subtype": "bot_message", "user": null, "bot_id": "B9", "username": "hook", "text": "beep"}),
        expect![[
            r#"Overheard m:T1:C1:1700000000.000100 T1/C1/1700000000.000100>1700000000.000100 B9="hook" Text { text: "beep" } bot"#
        ]],
    );
    check(json!({"user": "UBOT", "text": "ours"}), expect!["nothing"]);
    check(json!({"bot_id": "BBOT", "subtype": "bot_message", "user": null, "text": "ours"}), expect!["nothing"]);
}

#[test]
fn an_edit_is_one_only_when_the_text_changed() {
    let edit = |now: Value, before: Value| json!({"subtype": "message_changed", "user": null, "ts": "9.9", "message": now, "previous_message": before});
    let message = |text: &str| json!({"type": "message", "user": "U1", "text": text, "ts": "1.1", "edited": {"user": "U1", "ts": "2.5"}});
    check(
        edit(message("first"), message("fist")),
        expect![[r#"Overheard e:T1:C1:1.1:2.5 T1/C1/1.1>1.1 U1="" Edit { text: "first" }"#]],
    );
    check(
        edit(message("first"), Value::Null),
        expect![[r#"Overheard e:T1:C1:1.1:2.5 T1/C1/1.1>1.1 U1="" Edit { text: "first" }"#]],
    );
    let mut unfurled = message("see https://e.com");
    unfurled["attachments"] = json!([{"title": "E"}]);
    check(edit(unfurled, message("see https://e.com")), expect!["nothing"]);
    check(edit(json!({"user": "U1", "text": "grew", "ts": "1.1", "reply_count": 1}), Value::Null), expect!["nothing"]);
    check(
        edit(json!({"user": "UBOT", "text": "ours", "ts": "1.1", "edited": {"ts": "2.5"}}), Value::Null),
        expect!["nothing"],
    );
    check(
        edit(json!({"subtype": "tombstone", "text": "gone", "ts": "1.1", "user": "U1"}), message("x")),
        expect!["nothing"],
    );
}

#[test]
fn what_nobody_says_is_nothing() {
    for subtype in
        ["message_deleted", "channel_join", "channel_topic", "huddle_thread", "message_replied", "pinned_item"]
    {
        check(json!({"subtype": subtype}), expect!["nothing"]);
    }
    for kind in ["app_home_opened", "member_joined_channel", "function_executed", "quantum"] {
        check(json!({"type": kind}), expect!["nothing"]);
    }
    assert_eq!(said(json!({"subtype": "from_the_future", "text": "kept"})), "kept");
    assert_eq!(said(json!({"subtype": "me_message", "text": "waves"})), "waves");
}

#[test]
fn files_are_named_with_how_they_are_opened() {
    check(
        json!({"subtype": "file_share", "text": "", "channel": "D1", "channel_type": "im", "files": [
            {"id": "F1", "name": "r.pdf", "mimetype": "application/pdf", "size": 10, "url_private": "https://files.slack.com/x", "url_private_download": "https://files.slack.com/y"},
            {"id": "F2", "file_access": "check_file_info"}, {"id": "F3", "mode": "tombstone"}, {"id": "F4", "is_external": true, "url_private": "https://e.test/x"}]}),
        expect![[
            r#"Direct m:T1:D1:1700000000.000100 dm:T1/D1>1700000000.000100 U1="" Text { text: "" } file:r.pdf:slack:https://files.slack.com/y:Some("application/pdf"):Some(10) file:F2:slack-id:F2:None:None file:F4:slack-id:F4:None:None"#
        ]],
    );
}

#[test]
fn a_reaction_is_heard_with_its_character() {
    check(
        json!({"type": "reaction_added", "reaction": "+1::skin-tone-2", "item": {"type": "message", "channel": "C1", "ts": "1.1"}, "item_user": "UBOT", "event_ts": "3.3"}),
        expect![[
            r#"Addressed r:T1:C1:1.1:U1:+1::skin-tone-2:3.3 T1/C1>1.1 U1="" Reaction { emoji: "👍", message: "1.1" }"#
        ]],
    );
    check(
        json!({"type": "reaction_added", "user": "UBOT", "reaction": "eyes", "item": {"channel": "C1", "ts": "1.1"}}),
        expect!["nothing"],
    );
}

#[test]
fn apps_and_workspaces_are_told_apart() {
    let mut payload = callback(json!({}));
    assert!(is_ours(&payload, &me()));
    let app = |app: &str| Me { app: Some(app.into()), ..me() };
    assert!(is_ours(&payload, &app("A1")) && !is_ours(&payload, &app("A2")));
    payload["team_id"] = json!("T2");
    assert!(is_ours(&payload, &me()), "a channel that another workspace shares");
    payload["authorizations"] = json!([{"team_id": "T2", "is_enterprise_install": false}]);
    assert!(!is_ours(&payload, &me()), "the same app in another workspace");
    payload["context_team_id"] = json!("T1");
    assert!(is_ours(&payload, &me()));
    let whole = Me { organisation: Some("E1".into()), ..me() };
    payload["authorizations"] = json!([{"enterprise_id": "E1", "team_id": null, "is_enterprise_install": true}]);
    payload["context_team_id"] = json!("T7");
    assert!(is_ours(&payload, &whole) && !is_ours(&payload, &me()));
    assert_eq!(event(&payload, &whole, "main").expect("a message").address.space.as_deref(), Some("T7"));
    assert_eq!(event(&payload, &me(), "main").expect("a message").address.space.as_deref(), Some("T1"));
}

fn slash(command: &str, said: &str) -> Value {
    json!({"team_id": "T1", "channel_id": "C1", "user_id": "U1", "user_name": "ann", "command": command, "text": said,
        "response_url": "https://hooks.slack.com/r", "trigger_id": "7.8"})
}

#[test]
fn a_slash_command_is_said_by_its_tool() {
    let known = |name: &str| matches!(name, "weather_query" | "help");
    for (command_name, text, expected) in [
        ("/weather_query", "city=Oslo", "/weather_query city=Oslo"),
        ("/weather_query", "", "/weather_query"),
        ("/toolgate", "weather_query city=Oslo", "/weather_query city=Oslo"),
        ("/toolgate", "/weather_query city=Oslo", "/weather_query city=Oslo"),
        ("/toolgate", "not_known x", "/not_known x"),
        ("/toolgate", "", "/help"),
        ("/acme", "weather_query city=Oslo", "/weather_query city=Oslo"),
        ("/not_allowed", "id=1 &lt;x&gt;", "/not_allowed id=1 <x>"),
    ] {
        let typed = command(&slash(command_name, text), &me(), "main", 5).expect("a command");
        assert_eq!(typed.said("toolgate", known), expected);
    }
    expect![[r#"Addressed c:7.8 T1/C1>- U1="ann" Text { text: "/a b" }"#]]
        .assert_eq(&line(command(&slash("/a", "b"), &me(), "main", 5).map(|typed| typed.message)));
    let slip =
        Slip { user: "U1".into(), respond: Some("https://hooks.slack.com/r".into()), at_ms: 5, ..Slip::default() };
    let address = command(&slash("/a", "b"), &me(), "main", 5).expect("a command").message.address;
    assert_eq!(Slip::of(&address.private), slip);
}

#[test]
fn a_press_comes_back_to_the_session_of_its_message() {
    let payload = json!({"type": "block_actions", "user": {"id": "U1", "username": "ann"}, "trigger_id": "1.2", "team": {"id": "T1"},
        "channel": {"id": "C1"}, "message": {"ts": "9.9", "thread_ts": "1.1"}, "container": {"type": "message", "message_ts": "9.9", "thread_ts": "1.1"},
        "response_url": "https://hooks.slack.com/r", "actions": [{"action_id": "a", "type": "button", "value": "cancel:X", "action_ts": "3.3"}]});
    expect![[r#"Addressed i:1.2 T1/C1/1.1>9.9 U1="ann" Press { data: "cancel:X" }"#]].assert_eq(&line(press(
        &payload,
        &me(),
        "main",
        5,
    )));
    let mut private = payload.clone();
    private["container"]["is_ephemeral"] = json!(true);
    private["actions"] = json!([{"type": "static_select", "selected_option": {"value": "again:X"}}]);
    private["message"] = Value::Null;
    expect![[r#"Addressed i:1.2 T1/C1/1.1>- U1="ann" Press { data: "again:X" }"#]].assert_eq(&line(press(
        &private,
        &me(),
        "main",
        5,
    )));
    let mut without = payload;
    without["actions"] = json!([{"type": "users_select", "selected_user": "U2"}]);
    assert_eq!(line(press(&without, &me(), "main", 5)), "nothing");
}

#[test]
fn a_form_of_ours_is_heard_where_it_was_asked_for() {
    let address = command(&slash("/weather_query", ""), &me(), "main", 5).expect("a command").message.address;
    let origin = crate::forms::Origin::new("weather_query", &address);
    let values = json!({"text:city": {"city": {"type": "plain_text_input", "value": "Oslo"}}, "text:days": {"days": {"type": "number_input", "value": "3"}}});
    let mut payload = json!({"type": "view_submission", "user": {"id": "U1", "name": "ann"}, "trigger_id": "5.5", "team": {"id": "T1"},
        "view": {"id": "V1", "callback_id": "toolgate_form", "private_metadata": json!(origin).to_string(), "state": {"values": values}}});
    expect![[r#"Addressed i:5.5 T1/C1>- U1="ann" Form { name: "weather_query", args: {"city": String("Oslo"), "days": Number(3)} }"#]]
        .assert_eq(&line(form(&payload, &me(), "main", 9)));
    assert_eq!(form(&payload, &me(), "main", 9).map(|form| form.address.private), Some(address.private));
    payload["view"]["callback_id"] = json!("somebody's");
    assert_eq!(line(form(&payload, &me(), "main", 9)), "nothing");
}

#[test]
fn times_are_read_without_a_float() {
    assert_eq!(millis("1700000000.123456"), 1_700_000_000_123);
    assert_eq!((millis("1.2"), millis("5"), millis("x"), millis("")), (1_200, 5_000, 0, 0));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[<>&|@#!^UBOT;a ]{0,16}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(key(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let keys = [
        "type",
        "text",
        "event",
        "message",
        "blocks",
        "elements",
        "rows",
        "files",
        "actions",
        "view",
        "state",
        "values",
        "channel",
        "user",
        "ts",
        "url",
        "unicode",
        "fields",
        "attachments",
        "user_id",
    ];
    proptest::sample::select(keys.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn no_payload_panics(any in any_json(), text in any_json(), blocks in any_json()) {
        let me = me();
        let _ = (message(&any, &me, "a"), is_ours(&any, &me));
        let _ = event(&callback(json!({"text": text, "blocks": [blocks.clone()], "files": [any.clone()], "attachments": [any.clone()]})), &me, "a");
        let view = json!({"callback_id": "toolgate_form", "private_metadata": "{\"n\":\"a\",\"c\":\"C\"}", "state": {"values": any}, "blocks": [blocks]});
        let _ = form(&json!({"type": "view_submission", "user": {"id": "U"}, "trigger_id": "t", "view": view}), &me, "a", 0);
    }

    #[test]
    fn a_text_without_marks_is_kept_as_it_is(said in "[^<>&]{1,40}") {
        prop_assert_eq!(words::plain(&said, &me()).text, said);
    }
}
