//! Approvals that another version of the gateway wrote, and a store that takes no answer.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use contract::{
    Action, Platform, SessionKey, StoreDown, TurnId,
    records::{Approval, ApprovalId, ApprovalState, Approvals, NotRead, Settled},
};
use testkit::{Life, Setup, allow_lab_with};

use super::{Scene, parked, press, said, tell};
use crate::scene::for_each_store;

/// What is wrong with the approvals.
const NOTHING: u32 = 0;
const UNREADABLE: u32 = 1;
const ALWAYS_LATE: u32 = 2;

/// Approvals as they are, until the test says otherwise.
struct Odd {
    approvals: Arc<dyn Approvals>,
    odd: Arc<AtomicU32>,
    reads: Arc<AtomicUsize>,
}

#[async_trait]
impl Approvals for Odd {
    async fn settle(&self, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown> {
        match self.odd.load(Ordering::Relaxed) {
            ALWAYS_LATE => Ok(Settled::Late),
            _ => self.approvals.settle(approval, to).await,
        }
    }

    async fn settle_unread(
        &self,
        id: ApprovalId,
        turn: TurnId,
        session: &SessionKey,
        to: &ApprovalState,
    ) -> Result<Settled, StoreDown> {
        self.approvals.settle_unread(id, turn, session, to).await
    }

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, NotRead> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match self.odd.load(Ordering::Relaxed) {
            UNREADABLE => Err(NotRead::Unreadable("a stored approval cannot be read: it has version 9".to_owned())),
            _ => self.approvals.approval(id).await,
        }
    }

    async fn open_approvals(&self, most: usize) -> Result<Vec<Approval>, StoreDown> {
        self.approvals.open_approvals(most).await
    }
}

#[derive(Default)]
struct Oddities {
    odd: Arc<AtomicU32>,
    reads: Arc<AtomicUsize>,
}

impl Oddities {
    fn are(&self, odd: u32) {
        self.odd.store(odd, Ordering::Relaxed);
    }

    async fn life(&self, scene: &Scene) -> Life {
        let (outlet, gate, rules) = (scene.outlet.clone(), scene.gate.clone(), scene.rules);
        let (odd, reads) = (self.odd.clone(), self.reads.clone());
        let life = Life::start(scene.ground.opening(), move |mut stores| {
            stores.approvals = Arc::new(Odd { approvals: stores.approvals.clone(), odd, reads });
            let mut setup = Setup::new(stores).gate(&gate).outlet(&outlet);
            setup.policies = vec![allow_lab_with(Platform::Telegram, rules)];
            setup
        })
        .await;
        life.ready().await;
        life
    }
}

#[tokio::test]
async fn a_turn_whose_approval_cannot_be_read_after_a_restart_goes_on_and_says_so() {
    for_each_store(|ground| async move {
        let (scene, oddities) = (Scene::new(ground), Oddities::default());
        let life = oddities.life(&scene).await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        let ids = scene.wait_for(1).await;
        parked(&life, turn).await;
        life.kill();
        oddities.are(UNREADABLE);
        let life = oddities.life(&scene).await;
        life.done(turn).await;
        scene.wait_to_stand("what was said of it was written by another version").await;
        let told = press(&life, "g", "bob", Action::Allow(ids[0])).await;
        assert_eq!(told, "this approval was written by another version, and cannot be answered here");
        oddities.are(NOTHING);
        let told = press(&life, "g", "bob", Action::Allow(ids[0])).await;
        assert!(told.contains("is not asked for any more since"), "{told}");
        assert_eq!(scene.gate.runs(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_turn_whose_approval_cannot_be_read_can_be_stopped() {
    for_each_store(|ground| async move {
        let (scene, oddities) = (Scene::new(ground), Oddities::default());
        let life = oddities.life(&scene).await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        scene.wait_for(1).await;
        parked(&life, turn).await;
        oddities.are(UNREADABLE);
        assert_eq!(tell(&life, said("g", "ada", "/stop")).await, "stopping");
        life.done(turn).await;
        assert_eq!(scene.gate.runs(), 0);
    })
    .await;
}

const BRIEF: &str = r#"
approve: { once: {} }
approval: { expires: 1s }
approvers: { users: ["id:bob"], deliver: [conversation] }
"#;

#[tokio::test]
async fn one_that_cannot_be_ended_is_tried_again_with_pauses_and_holds_no_other() {
    for_each_store(|ground| async move {
        let (scene, oddities) = (Scene::with(ground, BRIEF), Oddities::default());
        let life = oddities.life(&scene).await;
        let turn = life.turn(said("g", "ada", "/once id=x")).await;
        scene.wait_for(1).await;
        parked(&life, turn).await;
        oddities.are(ALWAYS_LATE);
        let before = oddities.reads.load(Ordering::Relaxed);
        tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
        let reads = oddities.reads.load(Ordering::Relaxed) - before;
        assert!((1..8).contains(&reads), "{reads} in 2.5 s");
        oddities.are(NOTHING);
        life.done(turn).await;
        scene.wait_to_stand("nobody answered in time").await;
    })
    .await;
}
