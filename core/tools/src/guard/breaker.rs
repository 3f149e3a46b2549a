//! Leaves a service alone that fails: closed, then open for a while, then one call finds out.
//!
//! Whoever calls holds a [`Lease`]; its drop frees the place of a call that never ended. A lease belongs to the period in
//! which it was given: how a call ends that began before the last change says nothing of what is now.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::window::Window;
use crate::spec::Breaker as Rules;

/// What is known of a service's health.
#[derive(Debug)]
pub struct Breaker {
    rules: Rules,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Counts the changes.
    period: u64,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Closed {
        in_a_row: u32,
        /// Calls and failures of late.
        late: Window,
    },
    Open {
        until: Instant,
    },
    /// When the call that finds out has to have ended; nothing while there is none.
    Half(Option<Instant>),
}

/// What the end of a call says of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Well,
    Failed,
    /// The caller's fault, ours, or nobody's.
    Neither,
}

/// What changed by the end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// With the reason.
    Opened(String),
    Closed,
}

impl Breaker {
    pub fn new(rules: Rules) -> Self {
        let phase = closed(&rules, Instant::now());
        Self { rules, state: Mutex::new(State { period: 0, phase }) }
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How long no call is let through; nothing when one may try.
    pub fn open_for(&self, now: Instant) -> Option<Duration> {
        match self.lock().phase {
            Phase::Closed { .. } => None,
            Phase::Open { until } | Phase::Half(Some(until)) => until.checked_duration_since(now),
            Phase::Half(None) => None,
        }
        .filter(|wait| !wait.is_zero())
    }

    /// Lets a call through that will have ended by `until`, or says how long none will be.
    pub fn admit(self: &Arc<Self>, now: Instant, until: Instant) -> Result<Lease, Duration> {
        let mut state = self.lock();
        let is_probe = match state.phase {
            Phase::Closed { .. } => false,
            Phase::Open { until: end } | Phase::Half(Some(end)) if end > now => return Err(end - now),
            // The cooldown is over, nobody tries, or whoever tried has never ended.
            Phase::Open { .. } | Phase::Half(_) => {
                state.period += 1;
                state.phase = Phase::Half(Some(until));
                true
            }
        };
        Ok(Lease { breaker: self.clone(), period: state.period, is_probe, is_over: false })
    }

    fn end(&self, period: u64, verdict: Verdict, now: Instant) -> Option<Change> {
        let mut state = self.lock();
        if state.period != period {
            return None;
        }
        let change = match (&mut state.phase, verdict) {
            (Phase::Closed { .. }, Verdict::Neither) | (Phase::Open { .. }, _) => return None,
            (Phase::Closed { in_a_row, late }, verdict) => {
                let failed = verdict == Verdict::Failed;
                *in_a_row = if failed { in_a_row.saturating_add(1) } else { 0 };
                late.add(now, 1, u32::from(failed));
                if !failed {
                    return None;
                }
                Change::Opened(self.tripped(*in_a_row, late.sums(now))?)
            }
            (Phase::Half(probe), Verdict::Neither) => {
                *probe = None;
                return None;
            }
            (Phase::Half(_), Verdict::Failed) => Change::Opened("the probe failed".to_owned()),
            (Phase::Half(_), Verdict::Well) => Change::Closed,
        };
        state.period += 1;
        state.phase = match change {
            Change::Opened(_) => Phase::Open { until: later(now, self.rules.cooldown) },
            Change::Closed => closed(&self.rules, now),
        };
        Some(change)
    }

    /// Why it has to open, if it has to.
    fn tripped(&self, in_a_row: u32, (calls, failures): (u64, u64)) -> Option<String> {
        if in_a_row >= self.rules.failure_threshold {
            return Some(format!("{in_a_row} failures in a row"));
        }
        let percent = u64::from(self.rules.failure_percent?);
        let is_enough = calls >= u64::from(self.rules.minimum_calls) && failures * 100 >= percent * calls;
        is_enough.then(|| format!("{failures} of the last {calls} calls failed"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed(rules: &Rules, now: Instant) -> Phase {
    Phase::Closed { in_a_row: 0, late: Window::new(rules.window, now) }
}

/// A cooldown that no clock can hold lasts as long as one can.
fn later(now: Instant, wait: Duration) -> Instant {
    now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3_600))
}

/// A call on its way; dropped, it says nothing of the service and frees its place.
#[derive(Debug)]
pub struct Lease {
    breaker: Arc<Breaker>,
    period: u64,
    /// It is the one that finds out.
    pub is_probe: bool,
    is_over: bool,
}

impl Lease {
    pub fn end(mut self, verdict: Verdict) -> Option<Change> {
        self.is_over = true;
        self.breaker.end(self.period, verdict, Instant::now())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_over {
            self.breaker.end(self.period, Verdict::Neither, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_threads_at_the_end_of_the_cooldown_one_gets_through() {
        let rules = Rules { failure_threshold: 1, cooldown: Duration::from_secs(10), ..Rules::default() };
        for round in 0..50 {
            let breaker = Arc::new(Breaker::new(rules));
            let now = Instant::now();
            let first = breaker.admit(now, now + Duration::from_secs(1)).unwrap();
            assert!(matches!(first.end(Verdict::Failed), Some(Change::Opened(_))));
            let later = now + Duration::from_secs(20);
            let admit = || breaker.admit(later, later + Duration::from_secs(1)).ok();
            let leases: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(admit)).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(leases.len(), 1, "round {round}");
            assert!(leases[0].is_probe);
        }
    }

    #[test]
    fn a_probe_that_is_never_heard_of_again_makes_room_when_its_time_is_over() {
        let rules = Rules { failure_threshold: 1, cooldown: Duration::from_secs(10), ..Rules::default() };
        let breaker = Arc::new(Breaker::new(rules));
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        breaker.admit(now, at(1)).unwrap().end(Verdict::Failed);
        let lost = breaker.admit(at(11), at(15)).unwrap();
        assert_eq!(breaker.admit(at(12), at(16)).err(), Some(Duration::from_secs(3)));
        let next = breaker.admit(at(15), at(19)).unwrap();
        assert!(next.is_probe);
        // What the first one finds out in the end is of another period.
        assert_eq!(lost.end(Verdict::Failed), None);
        assert_eq!(next.end(Verdict::Well), Some(Change::Closed));
    }
}
