//! Nothing is lost over what becomes of a connection, and what a person must mend is said with the steps.

use super::stage::*;

#[tokio::test]
async fn whatever_ends_a_connection_nothing_is_lost_or_heard_twice() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "first");
    assert_eq!(stage.heard().await.text(), "first");
    let close = |status: Option<u16>| Fault { status, ..Fault::new(fault::Kind::Close) };
    let faults = [
        Fault::new(fault::Kind::Disconnect),
        close(None),
        close(Some(4000)),
        close(Some(1001)),
        Fault::new(fault::Kind::Reconnect),
        Fault { resumable: true, ..Fault::new(fault::Kind::InvalidSession) },
    ];
    for (n, ends) in faults.into_iter().enumerate() {
        let kind = ends.kind;
        stage.fault(ends);
        for more in 0..3 {
            stage.say("dm:ann", &format!("{n}.{more}"));
        }
        for more in 0..3 {
            assert_eq!(stage.heard().await.text(), format!("{n}.{more}"), "{kind:?}");
        }
    }
    assert!(stage.accepted.try_recv().is_err());
    assert_eq!(stage.gateway("identifies"), 1, "every connection was resumed: {:?}", stage.world().stats().requests);
    stage.end().await;
}

#[tokio::test]
async fn what_was_missed_without_a_session_is_caught_up() {
    let mut stage = Stage::new().await;
    stage.say("general", "known");
    stage.say("dm:ann", "known too");
    stage.heard().await;
    stage.heard().await;
    stage.stop().await.unwrap();
    // The session cannot be resumed by the time somebody comes back.
    let session = stage.fake.notes.lock().unwrap().remove("discord/main/session/0");
    assert!(session.is_some(), "it was stored");
    stage.world().say(Say { mention: true, ..Say::new("general", "bob", "missed 1") }).unwrap();
    stage.say("general", "missed 2");
    stage.say("dm:ann", "missed 3");
    stage.discord = adapter(&stage.sim.url);
    stage.start().await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(stage.heard().await);
    }
    let of = |direct: bool| heard.iter().filter(|m| m.address.direct == direct).map(Message::text).collect::<Vec<_>>();
    assert_eq!((of(false), of(true)), (vec!["missed 1", "missed 2"], vec!["missed 3"]));
    let addressed = heard.iter().find(|message| message.text() == "missed 1").unwrap();
    assert_eq!(addressed.heard, Heard::Addressed);
    assert!(addressed.address.space.is_some() && !addressed.roles.is_empty());
    stage.say("general", "after");
    assert_eq!(stage.heard().await.text(), "after");
    stage.end().await;
}

#[tokio::test]
async fn a_frame_that_the_library_cannot_bear_costs_a_connection_and_not_the_bot() {
    let mut stage = Stage::new().await;
    stage.say("general", "before");
    stage.heard().await;
    stage.world().raw(json!({"op": 10, "d": {"heartbeat_interval": 0}})).unwrap();
    stage.say("general", "after");
    assert_eq!(stage.heard().await.text(), "after");
    stage.end().await;
}

#[tokio::test]
async fn a_refused_session_is_begun_anew_and_nothing_is_lost() {
    let mut stage = Stage::new().await;
    stage.say("general", "before");
    stage.heard().await;
    stage.fault(Fault::new(fault::Kind::InvalidSession));
    stage.say("general", "between");
    stage.say("general", "after");
    assert_eq!(stage.heard().await.text(), "between");
    assert_eq!(stage.heard().await.text(), "after");
    assert_eq!(stage.gateway("identifies"), 2);
    stage.end().await;
}

#[tokio::test]
async fn a_restart_resumes_the_session() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "one");
    stage.heard().await;
    stage.stop().await.unwrap();
    stage.say("dm:ann", "while nobody listened");
    stage.discord = adapter(&stage.sim.url);
    stage.start().await;
    assert_eq!(stage.heard().await.text(), "while nobody listened");
    assert_eq!((stage.gateway("identifies"), stage.gateway("resumed")), (1, 1));
    stage.end().await;
}

#[tokio::test]
async fn a_socket_that_looks_alive_and_says_nothing_is_left() {
    let limits = Limits { heartbeat_ms: 150, ..Limits::none() };
    let mut stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    stage.fault(Fault::new(fault::Kind::Zombie));
    stage.say("dm:ann", "anybody there?");
    assert_eq!(stage.heard().await.text(), "anybody there?");
    stage.end().await;
}

#[tokio::test]
async fn what_only_a_person_can_mend_stops_with_the_steps() {
    let mut stage = Stage::still(Setup { content: false, limits: Limits::none(), ..Setup::default() }).await;
    stage.start().await;
    let stopped = timeout(SOON, stage.running.take().unwrap()).await.unwrap().unwrap().expect_err("it cannot work");
    assert!(stopped.why.contains("4014"), "{stopped}");
    assert!(stopped.steps.iter().any(|step| step.contains("Message Content Intent")), "{:?}", stopped.steps);
    assert!(matches!(stage.condition(|now| matches!(now, Condition::Stopped(_))).await, Condition::Stopped(_)));
    let missing = discord::inspect(&stage.discord).await;
    assert!(missing.iter().any(|one| one.fatal && one.step.contains("Message Content Intent")), "{missing:?}");
    stage.everything.cancel();
    stage.sim.join().await;
}

#[tokio::test]
async fn a_refused_token_stops_with_the_steps_and_is_not_printed() {
    let tokens = vec!["MTIzNDU2Nzg5MDEyMzQ1Njc5.Gother.abcdefghijklmnopqrstuvwxyz0123456789AB".to_owned()];
    let mut stage = Stage::still(Setup { tokens, limits: Limits::none(), ..Setup::default() }).await;
    stage.start().await;
    let stopped = timeout(SOON, stage.running.take().unwrap()).await.unwrap().unwrap().expect_err("it cannot work");
    assert!(stopped.why.contains("token was refused") && !format!("{stopped:?}").contains(TOKEN));
    let missing = discord::inspect(&stage.discord).await;
    assert_eq!((missing.len(), missing[0].fatal), (1, true));
    stage.everything.cancel();
    stage.sim.join().await;
}

#[tokio::test]
async fn a_second_process_stands_by_until_the_first_is_gone() {
    let mut stage = Stage::still(Setup { limits: Limits::none(), ..Setup::default() }).await;
    stage.fake.foreign.store(true, Ordering::Relaxed);
    stage.start().await;
    let told = stage.condition(|now| matches!(now, Condition::Degraded(_))).await;
    assert!(matches!(told, Condition::Degraded(why) if why.contains("another process")));
    assert_eq!(stage.gateway("identifies"), 0);
    stage.fake.foreign.store(false, Ordering::Relaxed);
    stage.condition(|now| *now == Condition::Ready).await;
    stage.say("dm:ann", "x");
    stage.heard().await;
    stage.end().await;
}

#[tokio::test]
async fn a_good_account_lacks_nothing() {
    let stage = Stage::new().await;
    assert_eq!(discord::inspect(&stage.discord).await, []);
    stage.end().await;
}

#[tokio::test]
async fn more_than_can_wait_is_fetched_again_and_nothing_is_lost() {
    let mut stage = Stage::new().await;
    stage.fake.down.store(true, Ordering::Relaxed);
    let count = 1_500;
    for n in 0..count {
        stage.say("dm:ann", &n.to_string());
    }
    let is_full = |now: &Condition| matches!(now, Condition::Degraded(why) if why.contains("more comes than"));
    stage.condition(is_full).await;
    stage.fake.down.store(false, Ordering::Relaxed);
    for n in 0..count {
        assert_eq!(stage.heard().await.text(), n.to_string());
    }
    stage.condition(|now| *now == Condition::Ready).await;
    assert_eq!((stage.gateway("identifies"), stage.accepted.try_recv().is_err()), (1, true));
    stage.end().await;
}

#[tokio::test]
async fn a_gateway_that_does_not_greet_is_left() {
    let mut stage = Stage::still(Setup { limits: Limits::none(), ..Setup::default() }).await;
    stage.discord = adapter_with(&stage.sim.url, |config| config.timing.greeting = Duration::from_millis(300));
    stage.fault(Fault { method: Some("IDENTIFY".into()), ..fault(fault::Kind::Ignore) });
    stage.start().await;
    stage.condition(|now| *now == Condition::Ready).await;
    stage.say("dm:ann", "x");
    stage.heard().await;
    stage.end().await;
}

#[tokio::test]
async fn a_used_up_budget_of_sessions_is_said_and_not_overdrawn() {
    let limits = Limits { identifies_per_day: 1, ..Limits::none() };
    let mut stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    stage.stop().await.unwrap();
    stage.fake.notes.lock().unwrap().clear();
    stage.discord = adapter(&stage.sim.url);
    stage.start().await;
    let is_used_up = |now: &Condition| matches!(now, Condition::Degraded(why) if why.contains("used up"));
    stage.condition(is_used_up).await;
    assert_eq!(stage.gateway("identifies"), 1);
    stage.end().await;
}

#[tokio::test]
async fn several_shards_share_the_work() {
    let limits = Limits { shards: 2, ..Limits::none() };
    let mut stage = Stage::still(Setup { limits, ..Setup::default() }).await;
    stage.start().await;
    let are_ready = async {
        while stage.health.all().iter().filter(|(_, now)| *now == Condition::Ready).count() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, are_ready).await.expect("ready in time");
    for guild in ["One", "Two", "Three"] {
        let name = guild.to_lowercase();
        let guild = Some(guild.to_owned());
        stage.world().conversation(&Conversation { name: name.clone(), guild, ..Conversation::default() }).unwrap();
        stage.say(&name, &name);
        assert_eq!(stage.heard().await.text(), name);
    }
    stage.say("dm:ann", "direct");
    assert_eq!(stage.heard().await.text(), "direct");
    assert!(stage.accepted.try_recv().is_err());
    stage.end().await;
}

#[tokio::test]
async fn too_few_shards_stop_with_the_steps() {
    let limits = Limits { shards: 2, ..Limits::none() };
    let mut stage = Stage::still(Setup { limits, ..Setup::default() }).await;
    stage.discord = adapter_with(&stage.sim.url, |config| config.shards = Some(1));
    stage.start().await;
    let stopped = timeout(SOON, stage.running.take().unwrap()).await.unwrap().unwrap().expect_err("it cannot work");
    assert!(stopped.why.contains("4011") && stopped.steps[0].contains("shards"), "{stopped:?}");
    stage.everything.cancel();
    stage.sim.join().await;
}

#[tokio::test]
async fn a_stormy_day_loses_nothing_and_repeats_nothing() {
    let mut stage = Stage::new().await;
    let close = |status: Option<u16>| Fault { status, ..Fault::new(fault::Kind::Close) };
    let storms = [
        Fault::new(fault::Kind::Disconnect),
        fault(fault::Kind::Duplicate),
        close(None),
        Fault::new(fault::Kind::InvalidSession),
        Fault { past: Some(7), ..Fault::new(fault::Kind::Duplicate) },
        Fault::new(fault::Kind::Reconnect),
        close(Some(4007)),
        Fault { method: Some("CONNECT".into()), ..fault(fault::Kind::Disconnect) },
        close(Some(4000)),
    ];
    let places = ["general", "dm:ann", "dm:bob"];
    for place in places {
        stage.say(place, "known");
        stage.heard().await;
    }
    let rounds = 45;
    for n in 0..rounds {
        places.iter().for_each(|place| drop(stage.say(place, &format!("{n} before"))));
        stage.fault(storms[n % storms.len()].clone());
        places.iter().for_each(|place| drop(stage.say(place, &format!("{n} after"))));
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let mut heard: HashMap<String, Vec<String>> = HashMap::new();
    for _ in 0..rounds * places.len() * 2 {
        let message = stage.heard().await;
        heard.entry(message.address.conversation.clone()).or_default().push(message.text().to_owned());
    }
    let expected: Vec<String> = (0..rounds).flat_map(|n| [format!("{n} before"), format!("{n} after")]).collect();
    assert_eq!(heard.len(), places.len());
    assert!(heard.values().all(|said| *said == expected), "{heard:#?}");
    stage.condition(|now| *now == Condition::Ready).await;
    assert!(stage.accepted.try_recv().is_err());
    stage.end().await;
}
