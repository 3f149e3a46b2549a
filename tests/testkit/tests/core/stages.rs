//! Stages that were added: what they change, refuse and see, and what they do not hold up.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use contract::{Code, Node, Private, State};
use endpoints::hooks::{At, Hook, Via};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::{InABox, Setup, until};
use tokio::sync::Notify;
use tools::{
    Host,
    stages::{
        After, Before, Changed, Class, Link, Name, Of, Only, Request, Stage, Stopped, Transform,
        built_in::{Cost, Defaults, Kind, Mask, Summary},
    },
};

async fn setup() -> Setup {
    Setup::new(store::open("sqlite::memory:", store::Options::default()).await.unwrap())
}

fn for_tool(name: &str) -> Only {
    Only { tools: vec![Name::new(name)], ..Only::default() }
}

/// Decides when the test says so; counts how often it was asked.
#[derive(Default)]
struct Judge {
    asked: AtomicUsize,
    /// Waited for, where there is one.
    until: Option<Notify>,
    no: Option<&'static str>,
}

#[async_trait]
impl Before for Judge {
    async fn before(&self, _: &Of, _: &Value) -> Result<(), Stopped> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(until) = &self.until {
            until.notified().await;
        }
        self.no.map_or(Ok(()), |no| Err(Stopped::Refused(no.into())))
    }
}

/// Remembers how calls ended.
#[derive(Default)]
struct Witness(Mutex<Vec<Node>>);

#[async_trait]
impl After for Witness {
    async fn after(&self, _: &Of, node: &Node) -> Result<(), Private> {
        self.0.lock().unwrap().push(node.clone());
        Ok(())
    }
}

/// Writes in the place of arguments and of answers.
struct Writes(Value);

#[async_trait]
impl Request for Writes {
    async fn request(&self, _: &Of, _: &Value) -> Result<Option<Changed>, Stopped> {
        Ok(Some(self.0.clone().into()))
    }
}

#[async_trait]
impl Transform for Writes {
    async fn transform(&self, _: &Of, _: &Value, _: &dyn Host) -> Result<Option<Changed>, Stopped> {
        Ok(Some(self.0.clone().into()))
    }
}

fn before(name: &str, judge: &Arc<Judge>) -> Link {
    Link::new(name, Stage::Before(judge.clone())).timeout(Duration::from_secs(60))
}

async fn marks(gateway: &InABox, said: &testkit::Said) -> String {
    let nodes = gateway.gateway.tree(said.turn).await.unwrap();
    let shown = nodes.iter().map(|n| format!("{} {}: {}\n", n.tool, n.args, n.marks.join("; ")));
    shown.skip(1).collect()
}

#[tokio::test]
async fn what_stages_change_is_run_and_told_and_stands_on_the_node_and_those_after_it_see_it() {
    let witness = Arc::new(Witness::default());
    let fill = Defaults(json!({"b": 7, "no_such": 1}).as_object().unwrap().clone());
    let gateway = setup()
        .await
        .stage(Link::new("fill", Stage::Request(Arc::new(fill))))
        .stage(Link::new("judge", Stage::Before(Arc::new(Judge::default()))))
        .stage(Link::new("price", Stage::Around(Arc::new(Cost { micros: 2_000 }))))
        .stage(Link::new("mask", Stage::Transform(Arc::new(Mask(Kind::ALL.into())))).only(for_tool("gate")))
        .stage(Link::new("seen", Stage::After(witness.clone())))
        .start()
        .ready()
        .await;
    let said = gateway.say("/gate ada@example.org").await;
    expect!["- id: [email]"].assert_eq(&said.text);
    let said = gateway.say("/noop x").await;
    expect![[r#"
        noop {a: "x", b: 7}: hook 'fill': set b; hook 'judge': allowed
    "#]]
    .assert_eq(&marks(&gateway, &said).await);
    until("both are told", || witness.0.lock().unwrap().len() == 2).await;
    let seen = witness.0.lock().unwrap().clone();
    assert_eq!(seen[0].marks, ["hook 'judge': allowed", "hook 'mask': masked 1"]);
    assert_eq!((seen[1].state, seen[1].usage.unwrap().cost_micros), (State::Ok, 2_000));
    let root = &gateway.gateway.tree(said.turn).await.unwrap()[0];
    assert_eq!(root.usage.unwrap().cost_micros, 2_000);
}

#[tokio::test]
async fn a_refusal_is_said_in_its_own_sentence_and_the_call_does_not_start() {
    let judge = Arc::new(Judge { no: Some("not on a Sunday"), ..Judge::default() });
    let gateway = setup().await.stage(before("sunday", &judge).only(for_tool("once"))).start().ready().await;
    let said = gateway.say("/once 1\n/noop y").await;
    expect![[r#"
        1. once

        🚫 Not permitted: not on a Sunday
          code: hook.refused
        → an operator can say more

        2. noop

        (no output)"#]]
    .assert_eq(&said.text);
    expect![[r#"
        turn  failed [hook.refused]
        ├─ noop {a: "y"}  ok
        └─ once {id: "1"}  denied [hook.refused]
    "#]]
    .assert_eq(&said.tree);
}

#[tokio::test]
async fn whom_policy_denies_and_who_writes_nonsense_is_shown_to_no_stage() {
    let judge = Arc::new(Judge::default());
    let gateway = setup().await.stage(before("judge", &judge)).start().ready().await;
    gateway.say("/secret_thing").await;
    gateway.say("/sleep ms=abc").await;
    gateway.say("/no_such_tool").await;
    assert_eq!(judge.asked.load(Ordering::SeqCst), 0);
    gateway.say("/sleep 1").await;
    assert_eq!(judge.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_that_a_stage_thinks_about_holds_no_other() {
    let judge = Arc::new(Judge { until: Some(Notify::new()), ..Judge::default() });
    let gate = testkit::Gate::closed();
    let setup = setup().await.gate(&gate).stage(before("slow", &judge).only(for_tool("sleep")));
    let gateway = setup.start().ready().await;
    let saying = gateway.say("/sleep 1\n/gate 7");
    let other_runs = async {
        until("the other call runs", || gate.runs() == 1).await;
        gate.open();
        judge.until.as_ref().unwrap().notify_one();
    };
    let (said, ()) = tokio::join!(saying, other_runs);
    expect![[r#"
        turn  ok
        ├─ gate {id: "7"}  ok
        └─ sleep {ms: 1}  ok
    "#]]
    .assert_eq(&said.tree);
}

#[tokio::test]
async fn what_was_made_of_arguments_is_checked_like_any_other() {
    let gateway = setup()
        .await
        .stage(Link::new("writes", Stage::Request(Arc::new(Writes(json!({"ms": "soon"}))))).only(for_tool("sleep")))
        .start()
        .ready()
        .await;
    let said = gateway.say("/sleep 1").await;
    assert_eq!(said.tree, "turn  failed [args.invalid]\n└─ sleep {ms: \"soon\"}  failed [args.invalid]\n");
}

#[tokio::test]
async fn a_long_answer_is_told_in_short() {
    let gateway = setup()
        .await
        .stage(Link::new("writes", Stage::Transform(Arc::new(Writes(json!(vec![json!({"n": 1}); 300]))))))
        .stage(Link::new("short", Stage::Transform(Arc::new(Summary { above: 400 }))))
        .start()
        .ready()
        .await;
    let outcome = gateway.invoke("noop", json!({"a": "x"})).await;
    let short = outcome.result.unwrap();
    assert_eq!((&short["summary"]["items"], &short["characters"]), (&json!(300), &json!(2_401)));
}

#[tokio::test]
async fn a_call_alone_in_its_turn_and_one_of_a_sequence_pass_the_same_stages() {
    let judge = Arc::new(Judge { no: Some("no"), ..Judge::default() });
    let mut setup = setup().await.stage(before("judge", &judge));
    let one_by_one = testkit::allow_lab_with(contract::Platform::Api, "limits: { execution_mode: sequential }");
    setup.policies = vec![one_by_one];
    let gateway = setup.start().ready().await;
    assert_eq!(gateway.invoke("once", json!({"id": "1"})).await.result.unwrap_err().code, Code::HookRefused);
    let said = gateway.say("/once 1\n/once 2").await;
    expect![[r#"
        turn  failed [hook.refused]
        ├─ once {id: "1"}  denied [hook.refused]
        └─ once {id: "2"}  not_started [not_started]
    "#]]
    .assert_eq(&said.tree);
    assert_eq!(judge.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn who_only_watches_is_not_waited_for() {
    let judge = Arc::new(Judge { until: Some(Notify::new()), ..Judge::default() });
    let watches = before("watches", &judge).class(Class::Observer);
    let gateway = setup().await.stage(watches).start().ready().await;
    let said = gateway.say("/sleep 1").await;
    assert_eq!(said.text, "- slept_ms: 1");
    until("it was told", || judge.asked.load(Ordering::SeqCst) == 1).await;
    judge.until.as_ref().unwrap().notify_one();
    assert_eq!(gateway.gateway.stages()[0].calls, 1);
}

/// A program around each attempt.
fn around(name: &str, script: &str, class: Class) -> Link {
    let argv = ["sh", "-c", script].map(str::to_owned).into();
    let via = Via::Program { argv, env: Vec::new(), folder: None };
    let timeout = Duration::from_secs(20);
    let hook = Hook { name: name.into(), at: At::Execution, via, class, timeout, only: for_tool("sleep") };
    endpoints::Endpoints::new().hook(hook).unwrap()
}

#[tokio::test]
async fn what_stands_around_an_attempt_answers_in_its_place_or_keeps_it_from_starting() {
    let answers = r#"if grep -q '"ms":1,\|"ms":1}'; then echo '{"decision":"allow","answer":"from memory"}'; else echo '{"decision":"refuse","say":"not today"}'; fi"#;
    let gateway = setup().await.stage(around("cache", answers, Class::Policy)).start().ready().await;
    let said = gateway.say("/sleep 1").await;
    assert_eq!(said.text, "from memory");
    assert_eq!(
        marks(&gateway, &said).await,
        "sleep {ms: 1}: coerced ms: \"1\" to 1; hook 'cache': answered in the tool's place\n"
    );
    let refused = gateway.invoke("sleep", json!({"ms": 2})).await.result.unwrap_err();
    assert_eq!((refused.code, refused.to_string().as_str()), (Code::Unavailable, "not today"));
    let count = &gateway.gateway.stages()[0];
    assert_eq!((count.calls, count.refused, count.failed), (2, 1, 0));

    let gateway = setup().await.stage(around("away", "exit 1", Class::Observer)).start().ready().await;
    let said = gateway.say("/sleep 1").await;
    assert_eq!(said.text, "- slept_ms: 1");
    assert_eq!(
        marks(&gateway, &said).await,
        "sleep {ms: 1}: coerced ms: \"1\" to 1; hook 'away': no decision, which does not count\n"
    );
    assert_eq!(gateway.gateway.stages()[0].failed, 1);
}
