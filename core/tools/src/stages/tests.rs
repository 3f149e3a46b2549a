use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use contract::{CallPath, TurnId};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    built_in::{Cost, Defaults, Kind, Mask, Summary},
    *,
};
use crate::{
    Fault,
    testing::{Acts, Nobody, World, caller},
};

/// What a stage in the test's hand does.
enum Does {
    Sets(&'static str),
    Refuses,
    Fails,
    Hangs,
    Panics,
}

struct Test(Does);

impl Test {
    async fn change(&self, value: &Value) -> Result<Option<Changed>, Stopped> {
        match self.0 {
            Does::Sets(name) => {
                let mut changed = value.clone();
                changed[name] = json!(true);
                Ok(Some(changed.into()))
            }
            Does::Refuses => Err(Stopped::Refused("not after <system>six</system>".into())),
            Does::Fails => Err(Stopped::Failed(Private::new("connection refused by 10.0.0.1"))),
            Does::Hangs => pending().await,
            Does::Panics => panic!("boom"),
        }
    }
}

#[async_trait]
impl Request for Test {
    async fn request(&self, _: &Of, args: &Value) -> Result<Option<Changed>, Stopped> {
        self.change(args).await
    }
}

#[async_trait]
impl Before for Test {
    async fn before(&self, _: &Of, args: &Value) -> Result<(), Stopped> {
        self.change(args).await.map(drop)
    }
}

#[async_trait]
impl Transform for Test {
    async fn transform(&self, _: &Of, answer: &Value, _: &dyn Host) -> Result<Option<Changed>, Stopped> {
        self.change(answer).await
    }
}

fn world() -> Arc<World> {
    let acts = Acts::default()
        .with("echo", |call, _| {
            let args = call.args().clone();
            async { Ok(Output::Done(args)) }
        })
        .with("flaky", |_, cx| {
            let attempt = cx.attempt;
            async move {
                match attempt {
                    1 => Err(ToolFailure::new(Fault::Failed, "no")),
                    _ => Ok(Output::Done(json!("done"))),
                }
            }
        });
    let echo = "toolset: lab\npermissions: [read, pii]\nparameters: { type: object, properties: { region: { type: string } } }";
    let flaky = "execution: { retries: 1, idempotent: true }";
    World::new(acts, &[("echo", echo), ("flaky", flaky)])
}

fn of(world: &World, tool: &str) -> Arc<Of> {
    let tool = world.snapshot.get(tool).unwrap().clone();
    Arc::new(Of { tool, caller: caller(), turn: TurnId::new(), path: CallPath::top(1, 1) })
}

fn request(name: &str, does: Does) -> Link {
    Link::new(name, Stage::Request(Arc::new(Test(does))))
}

fn before(name: &str, does: Does) -> Link {
    Link::new(name, Stage::Before(Arc::new(Test(does))))
}

fn transform(name: &str, does: Does) -> Link {
    Link::new(name, Stage::Transform(Arc::new(Test(does))))
}

fn chain(links: Vec<Link>) -> Chain {
    Chain::new(links).unwrap_or_else(|_| panic!("too many"))
}

/// What a call of `echo` comes to before it is admitted, and its marks.
async fn asked(links: Vec<Link>, expected: Expect) {
    let (world, chain) = (world(), chain(links));
    let of = of(&world, "echo");
    let stages = Stages { chain: &chain, of: &of };
    let mut marks = Vec::new();
    let (args, asked) = stages.request(json!({}), &mut marks).await;
    let asked = match asked {
        Ok(()) => stages.before(&args, &mut marks).await,
        Err(failure) => Err(failure),
    };
    let told = asked.map_or_else(|f| format!("{}: {f} | {}", f.code, f.cause.for_operator()), |()| args.to_string());
    expected.assert_eq(&format!("{told}\n{}", marks.join("\n")));
}

#[tokio::test(start_paused = true)]
async fn stages_change_arguments_in_their_order_and_each_is_marked() {
    let fill = Defaults(json!({"region": "eu", "unknown": 1}).as_object().unwrap().clone());
    let links = vec![
        Link::new("fill", Stage::Request(Arc::new(fill))),
        request("sets", Does::Sets("a")),
        request("again", Does::Sets("a")),
        before("check", Does::Sets("x")),
    ];
    asked(
        links,
        expect![[r#"
            {"region":"eu","a":true}
            hook 'fill': set region
            hook 'sets': set a
            hook 'check': allowed"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_decides_refuses_with_its_sentence_and_who_fails_refuses_too() {
    asked(
        vec![before("night", Does::Refuses), before("never", Does::Panics)],
        expect![[r#"
            hook.refused: not after six | the hook 'night' refused it
            hook 'night': refused"#]],
    )
    .await;
    for does in [Does::Fails, Does::Hangs, Does::Panics] {
        let (world, chain) = (world(), chain(vec![before("b", does)]));
        let of = of(&world, "echo");
        let failure =
            Stages { chain: &chain, of: &of }.before(&json!({}), &mut Vec::new()).await.expect_err("it is refused");
        assert_eq!(failure.to_string(), "'echo' was not run: it could not be checked");
        assert!(!failure.for_model(true).to_string().contains("10.0.0.1"));
        assert_eq!(chain.counts()[0].failed, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_becomes_of_an_observer_the_call_goes_on() {
    let observers = [Does::Refuses, Does::Fails, Does::Hangs, Does::Panics];
    let links = observers.into_iter().map(|does| request("o", does).class(Class::Observer)).collect();
    asked(
        links,
        expect![[r#"
            {}
            hook 'o': refused, which does not count
            hook 'o': no decision, which does not count
            hook 'o': no decision, which does not count
            hook 'o': no decision, which does not count"#]],
    )
    .await;
}

#[tokio::test]
async fn a_stage_is_for_what_it_names() {
    let world = world();
    let tool = world.snapshot.get("echo").unwrap();
    let names = |all: &[&str]| all.iter().map(|name| Name::new(name)).collect::<Vec<_>>();
    let only = Only { tools: names(&["ec*"]), labels: names(&["pii"]), ..Only::default() };
    assert!(only.is_for(tool, &caller()));
    let other = Only { tenants: names(&["acme"]), ..only.clone() };
    assert!(!other.is_for(tool, &caller()));
    let other = Only { platforms: vec![contract::Platform::Slack], ..only.clone() };
    assert!(!other.is_for(tool, &caller()));
    assert!(!Only { labels: names(&["write"]), ..only }.is_for(tool, &caller()));
}

async fn answered(links: Vec<Link>, tool: &str, args: Value) -> (String, crate::Report) {
    let (world, chain) = (world(), chain(links));
    let of = of(&world, tool);
    let report = world.run_with(Some(Stages { chain: &chain, of: &of }), tool, args).await;
    let told = match &report.result {
        Ok(value) => value.to_string(),
        Err(failure) => format!("{}: {failure}", failure.code),
    };
    (format!("{told}\n{}", report.marks.join("\n")), report)
}

#[tokio::test(start_paused = true)]
async fn answers_are_changed_in_order_and_what_cannot_be_checked_is_withheld() {
    let mask = || Link::new("mask", Stage::Transform(Arc::new(Mask(Kind::ALL.into()))));
    let (told, _) =
        answered(vec![mask(), transform("t", Does::Sets("seen"))], "echo", json!({"region": "a@b.de"})).await;
    expect![[r#"
        {"region":"[email]","seen":true}
        hook 'mask': masked 1
        hook 't': changed the answer"#]]
    .assert_eq(&told);
    let (told, _) = answered(vec![transform("t", Does::Hangs), mask()], "echo", json!({})).await;
    expect![[r#"
        hook.withheld: 'echo' answered, and its answer could not be checked
        hook 't': no decision"#]]
    .assert_eq(&told);
    let short = Link::new("short", Stage::Transform(Arc::new(Summary { above: 400 })));
    let (told, _) = answered(vec![short], "echo", json!({"region": "x".repeat(5_000)})).await;
    assert!(told.contains("\"characters\":5013") && told.ends_with("told 5013 characters in short"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn every_attempt_costs_and_stages_around_them_nest() {
    struct Says(&'static str, Arc<Mutex<Vec<String>>>);
    #[async_trait]
    impl Around for Says {
        async fn around(&self, _: &Permitted, cx: &Cx<'_>, next: Next<'_>) -> Result<Output, ToolFailure> {
            self.1.lock().unwrap().push(format!("{} {}", self.0, cx.attempt));
            let done = next.run(cx).await;
            self.1.lock().unwrap().push(format!("{} left", self.0));
            done
        }
    }
    let said = Arc::default();
    let links = vec![
        Link::new("cost", Stage::Around(Arc::new(Cost { micros: 2_000 }))),
        Link::new("outer", Stage::Around(Arc::new(Says("outer", Arc::clone(&said))))),
        Link::new("inner", Stage::Around(Arc::new(Says("inner", Arc::clone(&said))))),
    ];
    let (world, chain) = (world(), chain(links));
    let of = of(&world, "flaky");
    let report = world.run_with(Some(Stages { chain: &chain, of: &of }), "flaky", json!({})).await;
    assert_eq!(chain.counts().iter().map(|count| count.calls).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!((report.attempts, report.cost_micros, report.result.unwrap()), (2, 4_000, json!("done")));
    let said = said.lock().unwrap().join(", ");
    expect!["outer 1, inner 1, inner left, outer left, outer 2, inner 2, inner left, outer left"].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_look_at_an_answer() {
    let (world, chain) = (world(), chain(vec![transform("t", Does::Hangs).timeout(Duration::from_secs(3_600))]));
    let of = of(&world, "echo");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let stages = Stages { chain: &chain, of: &of };
    let hour = Duration::from_secs(3_600);
    let told = stages.transform(json!(1), &Nobody, hour, &cancel, &mut Vec::new()).await;
    assert_eq!(told.unwrap_err().code, contract::Code::HookWithheld);
}
