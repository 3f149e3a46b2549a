//! Calls whose work goes on elsewhere.

use super::*;
use crate::{Polled, testing::Jobs};

const KEYS: &str = "execution: { timeout: 5s, concurrency_limit: 1, async: { poll: { url: 'http://a.test/{id}', interval: 2s }, \
                    done: \"/a == 1\", timeout: 60s } }";

type Answer = Result<Polled, ToolFailure>;

fn at_work() -> Answer {
    Ok(Polled::Waits { said: None, after: None })
}

fn world<F: Fn(usize) -> Answer + Send + Sync + 'static>(stands: F) -> (Arc<World>, Arc<Jobs<F>>) {
    let jobs = Jobs::new(stands);
    let mut acts = Acts::default();
    acts.0.insert("t".to_owned(), jobs.clone());
    (World::new(acts, &[("t", KEYS)]), jobs)
}

#[tokio::test(start_paused = true)]
async fn a_job_is_asked_about_less_often_until_it_is_done() {
    let (world, jobs) = world(|n| if n < 4 { at_work() } else { Ok(Polled::Done(json!({ "rows": 7 }))) });
    let began = Instant::now();
    let report = world.run("t", json!({})).await;
    assert_eq!(report.result.unwrap(), json!({ "rows": 7 }));
    let took = began.elapsed().as_millis();
    // 2 s, then a quarter more each time.
    assert!((11_520..11_600).contains(&took), "{took}");
    assert_eq!(jobs.asked.load(Ordering::SeqCst), 4);
    assert_eq!(report.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_out_and_what_a_service_asks_for_is_obeyed() {
    let (world, _) = world(|n| match n {
        1 => Err(ToolFailure::new(Fault::Unreachable, "no")),
        2 => Err(ToolFailure::new(Fault::RateLimited, "no").retry_after(Duration::from_secs(20))),
        3 => Ok(Polled::Waits { said: None, after: Some(Duration::from_secs(15)) }),
        _ => Ok(Polled::Done(json!(1))),
    });
    let began = Instant::now();
    assert_eq!(world.run("t", json!({})).await.result.unwrap(), json!(1));
    let took = began.elapsed().as_millis();
    assert!((39_500..39_600).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_knows_any_more_is_not_known_to_have_had_no_effect() {
    let (world, jobs) = world(|_| Err(ToolFailure::new(Fault::Refused, "no").status(404)));
    let failure = world.run("t", json!({})).await.result.unwrap_err();
    assert_eq!((failure.code, failure.effect), (Code::OutcomeUnknown, Effect::Unknown));
    assert_eq!(jobs.asked.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_or_is_stopped_is_called_off_and_may_have_taken_effect() {
    let (world, jobs) = world(|_| at_work());
    let began = Instant::now();
    let failure = world.run("t", json!({})).await.result.unwrap_err();
    assert_eq!((failure.code, failure.effect), (Code::Timeout, Effect::Unknown));
    assert_eq!(failure.say.as_str(), "'t' did not answer within 60 s; it may have taken effect");
    assert_eq!((began.elapsed().as_secs(), jobs.given_up.load(Ordering::SeqCst)), (60, 1));

    let stopped = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        world.cancel.cancel();
    };
    let (report, ()) = tokio::join!(world.run("t", json!({})), stopped);
    let failure = report.result.unwrap_err();
    assert_eq!((failure.code, failure.effect), (Code::Cancelled, Effect::Unknown));
    assert_eq!(jobs.given_up.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_holds_nobodys_place() {
    let (world, _) = world(|n| if n < 6 { at_work() } else { Ok(Polled::Done(json!(n))) });
    let (a, b) = tokio::join!(world.run("t", json!({})), world.run("t", json!({})));
    assert!(a.result.is_ok() && b.result.is_ok());
}
