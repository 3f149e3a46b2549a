//! What the core sends arrives whole, and each refusal says what the delivery must do.

use super::stage::*;

#[tokio::test]
async fn refusals_say_what_the_delivery_must_do() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let part = &stage.telegram.render(&Reply::text("**a**"), &to)[0];
    let send = |to: Address| {
        let telegram = stage.telegram.clone();
        async move { telegram.send(&to, Op::Post(part), &key(0)).await }
    };
    let conversation = |name: &str| Conversation { name: name.into(), ..Conversation::default() };

    stage.world().fault(fault(fault::Kind::RefuseMarkup)).unwrap();
    assert!(matches!(send(to.clone()).await, Err(DeliveryError::Refused(Why::Markup))));
    let resent = stage.telegram.send(&to, Op::Post(&Part { body: String::new(), ..part.clone() }), &key(0)).await;
    assert!(resent.is_ok());

    let slow = Fault { seconds: Some(1.0), ..fault(fault::Kind::RateLimit) };
    stage.world().fault(slow).unwrap();
    let wait = send(to.clone()).await;
    assert!(matches!(wait, Err(DeliveryError::Wait { scope: Scope::Conversation, .. })), "{wait:?}");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let words = Fault { status: Some(400), description: Some("retry after 41".into()), ..fault(fault::Kind::Error) };
    stage.world().fault(words).unwrap();
    assert!(matches!(send(to.clone()).await, Err(DeliveryError::Wait { .. })));

    for kind in [fault::Kind::Drop, fault::Kind::Error] {
        stage.world().fault(Fault { status: Some(502), ..fault(kind) }).unwrap();
        let unsure = send(to.clone()).await;
        assert!(matches!(unsure, Err(DeliveryError::Unsure(_))), "{unsure:?}");
    }

    let chat =
        stage.world().conversation(&Conversation { kind: Some(NewKind::Forum), ..conversation("forum") }).unwrap();
    let gone = Address { thread: Some("99".into()), ..Address::new(Platform::Telegram, "main", chat.to_string()) };
    assert!(matches!(send(gone.clone()).await, Err(DeliveryError::Refused(Why::Gone))));
    let fallback = stage.telegram.fallback(&gone).unwrap();
    assert_eq!((fallback.conversation.clone(), fallback.thread.clone()), (chat.to_string(), None));
    assert!(send(fallback.clone()).await.is_ok());
    assert_eq!(stage.telegram.fallback(&fallback), None);

    stage.world().conversation(&Conversation { state: Some(State::Blocked), ..conversation("dm:ann") }).unwrap();
    assert!(matches!(send(to).await, Err(DeliveryError::Refused(Why::Forbidden))));
    let nowhere = Address::new(Platform::Telegram, "main", "-999999");
    assert!(matches!(send(nowhere).await, Err(DeliveryError::Refused(Why::Gone))));
    stage.end().await;
}

#[tokio::test]
async fn a_platform_that_is_not_there_was_sent_nothing() {
    let telegram = adapter("http://127.0.0.1:1");
    let to = Address::new(Platform::Telegram, "main", "5");
    let sent = telegram.send(&to, Op::Post(&plain("x")), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::NotSent(_))), "{sent:?}");
}

#[tokio::test]
async fn a_message_is_replaced_and_removed_in_any_state() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let part = |markdown: &str| stage.telegram.render(&Reply::text(markdown), &to).remove(0);
    let (one, two, late) = (part("one"), part("*two*"), part("late"));
    let key = key(0);
    let send = |op| stage.telegram.send(&to, op, &key);
    let first = send(Op::Draft(None, &one, None)).await.unwrap();
    assert_eq!(send(Op::Draft(Some(&first), &two, None)).await.unwrap(), first);
    assert_eq!(send(Op::Replace(&first, &two)).await.unwrap(), first, "not modified is success");
    stage.shown("dm:ann", |entry| entry.kind == transcript::Kind::Edit && entry.text == "two").await;

    let mut with_file = Reply::text("see");
    with_file.content.push(Content::Attachment {
        name: "a.txt".into(),
        media_type: "text/plain".into(),
        bytes: b"bytes".to_vec(),
    });
    let file = stage.telegram.render(&with_file, &to).remove(0);
    let second = send(Op::Replace(&first, &file)).await.unwrap();
    assert_ne!(second.message, first.message, "a text cannot become a file");
    let mut caption = file.clone();
    caption.body = "seen".into();
    assert_eq!(send(Op::Replace(&second, &caption)).await.unwrap(), second);
    assert!(send(Op::Remove(&second)).await.is_ok());
    assert!(send(Op::Remove(&second)).await.is_ok(), "it is gone already");
    let edited = send(Op::Replace(&first, &late)).await;
    assert!(matches!(edited, Err(DeliveryError::Refused(Why::TooOld))), "{edited:?}");
    assert!(matches!(send(Op::Find).await, Err(DeliveryError::Refused(Why::Unsupported))));
    stage.end().await;
}

#[tokio::test]
async fn files_go_both_ways() {
    let mut stage = Stage::new().await;
    let file = NewFile { name: "note.txt".into(), text: Some("from chat".into()), ..NewFile::default() };
    stage.world().say(Say { files: vec![file], ..Say::new("dm:ann", "ann", "read this") }).unwrap();
    let message = stage.heard().await;
    assert_eq!((message.text(), message.files.len(), message.files[0].name.as_str()), ("read this", 1, "note.txt"));
    let mut stream = stage.telegram.open(&message.files[0]).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.unwrap());
    }
    assert_eq!(bytes, b"from chat");

    let large = contract::FileRef { size: Some(30 << 20), ..message.files[0].clone() };
    assert!(matches!(stage.telegram.open(&large).await.err(), Some(DeliveryError::Refused(Why::Other(_)))));
    let mut answer = Reply::text("**here** it is");
    answer.content.push(Content::Attachment {
        name: "结果 \"1\".bin".into(),
        media_type: "application/x-thing".into(),
        bytes: vec![0, 255, 13, 10, 45, 45],
    });
    answer.content.push(Content::File(message.files[0].clone()));
    stage.post(&message.address, &answer).await.unwrap();
    let shown = stage.shown("dm:ann", |entry| !entry.files.is_empty()).await;
    let (_, bytes) = stage.world().file_by_id(&shown.files[0].id).unwrap();
    assert_eq!(bytes.as_ref(), [0, 255, 13, 10, 45, 45]);
    let named = |entry: &transcript::Entry| entry.files.first().is_some_and(|file| file.name == "note.txt");
    assert_eq!(stage.shown("dm:ann", named).await.text, "here it is", "beneath both");
    stage.end().await;
}

#[tokio::test]
async fn several_files_are_one_album_and_go_together() {
    let mut stage = Stage::new().await;
    let file = NewFile { name: "note.txt".into(), text: Some("from chat".into()), ..NewFile::default() };
    stage.world().say(Say { files: vec![file], ..Say::new("dm:ann", "ann", "read this") }).unwrap();
    let message = stage.heard().await;
    let bytes = |name: &str| Content::Attachment {
        name: name.into(),
        media_type: "application/x-thing".into(),
        bytes: name.as_bytes().to_vec(),
    };
    let mut answer = Reply::text("**here** they are");
    answer.content.extend([bytes("one"), Content::File(message.files[0].clone()), bytes("three")]);
    let receipts = stage.post(&message.address, &answer).await.unwrap();
    assert_eq!(receipts.len(), 1);
    let shown = stage.shown("dm:ann", |entry| entry.text == "here they are").await;
    assert_eq!(shown.files[0].name, "three", "the caption is beneath them");
    let entries = stage.world().transcript(Some("dm:ann"), 0);
    let files = |entry: &transcript::Entry| entry.files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    let sent: Vec<_> = entries.iter().filter(|entry| entry.is_bot()).flat_map(files).collect();
    assert_eq!(sent, ["one", "note.txt", "three"]);
    let (_, bytes) = stage.world().file_by_id(&shown.files[0].id).unwrap();
    assert_eq!(bytes.as_ref(), b"three");
    stage.telegram.send(&message.address, Op::Remove(&receipts[0]), &key(0)).await.unwrap();
    let entries = stage.world().transcript(Some("dm:ann"), 0);
    assert_eq!(entries.iter().filter(|entry| entry.kind == transcript::Kind::Delete).count(), 3);
    stage.end().await;
}

#[tokio::test]
async fn hostile_replies_arrive_whole() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    for text in [
        "2 * 3 = 6 and 4 * 5 snake_case_name a<b && c>d <b>x</b> &lt",
        "😀 family 👨‍👩‍👧‍👦 مرحبا",
        "an address <ann@example.org> and C:\\__tmp__\\x",
    ] {
        stage.post(&to, &Reply { content: vec![Content::Plain(text.into())], ..Reply::default() }).await.unwrap();
        stage.shown("dm:ann", |entry| entry.text == text).await;
    }
    let long: String =
        (0..600).map(|n| format!("{n}: **bold** `code` <tag> & @name_{n} [x](https://e.test/{n})\n\n")).collect();
    let code = format!("```rust\n{}```", "    let x = \"<&>\";\n".repeat(800));
    for markdown in
        [long, code, "汉".repeat(9_000), "👨‍👩‍👧‍👦".repeat(1_500), "> quote\n".repeat(2_000), "- a\n  - b\n".repeat(1_500)]
    {
        let receipts = stage.post(&to, &Reply::text(markdown)).await.unwrap();
        assert!(receipts.len() > 1);
    }
    stage.telegram.indicate(&to, Indicator::Typing).await;
    stage.shown("dm:ann", |entry| entry.kind == transcript::Kind::Typing).await;
    stage.end().await;
}

#[tokio::test]
async fn what_is_for_one_person_is_not_said_in_a_group() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    let secret = Part { audience: Audience::Sender, ..plain("secret") };
    let sent = stage.telegram.send(&to, Op::Post(&secret), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::Refused(Why::Unsupported))));
    assert!(stage.texts("general").is_empty());
    stage.end().await;
}

#[tokio::test]
async fn an_answer_whose_question_was_deleted_is_sent_all_the_same() {
    let mut stage = Stage::new().await;
    let message = stage.say("general", "x");
    let to = stage.heard().await.address;
    let remove = Remove { conversation: "general".into(), message: Some(message), thread: None };
    stage.world().remove(&remove).unwrap();
    stage.post(&to, &Reply::text("answer")).await.unwrap();
    stage.shown("general", |entry| entry.text == "answer").await;
    stage.end().await;
}

#[tokio::test]
async fn a_sign_of_waiting_is_put_on_the_message_and_taken_away_once() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    stage.telegram.indicate(&to, Indicator::Clear).await;
    assert_eq!(stage.world().stats().requests.get("setMessageReaction"), None, "nothing was put there");
    stage.telegram.indicate(&to, Indicator::Waiting).await;
    stage.telegram.indicate(&to, Indicator::Clear).await;
    stage.telegram.indicate(&to, Indicator::Clear).await;
    let signs: Vec<_> = stage.world().transcript(Some("general"), 0);
    let signs: Vec<_> = signs.into_iter().filter(|entry| entry.kind == transcript::Kind::Reaction).collect();
    assert_eq!(signs.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["👀", ""]);
    assert!(signs.iter().all(|entry| entry.message.map(|id| id.to_string()) == to.reply_to));
    // One whose answer is lost is taken away too.
    let lost = Fault { when: fault::When::After, ..fault(fault::Kind::Drop) };
    stage.world().fault(lost).unwrap();
    stage.telegram.indicate(&to, Indicator::Waiting).await;
    stage.telegram.indicate(&to, Indicator::Clear).await;
    assert_eq!(
        stage.world().transcript(Some("general"), 0).last().map(|entry| entry.text.clone()),
        Some(String::new())
    );
    // Where it cannot be put nothing breaks.
    stage.telegram.indicate(&Address { reply_to: Some("999".into()), ..to.clone() }, Indicator::Waiting).await;
    stage.telegram.indicate(&Address { reply_to: None, ..to }, Indicator::Waiting).await;
    stage.end().await;
}

#[tokio::test]
async fn a_picture_is_shown_as_one_and_a_broken_one_goes_as_a_file() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let picture = |bytes: &[u8]| {
        let mut reply = Reply::text("see");
        let (name, media_type) = ("chart.png".into(), "image/png".into());
        reply.content.push(Content::Attachment { name, media_type, bytes: bytes.to_vec() });
        reply
    };
    let whole = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &[0, 0, 1, 0, 0, 0, 1, 0]].concat();
    stage.post(&to, &picture(&whole)).await.unwrap();
    assert_eq!(stage.world().stats().requests.get("sendPhoto"), Some(&1));
    assert_eq!(stage.world().stats().requests.get("sendDocument"), None);
    let refused = Fault {
        status: Some(400),
        description: Some("Bad Request: PHOTO_INVALID_DIMENSIONS".into()),
        method: Some("sendPhoto".into()),
        ..fault(fault::Kind::Error)
    };
    stage.world().fault(refused).unwrap();
    stage.post(&to, &picture(&whole)).await.unwrap();
    assert_eq!(stage.world().stats().requests.get("sendDocument"), Some(&1));
    let shown = stage.world().transcript(Some("dm:ann"), 0);
    assert_eq!(shown.iter().filter(|entry| entry.text == "see" && entry.files.len() == 1).count(), 2);
    stage.end().await;
}

#[tokio::test]
async fn every_kind_of_file_can_be_opened_and_sent_on_as_what_it_is() {
    use sim::telegram::FileKind::{Animation, Audio, Document, Photo, Sticker, Video, VideoNote, Voice};
    let mut stage = Stage::new().await;
    for kind in [Document, Photo, Video, Animation, Audio, Voice, VideoNote, Sticker] {
        let file =
            NewFile { name: "a.bin".into(), text: Some(format!("{kind:?}")), kind: Some(kind), ..NewFile::default() };
        let caption = if matches!(kind, VideoNote | Sticker) { "" } else { "what is it?" };
        stage.world().say(Say { files: vec![file], ..Say::new("dm:ann", "ann", caption) }).unwrap();
        let message = stage.heard().await;
        assert_eq!((message.text(), message.files.len()), (caption, 1), "{kind:?}");
        let bytes: Vec<_> = stage.telegram.open(&message.files[0]).await.unwrap().collect().await;
        assert_eq!(
            bytes.into_iter().map(|chunk| chunk.unwrap()).collect::<Vec<_>>().concat(),
            format!("{kind:?}").as_bytes()
        );
        let mut reply = Reply::text("here");
        reply.content.push(Content::File(message.files[0].clone()));
        stage.post(&message.address, &reply).await.unwrap();
    }
    let large =
        NewFile { name: "film.mp4".into(), text: Some("x".into()), size: Some(21_000_000), ..NewFile::default() };
    stage.world().say(Say { files: vec![large], ..Say::new("dm:ann", "ann", "big") }).unwrap();
    let message = stage.heard().await;
    let refused = stage.telegram.open(&message.files[0]).await.err();
    assert!(matches!(refused, Some(DeliveryError::Refused(Why::Other(words))) if words.contains("20 MB")));
    stage.end().await;
}

#[tokio::test]
async fn a_private_reply_is_possible_where_nobody_else_reads() {
    let telegram = adapter("http://127.0.0.1:1");
    let group = Address::new(Platform::Telegram, "main", "-5");
    assert!(!telegram.can_be_private(&group));
    assert!(telegram.can_be_private(&Address { direct: true, ..group }));
}
