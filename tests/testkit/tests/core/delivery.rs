//! What becomes of a stored reply: order, pace, refusals, doubt, progress, messages to other conversations.

use std::{sync::Arc, time::Duration};

use contract::{
    Accepted, Action, Message, Platform, TurnId, Why,
    records::{DeliveryState, TurnState},
    reply::DUPLICATE_MARK,
};
use testkit::{Fault, Gate, Ground, InABox, Life, Recorder, Setup, StoreKind, message, press};

use crate::scene::for_each_store;

async fn gateway(gate: &Gate) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup::new(stores).gate(gate).start().ready().await
}

fn says(conversation: &str, text: &str) -> Message {
    message(Platform::Telegram, conversation, "ada", text)
}

async fn turn(gateway: &InABox, message: Message) -> TurnId {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, .. } => id,
        other => panic!("not a turn: {other:?}"),
    }
}

async fn done(gateway: &InABox, turn: TurnId) -> contract::records::Record {
    for _ in 0..4_000 {
        let record = gateway.gateway.record(turn).await.unwrap().unwrap();
        if record.state == TurnState::Done {
            return record;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{turn} is not done: {:?}", gateway.gateway.record(turn).await);
}

fn texts(outlet: &Recorder) -> Vec<String> {
    outlet.finals().into_iter().map(|seen| seen.text).collect()
}

#[tokio::test]
async fn a_wait_holds_the_conversation_in_order_and_no_other() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::Wait(Duration::from_millis(1_500)), Fault::NotSent]);
    let first = turn(&gateway, says("c", "/gate id=1")).await;
    gateway.gateway.reply(first).await.unwrap();
    let others = [turn(&gateway, says("c", "/gate id=2")).await, turn(&gateway, says("c", "/gate id=3")).await];
    for other in others {
        done(&gateway, other).await;
    }
    assert_eq!(texts(&gateway.outlet), ["- id: 1", "- id: 2", "- id: 3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_is_durable_and_does_not_hold_up_the_leaving() {
    for_each_store(|ground| async move {
        let gateway = Setup::new(ground.open().await).start().ready().await;
        gateway.outlet.fail_next([Fault::Wait(Duration::from_secs(13_938))]);
        let asked = turn(&gateway, says("c", "/noop x")).await;
        let waits = || async {
            let record = gateway.gateway.record(asked).await.unwrap().unwrap();
            record.deliveries.first().is_some_and(
                |d| matches!(d.state, DeliveryState::Ready { part: 0, due_ms } if due_ms > contract::TurnId::new().at_ms()),
            )
        };
        while !waits().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let health = gateway.gateway.health().all();
        assert!(health.iter().any(|(part, _)| part.contains("telegram:main/c")), "{health:?}");
        gateway.gateway.drain().await;
        assert!(gateway.outlet.seen().is_empty());
    })
    .await;
}

#[tokio::test]
async fn what_was_surely_not_sent_is_sent_again_without_a_mark() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::NotSent, Fault::NotSent]);
    let asked = turn(&gateway, says("c", "/gate id=1")).await;
    done(&gateway, asked).await;
    assert_eq!(texts(&gateway.outlet), ["- id: 1"]);
}

#[tokio::test]
async fn what_may_have_arrived_is_sent_again_with_the_mark_and_whole() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.split_at(50);
    let id: String = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect::<String>().repeat(2);
    gateway.outlet.fail_next([Fault::UnsureAfter]);
    let asked = turn(&gateway, says("c", &format!("/gate id={id}"))).await;
    done(&gateway, asked).await;
    let seen = texts(&gateway.outlet);
    assert!(seen[1].starts_with(DUPLICATE_MARK), "{seen:?}");
    let again = seen[1..].concat();
    assert_eq!(again, format!("{DUPLICATE_MARK}\n- id: {id}"), "nothing of it is lost");
}

#[tokio::test]
async fn a_part_in_the_middle_that_may_have_arrived_is_announced() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.split_at(50);
    let turn = {
        let slow = gateway.outlet.clone();
        slow.take_time(Duration::from_millis(30));
        let asked = turn(&gateway, says("c", &format!("/gate id={}", "x".repeat(120)))).await;
        slow.wait_for(1).await;
        slow.fail_next([Fault::UnsureAfter]);
        asked
    };
    done(&gateway, turn).await;
    let seen = texts(&gateway.outlet);
    let mark = seen.iter().position(|text| text == DUPLICATE_MARK).unwrap();
    assert_eq!(seen[mark - 1], seen[mark + 1], "that part came twice: {seen:?}");
    let record = gateway.gateway.record(turn).await.unwrap().unwrap();
    assert_eq!(record.deliveries[0].receipts.len(), 3);
}

#[tokio::test]
async fn a_send_that_stays_in_doubt_is_given_up_and_recorded() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([const { Fault::UnsureBefore }; 4]);
    let asked = turn(&gateway, says("c", "/noop x")).await;
    let record = done(&gateway, asked).await;
    assert!(matches!(record.deliveries[0].state, DeliveryState::Failed(_)));
    let next = turn(&gateway, says("c", "/gate id=next")).await;
    done(&gateway, next).await;
    assert_eq!(texts(&gateway.outlet), ["- id: next"], "those behind it go on");
}

#[tokio::test]
async fn under_the_beginning_of_an_answer_stands_that_its_rest_is_missing() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.split_at(150);
    gateway.outlet.take_time(Duration::from_millis(30));
    let asked = turn(&gateway, says("c", &format!("/gate id={}", "x".repeat(400)))).await;
    gateway.outlet.wait_for(1).await;
    gateway.outlet.fail_next([Fault::Refused(Why::Other("the file is too large".into()))]);
    let record = done(&gateway, asked).await;
    let seen = texts(&gateway.outlet);
    assert!(seen.last().unwrap().contains("the answer goes on, but its rest cannot be shown here"), "{seen:?}");
    assert!(matches!(record.deliveries[0].state, DeliveryState::Failed(_)));
}

#[tokio::test]
async fn refused_markup_goes_out_plain() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::Refused(Why::Markup)]);
    let asked = turn(&gateway, says("c", "/gate id=1")).await;
    done(&gateway, asked).await;
    assert_eq!(texts(&gateway.outlet), ["- id: 1"]);
}

#[tokio::test]
async fn a_conversation_that_moved_is_followed_and_a_gone_thread_falls_back() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::Refused(Why::Moved("new".into()))]);
    let asked = turn(&gateway, says("old", "/gate id=1")).await;
    let record = done(&gateway, asked).await;
    assert_eq!(record.deliveries[0].to.conversation, "new");
    gateway.outlet.fail_next([Fault::Refused(Why::Gone)]);
    let mut in_thread = says("c", "/gate id=2");
    in_thread.address.thread = Some("5".into());
    let record = done(&gateway, turn(&gateway, in_thread).await).await;
    assert_eq!(
        (record.deliveries[0].to.thread.clone(), record.deliveries[0].state.clone()),
        (None, DeliveryState::Done)
    );
    let places: Vec<_> = gateway.outlet.finals().into_iter().map(|s| s.conversation).collect();
    assert_eq!(places, ["new", "c"]);
}

#[tokio::test]
async fn a_refusal_for_good_is_recorded_and_those_behind_go_on() {
    let gateway = gateway(&Gate::opened()).await;
    for why in [Why::Forbidden, Why::Gone] {
        gateway.outlet.fail_next([Fault::Refused(why)]);
        let asked = turn(&gateway, says("c", "/gate id=1")).await;
        let record = done(&gateway, asked).await;
        assert!(matches!(record.deliveries[0].state, DeliveryState::Failed(_)));
    }
    done(&gateway, turn(&gateway, says("c", "/gate id=2")).await).await;
    assert_eq!(texts(&gateway.outlet), ["- id: 2"]);
}

#[tokio::test]
async fn who_cannot_be_shown_the_answer_is_told_that_there_is_one() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::Refused(Why::Other("the message is too long".into()))]);
    let asked = turn(&gateway, says("c", "/gate id=1")).await;
    let record = done(&gateway, asked).await;
    assert_eq!(record.deliveries[0].state, DeliveryState::Done);
    let seen = texts(&gateway.outlet);
    assert!(seen.len() == 1 && seen[0].contains("there is an answer"), "{seen:?}");
}

#[tokio::test]
async fn a_platform_that_sends_us_in_a_circle_is_left() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next((0..20).map(|n| Fault::Refused(Why::Moved(format!("place {}", n % 2)))));
    let asked = turn(&gateway, says("c", "/gate id=1")).await;
    let record = done(&gateway, asked).await;
    assert!(matches!(record.deliveries[0].state, DeliveryState::Failed(_)));
}

#[tokio::test]
async fn one_progress_message_is_shown_and_the_answer_replaces_it() {
    let gate = Gate::closed();
    let gateway = gateway(&gate).await;
    let asked = turn(&gateway, says("c", "/gate id=1\n/noop x")).await;
    let seen = gateway.outlet.wait_for(1).await;
    assert_eq!((seen[0].op, &seen[0].buttons), ("draft", &vec![Action::Cancel(asked).to_string()]));
    assert!(seen[0].text.contains("1 of 2 done"), "{seen:?}");
    gate.open();
    done(&gateway, asked).await;
    let seen = gateway.outlet.seen();
    let last = seen.last().unwrap();
    assert_eq!(last.op, "replace");
    assert!(last.text.contains("id: 1"));
    assert!(seen[..seen.len() - 1].iter().all(|s| s.op == "draft"), "{seen:?}");
    assert!(gateway.outlet.indicated() > 0);
}

#[tokio::test]
async fn an_answer_whose_progress_message_is_gone_or_too_old_is_a_message_of_its_own() {
    for why in [Why::TooOld, Why::Gone, Why::Unsupported] {
        let gate = Gate::closed();
        let gateway = gateway(&gate).await;
        let asked = turn(&gateway, says("c", "/gate id=1")).await;
        gateway.outlet.wait_for(1).await;
        gateway.outlet.fail_next([Fault::Refused(why)]);
        gate.open();
        done(&gateway, asked).await;
        let seen = gateway.outlet.seen();
        let last = seen.last().unwrap();
        assert_eq!((last.op, last.text.as_str()), ("post", "- id: 1"), "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_life_replaces_the_progress_message_of_the_last() {
    for_each_store(|ground| async move {
        let (platform, gate) = (Arc::new(Recorder::default()), Gate::closed());
        let start = || {
            let (platform, gate) = (platform.clone(), gate.clone());
            Life::start(ground.opening(), move |stores| Setup::new(stores).gate(&gate).outlet(&platform))
        };
        let life = start().await;
        life.ready().await;
        let asked = life.turn(says("c", "/gate id=1")).await;
        platform.wait_for(1).await;
        // Its receipt is kept.
        while life.gateway.record(asked).await.unwrap().unwrap().deliveries.iter().all(|d| d.draft.is_none()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        life.kill();
        gate.open();
        let life = start().await;
        life.done(asked).await;
        let ops: Vec<_> = platform.seen().iter().map(|s| s.op).collect();
        assert_eq!(ops.iter().filter(|op| **op == "draft").count(), ops.len() - 1, "{ops:?}");
        assert_eq!(ops.last(), Some(&"replace"));
        life.kill();
    })
    .await;
}

async fn sending(roles: &[&str], policies: &str, text: &str) -> (Vec<(String, String)>, String) {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores);
    setup.policies =
        vec![("telegram.yaml".into(), format!("platform: telegram\ntoolsets: {{ allow: [lab] }}\n{policies}"))];
    let gateway = setup.start().ready().await;
    gateway.outlet.roles_are(roles);
    let asked = turn(&gateway, says("here", text)).await;
    done(&gateway, asked).await;
    let seen = gateway.outlet.finals().into_iter().map(|s| (s.conversation, s.text)).collect::<Vec<_>>();
    let reply = seen.iter().filter(|(_, text)| text != "hello").map(|(_, text)| text.clone()).collect();
    (seen, reply)
}

#[tokio::test]
async fn a_message_goes_where_its_sender_may_write_and_nowhere_else() {
    let (seen, _) = sending(&["member"], "", "/send_message there hello").await;
    assert!(seen.contains(&("there".into(), "hello".into())), "{seen:?}");
    let (seen, _) = sending(&[], "", "/send_message here hello").await;
    assert!(seen.contains(&("here".into(), "hello".into())), "{seen:?}");
    let (seen, _) = sending(&[], "", "/send_message telegram:main/here/secret hello").await;
    assert_eq!(seen.len(), 1, "another thread is another place: {seen:?}");
    let (seen, no_member) = sending(&[], "", "/send_message there hello").await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    let denied = "conversations: { there: { tools: { deny: [send_message] } } }\nnames: { there: \"channel:there\" }\n";
    let (seen, by_policy) = sending(&["member"], denied, "/send_message there hello").await;
    assert_eq!(seen.len(), 1, "the destination's policy counts: {seen:?}");
    assert_eq!(no_member, by_policy, "and nobody learns which it was");
    let (seen, _) = sending(&["member"], "", "/send_message telegram:other/there hello").await;
    assert_eq!(seen.len(), 1, "another account: {seen:?}");
}

#[tokio::test]
async fn a_reply_that_is_fetched_stays_when_its_tool_sent_a_message() {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores);
    setup.policies = vec![testkit::allow_lab(Platform::Telegram)];
    let gateway = setup.start().ready().await;
    let said = gateway.say_as(message(Platform::Console, "c", "op", "/send_message telegram:main/there hello")).await;
    assert!(!said.reply.failed, "{}", said.text);
    gateway.outlet.wait_for_finals(1).await;
    let record = done(&gateway, said.turn).await;
    assert!(record.reply.is_some());
}

#[tokio::test]
async fn a_press_under_an_answer_that_is_gone_is_told() {
    let gateway = gateway(&Gate::opened()).await;
    let foreign = press(Platform::Telegram, "c", "ada", Action::TryAgain(TurnId::new()));
    let accepted = gateway.gateway_accept(foreign).await;
    assert!(matches!(accepted, Accepted::Signal(words) if words.contains("too long ago")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_reply_goes_out_after_any_restart_also_into_another_conversation() {
    for kind in [StoreKind::Sqlite, StoreKind::Redis] {
        let ground = Ground::new(kind).await;
        let platform = Arc::new(Recorder::default());
        platform.roles_are(&["member"]);
        platform.fail_next([Fault::Wait(Duration::from_secs(3)), Fault::Wait(Duration::from_secs(3))]);
        let start = || {
            let platform = platform.clone();
            Life::start(ground.opening(), move |stores| Setup::new(stores).outlet(&platform))
        };
        let life = start().await;
        life.ready().await;
        let asked = life.turn(says("here", "/send_message there hello")).await;
        let mut reply = life.gateway.watch(asked).await;
        while let Some(event) = futures_util::StreamExt::next(&mut reply).await {
            if matches!(event, contract::TurnEvent::End(_)) {
                break;
            }
        }
        life.kill();
        let life = start().await;
        life.done(asked).await;
        let mut seen: Vec<_> = platform.finals().into_iter().map(|s| (s.conversation, s.text)).collect();
        seen.sort();
        let said = |text: &str| text.replace(DUPLICATE_MARK, "").trim().to_owned();
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert_eq!((seen[0].0.as_str(), seen[1].0.as_str()), ("here", "there"));
        assert_eq!(said(&seen[1].1), "hello");
        life.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_one_conversation_keep_their_order_over_a_restart() {
    for_each_store(|ground| async move {
        let platform = Arc::new(Recorder::default());
        platform.fail_next([Fault::Wait(Duration::from_secs(2))]);
        let start = || {
            let platform = platform.clone();
            Life::start(ground.opening(), move |stores| Setup::new(stores).outlet(&platform))
        };
        let life = start().await;
        life.ready().await;
        let mut asked = Vec::new();
        for id in 1..=3 {
            let turn = life.turn(says("c", &format!("/gate id={id}"))).await;
            while life.gateway.record(turn).await.unwrap().unwrap().state != TurnState::Answered {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            asked.push(turn);
        }
        // The first waits, durably.
        let is_due = |record: contract::records::Record| {
            matches!(record.deliveries[0].state, DeliveryState::Ready { due_ms, .. } if due_ms > 0)
        };
        while !is_due(life.gateway.record(asked[0]).await.unwrap().unwrap()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        life.kill();
        let life = start().await;
        for turn in asked {
            life.done(turn).await;
        }
        assert_eq!(texts(&platform), ["- id: 1", "- id: 2", "- id: 3"]);
        life.kill();
    })
    .await;
}

#[tokio::test]
async fn a_progress_message_that_may_be_there_gets_no_second_beside_it() {
    let gate = Gate::closed();
    let gateway = gateway(&gate).await;
    gateway.outlet.fail_next([Fault::UnsureAfter]);
    let asked = turn(&gateway, says("c", "/gate id=1\n/sleep 2500")).await;
    gateway.outlet.wait_for(1).await;
    testkit::until("typing goes on", || gateway.outlet.indicated() > 0).await;
    tokio::time::sleep(Duration::from_millis(1_800)).await;
    gate.open();
    done(&gateway, asked).await;
    let ops: Vec<_> = gateway.outlet.seen().iter().map(|s| s.op).collect();
    assert_eq!(ops, ["draft", "post"]);
}

#[tokio::test]
async fn what_waits_behind_a_wait_is_not_sent_before_it_on_the_way_out() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::Wait(Duration::from_secs(13_938))]);
    for id in 1..=3 {
        let asked = turn(&gateway, says("c", &format!("/gate id={id}"))).await;
        gateway.gateway.reply(asked).await.unwrap();
    }
    gateway.gateway.drain().await;
    assert!(gateway.outlet.seen().is_empty(), "{:?}", gateway.outlet.seen());
}

#[tokio::test]
async fn a_conversation_that_takes_nothing_makes_no_endless_queue() {
    let gate = Gate::opened();
    let gateway = gateway(&gate).await;
    gateway.outlet.fail_next([Fault::Wait(Duration::from_secs(13_938))]);
    for id in 0..150 {
        turn(&gateway, says("c", &format!("/gate id={id}"))).await;
    }
    testkit::until("turns wait too", || gateway.gateway.load().1 >= 32).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (_, waiting, _) = gateway.gateway.load();
    assert!(waiting <= 33, "{waiting}");
    assert!(gate.runs() <= 34, "{}", gate.runs());
    turn(&gateway, says("elsewhere", "/gate id=other")).await;
    gateway.outlet.wait_for_finals(1).await;
    gateway.gateway.drain().await;
}

#[tokio::test]
async fn a_crash_of_an_adapters_code_costs_one_message() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.fail_next([Fault::Panic]);
    let asked = turn(&gateway, says("c", "/gate id=1")).await;
    let record = done(&gateway, asked).await;
    assert!(matches!(record.deliveries[0].state, DeliveryState::Failed(contract::Code::Internal)));
    done(&gateway, turn(&gateway, says("c", "/gate id=2")).await).await;
    assert_eq!(texts(&gateway.outlet), ["- id: 2"]);
}
