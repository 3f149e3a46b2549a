//! How fast a bot may ask, and how long things stay good; the memory of who was told to wait.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::error::ApiError;
use crate::pace::{Bucket, IN_FLIGHT, MOST_SCOPES};

/// The pace that the platform allows and its clocks; a rate of zero means without limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Messages per second in one conversation, in the long run, and how many may come at once.
    pub message_per_second: f64,
    pub message_burst: f64,
    /// Requests per minute of one method, by its tier.
    pub tier1: f64,
    pub tier2: f64,
    pub tier3: f64,
    pub tier4: f64,
    /// Open sockets of one app.
    pub sockets: usize,
    /// Events per hour of one app.
    pub events_per_hour: u64,
    /// How long an app has for an acknowledgement.
    pub ack_seconds: f64,
    /// How often an event is tried in all.
    pub tries: u32,
    /// How long after a failed try an event comes again.
    pub retry_first: f64,
    pub retry_second: f64,
    pub retry_third: f64,
    /// How long a trigger opens a view.
    pub trigger_seconds: f64,
    /// How often and how long a response URL is good.
    pub response_uses: u32,
    pub response_seconds: f64,
    /// How long a bot may edit a message; zero is for ever.
    pub edit_seconds: f64,
    /// How long a stream may stand still before it is ended.
    pub stream_seconds: f64,
    /// How often a socket is pinged, and when it is replaced; zero is never.
    pub ping_seconds: f64,
    pub socket_seconds: f64,
    /// How long a socket lives after it was told that it will be closed.
    pub grace_seconds: f64,
    /// The most items of one answer of a history.
    pub history_page: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_per_second: 1.0,
            message_burst: 5.0,
            tier1: 1.0,
            tier2: 20.0,
            tier3: 50.0,
            tier4: 100.0,
            sockets: 10,
            events_per_hour: 30_000,
            ack_seconds: 3.0,
            tries: 4,
            retry_first: 0.0,
            retry_second: 60.0,
            retry_third: 300.0,
            trigger_seconds: 3.0,
            response_uses: 5,
            response_seconds: 1_800.0,
            edit_seconds: 0.0,
            stream_seconds: 300.0,
            ping_seconds: 10.0,
            socket_seconds: 0.0,
            grace_seconds: 10.0,
            history_page: 1_000,
        }
    }
}

impl Limits {
    /// No pace at all, for measurements; clocks stay.
    pub fn none() -> Self {
        Self {
            message_per_second: 0.0,
            tier1: 0.0,
            tier2: 0.0,
            tier3: 0.0,
            tier4: 0.0,
            events_per_hour: 0,
            ..Self::default()
        }
    }
}

/// What a method counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    One,
    Two,
    Three,
    Four,
    /// Messages: per conversation.
    Post,
    /// So generous that nothing is counted.
    Special,
}

/// Whom a wait concerns: a method of an app in a workspace, and for messages the conversation.
pub type Scope = (usize, usize, &'static str, Option<String>);

#[derive(Debug)]
struct Wait {
    since: Instant,
    until: Instant,
}

/// Counts what a bot asks and remembers the waits that it was given.
#[derive(Debug, Default)]
pub struct Meter {
    buckets: HashMap<Scope, Bucket>,
    waits: HashMap<Scope, Wait>,
}

/// How many requests of tier 1 may come at once, in minutes' worth.
const TIER1_BURST: f64 = 10.0;

impl Meter {
    /// Whether a request may pass; a refusal that follows an ignored wait names the broken rule.
    pub fn check(&mut self, limits: &Limits, scope: &Scope, tier: Tier, arrived: Instant) -> Result<(), ApiError> {
        let now = Instant::now();
        if let Some(wait) = self.waits.get(scope) {
            if now < wait.until {
                let error = ApiError::limited((wait.until - now).as_secs_f64().ceil() as u64);
                let ignored = arrived.saturating_duration_since(wait.since) > IN_FLIGHT;
                return Err(if ignored { error.as_rule("retry_after_ignored") } else { error });
            }
            self.waits.remove(scope);
        }
        let (rate, burst) = match tier {
            // "1+ per minute, a small amount of burst behaviour is tolerated": enough to open every socket that one may have.
            Tier::One => (limits.tier1 / 60.0, limits.tier1 * TIER1_BURST),
            Tier::Two => (limits.tier2 / 60.0, limits.tier2),
            Tier::Three => (limits.tier3 / 60.0, limits.tier3),
            Tier::Four => (limits.tier4 / 60.0, limits.tier4),
            Tier::Post => (limits.message_per_second, limits.message_burst),
            Tier::Special => (0.0, 0.0),
        };
        if rate <= 0.0 {
            return Ok(());
        }
        if self.buckets.len() > MOST_SCOPES {
            self.buckets.clear();
        }
        let fresh = Bucket::full(burst, now);
        let wait = self.buckets.entry(scope.clone()).or_insert(fresh).take(rate, burst, now);
        if wait <= 0.0 { Ok(()) } else { Err(self.hold(scope, wait)) }
    }

    /// Makes a bot wait.
    pub fn hold(&mut self, scope: &Scope, seconds: f64) -> ApiError {
        let now = Instant::now();
        let whole = seconds.ceil().clamp(1.0, 1e8);
        if self.waits.len() > MOST_SCOPES {
            self.waits.retain(|_, old| old.until > now);
        }
        self.waits.insert(scope.clone(), Wait { since: now, until: now + Duration::from_secs_f64(whole) });
        ApiError::limited(whole as u64)
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_then_the_pace_holds_and_an_ignored_wait_is_a_violation() {
        let (mut meter, limits) = (Meter::default(), Limits { message_burst: 2.0, ..Limits::default() });
        let scope = (0, 0, "chat.postMessage", Some("C1".to_owned()));
        let mut send = || meter.check(&limits, &scope, Tier::Post, Instant::now());
        assert_eq!((send(), send()), (Ok(()), Ok(())));
        assert_eq!(send(), Err(ApiError::limited(1)));
        assert_eq!(send().expect_err("refused").rule, None, "it may have been under way");
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(send().expect_err("refused").rule, Some("retry_after_ignored"));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(send(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn methods_and_conversations_wait_apart() {
        let (mut meter, limits) = (Meter::default(), Limits::default());
        let one = (0, 0, "chat.postMessage", Some("C1".to_owned()));
        assert_eq!(meter.hold(&one, 33.0), ApiError::limited(33));
        for other in [
            (0, 0, "chat.postMessage", Some("C2".to_owned())),
            (0, 0, "chat.update", None),
            (1, 0, "chat.postMessage", Some("C1".to_owned())),
        ] {
            assert_eq!(meter.check(&limits, &other, Tier::Three, Instant::now()), Ok(()));
        }
    }
}
