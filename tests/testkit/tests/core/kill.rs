//! `kill -9` at every step: nothing is lost, no effect happens twice, nothing is repeated without saying so.

use std::sync::Arc;

use contract::{
    Accepted, CallPath, Digest, Message, Platform, SessionKey, TurnId,
    records::{Change, Entry, Record},
    reply::DUPLICATE_MARK,
};
use testkit::{Death, Gate, Ground, Life, Recorder, Setup, message};

use crate::scene::for_each_store;

/// A turn with a once call, a repeatable one and a reply of several parts.
struct Case<'a> {
    ground: &'a Ground,
    platform: Arc<Recorder>,
    gate: Gate,
    message: Message,
}

impl<'a> Case<'a> {
    fn new(ground: &'a Ground) -> Self {
        let platform = Arc::new(Recorder::default());
        platform.split_at(50);
        // A conversation of its own: cases share a store.
        let message = message(
            Platform::Telegram,
            &TurnId::new().to_string(),
            "ada",
            &format!("/once id={}\n/noop x", "A".repeat(60)),
        );
        Self { ground, platform, gate: Gate::opened(), message }
    }

    async fn life(&self, death: &Arc<Death>) -> Life {
        let (platform, gate, death) = (self.platform.clone(), self.gate.with_hook(death.clone()), death.clone());
        let life = Life::start(self.ground.opening(), move |stores| {
            Setup::new(stores).gate(&gate).hook(death).outlet(&platform)
        });
        life.await
    }

    /// A life that dies at a step, and is brought the message as the platform does while it is not acknowledged.
    /// The steps that it took; the last is the one at which it died, unless it came to the end.
    async fn dies_at(&self, step: usize) -> (Vec<String>, bool) {
        let death = Death::at(step);
        let life = self.life(&death).await;
        let came_to_the_end = tokio::select! {
            () = death.reached() => false,
            () = to_the_end(&life, &self.message) => true,
        };
        life.kill();
        (death.names(), came_to_the_end)
    }

    /// The life that brings it to its end, and what must hold then.
    async fn ends_well(&self, after: &[Vec<String>]) {
        let life = self.life(&Death::never()).await;
        life.ready().await;
        let turn = life.turn(self.message.clone()).await;
        life.done(turn).await;
        let stores = self.ground.open().await;
        let items = testkit::remembered(&stores, &self.message.address).await;
        let story = format!("{after:#?}\nseen: {:#?}\nremembered: {items:#?}", self.platform.seen());
        assert_eq!(items.len(), 1, "answered once: {story}");
        let ran = self.gate.runs();
        assert!(ran <= 1, "the once call ran {ran} times: {story}");
        let answer = &items[0].answered;
        let (is_known, is_unknown) = (answer.contains("id: A"), answer.contains("not known"));
        assert!(is_known != is_unknown && (ran == 1 || is_unknown), "the reply tells the truth: {story}");
        self.check_delivery(answer, &story);
        let tree = life.gateway.tree(turn).await.unwrap();
        assert!(tree.iter().all(|n| n.state != contract::State::Running), "nothing runs any more: {story}\n{tree:#?}");
        life.kill();
    }

    /// What was posted is the answer from its start to its end; what may be a repeat begins with the mark.
    fn check_delivery(&self, answer: &str, story: &str) {
        let mut at = 0;
        let mut repeats = false;
        for seen in self.platform.seen() {
            let text = match seen.text.strip_prefix(DUPLICATE_MARK) {
                Some(text) => {
                    repeats = true;
                    text.trim_start_matches('\n')
                }
                None => seen.text.as_str(),
            };
            if repeats && !text.is_empty() {
                at = (0..=at)
                    .rev()
                    .filter(|from| answer.is_char_boundary(*from))
                    .find(|from| answer[*from..].starts_with(text))
                    .unwrap_or_else(|| panic!("'{text}' is no part of the answer so far: {story}"));
                repeats = false;
            }
            assert!(answer[at..].starts_with(text), "'{text}' does not go on at {at}: {story}");
            at += text.len();
        }
        assert_eq!(at, answer.len(), "the whole answer arrived: {story}");
    }
}

async fn to_the_end(life: &Life, message: &Message) {
    life.ready().await;
    match life.accept_behind(message.clone()).await {
        Ok(Ok(Accepted::Turn { id, .. })) => life.done(id).await,
        other => panic!("not accepted: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_step_loses_nothing_and_repeats_nothing_silently() {
    for_each_store(|ground| async move {
        for step in 0.. {
            let case = Case::new(&ground);
            let (steps, came_to_the_end) = case.dies_at(step).await;
            case.ends_well(&[steps]).await;
            if came_to_the_end {
                assert!(step > 15, "the steps are seen: {step}");
                break;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_kills_at_any_two_steps_lose_nothing_either() {
    for_each_store(|ground| async move {
        // Every pair would take a minute; the second kill walks through the steps as the first one does.
        for first in 0..20 {
            for second in [first % 9, 9 + first % 9] {
                let case = Case::new(&ground);
                let (one, _) = case.dies_at(first).await;
                let (two, _) = case.dies_at(second).await;
                case.ends_well(&[one, two]).await;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_in_which_the_process_died_three_times_is_answered_unrun() {
    for_each_store(|ground| async move {
        let platform = Arc::new(Recorder::default());
        let gate = Gate::closed();
        let message = message(Platform::Telegram, "42", "ada", "/gate id=A");
        for death in 1..=4 {
            let (outlet, tool) = (platform.clone(), gate.clone());
            let life =
                Life::start(ground.opening(), move |stores| Setup::new(stores).gate(&tool).outlet(&outlet)).await;
            life.ready().await;
            let turn = life.turn(message.clone()).await;
            if death < 4 {
                gate.wait_for(death).await;
                assert!(platform.seen().is_empty());
                life.kill();
                continue;
            }
            life.done(turn).await;
            assert_eq!(gate.runs(), 3, "it was run in three lives");
            let tree = life.gateway.tree(turn).await.unwrap();
            assert!(tree.iter().all(|n| n.state != contract::State::Running), "{tree:#?}");
        }
        let seen = platform.seen();
        assert_eq!(seen.len(), 1);
        assert!(seen[0].text.contains("code: crashed"), "{seen:?}");
    })
    .await;
}

/// Everything of a life up to its death at a step, then a life that ends the turn; what was seen, and the story.
async fn dies_and_ends(step: usize, text: &str, opens_after_progress: bool) -> (Arc<Recorder>, Gate, String, bool) {
    dies_and_ends_on(Recorder::default(), step, text, opens_after_progress).await
}

async fn dies_and_ends_on(
    platform: Recorder,
    step: usize,
    text: &str,
    opens_after_progress: bool,
) -> (Arc<Recorder>, Gate, String, bool) {
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    let mut case = Case::new(&ground);
    case.platform = Arc::new(platform);
    case.platform.split_at(10_000);
    case.platform.roles_are(&["member"]);
    case.message = message(Platform::Telegram, "here", "ada", text);
    if opens_after_progress {
        case.gate = Gate::closed();
    }
    let opening = {
        let (platform, gate) = (case.platform.clone(), case.gate.clone());
        tokio::spawn(async move {
            platform.wait_for(1).await;
            gate.open();
        })
    };
    let (steps, came_to_the_end) = case.dies_at(step).await;
    opening.abort();
    case.gate.open();
    let life = case.life(&Death::never()).await;
    life.ready().await;
    let turn = life.turn(case.message.clone()).await;
    life.done(turn).await;
    life.kill();
    let story = format!("{steps:#?}\nseen: {:#?}", case.platform.seen());
    (case.platform.clone(), case.gate.clone(), story, came_to_the_end)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_around_a_progress_message_leaves_one_answer() {
    let mut cases = tokio::task::JoinSet::new();
    for step in 0..24 {
        cases.spawn(dies_and_ends(step, "/gate id=A", true));
    }
    let mut ends = 0;
    while let Some(case) = cases.join_next().await {
        let (platform, _, story, came_to_the_end) = case.unwrap();
        ends += usize::from(came_to_the_end);
        let (marked, plain): (Vec<_>, Vec<_>) =
            platform.finals().into_iter().partition(|seen| seen.text.starts_with(DUPLICATE_MARK));
        assert!(!marked.is_empty() || !plain.is_empty(), "it was answered: {story}");
        // A replacement may be made twice: the person sees one message.
        let posts = plain.iter().filter(|seen| seen.op == "post").count();
        let replaces = plain.iter().filter(|seen| seen.op == "replace").count();
        assert!(posts + replaces.min(1) <= 1, "repeated silently: {story}");
        assert!(platform.finals().iter().all(|seen| seen.text.contains("id: A")), "{story}");
    }
    assert!(ends > 0 && ends < 12, "the steps are seen: {ends}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_around_a_progress_message_that_can_be_found_leaves_nothing_but_the_answer() {
    let mut cases = tokio::task::JoinSet::new();
    for step in 0..14 {
        let platform = Recorder::default();
        platform.can_find();
        cases.spawn(dies_and_ends_on(platform, step, "/gate id=A", true));
    }
    while let Some(case) = cases.join_next().await {
        let (platform, _, story, _) = case.unwrap();
        assert_eq!(platform.standing(), ["- id: A"], "{story}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_around_a_message_to_another_conversation_sends_it_once_or_says_so() {
    for step in 0.. {
        let (platform, _, story, came_to_the_end) = dies_and_ends(step, "/send_message there hello", false).await;
        let there: Vec<_> = platform.finals().into_iter().filter(|seen| seen.conversation == "there").collect();
        let here: Vec<_> = platform.finals().into_iter().filter(|seen| seen.conversation == "here").collect();
        let silent = |all: &[testkit::Seen]| all.iter().filter(|s| !s.text.starts_with(DUPLICATE_MARK)).count();
        assert!(silent(&there) <= 1 && silent(&here) <= 1, "repeated silently: {story}");
        let is_unknown = here.iter().any(|seen| seen.text.contains("not known"));
        assert!(!here.is_empty() && (!there.is_empty() || is_unknown), "lost: {story}");
        if came_to_the_end {
            assert!(step > 12, "the steps are seen: {step}");
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_by_itself_is_not_run_again_and_its_tree_says_what_is_known() {
    for_each_store(|ground| async move {
        let gate = Gate::closed();
        let tool = gate.clone();
        let life = Life::start(ground.opening(), move |stores| Setup::new(stores).gate(&tool)).await;
        life.ready().await;
        let (gateway, caller) = (life.gateway.clone(), testkit::caller(Platform::Api));
        let calling =
            tokio::spawn(async move { gateway.invoke(caller, "once", Ok(serde_json::json!({"id": "A"}))).await });
        gate.wait_for(1).await;
        let turn = life.gateway.running()[0].turn;
        // Its start is written behind after a while.
        let kept = ground.open().await;
        while kept.trees.tree(turn).await.unwrap().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        calling.abort();
        life.kill();
        let tool = gate.clone();
        let life = Life::start(ground.opening(), move |stores| Setup::new(stores).gate(&tool)).await;
        let reply = life.gateway.reply(turn).await.unwrap().unwrap();
        assert!(dispatch::say::plain(&reply).contains("not known"), "{reply:?}");
        let tree = life.gateway.tree(turn).await.unwrap();
        assert!(tree.iter().all(|n| n.state == contract::State::Unknown), "{tree:#?}");
        assert_eq!(gate.runs(), 1);
        life.kill();
    })
    .await;
}

/// A pipeline may be run again; what its children did may not.
const PIPELINE: &str = r#"
---
name: both
toolset: lab
description: A call with an effect, then another
endpoint: { type: pipeline, steps: [{ tool: once, args: { id: A } }, { tool: noop, args: { a: x } }] }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_in_a_pipeline_repeats_no_effect_of_its_children() {
    let ground = Ground::new(testkit::StoreKind::Sqlite).await;
    for step in 0.. {
        let (platform, gate) = (Arc::new(Recorder::default()), Gate::opened());
        let message = message(Platform::Telegram, &TurnId::new().to_string(), "ada", "/both");
        let start = |death: &Arc<Death>| {
            let (outlet, gate, death) = (platform.clone(), gate.with_hook(death.clone()), death.clone());
            Life::start(ground.opening(), move |stores| {
                let mut setup = Setup::new(stores).gate(&gate).hook(death).outlet(&outlet);
                setup.tools.push_str(PIPELINE);
                setup
            })
        };
        let death = Death::at(step);
        let life = start(&death).await;
        let came_to_the_end = tokio::select! {
            () = death.reached() => false,
            () = to_the_end(&life, &message) => true,
        };
        life.kill();
        let life = start(&Death::never()).await;
        to_the_end(&life, &message).await;
        let said: String = platform.finals().into_iter().map(|seen| seen.text).collect();
        let (ran, story) = (gate.runs(), format!("{:#?}\n{said}", death.names()));
        assert!(ran <= 1, "it ran {ran} times: {story}");
        let is_ok = platform.finals().iter().any(|seen| seen.text.contains("(no output)"));
        assert!(is_ok || said.contains("may have taken effect") || said.contains("not known"), "{story}");
        life.kill();
        if came_to_the_end {
            assert!(step > 12, "the steps are seen: {step}");
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_is_fetched_survives_a_kill_at_any_step() {
    for_each_store(|ground| async move {
        for step in 0.. {
            let mut case = Case::new(&ground);
            case.message = message(Platform::Api, &TurnId::new().to_string(), "ada", "/once id=A");
            let (steps, came_to_the_end) = case.dies_at(step).await;
            let life = case.life(&Death::never()).await;
            life.ready().await;
            let turn = life.turn(case.message.clone()).await;
            let reply = life.gateway.reply(turn).await.unwrap().expect("it is kept");
            let said = dispatch::say::plain(&reply);
            assert!(said.contains("id: A") != said.contains("not known"), "{steps:?}: {said}");
            assert!(case.gate.runs() <= 1, "{steps:?}");
            life.kill();
            if came_to_the_end {
                break;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wish_to_stop_survives_a_kill() {
    for_each_store(|ground| async move {
        let (platform, gate) = (Arc::new(Recorder::default()), Gate::closed());
        let start = || {
            let (outlet, gate) = (platform.clone(), gate.clone());
            Life::start(ground.opening(), move |stores| Setup::new(stores).gate(&gate).outlet(&outlet))
        };
        let life = start().await;
        life.ready().await;
        let turn = life.turn(message(Platform::Telegram, "c", "ada", "/gate id=A")).await;
        gate.wait_for(1).await;
        // Written to the record, and the process dies before it is felt.
        assert!(ground.open().await.turns.cancel(turn).await.unwrap());
        life.kill();
        gate.open();
        let life = start().await;
        life.done(turn).await;
        assert_eq!(gate.runs(), 1);
        assert!(platform.finals()[0].text.contains("code: not_started"), "{:?}", platform.finals());
        life.kill();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_would_run_again_under_another_key_is_unknown() {
    for_each_store(|ground| async move {
        let asked = message(Platform::Api, "c", "ada", "/once id=1");
        let record = Record::new(TurnId::new(), SessionKey::of(&asked.address), asked, testkit::caller(Platform::Api));
        let dead = ground.open().await;
        let owned = dead.turns.hold().await.unwrap();
        dead.turns.accept(&record).await.unwrap();
        let fence = owned.iter().find(|o| o.partition == record.session.partition()).unwrap().fence;
        let digest = Digest::of(b"as it was");
        let path = CallPath::top(1, 1);
        let key = Some("as it was".to_owned());
        let entry = Entry { path, tool: "once".into(), spec: digest, args: digest, key, at_ms: 5, end: None };
        dead.turns.change(fence, record.id, &record.session, &[Change::Started(vec![entry])]).await.unwrap();
        dead.close().await;
        let gate = Gate::opened();
        let gateway = Setup::new(ground.open().await).gate(&gate).start().ready().await;
        let said = gateway.ended(record.id).await;
        assert!(said.tree.contains("unknown [outcome.unknown]"), "{}", said.tree);
        assert_eq!(gate.runs(), 0);
        gateway.gateway.drain().await;
    })
    .await;
}
