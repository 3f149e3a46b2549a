//! What the core sends arrives whole, and each refusal says what the delivery must do.

use super::stage::*;

#[tokio::test]
async fn refusals_say_what_the_delivery_must_do() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let to = stage.heard().await.address;
    stage.fault(posting(fault::Kind::RefuseMarkup));
    assert!(matches!(stage.post(&to, &drawn("*a*")).await, Err(DeliveryError::Refused(Why::Markup))));
    stage.post(&to, &Part { body: String::new(), ..drawn("*a*") }).await.unwrap();

    stage.fault(Fault { seconds: Some(1.0), ..posting(fault::Kind::RateLimit) });
    let wait = stage.post(&to, &plain("x")).await;
    assert!(matches!(wait, Err(DeliveryError::Wait { scope: Scope::Conversation, .. })), "{wait:?}");
    tokio::time::sleep(Duration::from_millis(1_100)).await;

    let error = |error: &str| stage.fault(Fault { error: Some(error.into()), ..posting(fault::Kind::Error) });
    for (code, expected) in [
        ("is_archived", Why::Gone),
        ("thread_not_found", Why::Gone),
        ("restricted_action", Why::Forbidden),
        ("something_new", Why::Other("something_new".into())),
    ] {
        error(code);
        let refused = stage.post(&to, &plain("x")).await;
        assert!(matches!(&refused, Err(DeliveryError::Refused(why)) if *why == expected), "{code}: {refused:?}");
    }
    error("missing_scope");
    stage.post(&to, &plain("x")).await.unwrap_err();
    stage.end().await;
}

#[tokio::test]
async fn what_is_drawn_is_taken_and_read_as_it_was_meant() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let to = stage.heard().await.address;
    let markdown = "# Result\n\n**bold** and `a < b && c` with [a link](https://e.test?a=1&b=2)\n\n| city | days |\n|---|---|\n| Oslo | 3 |\n\n```rust\nfn main() {}\n```\n\n<!channel> @everyone & <@U1>";
    let mut reply = contract::Reply::text(markdown);
    reply.buttons.push(Button { label: "Details".into(), action: Action::Details(TurnId::new()) });
    for part in stage.slack.render(&reply, &to) {
        stage.post(&to, &part).await.unwrap();
    }
    let shown = stage.shown("general", |entry| !entry.buttons.is_empty()).await;
    let all = stage.texts("general").join("\n");
    for piece in ["Result", "bold and a < b && c", "Oslo", "fn main() {}", "<!channel>"] {
        assert!(all.contains(piece), "{piece}: {all}");
    }
    assert_eq!(shown.buttons[0].text, "Details");
    stage.end().await;
}

#[tokio::test]
async fn a_wait_keeps_the_order_and_is_not_ignored() {
    let mut stage = Stage::with(Setup {
        limits: Limits { message_per_second: 5.0, message_burst: 2.0, ..quick() },
        ..Setup::default()
    })
    .await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    for n in 0..4 {
        loop {
            match stage.post(&to, &plain(&n.to_string())).await {
                Ok(_) => break,
                Err(DeliveryError::Wait { until, .. }) => {
                    tokio::time::sleep(until.duration_since(std::time::SystemTime::now()).unwrap_or_default()).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!(stage.texts("dm:ann"), ["0", "1", "2", "3"]);
    stage.end().await;
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_found_and_not_sent_again() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let thread = stage.heard().await.address;
    stage.say("dm:ann", "x");
    let direct = stage.heard().await.address;
    for (to, place) in [(thread, "general"), (direct, "dm:ann")] {
        let key = key(0);
        assert!(matches!(stage.slack.send(&to, Op::Find, &key).await, Err(DeliveryError::Refused(Why::Gone))));
        stage.fault(Fault {
            when: fault::When::After,
            method: Some("chat.postMessage".into()),
            ..fault(fault::Kind::Drop)
        });
        let unsure = stage.slack.send(&to, Op::Post(&plain("once")), &key).await;
        assert!(matches!(unsure, Err(DeliveryError::Unsure(_))), "{unsure:?}");
        let found = stage.slack.send(&to, Op::Find, &key).await.unwrap();
        stage.shown(place, |entry| entry.message.as_ref() == Some(&found.message)).await;
        assert_eq!(stage.texts(place), ["once"]);
        stage.fault(Fault { method: Some("chat.postMessage".into()), ..fault(fault::Kind::Drop) });
        let unsure = stage.slack.send(&to, Op::Post(&plain("never")), &super::stage::key(1)).await;
        assert!(matches!(unsure, Err(DeliveryError::Unsure(_))), "{unsure:?}");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_message_is_changed_and_taken_back_in_any_state() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let to = stage.heard().await.address;
    let draft = stage.slack.send(&to, Op::Draft(None, &plain("one"), None), &key(0)).await.unwrap();
    assert_eq!(stage.slack.send(&to, Op::Draft(Some(&draft), &drawn("*two*"), None), &key(0)).await.unwrap(), draft);
    let edit = stage.shown("general", |entry| entry.kind == transcript::Kind::Edit).await;
    assert_eq!(edit.text, "two");
    stage.slack.send(&to, Op::Remove(&draft), &key(0)).await.unwrap();
    stage.slack.send(&to, Op::Remove(&draft), &key(0)).await.unwrap();
    let gone = stage.slack.send(&to, Op::Replace(&draft, &plain("x")), &key(0)).await;
    assert!(matches!(gone, Err(DeliveryError::Refused(Why::TooOld))), "{gone:?}");
    stage.end().await;
}

#[tokio::test]
async fn a_file_arrives_in_its_thread_with_its_words() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let to = stage.heard().await.address;
    let file = |name: &str, bytes: &str| PartFile {
        name: name.into(),
        media_type: "text/plain".into(),
        bytes: bytes.to_owned().into(),
    };
    let part = Part { files: vec![file("a.txt", "hello"), file("b.txt", "you")], ..plain("two files & <words>") };
    let receipt = stage.post(&to, &part).await.unwrap();
    let shown = stage.shown("general", |entry| !entry.files.is_empty()).await;
    assert_eq!(shown.thread, to.thread);
    assert_eq!(shown.text, "two files & <words>");
    assert_eq!(shown.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    assert_eq!(stage.world().file_by_id(&shown.files[0].id).unwrap().1, "hello");
    let private = Part { audience: Audience::Sender, ..part.clone() };
    assert!(matches!(stage.post(&to, &private).await, Err(DeliveryError::Refused(Why::Unsupported))));
    let new = stage.slack.send(&to, Op::Replace(&receipt, &plain("instead")), &key(0)).await.unwrap();
    assert_ne!(new, receipt);
    stage.shown("general", |entry| entry.text == "instead").await;
    stage.end().await;
}

#[tokio::test]
async fn a_private_word_is_seen_by_one_in_the_thread() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let to = stage.heard().await.address;
    assert!(stage.slack.can_be_private(&to));
    stage.post(&to, &private("psst")).await.unwrap();
    let shown = stage.shown("general", |entry| entry.text == "psst").await;
    assert_eq!(
        (shown.kind, shown.to.as_deref(), shown.thread),
        (transcript::Kind::Private, Some("ann"), to.thread.clone())
    );
    // What everybody saw of the work goes when the answer is for one.
    let draft = stage.slack.send(&to, Op::Draft(None, &plain("working"), None), &key(0)).await.unwrap();
    stage.slack.send(&to, Op::Replace(&draft, &private("for you")), &key(0)).await.unwrap();
    stage.shown("general", |entry| entry.text == "for you" && entry.kind == transcript::Kind::Private).await;
    stage.shown("general", |entry| entry.kind == transcript::Kind::Delete).await;
    let nobody = Address { private: Opaque::default(), ..to };
    assert!(!stage.slack.can_be_private(&nobody));
    assert!(matches!(stage.post(&nobody, &private("psst")).await, Err(DeliveryError::Refused(Why::Unsupported))));
    stage.end().await;
}

#[tokio::test]
async fn a_message_that_waits_carries_a_mark_until_it_is_cleared() {
    let mut stage = Stage::new().await;
    stage.mention("general", "x");
    let to = stage.heard().await.address;
    for _ in 0..2 {
        stage.slack.indicate(&to, Indicator::Waiting).await;
    }
    stage.shown("general", |entry| entry.kind == transcript::Kind::Reaction && !entry.text.is_empty()).await;
    stage.slack.indicate(&to, Indicator::Clear).await;
    stage.slack.indicate(&to, Indicator::Clear).await;
    stage.shown("general", |entry| entry.kind == transcript::Kind::Reaction && entry.text.is_empty()).await;
    assert_eq!(stage.world().stats().requests["reactions.remove"], 1);
    stage.end().await;
}

#[tokio::test]
async fn where_the_app_is_not_a_member_a_command_is_answered_all_the_same() {
    let mut stage = Stage::new().await;
    stage.say("general", "x");
    stage.heard().await;
    let left = Conversation { name: "general".into(), state: Some(State::Left), ..Conversation::default() };
    stage.world().conversation(&left).unwrap();
    stage.command("general", "help", "");
    let to = stage.heard().await.address;
    stage.post(&to, &plain("here you are")).await.unwrap();
    stage.shown("general", |entry| entry.text == "here you are").await;
    let said = Address { private: Opaque::default(), ..to };
    assert!(matches!(stage.post(&said, &plain("x")).await, Err(DeliveryError::Refused(_))));
    stage.end().await;
}

/// A server that says which scopes a token has.
async fn with_scopes(scopes: &'static str) -> String {
    use axum::routing::any;
    let auth =
        any(move || async move { ([("x-oauth-scopes", scopes)], axum::Json(json!({"ok": true, "user_id": "U1"}))) });
    let refusal = json!({"ok": false, "error": "missing_scope", "needed": "connections:write"});
    let app = axum::Router::new()
        .route("/api/auth.test", auth)
        .route("/api/apps.connections.open", any(move || async move { axum::Json(refusal) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn what_the_set_up_lacks_is_said_with_its_step() {
    let config = |url: String| Config { api_url: Some(url), ..socket_config("", 1) };
    let slack = Slack::new(config(with_scopes("chat:write, commands").await)).unwrap();
    let missing = slack::inspect(&slack).await;
    let of = |scope: &str| missing.iter().find(|missing| missing.what.contains(scope));
    assert!(of("app_mentions:read").is_some_and(|missing| missing.fatal && missing.step.contains("Reinstall")));
    assert!(of("files:write").is_some_and(|missing| !missing.fatal));
    assert!(of("connections:write").is_some_and(|missing| missing.fatal && missing.step.contains("App-Level Tokens")));
    assert!(of("the scope commands").is_none() && of("chat:write").is_none(), "{missing:?}");

    let stage = Stage::new().await;
    assert!(slack::inspect(&stage.slack).await.is_empty());
    stage.fault(Fault {
        method: Some("auth.test".into()),
        error: Some("invalid_auth".into()),
        ..fault(fault::Kind::Error)
    });
    let missing = slack::inspect(&stage.slack).await;
    assert!(missing.len() == 1 && missing[0].fatal, "{missing:?}");
    stage.end().await;
}
