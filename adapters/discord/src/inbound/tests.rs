//! What becomes of events, as a table; and that none panics.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const ME: &str = "777";

fn cx() -> Context<'static> {
    Context { account: "main", me: ME, our_role: Some("70"), parent: None }
}

/// One line: how it is heard, the key, where, who, what; then what else there is.
pub(super) fn line(message: Option<Message>) -> String {
    let Some(message) = message else { return "nothing".into() };
    let Address { space, conversation, thread, reply_to, direct, .. } = &message.address;
    let thread = thread.as_ref().map(|thread| format!("/{thread}")).unwrap_or_default();
    let mut line = format!(
        "{:?} {} {}{conversation}{thread}>{} {}={:?} {:?}",
        message.heard,
        message.key,
        match space {
            _ if *direct => "dm:".into(),
            Some(space) => format!("{space}:"),
            None => String::new(),
        },
        reply_to.as_deref().unwrap_or("-"),
        message.sender.id,
        message.sender.name,
        message.kind,
    );
    if !message.roles.is_empty() {
        line.push_str(&format!(" roles:{}", message.roles.join(",")));
    }
    for file in &message.files {
        line.push_str(&format!(" file:{}:{}:{:?}:{:?}", file.name, file.handle.reveal(), file.media_type, file.size));
    }
    if let Some(quote) = &message.quote {
        let author = quote.author.as_ref().map(|author| author.name.as_str());
        line.push_str(&format!(" quote:{:?}:{author:?}:{:?}", quote.message, quote.text));
    }
    line.push_str(if message.from_bot { " bot" } else { "" });
    line.push_str(&message.locale.map(|locale| format!(" {locale}")).unwrap_or_default());
    line
}

/// A message in a guild, with some fields replaced.
fn said(fields: Value) -> Value {
    let mut message = json!({"id": "1100000000000000001", "channel_id": "2", "guild_id": "3", "type": 0, "content": "x",
        "author": {"id": "42", "username": "ann", "global_name": "Ann"}, "member": {"roles": ["5"]}, "mentions": []});
    for (key, value) in fields.as_object().expect("an object") {
        message[key.as_str()] = value.clone();
    }
    message
}

fn heard_of(event: &Value) -> (Heard, String) {
    let message = message(event, &cx()).expect("a message");
    (message.heard, message.text().to_owned())
}

#[test]
fn a_direct_message_is_for_us() {
    let mut event = said(json!({"content": "hi"}));
    event.as_object_mut().expect("an object").retain(|key, _| !matches!(key.as_str(), "guild_id" | "member"));
    expect![[r#"Direct m:1100000000000000001 dm:2>1100000000000000001 42="Ann" Text { text: "hi" }"#]]
        .assert_eq(&line(message(&event, &cx())));
}

#[test]
fn who_is_meant_is_read_from_the_marks() {
    use Heard::{Addressed, Overheard};
    let us = json!([{"id": ME, "username": "gate"}]);
    let both = json!([{"id": ME, "username": "gate"}, {"id": "8", "username": "bob", "member": {"nick": "Bobby"}}]);
    for (content, mentions, heard, left) in [
        ("just talk", json!([]), Overheard, "just talk"),
        ("<@777> do it", us.clone(), Addressed, "do it"),
        ("<@!777>, do it", us.clone(), Addressed, "do it"),
        ("do it <@777>", us.clone(), Addressed, "do it"),
        ("<@777> /help <@777>", us.clone(), Addressed, "/help"),
        ("hey <@777> do it", us.clone(), Addressed, "hey @gate do it"),
        ("<@777> ask <@8> and <@9>", both, Addressed, "ask @Bobby and <@9>"),
        ("<@777>", us.clone(), Addressed, ""),
        ("<@8> do it", json!([{"id": "8", "username": "bob"}]), Overheard, "@bob do it"),
        ("<@777> in `<@777>` and ``` <@8> ", us.clone(), Addressed, "in `<@777>` and ``` <@8>"),
        ("say `<@777>`", json!([]), Overheard, "say `<@777>`"),
        ("a<@ <@x> <@1", json!([]), Overheard, "a<@ <@x> <@1"),
    ] {
        assert_eq!(
            heard_of(&said(json!({"content": content, "mentions": mentions}))),
            (heard, left.to_owned()),
            "{content}"
        );
    }
    let role = said(json!({"content": "<@&70> do it", "mention_roles": ["70"]}));
    assert_eq!(heard_of(&role), (Addressed, "do it".into()));
    let other = said(json!({"content": "<@&71> do it", "mention_roles": ["71"]}));
    assert_eq!(heard_of(&other), (Overheard, "<@&71> do it".into()));
}

#[test]
fn an_answer_to_us_is_for_us_and_quotes() {
    let answer = |author: &str| {
        said(json!({"content": "why?", "type": 19, "message_reference": {"message_id": "9", "channel_id": "2"},
            "referenced_message": {"id": "9", "content": "all of it", "author": {"id": author, "username": "x"}}}))
    };
    expect![[r#"Addressed m:1100000000000000001 3:2>1100000000000000001 42="Ann" Text { text: "why?" } roles:5,3 quote:Some("9"):Some("x"):"all of it""#]]
    .assert_eq(&line(message(&answer(ME), &cx())));
    assert_eq!(heard_of(&answer("8")).0, Heard::Overheard);
    let deleted = said(json!({"type": 19, "message_reference": {"message_id": "9"}, "referenced_message": null}));
    let quote = message(&deleted, &cx()).and_then(|message| message.quote).expect("a quote");
    assert_eq!((quote.message.as_deref(), quote.author, quote.text.as_str()), (Some("9"), None, ""));
}

#[test]
fn a_thread_is_part_of_its_channel() {
    let cx = Context { parent: Some("1"), ..cx() };
    expect![[r#"Overheard m:1100000000000000001 3:1/2>1100000000000000001 42="Ann" Text { text: "x" } roles:5,3"#]]
        .assert_eq(&line(message(&said(json!({})), &cx)));
}

#[test]
fn what_is_said_otherwise_is_text_too() {
    let text = |fields: Value| message(&said(fields), &cx()).map(|message| message.text().to_owned());
    let forwarded = json!({"content": "", "message_reference": {"type": 1, "message_id": "9"},
        "message_snapshots": [{"message": {"content": "fwd", "attachments": [{"id": "1", "filename": "a", "url": "https://x/a"}]}}]});
    let forward = message(&said(forwarded), &cx()).expect("a message");
    assert_eq!((forward.text(), forward.files.len(), forward.quote.is_none()), ("fwd", 1, true));
    let poll = json!({"content": "", "poll": {"question": {"text": "fruit"}, "answers": [{"poll_media": {"text": "apple"}}, {"poll_media": {}}]}});
    assert_eq!(text(poll).as_deref(), Some("fruit\n- apple"));
    assert_eq!(text(json!({"content": "", "sticker_items": [{"id": "1", "name": "Wave"}]})).as_deref(), Some(":Wave:"));
    let embed =
        json!([{"title": "T", "description": "D", "fields": [{"name": "n", "value": "v"}], "footer": {"text": "F"}}]);
    assert_eq!(text(json!({"content": "", "embeds": embed})).as_deref(), Some("T\nD\nn: v\nF"));
    assert_eq!(text(json!({"content": "see", "embeds": embed})).as_deref(), Some("see"), "a preview is not said");
    let components = json!([{"type": 17, "components": [{"type": 10, "content": "shown"}]}]);
    assert_eq!(text(json!({"content": "", "components": components})).as_deref(), Some("shown"));
    assert_eq!(text(json!({"content": ""})), None);
}

#[test]
fn what_the_platform_says_itself_is_not_said_by_anybody() {
    for kind in [1, 3, 6, 7, 8, 18, 21, 24, 46] {
        assert_eq!(message(&said(json!({"type": kind})), &cx()), None, "{kind}");
    }
    assert!(message(&said(json!({"type": 99})), &cx()).is_some(), "a kind of the future keeps its text");
    assert_eq!(message(&said(json!({"author": {"id": ME}})), &cx()), None, "our own");
}

#[test]
fn bots_and_webhooks_are_told_apart_from_people() {
    let is_bot = |fields: Value| message(&said(fields), &cx()).expect("a message").from_bot;
    assert!(
        is_bot(json!({"author": {"id": "9", "bot": true}})) && is_bot(json!({"webhook_id": "9"})) && !is_bot(json!({}))
    );
}

#[test]
fn an_edit_is_an_edit_and_a_preview_is_none() {
    let edited = said(json!({"content": "now", "edited_timestamp": "2026-01-01T00:01:00+00:00"}));
    expect![[r#"Overheard e:1100000000000000001:2026-01-01T00:01:00+00:00 3:2>1100000000000000001 42="Ann" Edit { text: "now" } roles:5,3"#]]
    .assert_eq(&line(edit(&edited, &cx())));
    assert_eq!(edit(&said(json!({"edited_timestamp": null})), &cx()), None);
    let partial = json!({"id": "1", "channel_id": "2", "edited_timestamp": "t", "embeds": []});
    assert_eq!(edit(&partial, &cx()), None);
}

#[test]
fn a_reaction_names_its_message() {
    let event = json!({"user_id": "42", "message_id": "9", "channel_id": "2", "guild_id": "3", "message_author_id": ME,
        "emoji": {"name": "👍", "id": null}, "member": {"roles": [], "user": {"id": "42", "username": "ann"}}});
    expect![[r#"Addressed r:9:42:👍 3:2>9 42="ann" Reaction { emoji: "👍", message: "9" } roles:3"#]]
        .assert_eq(&line(reaction(&event, &cx())));
    let mut ours = event;
    ours["user_id"] = json!(ME);
    assert_eq!(reaction(&ours, &cx()), None);
}

#[test]
fn an_interaction_is_read_with_its_options_and_sub_commands() {
    let event = json!({"id": "1100000000000000001", "application_id": "6", "type": 2, "token": "tok", "guild_id": "3", "channel_id": "2",
        "locale": "zh-CN", "member": {"user": {"id": "42", "username": "ann"}, "roles": ["5"]},
        "data": {"name": "tools-a", "options": [{"name": "a_b", "type": 1, "options": [
            {"name": "n", "type": 4, "value": -3}, {"name": "f", "type": 11, "value": "99"}, {"name": "empty", "type": 3}]}],
            "resolved": {"attachments": {"99": {"id": "99", "filename": "a.png", "url": "https://x/a", "size": 10}}}}});
    let interaction = interaction(&event).expect("an interaction");
    let opt = |name: &str, kind, value| Opt { name: name.into(), kind, value, focused: false };
    let options = vec![opt("n", 4, json!(-3)), opt("f", 11, json!("99"))];
    assert_eq!(
        interaction.what,
        What::Command { path: vec!["tools-a".into(), "a_b".into()], options: options.clone() }
    );
    let kind = Kind::Command { name: "a_b".into(), args: arguments(&options, str::to_owned) };
    expect![[r#"Addressed i:1100000000000000001 3:2>- 42="ann" Command { name: "a_b", args: {"n": Number(-3), "f": String("99")} } roles:5,3 file:a.png:discord:https://x/a:None:Some(10) zh-cn"#]]
    .assert_eq(&line(answered(&event, &interaction, kind, &cx())));
}

#[test]
fn a_press_and_a_form_are_read_in_either_layout() {
    let event = |kind: u8, data: Value| {
        json!({"id": "1", "application_id": "6", "type": kind, "token": "t", "channel_id": "2",
        "user": {"id": "42", "username": "ann"}, "message": {"id": "9"}, "data": data})
    };
    let press = interaction(&event(3, json!({"custom_id": "cancel:X", "component_type": 2}))).expect("a press");
    assert_eq!((press.what.clone(), press.message.as_deref()), (What::Press { data: "cancel:X".into() }, Some("9")));
    let kind = Kind::Press { data: "cancel:X".into() };
    expect![[r#"Direct i:1 dm:2>9 42="ann" Press { data: "cancel:X" }"#]].assert_eq(&line(answered(
        &event(3, json!({})),
        &press,
        kind,
        &cx(),
    )));
    let field = json!({"type": 4, "custom_id": "a", "value": "1"});
    for rows in [json!([{"type": 1, "components": [field]}]), json!([{"type": 18, "component": field}])] {
        let form = interaction(&event(5, json!({"custom_id": "form:1:x", "components": rows}))).expect("a form");
        assert_eq!(form.what, What::Form { id: "form:1:x".into(), fields: vec![("a".into(), "1".into())] });
    }
    assert_eq!(interaction(&event(1, json!({}))).map(|i| i.what), Some(What::Other));
}

#[test]
fn an_id_tells_its_time() {
    assert_eq!(made_at_ms("175928847299117063"), Some(1_462_015_105_796));
    assert_eq!(made_at_ms("x"), None);
}

/// Any JSON, with keys that events have.
fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("id"),
        Just("type"),
        Just("content"),
        Just("author"),
        Just("mentions"),
        Just("guild_id"),
        Just("channel_id"),
        Just("data"),
        Just("options"),
        Just("name"),
        Just("value"),
        Just("message_snapshots"),
        Just("message"),
        Just("components"),
        Just("embeds"),
        Just("poll"),
        Just("member"),
        Just("roles"),
        Just("emoji"),
        Just("custom_id"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[<@&!`0-9> a-z😀]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_that_comes_panics(event in any_json()) {
        let _ = message(&event, &cx());
        let _ = edit(&event, &cx());
        let _ = reaction(&event, &cx());
        if let Some(found) = interaction(&event) {
            let _ = answered(&event, &found, Kind::Press { data: String::new() }, &cx());
        }
    }

    #[test]
    fn a_text_without_mentions_stays_as_it_is(content in "[a-z `<>@&!0-9\n]{0,60}") {
        prop_assume!(!content.contains("777") && !content.contains("70"));
        let whole = content.trim();
        prop_assert_eq!(mentions::readable(&content, &json!({}), &cx()), whole);
    }
}
