//! The trail with a place that fails on demand.

use std::sync::{Mutex, PoisonError};

use contract::{Caller, Code, NodeKind, Origin, Place, Platform, Sender, SessionKey};

use super::*;

#[derive(Default)]
struct Shelf {
    away: AtomicBool,
    calls: Mutex<Vec<(u32, String)>>,
}

#[async_trait]
impl Sink for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    async fn write(&self, events: &[AuditEvent]) -> Result<(), String> {
        if self.away.load(Ordering::Relaxed) {
            return Err("away".into());
        }
        let told = |event: &AuditEvent| {
            let json: serde_json::Value = serde_json::from_str(&event.text).unwrap();
            (event.call.0, json["told"].as_str().unwrap_or_default().to_owned())
        };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).extend(events.iter().map(told));
        Ok(())
    }
}

struct Scene {
    shelf: Arc<Shelf>,
    trail: Trail,
    writer: Writer,
}

fn scene(required: bool, spill: Option<PathBuf>) -> Scene {
    let shelf = Arc::new(Shelf::default());
    let to = AuditTo { sinks: vec![shelf.clone()], store: false, required, spill };
    let trail = Trail::of(&to);
    let mut writer = Writer::new(&trail, &to);
    writer.start();
    Scene { shelf, trail, writer }
}

fn whose() -> Arc<Whose> {
    let caller = Caller {
        platform: Platform::Slack,
        account: "main".into(),
        tenant: "t".into(),
        space: None,
        conversation: "C1".into(),
        thread: None,
        sender: Sender { id: "U1".into(), name: String::new() },
        roles: Vec::new(),
        origin: Origin::Command,
    };
    Arc::new(Whose::new(Place { caller, session: SessionKey::from_text("s") }))
}

fn node(turn: TurnId, call: u32, code: Option<Code>) -> Arc<Node> {
    Arc::new(Node { code, tool: "t".into(), ..Node::new(turn, CallId(call), NodeKind::Call, 1) })
}

impl Scene {
    fn written(&self) -> Vec<(u32, String)> {
        self.shelf.calls.lock().unwrap().clone()
    }

    async fn until(&self, is: impl Fn(&AuditHealth) -> bool) -> AuditHealth {
        loop {
            let health = self.trail.health().remove(0);
            if is(&health) {
                return health;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn the_event_of_a_failure_says_what_a_model_was_told() {
    let mut scene = scene(false, None);
    let turn = TurnId::new();
    scene.writer.ended(&node(turn, 1, None), Some(whose()));
    scene.writer.ended(&node(turn, 2, Some(Code::Timeout)), Some(whose()));
    scene.writer.ended(&node(turn, 3, Some(Code::Timeout)), Some(whose()));
    let told = Node { told: "it took too long".into(), ..(*node(turn, 2, Some(Code::Timeout))).clone() };
    scene.writer.ended(&Arc::new(told), None);
    // What was told is told once.
    scene.writer.ended(&Arc::new(Node { told: "again".into(), ..(*node(turn, 1, None)).clone() }), None);
    scene.writer.turn_ended(turn);
    let shelf = scene.shelf.clone();
    scene.writer.leave().await;
    let written = shelf.calls.lock().unwrap().clone();
    assert_eq!(written, [(1, String::new()), (2, "it took too long".into()), (3, String::new())]);
}

#[tokio::test(start_paused = true)]
async fn what_a_place_does_not_take_comes_again_in_order() {
    let mut scene = scene(false, None);
    scene.shelf.away.store(true, Ordering::Relaxed);
    let turn = TurnId::new();
    (0..1_000).for_each(|n| scene.writer.ended(&node(turn, n, None), Some(whose())));
    scene.until(|health| health.waiting == 1_000).await;
    scene.shelf.away.store(false, Ordering::Relaxed);
    scene.until(|health| health.waiting == 0).await;
    let calls: Vec<_> = scene.written().iter().map(|(call, _)| *call).collect();
    assert_eq!(calls, (0..1_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_memory_has_no_room_for_waits_in_a_file_also_for_the_next_process() {
    const MORE: u32 = line::ROOM as u32 + 1_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let mut first = scene(true, Some(path.clone()));
    first.shelf.away.store(true, Ordering::Relaxed);
    let turn = TurnId::new();
    (0..MORE).for_each(|n| first.writer.ended(&node(turn, n, None), Some(whose())));
    first.until(|health| health.waiting == u64::from(MORE)).await;
    assert!(!first.trail.refuses());
    first.writer.leave().await;
    assert!(folder.path().join("audit.shelf").exists());
    let next = scene(true, Some(path));
    let mut calls = Vec::new();
    while calls.len() < MORE as usize {
        tokio::time::sleep(Duration::from_millis(5)).await;
        calls = next.written().iter().map(|(call, _)| *call).collect();
    }
    calls.sort_unstable();
    assert_eq!(calls, (0..MORE).collect::<Vec<_>>());
    assert_eq!(next.until(|health| health.waiting == 0).await.lost, 0);
}

#[tokio::test(start_paused = true)]
async fn a_required_trail_refuses_calls_before_events_are_lost() {
    for required in [true, false] {
        let mut scene = scene(required, None);
        scene.shelf.away.store(true, Ordering::Relaxed);
        let turn = TurnId::new();
        (0..4_000).for_each(|n| scene.writer.ended(&node(turn, n, None), Some(whose())));
        let health = scene.until(|health| health.is_full).await;
        assert_eq!((health.lost, scene.trail.refuses()), (0, required));
        (0..4_000).for_each(|n| scene.writer.ended(&node(turn, n, None), Some(whose())));
        scene.until(|health| health.lost > 0).await;
        scene.shelf.away.store(false, Ordering::Relaxed);
        scene.until(|health| health.waiting == 0 && !health.is_full).await;
        assert!(!scene.trail.refuses());
    }
}
