//! The pace that a bot is held to: a bucket that fills again.

use std::time::Duration;

use tokio::time::Instant;

/// A request that was already under way when its predecessor was refused did not ignore the wait.
pub const IN_FLIGHT: Duration = Duration::from_millis(250);

/// Beyond so many scopes, those that nobody waits for are forgotten.
pub const MOST_SCOPES: usize = 10_000;

#[derive(Debug)]
pub struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    /// One from which nothing was taken yet.
    pub fn full(burst: f64, now: Instant) -> Self {
        Self { left: burst.max(1.0), at: now }
    }

    /// Seconds to wait, or zero when one token was taken; a rate of zero is without limit.
    pub fn take(&mut self, rate: f64, burst: f64, now: Instant) -> f64 {
        if rate <= 0.0 {
            return 0.0;
        }
        self.left = (self.left + now.duration_since(self.at).as_secs_f64() * rate).min(burst.max(1.0));
        self.at = now;
        if self.left >= 1.0 {
            self.left -= 1.0;
            return 0.0;
        }
        (1.0 - self.left) / rate
    }
}
