//! Random faults and deaths: every accepted message has exactly one final reply in the end, and no effect comes twice.

use std::{sync::Arc, time::Duration};

use contract::{Message, Platform, TurnId, Why, reply::DUPLICATE_MARK};
use proptest::prelude::*;
use testkit::{Death, Fault, Gate, Ground, Life, Recorder, Setup, StoreKind, message};

/// What goes wrong in one run.
#[derive(Debug, Clone)]
struct Trouble {
    /// At which step each life dies.
    deaths: Vec<usize>,
    faults: Vec<u8>,
    /// For each message: its conversation, and whether its call is a once call.
    messages: Vec<(u8, bool)>,
    part: usize,
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let message = (0_u8..2, any::<bool>());
    (
        proptest::collection::vec(0_usize..36, 0..2),
        proptest::collection::vec(0_u8..6, 0..5),
        proptest::collection::vec(message, 1..5),
        45_usize..90,
    )
        .prop_map(|(deaths, faults, messages, part)| Trouble { deaths, faults, messages, part })
}

fn fault(n: u8) -> Fault {
    match n {
        0 => Fault::NotSent,
        1 => Fault::UnsureAfter,
        2 => Fault::UnsureBefore,
        3 => Fault::Wait(Duration::from_millis(5)),
        4 => Fault::Refused(Why::Markup),
        _ => Fault::Wait(Duration::from_millis(1_100)),
    }
}

struct Run<'a> {
    ground: &'a Ground,
    platform: Arc<Recorder>,
    gate: Gate,
    messages: Vec<(Message, String, bool)>,
}

impl<'a> Run<'a> {
    fn new(ground: &'a Ground, trouble: &Trouble) -> Self {
        let platform = Arc::new(Recorder::default());
        platform.split_at(trouble.part);
        platform.fail_next(trouble.faults.iter().map(|n| fault(*n)));
        let run = TurnId::new();
        let messages = trouble.messages.iter().enumerate().map(|(n, (conversation, once))| {
            let (id, tool) = (format!("call-{n}."), if *once { "once" } else { "gate" });
            let text = format!("/{tool} id={id}");
            (message(Platform::Telegram, &format!("{run}-{conversation}"), "ada", &text), id, *once)
        });
        Self { ground, platform, gate: Gate::opened(), messages: messages.collect() }
    }

    async fn life(&self, death: &Arc<Death>) -> Life {
        let (platform, gate, death) = (self.platform.clone(), self.gate.with_hook(death.clone()), death.clone());
        Life::start(self.ground.opening(), move |stores| Setup::new(stores).gate(&gate).hook(death).outlet(&platform))
            .await
    }

    /// Brings every message, as a platform does that was told of nothing; whether a life survives it.
    async fn bring_all(&self, life: &Life) {
        for (message, ..) in &self.messages {
            let turn = life.turn(message.clone()).await;
            if self.messages.len().is_multiple_of(2) {
                life.done(turn).await;
            }
        }
        for (message, ..) in &self.messages {
            let turn = life.turn(message.clone()).await;
            life.done(turn).await;
        }
    }

    async fn go(&self, trouble: &Trouble) {
        for step in &trouble.deaths {
            let death = Death::at(*step);
            let life = self.life(&death).await;
            tokio::select! {
                () = death.reached() => {}
                () = self.bring_all(&life) => {}
            }
            life.kill();
        }
        let life = self.life(&Death::never()).await;
        life.ready().await;
        self.bring_all(&life).await;
        life.kill();
        self.check(trouble).await;
    }

    async fn check(&self, trouble: &Trouble) {
        let stores = self.ground.open().await;
        let story = format!("{trouble:?}\n{:#?}\n{:?}", self.platform.seen(), self.gate.log());
        let given_up = trouble.faults.iter().filter(|n| matches!(n, 1 | 2)).count() >= 3;
        for (message, id, once) in &self.messages {
            let items = testkit::remembered(&stores, &message.address).await;
            let here = self.messages.iter().filter(|(other, ..)| other.address == message.address).count();
            assert_eq!(items.len(), here, "one answer each: {story}");
            let runs = self.gate.log().iter().filter(|line| **line == format!("in {id}")).count();
            assert!(!once || runs <= 1, "{id} ran {runs} times: {story}");
            let answers = self.platform.finals().into_iter().filter(|seen| seen.text.contains(&format!("- id: {id}")));
            let unmarked = answers.filter(|seen| !seen.text.starts_with(DUPLICATE_MARK)).count();
            assert!(unmarked <= 1, "{id} was repeated silently: {story}");
        }
        self.check_order(&story);
        let all: String = self.platform.finals().into_iter().map(|seen| seen.text).collect();
        for (_, id, once) in &self.messages {
            let told = all.contains(&format!("- id: {id}")) || (*once && all.contains("not known"));
            assert!(told || given_up, "{id} was not answered: {story}");
        }
    }
}

impl Run<'_> {
    /// First answers stand in the order in which a conversation asked.
    fn check_order(&self, story: &str) {
        for (message, ..) in &self.messages {
            let here = |seen: &testkit::Seen| seen.conversation == message.address.conversation;
            let said: String = self.platform.finals().into_iter().filter(here).map(|seen| seen.text).collect();
            let mine = self.messages.iter().filter(|(other, ..)| other.address == message.address);
            let places: Vec<_> = mine.filter_map(|(_, id, _)| said.find(&format!("- id: {id}"))).collect();
            assert!(places.is_sorted(), "answers out of order: {story}");
        }
    }
}

fn property(kind: StoreKind, cases: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ground = runtime.block_on(Ground::new(kind));
    let config = ProptestConfig { cases, max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&trouble(), |trouble| {
        runtime.block_on(async {
            let run = Run::new(&ground, &trouble);
            run.go(&trouble).await;
        });
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn every_message_has_one_final_reply_whatever_happens_on_sqlite() {
    property(StoreKind::Sqlite, 10);
}

#[test]
fn every_message_has_one_final_reply_whatever_happens_on_redis() {
    property(StoreKind::Redis, 6);
}
