//! Updates that are delivered to us: who may, what is kept, what is joined, and what operators hear when it fails.

use super::stage::*;

fn text(id: i64, message: i64, text: &str) -> String {
    json!({"update_id": id, "message": {"message_id": message, "date": 1, "chat": {"id": 7, "type": "private"},
        "from": {"id": 7, "first_name": "Ann"}, "text": text}})
    .to_string()
}

fn part(id: i64, message: i64) -> String {
    json!({"update_id": id, "message": {"message_id": message, "date": 1, "chat": {"id": 7, "type": "private"},
        "from": {"id": 7, "first_name": "Ann"}, "media_group_id": "g", "caption": format!("part {message}"),
        "document": {"file_id": format!("F{message}")}}})
    .to_string()
}

#[tokio::test]
async fn what_is_delivered_is_heard_and_answered() {
    let mut stage = Stage::hooked().await;
    stage.say("dm:ann", "hello");
    let message = stage.heard().await;
    assert_eq!((message.heard, message.text()), (Heard::Direct, "hello"));
    stage.post(&message.address, &Reply::text("hi")).await.unwrap();
    stage.shown("dm:ann", |entry| entry.text == "hi").await;
    stage.condition(|now| *now == Condition::Ready).await;
    assert_eq!(stage.world().stats().requests.get("deleteWebhook"), None);
    stage.end().await;
}

#[tokio::test]
async fn only_who_knows_the_secret_is_heard_and_poison_does_not_come_for_ever() {
    let mut stage = Stage::hooked().await;
    stage.say("dm:ann", "hello");
    stage.heard().await;
    let good = text(900_000_001, 5, "good");
    assert_eq!(stage.knock("wrong", good.clone()).await, 401);
    assert_eq!(stage.knock("", good.clone()).await, 401);
    for poison in
        ["", "no JSON", "[]", r#"{"message":{"text":"without an id"}}"#, r#"{"update_id":900000002,"future":{}}"#]
    {
        assert_eq!(stage.knock(SECRET, poison).await, 200, "{poison}");
    }
    assert_eq!(stage.knock(SECRET, vec![b'x'; (1 << 20) + 1]).await, 200);
    assert!(stage.accepted.try_recv().is_err());
    assert_eq!(stage.knock(SECRET, good).await, 200);
    assert_eq!(stage.heard().await.text(), "good");
    let half = format!(r#"{{"update_id":900000003,"message":{}"#, &text(1, 6, "a@b")[25..]).replace('@', "\\ud83d");
    assert_eq!(stage.knock(SECRET, half).await, 200);
    assert_eq!(stage.heard().await.text(), "a\u{FFFD}b");
    stage.end().await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_delivered_again() {
    let mut stage = Stage::hooked().await;
    stage.say("dm:ann", "before");
    stage.heard().await;
    stage.fake.down.store(true, Ordering::Relaxed);
    stage.say("dm:ann", "one");
    stage.say("dm:ann", "two");
    let state = stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    assert!(matches!(state, Condition::Degraded(why) if why.contains("nothing is taken in")));
    assert_eq!(stage.knock(SECRET, text(900_000_001, 5, "one too")).await, 503);
    stage.fake.down.store(false, Ordering::Relaxed);
    assert_eq!([stage.heard().await.text(), stage.heard().await.text()], ["one", "two"]);
    stage.condition(|now| *now == Condition::Ready).await;
    stage.stop().await.unwrap();
    assert_eq!(stage.knock(SECRET, text(900_000_002, 6, "late")).await, 503, "nobody takes in");
    stage.end().await;
}

#[tokio::test]
async fn what_comes_twice_or_whose_answer_is_lost_is_heard_once() {
    let mut stage = Stage::hooked().await;
    stage.world().fault(Fault::new(fault::Kind::Duplicate)).unwrap();
    stage.say("dm:ann", "twice");
    let lost = Fault { method: Some("webhook".into()), when: fault::When::After, ..fault(fault::Kind::Drop) };
    stage.world().fault(lost).unwrap();
    stage.say("dm:ann", "unsure");
    stage.say("dm:ann", "last");
    let heard = [stage.heard().await, stage.heard().await, stage.heard().await];
    assert_eq!(heard.each_ref().map(Message::text), ["twice", "unsure", "last"]);
    assert!(stage.accepted.try_recv().is_err());
    stage.end().await;
}

#[tokio::test]
async fn an_album_is_joined_although_each_part_waits_for_an_answer() {
    let mut stage = Stage::hooked().await;
    let file = |n: usize| NewFile { name: format!("{n}.txt"), text: Some(n.to_string()), ..NewFile::default() };
    stage.world().say(Say { files: (0..10).map(file).collect(), ..Say::new("dm:ann", "ann", "ten") }).unwrap();
    stage.say("dm:ann", "next");
    let album = stage.heard().await;
    let names: Vec<&str> = album.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((album.text(), names.len(), names[0], names[9]), ("ten", 10, "0.txt", "9.txt"));
    assert_eq!(stage.heard().await.text(), "next");
    stage.world().say(Say { files: (0..2).map(file).collect(), ..Say::new("dm:ann", "ann", "two") }).unwrap();
    assert_eq!(stage.heard().await.files.len(), 2);
    stage.end().await;
}

#[tokio::test]
async fn parts_that_overtake_each_other_or_come_again_are_one_message() {
    let mut stage = Stage::hooked().await;
    stage.stop().await.unwrap();
    stage.rehook(Duration::from_millis(400)).await;
    stage.start().await;
    stage.say("dm:bob", "ready?");
    stage.heard().await;
    for (id, message) in [(900_000_003, 53), (900_000_001, 51), (900_000_003, 53), (900_000_002, 52), (900_000_001, 51)]
    {
        assert_eq!(stage.knock(SECRET, part(id, message)).await, 200);
    }
    let album = stage.heard().await;
    assert_eq!((album.text(), album.files.len()), ("part 51\npart 52\npart 53", 3));
    assert_eq!(stage.knock(SECRET, part(900_000_002, 52)).await, 200, "its answer was lost");
    assert_eq!(stage.knock(SECRET, text(900_000_004, 54, "after")).await, 200);
    assert_eq!(stage.heard().await.text(), "after");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(stage.accepted.try_recv().is_err(), "a part that comes again is nothing new");
    stage.end().await;
}

#[tokio::test]
async fn parts_that_were_answered_survive_a_kill() {
    let mut stage = Stage::hooked().await;
    stage.stop().await.unwrap();
    stage.rehook(Duration::from_secs(3_600)).await;
    stage.start().await;
    let long = "word ".repeat(810).trim_end().to_owned();
    stage.say("dm:ann", &long);
    stage.say("dm:bob", "beside");
    assert_eq!(stage.heard().await.text(), "beside");
    timeout(SOON, async {
        while stage.world().stats().hooked < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it was answered");
    stage.running.take().unwrap().abort();
    stage.rehook(Duration::from_millis(100)).await;
    stage.start().await;
    assert_eq!(stage.heard().await.text(), long);
    stage.say("dm:ann", &long);
    stage.say("dm:ann", "and its end");
    assert_eq!(stage.heard().await.text(), format!("{long}\nand its end"));
    stage.end().await;
}

#[tokio::test]
async fn a_part_that_cannot_be_noted_is_delivered_again() {
    let mut stage = Stage::hooked().await;
    stage.say("dm:bob", "ready?");
    stage.heard().await;
    stage.fake.forgetful.store(true, Ordering::Relaxed);
    assert_eq!(stage.knock(SECRET, part(900_000_001, 51)).await, 503);
    stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    stage.fake.forgetful.store(false, Ordering::Relaxed);
    assert_eq!(stage.knock(SECRET, part(900_000_001, 51)).await, 200);
    assert_eq!(stage.heard().await.files.len(), 1);
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn a_group_that_is_upgraded_is_followed_by_webhook_too() {
    let mut stage = Stage::hooked().await;
    let group = Conversation { name: "team".into(), kind: Some(NewKind::Group), ..Conversation::default() };
    stage.world().conversation(&group).unwrap();
    stage.say("team", "before");
    let before = stage.heard().await.address;
    stage.world().conversation(&Conversation { state: Some(State::Upgraded), kind: None, ..group }).unwrap();
    stage.say("team", "after");
    assert_eq!(stage.heard().await.address.conversation, before.conversation);
    stage.post(&before, &Reply::text("follows")).await.unwrap();
    stage.shown("team", |entry| entry.text == "follows").await;
    stage.end().await;
}

#[tokio::test]
async fn a_webhook_that_another_program_changed_is_set_again_and_told() {
    let mut stage = Stage::hooked().await;
    stage.condition(|now| *now == Condition::Ready).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let foreign = json!({"url": "https://elsewhere.test/hook"});
    let address = format!("{}/telegram/bot{TOKEN}/setWebhook", stage.sim.url);
    client.post(address).json(&foreign).send().await.unwrap();
    stage.say("dm:ann", "do you hear me?");
    assert_eq!(stage.heard().await.text(), "do you hear me?");
    let state = stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    assert!(matches!(state, Condition::Degraded(why) if why.contains("another program changed")));
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn deliveries_that_fail_are_told_until_one_arrives() {
    let mut stage = Stage::hooked().await;
    stage.condition(|now| *now == Condition::Ready).await;
    let cut =
        Fault { method: Some("webhook".into()), seconds: Some(1.0), count: None, ..Fault::new(fault::Kind::Drop) };
    stage.world().fault(cut).unwrap();
    stage.say("dm:ann", "is anybody there?");
    let state = stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    assert!(matches!(state, Condition::Degraded(why) if why.contains("cannot deliver 1 updates")));
    assert_eq!(stage.heard().await.text(), "is anybody there?");
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn a_process_that_stands_by_takes_nothing_in() {
    let mut stage = Stage::hooked().await;
    stage.say("dm:ann", "ours");
    stage.heard().await;
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.condition(|now| matches!(now, Condition::Degraded(why) if why.contains("standing by"))).await;
    assert_eq!(stage.knock(SECRET, text(900_000_001, 5, "theirs")).await, 503);
    stage.fake.foreign.store(false, Ordering::Relaxed);
    stage.say("dm:ann", "ours again");
    assert_eq!(stage.heard().await.text(), "ours again");
    stage.end().await;
}

#[tokio::test]
async fn a_refused_token_stops_the_webhook_too() {
    let mut stage = Stage::hooked().await;
    stage.stop().await.unwrap();
    let mut config = config("http://127.0.0.1:1", "main", TOKEN, Duration::ZERO);
    config.api_url = Some(format!("{}/telegram/nothing-here", stage.sim.url));
    config.mode = telegram::Mode::Webhook { url: stage.hook.clone(), secret: SECRET.into() };
    stage.telegram = Telegram::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
    stage.start().await;
    let stopped = timeout(SOON, stage.running.take().unwrap()).await.unwrap().unwrap().unwrap_err();
    assert!(stopped.why.contains("token was refused"));
    stage.everything.cancel();
}

#[tokio::test]
async fn polling_takes_a_webhook_away_and_loses_nothing() {
    let mut stage = Stage::hooked().await;
    stage.say("dm:ann", "by webhook");
    stage.heard().await;
    stage.stop().await.unwrap();
    stage.say("dm:ann", "meanwhile");
    stage.telegram = adapter(&stage.sim.url);
    stage.start().await;
    assert_eq!(stage.heard().await.text(), "meanwhile");
    stage.stop().await.unwrap();
    stage.rehook(Duration::from_millis(100)).await;
    stage.start().await;
    stage.say("dm:ann", "by webhook again");
    assert_eq!(stage.heard().await.text(), "by webhook again");
    stage.end().await;
}

#[tokio::test]
async fn many_chats_at_once_keep_their_order_and_lose_nothing() {
    let mut stage = Stage::hooked().await;
    stage.world().fault(Fault { count: Some(40), ..Fault::new(fault::Kind::Duplicate) }).unwrap();
    let lost = Fault {
        method: Some("webhook".into()),
        when: fault::When::After,
        count: Some(40),
        ..Fault::new(fault::Kind::Drop)
    };
    stage.world().fault(lost).unwrap();
    for n in 0..20 {
        for chat in 0..20 {
            stage.say(&format!("dm:p{chat}"), &n.to_string());
        }
    }
    let mut heard: HashMap<String, Vec<String>> = HashMap::new();
    for _ in 0..400 {
        let message = stage.heard().await;
        heard.entry(message.sender.name.clone()).or_default().push(message.text().to_owned());
    }
    let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    assert!(heard.len() == 20 && heard.values().all(|texts| *texts == expected));
    assert!(stage.accepted.try_recv().is_err());
    stage.end().await;
}
