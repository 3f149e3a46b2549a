//! What becomes of updates, as a table; and that none panics.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn me() -> Me {
    Me { id: 777, username: "toolgate_bot".into() }
}

/// One line: how it is heard, the key, where, who, what; then files and quote where there are any.
fn line(update: &Value) -> String {
    let Some(message) = message(update, &me(), "main") else { return "nothing".into() };
    let Address { conversation, thread, reply_to, direct, .. } = &message.address;
    let thread = thread.as_ref().map(|thread| format!("/{thread}")).unwrap_or_default();
    let mut line = format!(
        "{:?} {} {}{conversation}{thread}>{} {}={:?} {:?}",
        message.heard,
        message.key,
        if *direct { "dm:" } else { "" },
        reply_to.as_deref().unwrap_or("-"),
        message.sender.id,
        message.sender.name,
        message.kind,
    );
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

fn check(update: Value, expected: Expect) {
    expected.assert_eq(&line(&update));
}

/// A message in a group, with some fields replaced.
fn group(fields: Value) -> Value {
    let mut message = json!({"message_id": 10, "date": 1_767_225_600, "chat": {"id": -100, "type": "supergroup", "title": "T"},
        "from": {"id": 42, "is_bot": false, "first_name": "Ann"}});
    for (key, value) in fields.as_object().expect("an object") {
        message[key.as_str()] = value.clone();
    }
    json!({"update_id": 1, "message": message})
}

fn said(text: &str, entities: Value) -> Value {
    group(json!({"text": text, "entities": entities}))
}

fn heard_of(update: &Value) -> (Heard, String) {
    let message = message(update, &me(), "main").expect("a message");
    (message.heard, message.text().to_owned())
}

#[test]
fn a_direct_message_is_for_us() {
    check(
        json!({"update_id": 1, "message": {"message_id": 5, "date": 1, "text": "hi", "chat": {"id": 42, "type": "private"},
            "from": {"id": 42, "first_name": "Ann", "last_name": "Lee", "language_code": "zh-Hans"}}}),
        expect![[r#"Direct m:42:5 dm:42>5 42="Ann Lee" Text { text: "hi" } zh-hans"#]],
    );
}

#[test]
fn who_is_meant_is_read_from_the_marks() {
    use Heard::{Addressed, Overheard};
    let mention = |offset, length| json!([{"type": "mention", "offset": offset, "length": length}]);
    let command = |length| json!([{"type": "bot_command", "offset": 0, "length": length}]);
    for (text, entities, heard, left) in [
        ("just talk", json!([]), Overheard, "just talk"),
        ("@toolgate_bot do it", mention(0, 13), Addressed, "do it"),
        ("@Toolgate_Bot, do it", mention(0, 13), Addressed, "do it"),
        ("hey @toolgate_bot do it", mention(4, 13), Addressed, "hey do it"),
        ("do it @toolgate_bot", mention(6, 13), Addressed, "do it"),
        ("😀 @toolgate_bot 汉", mention(3, 13), Addressed, "😀 汉"),
        ("@toolgate_bot", mention(0, 13), Addressed, ""),
        ("@other_bot do it", mention(0, 10), Overheard, "@other_bot do it"),
        (
            "say @toolgate_bot in code",
            json!([{"type": "code", "offset": 4, "length": 13}]),
            Overheard,
            "say @toolgate_bot in code",
        ),
        (
            "Gate do it",
            json!([{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 777}}]),
            Addressed,
            "do it",
        ),
        (
            "Gate do it",
            json!([{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 7}}]),
            Overheard,
            "Gate do it",
        ),
        ("/help me", command(5), Addressed, "/help me"),
        ("/help@toolgate_bot me", command(18), Addressed, "/help me"),
        ("/help@other_bot me", command(15), Overheard, "/help@other_bot me"),
        ("/path/like/this", json!([]), Overheard, "/path/like/this"),
        ("try /help there", json!([{"type": "bot_command", "offset": 4, "length": 5}]), Overheard, "try /help there"),
        (
            "@toolgate_bot /a@toolgate_bot x\n/b@toolgate_bot y",
            json!([
            {"type": "mention", "offset": 0, "length": 13}, {"type": "bot_command", "offset": 14, "length": 15},
            {"type": "bot_command", "offset": 32, "length": 15}]),
            Addressed,
            "/a x\n/b y",
        ),
        (
            "@toolgate_bot /help@other_bot",
            json!([
            {"type": "mention", "offset": 0, "length": 13}, {"type": "bot_command", "offset": 14, "length": 15}]),
            Overheard,
            "/help@other_bot",
        ),
        (
            "hostile",
            json!([{"type": "mention", "offset": -1, "length": 3}, {"type": "mention", "offset": 5, "length": 99}, 7, null]),
            Overheard,
            "hostile",
        ),
        ("😀x", mention(1, 2), Overheard, "😀x"),
    ] {
        assert_eq!(heard_of(&said(text, entities)), (heard, left.to_owned()), "{text}");
    }
}

#[test]
fn another_bots_command_in_a_direct_chat_is_not_ours() {
    let mut update = said("/help@other_bot", json!([{"type": "bot_command", "offset": 0, "length": 15}]));
    update["message"]["chat"]["type"] = json!("private");
    assert_eq!(heard_of(&update).0, Heard::Overheard);
}

#[test]
fn an_answer_to_us_is_for_us_and_quotes() {
    let answered = |id| json!({"message_id": 3, "from": {"id": id, "first_name": "X"}, "chat": {"id": -100}, "date": 1, "text": "all of it"});
    check(
        group(json!({"text": "why?", "reply_to_message": answered(777), "quote": {"text": "all", "position": 0}})),
        expect![[r#"Addressed m:-100:10 -100>10 42="Ann" Text { text: "why?" } quote:Some("3"):Some("X"):"all""#]],
    );
    check(
        group(json!({"text": "why?", "reply_to_message": answered(5)})),
        expect![[
            r#"Overheard m:-100:10 -100>10 42="Ann" Text { text: "why?" } quote:Some("3"):Some("X"):"all of it""#
        ]],
    );
    check(
        group(
            json!({"text": "q", "external_reply": {"origin": {"type": "hidden_user", "sender_user_name": "H"}, "message_id": 3}, "quote": {"text": "p"}}),
        ),
        expect![[r#"Overheard m:-100:10 -100>10 42="Ann" Text { text: "q" } quote:Some("3"):Some("H"):"p""#]],
    );
}

#[test]
fn topics_have_threads_and_the_general_one_has_none() {
    let topic = |id, is_topic| group(json!({"text": "x", "message_thread_id": id, "is_topic_message": is_topic}));
    let thread = |update: Value| message(&update, &me(), "main").expect("a message").address.thread;
    assert_eq!(thread(topic(5, true)), Some("5".into()));
    assert_eq!(thread(topic(1, true)), None);
    assert_eq!(thread(topic(5, false)), None, "a thread of answers is no topic");
    assert_eq!(thread(group(json!({"text": "x", "direct_messages_topic": {"topic_id": 9}}))), Some("d9".into()));
    let root =
        json!({"message_id": 5, "from": {"id": 777}, "chat": {"id": -100}, "forum_topic_created": {"name": "T"}});
    let in_topic =
        group(json!({"text": "x", "message_thread_id": 5, "is_topic_message": true, "reply_to_message": root}));
    check(in_topic, expect![[r#"Overheard m:-100:10 -100/5>10 42="Ann" Text { text: "x" }"#]]);
}

#[test]
fn an_edit_is_an_edit_and_each_has_its_key() {
    let mut update = group(json!({"text": "now", "edit_date": 1_767_225_700}));
    update["edited_message"] = update["message"].take();
    update.as_object_mut().expect("an object").remove("message");
    check(update, expect![[r#"Overheard e:-100:10:1767225700 -100>10 42="Ann" Edit { text: "now" }"#]]);
}

#[test]
fn a_press_carries_its_data() {
    let press = |message: Value| json!({"update_id": 1, "callback_query": {"id": "99", "data": "cancel:X", "from": {"id": 42, "first_name": "Ann"}, "message": message}});
    check(
        press(json!({"message_id": 3, "date": 0, "chat": {"id": -100, "type": "supergroup"}, "from": {"id": 777}})),
        expect![[r#"Addressed c:99 -100>3 42="Ann" Press { data: "cancel:X" }"#]],
    );
    check(
        press(json!({"message_id": 3, "date": 7, "chat": {"id": 42, "type": "private"}, "text": "old"})),
        expect![[r#"Direct c:99 dm:42>3 42="Ann" Press { data: "cancel:X" }"#]],
    );
    check(json!({"update_id": 1, "callback_query": {"id": "99", "from": {"id": 42}}}), expect!["nothing"]);
}

#[test]
fn files_are_named_once_with_their_caption() {
    check(
        group(
            json!({"caption": "see @toolgate_bot", "caption_entities": [{"type": "mention", "offset": 4, "length": 13}],
            "photo": [{"file_id": "s", "width": 9, "height": 9}, {"file_id": "L", "width": 90, "height": 90, "file_size": 5}, {"file_id": "m", "width": 50, "height": 50}]}),
        ),
        expect![[
            r#"Addressed m:-100:10 -100>10 42="Ann" Text { text: "see" } file:photo.jpg:telegram:photo:L:Some("image/jpeg"):Some(5)"#
        ]],
    );
    check(
        group(
            json!({"animation": {"file_id": "A", "mime_type": "video/mp4"}, "document": {"file_id": "A", "file_name": "a.gif"}, "voice": {"file_id": "V"}}),
        ),
        expect![[
            r#"Overheard m:-100:10 -100>10 42="Ann" Text { text: "" } file:animation.mp4:telegram:animation:A:Some("video/mp4"):None file:voice.ogg:telegram:voice:V:Some("audio/ogg"):None"#
        ]],
    );
}

#[test]
fn an_album_is_one_message() {
    let part = |id: i64, caption: Option<&str>| {
        let mut part =
            group(json!({"message_id": id, "media_group_id": "g1", "document": {"file_id": format!("F{id}")}}));
        if let Some(caption) = caption {
            part["message"]["caption"] = json!(caption);
        }
        part
    };
    let updates = [part(1, None), part(2, Some("both")), part(3, None)];
    let key = album(&updates[0]).expect("an album");
    assert_eq!(key, "g:-100:g1");
    assert!(updates.iter().all(|update| album(update) == Some(key.clone())));
    let parts = updates.iter().filter_map(|update| Some(("\n", message(update, &me(), "main")?))).collect();
    let whole = join(parts, key).expect("parts");
    assert_eq!((whole.text(), whole.files.len(), whole.address.reply_to.as_deref()), ("both", 3, Some("1")));
    assert_eq!(join(Vec::new(), String::new()), None);
}

#[test]
fn who_speaks_is_never_a_stand_in() {
    check(
        group(
            json!({"text": "x", "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group"}, "sender_chat": {"id": -100, "title": "T"}}),
        ),
        expect![[r#"Overheard m:-100:10 -100>10 -100="T" Text { text: "x" }"#]],
    );
    check(
        group(json!({"text": "x", "from": {"id": 9, "is_bot": true, "first_name": "B"}})),
        expect![[r#"Overheard m:-100:10 -100>10 9="B" Text { text: "x" } bot"#]],
    );
    check(group(json!({"text": "x", "from": {"id": 777, "is_bot": true}})), expect!["nothing"]);
    check(
        json!({"update_id": 1, "channel_post": {"message_id": 5, "chat": {"id": -5, "type": "channel", "title": "News"}, "date": 1, "text": "post"}}),
        expect![[r#"Overheard m:-5:5 -5>5 -5="News" Text { text: "post" }"#]],
    );
}

#[test]
fn other_kinds_keep_their_words() {
    for (fields, words) in [
        (
            json!({"poll": {"id": "1", "question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}}),
            "Tea?\nyes\nno",
        ),
        (
            json!({"venue": {"title": "Cafe", "address": "Street 1", "location": {"latitude": 1.5, "longitude": 2.5}}, "location": {"latitude": 1.5, "longitude": 2.5}}),
            "Cafe\nStreet 1\n1.5, 2.5",
        ),
        (json!({"contact": {"phone_number": "+1", "first_name": "Bob", "user_id": 5}}), "+1\nBob"),
        (json!({"hologram": {"file_id": "h", "deep": [{"caption": "from the future"}]}}), "from the future"),
        (json!({"dice": {"emoji": "🎲", "value": 3}}), "🎲 3"),
        (json!({"story": {"chat": {"id": -5, "type": "channel", "title": "News"}, "id": 2}}), "(a story of News)"),
        (json!({"location": {"latitude": 59.9, "longitude": 10.75}}), "59.9, 10.75"),
        (
            json!({"checklist": {"title": "Trip", "tasks": [{"id": 1, "text": "pack"}, {"id": 2, "text": "go"}]}}),
            "Trip\npack\ngo",
        ),
    ] {
        assert_eq!(heard_of(&group(fields)).1, words);
    }
    check(group(json!({"new_chat_title": "T2"})), expect!["nothing"]);
    check(group(json!({"new_chat_members": [{"id": 5, "first_name": "X"}]})), expect!["nothing"]);
    check(json!({"update_id": 17, "quantum_message": {"x": 1}}), expect!["nothing"]);
}

#[test]
fn who_answers_a_story_quotes_its_author() {
    check(
        group(
            json!({"text": "s", "reply_to_story": {"chat": {"id": 42, "type": "private", "first_name": "Ann"}, "id": 1}}),
        ),
        expect![[r#"Overheard m:-100:10 -100>10 42="Ann" Text { text: "s" } quote:None:Some("Ann"):"""#]],
    );
}

#[test]
fn a_channels_post_in_its_group_and_what_customers_write_are_nobodys_talk_to_us() {
    check(
        group(
            json!({"text": "news", "from": {"id": 777_000, "is_bot": false, "first_name": "Telegram"}, "is_automatic_forward": true,
            "sender_chat": {"id": -5, "type": "channel", "title": "News"}}),
        ),
        expect![[r#"Overheard m:-100:10 -100>10 -5="News" Text { text: "news" }"#]],
    );
    let mut business = group(json!({"text": "x", "business_connection_id": "b"}));
    business["business_message"] = business["message"].take();
    business.as_object_mut().expect("an object").remove("message");
    assert_eq!(line(&business), "nothing");
    assert!(is_silent(&business));
}

#[test]
fn counts_of_reactions_and_a_members_change_say_nothing() {
    let chat = json!({"id": 42, "type": "private", "first_name": "Ann"});
    let count = json!({"update_id": 2, "message_reaction_count": {"chat": chat, "message_id": 5, "date": 1,
        "reactions": [{"type": {"type": "emoji", "emoji": "👍"}, "total_count": 1}]}});
    let member = json!({"update_id": 3, "my_chat_member": {"chat": chat, "from": {"id": 42, "first_name": "Ann"}, "date": 1,
        "old_chat_member": {"status": "member"}, "new_chat_member": {"status": "kicked"}}});
    assert_eq!(membership(&member), Some((42, "member", "kicked")));
    for update in [count, member] {
        assert_eq!(line(&update), "nothing");
        assert!(is_silent(&update) && super::chat(&update).is_none());
    }
}

#[test]
fn a_migration_is_noticed_from_both_sides() {
    assert_eq!(migration(&group(json!({"migrate_to_chat_id": -1_002}))), Some((-100, -1_002)));
    assert_eq!(migration(&group(json!({"migrate_from_chat_id": -7}))), Some((-7, -100)));
    assert_eq!(migration(&group(json!({"text": "x"}))), None);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!("@toolgate_bot")),
        Just(json!([{"type": "mention", "offset": 1, "length": 3}])),
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
        "message",
        "chat",
        "id",
        "from",
        "text",
        "entities",
        "offset",
        "length",
        "type",
        "message_id",
        "photo",
        "callback_query",
        "data",
        "reply_to_message",
        "poll",
        "document",
        "file_id",
        "message_reaction",
        "stopped_message_generation",
        "draft_id",
        "new_reaction",
        "emoji",
        "sender_chat",
        "reply_to_story",
        "story",
        "dice",
        "media_group_id",
        "my_chat_member",
        "new_chat_member",
        "status",
    ];
    proptest::sample::select(keys.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn no_update_panics(update in any_json(), content in any_json(), entities in any_json()) {
        let _ = (message(&update, &me(), "a"), album(&update), migration(&update), press_id(&update), membership(&update), stopped(&update));
        let _ = message(&group(json!({"text": content, "entities": entities, "poll": update, "photo": content})), &me(), "a");
        let _ = message(&group(json!({"text": "héllo 😀 @toolgate_bot /x", "entities": entities})), &me(), "a");
    }
}
