//! Commands, forms, buttons and assistants: what Slack waits for is answered at once, and privately.

use super::stage::*;

fn press(stage: &Stage, message: &str, button: &str) {
    let press =
        Press { conversation: "general".into(), user: "ann".into(), message: message.into(), button: button.into() };
    stage.world().press(&press).unwrap();
}

#[tokio::test]
async fn a_slash_command_is_said_and_its_failure_is_seen_by_one() {
    let mut stage = Stage::new().await;
    stage.command("general", "weather_query", "city=Oslo");
    let heard = stage.heard().await;
    assert_eq!(
        (heard.text(), heard.heard, heard.origin()),
        ("/weather_query city=Oslo", Heard::Addressed, contract::Origin::Command)
    );
    assert!(stage.slack.can_be_private(&heard.address));
    let receipt = stage.post(&heard.address, &private("only you")).await.unwrap();
    let shown = stage.shown("general", |entry| entry.kind == transcript::Kind::Private).await;
    assert_eq!((shown.text.as_str(), shown.to.as_deref()), ("only you", Some("ann")));
    let replaced = stage.slack.send(&heard.address, Op::Replace(&receipt, &private("new")), &key(0)).await;
    assert!(matches!(replaced, Err(DeliveryError::Refused(Why::TooOld))), "it cannot be changed");
    // Beyond the five uses of the answer's address it goes another way.
    for n in 0..6 {
        stage.post(&heard.address, &private(&format!("more {n}"))).await.unwrap();
    }
    stage.shown("general", |entry| entry.text == "more 5" && entry.to.as_deref() == Some("ann")).await;
    stage.command("general", "toolgate", "weather_query city=Bergen");
    assert_eq!(stage.heard().await.text(), "/weather_query city=Bergen");
    stage.until("all is acknowledged", |stage| stage.world().stats().unanswered == 0).await;
    stage.end().await;
}

#[tokio::test]
async fn a_command_that_is_not_for_us_or_a_signal_is_answered_at_once() {
    let mut stage = Stage::new().await;
    *stage.fake.signal.lock().unwrap() = Some("it stops <now>".into());
    stage.command("general", "help", "");
    stage.heard().await;
    stage.shown("general", |entry| entry.kind == transcript::Kind::Private && entry.text == "it stops <now>").await;
    stage.fake.not_for_us.store(true, Ordering::Relaxed);
    stage.fake.deaf.store(true, Ordering::Relaxed);
    stage.command("general", "help", "");
    let words = words::not_here(contract::Locale::En);
    stage.shown("general", |entry| entry.kind == transcript::Kind::Private && entry.text == words).await;
    // No form either.
    stage.command("general", "weather_query", "days=3");
    let told = |stage: &Stage| {
        let told = |entry: &&transcript::Entry| entry.kind == transcript::Kind::Private && entry.text == words;
        stage.world().transcript(Some("general"), 0).iter().filter(told).count() == 2
    };
    stage.until("the second is told as well", told).await;
    stage.end().await;
}

#[tokio::test]
async fn a_command_that_lacks_something_asks_for_it_with_a_form() {
    let mut stage = Stage::new().await;
    stage.command("general", "weather_query", "days=3");
    let modal = stage.shown("general", |entry| entry.kind == transcript::Kind::Modal).await;
    assert!(modal.text.starts_with("weather_query"), "{}", modal.text);
    let fields: Vec<_> = modal.fields.iter().map(|field| (field.action.as_str(), field.optional)).collect();
    assert_eq!(fields, [("city", false), ("days", true)]);
    let submit = |city: &str| {
        let values = json!({"city": city, "days": 3}).as_object().unwrap().clone();
        let submit = Submit { conversation: "general".into(), user: "ann".into(), values, ..Submit::default() };
        stage.world().submit(&submit).unwrap();
    };
    submit("Atlantis");
    stage.until("the form is answered", |stage| stage.world().stats().unanswered == 0).await;
    assert!(stage.fake.seen.lock().unwrap().is_empty(), "what is wrong is said in the form");
    submit("Oslo");
    let heard = stage.heard().await;
    let args = json!({"city": "Oslo", "days": 3}).as_object().unwrap().clone();
    assert_eq!(heard.kind, Kind::Form { name: "weather_query".into(), args });
    stage.post(&heard.address, &private("it rains")).await.unwrap();
    stage.shown("general", |entry| entry.text == "it rains" && entry.kind == transcript::Kind::Private).await;
    stage.end().await;
}

#[tokio::test]
async fn a_form_is_kept_open_while_nothing_can_be_stored() {
    let mut stage = Stage::new().await;
    stage.command("general", "weather_query", "");
    stage.shown("general", |entry| entry.kind == transcript::Kind::Modal).await;
    stage.fake.down.store(true, Ordering::Relaxed);
    let values = json!({"city": "Oslo"}).as_object().unwrap().clone();
    let submit = Submit { conversation: "general".into(), user: "ann".into(), values, ..Submit::default() };
    stage.world().submit(&submit).unwrap();
    stage.condition(|now| matches!(now, Condition::Degraded(why) if why.contains("nothing is taken in"))).await;
    stage.until("the person is told", |stage| stage.world().stats().unanswered == 0).await;
    stage.fake.down.store(false, Ordering::Relaxed);
    stage.world().submit(&submit).unwrap();
    assert!(matches!(stage.heard().await.kind, Kind::Form { .. }));
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn a_button_is_pressed_in_its_thread_also_after_a_restart() {
    let mut stage = Stage::new().await;
    stage.mention("general", "work");
    let address = stage.heard().await.address;
    let (cancel, details) = (Action::Cancel(TurnId::new()), Action::Details(TurnId::new()));
    let mut part = drawn("working");
    part.buttons =
        vec![Button { label: "Cancel".into(), action: cancel }, Button { label: "Details".into(), action: details }];
    let receipt = stage.post(&address, &part).await.unwrap();
    stage.stop().await.unwrap();
    stage.start().await;
    stage.until("a socket is open", |stage| stage.world().stats().connections == 2).await;
    *stage.fake.signal.lock().unwrap() = Some("stopped".into());
    press(&stage, &receipt.message, "Cancel");
    let heard = stage.heard().await;
    assert_eq!(heard.kind, Kind::Press { data: cancel.to_string() });
    assert_eq!(contract::SessionKey::of(&heard.address), contract::SessionKey::of(&address));
    stage.shown("general", |entry| entry.kind == transcript::Kind::Private && entry.text == "stopped").await;
    *stage.fake.signal.lock().unwrap() = None;
    press(&stage, &receipt.message, &details.to_string());
    assert_eq!(stage.heard().await.kind, Kind::Press { data: details.to_string() });
    stage.until("presses are acknowledged", |stage| stage.world().stats().unanswered == 0).await;
    // The buttons go when the answer comes.
    stage.slack.send(&address, Op::Replace(&receipt, &plain("done")), &key(0)).await.unwrap();
    let edit = stage.shown("general", |entry| entry.kind == transcript::Kind::Edit).await;
    assert_eq!((edit.text.as_str(), edit.buttons.len()), ("done", 0));
    stage.end().await;
}

#[tokio::test]
async fn an_assistant_begins_with_what_can_be_asked_and_shows_that_it_works() {
    let mut stage = Stage::new().await;
    let open = Open { conversation: "dm:ann".into(), user: "ann".into(), what: OpenWhat::Assistant, ..Open::default() };
    let thread = stage.world().open(&open).unwrap().message.unwrap();
    stage
        .until("prompts are there", |stage| {
            stage.world().stats().requests.contains_key("assistant.threads.setSuggestedPrompts")
        })
        .await;
    stage.world().say(Say { reply_to: Some(thread), ..Say::new("dm:ann", "ann", "hello") }).unwrap();
    let address = stage.heard().await.address;
    stage.slack.indicate(&address, Indicator::Typing).await;
    stage.shown("dm:ann", |entry| entry.kind == transcript::Kind::Status && !entry.text.is_empty()).await;
    stage.slack.indicate(&address, Indicator::Clear).await;
    stage.shown("dm:ann", |entry| entry.kind == transcript::Kind::Status && entry.text.is_empty()).await;
    stage.end().await;
}
