//! So many attempts in so much time: a bucket of tokens, as the time at which it will be full again.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::spec::Rate;

/// Most calls that wait for a token of one tool.
const WAITING_MAX: usize = 1_024;

/// A tool's tokens.
#[derive(Debug)]
pub struct Bucket {
    rate: Rate,
    /// When it is full again, if nobody takes more.
    full_at: Mutex<Instant>,
    waiting: AtomicUsize,
}

impl Bucket {
    pub fn new(rate: Rate) -> Self {
        Self { rate, full_at: Mutex::new(Instant::now()), waiting: AtomicUsize::new(0) }
    }

    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// A token that is there by `until`, or how long the next one takes.
    pub fn take(&self, now: Instant, until: Instant) -> Result<Token<'_>, Duration> {
        let each = self.each();
        let mut full_at = self.lock();
        let after = (*full_at).max(now).checked_add(each).ok_or(self.rate.per)?;
        // The bucket holds the whole count, so what was taken may lie so far ahead.
        let wait = after.saturating_duration_since(now).saturating_sub(self.rate.per);
        let at = now.checked_add(wait).ok_or(wait)?;
        if wait.is_zero() {
            *full_at = after;
            return Ok(Token { bucket: self, at: None, is_spent: false });
        }
        let waiting = self.waiting.load(Ordering::Relaxed);
        if at >= until || waiting >= WAITING_MAX {
            return Err(wait);
        }
        *full_at = after;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Ok(Token { bucket: self, at: Some(at), is_spent: false })
    }

    fn each(&self) -> Duration {
        self.rate.per / self.rate.count.max(1)
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A token; one that is not spent is put back.
#[derive(Debug)]
pub struct Token<'a> {
    bucket: &'a Bucket,
    /// From when it may be used, if not at once.
    pub at: Option<Instant>,
    is_spent: bool,
}

impl Token<'_> {
    pub fn spend(mut self) {
        self.is_spent = true;
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        if self.at.is_some() {
            self.bucket.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        if !self.is_spent {
            let mut full_at = self.bucket.lock();
            *full_at = full_at.checked_sub(self.bucket.each()).unwrap_or(*full_at);
        }
    }
}
