//! Sockets end in every way that they can, and nothing is lost or taken twice.

use super::stage::*;

/// Says things before, during and after a fault; each is heard once and in order.
async fn survives(stage: &mut Stage, fault: Fault) {
    let before = stage.world().stats().connections;
    stage.say("dm:ann", "before");
    assert_eq!(stage.heard().await.text(), "before");
    stage.fault(fault);
    for n in 0..5 {
        stage.say("dm:ann", &n.to_string());
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let mut heard = Vec::new();
    for _ in 0..5 {
        heard.push(stage.heard().await.text().to_owned());
    }
    heard.sort();
    assert_eq!(heard, ["0", "1", "2", "3", "4"]);
    stage.until("another socket is opened", |stage| stage.world().stats().connections > before).await;
    stage.condition(|now| *now == Condition::Ready).await;
    stage.say("dm:ann", "after");
    assert_eq!(stage.heard().await.text(), "after");
}

#[tokio::test]
async fn a_warning_is_followed_by_a_new_socket_before_the_old_one_ends() {
    let mut stage = Stage::new().await;
    for reason in ["warning", "refresh_requested"] {
        let fault = Fault { reason: Some(reason.into()), seconds: Some(1.0), ..fault(fault::Kind::Disconnect) };
        survives(&mut stage, fault).await;
    }
    assert!(stage.health.all().iter().all(|(_, now)| *now == Condition::Ready));
    stage.end().await;
}

#[tokio::test]
async fn a_socket_that_is_cut_or_closed_is_opened_anew() {
    let mut stage = Stage::new().await;
    survives(&mut stage, fault(fault::Kind::Cut)).await;
    survives(&mut stage, fault(fault::Kind::Close)).await;
    survives(&mut stage, Fault { status: Some(1011), ..fault(fault::Kind::Close) }).await;
    stage.end().await;
}

#[tokio::test]
async fn a_socket_that_falls_silent_is_noticed_and_replaced() {
    let mut stage = Stage::new().await;
    survives(&mut stage, fault(fault::Kind::Silence)).await;
    stage.end().await;
}

#[tokio::test]
async fn with_several_sockets_one_that_ends_is_not_missed() {
    let mut stage = Stage::quiet(Setup { limits: quick(), ..Setup::default() }, |url| socket_config(url, 3)).await;
    stage.start().await;
    stage.until("three sockets", |stage| stage.world().stats().open == 3).await;
    stage.fault(Fault { socket: Some(0), ..fault(fault::Kind::Cut) });
    for n in 0..20 {
        stage.say("dm:ann", &n.to_string());
    }
    let mut heard = HashSet::new();
    while heard.len() < 20 {
        heard.insert(stage.heard().await.text().to_owned());
    }
    stage.until("three sockets again", |stage| stage.world().stats().open == 3).await;
    assert!(stage.health.all().iter().all(|(_, now)| *now == Condition::Ready));
    stage.end().await;
}

#[tokio::test]
async fn sockets_are_not_opened_in_a_loop() {
    let mut stage = Stage::quiet(Setup { limits: quick(), ..Setup::default() }, |url| socket_config(url, 1)).await;
    stage.fault(Fault { seconds: Some(1.0), ..Fault::new(fault::Kind::Conflict) });
    stage.start().await;
    stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    stage.condition(|now| *now == Condition::Ready).await;
    let opens = stage.world().stats().requests["apps.connections.open"];
    assert!(opens < 60, "{opens} sockets were asked for");
    stage.end().await;
}

#[tokio::test]
async fn a_wait_of_the_platform_is_kept() {
    let mut stage = Stage::quiet(Setup { limits: quick(), ..Setup::default() }, |url| socket_config(url, 1)).await;
    let method = Some("apps.connections.open".into());
    stage.fault(Fault { seconds: Some(1.0), method, ..fault(fault::Kind::RateLimit) });
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    assert_eq!(stage.world().stats().requests["apps.connections.open"], 2);
    stage.end().await;
}

#[tokio::test]
async fn nothing_is_acknowledged_while_the_store_is_away() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "before");
    stage.heard().await;
    stage.fake.down.store(true, Ordering::Relaxed);
    stage.say("dm:ann", "one");
    stage.condition(|now| matches!(now, Condition::Degraded(why) if why.contains("nothing is taken in"))).await;
    stage.until("it comes again", |stage| stage.world().stats().redelivered > 0).await;
    assert_eq!(stage.world().stats().acknowledged, 1);
    stage.fake.down.store(false, Ordering::Relaxed);
    assert_eq!(stage.heard().await.text(), "one");
    stage.condition(|now| *now == Condition::Ready).await;
    stage.end().await;
}

#[tokio::test]
async fn what_only_a_person_can_mend_ends_it_with_the_steps() {
    for (method, error) in [
        ("auth.test", "invalid_auth"),
        ("auth.test", "account_inactive"),
        ("apps.connections.open", "not_allowed_token_type"),
        ("apps.connections.open", "missing_scope"),
    ] {
        let mut stage = Stage::quiet(Setup { limits: quick(), ..Setup::default() }, |url| socket_config(url, 1)).await;
        stage.fault(Fault { method: Some(method.into()), error: Some(error.into()), ..fault(fault::Kind::Error) });
        stage.start().await;
        let stopped = stage.ended().await.expect_err("it ends");
        assert!(stopped.steps.iter().any(|step| step.contains("https://api.slack.com/apps")), "{stopped:?}");
        assert!(stage.health.all().iter().any(|(_, now)| matches!(now, Condition::Stopped(_))));
        stage.end().await;
    }
    let mut stage = Stage::new().await;
    stage.fault(Fault { reason: Some("link_disabled".into()), ..fault(fault::Kind::Disconnect) });
    let stopped = stage.ended().await.expect_err("it ends");
    assert!(stopped.why.contains("Socket Mode"), "{stopped:?}");
    stage.end().await;
}

#[tokio::test]
async fn a_token_that_is_revoked_while_it_is_used_ends_it() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    stage.fault(Fault { error: Some("token_revoked".into()), ..posting(fault::Kind::Error) });
    assert!(matches!(stage.post(&to, &plain("x")).await, Err(DeliveryError::Refused(Why::Forbidden))));
    assert!(stage.ended().await.is_err());
    stage.end().await;
}

#[tokio::test]
async fn a_stop_acknowledges_what_was_taken_and_a_start_hears_the_rest() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "one");
    stage.heard().await;
    stage.stop().await.unwrap();
    assert_eq!(stage.world().stats().acknowledged, 1);
    stage.say("dm:ann", "two");
    stage.start().await;
    assert_eq!(stage.heard().await.text(), "two");
    stage.end().await;
}

/// Ways in which a socket can end, one after the other, while people go on talking: each message is heard once.
#[tokio::test]
async fn a_storm_of_ends_loses_and_doubles_nothing() {
    // The platform's own third try comes after minutes; here it must come after the storm.
    let patient = Limits { retry_second: 1.0, retry_third: 3.0, ..quick() };
    let mut stage = Stage::quiet(Setup { limits: patient, ..Setup::default() }, |url| socket_config(url, 2)).await;
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    const ROUNDS: usize = 24;
    for n in 0..ROUNDS {
        let one = Some(n % 2);
        let disconnect = |reason: &str| Fault {
            reason: Some(reason.into()),
            seconds: Some(0.2),
            socket: one,
            ..fault(fault::Kind::Disconnect)
        };
        stage.fault(match n % 6 {
            0 => Fault { socket: one, ..fault(fault::Kind::Cut) },
            1 => disconnect("warning"),
            2 => Fault { status: Some(1001), ..fault(fault::Kind::Close) },
            3 => disconnect("refresh_requested"),
            4 => Fault { past: Some(2), ..Fault::new(fault::Kind::Duplicate) },
            _ => Fault { socket: one, ..fault(fault::Kind::Close) },
        });
        for who in ["dm:ann", "dm:bob"] {
            stage.say(who, &format!("{who} {n}"));
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    let mut heard = HashSet::new();
    while heard.len() < 2 * ROUNDS {
        let Ok(Some(message)) = timeout(SOON, stage.accepted.recv()).await else {
            panic!("heard {} of {}: {:?}; {heard:?}", heard.len(), 2 * ROUNDS, stage.world().stats());
        };
        assert!(heard.insert(message.text().to_owned()), "heard twice");
    }
    stage.until("both sockets are open", |stage| stage.world().stats().open == 2).await;
    stage.condition(|now| *now == Condition::Ready).await;
    stage.say("dm:ann", "last");
    assert_eq!(stage.heard().await.text(), "last");
    assert_eq!(stage.world().stats().lost, 0);
    stage.end().await;
}

#[tokio::test]
async fn a_second_process_opens_no_socket_until_the_first_is_gone() {
    let mut stage = Stage::quiet(Setup { limits: quick(), ..Setup::default() }, |url| socket_config(url, 1)).await;
    let stands_by = |now: &Condition| matches!(now, Condition::Degraded(why) if why.contains("another process"));
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.start().await;
    stage.condition(stands_by).await;
    assert_eq!(stage.world().stats().connections, 0);
    stage.fake.foreign.store(false, Ordering::Relaxed);
    stage.condition(|now| *now == Condition::Ready).await;
    stage.say("dm:ann", "one");
    assert_eq!(stage.heard().await.text(), "one");
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.condition(stands_by).await;
    stage.fake.foreign.store(false, Ordering::Relaxed);
    stage.condition(|now| *now == Condition::Ready).await;
    stage.say("dm:ann", "two");
    assert_eq!(stage.heard().await.text(), "two");
    stage.end().await;
}
