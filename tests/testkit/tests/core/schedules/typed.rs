//! What people type, and what they are told.

use super::*;

/// Without what differs from run to run.
fn plain(text: &str, id: ScheduleId) -> String {
    let date = |word: &str| word.len() == 10 && word.as_bytes()[4] == b'-' && word.as_bytes()[7] == b'-';
    let day = |word: &str| ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&word);
    let words = text.replace(&id.to_string(), "ID");
    let words = words
        .split(' ')
        .map(|word| if date(word) { "DATE" } else { word })
        .map(|word| if day(word) { "DAY" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_schedule_is_made_listed_paused_and_removed_in_a_chat() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let say = |text: &str| answered(&gateway, message(Platform::Api, "c1", "ada", text));
    let made = say("/schedule add every weekday at 8:00 zone Europe/Berlin name \"the morning\" say /noop x").await;
    let schedule = only(&stores).await;
    expect_test::expect!["Noted as ID (0 8 * * 1-5). It runs next: DAY DATE 08:00 Europe/Berlin."]
        .assert_eq(&plain(&made, schedule.id));
    expect_test::expect![[r#"
        Your schedules:

        - ID the morning — 0 8 * * 1-5; next: DAY DATE 08:00 Europe/Berlin

        /schedule add every weekday at 8:00 zone Europe/Berlin say WHAT makes one; before say there is room for to PLACE, name "TEXT" and missed skip.
        /schedule pause ID, resume ID, remove ID and run ID change it."#]].assert_eq(&plain(&say("/schedule").await, schedule.id));
    expect_test::expect!["ID is paused; /schedule resume ID lets it go on."]
        .assert_eq(&plain(&say(&format!("/schedule pause {}", schedule.id)).await, schedule.id));
    assert!(say("/schedule").await.contains("paused"));
    expect_test::expect!["ID goes on. It runs next: DAY DATE 08:00 Europe/Berlin."]
        .assert_eq(&plain(&say("/schedule resume the morning").await, schedule.id));
    expect_test::expect!["ID is removed."]
        .assert_eq(&plain(&say(&format!("/schedule remove {}", schedule.id)).await, schedule.id));
    expect_test::expect!["You have no schedule 12345678; /schedule lists those that you have."]
        .assert_eq(&say("/schedule run 12345678").await);
}

#[tokio::test]
async fn a_wish_that_cannot_be_kept_says_what_would_be_right() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let say = |text: &str| answered(&gateway, message(Platform::Api, "c1", "ada", text));
    let mut out = String::new();
    for wrong in [
        "add soon say /noop x",
        "add every day at 8:00 zone Berlin say /noop x",
        "add every day at 8:00",
        "add every day at 8:00 say /schedule",
        "add every day at 8:00 say /nop x",
        "add every day at 8:00 say /noop x b=many",
        "add every day at 8:00 say /secret_thing x",
        "add every day at 8:00 to nowhere say /noop x",
        "add every day at 8:00 to slack:main/general say /noop x",
        "add every day at 8:00 missed always say /noop x",
        "add at 2020-01-01 09:00 say /noop x",
        "add 0 0 30 2 * say /noop x",
    ] {
        out.push_str(&format!("# {wrong}\n{}\n\n", say(&format!("/schedule {wrong}")).await));
    }
    expect_test::expect![[r##"
        # add soon say /noop x
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          when: expected a time to be due at, got 'soon' (for example: every day at 8:00, every weekday at 8:00, every 15 minutes, at 2026-12-01 09:00, or 0 8 * * 1-5)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add every day at 8:00 zone Berlin say /noop x
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          zone: expected the name of a time zone, got 'Berlin' (did you mean Europe/Berlin?)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add every day at 8:00
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          say: expected a command, or words for a language model, but it is missing
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add every day at 8:00 say /schedule
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          say: expected something else than what the gateway answers itself, got '/schedule' (a tool's command, or words for a language model)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add every day at 8:00 say /nop x
        🚫 Not available: 'nop' is not available here
          code: tool.unknown
        → did you mean /noop?

        # add every day at 8:00 say /noop x b=many
        ✏️ Check the input: 'noop' cannot run with these arguments: one thing is wrong
          b: expected integer, got "many" (a whole number in digits, like 3)
          usage: /noop a [b=integer] [c=true|false] [d=[…]] [e=x|y]
          code: args.invalid
        → correct it and send it again

        # add every day at 8:00 say /secret_thing x
        🚫 Not available: 'secret_thing' is not available here
          code: tool.unknown
        → send /tools to see what can be used here

        # add every day at 8:00 to nowhere say /noop x
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          to: expected a conversation as PLATFORM:ACCOUNT/CONVERSATION, got 'nowhere' (for example slack:main/C0123)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add every day at 8:00 to slack:main/general say /noop x
        🚫 Not permitted: answers of this schedule may not be sent to that conversation
          code: schedule.denied
        → an operator can say more

        # add every day at 8:00 missed always say /noop x
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          missed: expected skip or latest, got 'always' (leave it out for latest)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add at 2020-01-01 09:00 say /noop x
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          when: expected a time that is still to come, got 'at 2020-01-01 09:00' (for example: every day at 8:00, every weekday at 8:00, every 15 minutes, at 2026-12-01 09:00, or 0 8 * * 1-5)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

        # add 0 0 30 2 * say /noop x
        ✏️ Check the input: 'schedule' cannot run with these arguments: one thing is wrong
          when: expected a day that some month has, got '0 0 30 2 *' (for example: every day at 8:00, every weekday at 8:00, every 15 minutes, at 2026-12-01 09:00, or 0 8 * * 1-5)
          usage: /schedule add WHEN [zone ZONE] [to PLACE] [name "NAME"] [missed skip] say WHAT
          code: args.invalid
        → correct it and send it again

    "##]].assert_eq(&out);
    assert!(stores.schedules.schedules(&ScheduleQuery::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_person_sees_and_changes_their_own_alone() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let say = |who: &'static str, text: String| answered(&gateway, message(Platform::Api, "c1", who, &text));
    say("ada", "/schedule add hourly say /noop x".into()).await;
    let id = only(&stores).await.id;
    assert!(!say("eve", "/schedule".into()).await.contains(&id.to_string()));
    for verb in ["pause", "resume", "remove", "run"] {
        let said = say("eve", format!("/schedule {verb} {id}")).await;
        assert!(said.contains("no schedule"), "{said}");
    }
    assert_eq!(only(&stores).await.paused, None);
}

#[tokio::test]
async fn a_person_has_twenty_schedules_at_most() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    for _ in 0..20 {
        gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap();
    }
    let failure = gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap_err();
    assert_eq!(failure.say.as_str(), "you have 20 schedules already, which is the most");
    // What ran once and is over makes room.
    let mut all = stores.schedules.schedules(&ScheduleQuery::default()).await.unwrap();
    all[0].version += 1;
    all[0].next_ms = None;
    stores.schedules.put(&all[0]).await.unwrap();
    gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap();
    let other = NewSchedule { owner: owner("chat", "eve"), ..wish("/noop x", None) };
    gateway.gateway.schedule_add(other).await.unwrap();
}

#[tokio::test]
async fn it_is_said_in_the_readers_language() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let text = "/schedule add 每个工作日 8:00 zone Asia/Shanghai 说：/noop x";
    let message = Message { locale: Some("zh-hans".into()), ..message(Platform::Api, "c1", "ada", text) };
    let said = answered(&gateway, message).await;
    assert!(said.contains("下次运行：周") && said.contains("Asia/Shanghai"), "{said}");
    assert_eq!(only(&stores).await.say, "/noop x");
}
