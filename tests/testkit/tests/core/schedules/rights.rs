//! Whose rights a run has: its owner's by now, and those of where its answers go.

use contract::Code;

use super::*;

#[tokio::test]
async fn a_schedule_of_one_platform_posts_into_a_chat_of_another_that_takes_it() {
    let stores = memory().await;
    let setup = Setup { policies: policies(), ..Setup::new(stores.clone()) };
    let (gateway, far) = two_platforms(setup).await;
    spoken(&gateway, &far, said(Platform::Slack, "general", "bob", "/noop x")).await;
    let text = "/schedule add hourly to slack:main/general name \"the news\" say /gate id=7";
    let told = answered(&gateway, said(Platform::Telegram, "chat", "ada", text)).await;
    assert!(told.contains("Its answers go to") && told.contains("slack:main/general"), "{told}");
    let made = only(&stores).await;
    make_due(&gateway, &stores, made.id, now()).await;
    ran(&gateway, &stores, made.id, None).await;
    let finals = far.finals();
    assert_eq!(finals.len(), 2, "{finals:?}");
    assert!(finals[1].text.starts_with("Scheduled by ada: the news"), "{finals:?}");
    assert!(finals[1].text.contains("id: 7"), "{finals:?}");
    // In the owner's own chat nothing but the answer to the command.
    assert_eq!(gateway.outlet.finals().len(), 1);
}

#[tokio::test]
async fn nobody_posts_where_they_are_not_named_and_learns_nothing_of_what_is_there() {
    let stores = memory().await;
    let setup = Setup { policies: policies(), ..Setup::new(stores.clone()) };
    let (gateway, far) = two_platforms(setup).await;
    spoken(&gateway, &far, said(Platform::Slack, "general", "bob", "/noop x")).await;
    spoken(&gateway, &far, said(Platform::Slack, "board", "bob", "/noop x")).await;
    spoken(&gateway, &gateway.outlet, said(Platform::Telegram, "others", "bob", "/noop x")).await;
    let refusals = [
        ("eve", "slack:main/general"),
        ("ada", "slack:main/board"),
        ("ada", "slack:main/nowhere"),
        ("ada", "telegram:main/others"),
    ];
    let mut said_of_it = Vec::new();
    for (who, to) in refusals {
        let text = format!("/schedule add hourly to {to} say /noop x");
        said_of_it.push(answered(&gateway, said(Platform::Telegram, "chat", who, &text)).await);
    }
    assert!(said_of_it.windows(2).all(|pair| pair[0] == pair[1]), "{said_of_it:#?}");
    assert!(said_of_it[0].contains("may not be sent to that conversation"), "{}", said_of_it[0]);
    // In a conversation of the same platform of which they are a member they may.
    gateway.outlet.roles_are(&["member"]);
    let told = answered(
        &gateway,
        said(Platform::Telegram, "chat", "ada", "/schedule add hourly to telegram:main/others say /noop x"),
    );
    assert!(told.await.contains("telegram:main/others"));
}

#[tokio::test]
async fn what_the_destination_denies_is_not_run_for_an_owner_who_may() {
    let stores = memory().await;
    let mut setup = Setup { policies: policies(), ..Setup::new(stores.clone()) };
    let gate = opened();
    setup = setup.gate(&gate);
    let (gateway, far) = two_platforms(setup).await;
    spoken(&gateway, &far, said(Platform::Slack, "general", "bob", "/noop x")).await;
    let made = gateway.gateway.schedule_add(wish("/once id=7", Some(slack("general")))).await.unwrap();
    let mut policies = policies();
    policies[2].1 = policies[2].1.replace("conversations:", "tools: { deny: [once] }\nconversations:");
    gateway.gateway.swap(Setup::snapshot(
        testkit::TOOLS,
        &policies,
        endpoints::Endpoints::new().native("gate", gate.clone()),
        2,
    ));
    let turn = gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
    let ended = gateway.ended(turn).await;
    assert!(ended.reply.failed && ended.text.contains("'once' is not available here"), "{}", ended.text);
    let nodes = gateway.gateway.tree(turn).await.unwrap();
    assert!(nodes.iter().any(|node| node.detail.contains("slack.yaml")), "the rule is the destination's: {nodes:#?}");
    // It cannot be made any more either.
    let failure = gateway.gateway.schedule_add(wish("/once id=7", Some(slack("general")))).await.unwrap_err();
    assert_eq!(failure.code, Code::ToolUnknown);
    assert_eq!(gate.runs(), 0);
}

#[tokio::test]
async fn who_left_or_is_not_heard_any_more_is_told_once_and_then_that_it_rests() {
    let stores = memory().await;
    let gate = opened();
    let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
    gateway.outlet.roles_are(&["member"]);
    let made = gateway.gateway.schedule_add(wish("/gate id=7", None)).await.unwrap();
    gateway.outlet.roles_are(&[]);
    let mut last = None;
    for _ in 0..3 {
        gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
        last = ran(&gateway, &stores, made.id, last).await.last.map(|last| last.turn);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let texts: Vec<_> = gateway.outlet.finals().into_iter().map(|seen| seen.text).collect();
    assert_eq!(texts.len(), 2, "{texts:#?}");
    assert!(texts[0].contains("is not in that conversation any more") && texts[1].contains("paused now"), "{texts:#?}");
    let rests = stores.schedules.schedule(made.id).await.unwrap().unwrap();
    assert!(rests.paused.is_some_and(|paused| paused.by_itself) && rests.next_ms.is_none() && rests.refused == 3);
    assert_eq!(gate.runs(), 0);
    // Back, and resumed.
    gateway.outlet.roles_are(&["member"]);
    gateway.gateway.schedule_set(made.id, dispatch::ScheduleSet::Resume).await.unwrap();
    gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
    ran(&gateway, &stores, made.id, last).await;
    assert_eq!(gate.runs(), 1);
}

#[tokio::test]
async fn an_operators_schedule_runs_what_both_places_allow() {
    let stores = memory().await;
    let setup = Setup { policies: policies(), ..Setup::new(stores.clone()) };
    let (gateway, far) = two_platforms(setup).await;
    let new =
        NewSchedule { by_operator: true, owner: owner("chat", "bob"), ..wish("/gate id=7", Some(slack("unheard-of"))) };
    let made = gateway.gateway.schedule_add(new.clone()).await.unwrap();
    gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
    ran(&gateway, &stores, made.id, None).await;
    assert_eq!(far.finals()[0].conversation, "unheard-of");
    let denied = NewSchedule { say: "/secret_thing".into(), ..new };
    assert_eq!(gateway.gateway.schedule_add(denied).await.unwrap_err().code, Code::ToolUnknown);
}

#[tokio::test]
async fn who_is_forgotten_leaves_no_schedule() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap();
    let other = NewSchedule { owner: owner("chat", "eve"), ..wish("/noop x", None) };
    gateway.gateway.schedule_add(other).await.unwrap();
    let erased = stores.people.forget(&contract::records::Person::of(&owner("chat", "ada"))).await.unwrap();
    assert_eq!(erased.schedules, 1);
    assert_eq!(only(&stores).await.owner.sender.id, "eve");
}

#[tokio::test]
async fn a_run_asks_its_owner_where_they_are() {
    let stores = memory().await;
    let mut policies = policies();
    policies[0].1.push_str("approve: { once: { by: requester } }\n");
    let gate = opened();
    let setup = Setup { policies, ..Setup::new(stores.clone()) }.gate(&gate);
    let (gateway, far) = two_platforms(setup).await;
    spoken(&gateway, &far, said(Platform::Slack, "general", "bob", "/noop x")).await;
    let made = gateway.gateway.schedule_add(wish("/once id=7", Some(slack("general")))).await.unwrap();
    gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
    until("it is asked in the owner's chat", || !gateway.outlet.finals().is_empty()).await;
    assert_eq!((far.finals().len(), gate.runs()), (1, 0), "nothing is asked at the destination: {:?}", far.finals());
    let open = gateway.gateway.approvals(9).await.unwrap();
    let yes = format!("/approve {}", open[0].id);
    gateway.gateway_accept(said(Platform::Telegram, "chat", "ada", &yes)).await;
    ran(&gateway, &stores, made.id, None).await;
    assert_eq!((far.finals().len(), gate.runs()), (2, 1));
}

#[tokio::test]
async fn what_the_destination_asks_for_is_asked_for_too() {
    let stores = memory().await;
    let mut policies = policies();
    policies[2].1.push_str("approve: { once: { by: requester } }\n");
    let gate = opened();
    let setup = Setup { policies, ..Setup::new(stores.clone()) }.gate(&gate);
    let (gateway, far) = two_platforms(setup).await;
    spoken(&gateway, &far, said(Platform::Slack, "general", "bob", "/noop x")).await;
    let made = gateway.gateway.schedule_add(wish("/once id=7", Some(slack("general")))).await.unwrap();
    gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
    until("it is asked", || !gateway.outlet.finals().is_empty()).await;
    assert_eq!(gate.runs(), 0);
}
