//! Restarts, outages on either side, a second poller, a refused token.

use super::stage::*;

#[tokio::test]
async fn nothing_is_lost_or_said_while_the_store_is_away() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "before");
    stage.heard().await;
    stage.fake.down.store(true, Ordering::Relaxed);
    stage.say("dm:ann", "one");
    stage.say("general", "overheard");
    stage.say("dm:ann", "two");
    stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    stage.fake.down.store(false, Ordering::Relaxed);
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(stage.heard().await.text().to_owned());
    }
    heard.retain(|text| text != "overheard");
    assert_eq!(heard, ["one", "two"]);
    stage.condition(|now| *now == Condition::Ready).await;
    // The core tells, once for all platforms.
    assert_eq!((stage.texts("dm:ann").len(), stage.texts("general").len()), (0, 0));
    stage.end().await;
}

#[tokio::test]
async fn who_fails_in_the_middle_of_a_batch_does_not_hold_or_repeat_the_others() {
    let mut stage = Stage::new().await;
    stage.say("dm:bob", "first");
    stage.heard().await;
    stage.stop().await.unwrap();
    *stage.fake.refused.lock().unwrap() = Some("two".into());
    for (conversation, text) in [("dm:ann", "one"), ("dm:ann", "two"), ("dm:bob", "beside"), ("dm:ann", "three")] {
        stage.say(conversation, text);
    }
    stage.start().await;
    let mut heard = [stage.heard().await.text().to_owned(), stage.heard().await.text().to_owned()];
    heard.sort();
    assert_eq!(heard, ["beside", "one"]);
    let tries = |stage: &Stage, text: &str| stage.fake.tries.lock().unwrap().iter().filter(|t| *t == text).count();
    timeout(SOON, async {
        while tries(&stage, "two") < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it is tried again");
    assert_eq!((tries(&stage, "one"), tries(&stage, "beside"), tries(&stage, "three")), (1, 1, 0));
    *stage.fake.refused.lock().unwrap() = None;
    assert_eq!([stage.heard().await.text(), stage.heard().await.text()], ["two", "three"]);
    stage.end().await;
}

#[tokio::test]
async fn a_restart_goes_on_where_it_was() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "one");
    stage.heard().await;
    stage.stop().await.unwrap();
    assert!(stage.fake.leases.lock().unwrap().is_empty(), "the account is given back");
    stage.fake.seen.lock().unwrap().clear();
    stage.say("dm:ann", "two");
    stage.start().await;
    assert_eq!(stage.heard().await.text(), "two", "what was confirmed does not come again");
    stage.end().await;
}

#[tokio::test]
async fn a_second_poller_is_one_clear_state_and_no_loop() {
    let mut stage = Stage::new().await;
    stage.condition(|now| *now == Condition::Ready).await;
    stage.world().fault(Fault { count: Some(2), ..Fault::new(fault::Kind::Conflict) }).unwrap();
    stage.say("dm:ann", "wake the poll");
    stage.heard().await;
    let state = stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    assert!(matches!(state, Condition::Degraded(why) if why.contains("another program polls")));
    stage.say("dm:ann", "after");
    assert_eq!(stage.heard().await.text(), "after");
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn a_platform_that_fails_is_asked_again() {
    let mut stage = Stage::new().await;
    let polls = |kind, status| Fault {
        method: Some("getUpdates".into()),
        status,
        seconds: Some(1.0).filter(|_| kind == fault::Kind::RateLimit),
        ..fault(kind)
    };
    for fault in [
        polls(fault::Kind::Error, Some(502)),
        polls(fault::Kind::Drop, None),
        polls(fault::Kind::Disconnect, None),
        polls(fault::Kind::RateLimit, None),
    ] {
        stage.world().fault(fault.clone()).unwrap();
        for text in ["one", "two"] {
            stage.say("dm:ann", text);
            assert_eq!(stage.heard().await.text(), text, "{fault:?}");
        }
    }
    stage.end().await;
}

#[tokio::test]
async fn a_refused_token_stops_with_the_steps() {
    let setup = Setup { tokens: vec!["1:other".into()], ..Setup::default() };
    let mut stage = Stage::with(setup).await;
    let stopped = timeout(SOON, stage.running.take().unwrap()).await.unwrap().unwrap().unwrap_err();
    assert!(stopped.why.contains("token was refused") && !stopped.steps.is_empty());
    assert!(!format!("{stopped:?}").contains(TOKEN));
    stage.condition(|now| matches!(now, Condition::Stopped(_))).await;
    stage.everything.cancel();
}

#[tokio::test]
async fn a_poll_that_brings_nothing_is_dropped_and_rebuilt() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "before");
    stage.heard().await;
    let stuck = Fault { method: Some("getUpdates".into()), seconds: Some(60.0), ..fault(fault::Kind::Delay) };
    stage.world().fault(stuck).unwrap();
    stage.say("dm:ann", "now");
    assert_eq!(stage.heard().await.text(), "now");
    // The poll hangs for longer than anything here is waited for.
    stage.say("dm:ann", "after");
    assert_eq!(stage.heard().await.text(), "after");
    stage.end().await;
}

#[tokio::test]
async fn another_process_that_holds_the_account_is_waited_for() {
    let mut stage = Stage::new().await;
    stage.stop().await.unwrap();
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.say("dm:ann", "who answers?");
    stage.start().await;
    stage.condition(|now| matches!(now, Condition::Degraded(why) if why.contains("standing by"))).await;
    assert!(stage.accepted.try_recv().is_err());
    stage.fake.foreign.store(false, Ordering::Relaxed);
    assert_eq!(stage.heard().await.text(), "who answers?");
    stage.end().await;
}

#[tokio::test]
async fn an_account_that_another_process_took_is_left_at_once_and_taken_back_later() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "ours");
    stage.heard().await;
    stage.condition(|now| *now == Condition::Ready).await;
    // In the middle of a long poll.
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.condition(|now| matches!(now, Condition::Degraded(why) if why.contains("standing by"))).await;
    stage.say("dm:ann", "theirs");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(stage.accepted.try_recv().is_err());
    stage.fake.foreign.store(false, Ordering::Relaxed);
    assert_eq!(stage.heard().await.text(), "theirs");
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}
