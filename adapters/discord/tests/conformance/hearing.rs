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
    assert!(overheard.address.space.is_some());
    let id = stage.world().say(Say { mention: true, ..Say::new("general", "bob", "do it") }).unwrap().message.unwrap();
    let addressed = stage.heard().await;
    assert_eq!((addressed.heard, addressed.text()), (Heard::Addressed, "do it"));

    stage.post(&addressed.address, &Reply::text("**done** @everyone")).await.unwrap();
    let answer = stage.shown("general", |entry| entry.text.starts_with("done")).await;
    assert_eq!(answer.reply_to.as_deref(), Some(id.as_str()));
    stage.post(&direct.address, &Reply::text("hi")).await.unwrap();
    assert_eq!(stage.shown("dm:ann", |_| true).await.reply_to, None);
    stage.end().await;
}

#[tokio::test]
async fn a_thread_answers_in_its_thread_and_belongs_to_its_channel() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let channel = stage.heard().await.address.conversation;
    stage.world().say(Say { thread: Some(json!("plans")), ..Say::new("general", "ann", "in here") }).unwrap();
    let message = stage.heard().await;
    assert_eq!((message.text(), &message.address.conversation), ("in here", &channel));
    assert!(message.address.thread.is_some());
    stage.post(&message.address, &Reply::text("here too")).await.unwrap();
    let answer = stage.shown("general", |entry| entry.text == "here too").await;
    assert_eq!(answer.thread.as_deref(), Some("plans"));
    // Another process does not know the thread, and asks.
    stage.restart().await;
    stage.world().say(Say { thread: Some(json!("plans")), ..Say::new("general", "ann", "again") }).unwrap();
    let again = stage.heard().await;
    assert_eq!((again.address.conversation, again.address.thread), (channel, message.address.thread));
    stage.end().await;
}

#[tokio::test]
async fn an_event_that_comes_twice_or_cannot_be_read_does_no_harm() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "one");
    assert_eq!(stage.heard().await.text(), "one");
    stage.fault(Fault { past: Some(1), ..Fault::new(fault::Kind::Duplicate) });
    for poison in [
        json!({"t": "QUANTUM", "d": {"x": 1}}),
        json!({"t": "MESSAGE_CREATE", "d": "no object"}),
        json!({"t": "MESSAGE_CREATE", "d": {"id": 7, "channel_id": [], "content": 5}}),
        json!({"t": "INTERACTION_CREATE", "d": {"id": "x", "data": 5}}),
        json!({"t": "GUILD_CREATE", "d": {"channels": 5}}),
        json!({"op": 99, "d": null}),
    ] {
        stage.world().raw(poison).unwrap();
    }
    stage
        .world()
        .raw(json!({"t": "MESSAGE_CREATE", "d": {"id": "900", "channel_id": "7", "content": "raw", "quantum": {},
        "author": {"id": "9", "username": "r"}, "embeds": "none", "mentions": [5]}}))
        .unwrap();
    assert_eq!(stage.heard().await.text(), "raw");
    stage.say("dm:ann", "two");
    assert_eq!(stage.heard().await.text(), "two");
    assert!(stage.accepted.try_recv().is_err());
    stage.end().await;
}

#[tokio::test]
async fn edits_reactions_and_bots_are_told_apart() {
    let mut stage = Stage::new().await;
    let message = stage.say("dm:ann", "fist");
    let address = stage.heard().await.address;
    let edit =
        Edit { conversation: "dm:ann".into(), user: "ann".into(), message: json!(message), text: "first".into() };
    stage.world().edit(&edit).unwrap();
    assert_eq!(stage.heard().await.kind, Kind::Edit { text: "first".into() });
    let ours = stage.post(&address, &Reply::text("answer")).await.unwrap().remove(0).message;
    let react = React {
        conversation: "dm:ann".into(),
        user: "ann".into(),
        message: json!(ours),
        emoji: "👍".into(),
        ..React::default()
    };
    stage.world().react(&react).unwrap();
    assert_eq!(stage.heard().await.kind, Kind::Reaction { emoji: "👍".into(), message: ours });
    stage.world().say(Say { bot: true, ..Say::new("general", "robo", "beep") }).unwrap();
    assert!(stage.heard().await.from_bot);
    stage.end().await;
}

#[tokio::test]
async fn who_has_which_role_is_known() {
    let mut stage = Stage::new().await;
    let roles = [("ann".to_owned(), json!(["ops"]))].into();
    stage.world().conversation(&Conversation { name: "general".into(), roles, ..Conversation::default() }).unwrap();
    stage.say("general", "x");
    let message = stage.heard().await;
    assert_eq!(message.roles.len(), 2, "the role, and the guild's own: {:?}", message.roles);
    let mut who = stage.fake.anyone(&message.address);
    who.sender = message.sender.clone();
    let mut now = stage.discord.roles(&who).await.unwrap();
    let mut then = message.roles.clone();
    now.sort();
    then.sort();
    assert_eq!(now, then);
    who.sender.id = "1".into();
    assert!(stage.discord.roles(&who).await.unwrap().is_empty());
    stage.end().await;
}

#[tokio::test]
async fn a_thread_counts_in_its_own_channel_and_a_private_one_for_those_in_it() {
    let mut stage = Stage::new().await;
    let board = stage
        .world()
        .conversation(&Conversation {
            name: "board".into(),
            roles: [("ann".to_owned(), json!(["ops"]))].into(),
            ..Conversation::default()
        })
        .unwrap();
    stage.world().say(Say { thread: Some(json!("plans")), ..Say::new("general", "ann", "in here") }).unwrap();
    let message = stage.heard().await;
    let mut who = stage.fake.anyone(&message.address);
    who.sender = message.sender.clone();
    assert!(!stage.discord.roles_to_write(&who).await.unwrap().is_empty(), "a thread of the channel");
    let in_thread = |thread: &str| Caller { thread: Some(thread.to_owned()), ..who.clone() };
    assert!(stage.discord.roles_to_write(&in_thread(&board)).await.unwrap().is_empty(), "another channel is no thread");
    let plans = message.address.thread.clone().unwrap();
    let elsewhere = Caller { conversation: board, ..in_thread(&plans) };
    assert!(stage.discord.roles_to_write(&elsewhere).await.unwrap().is_empty(), "of another channel");
    // Under its own name it has the rights of its channel.
    let by_name = Caller { conversation: plans, thread: None, ..who.clone() };
    assert!(!stage.discord.roles(&by_name).await.unwrap().is_empty());
    let closed = stage.private_thread(&message.address.conversation).await;
    assert!(stage.discord.roles_to_write(&in_thread(&closed)).await.unwrap().is_empty(), "who was not invited");
    let by_name = Caller { conversation: closed, thread: None, ..who.clone() };
    assert!(stage.discord.roles(&by_name).await.unwrap().is_empty());
    stage.end().await;
}

#[tokio::test]
async fn a_store_that_is_away_loses_nothing_and_keeps_the_order() {
    let mut stage = Stage::new().await;
    stage.fake.down.store(true, Ordering::Relaxed);
    for n in 0..5 {
        stage.say("dm:ann", &n.to_string());
    }
    stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    assert!(stage.accepted.try_recv().is_err());
    // Killed meanwhile: nothing of it counts as taken in.
    stage.kill().await;
    stage.fake.down.store(false, Ordering::Relaxed);
    for n in 0..5 {
        assert_eq!(stage.heard().await.text(), n.to_string());
    }
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}
