//! Signs of life beside the answer: waiting, typing, progress; and what is looked up when it is not known whether a
//! message arrived.

use std::time::Duration;

use contract::{Accepted, Bucket, Indicator, Message, Pace, Platform};
use testkit::{Fault, Gate, InABox, Setup, message, until};

async fn gateway(gate: &Gate) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup::new(stores).gate(gate).start().ready().await
}

fn asks(id: &str) -> Message {
    let mut message = message(Platform::Telegram, "c", "ada", &format!("/gate id={id}"));
    message.address.reply_to = Some(id.into());
    message
}

async fn accept(gateway: &InABox, message: Message) {
    assert!(matches!(gateway.gateway_accept(message).await, Accepted::Turn { .. }));
}

fn of(gateway: &InABox, id: &str) -> Vec<Indicator> {
    let all = gateway.outlet.indicators();
    all.into_iter().filter(|(_, to)| to.as_deref() == Some(id)).map(|(indicator, _)| indicator).collect()
}

#[tokio::test]
async fn a_message_that_waits_shows_it_once_and_not_after_its_answer() {
    let gate = Gate::closed();
    let gateway = gateway(&gate).await;
    accept(&gateway, asks("1")).await;
    accept(&gateway, asks("2")).await;
    until("it is shown to wait", || of(&gateway, "2") == [Indicator::Waiting]).await;
    assert!(!of(&gateway, "1").contains(&Indicator::Waiting));
    gate.open();
    gateway.outlet.wait_for_finals(2).await;
    until("nothing is shown", || of(&gateway, "2").last() == Some(&Indicator::Clear)).await;
    until("nothing is shown", || of(&gateway, "1").last() == Some(&Indicator::Clear)).await;
    assert_eq!(of(&gateway, "2").iter().filter(|i| **i == Indicator::Waiting).count(), 1);
    accept(&gateway, asks("3")).await;
    gateway.outlet.wait_for_finals(3).await;
    gateway.gateway.drain().await;
    assert!(of(&gateway, "3").is_empty(), "what is quick shows nothing");
}

#[tokio::test]
async fn nothing_looks_at_work_once_the_gateway_has_left() {
    let gate = Gate::closed();
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).gate(&gate);
    setup.drain = Duration::from_millis(100);
    let gateway = setup.start().ready().await;
    accept(&gateway, asks("1")).await;
    accept(&gateway, asks("2")).await;
    until("both are shown", || !of(&gateway, "1").is_empty() && !of(&gateway, "2").is_empty()).await;
    gateway.gateway.drain().await;
    for id in ["1", "2"] {
        assert_eq!(of(&gateway, id).last(), Some(&Indicator::Clear), "{id}");
    }
}

#[tokio::test]
async fn progress_is_left_out_when_the_platform_has_room_for_the_answer_alone() {
    let gate = Gate::closed();
    let gateway = gateway(&gate).await;
    let bucket = Bucket { burst: 2, every: Duration::from_secs(600) };
    gateway.outlet.takes(Pace { conversation: Some(bucket), account: None });
    accept(&gateway, message(Platform::Telegram, "c", "ada", "/noop x")).await;
    gateway.outlet.wait_for_finals(1).await;
    accept(&gateway, asks("1")).await;
    tokio::time::sleep(Duration::from_millis(2_600)).await;
    gate.open();
    let seen = gateway.outlet.wait_for_finals(2).await;
    assert_eq!(seen[1].op, "post");
    assert!(gateway.outlet.seen().iter().all(|seen| seen.op != "draft"));
}

#[tokio::test]
async fn what_is_known_not_to_have_arrived_is_sent_again_until_it_is_taken() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.can_find();
    gateway.outlet.fail_next([const { Fault::UnsureBefore }; 5].into_iter().chain([Fault::UnsureAfter]));
    accept(&gateway, asks("1")).await;
    until("it is delivered", || gateway.gateway.load() == (0, 0, 0) && !gateway.outlet.finals().is_empty()).await;
    assert_eq!(gateway.outlet.standing(), ["- id: 1"]);
    assert_eq!(gateway.outlet.finals().len(), 1);
}

#[tokio::test]
async fn what_can_be_looked_up_is_never_sent_twice_nor_marked() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.can_find();
    gateway.outlet.fail_next([Fault::UnsureAfter, Fault::UnsureBefore]);
    accept(&gateway, asks("1")).await;
    until("it is delivered", || gateway.gateway.load() == (0, 0, 0)).await;
    accept(&gateway, asks("2")).await;
    until("it is delivered", || gateway.gateway.load() == (0, 0, 0) && gateway.outlet.finals().len() == 2).await;
    assert_eq!(gateway.outlet.standing(), ["- id: 1", "- id: 2"]);
}

#[tokio::test]
async fn a_platform_that_is_busy_is_asked_until_it_knows_what_arrived() {
    let gateway = gateway(&Gate::opened()).await;
    gateway.outlet.finds_after(6);
    gateway.outlet.fail_next([Fault::UnsureAfter]);
    accept(&gateway, asks("1")).await;
    until("it is delivered", || gateway.gateway.load() == (0, 0, 0) && !gateway.outlet.finals().is_empty()).await;
    assert_eq!(gateway.outlet.standing(), ["- id: 1"]);
}
