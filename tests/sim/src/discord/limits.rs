//! The paces that the platform allows, and the meters that watch them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::error::{ApiError, Scope};

/// What the platform allows; zero is without limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests to one route of one channel in `route_seconds`.
    pub route_requests: u32,
    pub route_seconds: f64,
    /// Reactions in one channel go one by one, so far apart.
    pub reaction_seconds: f64,
    pub global_per_second: u32,
    /// Answers 401, 403 and 429 in ten minutes, before everything is refused.
    pub invalid_per_ten_minutes: u32,
    /// What a client may send over one socket.
    pub gateway_per_minute: u32,
    pub identifies_per_day: u32,
    pub max_concurrency: u32,
    pub identify_seconds: f64,
    pub heartbeat_ms: u64,
    /// How long a session without a connection can be resumed, and how many events it keeps.
    pub resume_seconds: f64,
    pub replay: usize,
    /// Fewer shards are refused.
    pub shards: u32,
    /// How long an interaction may wait for its first answer, and how long its token holds.
    pub interaction_seconds: f64,
    pub token_seconds: f64,
    pub upload_bytes: usize,
    pub commands_per_day: u32,
    /// How long a nonce is remembered.
    pub nonce_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            route_requests: 5,
            route_seconds: 5.0,
            reaction_seconds: 0.25,
            global_per_second: 50,
            invalid_per_ten_minutes: 10_000,
            gateway_per_minute: 120,
            identifies_per_day: 1_000,
            max_concurrency: 1,
            identify_seconds: 5.0,
            heartbeat_ms: 41_250,
            resume_seconds: 180.0,
            replay: 10_000,
            shards: 1,
            interaction_seconds: 3.0,
            token_seconds: 900.0,
            upload_bytes: 10 * 1024 * 1024,
            commands_per_day: 200,
            nonce_seconds: 180.0,
        }
    }
}

impl Limits {
    /// Without any pace; sizes, deadlines and the heartbeat stay.
    pub fn none() -> Self {
        Self {
            route_requests: 0,
            reaction_seconds: 0.0,
            global_per_second: 0,
            invalid_per_ten_minutes: 0,
            gateway_per_minute: 0,
            identifies_per_day: 0,
            identify_seconds: 0.0,
            commands_per_day: 0,
            ..Self::default()
        }
    }
}

pub fn seconds(of: f64) -> Duration {
    Duration::try_from_secs_f64(of.clamp(0.0, 1e6)).unwrap_or_default()
}

/// How a bucket of requests stands after one more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub limit: u32,
    pub remaining: u32,
    pub after: f64,
}

#[derive(Debug)]
struct Window {
    limit: u32,
    left: u32,
    reset: Instant,
    /// A bot was told to wait until `reset`.
    told: bool,
    scope: Scope,
}

/// One request as the meters see it.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    pub bot: u64,
    /// The route's name and the channel, guild or webhook that it concerns.
    pub route: &'a str,
    pub major: u64,
    pub reaction: bool,
    /// Answers to interactions are outside the limit that goes over all requests.
    pub free: bool,
}

/// Most buckets that are remembered; those that are over go first.
const MOST_WINDOWS: usize = 10_000;

/// What was asked lately.
#[derive(Debug, Default)]
pub struct Meter {
    windows: HashMap<(u64, String, u64), Window>,
    seconds: HashMap<u64, VecDeque<Instant>>,
    global: Option<(Instant, bool)>,
    invalid: VecDeque<Instant>,
    identified: HashMap<(u64, u64), Instant>,
}

impl Meter {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Lets a request pass or says how long it has to wait.
    pub fn check(&mut self, limits: &Limits, passing: Passing<'_>) -> Result<Option<Level>, ApiError> {
        self.banned(limits)?;
        let now = Instant::now();
        if let Some((until, told)) = self.global.filter(|(until, _)| now < *until && !passing.free) {
            self.global = Some((until, true));
            return Err(wait(until - now, Scope::Global, told));
        }
        self.second(limits, passing, now)?;
        self.bucket(limits, passing, now)
    }

    /// Whether enough time has passed since the last identify of a bot's concurrency key.
    pub fn identify(&mut self, key: (u64, u64), pause: Duration) -> bool {
        let free = self.identified.get(&key).is_none_or(|at| at.elapsed() >= pause);
        if free {
            self.identified.insert(key, Instant::now());
        }
        free
    }

    fn banned(&mut self, limits: &Limits) -> Result<(), ApiError> {
        let now = Instant::now();
        while self.invalid.front().is_some_and(|at| now - *at > Duration::from_secs(600)) {
            self.invalid.pop_front();
        }
        if limits.invalid_per_ten_minutes == 0 || self.invalid.len() < limits.invalid_per_ten_minutes as usize {
            return Ok(());
        }
        let error = ApiError::new(
            403,
            40_333,
            "Cloudflare is blocking your request. This can often be resolved by setting a proper User Agent",
        );
        Err(error.as_rule("invalid_requests"))
    }

    /// Counts an answer that a bot should not provoke often.
    pub fn invalid(&mut self) {
        if self.invalid.len() == 100_000 {
            self.invalid.pop_front();
        }
        self.invalid.push_back(Instant::now());
    }

    fn second(&mut self, limits: &Limits, passing: Passing<'_>, now: Instant) -> Result<(), ApiError> {
        if limits.global_per_second == 0 || passing.free {
            return Ok(());
        }
        let asked = self.seconds.entry(passing.bot).or_default();
        while asked.front().is_some_and(|at| now - *at >= Duration::from_secs(1)) {
            asked.pop_front();
        }
        if asked.len() >= limits.global_per_second as usize {
            let first = asked.front().copied().unwrap_or(now);
            return Err(wait(first + Duration::from_secs(1) - now, Scope::Global, true));
        }
        asked.push_back(now);
        Ok(())
    }

    fn bucket(&mut self, limits: &Limits, passing: Passing<'_>, now: Instant) -> Result<Option<Level>, ApiError> {
        let (limit, span) = match passing.reaction {
            true => (u32::from(limits.reaction_seconds > 0.0), limits.reaction_seconds),
            false => (limits.route_requests, limits.route_seconds),
        };
        let key = (passing.bot, passing.route.to_owned(), passing.major);
        if self.windows.get(&key).is_some_and(|window| window.reset <= now) {
            self.windows.remove(&key);
        }
        if let Some(window) = self.windows.get_mut(&key) {
            if window.left == 0 {
                let told = std::mem::replace(&mut window.told, true);
                return Err(wait(window.reset - now, window.scope, told));
            }
            window.left -= 1;
            let after = (window.reset - now).as_secs_f64();
            return Ok(Some(Level { limit: window.limit, remaining: window.left, after }));
        }
        if limit == 0 || passing.free {
            return Ok(None);
        }
        self.open(key, Window { limit, left: limit - 1, reset: now + seconds(span), told: false, scope: Scope::User });
        Ok(Some(Level { limit, remaining: limit - 1, after: span }))
    }

    fn open(&mut self, key: (u64, String, u64), window: Window) {
        if self.windows.len() >= MOST_WINDOWS {
            let now = Instant::now();
            self.windows.retain(|_, window| window.reset > now);
        }
        if self.windows.len() < MOST_WINDOWS {
            self.windows.insert(key, window);
        }
    }

    /// Shuts a bucket for a time, as somebody ordered, and gives the refusal.
    pub fn hold(&mut self, passing: Passing<'_>, time: f64, scope: Scope) -> ApiError {
        let until = Instant::now() + seconds(time);
        if scope == Scope::Global {
            self.global = Some((until, true));
        } else {
            let key = (passing.bot, passing.route.to_owned(), passing.major);
            self.windows.remove(&key);
            self.open(key, Window { limit: 5, left: 0, reset: until, told: true, scope });
        }
        ApiError::too_many(time, scope)
    }
}

/// The refusal of a request that comes too early; a bot that was told before broke a rule.
fn wait(time: Duration, scope: Scope, told: bool) -> ApiError {
    // Thousandths, rounded up, so that whoever waits so long has waited long enough.
    let time = (time.as_secs_f64() * 1_000.0).ceil() / 1_000.0;
    let error = ApiError::too_many(time, scope);
    if told { error.as_rule("rate_limit") } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Passing<'static> =
        Passing { bot: 1, route: "POST channels/{channel}/messages", major: 5, reaction: false, free: false };

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_and_fills_at_its_reset() {
        let (limits, mut meter) = (Limits::default(), Meter::default());
        for left in (0..5).rev() {
            let level = meter.check(&limits, SEND).expect("within the pace").expect("a bucket");
            assert_eq!((level.limit, level.remaining), (5, left));
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        let first = meter.check(&limits, SEND).expect_err("too many");
        assert_eq!((first.wait.map(|wait| wait.seconds), first.rule), (Some(3.0), None));
        assert_eq!(meter.check(&limits, SEND).expect_err("told").rule, Some("rate_limit"));
        assert!(meter.check(&limits, Passing { major: 6, ..SEND }).is_ok(), "another channel has its own");
        tokio::time::advance(Duration::from_secs(3)).await;
        assert!(meter.check(&limits, SEND).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn all_requests_together_are_bounded_but_for_answers_to_interactions() {
        let (limits, mut meter) = (Limits::default(), Meter::default());
        for major in 0..50 {
            meter.check(&limits, Passing { major, ..SEND }).expect("within the pace");
        }
        let error = meter.check(&limits, Passing { major: 99, ..SEND }).expect_err("too many");
        assert_eq!(error.wait.map(|wait| wait.scope), Some(Scope::Global));
        assert!(meter.check(&limits, Passing { free: true, ..SEND }).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_invalid_requests_shut_everything_for_ten_minutes() {
        let (limits, mut meter) = (Limits { invalid_per_ten_minutes: 3, ..Limits::none() }, Meter::default());
        (0..3).for_each(|_| meter.invalid());
        assert_eq!(meter.check(&limits, SEND).expect_err("banned").rule, Some("invalid_requests"));
        tokio::time::advance(Duration::from_secs(601)).await;
        assert!(meter.check(&limits, SEND).is_ok());
    }
}
