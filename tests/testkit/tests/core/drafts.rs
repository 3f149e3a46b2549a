//! An answer in the making is seen in the chat, as one message that the answer takes over; and what stops it, and when.

use std::{sync::Arc, time::Duration};

use contract::{Accepted, Action, Message, Platform, State, TurnId, records::DeliveryState};
use testkit::{
    Fault, Gate, InABox, Life, Recorder, Scripted, Seen, Setup, message,
    model::{never, says, wants},
    press, until,
};

use crate::scene::for_each_store;

async fn setup(model: &Arc<Scripted>) -> Setup {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup::new(stores).model(model)
}

async fn with(model: &Arc<Scripted>) -> InABox {
    setup(model).await.start().ready().await
}

fn ask(conversation: &str, text: &str) -> Message {
    message(Platform::Telegram, conversation, "ada", text)
}

async fn turn(gateway: &InABox, message: Message) -> TurnId {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, .. } => id,
        other => panic!("not a turn: {other:?}"),
    }
}

async fn signal(gateway: &InABox, message: Message) -> String {
    match gateway.gateway_accept(message).await {
        Accepted::Signal(words) => words,
        other => panic!("not a signal: {other:?}"),
    }
}

fn drafts(seen: &[Seen]) -> Vec<&str> {
    seen.iter().filter(|seen| seen.op == "draft").map(|seen| seen.text.as_str()).collect()
}

#[tokio::test]
async fn an_answer_grows_in_one_message_and_takes_it_over() {
    let words: Vec<String> = (1..=40).map(|n| (1..=n).map(|n| format!("word {n} ")).collect()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let model = Scripted::new([says("All forty words.").drafting(&words, Duration::from_millis(110))]);
    let gateway = with(&model).await;
    let asked = turn(&gateway, ask("c", "tell me")).await;
    let seen = gateway.outlet.wait_for_finals(1).await;
    assert_eq!((seen[0].op, seen[0].text.as_str()), ("replace", "All forty words."));
    let seen = gateway.outlet.seen();
    let grown = drafts(&seen);
    // Forty texts in less than five seconds, one edit a second.
    assert!((2..=5).contains(&grown.len()), "{grown:?}");
    assert!(grown.iter().all(|text| text.starts_with("word 1")), "{grown:?}");
    assert!(grown.windows(2).all(|pair| pair[1].len() > pair[0].len()), "{grown:?}");
    assert!(seen[0].buttons == [Action::Cancel(asked).to_string()], "{seen:?}");
    assert_eq!(gateway.outlet.standing(), ["All forty words."]);
}

#[tokio::test]
async fn an_answer_that_is_quick_is_not_seen_in_the_making() {
    let model = Scripted::new([says("Quick.").drafting(&["Qu", "Quick"], Duration::from_millis(150))]);
    let gateway = with(&model).await;
    turn(&gateway, ask("c", "be quick")).await;
    gateway.outlet.wait_for_finals(1).await;
    assert_eq!(gateway.outlet.seen().iter().map(|seen| seen.op).collect::<Vec<_>>(), ["post"]);
}

#[tokio::test]
async fn a_draft_that_stands_still_is_not_edited() {
    let model = Scripted::new([says("Done.").drafting(&["The same"; 30], Duration::from_millis(110))]);
    let gateway = with(&model).await;
    turn(&gateway, ask("c", "stand still")).await;
    gateway.outlet.wait_for_finals(1).await;
    assert_eq!(drafts(&gateway.outlet.seen()), ["The same"]);
}

#[tokio::test]
async fn a_long_draft_is_cut_to_one_message_and_the_answer_goes_on_in_others() {
    let long = "all work and no play ".repeat(20);
    let drafts_of = [long.as_str(), &format!("{long}{long}"), &format!("{long}{long}{long}")];
    let model = Scripted::new([says(long.trim()).drafting(&drafts_of, Duration::from_millis(1_100))]);
    let gateway = with(&model).await;
    gateway.outlet.split_at(100);
    turn(&gateway, ask("c", "at length")).await;
    until("the answer is there", || gateway.outlet.finals().len() == 5).await;
    let seen = gateway.outlet.seen();
    let cut = drafts(&seen);
    assert!(cut.len() == 1 && cut[0].ends_with('…') && cut[0].chars().count() <= 100, "{cut:?}");
    let ops: Vec<_> = seen.iter().map(|seen| seen.op).collect();
    assert_eq!(ops, ["draft", "replace", "post", "post", "post", "post"]);
    assert_eq!(gateway.outlet.standing().concat(), long.trim());
}

#[tokio::test]
async fn what_runs_is_listed_until_the_answer_grows_in_its_place() {
    let gate = Gate::closed();
    let growing = ["It is", "It is open"];
    let model = Scripted::new([
        wants(&[("gate", r#"{"id":"A"}"#)]).saying("Let me see."),
        says("It is open now.").drafting(&growing, Duration::from_millis(1_300)),
    ]);
    let gateway = setup(&model).await.gate(&gate).start().ready().await;
    turn(&gateway, ask("c", "is it open?")).await;
    gateway.outlet.wait_for(1).await;
    gate.open();
    gateway.outlet.wait_for_finals(1).await;
    let seen = gateway.outlet.seen();
    let shown = drafts(&seen);
    assert!(shown[0].contains("0 of 1 done") && shown[0].contains("gate"), "{shown:?}");
    assert!(shown.last().unwrap().starts_with("It is"), "{shown:?}");
    assert_eq!(gateway.outlet.standing(), ["It is open now."]);
}

#[tokio::test]
async fn a_platform_that_asks_to_wait_is_shown_the_newest_text_then() {
    let growing: Vec<String> = (0..40).map(|n| format!("text {n}")).collect();
    let growing: Vec<&str> = growing.iter().map(String::as_str).collect();
    let model = Scripted::new([says("The end.").drafting(&growing, Duration::from_millis(110))]);
    let gateway = with(&model).await;
    gateway.outlet.fail_next([Fault::Wait(Duration::from_millis(1_500))]);
    turn(&gateway, ask("c", "tell me")).await;
    gateway.outlet.wait_for_finals(1).await;
    let seen = gateway.outlet.seen();
    let shown = drafts(&seen);
    assert!(!shown.is_empty() && shown.len() <= 3, "what was held back is left out: {shown:?}");
    assert_eq!(gateway.outlet.standing(), ["The end."]);
}

#[tokio::test]
async fn a_draft_that_leaves_no_message_is_followed_by_the_answer_as_one() {
    let growing = ["So", "So far", "So far, so good"];
    let model = Scripted::new([says("It is done.").drafting(&growing, Duration::from_millis(1_100))]);
    let gateway = with(&model).await;
    gateway.outlet.has_drafts();
    turn(&gateway, ask("c", "tell me")).await;
    let finals = gateway.outlet.wait_for_finals(1).await;
    assert_eq!((finals[0].op, finals[0].text.as_str()), ("post", "It is done."));
    assert!(drafts(&gateway.outlet.seen()).len() >= 2, "{:?}", gateway.outlet.seen());
    assert_eq!(gateway.outlet.standing(), ["It is done."]);
}

#[tokio::test]
async fn what_runs_after_a_draft_is_a_message_that_the_answer_replaces() {
    let gate = Gate::closed();
    let model = Scripted::new([
        wants(&[("gate", r#"{"id":"A"}"#)]).drafting(&["Let me", "Let me see"], Duration::from_millis(1_100)),
        says("It is open.").drafting(&["It is"], Duration::from_millis(1_500)),
    ]);
    let gateway = setup(&model).await.gate(&gate).start().ready().await;
    gateway.outlet.has_drafts();
    turn(&gateway, ask("c", "is it open?")).await;
    until("it is listed", || drafts(&gateway.outlet.seen()).iter().any(|text| text.contains("0 of 1 done"))).await;
    assert_eq!(gateway.outlet.standing().len(), 1, "the list alone is a message");
    gate.open();
    let finals = gateway.outlet.wait_for_finals(1).await;
    assert_eq!(finals[0].op, "replace");
    assert_eq!(gateway.outlet.standing(), ["It is open."]);
}

#[tokio::test]
async fn a_draft_that_is_on_its_way_when_the_answer_comes_is_none_to_replace() {
    let model = Scripted::new([says("Done.").drafting(&["So far"], Duration::from_millis(1_600))]);
    let gateway = with(&model).await;
    gateway.outlet.has_drafts();
    gateway.outlet.take_time(Duration::from_secs(1));
    turn(&gateway, ask("c", "tell me")).await;
    gateway.outlet.wait_for_finals(1).await;
    let ops: Vec<_> = gateway.outlet.seen().iter().map(|seen| seen.op).collect();
    assert_eq!(ops, ["draft", "post"], "in this order");
}

#[tokio::test]
async fn a_message_of_which_it_is_not_known_whether_it_was_posted_is_looked_up_by_the_answer() {
    let model = Scripted::new([says("Done.").drafting(&["So", "So far"], Duration::from_millis(1_100))]);
    let gateway = with(&model).await;
    gateway.outlet.can_find();
    gateway.outlet.fail_next([Fault::UnsureAfter]);
    turn(&gateway, ask("c", "tell me")).await;
    let finals = gateway.outlet.wait_for_finals(1).await;
    assert_eq!((finals[0].op, gateway.outlet.standing()), ("replace", vec!["Done.".to_owned()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_death_in_the_middle_of_drafts_that_leave_no_message_there_is_one_answer() {
    for_each_store(|ground| async move {
        let platform = Arc::new(Recorder::default());
        platform.has_drafts();
        let half = never().drafting(&["Once upon", "Once upon a time"], Duration::from_millis(1_100));
        let model = Scripted::new([half, says("The end.")]);
        let start = || {
            let (platform, model) = (platform.clone(), model.clone());
            Life::start(ground.opening(), move |stores| Setup::new(stores).model(&model).outlet(&platform))
        };
        let life = start().await;
        life.ready().await;
        let asked = life.turn(ask("c", "a tale")).await;
        until("it is seen in the making", || drafts(&platform.seen()).len() == 2).await;
        life.kill();
        let life = start().await;
        life.done(asked).await;
        assert_eq!(platform.standing(), ["The end."], "{:?}", platform.seen());
        life.kill();
    })
    .await;
}

#[tokio::test]
async fn a_stop_ends_a_model_that_thinks() {
    let model = Scripted::new([never()]);
    let gateway = with(&model).await;
    let asked = turn(&gateway, ask("c", "think")).await;
    until("it thinks", || model.asked().len() == 1).await;
    assert_eq!(signal(&gateway, ask("c", "/stop")).await, "stopping");
    assert!(gateway.ended(asked).await.text.contains("stopped, as you asked"));
    gateway.outlet.wait_for_finals(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_draft_that_is_being_sent() {
    for_each_store(|ground| async move {
        let model = Scripted::new([never().drafting(&["Once upon"], Duration::ZERO)]);
        let gateway = Setup::new(ground.open().await).model(&model).start().ready().await;
        gateway.outlet.take_time(Duration::from_secs(3));
        let asked = turn(&gateway, ask("c", "a tale")).await;
        until("the draft is on its way", || gateway.outlet.begun() == 1).await;
        gateway.outlet.take_time(Duration::ZERO);
        assert_eq!(signal(&gateway, ask("c", "/stop")).await, "stopping");
        assert!(gateway.ended(asked).await.reply.failed);
        assert!(gateway.outlet.seen().is_empty(), "it is answered while the draft is still on its way");
        until("it is delivered", || gateway.outlet.finals().len() == 1).await;
        let ops: Vec<_> = gateway.outlet.seen().iter().map(|seen| seen.op).collect();
        assert_eq!(ops, ["draft", "replace"], "the answer goes out behind it, in its place");
        assert_eq!(gateway.outlet.standing().len(), 1);
        gateway.gateway.drain().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_that_was_on_its_way_when_the_process_died_is_found_and_replaced() {
    for_each_store(|ground| async move {
        let platform = Arc::new(Recorder::default());
        platform.can_find();
        let model = Scripted::new([never().drafting(&["Once upon"], Duration::ZERO)]);
        let start = || {
            let (platform, model) = (platform.clone(), model.clone());
            Life::start(ground.opening(), move |stores| Setup::new(stores).model(&model).outlet(&platform))
        };
        let life = start().await;
        life.ready().await;
        platform.take_time(Duration::from_millis(700));
        let asked = life.turn(ask("c", "a tale")).await;
        until("the draft is on its way", || platform.begun() == 1).await;
        assert!(ground.open().await.turns.cancel(asked).await.unwrap());
        life.gateway.cancel(asked).await.unwrap();
        // The answer is stored, and waits behind the draft.
        let mut waits = false;
        while !waits {
            let record = life.gateway.record(asked).await.unwrap().unwrap();
            waits = record.reply.is_some() && record.deliveries[0].state == DeliveryState::Drafting;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        until("the draft is there", || platform.seen().len() == 1).await;
        life.kill();
        platform.take_time(Duration::ZERO);
        let life = start().await;
        life.done(asked).await;
        assert_eq!(platform.standing().len(), 1, "{:?}", platform.seen());
        life.kill();
    })
    .await;
}

#[tokio::test]
async fn a_stop_ends_what_waits_for_a_place_among_the_turns() {
    let gate = Gate::closed();
    let model = Scripted::new([]);
    let mut setup = setup(&model).await.gate(&gate);
    setup.turns_at_once = Some(1);
    let gateway = setup.start().ready().await;
    turn(&gateway, ask("busy", "/gate id=A")).await;
    gate.wait_for(1).await;
    let waits = turn(&gateway, ask("c", "/gate id=B")).await;
    assert_eq!(signal(&gateway, ask("c", "/stop")).await, "stopping");
    let said = gateway.ended(waits).await;
    assert!(said.text.contains("code: not_started"), "{}", said.text);
    assert_eq!(gate.inside(), 1, "the other still has the only place");
    gate.open();
    gateway.outlet.wait_for_finals(2).await;
}

#[tokio::test]
async fn one_call_of_a_batch_is_stopped_by_its_button_and_the_model_is_told() {
    let gate = Gate::closed();
    let calls = [("gate", r#"{"id":"A"}"#), ("once", r#"{"id":"B"}"#), ("noop", r#"{"a":"x"}"#)];
    let model = Scripted::new([wants(&calls), says("One was stopped.")]);
    let gateway = setup(&model).await.gate(&gate).start().ready().await;
    let asked = turn(&gateway, ask("c", "all three")).await;
    gate.wait_for(2).await;
    let stops = |seen: &Seen| seen.buttons.iter().filter(|button| button.starts_with("call:")).cloned().collect();
    let stops = || -> Vec<String> { gateway.outlet.seen().last().map(stops).unwrap_or_default() };
    until("what takes long can be stopped by itself", || stops().len() == 2).await;
    let button: Action = stops()[1].parse().unwrap();
    assert!(matches!(button, Action::CancelCall(of, _) if of == asked));
    let by = |who: &str| press(Platform::Telegram, "c", who, button);
    assert_eq!(signal(&gateway, by("bob")).await, "only the one who asked can stop it");
    assert_eq!(signal(&gateway, by("ada")).await, "stopping it");
    let state = async |tool: &str| {
        let nodes = gateway.gateway.tree(asked).await.unwrap();
        nodes.iter().find(|node| node.tool == tool).unwrap().state
    };
    while state("once").await == State::Running {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(gate.inside(), 1, "its sibling goes on");
    assert_eq!(signal(&gateway, by("ada")).await, "it has ended already");
    gate.open();
    gateway.outlet.wait_for_finals(1).await;
    let states = (state("gate").await, state("once").await, state("noop").await);
    assert_eq!(states, (State::Ok, State::Unknown, State::Ok));
    let told = model.asked()[1].text();
    assert!(told.contains("was stopped while it ran; it may have taken effect"), "{told}");
}
