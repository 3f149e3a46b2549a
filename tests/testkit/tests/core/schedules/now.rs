//! What counts is how things are when it runs: threads, tenants, clients, what a platform says, whether it is still wished.

use contract::Code;
use dispatch::HttpClient;

use super::*;

/// The reply of a run that is made at once.
async fn run(gateway: &InABox, id: ScheduleId) -> testkit::Said {
    let turn = gateway.gateway.schedule_run_now(id).await.unwrap().unwrap();
    gateway.ended(turn).await
}

fn in_thread(mut message: Message, thread: &str) -> Message {
    message.address.thread = Some(thread.into());
    message
}

fn denying(gateway: &InABox, gate: &Gate, mut policies: Vec<(String, String)>, tenants: &str) {
    policies.push(("tenants.yaml".into(), tenants.into()));
    let natives = endpoints::Endpoints::new().native("gate", gate.clone());
    gateway.gateway.swap(Setup::snapshot(testkit::TOOLS, &policies, natives, 2));
}

#[tokio::test]
async fn another_thread_of_the_same_conversation_is_another_place() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let add = "/schedule add hourly to telegram:main/chat/secret say /noop x";
    let asked = || said(Platform::Telegram, "chat", "ada", add);
    let refused = "may not be sent to that conversation";
    // Nobody spoke there, whoever they are.
    gateway.outlet.roles_are(&["member"]);
    let told = answered(&gateway, asked()).await;
    assert!(told.contains(refused), "{told}");
    // It is known, and she may not write there.
    let there = in_thread(said(Platform::Telegram, "chat", "bob", "/noop x"), "secret");
    spoken(&gateway, &gateway.outlet, there).await;
    gateway.outlet.roles_are(&[]);
    let told = answered(&gateway, asked()).await;
    assert!(told.contains(refused), "{told}");
    assert!(stores.schedules.schedules(&ScheduleQuery::default()).await.unwrap().is_empty());
    // She may; others read whose it is. When she may not any more, it is not run.
    gateway.outlet.roles_are(&["member"]);
    let told = answered(&gateway, asked()).await;
    assert!(told.contains("Its answers go to"), "{told}");
    let made = only(&stores).await;
    run(&gateway, made.id).await;
    let head = || gateway.outlet.finals().iter().any(|seen| seen.text.starts_with("Scheduled by ada"));
    until("it is said", head).await;
    gateway.outlet.roles_are(&[]);
    let ended = run(&gateway, made.id).await;
    assert!(ended.reply.failed, "{}", ended.text);
}

#[tokio::test]
async fn her_own_thread_is_her_own_place() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let add = "/schedule add hourly to telegram:main/chat say /noop x";
    let told = answered(&gateway, in_thread(said(Platform::Telegram, "chat", "ada", add), "t")).await;
    assert!(!told.contains("Its answers go to"), "{told}");
    assert_eq!(only(&stores).await.to.thread.as_deref(), Some("t"));
}

#[tokio::test]
async fn a_client_that_is_not_configured_any_more_runs_nothing() {
    let stores = memory().await;
    let gate = opened();
    let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
    let owner = Caller { platform: Platform::Api, ..owner("chat", "ada") };
    let wish = NewSchedule { owner, ..wish("/gate id=7", None) };
    let made = gateway.gateway.schedule_add(wish.clone()).await.unwrap();
    assert!(!run(&gateway, made.id).await.reply.failed);
    gateway.gateway.clients_are(vec![HttpClient { name: "another".into(), ..testkit::client() }]);
    let ended = run(&gateway, made.id).await;
    assert!(ended.reply.failed && ended.text.contains("is not configured here"), "{}", ended.text);
    assert_eq!(gateway.gateway.schedule_add(wish).await.unwrap_err().code, Code::ScheduleDenied);
    assert_eq!(gate.runs(), 1);
}

#[tokio::test]
async fn the_tenants_rules_are_those_of_now() {
    let stores = memory().await;
    let gate = opened();
    let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
    let made = gateway.gateway.schedule_add(wish("/gate id=7", None)).await.unwrap();
    let api =
        NewSchedule { owner: Caller { platform: Platform::Api, ..owner("chat", "ada") }, ..wish("/gate id=8", None) };
    let of_client = gateway.gateway.schedule_add(api).await.unwrap();
    let tenants = "tenant_rules:\n  finance:\n    match: [{ platform: telegram, conversation: chat }]\n    tools: { deny: [gate] }\n";
    denying(&gateway, &gate, policies(), tenants);
    gateway.gateway.clients_are(vec![HttpClient { tenant: "finance".into(), ..testkit::client() }]);
    for id in [made.id, of_client.id] {
        let ended = run(&gateway, id).await;
        assert!(ended.reply.failed && ended.text.contains("'gate' is not available here"), "{}", ended.text);
    }
    assert_eq!(gate.runs(), 0);
}

#[tokio::test]
async fn a_schedule_that_was_removed_runs_nothing_more() {
    let stores = memory().await;
    let mut policies = policies();
    policies[0].1.push_str("approve: { once: { by: requester } }\n");
    let gate = opened();
    let gateway = Setup { policies, ..Setup::new(stores.clone()) }.gate(&gate).start().ready().await;
    let made = gateway.gateway.schedule_add(wish("/once id=7", None)).await.unwrap();
    let turn = gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
    until("it is asked", || !gateway.outlet.finals().is_empty()).await;
    let open = gateway.gateway.approvals(9).await.unwrap();
    assert!(gateway.gateway.schedule_remove(made.id).await.unwrap());
    gateway.gateway_accept(said(Platform::Telegram, "chat", "ada", &format!("/approve {}", open[0].id))).await;
    let ended = gateway.ended(turn).await;
    assert!(ended.reply.failed && ended.text.contains("this schedule was removed"), "{}", ended.text);
    assert_eq!(gate.runs(), 0);
}

#[tokio::test]
async fn what_is_over_makes_no_room_while_its_run_waits() {
    let stores = memory().await;
    let mut policies = policies();
    policies[0].1.push_str("approve: { once: { by: requester } }\n");
    let gate = opened();
    let gateway = Setup { policies, ..Setup::new(stores.clone()) }.gate(&gate).start().ready().await;
    let first = gateway.gateway.schedule_add(wish("/once id=7", None)).await.unwrap();
    gateway.gateway.schedule_run_now(first.id).await.unwrap().unwrap();
    until("it is asked", || !gateway.outlet.finals().is_empty()).await;
    for _ in 1..20 {
        gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap();
    }
    let mut over = stores.schedules.schedule(first.id).await.unwrap().unwrap();
    (over.version, over.next_ms) = (over.version + 1, None);
    stores.schedules.put(&over).await.unwrap();
    let failure = gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap_err();
    assert_eq!(failure.code, Code::LimitReached);
    let open = gateway.gateway.approvals(9).await.unwrap();
    gateway.gateway_accept(said(Platform::Telegram, "chat", "ada", &format!("/approve {}", open[0].id))).await;
    until("it ran", || gate.runs() == 1).await;
}

#[tokio::test]
async fn who_could_not_be_looked_up_when_it_was_made_is_looked_up_when_it_runs() {
    let stores = memory().await;
    let gate = opened();
    let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
    gateway.outlet.says_nothing_of(Some("chat"));
    let made = gateway.gateway.schedule_add(wish("/gate id=7", None)).await.unwrap();
    gateway.outlet.says_nothing_of(None);
    let ended = run(&gateway, made.id).await;
    assert!(ended.reply.failed && ended.text.contains("is not in that conversation any more"), "{}", ended.text);
    gateway.outlet.roles_are(&["member"]);
    assert!(!run(&gateway, made.id).await.reply.failed);
    assert_eq!(gate.runs(), 1);
}

#[tokio::test]
async fn where_the_platform_does_not_say_which_roles_somebody_has_nothing_is_taken_for_granted() {
    let stores = memory().await;
    let gate = opened();
    let mut policies = policies();
    let taken = "conversations: { \"channel:others\": { schedules: { from: [\"telegram:id:ada\"] } } }\n";
    policies[0].1.push_str(taken);
    let gateway = Setup { policies, ..Setup::new(stores.clone()) }.gate(&gate).start().ready().await;
    spoken(&gateway, &gateway.outlet, said(Platform::Telegram, "others", "bob", "/noop x")).await;
    let others = Address::new(Platform::Telegram, "main", "others");
    let made = gateway.gateway.schedule_add(wish("/gate id=7", Some(others))).await.unwrap();
    gateway.outlet.says_nothing_of(Some("others"));
    let ended = run(&gateway, made.id).await;
    assert!(ended.reply.failed && ended.text.contains("could not be looked up"), "{}", ended.text);
    assert_eq!(gate.runs(), 0);
}
