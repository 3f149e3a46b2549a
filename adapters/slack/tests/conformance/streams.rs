//! An answer in the making is a stream in a thread where Slack takes one, and an edited message everywhere else; the answer
//! is a message like any other in its place.

use super::stage::*;

/// As `growing` is drawn by the adapter.
fn part(stage: &Stage, to: &Address, said: &str) -> Part {
    let buttons = vec![Button { label: "Cancel".into(), action: Action::Cancel(key(0).turn) }];
    stage.slack.render(&contract::Reply { buttons, ..contract::Reply::text(said) }, to).remove(0)
}

fn draft_key() -> contract::DeliveryKey {
    contract::DeliveryKey { part: contract::DeliveryKey::DRAFT, ..key(0) }
}

async fn grow(stage: &Stage, to: &Address, old: Option<&Receipt>, said: &str) -> Result<Receipt, DeliveryError> {
    let part = part(stage, to, said);
    stage.slack.send(to, Op::Draft(old, &part, Some(said)), &draft_key()).await
}

fn counts(stage: &Stage, names: &[&str]) -> Vec<u64> {
    let requests = stage.world().stats().requests;
    names.iter().map(|name| requests.get(*name).copied().unwrap_or_default()).collect()
}

const STREAMING: [&str; 5] =
    ["chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postMessage", "chat.update"];

/// The address of a message in a thread of a direct conversation.
async fn thread(stage: &mut Stage) -> Address {
    let said = stage.world().say(Say::new("dm:ann", "ann", "x")).unwrap();
    stage.heard().await;
    stage.world().say(Say { thread: said.message.map(Value::from), ..Say::new("dm:ann", "ann", "y") }).unwrap();
    let to = stage.heard().await.address;
    assert!(to.direct && to.thread.is_some());
    to
}

fn newest(stage: &Stage, conversation: &str, receipt: &Receipt) -> transcript::Entry {
    let entries = stage.world().transcript(Some(conversation), 0);
    let found =
        entries.into_iter().rev().find(|entry| entry.is_bot() && entry.message.as_ref() == Some(&receipt.message));
    found.expect("it is there")
}

#[tokio::test]
async fn a_stream_grows_by_what_is_new_and_the_answer_takes_its_place() {
    let mut stage = Stage::new().await;
    let direct = thread(&mut stage).await;
    stage.mention("general", "x");
    let channel = stage.heard().await.address;
    for (to, place) in [(direct, "dm:ann"), (channel, "general")] {
        let begun = grow(&stage, &to, None, "**So** far").await.unwrap();
        let grown = grow(&stage, &to, Some(&begun), "**So** far, so <@U1> & <!channel>").await.unwrap();
        let same = grow(&stage, &to, Some(&grown), "**So** far").await.unwrap();
        assert_eq!((&begun, &begun), (&grown, &same));
        let shown = newest(&stage, place, &begun);
        assert_eq!(shown.payload["markdown_text"], ", so <\u{2060}@\u{2060}U1> & <\u{2060}!channel>");
        assert_eq!(
            (shown.text.replace('\u{2060}', "").as_str(), &shown.thread),
            ("So far, so <@U1> & <!channel>", &to.thread)
        );
        let answer = stage.slack.send(&to, Op::Replace(&grown, &drawn("*whole*")), &key(0)).await.unwrap();
        assert_eq!(answer.message, begun.message);
        assert_eq!(newest(&stage, place, &begun).text, "whole");
        // What was done may be done again, after a crash.
        stage.slack.send(&to, Op::Replace(&grown, &drawn("*whole*")), &key(0)).await.unwrap();
    }
    assert_eq!(counts(&stage, &STREAMING), [2, 2, 4, 0, 4]);
    stage.end().await;
}

#[tokio::test]
async fn what_changed_otherwise_and_what_runs_are_edits_from_then_on() {
    let mut stage = Stage::new().await;
    let to = thread(&mut stage).await;
    let begun = grow(&stage, &to, None, "Once").await.unwrap();
    let edited = grow(&stage, &to, Some(&begun), "Twice").await.unwrap();
    let shown = newest(&stage, "dm:ann", &begun);
    assert_eq!((shown.text.as_str(), shown.buttons.len()), ("Twice", 1));
    let again = grow(&stage, &to, Some(&edited), "Twice more").await.unwrap();
    assert_eq!((&again, newest(&stage, "dm:ann", &begun).text.as_str()), (&edited, "Twice more"));
    assert_eq!(counts(&stage, &STREAMING), [1, 0, 1, 0, 2]);

    let begun = grow(&stage, &to, None, "Let me see").await.unwrap();
    let runs = part(&stage, &to, "⏳ weather_query");
    let listed = stage.slack.send(&to, Op::Draft(Some(&begun), &runs, None), &draft_key()).await.unwrap();
    let shown = newest(&stage, "dm:ann", &begun);
    assert_eq!((shown.text.as_str(), shown.buttons.len(), &listed.message), ("⏳ weather_query", 1, &begun.message));
    let begun = grow(&stage, &to, None, "for nobody").await.unwrap();
    stage.slack.send(&to, Op::Remove(&begun), &draft_key()).await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &begun).kind, transcript::Kind::Delete);
    stage.end().await;
}

#[tokio::test]
async fn a_stream_that_slack_ended_goes_on_as_an_edited_message() {
    let mut stage = Stage::with(Setup { limits: Limits { stream_seconds: 0.1, ..quick() }, ..Setup::default() }).await;
    let to = thread(&mut stage).await;
    let begun = grow(&stage, &to, None, "Once").await.unwrap();
    tokio::time::sleep(Duration::from_millis(150)).await;
    let edited = grow(&stage, &to, Some(&begun), "Once upon").await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &begun).text, "Once upon");
    stage.slack.send(&to, Op::Replace(&edited, &plain("The end")), &key(0)).await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &begun).text, "The end");
    stage.end().await;
}

#[tokio::test]
async fn without_a_thread_and_where_it_was_refused_it_is_a_message() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let plain_place = stage.heard().await.address;
    let to = thread(&mut stage).await;
    let posted = grow(&stage, &plain_place, None, "So").await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &posted).buttons.len(), 1);
    stage.fault(Fault {
        error: Some("streaming_not_allowed".into()),
        method: Some("chat.startStream".into()),
        ..fault(fault::Kind::Error)
    });
    for _ in 0..2 {
        grow(&stage, &to, None, "So").await.unwrap();
    }
    assert_eq!(counts(&stage, &STREAMING), [1, 0, 0, 3, 0], "asked once, then no more for a while");
    stage.end().await;
}

#[tokio::test]
async fn starts_and_additions_keep_within_the_platforms_pace() {
    let mut stage =
        Stage::with(Setup { limits: Limits { message_per_second: 0.0, ..Limits::default() }, ..Setup::default() })
            .await;
    let to = thread(&mut stage).await;
    let mut receipts = Vec::new();
    for _ in 0..8 {
        receipts.push(grow(&stage, &to, None, "a").await.unwrap());
    }
    assert_eq!(counts(&stage, &STREAMING)[..4], [5, 0, 0, 3], "what finds no room is posted");
    let mut said = String::from("a");
    let mut waited = 0;
    for _ in 0..40 {
        said.push('b');
        match grow(&stage, &to, Some(&receipts[0]), &said).await {
            Ok(_) => {}
            Err(DeliveryError::Wait { scope: Scope::Conversation, .. }) => waited += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(waited > 10, "{waited}");
    assert_eq!(counts(&stage, &["chat.appendStream"]), [40 - waited]);
    for receipt in &receipts {
        stage.slack.send(&to, Op::Replace(receipt, &plain("done")), &key(0)).await.unwrap();
    }
    stage.end().await;
}

#[tokio::test]
async fn an_addition_whose_answer_was_lost_is_not_added_again() {
    let mut stage = Stage::new().await;
    let to = thread(&mut stage).await;
    let begun = grow(&stage, &to, None, "one").await.unwrap();
    stage.fault(Fault {
        when: fault::When::After,
        method: Some("chat.appendStream".into()),
        ..fault(fault::Kind::Drop)
    });
    let unsure = grow(&stage, &to, Some(&begun), "one two").await;
    assert!(matches!(unsure, Err(DeliveryError::Unsure(_))), "{unsure:?}");
    grow(&stage, &to, Some(&begun), "one two three").await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &begun).text, "one two three");
    stage.end().await;
}

#[tokio::test]
async fn a_stream_that_an_earlier_life_left_is_found_and_replaced() {
    let mut stage = Stage::new().await;
    let to = thread(&mut stage).await;
    let looked = stage.slack.send(&to, Op::Find, &draft_key()).await;
    assert!(matches!(looked, Err(DeliveryError::Refused(Why::Gone))), "{looked:?}");
    stage.post(&to, &drawn("*another answer*")).await.unwrap();
    let begun = grow(&stage, &to, None, "half a sen").await.unwrap();
    // Another turn of this life does not take it for its own.
    let other = contract::DeliveryKey { turn: TurnId::new(), ..draft_key() };
    let looked = stage.slack.send(&to, Op::Find, &other).await;
    assert!(matches!(looked, Err(DeliveryError::Refused(Why::Gone))), "{looked:?}");
    // A new life knows nothing of it.
    stage.stop().await.unwrap();
    stage.slack = Slack::new(socket_config(&stage.sim.url, 1)).unwrap_or_else(|stopped| panic!("{stopped}"));
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    let found = loop {
        match stage.slack.send(&to, Op::Find, &draft_key()).await {
            Err(DeliveryError::NotSent(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            found => break found.unwrap(),
        }
    };
    assert_eq!(found, begun);
    let grown = grow(&stage, &to, Some(&found), "half a sentence").await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &begun).text, "half a sentence", "by an edit: what it said is not known");
    stage.slack.send(&to, Op::Replace(&grown, &drawn("*whole*")), &key(0)).await.unwrap();
    assert_eq!(newest(&stage, "dm:ann", &begun).text, "whole");
    stage.end().await;
}
