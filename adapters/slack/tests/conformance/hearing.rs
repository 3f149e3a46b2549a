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
    let root = stage.mention("general", "do it & <that>");
    let addressed = stage.heard().await;
    assert_eq!((addressed.heard, addressed.text()), (Heard::Addressed, "do it & <that>"));
    assert_eq!(addressed.address.thread.as_deref(), Some(root.as_str()));

    stage.post(&addressed.address, &plain("done <!channel> & so")).await.unwrap();
    let answer = stage.shown("general", |entry| entry.text.starts_with("done")).await;
    assert_eq!((answer.text.as_str(), answer.thread.as_deref()), ("done <!channel> & so", Some(root.as_str())));
    stage.post(&direct.address, &drawn("*hi*")).await.unwrap();
    let answer = stage.shown("dm:ann", |_| true).await;
    assert_eq!((answer.text.as_str(), answer.thread), ("hi", None));
    stage.end().await;
}

#[tokio::test]
async fn a_mention_is_one_message_though_it_comes_as_two_events() {
    let mut stage = Stage::new().await;
    stage.mention("general", "once");
    stage.until("both events are acknowledged", |stage| stage.world().stats().acknowledged >= 2).await;
    assert_eq!(stage.heard().await.text(), "once");
    stage.say("dm:ann", "next");
    assert_eq!(stage.heard().await.text(), "next");
    assert_eq!(stage.fake.tries.lock().unwrap().len(), 3);
    stage.end().await;
}

#[tokio::test]
async fn a_thread_is_one_session_and_a_group_of_people_is_a_channel() {
    let mut stage = Stage::new().await;
    let root = stage.mention("general", "root");
    let first = stage.heard().await.address;
    let reply = Say { reply_to: Some(root.clone()), mention: true, ..Say::new("general", "bob", "more") };
    stage.world().say(reply).unwrap();
    let second = stage.heard().await.address;
    assert_eq!(contract::SessionKey::of(&first), contract::SessionKey::of(&second));
    let people = Conversation { name: "trio".into(), kind: Some(NewKind::Mpim), ..Conversation::default() };
    stage.world().conversation(&people).unwrap();
    stage.mention("trio", "hello");
    let several = stage.heard().await;
    assert_eq!((several.heard, several.address.direct), (Heard::Addressed, false));
    assert_eq!(stage.slack.fallback(&first).map(|to| to.thread), Some(None));
    stage.end().await;
}

#[tokio::test]
async fn an_edit_is_told_apart_and_other_changes_are_none() {
    let mut stage = Stage::new().await;
    let message = stage.say("dm:ann", "fist");
    let address = stage.heard().await.address;
    let edit = |text: &str| Edit {
        conversation: "dm:ann".into(),
        user: "ann".into(),
        message: message.clone(),
        text: text.into(),
    };
    stage.world().edit(&edit("first")).unwrap();
    assert_eq!(stage.heard().await.kind, Kind::Edit { text: "first".into() });
    // An answer in its thread changes the message, and says nothing.
    stage.post(&Address { thread: Some(message), ..address }, &plain("there")).await.unwrap();
    stage.say("dm:ann", "next");
    assert_eq!(stage.heard().await.text(), "next");
    stage.end().await;
}

#[tokio::test]
async fn an_event_that_comes_twice_or_cannot_be_read_does_no_harm() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "one");
    assert_eq!(stage.heard().await.text(), "one");
    stage.fault(Fault { past: Some(1), ..Fault::new(fault::Kind::Duplicate) });
    for event in [
        json!({"type": "quantum", "x": 1}),
        json!({"type": "message", "channel": [], "ts": 5, "text": {}}),
        json!({"type": "message", "subtype": "from_the_future"}),
        json!({"type": "quantum_event", "envelope_id": "e9", "payload": {}}),
        json!({"type": "events_api", "envelope_id": "e10", "payload": "no object"}),
        json!({"type": "interactive", "envelope_id": "e11", "payload": {"type": "block_actions", "actions": []}}),
    ] {
        stage.world().raw(Raw { event, app: None }).unwrap();
    }
    stage.say("dm:ann", "two");
    assert_eq!(stage.heard().await.text(), "two");
    stage.until("all is acknowledged", |stage| stage.world().stats().violation_count == 3).await;
    // The platform did not send those three envelopes itself; that they are acknowledged is right.
    stage.forgiven = 3;
    stage.end().await;
}

#[tokio::test]
async fn a_crash_while_something_is_taken_in_holds_up_nobody() {
    let mut stage = Stage::new().await;
    *stage.fake.crashes.lock().unwrap() = Some("crash".into());
    stage.say("dm:ann", "crash");
    stage.until("it crashed", |stage| stage.fake.crashes.lock().unwrap().is_none()).await;
    stage.say("dm:ann", "next");
    assert_eq!(stage.heard().await.text(), "next");
    stage.end().await;
}

#[tokio::test]
async fn a_reaction_and_a_file_are_heard() {
    let mut stage = Stage::new().await;
    let message = stage.say("dm:ann", "look");
    stage.heard().await;
    let react = React {
        conversation: "dm:ann".into(),
        user: "ann".into(),
        message: message.clone(),
        emoji: "thumbsup".into(),
        remove: false,
    };
    stage.world().react(&react).unwrap();
    assert!(
        matches!(stage.heard().await.kind, Kind::Reaction { emoji, message: on } if emoji == "👍" && on == message)
    );
    let files = serde_json::from_value(json!([{"name": "a.txt", "mime": "text/plain", "text": "hello"}])).unwrap();
    stage.world().say(Say { files, ..Say::new("dm:ann", "ann", "a file") }).unwrap();
    let heard = stage.heard().await;
    assert_eq!((heard.text(), heard.files[0].name.as_str(), heard.files[0].size), ("a file", "a.txt", Some(5)));
    let mut bytes = stage.slack.open(&heard.files[0]).await.unwrap();
    assert_eq!(bytes.next().await.unwrap().unwrap(), "hello");
    let elsewhere =
        contract::FileRef { handle: Opaque::new("slack:https://files.slack.com/x").unwrap(), ..heard.files[0].clone() };
    assert!(
        matches!(stage.slack.open(&elsewhere).await, Err(DeliveryError::NotSent(_))),
        "the real Slack is not asked"
    );
    stage.end().await;
}

#[tokio::test]
async fn another_apps_mention_is_not_ours() {
    let other = NewApp {
        name: "other".into(),
        bot_tokens: vec!["xoxb-other".into()],
        app_token: Some("xapp-other".into()),
        ..NewApp::default()
    };
    let mut stage = Stage::with(Setup { limits: quick(), apps: vec![other], ..Setup::default() }).await;
    stage.say("general", "@other do it");
    let heard = stage.heard().await;
    assert_eq!(heard.heard, Heard::Overheard);
    assert!(heard.text().starts_with("@U") && heard.text().ends_with(" do it"), "{}", heard.text());
    stage.end().await;
}

#[tokio::test]
async fn who_was_looked_up_has_a_name_and_a_language_then() {
    let mut stage = Stage::new().await;
    let say = |text: &str| Say { locale: Some("zh-CN".into()), ..Say::new("dm:mei", "mei", text) };
    stage.world().say(say("one")).unwrap();
    assert_eq!(stage.heard().await.locale, None, "the first one does not wait");
    stage.until("she is looked up", |stage| stage.world().stats().requests.contains_key("users.info")).await;
    let known = async {
        loop {
            stage.world().say(say("more")).unwrap();
            let heard = stage.accepted.recv().await.unwrap();
            if heard.locale.is_some() {
                return heard;
            }
        }
    };
    let heard = timeout(SOON, known).await.unwrap();
    assert_eq!((heard.locale.as_deref(), heard.sender.name.as_str()), (Some("zh-cn"), "mei"));
    assert_eq!(stage.world().stats().requests["users.info"], 1);
    stage.end().await;
}

#[tokio::test]
async fn an_organisations_app_tells_its_workspaces_apart() {
    let app = NewApp {
        name: "orgbot".into(),
        app_token: Some(APP_TOKEN.into()),
        bot_tokens: vec![BOT_TOKEN.into()],
        teams: vec!["north".into(), "south".into()],
        enterprise: Some("E1".into()),
        commands: Some(vec!["/help".into()]),
        ..NewApp::default()
    };
    let mut stage = Stage::with(Setup { limits: quick(), apps: vec![app], ..Setup::default() }).await;
    let mut spaces = HashSet::new();
    for team in ["north", "south"] {
        let place = Conversation {
            name: format!("in-{team}"),
            kind: Some(NewKind::Channel),
            team: Some(team.into()),
            ..Conversation::default()
        };
        stage.world().conversation(&place).unwrap();
        stage.say(&place.name, "hello");
        let heard = stage.heard().await;
        assert_eq!(heard.text(), "hello");
        stage.command(&place.name, "help", "");
        assert_eq!(stage.heard().await.address.space, heard.address.space, "commands too");
        spaces.insert(heard.address.space.unwrap());
    }
    assert_eq!(spaces.len(), 2);
    stage.end().await;
}

#[tokio::test]
async fn who_was_taken_out_or_deactivated_is_not_there() {
    let mut stage = Stage::new().await;
    stage.mention("general", "hello");
    let message = stage.heard().await;
    let mut who = stage.fake.anyone(&message.address);
    who.sender = message.sender.clone();
    let stands = |stage: &Stage, standing| {
        let roles = [("ann".to_owned(), standing)].into();
        stage.world().conversation(&Conversation { name: "general".into(), roles, ..Conversation::default() }).unwrap();
    };
    assert_eq!(stage.slack.roles(&who).await.unwrap(), ["member"]);
    assert!(stage.slack.roles_to_write(&who).await.unwrap().is_empty(), "who may write is not said");
    stands(&stage, sim::slack::Standing::Left);
    assert!(stage.slack.roles(&who).await.unwrap().is_empty());
    stands(&stage, sim::slack::Standing::Member);
    assert_eq!(stage.slack.roles(&who).await.unwrap(), ["member"]);
    stands(&stage, sim::slack::Standing::Deactivated);
    assert!(stage.slack.roles(&who).await.unwrap().is_empty());
    who.sender.id = "UNOBODY".into();
    assert!(stage.slack.roles(&who).await.unwrap().is_empty());
    stage.end().await;
}

#[tokio::test]
async fn a_scope_that_is_lacking_does_not_say_that_somebody_left() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "hello");
    let message = stage.heard().await;
    let mut who = stage.fake.anyone(&message.address);
    who.sender = message.sender.clone();
    for method in ["users.info", "conversations.members"] {
        stage.fault(Fault {
            error: Some("missing_scope".into()),
            method: Some(method.into()),
            ..Fault::new(fault::Kind::Error)
        });
        let told = stage.slack.roles(&who).await;
        assert!(matches!(&told, Err(DeliveryError::NotSent(why)) if why == "missing_scope"), "{method}: {told:?}");
    }
    assert_eq!(stage.slack.roles(&who).await.unwrap(), ["member"]);
    stage.end().await;
}
