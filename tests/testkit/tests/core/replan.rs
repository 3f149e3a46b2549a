//! A model's turn in the lives of its process: what was planned is gone on with, and the model is not asked for it again.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use contract::{Accepted, Action, Message, Platform, TurnId, records::TurnState};
use dispatch::model::Said;
use testkit::{
    Death, Gate, Ground, Life, Recorder, Scripted, Setup, allow_lab_with, message,
    model::{Act, Heard, says, wants},
};

use crate::scene::for_each_store;

/// One step with a call that has an effect and one that may be repeated, then an answer by what was told of them.
fn acts(heard: &Heard) -> Act {
    let results: Vec<_> = heard
        .messages
        .iter()
        .filter_map(|said| match said {
            Said::Result { content, .. } => Some(content.as_str()),
            Said::Person { .. } | Said::Model(_) => None,
        })
        .collect();
    match results[..] {
        [] => wants(&[("once", r#"{"id": "pay"}"#), ("gate", r#"{"id": "look"}"#)]).saying("I pay and look."),
        [once, look] if look.contains("look") && once.contains("outcome.unknown") => says("It is not known."),
        [once, look] if look.contains("look") && once.contains("pay") => says("It is paid."),
        _ => says("The history is wrong."),
    }
}

struct Case<'a> {
    ground: &'a Ground,
    far: Arc<Recorder>,
    gate: Gate,
    message: Message,
    /// Steps that the model was asked for without a result before.
    planned: Arc<AtomicUsize>,
}

impl<'a> Case<'a> {
    fn new(ground: &'a Ground) -> Self {
        let message = message(Platform::Telegram, &TurnId::new().to_string(), "ada", "pay and look");
        Self { ground, far: Arc::default(), gate: Gate::opened(), message, planned: Arc::default() }
    }

    fn model(&self) -> Arc<Scripted> {
        let planned = self.planned.clone();
        Scripted::by(move |heard| {
            if matches!(heard.messages.last(), Some(Said::Person { .. })) {
                planned.fetch_add(1, Ordering::Relaxed);
            }
            acts(heard)
        })
    }

    async fn life(&self, death: &Arc<Death>) -> Life {
        let (far, gate, death) = (self.far.clone(), self.gate.with_hook(death.clone()), death.clone());
        let model = self.model();
        let opening = self.ground.opening();
        Life::start(opening, move |stores| Setup::new(stores).gate(&gate).hook(death).outlet(&far).model(&model)).await
    }

    /// Whether it came to its end before the step at which it was to die, and the names of the steps until then.
    async fn dies_at(&self, step: usize) -> (bool, Vec<String>) {
        let death = Death::at(step);
        let life = self.life(&death).await;
        let ended = tokio::select! {
            () = death.reached() => false,
            () = self.to_the_end(&life) => true,
        };
        life.kill();
        (ended, death.names())
    }

    async fn to_the_end(&self, life: &Life) {
        life.ready().await;
        match life.accept_behind(self.message.clone()).await {
            Ok(Ok(Accepted::Turn { id, .. })) => life.done(id).await,
            other => panic!("not accepted: {other:?}"),
        }
    }

    async fn ends_well(&self, names: &[String]) {
        let life = self.life(&Death::never()).await;
        life.ready().await;
        let turn = life.turn(self.message.clone()).await;
        life.done(turn).await;
        let texts: Vec<_> = self.far.seen().into_iter().map(|seen| seen.text).collect();
        let story = format!("{names:#?} {texts:#?} {:?}", self.gate.log());
        let paid = self.gate.log().iter().filter(|line| *line == "in pay").count();
        assert!(paid <= 1, "paid {paid} times: {story}");
        let says = |words: &str| texts.iter().any(|text| text.contains(words));
        assert!(says("It is paid.") != says("It is not known."), "{story}");
        assert!(paid == 1 || says("It is not known."), "{story}");
        // What was made durable is not asked for again.
        let is_durable = names.iter().any(|name| name == "after change Planned");
        let most = if is_durable { 1 } else { 2 };
        let planned = self.planned.load(Ordering::Relaxed);
        assert!(planned <= most, "planned {planned} times: {story}");
        let nodes = life.gateway.tree(turn).await.unwrap();
        assert!(nodes.iter().all(|n| n.state != contract::State::Running), "{story}\n{nodes:#?}");
        life.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_step_a_models_turn_goes_on_with_its_plan_and_tells_the_truth() {
    for_each_store(|ground| async move {
        for step in 0.. {
            let case = Case::new(&ground);
            let (ended, names) = case.dies_at(step).await;
            case.ends_well(&names).await;
            if ended {
                assert!(names.iter().any(|name| name == "after change Planned"), "{names:?}");
                break;
            }
        }
    })
    .await;
}

fn in_a_group(mut message: Message) -> Message {
    message.address.direct = false;
    message.heard = contract::Heard::Addressed;
    message
}

/// The approvals that were shown, as buttons of this message allow them.
fn allowing(far: &Recorder) -> Option<Action> {
    let seen = far.seen();
    let buttons = seen.iter().flat_map(|seen| &seen.buttons).filter_map(|data| data.parse().ok());
    buttons.into_iter().find(|action| matches!(action, Action::Allow(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_models_turn_that_waited_for_people_goes_on_with_its_plan_also_after_a_kill() {
    for_each_store(|ground| async move {
        for is_killed in [false, true] {
            let mut case = Case::new(&ground);
            case.message = in_a_group(case.message);
            let rules = "approve: { once: {} }\napprovers: { users: [\"id:bob\"], deliver: [conversation] }";
            let life = || {
                let (far, gate, model) = (case.far.clone(), case.gate.clone(), case.model());
                Life::start(case.ground.opening(), move |stores| {
                    let mut setup = Setup::new(stores).gate(&gate).outlet(&far).model(&model);
                    setup.policies = vec![allow_lab_with(Platform::Telegram, rules)];
                    setup
                })
            };
            let mut running = life().await;
            running.ready().await;
            let turn = running.turn(case.message.clone()).await;
            testkit::until("a card", || allowing(&case.far).is_some()).await;
            while !running.gateway.record(turn).await.unwrap().is_some_and(|r| r.state == TurnState::Parked) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            if is_killed {
                running.kill();
                running = life().await;
                running.ready().await;
            }
            let allow = allowing(&case.far).unwrap();
            let press = testkit::press(Platform::Telegram, &case.message.address.conversation, "bob", allow);
            running.accept_behind(in_a_group(press)).await.unwrap().unwrap();
            running.done(turn).await;
            assert_eq!(case.planned.load(Ordering::Relaxed), 1, "the model is not asked again");
            assert!(case.far.seen().iter().any(|seen| seen.text.contains("It is paid.")), "{:#?}", case.far.seen());
            let nodes = running.gateway.tree(turn).await.unwrap();
            let tree = testkit::without_durations(&dispatch::tree::draw_text(&nodes, true));
            assert_eq!(tree.matches("model scripted").count(), 2, "{tree}");
            assert_eq!(nodes.iter().find_map(|node| node.place.as_ref().and(node.usage)).unwrap().input, 200, "{tree}");
        }
    })
    .await;
}
