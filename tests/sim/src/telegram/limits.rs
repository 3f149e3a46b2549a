//! How fast a bot may send: a bucket per chat and one overall, and the memory of who was told to wait.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::error::ApiError;
use crate::pace::{Bucket, IN_FLIGHT, MOST_SCOPES};

/// The pace that the platform allows; a rate of zero means without limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Messages per second in one chat, in the long run.
    pub chat_per_second: f64,
    /// How many may come at once in one chat.
    pub chat_burst: f64,
    /// Messages per minute in a group; the platform documents 20, which a person who tries things out meets at once.
    pub group_per_minute: f64,
    /// Messages per second over all chats.
    pub overall_per_second: f64,
    pub overall_burst: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            chat_per_second: 1.0,
            chat_burst: 20.0,
            group_per_minute: 60.0,
            overall_per_second: 30.0,
            overall_burst: 60.0,
        }
    }
}

impl Limits {
    /// No limits at all, for measurements.
    pub fn none() -> Self {
        Self {
            chat_per_second: 0.0,
            chat_burst: 0.0,
            group_per_minute: 0.0,
            overall_per_second: 0.0,
            overall_burst: 0.0,
        }
    }
}

/// Whom a wait concerns: one chat of a bot, or all that the bot sends.
pub type Scope = (i64, Option<i64>);

#[derive(Debug)]
struct Wait {
    since: Instant,
    until: Instant,
    method: Option<String>,
}

/// What of a request decides whether it may pass now.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    pub bot: i64,
    pub chat: Option<i64>,
    pub method: &'a str,
    /// Whether it counts against the pace.
    pub counted: bool,
    /// When it came; a delay that was ordered may lie between then and now.
    pub arrived: Instant,
}

/// Counts what a bot sends and remembers the waits that it was given.
#[derive(Debug, Default)]
pub struct Meter {
    buckets: HashMap<Scope, Bucket>,
    waits: HashMap<Scope, Wait>,
}

impl Meter {
    /// Whether a request may pass; a refusal that follows an ignored wait names the broken rule.
    pub fn check(&mut self, limits: &Limits, passing: Passing<'_>) -> Result<(), ApiError> {
        let now = Instant::now();
        let Passing { bot, chat, .. } = passing;
        for scope in [(bot, None), (bot, chat)] {
            self.check_wait(scope, passing, now)?;
        }
        if !passing.counted {
            return Ok(());
        }
        let overall = self.bucket((bot, None), limits.overall_burst, now).take(
            limits.overall_per_second,
            limits.overall_burst,
            now,
        );
        self.refuse(overall, (bot, None), now)?;
        let Some(id) = chat else { return Ok(()) };
        let group =
            if id < 0 && limits.group_per_minute > 0.0 { limits.group_per_minute / 60.0 } else { f64::INFINITY };
        let rate = if limits.chat_per_second > 0.0 {
            limits.chat_per_second.min(group)
        } else if group.is_finite() {
            group
        } else {
            0.0
        };
        let wait = self.bucket((bot, chat), limits.chat_burst, now).take(rate, limits.chat_burst, now);
        self.refuse(wait, (bot, chat), now)
    }

    /// Makes a bot wait because somebody wants to see how it does.
    pub fn hold(&mut self, scope: Scope, seconds: f64, method: Option<String>) -> ApiError {
        let now = Instant::now();
        let whole = seconds.ceil().clamp(1.0, 1e8);
        self.wait(scope, Wait { since: now, until: now + Duration::from_secs_f64(whole), method });
        ApiError::too_many(whole as u64)
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn check_wait(&mut self, scope: Scope, passing: Passing<'_>, now: Instant) -> Result<(), ApiError> {
        let Some(wait) = self.waits.get(&scope) else { return Ok(()) };
        if now >= wait.until {
            self.waits.remove(&scope);
            return Ok(());
        }
        let concerned = match &wait.method {
            Some(only) => only.eq_ignore_ascii_case(passing.method),
            None => passing.counted,
        };
        if !concerned {
            return Ok(());
        }
        let error = ApiError::too_many((wait.until - now).as_secs_f64().ceil() as u64);
        Err(if passing.arrived.saturating_duration_since(wait.since) > IN_FLIGHT {
            error.as_rule("retry_after_ignored")
        } else {
            error
        })
    }

    fn wait(&mut self, scope: Scope, wait: Wait) {
        if self.waits.len() > MOST_SCOPES {
            self.waits.retain(|_, old| old.until > wait.since);
        }
        self.waits.insert(scope, wait);
    }

    fn bucket(&mut self, scope: Scope, burst: f64, now: Instant) -> &mut Bucket {
        if self.buckets.len() > MOST_SCOPES {
            self.buckets.clear();
        }
        self.buckets.entry(scope).or_insert(Bucket::full(burst, now))
    }

    fn refuse(&mut self, wait: f64, scope: Scope, now: Instant) -> Result<(), ApiError> {
        if wait <= 0.0 {
            return Ok(());
        }
        let whole = wait.ceil().clamp(1.0, 1e8);
        self.wait(scope, Wait { since: now, until: now + Duration::from_secs_f64(whole), method: None });
        Err(ApiError::too_many(whole as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(chat: i64, method: &str, counted: bool) -> Passing<'_> {
        Passing { bot: 1, chat: Some(chat), method, counted, arrived: Instant::now() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_then_the_pace_holds_and_an_ignored_wait_is_a_violation() {
        let (mut meter, limits) = (Meter::default(), Limits { chat_burst: 2.0, ..Limits::default() });
        let mut send = || meter.check(&limits, passing(5, "sendMessage", true));
        assert_eq!(send(), Ok(()));
        assert_eq!(send(), Ok(()));
        assert_eq!(send(), Err(ApiError::too_many(1)));
        assert_eq!(send().expect_err("refused").rule, None, "it may have been under way");
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(send().expect_err("refused").rule, Some("retry_after_ignored"));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(send(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_of_one_chat_does_not_hold_another() {
        let (mut meter, limits) = (Meter::default(), Limits::default());
        assert_eq!(meter.hold((1, Some(5)), 33.0, None), ApiError::too_many(33));
        assert_eq!(meter.check(&limits, passing(6, "sendMessage", true)), Ok(()));
        assert_eq!(meter.check(&limits, passing(5, "sendChatAction", false)), Ok(()));
        assert!(meter.check(&limits, passing(5, "editMessageText", true)).is_err());
        tokio::time::advance(Duration::from_secs(33)).await;
        assert_eq!(meter.check(&limits, passing(5, "sendMessage", true)), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn without_limits_everything_passes() {
        let mut meter = Meter::default();
        for _ in 0..1_000 {
            assert_eq!(meter.check(&Limits::none(), passing(-5, "sendMessage", true)), Ok(()));
        }
    }
}
