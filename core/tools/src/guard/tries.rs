//! A call's attempts, one after the other: each let through by the breaker and the rate limit, and followed by another
//! only where that is safe, comes in time, and does not add to a service's trouble.

use std::time::Duration;

use contract::Effect;
use tokio::time::Instant;

use super::{
    RunCx, Times,
    attempt::{Attempt, End},
    breaker::{Change, Lease, Verdict},
    line::{self, NoPlace},
    retry::{self, Again},
};
use crate::{
    endpoint::{Notes, Seen},
    permitted::Permitted,
};

/// Less time than this is not worth an attempt, unless the tool itself gives it less.
const WORTH_IT: Duration = Duration::from_millis(50);

/// The attempts of one call.
pub struct Tries<'a> {
    pub call: &'a Permitted,
    pub cx: &'a RunCx<'a>,
    pub times: &'a Times,
    pub so_far: SoFar,
}

/// What is known of them.
#[derive(Default)]
pub struct SoFar {
    pub attempts: u32,
    /// An attempt before the last one may have taken effect.
    pub in_doubt: bool,
    /// The last one was stopped before it began.
    pub between: bool,
    pub marks: Vec<String>,
    pub cost_micros: u64,
    /// What the last attempt's endpoint saw.
    pub seen: Seen,
    /// When the last one had to end.
    pub until: Option<Instant>,
    /// Waiting for tokens of the rate limit.
    pub waited: Duration,
    /// Why there was no further attempt although the spec allows more.
    pub why_not: Option<&'static str>,
}

impl Tries<'_> {
    /// The end of the last attempt, or why there was none.
    pub async fn run(&mut self) -> Result<End, NoPlace> {
        let lease = self.let_through(self.times.first).await?;
        let mut end = self.attempt(lease, self.times.first).await;
        while let Some(wait) = self.wait_for_next(&end) {
            let pause = tokio::time::sleep(wait);
            if line::in_time(pause, self.cx.cancel, self.times.last).await.is_err() {
                return Ok(self.stopped_between(&end));
            }
            let until = self.times.next();
            let lease = match self.let_through(until).await {
                Ok(lease) => lease,
                Err(NoPlace::Cancelled) => return Ok(self.stopped_between(&end)),
                Err(why) => {
                    self.not_again(match why {
                        NoPlace::Open(_) => "the breaker is open",
                        NoPlace::Rate(_) => "the rate limit leaves no attempt in time",
                        NoPlace::Full | NoPlace::Late | NoPlace::Cancelled => "no time is left",
                    });
                    break;
                }
            };
            self.so_far.in_doubt |= retry::is_open(&end, self.effect());
            end = self.attempt(lease, until).await;
        }
        Ok(end)
    }

    /// What the breaker and the rate limit say. A token is taken only for what the breaker lets through.
    async fn let_through(&mut self, until: Instant) -> Result<Option<Lease>, NoPlace> {
        let guard = &self.call.tool().guard;
        if let Some(wait) = guard.open_for() {
            return Err(NoPlace::Open(wait));
        }
        let token = match &guard.bucket {
            Some(bucket) => Some(bucket.take(Instant::now(), until).map_err(NoPlace::Rate)?),
            None => None,
        };
        if let Some(at) = token.as_ref().and_then(|token| token.at) {
            let began = Instant::now();
            line::in_time(tokio::time::sleep_until(at), self.cx.cancel, until).await?;
            self.so_far.waited += began.elapsed();
        }
        let lease = match &guard.breaker {
            Some(breaker) => Some(breaker.admit(Instant::now(), until).map_err(NoPlace::Open)?),
            None => None,
        };
        if let Some(token) = token {
            token.spend();
        }
        Ok(lease)
    }

    async fn attempt(&mut self, lease: Option<Lease>, until: Instant) -> End {
        self.so_far.attempts += 1;
        self.so_far.until = Some(until);
        if let (1, Some(service)) = (self.so_far.attempts, &self.call.tool().guard.service) {
            service.called();
        }
        let notes = Notes::default();
        // Who had little time because the call waited, or because its turn ends, says nothing of the service.
        let time = until.saturating_duration_since(Instant::now());
        let is_fair = time >= self.times.attempt / 2 && !self.times.is_turns_end(until);
        let number = self.so_far.attempts;
        let end = Attempt { call: self.call, cx: self.cx, notes: &notes, number, until }.run().await;
        let mut seen = notes.take();
        self.so_far.marks.append(&mut seen.marks);
        self.so_far.cost_micros = self.so_far.cost_micros.saturating_add(seen.cost_micros);
        if seen.request.is_empty() {
            seen.request = std::mem::take(&mut self.so_far.seen.request);
        }
        self.so_far.seen = seen;
        if let Some(lease) = lease {
            self.tell(lease, retry::verdict(&end, is_fair));
        }
        end
    }

    /// The breaker learns how the attempt ended, and the node what that changed.
    fn tell(&mut self, lease: Lease, verdict: Verdict) {
        let tool = &*self.call.tool().name;
        if lease.is_probe {
            self.so_far.marks.push("breaker: half open, this call was the probe".to_owned());
        }
        match lease.end(verdict) {
            Some(Change::Opened(why)) => {
                tracing::warn!(tool, why, "breaker opened");
                self.so_far.marks.push(format!("breaker: opened ({why})"));
            }
            Some(Change::Closed) => {
                tracing::info!(tool, "breaker closed");
                self.so_far.marks.push("breaker: closed".to_owned());
            }
            None => {}
        }
    }

    /// How long to wait for another attempt, if there is to be one.
    fn wait_for_next(&mut self, end: &End) -> Option<Duration> {
        let spec = &self.call.tool().spec;
        let guard = &self.call.tool().guard;
        if self.so_far.attempts > spec.execution.retries || self.cx.cancel.is_cancelled() {
            return None;
        }
        match retry::again(end, self.effect()) {
            Again::Never => return None,
            Again::IfRepeatable if !self.cx.repeatable && !spec.honours_key() => {
                return self.not_again("not marked idempotent");
            }
            Again::IfRepeatable | Again::Always => {}
        }
        let asked = match end {
            End::Failed(failure) => failure.failure().retry_after,
            _ => None,
        };
        let left = self.times.last.saturating_duration_since(Instant::now());
        let room = left.saturating_sub(WORTH_IT.min(self.times.attempt / 2));
        let wait = retry::wait(&spec.execution, self.so_far.attempts, asked, retry::chance());
        // What is asked for has to fit; what chance adds is made to.
        if asked.unwrap_or_default() >= room {
            return self.not_again("it could not end in time");
        }
        if guard.open_for().is_some() {
            return self.not_again("the breaker is open");
        }
        if guard.service.as_ref().is_some_and(|service| !service.may_retry()) {
            return self.not_again("too many retries at this service already");
        }
        let wait = wait.min(room);
        let (number, word) = (self.so_far.attempts, retry::word(end));
        self.so_far.marks.push(format!("attempt {number}: {word}, again after {} ms", wait.as_millis()));
        Some(wait)
    }

    fn not_again(&mut self, why: &'static str) -> Option<Duration> {
        self.so_far.why_not = Some(why);
        None
    }

    fn stopped_between(&mut self, end: &End) -> End {
        self.so_far.in_doubt |= retry::is_open(end, self.effect());
        self.so_far.between = true;
        End::Cancelled
    }

    /// What may have happened in the last attempt, as its endpoint says.
    fn effect(&self) -> Effect {
        self.so_far.seen.effect()
    }
}
