//! Attempts after the first: which failures have one, when, and what is told of those that have not.

use std::time::Duration;

use contract::{Code, Effect, Failure};
use expect_test::expect;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;

use super::script::{service, whole};
use crate::Report;

/// With two retries at short and certain intervals.
const TWICE: &str = "retries: 2, retry_interval: 1ms, timeout: 10s";

async fn tried(keys: &str, says: &[&'static str]) -> (Report, usize) {
    let (world, asks) = service(&format!("execution: {{ {keys} }}"), says);
    let report = world.run("t", json!({})).await;
    assert_eq!(report.attempts as usize, asks.count());
    (report, asks.count())
}

fn failure(report: Report) -> Failure {
    report.result.expect_err("the call fails")
}

#[tokio::test(start_paused = true)]
async fn what_was_surely_not_carried_out_is_repeated_for_every_tool() {
    for says in ["connect", "408", "425", "429", "429 1", "503 1", "connecting"] {
        let (report, asked) = tried(TWICE, &[says, says, "ok"]).await;
        assert!(report.result.is_ok(), "{says}");
        assert_eq!(asked, 3, "{says}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_carried_out_is_repeated_only_where_that_does_no_harm() {
    for says in ["500", "502", "503", "504", "reset", "hang"] {
        let (report, asked) = tried(TWICE, &[says, "ok"]).await;
        assert_eq!(asked, 1, "{says}");
        assert_eq!(report.marks.last().map(String::as_str), Some("not retried: not marked idempotent"), "{says}");
        let failure = failure(report);
        assert!(failure.cause.for_operator().ends_with("not retried: not marked idempotent"), "{says}");
        assert_eq!(failure.effect, Effect::Unknown, "{says}");
        let (report, asked) = tried(&format!("{TWICE}, idempotent: true"), &[says, "ok"]).await;
        assert!(report.result.is_ok() && asked == 2, "{says}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_or_is_of_no_use_is_never_repeated() {
    for says in ["400", "401", "403", "404", "409", "422", "401 1", "odd", "says no", "busy", "input", "crash"] {
        let (report, asked) = tried(&format!("{TWICE}, idempotent: true"), &[says, "ok"]).await;
        assert!(report.result.is_err() && asked == 1, "{says}");
        assert_eq!(report.marks, [""; 0], "{says}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_retries_has_one_attempt_and_says_nothing_of_others() {
    let (report, asked) = tried("idempotent: true", &["500", "ok"]).await;
    assert_eq!((asked, report.marks.len()), (1, 0));
    assert!(failure(report).cause.is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_attempt_carries_the_same_key() {
    let (world, asks) = service(&format!("execution: {{ {TWICE} }}"), &["429", "503 1", "ok"]);
    assert!(world.run("t", json!({})).await.result.is_ok());
    let asked: Vec<_> = asks.all().into_iter().map(|ask| (ask.attempt, ask.key)).collect();
    assert_eq!(asked, [(1, "key".into()), (2, "key".into()), (3, "key".into())]);
}

#[tokio::test(start_paused = true)]
async fn what_a_service_asks_to_wait_is_waited_and_wins_over_the_back_off() {
    let keys = "execution: { retries: 1, retry_interval: 100ms, timeout: 10s }";
    for says in [["429 3", "ok"], ["503 3", "ok"], ["408 3", "ok"]] {
        let (world, asks) = service(keys, &says);
        assert!(world.run("t", json!({})).await.result.is_ok());
        let wait = asks.waits()[0];
        assert!((3_000..=3_101).contains(&wait.as_millis()), "{wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_does_not_fit_ends_the_call_at_once_and_says_when() {
    let (world, asks) = service("execution: { retries: 3, timeout: 5s, total_timeout: 20s }", &["429 60", "ok"]);
    let began = Instant::now();
    let report = world.run("t", json!({})).await;
    assert_eq!((began.elapsed(), asks.count()), (Duration::ZERO, 1));
    expect![[r#"
        rate_limited Unknown: the shop did not answer well in 1 | not retried: it could not end in time
          not retried: it could not end in time"#]]
    .assert_eq(&whole(&report));
    assert_eq!(failure(report).retry_after, Some(Duration::from_secs(60)));
}

#[tokio::test(start_paused = true)]
async fn twenty_that_are_told_to_wait_come_back_spread_out() {
    for says in [["429", "ok"], ["429 3", "ok"]] {
        let keys = "execution: { retries: 1, retry_interval: 10s, timeout: 30s, total_timeout: 60s }";
        // Each has a script of its own, so that each is refused once.
        let runs = (0..20).map(|_| async {
            let (world, asks) = service(keys, &says);
            assert!(world.run("t", json!({})).await.result.is_ok());
            asks.waits()[0]
        });
        let mut waits = join_all(runs).await;
        waits.sort_unstable();
        let different = waits.windows(2).filter(|pair| pair[0].as_millis() != pair[1].as_millis()).count();
        assert!(different >= 15, "{waits:?}");
        assert!(waits[19] - waits[0] >= Duration::from_secs(2), "{waits:?}");
        assert!(waits[19] <= Duration::from_secs(13));
    }
}

#[tokio::test(start_paused = true)]
async fn the_back_off_grows_and_has_a_bound() {
    let keys = "retries: 9, retry_interval: 10s, backoff_multiplier: 10, timeout: 5s, total_timeout: 290s";
    let (world, asks) = service(&format!("execution: {{ {keys}, idempotent: true }}"), &["500"]);
    let report = world.run("t", json!({})).await;
    assert_eq!(report.attempts, 10);
    let waits = asks.waits();
    assert!(waits[0] <= Duration::from_secs(10), "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= Duration::from_millis(30_001)), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_have_their_own_time_and_one_in_all() {
    let keys = "retries: 9, retry_interval: 1ms, timeout: 3s, total_timeout: 10s, idempotent: true";
    let (world, asks) = service(&format!("execution: {{ {keys} }}"), &["hang"]);
    let began = Instant::now();
    let report = world.run("t", json!({})).await;
    assert_eq!(asks.count(), 4);
    assert_eq!(began.elapsed().as_millis() / 10, 1_000, "the last one has what is left");
    assert_eq!(super::told(&report), "timeout Unknown: 't' did not answer within 10 s");
}

#[tokio::test(start_paused = true)]
async fn without_a_time_for_all_there_is_enough_for_each_attempt() {
    let (report, asked) = tried("retries: 2, timeout: 30s, idempotent: true", &["hang", "hang", "ok"]).await;
    assert!(report.result.is_ok());
    assert_eq!(asked, 3);
}

#[tokio::test(start_paused = true)]
async fn no_attempt_begins_when_the_turn_is_about_to_end() {
    let (world, asks) = service("execution: { retries: 5, timeout: 2s, idempotent: true }", &["hang"]);
    let began = Instant::now();
    let report = world.run_until("t", json!({}), began + Duration::from_millis(2_020)).await;
    assert_eq!(asks.count(), 1);
    assert!(began.elapsed() <= Duration::from_millis(2_020));
    assert_eq!(report.marks, ["not retried: it could not end in time"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_felt_while_a_call_waits_for_its_next_attempt() {
    let keys = "execution: { retries: 3, retry_interval: 20s, timeout: 60s }";
    for (says, expected) in [
        ("429 30", "cancelled None: 't' was stopped while it ran"),
        ("connect", "cancelled None: 't' was stopped while it ran"),
    ] {
        let (world, asks) = service(keys, &[says]);
        let stop = async {
            tokio::time::sleep(Duration::from_micros(10)).await;
            world.cancel.cancel();
        };
        let began = Instant::now();
        let (report, ()) = tokio::join!(world.run("t", json!({})), stop);
        assert!(began.elapsed() < Duration::from_millis(250));
        assert_eq!((super::told(&report).as_str(), asks.count()), (expected, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_which_an_earlier_attempt_may_have_taken_effect_says_so() {
    // The service is sent the key, so it may be asked again; but the tool is not to be repeated by itself.
    let keys =
        "endpoint: { method: POST, url: 'https://shop.test/', headers: { idempotency-key: \"{idempotency_key}\" } }";
    let spec = |says: &'static str| {
        let (acts, asks) = super::script::acts(&["hang", says]);
        (crate::testing::World::with_endpoint(acts, "t", &format!("{keys}\nexecution: {{ {TWICE} }}")), asks)
    };
    let mut out = String::new();
    for says in ["connect", "500", "429", "hang", "404", "409", "ok"] {
        let (world, asks) = spec(says);
        let report = world.run("t", json!({})).await;
        assert!(asks.count() > 1, "{says}");
        out += &format!("{says}: {}\n", super::told(&report));
    }
    expect![[r#"
        connect: outcome.unknown Unknown: the shop did not answer well; it may have taken effect (check before you ask for it again)
        500: outcome.unknown Unknown: the shop did not answer well; it may have taken effect (check before you ask for it again)
        429: outcome.unknown Unknown: the shop did not answer well; it may have taken effect (check before you ask for it again)
        hang: timeout Unknown: 't' did not answer within 10 s; it may have taken effect (check before you ask for it again)
        404: upstream.4xx Unknown: the shop did not answer well
        409: outcome.unknown Unknown: the shop did not answer well; it may have taken effect (check before you ask for it again)
        ok: ok "ok"
    "#]]
    .assert_eq(&out);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_before_anything_left_is_told_so() {
    let (report, asked) = tried("timeout: 2s", &["connecting"]).await;
    assert_eq!(asked, 1);
    assert_eq!(super::told(&report), "timeout None: 't' did not answer within 2 s; nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn attempts_stand_in_the_node_with_why_and_how_long() {
    let (report, _) = tried("retries: 2, retry_interval: 1ms, idempotent: true", &["503 2", "reset", "404"]).await;
    expect![[r#"
        attempt 1: upstream.5xx 503, again after 2000 ms
        attempt 2: upstream.broken, again after 0 ms"#]]
    .assert_eq(
        &report
            .marks
            .join(
                "
",
            )
            .replace(" 1 ms", " 0 ms")
            .replace("2001", "2000"),
    );
    assert_eq!((report.upstream_status, report.request.for_operator()), (Some(404), "POST /x"));
}

#[tokio::test(start_paused = true)]
async fn a_service_in_trouble_is_not_asked_much_more_than_it_is_called() {
    let keys = "execution: { retries: 5, retry_interval: 1ms, idempotent: true }";
    let (world, asks) = service(keys, &["500"]);
    let reports = join_all((0..1_000).map(|_| world.run("t", json!({})))).await;
    assert_eq!(asks.count(), 1_000 + 10 + 100, "one retry for ten calls, and ten anyway");
    let given_up = reports.iter().filter(|report| {
        report.marks.last().is_some_and(|mark| mark == "not retried: too many retries at this service already")
    });
    assert!(given_up.count() >= 890);
    // It recovers by itself.
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(world.run("t", json!({})).await.attempts, 6);
}

#[tokio::test(start_paused = true)]
async fn few_faults_are_made_up_for_by_retries() {
    let says: Vec<&'static str> = (0..20).map(|n| if n == 7 { "500" } else { "ok" }).collect();
    let mut failed = 0;
    for _ in 0..50 {
        let (world, _) = service("execution: { retries: 2, retry_interval: 1ms, idempotent: true }", &says);
        for _ in 0..19 {
            failed += usize::from(world.run("t", json!({})).await.result.is_err());
        }
    }
    assert_eq!(failed, 0);
}

#[tokio::test(start_paused = true)]
async fn more_retries_than_make_sense_are_refused() {
    let yaml = "name: t\ndescription: d\nendpoint: { type: native, name: t }\nexecution: { retries: 21 }\n";
    let parsed = crate::spec::parse("t.yaml", yaml);
    assert_eq!(parsed.errors[0].to_string(), "t.yaml:4:23: 'retries' is at most 20");
    let report = tried("retries: 20, retry_interval: 1ms, idempotent: true", &["500"]).await.0;
    assert_eq!(report.attempts, 11, "the service's budget for retries comes first");
    assert_eq!(failure(report).code, Code::Upstream5xx);
}
