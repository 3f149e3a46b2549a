//! Replies arrive as they should, in order, and what went wrong is said truly.

use super::stage::*;

#[tokio::test]
async fn a_wait_is_told_and_the_order_kept() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    stage.fault(Fault { seconds: Some(0.4), method: Some("POST messages".into()), ..fault(fault::Kind::RateLimit) });
    for text in ["one", "two", "three"] {
        let key = key(1);
        loop {
            match stage.discord.send(&to, Op::Post(&plain(text)), &key).await {
                Ok(_) => break,
                Err(DeliveryError::Wait { scope, until }) => {
                    assert_eq!(scope, Scope::Conversation);
                    pause(until).await;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert_eq!(stage.texts("general"), ["one", "two", "three"]);
    stage.fault(Fault {
        seconds: Some(0.3),
        global: true,
        method: Some("POST messages".into()),
        ..fault(fault::Kind::RateLimit)
    });
    let sent = stage.discord.send(&to, Op::Post(&plain("four")), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::Wait { scope: Scope::Account, .. })), "{sent:?}");
    // The rest is known without asking.
    let before = stage.requests("POST messages");
    let sent = stage.discord.send(&to, Op::Post(&plain("four")), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::Wait { scope: Scope::Account, .. })), "{sent:?}");
    assert_eq!(stage.requests("POST messages"), before);
    stage.end().await;
}

#[tokio::test]
async fn the_platform_s_pace_is_kept_without_being_refused() {
    let mut stage = Stage::with(Setup::default()).await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    let mut waits = 0;
    for n in 0..7 {
        let key = key(1);
        while let Err(error) = stage.discord.send(&to, Op::Post(&plain(&n.to_string())), &key).await {
            let DeliveryError::Wait { until, .. } = error else { panic!("{error}") };
            waits += 1;
            pause(until).await;
        }
    }
    assert!(waits > 0);
    assert_eq!(stage.texts("general").len(), 7);
    stage.end().await;
}

#[tokio::test]
async fn what_may_have_arrived_is_sent_again_and_arrives_once() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    for (n, when) in [fault::When::After, fault::When::Before].into_iter().enumerate() {
        stage.fault(Fault { when, method: Some("POST messages".into()), ..fault(fault::Kind::Drop) });
        let key = key(0);
        stage.discord.send(&to, Op::Post(&plain(&format!("once {n}"))), &key).await.unwrap();
        assert!(stage.discord.send(&to, Op::Find, &key).await.is_ok());
    }
    assert_eq!(stage.texts("general"), ["once 0", "once 1"]);
    stage.fault(Fault {
        status: Some(502),
        method: Some("POST messages".into()),
        count: Some(2),
        ..Fault::new(fault::Kind::Error)
    });
    let sent = stage.discord.send(&to, Op::Post(&plain("x")), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::Unsure(_))), "{sent:?}");
    stage.end().await;
}

#[tokio::test]
async fn a_platform_that_is_not_there_was_sent_nothing() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let discord = adapter("http://127.0.0.1:1");
    let to = Address::new(Platform::Discord, "main", "5");
    let sent = discord.send(&to, Op::Post(&plain("x")), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::NotSent(_))), "{sent:?}");
}

#[tokio::test]
async fn a_message_is_replaced_and_removed_in_any_state() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let key = key(0);
    let send = |op| stage.discord.send(&to, op, &key);
    let (one, two) = (plain("one"), plain("two"));
    let first = send(Op::Draft(None, &one, None)).await.unwrap();
    assert_eq!(send(Op::Draft(Some(&first), &two, None)).await.unwrap(), first);
    stage.shown("dm:ann", |entry| entry.kind == transcript::Kind::Edit && entry.text == "two").await;
    let second = send(Op::Post(&one)).await.unwrap();
    assert_ne!(first.message, second.message, "an answer is no repeat of its draft");
    let file = PartFile { name: "a.txt".into(), media_type: "text/plain".into(), bytes: bytes::Bytes::from("bytes") };
    let with_file = Part { files: vec![file], ..plain("see") };
    assert_eq!(send(Op::Replace(&second, &with_file)).await.unwrap(), second);
    assert!(send(Op::Remove(&second)).await.is_ok());
    assert!(send(Op::Remove(&second)).await.is_ok(), "it is gone already");
    let edited = send(Op::Replace(&second, &two)).await;
    assert!(matches!(edited, Err(DeliveryError::Refused(Why::TooOld))), "{edited:?}");
    stage.end().await;
}

#[tokio::test]
async fn what_is_gone_or_closed_is_told_apart() {
    let mut stage = Stage::new().await;
    stage.world().say(Say { thread: Some(json!("plans")), ..Say::new("general", "ann", "x") }).unwrap();
    let to = stage.heard().await.address;
    stage
        .world()
        .remove(&Remove { conversation: "general".into(), message: None, thread: Some(json!("plans")) })
        .unwrap();
    let discord = stage.discord.clone();
    let post = async |to: &Address| discord.send(to, Op::Post(&plain("y")), &key(0)).await;
    assert!(matches!(post(&to).await, Err(DeliveryError::Refused(Why::Gone))));
    let fallback = stage.discord.fallback(&to).unwrap();
    assert_eq!(fallback.thread, None);
    assert!(post(&fallback).await.is_ok());
    assert_eq!(stage.discord.fallback(&fallback), None);
    let blocked = Conversation { name: "dm:ann".into(), state: Some(State::Blocked), ..Conversation::default() };
    stage.say("dm:ann", "x");
    let direct = stage.heard().await.address;
    stage.world().conversation(&blocked).unwrap();
    assert!(matches!(post(&direct).await, Err(DeliveryError::Refused(Why::Forbidden))));
    let nowhere = Address::new(Platform::Discord, "main", "999999");
    assert!(matches!(post(&nowhere).await, Err(DeliveryError::Refused(Why::Gone))));
    stage.end().await;
}

#[tokio::test]
async fn files_go_both_ways() {
    let mut stage = Stage::new().await;
    let file = NewFile { name: "note.txt".into(), text: Some("from chat".into()), ..NewFile::default() };
    stage.world().say(Say { files: vec![file], ..Say::new("dm:ann", "ann", "read this") }).unwrap();
    let message = stage.heard().await;
    assert_eq!((message.text(), message.files.len(), message.files[0].name.as_str()), ("read this", 1, "note.txt"));
    let mut stream = stage.discord.open(&message.files[0]).await.unwrap();
    let mut read = Vec::new();
    while let Some(chunk) = stream.next().await {
        read.extend_from_slice(&chunk.unwrap());
    }
    assert_eq!(read, b"from chat");
    let large = contract::FileRef { size: Some(30 << 20), ..message.files[0].clone() };
    assert!(matches!(stage.discord.open(&large).await.err(), Some(DeliveryError::Refused(Why::Other(_)))));
    let elsewhere = contract::FileRef {
        handle: contract::Opaque::new("discord:http://169.254.169.254/x").unwrap(),
        ..message.files[0].clone()
    };
    assert!(matches!(stage.discord.open(&elsewhere).await.err(), Some(DeliveryError::Refused(Why::Unsupported))));
    let bytes = bytes::Bytes::from_static(&[0, 255, 13, 10, 45, 45]);
    let files = vec![PartFile { name: "结果 1.bin".into(), media_type: "no type".into(), bytes }];
    stage.discord.send(&message.address, Op::Post(&Part { files, ..plain("here") }), &key(0)).await.unwrap();
    let shown = stage.shown("dm:ann", |entry| !entry.files.is_empty()).await;
    assert_eq!(shown.text, "here");
    let (_, bytes) = stage.world().file_by_id(&shown.files[0].id).unwrap();
    assert_eq!(bytes.as_ref(), [0, 255, 13, 10, 45, 45]);
    stage.end().await;
}

#[tokio::test]
async fn signs_of_life_are_shown_and_taken_away() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    stage.discord.indicate(&to, Indicator::Typing).await;
    stage.shown("general", |entry| entry.kind == transcript::Kind::Typing).await;
    stage.discord.indicate(&to, Indicator::Waiting).await;
    stage.shown("general", |entry| entry.kind == transcript::Kind::Reaction).await;
    stage.discord.indicate(&to, Indicator::Clear).await;
    stage.discord.indicate(&to, Indicator::Clear).await;
    let reactions = stage.world().transcript(Some("general"), 0);
    assert_eq!(reactions.iter().filter(|e| e.is_bot() && e.kind == transcript::Kind::Reaction).count(), 2);
    stage.end().await;
}

#[tokio::test]
async fn an_answer_whose_question_was_deleted_is_sent_all_the_same() {
    let mut stage = Stage::new().await;
    let message = stage.say("general", "x");
    let to = stage.heard().await.address;
    stage
        .world()
        .remove(&Remove { conversation: "general".into(), message: Some(json!(message)), thread: None })
        .unwrap();
    stage.post(&to, &Reply::text("answer")).await.unwrap();
    stage.shown("general", |entry| entry.text == "answer").await;
    stage.end().await;
}

#[tokio::test]
async fn what_is_for_one_person_is_not_said_in_a_group() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    assert!(!stage.discord.can_be_private(&to));
    let secret = Part { audience: Audience::Sender, ..plain("secret") };
    let sent = stage.discord.send(&to, Op::Post(&secret), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::Refused(Why::Unsupported))));
    assert!(stage.texts("general").is_empty());
    stage.end().await;
}

#[tokio::test]
async fn hostile_and_long_replies_arrive_whole() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    for text in [
        "2 * 3 = 6 and 4 * 5 snake_case_name a<b && c>d `x` ||no spoiler||",
        "😀 family 👨‍👩‍👧‍👦 مرحبا",
        "<@1> <@&2> @everyone @here <#3> https://e.test/a_b_c",
    ] {
        let reply = Reply { content: vec![contract::Content::Plain(text.into())], ..Reply::default() };
        stage.post(&to, &reply).await.unwrap();
    }
    let long: String =
        (0..600).map(|n| format!("{n}: **bold** `code` <tag> & @name_{n} [x](https://e.test/{n})\n\n")).collect();
    let code = format!("```rust\n{}```", "    let x = \"<&>\";\n".repeat(800));
    for markdown in [long, code, "汉".repeat(9_000), "👨‍👩‍👧‍👦".repeat(1_500), "> quote\n".repeat(2_000)]
    {
        assert!(stage.post(&to, &Reply::text(markdown)).await.unwrap().len() > 1);
    }
    let posted = stage.texts("dm:ann");
    assert!(posted[0].contains("2 * 3 = 6 and 4 * 5 snake_case_name a<b && c>d"), "{}", posted[0]);
    stage.end().await;
}

#[tokio::test]
async fn what_was_not_posted_is_known_not_to_be_there() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    let mine = key(0);
    let find = async |to: &Address, key: &DeliveryKey| stage.discord.send(to, Op::Find, key).await;
    let is_gone = |found: &Result<Receipt, DeliveryError>| matches!(found, Err(DeliveryError::Refused(Why::Gone)));
    assert!(is_gone(&find(&to, &mine).await));
    // What else is said there, by us as well, is not it.
    stage.discord.send(&to, Op::Post(&plain("another")), &key(0)).await.unwrap();
    stage.say("general", "y");
    assert!(is_gone(&find(&to, &mine).await));
    let receipt = stage.discord.send(&to, Op::Post(&plain("mine")), &mine).await.unwrap();
    assert_eq!(find(&to, &mine).await.unwrap().message, receipt.message);
    // A progress message that an earlier life left is found by its key.
    let draft = DeliveryKey { part: 1 << 30, ..mine };
    let receipt = stage.discord.send(&to, Op::Draft(None, &plain("working"), None), &draft).await.unwrap();
    assert_eq!(find(&to, &draft).await.unwrap().message, receipt.message);
    stage.end().await;
}

#[tokio::test]
async fn an_answer_to_a_press_is_known_not_to_be_there() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    let buttons = vec![Button { label: "Details".into(), action: Action::Details(TurnId::new()) }];
    stage.discord.send(&to, Op::Post(&Part { buttons, ..plain("press me") }), &key(0)).await.unwrap();
    let shown = stage.shown("general", |entry| !entry.buttons.is_empty()).await;
    let press = Press {
        conversation: "general".into(),
        user: "ann".into(),
        message: json!(shown.message),
        button: shown.buttons[0].id.clone(),
        ..Press::default()
    };
    stage.world().press(&press).unwrap();
    let to = stage.heard().await.address;
    let key = key(0);
    let found = stage.discord.send(&to, Op::Find, &key).await;
    assert!(matches!(found, Err(DeliveryError::Refused(Why::Gone))), "{found:?}");
    stage.discord.send(&to, Op::Post(&plain("answer")), &key).await.unwrap();
    // It has no nonce: that it is this one cannot be told.
    let found = stage.discord.send(&to, Op::Find, &key).await;
    assert!(matches!(found, Err(DeliveryError::Refused(Why::Unsupported))), "{found:?}");
    stage.end().await;
}
