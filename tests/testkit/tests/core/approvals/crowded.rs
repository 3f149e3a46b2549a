//! How many calls may wait for people, and how turns that wait are listed.

use contract::{Action, State, records::ApprovalState};
use testkit::{
    Gate, Scripted,
    model::{says, wants},
};

use super::{Scene, parked, press, said, state};
use crate::scene::for_each_store;

const MANY: &str = r#"
limits: { calls_per_turn: 100, messages_per_minute: 1000000, delegation: 2 }
approve: { once: {} }
approvers: { users: ["id:bob"], deliver: [conversation] }
"#;

#[tokio::test]
async fn one_person_cannot_fill_what_all_may_wait_for() {
    for_each_store(|ground| async move {
        let scene = Scene::with(ground, MANY);
        let life = scene.life().await;
        for (n, group) in ["g1", "g2"].into_iter().enumerate() {
            let calls: Vec<_> = (0..25).map(|id| format!("/once id={group}x{id}")).collect();
            let turn = life.turn(said(group, "ada", &calls.join("\n"))).await;
            scene.wait_for(25 * (n + 1)).await;
            parked(&life, turn).await;
        }
        let refused = life.turn(said("g3", "ada", "/once id=more")).await;
        life.done(refused).await;
        scene.wait_to_stand("'once' needs an approval, and 50 calls of yours wait for people already").await;
        // Others are asked about all the same.
        let other = life.turn(said("g3", "ben", "/once id=other")).await;
        let ids = scene.wait_for(51).await;
        press(&life, "g3", "bob", Action::Allow(ids[50])).await;
        life.done(other).await;
        assert_eq!(scene.gate.log()[0], "in other");
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_waits_is_listed_as_that_also_after_a_restart() {
    for_each_store(|ground| async move {
        let scene = Scene::new(ground);
        let life = scene.life().await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        parked(&life, turn).await;
        let listed = |life: &testkit::Life| {
            let lines = life.gateway.running();
            lines.into_iter().map(|line| (line.turn, line.state, line.asked, line.sender)).collect::<Vec<_>>()
        };
        let waits = [(turn, State::Parked, "/once id=x".to_owned(), "ada".to_owned())];
        testkit::until("it is listed as waiting", || listed(&life) == waits).await;
        life.kill();
        let life = scene.life().await;
        testkit::until("it is listed again", || listed(&life) == waits).await;
        press(&life, "g", "bob", Action::Allow(ids[0])).await;
        life.done(turn).await;
        assert!(listed(&life).is_empty(), "{:?}", listed(&life));
    })
    .await;
}

#[tokio::test]
async fn a_card_quotes_who_wished_the_call_and_nobody_beside_them() {
    for_each_store(|ground| async move {
        let scene = Scene::with(ground, MANY);
        let model = Scripted::by(|heard| {
            let asked = heard.text();
            let steps = asked.matches("model:").count();
            let wish = |id: &str| wants(&[("once", &format!(r#"{{"id": "{id}"}}"#))]);
            match (steps, asked.contains("person: left"), asked.contains("person: right")) {
                (0, true, _) => wish("l").saying("Words of the left one."),
                (0, _, true) => wish("r").saying("Words of the right one."),
                (0, ..) => wants(&[("delegate", r#"{"task": "left"}"#), ("delegate", r#"{"task": "right"}"#)])
                    .saying("Words of the first one."),
                _ => says("Done."),
            }
        });
        let life = scene.life_with(Some(&model)).await;
        let turn = life.turn(said("g", "ada", "please do both")).await;
        scene.wait_for(2).await;
        parked(&life, turn).await;
        let cards: Vec<_> = scene.outlet.standing().into_iter().filter(|text| text.contains("id: ")).collect();
        assert_eq!(cards.len(), 2, "{cards:#?}");
        for (id, words) in [("\"l\"", "Words of the left one."), ("\"r\"", "Words of the right one.")] {
            let card = cards.iter().find(|card| card.contains(id)).unwrap();
            assert!(card.contains(words) && card.matches("Words of").count() == 1, "{card}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_task_waits_for_is_not_asked_for_any_more_when_the_task_is_stopped() {
    for_each_store(|ground| async move {
        let scene = Scene { gate: Gate::closed(), ..Scene::with(ground, MANY) };
        let model = Scripted::by(|heard| {
            let asked = heard.text();
            match (asked.matches("model:").count(), asked.contains("person: task")) {
                (0, true) => wants(&[("once", r#"{"id": "x"}"#)]),
                (0, false) => wants(&[("delegate", r#"{"task": "task"}"#), ("gate", r#"{"id": "slow"}"#)]),
                _ => says("Done."),
            }
        });
        let life = scene.life_with(Some(&model)).await;
        let turn = life.turn(said("g", "ada", "please do both")).await;
        let ids = scene.wait_for(1).await;
        scene.gate.wait_for(1).await;
        let nodes = life.gateway.tree(turn).await.unwrap();
        let task = nodes.iter().find(|node| node.tool == "delegate").unwrap();
        assert_eq!(press(&life, "g", "ada", Action::CancelCall(turn, task.call)).await, "stopping it");
        scene.wait_to_stand("is not asked for any more").await;
        assert!(matches!(state(&life, ids[0]).await, ApprovalState::Withdrawn { .. }));
        scene.gate.open();
        life.done(turn).await;
        scene.wait_to_stand("Done.").await;
        assert_eq!(scene.gate.log(), ["in slow", "out slow"]);
    })
    .await;
}
