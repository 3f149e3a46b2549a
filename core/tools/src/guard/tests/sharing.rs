//! What calls of a tool share: its rate, its places among tenants, its service, and all of it over a reload.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{Code, Failure};
use expect_test::expect;
use futures_util::{FutureExt, future::join_all};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::script::{acts, service, whole};
use crate::{
    Output, Registry,
    testing::{Acts, World},
};

#[tokio::test(start_paused = true)]
async fn a_rate_lets_its_count_through_at_once_and_then_one_after_the_other() {
    let (world, asks) = service("execution: { rate_limit: 5/s, timeout: 30s }", &["ok"]);
    let reports = join_all((0..20).map(|_| world.run("t", json!({})))).await;
    assert!(reports.iter().all(|report| report.result.is_ok()));
    let began = asks.all()[0].at;
    let at: Vec<_> = asks.all().iter().map(|ask| (ask.at - began).as_millis()).collect();
    assert_eq!(&at[..7], [0_u128, 0, 0, 0, 0, 200, 400]);
    assert_eq!(at[19], 3_000);
    let mut queued: Vec<_> = reports.iter().map(|report| report.queued.as_millis()).collect();
    queued.sort_unstable();
    assert_eq!((queued[0], queued[19]), (0, 3_000));
}

#[tokio::test(start_paused = true)]
async fn what_comes_too_late_for_its_rate_is_told_at_once_when_to_come_again() {
    let (world, asks) = service("execution: { rate_limit: 1/m, timeout: 10s }", &["ok"]);
    assert!(world.run("t", json!({})).await.result.is_ok());
    let began = Instant::now();
    let report = world.run("t", json!({})).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    expect!["rate_limited None: 't' is asked too often; it can be asked again in 60 s in 0 | the tool's own rate limit; nothing was sent"]
    .assert_eq(&whole(&report));
    assert_eq!(asks.count(), 1);
    // Who was refused took nothing.
    sleep(Duration::from_secs(60)).await;
    assert!(world.run("t", json!({})).await.result.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_stopped_while_it_waits_for_its_rate_gives_the_token_back() {
    let (world, _) = service("execution: { rate_limit: 1/s, timeout: 30s }", &["ok"]);
    assert!(world.run("t", json!({})).await.result.is_ok());
    for _ in 0..10 {
        let mut waiting = Box::pin(world.run("t", json!({})));
        assert!((&mut waiting).now_or_never().is_none());
    }
    let began = Instant::now();
    assert!(world.run("t", json!({})).await.result.is_ok());
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn every_attempt_takes_a_token() {
    let keys = "execution: { rate_limit: 1/s, retries: 2, retry_interval: 1ms, timeout: 30s, idempotent: true }";
    let (world, asks) = service(keys, &["500", "500", "ok"]);
    assert!(world.run("t", json!({})).await.result.is_ok());
    assert_eq!(asks.all()[2].at - asks.all()[0].at, Duration::from_secs(2));
}

/// Who began when.
type Log = Arc<Mutex<Vec<(Instant, String)>>>;

/// Who began in each second, sorted.
fn rounds(log: &Log) -> Vec<String> {
    let log = log.lock().unwrap();
    let mut rounds: Vec<Vec<&str>> = Vec::new();
    for (at, tenant) in log.iter() {
        let round = usize::try_from((*at - log[0].0).as_secs()).unwrap();
        rounds.resize(rounds.len().max(round + 1), Vec::new());
        rounds[round].push(tenant);
    }
    rounds.iter_mut().for_each(|round| round.sort_unstable());
    rounds.into_iter().map(|round| round.join(" ")).collect()
}

/// One call takes a second; who began is written down.
fn second(log: &Log) -> Acts {
    let log = log.clone();
    Acts::default().with("t", move |_, cx| {
        log.lock().unwrap().push((Instant::now(), cx.caller.tenant.clone()));
        async {
            sleep(Duration::from_secs(1)).await;
            Ok(Output::Done(Value::Null))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_tenant_with_many_calls_does_not_keep_out_another_with_one() {
    let log = Log::default();
    let world = World::new(second(&log), &[("t", "execution: { concurrency_limit: 4, timeout: 60s }")]);
    let many = join_all((0..40).map(|_| world.run_as("many", "t", json!({}))));
    let few = async {
        sleep(Duration::from_millis(500)).await;
        let began = Instant::now();
        let reports = join_all((0..2).map(|_| world.run_as("few", "t", json!({})))).await;
        assert!(reports.iter().all(|report| report.result.is_ok()));
        began.elapsed()
    };
    let (many, took) = tokio::join!(many, few);
    assert_eq!(took, Duration::from_millis(1_500), "both begin as soon as places are free");
    assert!(many.iter().all(|report| report.result.is_ok()));
    assert_eq!(rounds(&log)[..2], ["many many many many", "few few many many"]);
}

#[tokio::test(start_paused = true)]
async fn tenants_that_all_wait_have_as_many_places_each() {
    let log = Log::default();
    let world = World::new(second(&log), &[("t", "execution: { concurrency_limit: 6, timeout: 60s }")]);
    let runs = ["a", "b", "c"].map(|tenant| join_all((0..20).map(|_| world.run_as(tenant, "t", json!({})))));
    join_all(runs).await;
    let rounds = rounds(&log);
    assert!(rounds[1..8].iter().all(|round| round == "a a b b c c"), "{rounds:?}");
}

#[tokio::test(start_paused = true)]
async fn one_tenant_alone_may_have_all_places() {
    let log = Log::default();
    let world = World::new(second(&log), &[("t", "execution: { concurrency_limit: 4 }")]);
    let began = Instant::now();
    join_all((0..8).map(|_| world.run_as("only", "t", json!({})))).await;
    assert_eq!(began.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_full_line_makes_room_for_whoever_has_less_in_it() {
    let log = Log::default();
    let world = World::new(second(&log), &[("t", "execution: { concurrency_limit: 1, timeout: 200s }")]);
    let many = join_all((0..65).map(|_| world.run_as("many", "t", json!({}))));
    let few = async {
        sleep(Duration::from_millis(1)).await;
        world.run_as("few", "t", json!({})).await
    };
    let (many, few) = tokio::join!(many, few);
    assert!(few.result.is_ok());
    let busy: Vec<_> = many.iter().filter_map(|report| report.result.as_ref().err()).map(|f| f.code).collect();
    assert_eq!(busy, [Code::Busy], "its newest call made room");
    assert_eq!(rounds(&log)[..3], ["many", "many", "few"]);
    let guard = &world.snapshot.get("t").unwrap().guard;
    assert_eq!((guard.running(), guard.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn tools_of_one_host_share_their_budget_of_retries() {
    let (acts, asks) = acts(&["500"]);
    let keys = "execution: { retries: 9, retry_interval: 1ms, idempotent: true }";
    let world = World::at_host(acts, "shop:80", &[("a", keys), ("b", keys)]);
    assert_eq!(world.run("a", json!({})).await.attempts, 10);
    assert_eq!(world.run("b", json!({})).await.attempts, 2);
    assert_eq!(asks.count(), 12);
}

fn load(registry: &Registry, execution: &str, more: &str) -> Arc<World> {
    let yaml = format!(
        "name: t\ndescription: d {more}\nendpoint: {{ type: native, name: t }}\nexecution: {{ {execution} }}\n"
    );
    let loaded = registry.load_with(&[], &[("t.yaml", &yaml)]);
    assert_eq!(loaded.errors, []);
    World::of(loaded.snapshot)
}

async fn failure(world: &World) -> Option<Failure> {
    world.run("t", json!({})).await.result.err()
}

#[tokio::test(start_paused = true)]
async fn what_is_known_of_a_service_survives_a_reload_that_asks_for_the_same() {
    let (acts, asks) = acts(&["500", "500", "ok"]);
    let registry = Registry::new(Arc::new(acts));
    let breaker = "idempotent: true, circuit_breaker: { failure_threshold: 2, cooldown: 1h }";
    let world = load(&registry, breaker, "");
    failure(&world).await;
    let world = load(&registry, breaker, "in other words");
    failure(&world).await;
    let world = load(&registry, &format!("{breaker}, timeout: 7s, concurrency_limit: 3"), "in other words");
    assert_eq!(failure(&world).await.map(|f| f.code), Some(Code::BreakerOpen), "its own numbers are the same");
    assert_eq!(asks.count(), 2);
    let world = load(&registry, "idempotent: true, circuit_breaker: { failure_threshold: 3, cooldown: 1h }", "");
    assert!(failure(&world).await.is_none(), "with other numbers it begins anew");
}

#[tokio::test(start_paused = true)]
async fn a_rate_survives_a_reload_that_asks_for_the_same() {
    let (acts, _) = acts(&["ok"]);
    let registry = Registry::new(Arc::new(acts));
    let rate = "rate_limit: 1/m, timeout: 5s";
    assert!(failure(&load(&registry, rate, "")).await.is_none());
    let limited = failure(&load(&registry, rate, "again")).await;
    assert_eq!(limited.map(|f| f.code), Some(Code::RateLimited));
    assert!(failure(&load(&registry, "rate_limit: 2/m, timeout: 5s", "")).await.is_none());
}
