//! Commands, buttons, forms and completions are answered in time, and to whom they should be.

use super::stage::*;

fn args(message: &Message) -> Value {
    match &message.kind {
        Kind::Command { args, .. } | Kind::Form { args, .. } => Value::Object(args.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_command_is_deferred_and_its_answer_takes_that_place() {
    let mut stage = Stage::new().await;
    stage.menu("general", "order_query").await;
    stage.command("general", "order_query", json!({"order_id": "A-17", "count": 3, "loud": true, "status": "paid"}));
    let message = stage.heard().await;
    assert!(matches!(&message.kind, Kind::Command { name, .. } if name == "order_query"));
    assert_eq!(args(&message), json!({"order_id": "A-17", "count": 3, "Loud": true, "status": "paid"}));
    assert_eq!((message.heard, message.roles.is_empty()), (Heard::Addressed, false));
    assert!(stage.discord.can_be_private(&message.address));
    let turn = TurnId::new();
    for (n, text) in ["one", "two"].into_iter().enumerate() {
        let key = DeliveryKey { turn, n: 0, part: n as u32 };
        stage.discord.send(&message.address, Op::Post(&plain(text)), &key).await.unwrap();
    }
    stage.shown("general", |entry| entry.text == "one").await;
    stage.shown("general", |entry| entry.text == "two").await;
    assert_eq!(stage.requests("POST channels/{channel}/messages"), 0, "nothing went to the channel by itself");
    stage.end().await;
}

#[tokio::test]
async fn a_private_answer_is_the_sender_s_alone() {
    let mut stage = Stage::new().await;
    stage.menu("general", "order_query").await;
    let secret = Part { audience: Audience::Sender, ..plain("secret") };
    for deferred_alone in [true, false] {
        stage.fake.private.store(deferred_alone, Ordering::Relaxed);
        stage.command("general", "order_query", json!({"order_id": "A"}));
        let to = stage.heard().await.address;
        stage.discord.send(&to, Op::Post(&secret), &key(0)).await.unwrap();
        let more = Part { audience: Audience::Sender, ..plain("more") };
        stage.discord.send(&to, Op::Post(&more), &key(1)).await.unwrap();
    }
    let entries = stage.world().transcript(Some("general"), 0);
    let alone: Vec<_> =
        entries.iter().filter(|entry| entry.to.as_deref() == Some("ann")).map(|e| e.text.clone()).collect();
    assert_eq!(alone.iter().filter(|text| *text == "secret").count(), 2, "{entries:#?}");
    assert_eq!(alone.iter().filter(|text| *text == "more").count(), 2);
    assert!(stage.texts("general").iter().all(|text| text != "secret" && text != "more"));
    stage.end().await;
}

#[tokio::test]
async fn a_slow_core_is_deferred_for_and_a_progress_message_becomes_the_answer() {
    let mut stage = Stage::new().await;
    stage.menu("general", "order_query").await;
    stage.fake.slow_ms.store(600, Ordering::Relaxed);
    stage.command("general", "order_query", json!({"order_id": "A"}));
    let to = stage.heard().await.address;
    let key = key(0);
    let draft = stage.discord.send(&to, Op::Draft(None, &plain("working"), None), &key).await.unwrap();
    let done = stage.discord.send(&to, Op::Replace(&draft, &plain("done")), &key).await.unwrap();
    assert_eq!(draft, done);
    stage.shown("general", |entry| entry.text == "done").await;
    // What all have seen does not become a secret.
    stage.fake.slow_ms.store(0, Ordering::Relaxed);
    stage.command("general", "order_query", json!({"order_id": "B"}));
    let to = stage.heard().await.address;
    let draft = stage.discord.send(&to, Op::Draft(None, &plain("working on B"), None), &key).await.unwrap();
    let secret = Part { audience: Audience::Sender, ..plain("secret") };
    stage.discord.send(&to, Op::Replace(&draft, &secret), &key).await.unwrap();
    let shown = stage.shown("general", |entry| entry.text == "secret").await;
    assert_eq!(shown.to.as_deref(), Some("ann"));
    stage.end().await;
}

#[tokio::test]
async fn whatever_becomes_of_a_command_its_sender_is_told_alone() {
    let mut stage = Stage::new().await;
    stage.menu("general", "help").await;
    stage.fake.not_for_us.store(true, Ordering::Relaxed);
    stage.command("general", "help", json!({}));
    let told = stage.shown("general", |entry| entry.to.is_some() && !entry.text.is_empty()).await;
    assert_eq!(told.to.as_deref(), Some("ann"));
    stage.fake.not_for_us.store(false, Ordering::Relaxed);
    *stage.fake.signal.lock().unwrap() = Some("stopping".into());
    stage.command("general", "help", json!({}));
    assert_eq!(stage.shown("general", |entry| entry.text == "stopping").await.to.as_deref(), Some("ann"));
    stage.heard().await;
    *stage.fake.signal.lock().unwrap() = None;
    stage.fake.down.store(true, Ordering::Relaxed);
    stage.command("dm:bob", "help", json!({}));
    stage.shown("dm:bob", |entry| entry.text.contains("cannot take messages")).await;
    stage.fake.down.store(false, Ordering::Relaxed);
    assert!(stage.accepted.try_recv().is_err());
    stage.end().await;
}

#[tokio::test]
async fn a_button_is_answered_and_what_follows_is_a_message_of_its_own() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    let to = stage.heard().await.address;
    let action = Action::Cancel(TurnId::new());
    let mut reply = Reply::text("working");
    reply.buttons.push(Button { label: "Cancel".into(), action });
    let sent = stage.post(&to, &reply).await.unwrap().remove(0).message;
    let press = Press {
        conversation: "general".into(),
        user: "ann".into(),
        message: json!(sent),
        button: action.to_string(),
        ..Press::default()
    };
    // Also when another process sent it.
    stage.restart().await;
    *stage.fake.signal.lock().unwrap() = Some("stopped".into());
    stage.world().press(&press).unwrap();
    assert_eq!(stage.heard().await.kind, Kind::Press { data: action.to_string() });
    assert_eq!(stage.shown("general", |entry| entry.text == "stopped").await.to.as_deref(), Some("ann"));
    *stage.fake.signal.lock().unwrap() = None;
    stage.world().press(&press).unwrap();
    let details = stage.heard().await.address;
    stage.post(&details, &Reply::text("the tree")).await.unwrap();
    stage.shown("general", |entry| entry.text == "the tree" && entry.message.as_deref() != Some(&sent)).await;
    stage.end().await;
}

#[tokio::test]
async fn a_long_argument_is_asked_for_in_a_form() {
    let mut stage = Stage::new().await;
    stage.menu("general", "send_message").await;
    let interaction = stage.command("general", "send_message", json!({"to": "bob"}));
    stage.shown("general", |entry| entry.kind == transcript::Kind::Modal).await;
    let values = [("text".to_owned(), json!("two\nlines"))].into();
    let submit =
        Submit { conversation: "general".into(), user: "ann".into(), interaction: Some(json!(interaction)), values };
    stage.world().submit(&submit).unwrap();
    let message = stage.heard().await;
    assert!(matches!(&message.kind, Kind::Form { name, .. } if name == "send_message"));
    assert_eq!(args(&message), json!({"text": "two\nlines", "to": "bob"}));
    stage.post(&message.address, &Reply::text("sent")).await.unwrap();
    stage.shown("general", |entry| entry.text == "sent").await;
    // Nothing is asked for when it is there.
    stage.command("general", "send_message", json!({"to": "bob", "text": "short"}));
    assert!(matches!(stage.heard().await.kind, Kind::Command { .. }));
    stage.end().await;
}

#[tokio::test]
async fn what_was_typed_before_a_form_is_not_lost_by_a_restart() {
    let mut stage = Stage::new().await;
    let short = json!({"type": "string"});
    let report = json!({"type": "object", "required": ["text"], "properties": {
        "a": short, "b": short, "c": short, "d": short, "e": short, "text": {"type": "string", "maxLength": 4000}}});
    stage.fake.menu.lock().unwrap().push(item("report", report));
    stage.fake.generation.send_replace(2);
    stage.menu("general", "report").await;
    let ask = |stage: &Stage, e: &str| {
        stage.command("general", "report", json!({"a": "1", "b": "2", "c": "3", "d": "4", "e": e}))
    };
    let submit = |stage: &Stage, interaction: String| {
        let values = [("text".to_owned(), json!("long"))].into();
        let interaction = Some(json!(interaction));
        let submit = Submit { conversation: "general".into(), user: "ann".into(), interaction, values };
        stage.world().submit(&submit).unwrap();
    };
    let modals = |stage: &Stage| {
        let entries = stage.world().transcript(Some("general"), 0);
        entries.iter().filter(|entry| entry.kind == transcript::Kind::Modal).count()
    };
    let long = "word ".repeat(30);
    for (n, (value, restarts)) in [("5", true), (long.as_str(), false), (long.as_str(), true)].into_iter().enumerate() {
        let (before, mut updates) = (modals(&stage), stage.world().updates());
        let asked = ask(&stage, value);
        timeout(SOON, updates.wait_for(|_| modals(&stage) > before)).await.expect("in time").unwrap();
        if restarts {
            stage.restart().await;
        }
        submit(&stage, asked);
        if n < 2 {
            let filled = args(&stage.heard().await);
            assert_eq!((&filled["a"], &filled["e"], &filled["text"]), (&json!("1"), &json!(value), &json!("long")));
        }
    }
    let told = stage.shown("general", |entry| entry.text.contains("send the command again")).await;
    assert_eq!(told.to.as_deref(), Some("ann"));
    assert!(stage.accepted.try_recv().is_err(), "it is not run with less than was typed");
    stage.end().await;
}

#[tokio::test]
async fn values_are_offered_while_they_are_typed() {
    let stage = Stage::new().await;
    stage.menu("general", "order_query").await;
    let typed = Typed {
        conversation: "general".into(),
        user: "ann".into(),
        name: "order_query".into(),
        field: "city".into(),
        typed: json!("city 2"),
        ..Typed::default()
    };
    let offered = async |user: &str| {
        let typed = Typed { user: user.into(), ..typed.clone() };
        let offered = timeout(SOON, stage.world().autocomplete(&typed)).await.unwrap().unwrap();
        serde_json::to_value(offered).unwrap()["choices"].clone()
    };
    assert_eq!(offered("ann").await[0], json!({"name": "ann:order_query:city:city 2", "value": "city 2"}));
    assert_eq!(offered(fake::STRANGER).await, json!([]), "who is not heard is offered nothing");
    stage.end().await;
}

#[tokio::test]
async fn commands_are_registered_when_they_changed() {
    let mut stage = Stage::new().await;
    stage.menu("general", "order_query").await;
    let registered = |stage: &Stage| stage.requests("PUT commands");
    assert_eq!(registered(&stage), 1);
    stage.fake.generation.send_replace(2);
    stage.restart().await;
    stage.fake.menu.lock().unwrap().push(item("weather", json!({})));
    stage.fake.generation.send_replace(3);
    stage.menu("general", "weather").await;
    assert_eq!(registered(&stage), 2, "an unchanged set is left alone, also after a restart");
    stage.say("general", "x");
    *stage.fake.own.lock().unwrap() = stage.heard().await.address.space;
    stage.fake.generation.send_replace(4);
    stage.menu("general", "only_here").await;
    stage.command("general", "only_here", json!({}));
    assert!(matches!(stage.heard().await.kind, Kind::Command { name, .. } if name == "only_here"));
    stage.end().await;
}

#[tokio::test]
async fn an_answer_whose_time_is_over_goes_to_the_channel() {
    let limits = Limits { token_seconds: 0.3, ..Limits::none() };
    let mut stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    stage.menu("general", "help").await;
    stage.command("general", "help", json!({}));
    let to = stage.heard().await.address;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let secret = Part { audience: Audience::Sender, ..plain("secret") };
    let sent = stage.discord.send(&to, Op::Post(&secret), &key(0)).await;
    assert!(matches!(sent, Err(DeliveryError::Refused(Why::Unsupported))), "{sent:?}");
    stage.discord.send(&to, Op::Post(&plain("late")), &key(0)).await.unwrap();
    assert_eq!(stage.shown("general", |entry| entry.text == "late").await.to, None);
    stage.end_but_for("interaction_token_expired").await;
}

#[tokio::test]
async fn a_command_is_answered_by_who_comes_after_a_restart() {
    let mut stage = Stage::new().await;
    stage.menu("general", "help").await;
    for alone in [true, false] {
        stage.fake.private.store(alone, Ordering::Relaxed);
        stage.command("general", "help", json!({}));
        let to = stage.heard().await.address;
        stage.restart().await;
        assert!(matches!(stage.discord.send(&to, Op::Find, &key(0)).await, Err(DeliveryError::Refused(Why::Gone))));
        let audience = if alone { Audience::Sender } else { Audience::Everyone };
        let part = Part { audience, ..plain(if alone { "for you" } else { "for all" }) };
        stage.discord.send(&to, Op::Post(&part), &key(0)).await.unwrap();
        let shown = stage.shown("general", |entry| entry.text == part.plain).await;
        assert_eq!(shown.to.is_some(), alone);
        assert!(stage.discord.send(&to, Op::Find, &key(0)).await.is_ok());
    }
    stage.end().await;
}

#[tokio::test]
async fn a_command_that_comes_twice_or_whose_answer_is_lost_is_answered_once() {
    let mut stage = Stage::new().await;
    stage.menu("general", "help").await;
    stage.fault(fault(fault::Kind::Duplicate));
    for when in [fault::When::Before, fault::When::After] {
        stage.fault(Fault { when, method: Some("POST callback".into()), ..fault(fault::Kind::Drop) });
        stage.command("general", "help", json!({}));
        let to = stage.heard().await.address;
        let text = format!("{when:?}");
        stage.discord.send(&to, Op::Post(&plain(&text)), &key(0)).await.unwrap();
        stage.shown("general", |entry| entry.text == text).await;
    }
    assert!(stage.accepted.try_recv().is_err());
    assert_eq!(stage.requests("POST channels/{channel}/messages"), 0);
    stage.end_but_for("answered_twice").await;
}

#[tokio::test]
async fn a_command_in_a_thread_belongs_to_its_channel() {
    let mut stage = Stage::new().await;
    stage.menu("general", "help").await;
    stage.say("general", "x");
    let channel = stage.heard().await.address.conversation;
    stage.world().say(Say { thread: Some(json!("plans")), ..Say::new("general", "ann", "y") }).unwrap();
    let thread = stage.heard().await.address.thread;
    let command = Command {
        conversation: "general".into(),
        user: "ann".into(),
        name: "help".into(),
        thread: Some(json!("plans")),
        language_code: Some("zh-CN".into()),
        ..Command::default()
    };
    stage.world().command(&command).unwrap();
    let message = stage.heard().await;
    assert_eq!((message.address.conversation, message.address.thread), (channel, thread));
    assert_eq!(message.locale.as_deref(), Some("zh-cn"));
    stage.end().await;
}

#[tokio::test]
async fn an_error_is_the_sender_s_alone_and_takes_the_place_of_what_showed_progress() {
    let mut stage = Stage::new().await;
    stage.menu("general", "help").await;
    let turn = TurnId::new();
    let failure = contract::Failure::new(contract::Code::ArgsInvalid, "the arguments are not right");
    let mut notice = Reply::notice(contract::Notice::of(&failure, Some("help"), Some(turn)));
    notice.buttons.push(Button { label: "Details".into(), action: Action::Details(turn) });
    for audience in [Audience::Sender, Audience::Everyone] {
        notice.audience = audience;
        stage.command("general", "help", json!({}));
        let to = stage.heard().await.address;
        let part = stage.discord.render(&notice, &to).remove(0);
        let key = key(0);
        let draft = stage.discord.send(&to, Op::Draft(None, &plain("working on it"), None), &key).await.unwrap();
        stage.discord.send(&to, Op::Replace(&draft, &part), &key).await.unwrap();
        let is_alone = audience == Audience::Sender;
        let fits = |entry: &Entry| entry.text.contains("not right") && entry.to.is_some() == is_alone;
        let shown = stage.shown("general", fits).await;
        assert_eq!((shown.buttons.len(), shown.buttons[0].text.as_str()), (1, "Details"));
    }
    stage.end().await;
}
