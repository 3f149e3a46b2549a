//! A service whose answers a test writes down.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{Effect, Private};
use tokio::time::Instant;

use crate::{
    Fault, Output, Report, ToolFailure,
    endpoint::Notes,
    testing::{Acts, World},
};

/// What it was asked: when, which attempt, under which key.
#[derive(Debug, Clone)]
pub struct Ask {
    pub at: Instant,
    pub attempt: u32,
    pub key: String,
}

/// What the service was asked, in order.
#[derive(Clone, Default)]
pub struct Asks(Arc<Mutex<Vec<Ask>>>);

impl Asks {
    pub fn all(&self) -> Vec<Ask> {
        self.0.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The time between an ask and the one before it.
    pub fn waits(&self) -> Vec<Duration> {
        self.all().windows(2).map(|pair| pair[1].at - pair[0].at).collect()
    }
}

/// A tool `t` of the given keys whose service says one word after the other, and the last one for ever.
pub fn service(keys: &str, says: &[&'static str]) -> (Arc<World>, Asks) {
    let (acts, asks) = acts(says);
    (World::new(acts, &[("t", keys)]), asks)
}

pub fn acts(says: &[&'static str]) -> (Acts, Asks) {
    let (asks, says) = (Asks::default(), says.to_vec());
    let seen = asks.clone();
    let acts = Acts::default().with("t", move |_, cx| {
        let mut all = seen.0.lock().unwrap();
        let word = says[all.len().min(says.len() - 1)];
        all.push(Ask { at: Instant::now(), attempt: cx.attempt, key: cx.idempotency_key.to_owned() });
        let connecting = word == "connecting";
        note(cx.notes, word);
        async move {
            match word {
                "hang" => pending().await,
                _ if connecting => pending().await,
                "slow" => tokio::time::sleep(Duration::from_secs(1)).await,
                _ => {}
            }
            answer(word)
        }
    });
    (acts, asks)
}

fn note(notes: &Notes, word: &str) {
    if word == "connecting" {
        drop(notes.leaves());
    }
    notes.effect(Effect::Unknown);
    notes.request(Private::new("POST /x"));
}

/// `ok`, `connect`, `reset`, `odd`, `says no`, `input`, or a status and how long it asks to wait: `429 3`.
fn answer(word: &str) -> Result<Output, ToolFailure> {
    let fails = |fault| Err(ToolFailure::new(fault, "the shop did not answer well"));
    match word {
        "ok" | "slow" => Ok(Output::Done("ok".into())),
        "connect" => fails(Fault::Unreachable),
        "reset" => fails(Fault::Broken),
        "odd" => fails(Fault::Unusable),
        "says no" => fails(Fault::Reported),
        "busy" => fails(Fault::Busy),
        "input" => Err(ToolFailure::input_refused("no such article", Vec::new())),
        "crash" => panic!("at the shop"),
        _ => {
            let (status, wait) = word.split_once(' ').map_or((word, None), |(status, wait)| (status, Some(wait)));
            let status = status.parse().unwrap();
            let fault = match status {
                429 => Fault::RateLimited,
                500.. => Fault::Failed,
                _ => Fault::Refused,
            };
            let failure = ToolFailure::new(fault, "the shop did not answer well").status(status);
            Err(match wait {
                Some(wait) => failure.retry_after(Duration::from_secs(wait.parse().unwrap())),
                None => failure,
            })
        }
    }
}

/// How a call went, with all that its node says.
pub fn whole(report: &Report) -> String {
    let cause = report.result.as_ref().err().map(|failure| failure.cause.for_operator()).unwrap_or_default();
    let marks: Vec<_> = report.marks.iter().map(|mark| format!("\n  {mark}")).collect();
    let cause = if cause.is_empty() { String::new() } else { format!(" | {cause}") };
    format!("{} in {}{cause}{}", super::told(report), report.attempts, marks.concat())
}
