//! Several bots in one process; what people put on messages; what a set-up lacks.

use super::stage::*;

const SECOND: &str = "77:BBtestTESTtestTESTtestTESTtestTEST";

#[tokio::test]
async fn two_bots_in_one_group_hear_each_what_is_for_it_and_each_update_once() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "first");
    stage.heard().await;
    let second = Telegram::new(config(&stage.sim.url, "second", SECOND, Duration::from_millis(100)));
    let second = second.unwrap_or_else(|stopped| panic!("{stopped}"));
    let core = Core {
        inbox: stage.fake.clone(),
        catalog: stage.fake.clone(),
        feed: stage.fake.clone(),
        cursors: stage.fake.clone(),
        health: stage.health.clone(),
    };
    let running = tokio::spawn(telegram::run(second.clone(), core, stage.shutdown.clone()));
    timeout(SOON, async {
        while !stage.health.all().iter().any(|(part, now)| part == "telegram/second" && *now == Condition::Ready) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it polls");
    stage.say("general", "@bot_77_bot do it");
    stage.say("general", "/help@toolgate_bot");
    let mut heard = Vec::new();
    for _ in 0..4 {
        let message = stage.heard().await;
        heard.push(format!("{} {:?} {}", message.address.account, message.heard, message.text()));
    }
    heard.sort();
    assert_eq!(
        heard,
        [
            "main Addressed /help",
            "main Overheard @bot_77_bot do it",
            "second Addressed do it",
            "second Overheard /help@toolgate_bot"
        ]
    );
    stage.world().say(Say::new("dm:ann@bot_77_bot", "ann", "privately")).unwrap();
    let message = stage.heard().await;
    assert_eq!((message.address.account.as_str(), message.address.direct), ("second", true));
    let part = plain("answer");
    second.send(&message.address, Op::Post(&part), &key(0)).await.unwrap();
    stage.shown("dm:ann@bot_77_bot", |entry| entry.text == "answer").await;
    assert!(stage.accepted.try_recv().is_err(), "each once");
    stage.shutdown.cancel();
    timeout(SOON, running).await.unwrap().unwrap().unwrap();
    stage.end().await;
}

#[tokio::test]
async fn an_emoji_on_a_message_of_ours_is_for_us_and_another_is_overheard() {
    let mut stage = Stage::new().await;
    let theirs = stage.say("general", "x");
    let to = stage.heard().await.address;
    let ours: i64 = stage.post(&to, &Reply::text("done")).await.unwrap()[0].message.parse().unwrap();
    let react = |message, emoji: &str| {
        let (conversation, user) = ("general".into(), "ann".into());
        stage.world().react(&sim::telegram::React { conversation, user, message, emoji: emoji.into() }).unwrap()
    };
    react(ours, "👍");
    react(ours, "");
    react(theirs, "❤");
    for (heard, emoji, on) in [(Heard::Addressed, "👍", ours), (Heard::Overheard, "❤", theirs)] {
        let message = timeout(SOON, stage.accepted.recv()).await.unwrap().unwrap();
        assert_eq!(message.kind, Kind::Reaction { emoji: emoji.into(), message: on.to_string() });
        assert_eq!(message.heard, heard);
    }
    stage.end().await;
}

#[tokio::test]
async fn a_button_works_after_a_restart() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let address = stage.heard().await.address;
    let action = Action::Cancel(TurnId::new());
    let mut reply = Reply::text("working");
    reply.buttons.push(Button { label: "Cancel".into(), action });
    let message: i64 = stage.post(&address, &reply).await.unwrap()[0].message.parse().unwrap();
    stage.stop().await.unwrap();
    stage.telegram = adapter(&stage.sim.url);
    stage.start().await;
    let press = Press { conversation: "dm:ann".into(), user: "ann".into(), message, button: "Cancel".into() };
    stage.world().press(&press).unwrap();
    let pressed = stage.heard().await;
    assert_eq!((pressed.kind, pressed.heard), (Kind::Press { data: action.to_string() }, Heard::Direct));
    stage.end().await;
}

#[tokio::test]
async fn a_topic_is_answered_in_it_and_the_general_one_without_a_number() {
    let mut stage = Stage::new().await;
    let forum = Conversation { name: "forum".into(), kind: Some(NewKind::Forum), ..Conversation::default() };
    stage.world().conversation(&forum).unwrap();
    for topic in ["Plans", "General"] {
        let say = Say { thread: Some(json!(topic)), ..Say::new("forum", "ann", "here") };
        stage.world().say(say).unwrap();
        let message = stage.heard().await;
        stage.telegram.indicate(&message.address, Indicator::Typing).await;
        stage.post(&message.address, &Reply::text(format!("in {topic}"))).await.unwrap();
        let shown = stage.shown("forum", |entry| entry.text == format!("in {topic}")).await;
        assert_eq!(shown.thread.as_deref(), Some(topic));
    }
    stage.end().await;
}

#[tokio::test]
async fn a_set_up_is_inspected_without_changing_it() {
    let stage = Stage::new().await;
    stage.condition(|now| *now == Condition::Ready).await;
    assert_eq!(telegram::inspect(&stage.telegram).await, []);
    stage.world().set_privacy(true);
    let missing = telegram::inspect(&stage.telegram).await;
    assert!(
        matches!(&missing[..], [one] if one.what.contains("privacy mode") && one.step.contains("/setprivacy") && !one.fatal)
    );
    stage.world().set_privacy(false);
    stage.world().fault(Fault { count: Some(1), ..Fault::new(fault::Kind::Conflict) }).unwrap();
    stage.say("dm:ann", "wake the poll");
    stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    let missing = telegram::inspect(&stage.telegram).await;
    assert!(matches!(&missing[..], [one] if one.what.contains("another program polls")));
    let nowhere = telegram::inspect(&adapter("http://127.0.0.1:1")).await;
    assert!(
        matches!(&nowhere[..], [one] if one.fatal && one.what.contains("does not answer") && !one.what.contains(TOKEN))
    );
    let setup = Setup { tokens: vec!["1:other".into()], ..Setup::default() };
    let refusing = sim::serve(sim::Options { telegram: setup, ..sim::Options::default() }, stage.everything.clone());
    let refused = telegram::inspect(&adapter(&refusing.await.unwrap().url)).await;
    assert!(matches!(&refused[..], [one] if one.fatal && one.step.contains("/token")));
    stage.end().await;
}
