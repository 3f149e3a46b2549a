//! The flusher with a store that fails on demand.

use std::{
    path::PathBuf,
    sync::{Mutex, atomic::AtomicBool},
};

use async_trait::async_trait;
use contract::{
    NodeKind, State, StoreDown,
    records::{Measure, TurnQuery},
};

use super::*;

/// Call trees that can be away; counts what they are given.
#[derive(Default)]
struct Shelf {
    away: AtomicBool,
    calls: Mutex<Vec<u32>>,
}

#[async_trait]
impl Trees for Shelf {
    async fn write(&self, nodes: &[Arc<Node>], _ended: &[TurnLine]) -> Result<(), StoreDown> {
        if self.away.load(Ordering::Relaxed) {
            return Err(StoreDown("away".into()));
        }
        self.calls.lock().unwrap().extend(nodes.iter().map(|node| node.call.0));
        Ok(())
    }
    async fn tree(&self, _turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        Ok(Vec::new())
    }
    async fn turns(&self, _query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        Ok(Vec::new())
    }
    async fn measure(&self, _boot: &str, _measures: &[Measure]) -> Result<(), StoreDown> {
        Ok(())
    }
    async fn measures(&self, _since_ms: u64) -> Result<Vec<Measure>, StoreDown> {
        Ok(Vec::new())
    }
}

struct Scene {
    shelf: Arc<Shelf>,
    tracer: Arc<Tracer>,
    flusher: Flusher,
}

async fn scene(away: bool, spill: Option<PathBuf>) -> Scene {
    let shelf = Arc::new(Shelf::default());
    shelf.away.store(away, Ordering::Relaxed);
    let (tracer, mut flusher) = Tracer::new(shelf.clone(), "boot".into(), spill, crate::audit::AuditTo::default());
    flusher.take_over().await;
    Scene { shelf, tracer, flusher }
}

impl Scene {
    async fn ends(&mut self, from: u32, to: u32) {
        let turn = TurnId::new();
        for n in from..to {
            let node = Node { state: State::Ok, ..Node::new(turn, CallId(n), NodeKind::Call, 1) };
            self.flusher.take(Trace::End(Arc::new(node), None));
        }
        self.flusher.spill_over().await;
        self.flusher.flush(false).await;
    }

    fn waiting_and_dropped(&self) -> (u64, u64) {
        let health = self.tracer.health();
        (health.waiting, health.dropped)
    }

    async fn comes_back(&mut self) -> Vec<u32> {
        self.shelf.away.store(false, Ordering::Relaxed);
        while self.flusher.flush(false).await && self.tracer.health().waiting > 0 {}
        self.shelf.calls.lock().unwrap().clone()
    }
}

const MORE: u32 = QUEUE as u32 + 3_000;

#[tokio::test]
async fn what_memory_has_no_room_for_comes_back_from_the_file_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces");
    let mut scene = scene(true, Some(path.clone())).await;
    scene.ends(0, MORE).await;
    assert_eq!(scene.waiting_and_dropped(), (u64::from(MORE), 0));
    assert!(path.exists());
    assert_eq!(scene.comes_back().await, (0..MORE).collect::<Vec<_>>());
    assert_eq!(scene.waiting_and_dropped(), (0, 0));
    assert!(!path.exists());
}

#[tokio::test]
async fn without_a_file_what_does_not_fit_is_counted() {
    let mut scene = scene(true, None).await;
    scene.ends(0, MORE).await;
    assert_eq!(scene.waiting_and_dropped(), (QUEUE as u64, 3_000));
    assert_eq!(scene.comes_back().await, (0..QUEUE as u32).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_a_process_leaves_is_written_by_the_next_one_before_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces");
    let mut first = scene(true, Some(path.clone())).await;
    first.ends(0, 2_000).await;
    assert!(!path.exists(), "there was room in memory");
    first.flusher.leave().await;
    let mut next = scene(true, Some(path.clone())).await;
    assert_eq!(next.waiting_and_dropped(), (2_000, 0));
    next.ends(2_000, 2_010).await;
    assert_eq!(next.waiting_and_dropped(), (2_010, 0));
    assert_eq!(next.comes_back().await, (0..2_010).collect::<Vec<_>>());
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_that_cannot_be_used_costs_records_and_nothing_else() {
    let mut scene = scene(true, Some("/dev/null/none".into())).await;
    scene.ends(0, MORE).await;
    assert_eq!(scene.waiting_and_dropped(), (QUEUE as u64, 3_000));
    assert_eq!(scene.comes_back().await.len(), QUEUE);
}
