//! What people say, press and edit reaches the core once; what nobody can read harms nobody.

use super::stage::*;

#[tokio::test]
async fn who_speaks_to_us_is_heard_and_answered_in_place() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "hello");
    let direct = stage.heard().await;
    assert_eq!((direct.heard, direct.text(), direct.address.direct), (Heard::Direct, "hello", true));
    stage.say("general", "just talk");
    let overheard = stage.heard().await;
    assert_eq!((overheard.heard, overheard.text()), (Heard::Overheard, "just talk"));
    let id = stage.world().say(Say { mention: true, ..Say::new("general", "bob", "do it") }).unwrap().message.unwrap();
    let addressed = stage.heard().await;
    assert_eq!((addressed.heard, addressed.text()), (Heard::Addressed, "do it"));
    stage.say("general", "/help@toolgate_bot now");
    let command = stage.heard().await;
    assert_eq!((command.heard, command.text()), (Heard::Addressed, "/help now"));

    stage.post(&addressed.address, &Reply::text("**done** @ann")).await.unwrap();
    let answer = stage.shown("general", |entry| entry.text.starts_with("done")).await;
    assert_eq!((answer.text.as_str(), answer.reply_to), ("done @\u{2060}ann", Some(id)));
    stage.post(&direct.address, &Reply::text("hi")).await.unwrap();
    assert_eq!(stage.shown("dm:ann", |_| true).await.reply_to, None);
    stage.end().await;
}

#[tokio::test]
async fn an_event_that_comes_twice_or_cannot_be_read_does_no_harm() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "one");
    assert_eq!(stage.heard().await.text(), "one");
    stage.world().fault(Fault { past: Some(1), ..Fault::new(fault::Kind::Duplicate) }).unwrap();
    for poison in [
        json!({"quantum_message": {"x": 1}}),
        json!({"message": "no object"}),
        json!({"message": {"message_id": "seven", "chat": {"id": []}, "text": 5}}),
        json!({"callback_query": {"id": "x", "from": {}}}),
    ] {
        stage.world().raw(poison).unwrap();
    }
    stage.world().raw(json!({"message": {"message_id": 900, "date": 1, "chat": {"id": 7, "type": "private"}, "from": {"id": 7, "first_name": "R"},
        "text": "raw", "entities": [{"type": "from the future", "offset": 0, "length": 99}], "quantum": {}}})).unwrap();
    assert_eq!(stage.heard().await.text(), "raw");
    stage.say("dm:ann", "two");
    assert_eq!(stage.heard().await.text(), "two");
    stage.end().await;
}

#[tokio::test]
async fn an_edit_and_a_press_are_told_apart_and_presses_are_answered() {
    let mut stage = Stage::new().await;
    let message = stage.say("dm:ann", "fist");
    let address = stage.heard().await.address;
    let edit = Edit { conversation: "dm:ann".into(), user: "ann".into(), message, text: "first".into() };
    stage.world().edit(&edit).unwrap();
    assert_eq!(stage.heard().await.kind, Kind::Edit { text: "first".into() });

    let action = Action::Cancel(TurnId::new());
    let mut reply = Reply::text("working");
    reply.buttons.push(Button { label: "Cancel".into(), action });
    let sent: i64 = stage.post(&address, &reply).await.unwrap()[0].message.parse().unwrap();
    *stage.fake.signal.lock().unwrap() = Some("stopped".into());
    let press = Press { conversation: "dm:ann".into(), user: "ann".into(), message: sent, button: action.to_string() };
    stage.world().press(&press).unwrap();
    assert_eq!(stage.heard().await.kind, Kind::Press { data: action.to_string() });
    stage.shown("dm:ann", |entry| entry.kind == transcript::Kind::Private && entry.text == "stopped").await;
    assert_eq!(stage.world().stats().unanswered, 0);
    stage.end().await;
}

#[tokio::test]
async fn an_album_is_one_message() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let chat: i64 = stage.heard().await.address.conversation.parse().unwrap();
    for n in 0..3 {
        let mut part = json!({"message": {"message_id": 500 + n, "date": 1, "chat": {"id": chat, "type": "private"},
            "from": {"id": chat, "first_name": "ann"}, "media_group_id": "g", "document": {"file_id": format!("F{n}")}}});
        if n == 0 {
            part["message"]["caption"] = json!("three files");
        }
        stage.world().raw(part).unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let album = stage.heard().await;
    assert_eq!((album.text(), album.files.len()), ("three files", 3));
    assert_eq!(album.key, format!("g:{chat}:g:502"));
    stage.say("dm:ann", "next");
    assert_eq!(stage.heard().await.text(), "next");
    stage.end().await;
}

#[tokio::test]
async fn an_album_whose_parts_come_twice_is_the_same_message_once() {
    let mut stage = Stage::patient(Duration::from_millis(300)).await;
    stage.say("dm:ann", "x");
    stage.heard().await;
    let file = |n: usize| NewFile { name: format!("{n}.txt"), text: Some(n.to_string()), ..NewFile::default() };
    stage.world().fault(Fault { count: Some(2), ..Fault::new(fault::Kind::Duplicate) }).unwrap();
    stage.world().say(Say { files: (0..3).map(file).collect(), ..Say::new("dm:ann", "ann", "three") }).unwrap();
    let album = stage.heard().await;
    let names: Vec<&str> = album.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((album.text(), names), ("three", vec!["0.txt", "1.txt", "2.txt"]));
    stage.world().fault(Fault { past: Some(3), ..Fault::new(fault::Kind::Duplicate) }).unwrap();
    stage.say("dm:ann", "next");
    assert_eq!(stage.heard().await.text(), "next");
    stage.end().await;
}

#[tokio::test]
async fn a_group_that_is_upgraded_stays_the_same_conversation() {
    let mut stage = Stage::new().await;
    let group = Conversation { name: "team".into(), kind: Some(NewKind::Group), ..Conversation::default() };
    stage.world().conversation(&group).unwrap();
    stage.say("team", "before");
    let before = stage.heard().await.address;
    stage.world().conversation(&Conversation { state: Some(State::Upgraded), kind: None, ..group }).unwrap();
    stage.post(&before, &Reply::text("follows")).await.unwrap();
    stage.shown("team", |entry| entry.text == "follows").await;
    stage.say("team", "after");
    assert_eq!(stage.heard().await.address.conversation, before.conversation);
    assert!(stage.fake.notes.lock().unwrap().contains_key("telegram/main/moved"));
    stage.end().await;
}

#[tokio::test]
async fn an_upgrade_that_cannot_be_remembered_is_not_confirmed() {
    let mut stage = Stage::new().await;
    let group = Conversation { name: "team".into(), kind: Some(NewKind::Group), ..Conversation::default() };
    stage.world().conversation(&group).unwrap();
    stage.say("team", "before");
    let before = stage.heard().await.address.conversation;
    stage.fake.forgetful.store(true, Ordering::Relaxed);
    stage.world().conversation(&Conversation { state: Some(State::Upgraded), kind: None, ..group }).unwrap();
    stage.say("team", "after");
    stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    // A start without the store waits for what it must know.
    stage.stop().await.unwrap();
    stage.telegram = adapter(&stage.sim.url);
    stage.start().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(stage.accepted.try_recv().is_err());
    stage.fake.forgetful.store(false, Ordering::Relaxed);
    let after = stage.heard().await;
    assert_eq!((after.text(), after.address.conversation.clone()), ("after", before.clone()));
    stage.stop().await.unwrap();
    stage.telegram = adapter(&stage.sim.url);
    stage.start().await;
    stage.say("team", "later");
    assert_eq!(stage.heard().await.address.conversation, before);
    stage.end().await;
}

#[tokio::test]
async fn what_is_quoted_comes_along_and_an_answer_to_us_is_for_us() {
    let mut stage = Stage::new().await;
    let first = stage.say("general", "the red fox and the grey one");
    let to = stage.heard().await.address;
    let ours: i64 = stage.post(&to, &Reply::text("which fox?")).await.unwrap()[0].message.parse().unwrap();
    for (reply_to, quote, heard) in [(first, "the grey one", Heard::Overheard), (ours, "which", Heard::Addressed)] {
        let (reply_to, quoted) = (Some(reply_to), Some(quote.to_owned()));
        let say = Say { reply_to, quote: quoted, ..Say::new("general", "bob", "this one") };
        stage.world().say(say).unwrap();
        let message = stage.heard().await;
        let found = message.quote.clone().unwrap();
        assert_eq!((found.text.as_str(), message.heard, message.text()), (quote, heard, "this one"));
        assert_eq!(found.message, reply_to.map(|id| id.to_string()));
    }
    stage.end().await;
}

#[tokio::test]
async fn an_unnamed_administrator_and_a_channel_speak_in_their_own_name_and_are_no_bots() {
    let mut stage = Stage::new().await;
    let news = Conversation { name: "news".into(), kind: Some(NewKind::Channel), ..Conversation::default() };
    let news = stage.world().conversation(&news).unwrap();
    for (sender_chat, name) in [("general", "General"), ("news", "news")] {
        let sender_chat = Some(sender_chat.to_owned());
        stage.world().say(Say { sender_chat, ..Say::new("general", "ann", "/help@toolgate_bot") }).unwrap();
        let message = stage.heard().await;
        assert_eq!((message.sender.name.as_str(), message.from_bot, message.heard), (name, false, Heard::Addressed));
        let id = if name == "news" { news.to_string() } else { message.address.conversation.clone() };
        assert_eq!(message.sender.id, id);
    }
    stage.say("news", "a post");
    assert_eq!(stage.heard().await.sender.id, news.to_string());
    stage.end().await;
}

#[tokio::test]
async fn roles_are_the_standing_in_the_chat() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let message = stage.heard().await;
    let roles = [("ann".to_owned(), Role::Administrator)].into();
    stage.world().conversation(&Conversation { name: "general".into(), roles, ..Conversation::default() }).unwrap();
    let mut who = stage.fake.anyone(&message.address);
    who.sender = message.sender.clone();
    assert_eq!(stage.telegram.roles(&who).await.unwrap(), ["administrator"]);
    stage.end().await;
}

#[tokio::test]
async fn who_reads_a_channel_or_a_closed_group_does_not_write_there() {
    let mut stage = Stage::new().await;
    let roles: std::collections::BTreeMap<_, _> = [("ann".to_owned(), Role::Member)].into();
    let news = Conversation { name: "news".into(), kind: Some(NewKind::Channel), roles, ..Conversation::default() };
    let channel = stage.world().conversation(&news).unwrap();
    stage.say("general", "x");
    let message = stage.heard().await;
    let mut who = stage.fake.anyone(&message.address);
    who.sender = message.sender.clone();
    assert_eq!(stage.telegram.roles_to_write(&who).await.unwrap(), ["member"]);
    let in_topic = contract::Caller { thread: Some("7".into()), ..who.clone() };
    assert!(stage.telegram.roles_to_write(&in_topic).await.unwrap().is_empty(), "a topic may be closed");
    let in_news = contract::Caller { conversation: channel.to_string(), ..who.clone() };
    assert_eq!(stage.telegram.roles(&in_news).await.unwrap(), ["member"]);
    assert!(stage.telegram.roles_to_write(&in_news).await.unwrap().is_empty(), "subscribers read");
    let closed = Conversation { name: "general".into(), open: Some(false), ..Conversation::default() };
    stage.world().conversation(&closed).unwrap();
    assert!(stage.telegram.roles_to_write(&who).await.unwrap().is_empty());
    let gone = Conversation {
        name: "general".into(),
        roles: [("ann".to_owned(), Role::Left)].into(),
        ..Conversation::default()
    };
    stage.world().conversation(&gone).unwrap();
    assert!(stage.telegram.roles(&who).await.unwrap().is_empty());
    stage.end().await;
}

#[tokio::test]
async fn the_menu_is_registered_when_it_changed() {
    let mut stage = Stage::new().await;
    let registered = |stage: &Stage| stage.world().stats().requests.get("setMyCommands").copied().unwrap_or(0);
    let wait = async |stage: &Stage, count| {
        timeout(SOON, async {
            while registered(stage) < count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .expect("registered in time");
    };
    wait(&stage, 1).await;
    stage.say("dm:ann", "what can you do?");
    stage.heard().await;
    let menu = stage.world().menu("dm:ann", "").unwrap();
    assert_eq!(menu[0], json!({"command": "order_query", "description": "runs order-query"}));
    let looks = stage.fake.menus.load(Ordering::Relaxed);
    stage.fake.generation.send_replace(2);
    while stage.fake.menus.load(Ordering::Relaxed) == looks {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stage.fake.menu.lock().unwrap().push(item("weather", json!({})));
    stage.fake.generation.send_replace(3);
    wait(&stage, 2).await;
    assert_eq!(registered(&stage), 2, "an unchanged menu is left alone");
    stage.stop().await.unwrap();
    stage.start().await;
    stage.say("dm:ann", "x");
    stage.heard().await;
    assert_eq!(registered(&stage), 2, "it is remembered over a restart");
    stage.end().await;
}

#[tokio::test]
async fn a_text_that_was_cut_is_joined_and_a_short_one_does_not_wait() {
    let mut stage = Stage::new().await;
    // The platform keeps no white space at the ends of a message.
    let long = "word ".repeat(810).trim_end().to_owned();
    stage.say("dm:ann", &long);
    tokio::time::sleep(Duration::from_millis(30)).await;
    stage.say("dm:ann", "and its end");
    assert_eq!(stage.heard().await.text(), format!("{long}\nand its end"));
    let token = "0123456789abcdef".repeat(600);
    stage.say("dm:ann", &token);
    assert_eq!(stage.heard().await.text(), token, "no app finds a place to cut in it");
    stage.say("dm:ann", &long);
    assert_eq!(stage.heard().await.text(), long);
    stage.say("dm:ann", "/next");
    assert_eq!(stage.heard().await.text(), "/next");
    stage.end().await;
}

#[tokio::test]
async fn who_waits_for_the_rest_of_a_text_keeps_nobody_waiting() {
    let mut stage = Stage::patient(Duration::from_secs(1)).await;
    let long = "word ".repeat(810).trim_end().to_owned();
    stage.say("dm:ann", &long);
    stage.say("dm:bob", "quick");
    assert_eq!(stage.heard().await.text(), "quick");
    stage.say("dm:ann", "and its end");
    stage.say("dm:bob", "again");
    let mut heard = [stage.heard().await.text().to_owned(), stage.heard().await.text().to_owned()];
    heard.sort();
    assert_eq!(heard, ["again".to_owned(), format!("{long}\nand its end")]);
    stage.end().await;
}

#[tokio::test]
async fn a_part_that_comes_late_or_after_a_kill_is_not_lost() {
    let mut stage = Stage::patient(Duration::from_secs(3_600)).await;
    let long = "word ".repeat(810).trim_end().to_owned();
    stage.say("dm:bob", "before");
    stage.heard().await;
    stage.say("dm:ann", &long);
    stage.say("dm:bob", "beside");
    assert_eq!(stage.heard().await.text(), "beside");
    // Killed while it waits: nothing is confirmed of it.
    stage.running.take().unwrap().abort();
    stage.telegram = adapter(&stage.sim.url);
    stage.start().await;
    assert_eq!(stage.heard().await.text(), long);
    stage.say("dm:ann", "late");
    assert_eq!(stage.heard().await.text(), "late");
    stage.end().await;
}
