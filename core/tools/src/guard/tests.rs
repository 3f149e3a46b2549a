mod breaking;
mod jobs;
mod repeating;
mod script;
mod sharing;

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use contract::{Code, Effect, Layer, Private, Problem};
use expect_test::{Expect, expect};
use futures_util::{FutureExt, future::join_all};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Fault, Output, Report, ToolFailure,
    testing::{Acts, Crowd, World},
};

/// The answer, or what people are told.
fn told(report: &Report) -> String {
    match &report.result {
        Ok(value) => format!("ok {value}"),
        Err(failure) => {
            let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{} {:?}: {failure}{hint}", failure.code, failure.effect)
        }
    }
}

fn check(report: &Report, expected: Expect) {
    expected.assert_eq(&told(report));
}

fn hang() -> Acts {
    Acts::default().with("hang", |_, _| pending())
}

fn echo() -> Acts {
    Acts::default().with("echo", |call, _| {
        let args = call.args().clone();
        async { Ok(Output::Done(args)) }
    })
}

#[test]
fn an_answer_at_once_needs_neither_clock_nor_runtime() {
    let world = World::new(echo(), &[("echo", "execution: { concurrency_limit: 1, resource: 'r:{a}' }")]);
    let report = world.run("echo", json!({"a": 1})).now_or_never().expect("it is ready on the first poll");
    check(&report, expect![[r#"ok {"a":1}"#]]);
    assert_eq!((report.attempts, report.queued), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_ends_at_its_deadline() {
    let world = World::new(
        Acts::default().with("hang", |_, _| pending()).with("look", |_, _| pending()),
        &[("hang", "execution: { timeout: 500ms }"), ("look", "permissions: [read]\nexecution: { timeout: 3m }")],
    );
    let began = Instant::now();
    let report = world.run("hang", json!({})).await;
    assert_eq!(began.elapsed(), Duration::from_millis(500));
    check(
        &report,
        expect![
            "timeout Unknown: 'hang' did not answer within 500 ms; it may have taken effect (check before you ask for it again)"
        ],
    );
    let report = world.run("look", json!({})).await;
    check(&report, expect!["timeout Unknown: 'look' did not answer within 3 min"]);
}

#[tokio::test(start_paused = true)]
async fn the_turns_end_comes_before_the_tools() {
    let world = World::new(hang(), &[("hang", "")]);
    let report = world.run_until("hang", json!({}), Instant::now() + Duration::from_secs(2)).await;
    check(
        &report,
        expect![
            "timeout Unknown: 'hang' did not answer before the time for this request ran out; it may have taken effect (check before you ask for it again)"
        ],
    );
}

#[tokio::test]
async fn a_call_that_is_always_busy_ends_at_its_deadline() {
    let acts = Acts::default().with("drip", |_, _| async {
        loop {
            // Uses up the task's budget, as a service does that never stops sending.
            let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
            for _ in 0..500 {
                tx.send(()).expect("the receiver lives");
            }
            drop(tx);
            while rx.recv().await.is_some() {}
        }
    });
    let world = World::new(acts, &[("drip", "execution: { timeout: 50ms }")]);
    assert_eq!(world.run("drip", json!({})).await.result.unwrap_err().code, Code::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_stopped_ends_at_once() {
    let acts = hang().with("dials", |_, cx| {
        cx.notes.effect(Effect::None);
        pending()
    });
    let world = World::new(acts, &[("hang", ""), ("dials", "")]);
    let began = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        world.cancel.cancel();
    };
    let (hang, dials, ()) = tokio::join!(world.run("hang", json!({})), world.run("dials", json!({})), stop);
    assert_eq!(began.elapsed(), Duration::from_millis(10));
    check(
        &hang,
        expect![
            "cancelled Unknown: 'hang' was stopped while it ran; it may have taken effect (check before you ask for it again)"
        ],
    );
    check(&dials, expect!["cancelled None: 'dials' was stopped while it ran; nothing was sent"]);
    check(&world.run("hang", json!({})).await, expect!["cancelled None: 'hang' was stopped before it started"]);
}

#[tokio::test]
async fn a_crash_is_contained_wherever_it_happens() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let acts = Acts::default()
        .with("early", |_, _| -> std::future::Ready<Result<Output, ToolFailure>> { panic!("secret-host") })
        .with("later", |_, _| async {
            tokio::task::yield_now().await;
            panic!("{}", String::from("secret-host"))
        })
        .with("dropped", |_, _| async {
            let _bomb = Bomb;
            pending().await
        })
        .with("odd", |_, _| async { std::panic::panic_any(Bomb) });
    let keys = "execution: { timeout: 20ms, parallel: false, concurrency_limit: 1 }";
    let world = World::new(acts, &[("early", keys), ("later", keys), ("dropped", keys), ("odd", keys)]);
    for tool in ["early", "later", "odd"] {
        let report = world.run(tool, json!({})).await;
        let failure = report.result.unwrap_err();
        assert_eq!((failure.code, failure.layer()), (Code::Panic, Layer::Fatal));
        assert!(!failure.to_string().contains("secret-host"));
        assert!(failure.cause.for_operator().contains("panicked"));
    }
    assert_eq!(world.run("dropped", json!({})).await.result.unwrap_err().code, Code::Timeout);
    assert!(world.resources.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_five_lets_five_run_and_waiting_is_recorded_apart() {
    let crowd = Crowd::default();
    let inside = crowd.clone();
    let acts = Acts::default().with("slow", move |_, _| {
        let crowd = inside.clone();
        async move {
            crowd.stay(Duration::from_millis(100)).await;
            Ok(Output::Done(Value::Null))
        }
    });
    let world = World::new(acts, &[("slow", "execution: { concurrency_limit: 5 }")]);
    let reports = join_all((0..16).map(|_| world.run("slow", json!({})))).await;
    assert_eq!(crowd.most(), 5);
    assert!(reports.iter().all(|report| report.result.is_ok()));
    let mut queued: Vec<_> = reports.iter().map(|report| report.queued.as_millis() / 100).collect();
    queued.sort_unstable();
    assert_eq!(queued, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn waiting_counts_against_the_deadline() {
    let world = World::new(hang(), &[("hang", "execution: { concurrency_limit: 1, timeout: 30s }")]);
    let first = world.run_until("hang", json!({}), Instant::now() + Duration::from_secs(60));
    let (first, second) = tokio::join!(first, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.run_until("hang", json!({}), Instant::now() + Duration::from_secs(5)).await
    });
    assert_eq!(first.attempts, 1);
    check(
        &second,
        expect![
            "timeout None: 'hang' had no free place before the time for this request ran out; it was not started (try again in a moment)"
        ],
    );
    assert_eq!((second.attempts, second.queued), (0, Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn too_many_waiting_are_told_at_once() {
    let world = World::new(hang(), &[("hang", "execution: { concurrency_limit: 2, timeout: 1s }")]);
    let reports = join_all((0..70).map(|_| world.run("hang", json!({})))).await;
    let count = |code| reports.iter().filter(|r| r.result.as_ref().is_err_and(|f| f.code == code)).count();
    assert_eq!((count(Code::Timeout), count(Code::Busy)), (66, 4));
    check(
        reports.last().unwrap(),
        expect![
            "busy None: 'hang' is busy: too many calls wait for it already; this one was not started (try again in a moment)"
        ],
    );
    assert_eq!(world.snapshot.get("hang").unwrap().guard.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn calls_for_one_resource_run_in_order_and_others_beside_them() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = log.clone();
    let acts = Acts::default().with("order", move |call, _| {
        let (log, args) = (seen.clone(), call.args().clone());
        async move {
            log.lock().unwrap().push(args["n"].to_string());
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(Output::Done(Value::Null))
        }
    });
    let world = World::new(acts, &[("order", "execution: { resource: 'orders:{id}' }")]);
    let began = Instant::now();
    // Queued in call order, run in another.
    let mut calls: Vec<_> = [(1, "a"), (2, "a"), (3, "b"), (4, "a")]
        .into_iter()
        .map(|(n, id)| world.permitted("order", json!({"n": n, "id": id})).queue(&world.resources))
        .collect();
    calls.reverse();
    let until = began + Duration::from_secs(60);
    join_all(calls.into_iter().map(|call| world.run_permitted(call, until))).await;
    assert_eq!(log.lock().unwrap().join(" "), "3 1 2 4");
    assert_eq!(began.elapsed(), Duration::from_millis(300));
    assert!(world.resources.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_run_in_parallel_runs_alone() {
    let crowd = Crowd::default();
    let inside = crowd.clone();
    let acts = Acts::default().with("alone", move |_, _| {
        let crowd = inside.clone();
        async move {
            crowd.stay(Duration::from_millis(10)).await;
            Ok(Output::Done(Value::Null))
        }
    });
    let world = World::new(acts, &[("alone", "execution: { parallel: false }")]);
    join_all((0..8).map(|_| world.run("alone", json!({})))).await;
    assert_eq!(crowd.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_frees_its_places() {
    let world = World::new(hang(), &[("hang", "execution: { parallel: false, concurrency_limit: 1 }")]);
    let guard = world.snapshot.get("hang").unwrap().guard.clone();
    {
        let (mut running, mut waiting) =
            (Box::pin(world.run("hang", json!({}))), Box::pin(world.run("hang", json!({}))));
        assert!((&mut running).now_or_never().is_none());
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!((guard.running(), world.resources.len()), (1, 1));
        drop(running);
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(guard.running(), 1);
    }
    assert_eq!((guard.running(), guard.waiting(), world.resources.len()), (0, 0, 0));
}

#[tokio::test]
async fn an_answer_is_checked_and_converted() {
    let returns =
        "returns: { type: object, required: [amount], properties: { amount: { type: number }, id: { type: string } } }";
    let world = World::new(echo(), &[("echo", returns)]);
    check(&world.run("echo", json!({"amount": 2})).await, expect![[r#"ok {"amount":2}"#]]);
    let report = world.run("echo", json!({"amount": "2.5"})).await;
    check(&report, expect![[r#"ok {"amount":2.5}"#]]);
    expect![[r#"["answer: coerced amount: \"2.5\" to 2.5"]"#]].assert_eq(&format!("{:?}", report.marks));
    let report = world.run("echo", json!({"id": 7})).await;
    check(&report, expect!["returns.invalid Unknown: 'echo' answered something else than it declares"]);
    let failure = report.result.unwrap_err();
    expect![[r#"amount: expected number; id: expected string, got 7; the answer: {"id":7}"#]]
        .assert_eq(failure.cause.for_operator());
    assert_eq!(failure.problems, [], "people and models see nothing of it");
}

#[tokio::test]
async fn a_tool_says_what_it_saw_and_how_it_failed() {
    let acts = Acts::default()
        .with("refuses", |_, _| async {
            let problems =
                vec![Problem { path: "sku".into(), expected: "a known article".into(), got: None, hint: None }];
            Err(ToolFailure::input_refused("no such article", problems))
        })
        .with("fails", |_, cx| {
            cx.notes.mark("tried twice");
            async {
                let failure = ToolFailure::new(Fault::Failed, "the shop did not answer well");
                Err(failure.status(502).request(Private::new("GET /x")).cause(Private::new("502 from shop.internal")))
            }
        })
        .with("seen", |_, cx| {
            cx.notes.status(200);
            cx.notes.request(Private::new("GET /y"));
            pending()
        });
    let world = World::new(acts, &[("refuses", ""), ("fails", ""), ("seen", "execution: { timeout: 10ms }")]);
    let report = world.run("refuses", json!({})).await;
    check(&report, expect!["input.refused None: no such article"]);
    assert_eq!(report.result.unwrap_err().problems.len(), 1);
    let report = world.run("fails", json!({})).await;
    check(&report, expect!["upstream.5xx Unknown: the shop did not answer well"]);
    assert_eq!((report.upstream_status, report.request.for_operator()), (Some(502), "GET /x"));
    assert_eq!(report.marks, ["tried twice"]);
    let report = world.run("seen", json!({})).await;
    assert_eq!((report.upstream_status, report.request.for_operator()), (Some(200), "GET /y"));
}

#[test]
fn a_tool_can_raise_no_failure_of_policy_and_none_of_ours() {
    let faults = [
        Fault::Timeout,
        Fault::Refused,
        Fault::Failed,
        Fault::Unreachable,
        Fault::Broken,
        Fault::Reported,
        Fault::Unusable,
        Fault::RateLimited,
        Fault::Busy,
        Fault::Returns,
        Fault::OutcomeUnknown,
        Fault::Cancelled,
        Fault::StepFailed,
        Fault::Unavailable,
        Fault::DeliveryRefused,
    ];
    for fault in faults {
        assert_eq!(ToolFailure::new(fault, "x").failure().layer(), Layer::Execution, "{fault:?}");
    }
    // A process that dies is what a panic is to code of ours.
    assert_eq!(ToolFailure::new(Fault::Crashed, "x").failure().layer(), Layer::Fatal);
    assert_eq!(ToolFailure::input_refused("x", Vec::new()).failure().layer(), Layer::Validation);
}

#[tokio::test(start_paused = true)]
async fn thirty_two_calls_of_a_batch_run_at_once_and_answer_in_order() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = started.clone();
    let acts = Acts::default().with("sleep", move |call, _| {
        count.fetch_add(1, Ordering::SeqCst);
        let args = call.args().clone();
        async move {
            tokio::time::sleep(Duration::from_millis(100 - args["n"].as_u64().unwrap_or(0))).await;
            Ok(Output::Done(args))
        }
    });
    let world = World::new(acts, &[("sleep", "")]);
    let began = Instant::now();
    let reports = join_all((0..32).map(|n| world.run("sleep", json!({"n": n})))).await;
    assert_eq!(began.elapsed(), Duration::from_millis(100));
    let answers: Vec<_> = reports.into_iter().map(|r| r.result.unwrap()["n"].as_u64().unwrap()).collect();
    assert_eq!(answers, (0..32).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn limits_hold_on_several_threads() {
    let (limited, alone) = (Crowd::default(), Crowd::default());
    let (inside_limited, inside_alone) = (limited.clone(), alone.clone());
    let stay = |crowd: Crowd| async move {
        crowd.stay(Duration::from_micros(200)).await;
        Ok(Output::Done(Value::Null))
    };
    let acts = Acts::default()
        .with("limited", move |_, _| stay(inside_limited.clone()))
        .with("alone", move |_, _| stay(inside_alone.clone()));
    let world = World::new(
        acts,
        &[
            ("limited", "execution: { concurrency_limit: 3 }"),
            ("alone", "execution: { resource: 'x', concurrency_limit: 9 }"),
        ],
    );
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..60 {
        let world = world.clone();
        tasks.spawn(async move { world.run(if n % 2 == 0 { "limited" } else { "alone" }, json!({})).await });
    }
    assert!(tasks.join_all().await.iter().all(|report| report.result.is_ok()));
    assert!(limited.most() <= 3 && alone.most() == 1);
    assert!(world.resources.is_empty());
}
