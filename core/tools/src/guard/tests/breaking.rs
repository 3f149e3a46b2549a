//! The circuit breaker.

use std::time::Duration;

use contract::{Code, Effect};
use expect_test::expect;
use futures_util::{FutureExt, future::join_all};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::script::{acts, service, whole};
use crate::{Report, testing::World};

const KEYS: &str =
    "execution: { timeout: 5s, circuit_breaker: { failure_threshold: 3, cooldown: 10s }, idempotent: true }";
const THREE: [&str; 3] = ["500"; 3];

fn code(report: &Report) -> Option<Code> {
    report.result.as_ref().err().map(|failure| failure.code)
}

/// What the service says after it failed three times and the breaker opened.
async fn opened(says: &[&'static str]) -> (std::sync::Arc<World>, super::script::Asks) {
    let (world, asks) = service(KEYS, &[&THREE, says].concat());
    for _ in 0..3 {
        assert_eq!(code(&world.run("t", json!({})).await), Some(Code::Upstream5xx));
    }
    (world, asks)
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_in_a_row_is_left_alone_for_a_while() {
    let (world, asks) = service(KEYS, &["500", "500", "ok", "500", "500", "500", "ok"]);
    let mut last = None;
    for _ in 0..6 {
        last = Some(world.run("t", json!({})).await);
    }
    assert_eq!(last.unwrap().marks, ["breaker: opened (3 failures in a row)"]);
    sleep(Duration::from_secs(4)).await;
    let report = world.run("t", json!({})).await;
    expect![[r#"
        breaker.open None: 't' has failed repeatedly and is left alone for a while; it can be asked again in 6 s in 0 | the circuit breaker is open; nothing was sent
          breaker: open, not called"#]]
    .assert_eq(&whole(&report));
    assert_eq!(report.result.unwrap_err().retry_after, Some(Duration::from_secs(6)));
    assert_eq!(asks.count(), 6);
    sleep(Duration::from_secs(6)).await;
    let report = world.run("t", json!({})).await;
    assert!(report.result.is_ok());
    assert_eq!(report.marks, ["breaker: half open, this call was the probe", "breaker: closed"]);
    assert!(world.run("t", json!({})).await.marks.is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_at_the_end_of_the_cooldown_one_reaches_the_service() {
    let (world, asks) = opened(&["slow", "ok"]).await;
    sleep(Duration::from_secs(10)).await;
    let reports = join_all((0..100).map(|_| world.run("t", json!({})))).await;
    assert_eq!(asks.count(), 4);
    let open: Vec<_> = reports.iter().filter(|report| code(report) == Some(Code::BreakerOpen)).collect();
    assert_eq!(open.len(), 99);
    let first = open[0].result.as_ref().unwrap_err();
    assert!(first.retry_after.is_some_and(|wait| wait <= Duration::from_secs(5)));
    assert!(join_all((0..100).map(|_| world.run("t", json!({})))).await.iter().all(|report| report.result.is_ok()));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_opens_it_for_another_cooldown() {
    let (world, asks) = opened(&["500", "ok"]).await;
    sleep(Duration::from_secs(10)).await;
    let report = world.run("t", json!({})).await;
    assert_eq!(report.marks.last().map(String::as_str), Some("breaker: opened (the probe failed)"));
    sleep(Duration::from_secs(9)).await;
    assert_eq!(code(&world.run("t", json!({})).await), Some(Code::BreakerOpen));
    sleep(Duration::from_secs(1)).await;
    assert!(world.run("t", json!({})).await.result.is_ok());
    assert_eq!(asks.count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_says_nothing_of_the_service_frees_its_place() {
    for says in ["404", "429", "input", "odd", "crash"] {
        let (world, asks) = opened(&[says, "ok"]).await;
        sleep(Duration::from_secs(10)).await;
        assert!(world.run("t", json!({})).await.result.is_err());
        assert!(world.run("t", json!({})).await.result.is_ok(), "{says}");
        assert_eq!(asks.count(), 5, "{says}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_or_stopped_frees_its_place() {
    let (world, asks) = opened(&["hang", "hang", "ok"]).await;
    sleep(Duration::from_secs(10)).await;
    {
        let mut probe = Box::pin(world.run("t", json!({})));
        assert!((&mut probe).now_or_never().is_none());
        assert_eq!(code(&world.run("t", json!({})).await), Some(Code::BreakerOpen));
    }
    let mut probe = Box::pin(world.run("t", json!({})));
    assert!((&mut probe).now_or_never().is_none());
    assert_eq!(asks.count(), 5);
    world.cancel.cancel();
    assert_eq!(code(&probe.await), Some(Code::Cancelled));
    assert_eq!(world.snapshot.get("t").unwrap().guard.open_for(), None);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_answers_is_a_failure_at_its_deadline() {
    let (world, _) = opened(&["hang", "ok"]).await;
    sleep(Duration::from_secs(10)).await;
    let began = Instant::now();
    assert_eq!(code(&world.run("t", json!({})).await), Some(Code::Timeout));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!(code(&world.run("t", json!({})).await), Some(Code::BreakerOpen));
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_of_before_changes_nothing() {
    // One that began while all was well fails, or answers, after the breaker opened and closed again.
    for (late, is_well) in [("slow", true), ("hang", false)] {
        let (world, _) = service(KEYS, &[&[late][..], &["500"; 3], &["ok"]].concat());
        let mut before = Box::pin(world.run("t", json!({})));
        assert!((&mut before).now_or_never().is_none());
        for _ in 0..3 {
            world.run("t", json!({})).await;
        }
        let guard = &world.snapshot.get("t").unwrap().guard;
        assert_eq!(guard.open_for(), Some(Duration::from_secs(10)));
        assert_eq!(before.await.result.is_ok(), is_well);
        assert!(guard.open_for().is_some(), "an answer of before does not close it");
        sleep(Duration::from_secs(10)).await;
        assert!(world.run("t", json!({})).await.result.is_ok());
        assert_eq!(guard.open_for(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_the_services_fault_opens_nothing() {
    for says in ["400", "401", "404", "408", "429", "input", "odd", "says no", "busy", "crash"] {
        let (world, asks) = service(KEYS, &[says]);
        for _ in 0..10 {
            assert_ne!(code(&world.run("t", json!({})).await), Some(Code::BreakerOpen), "{says}");
        }
        assert_eq!(asks.count(), 10);
    }
    // Neither the turn's end nor a stop is.
    let (world, asks) = service(KEYS, &["hang"]);
    for _ in 0..5 {
        world.run_until("t", json!({}), Instant::now() + Duration::from_secs(1)).await;
    }
    assert_eq!(asks.count(), 5);
    // What is wrong with an answer is not that it did not come.
    let (world, asks) = service(&format!("{KEYS}\nreturns: {{ type: integer }}"), &["ok"]);
    for _ in 0..5 {
        assert_eq!(code(&world.run("t", json!({})).await), Some(Code::ReturnsInvalid));
    }
    assert_eq!(asks.count(), 5);
}

#[tokio::test(start_paused = true)]
async fn whatever_shows_that_a_service_is_down_opens_it() {
    for says in ["connect", "reset", "500", "503 1", "hang", "connecting"] {
        let (world, asks) = service(KEYS, &[says]);
        for _ in 0..5 {
            world.run("t", json!({})).await;
        }
        assert_eq!(asks.count(), 3, "{says}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_opens_by_the_share_of_failures_too() {
    let keys = "execution: { circuit_breaker: { failure_threshold: 100, failure_rate: 50%, minimum_calls: 10, \
                window: 20s, cooldown: 10s }, idempotent: true }";
    let (world, asks) = service(keys, &["ok", "500", "ok", "500", "ok", "500", "ok", "500", "ok", "500", "ok"]);
    let mut marks = Vec::new();
    for _ in 0..12 {
        marks.extend(world.run("t", json!({})).await.marks);
    }
    assert_eq!(asks.count(), 10);
    assert_eq!(marks[0], "breaker: opened (5 of the last 10 calls failed)");
    // What was long ago does not count.
    let (world, asks) = service(keys, &["ok", "500", "500", "500", "500", "500", "500", "500", "500", "500"]);
    for _ in 0..9 {
        world.run("t", json!({})).await;
    }
    sleep(Duration::from_secs(25)).await;
    for _ in 0..9 {
        world.run("t", json!({})).await;
    }
    assert_eq!(asks.count(), 18);
}

#[tokio::test(start_paused = true)]
async fn retries_stop_when_the_breaker_opens() {
    let keys = "execution: { retries: 5, retry_interval: 1ms, idempotent: true, \
                circuit_breaker: { failure_threshold: 3, cooldown: 10s } }";
    let (world, asks) = service(keys, &["500"]);
    let report = world.run("t", json!({})).await;
    assert_eq!((report.attempts, asks.count()), (3, 3));
    assert_eq!(report.marks[2..], ["breaker: opened (3 failures in a row)", "not retried: the breaker is open"]);
    assert_eq!(code(&report), Some(Code::Upstream5xx));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_let_through_takes_no_token_and_stands_in_no_line() {
    let keys = "execution: { timeout: 20s, rate_limit: 3/m, concurrency_limit: 1, idempotent: true, \
                circuit_breaker: { failure_threshold: 2, cooldown: 10s } }";
    let (world, asks) = service(keys, &["500", "500", "ok"]);
    for _ in 0..50 {
        world.run("t", json!({})).await;
    }
    assert_eq!(asks.count(), 2);
    sleep(Duration::from_secs(10)).await;
    let began = Instant::now();
    let report = world.run("t", json!({})).await;
    assert!(report.result.is_ok());
    assert_eq!(began.elapsed(), Duration::ZERO, "the third token was still there");
}

#[tokio::test(start_paused = true)]
async fn tools_of_one_host_may_share_a_breaker() {
    let (acts, asks) = acts(&["500"]);
    let keys = |scope: &str| {
        format!(
            "execution: {{ circuit_breaker: {{ failure_threshold: 4, cooldown: 10s, scope: {scope} }}, idempotent: true }}"
        )
    };
    let shared = keys("host");
    let own = keys("tool");
    let world = World::at_host(acts, "shop:80", &[("a", &shared), ("b", &shared), ("c", &own)]);
    for tool in ["a", "b", "a", "b"] {
        assert_eq!(code(&world.run(tool, json!({})).await), Some(Code::Upstream5xx));
    }
    assert_eq!(code(&world.run("a", json!({})).await), Some(Code::BreakerOpen));
    assert_eq!(code(&world.run("b", json!({})).await), Some(Code::BreakerOpen));
    assert_eq!(code(&world.run("c", json!({})).await), Some(Code::Upstream5xx));
    assert_eq!(asks.count(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_says_that_nothing_happened() {
    let (world, _) = opened(&["ok"]).await;
    let failure = world.run("t", json!({})).await.result.unwrap_err();
    assert_eq!((failure.effect, failure.is_retryable(false)), (Effect::None, true));
    assert_eq!(failure.for_model(false)["error"]["retry_after_ms"], 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_until_little_time_was_left_says_nothing_of_the_service() {
    let keys = "execution: { timeout: 4500ms, concurrency_limit: 1, \
                circuit_breaker: { failure_threshold: 1, cooldown: 10s } }";
    let (world, asks) = service(keys, &["slow"]);
    let reports = join_all((0..6).map(|_| world.run("t", json!({})))).await;
    assert_eq!(reports.iter().filter(|report| report.result.is_ok()).count(), 4);
    assert_eq!(world.snapshot.get("t").unwrap().guard.open_for(), None);
    assert!(asks.count() >= 4);
}

#[tokio::test(start_paused = true)]
async fn an_empty_breaker_has_the_usual_numbers() {
    let (world, asks) = service("execution: { circuit_breaker: {} }", &["500"]);
    for _ in 0..10 {
        world.run("t", json!({})).await;
    }
    assert_eq!(asks.count(), 5);
    assert_eq!(world.snapshot.get("t").unwrap().guard.open_for(), Some(Duration::from_secs(30)));
}
