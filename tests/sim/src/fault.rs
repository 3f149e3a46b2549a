//! Faults on demand: what waits to go wrong, and how often and how long it does.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Whether a dropped request took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    #[default]
    Before,
    After,
}

/// How often and how long an ordered fault happens; without a count and a span it happens once.
pub trait Order: Clone {
    fn count(&self) -> Option<u64>;
    fn seconds(&self) -> Option<f64>;
    /// Whether its seconds are a span in which it happens, not the length of a wait.
    fn lasts(&self) -> bool;
}

#[derive(Debug)]
struct Armed<F, P> {
    fault: F,
    place: Option<P>,
    left: Option<u64>,
    until: Option<Instant>,
}

/// The faults that wait for a request or a word over a socket, each with the place that it is bound to.
#[derive(Debug)]
pub struct Faults<F, P>(Vec<Armed<F, P>>);

impl<F, P> Default for Faults<F, P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F: Order, P> Faults<F, P> {
    /// Most faults that wait at once; more are a mistake of whoever orders them.
    pub const MOST: usize = 256;

    pub fn add(&mut self, fault: F, place: Option<P>) {
        let span = fault.seconds().filter(|seconds| fault.lasts() && *seconds > 0.0);
        let left = match (fault.count(), span) {
            (None, Some(_)) => None,
            (count, _) => Some(count.unwrap_or(1)),
        };
        let until = span.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.min(1e6)));
        if self.0.len() < Self::MOST {
            self.0.push(Armed { fault, place, left, until });
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The first fault that concerns what happens, by its order and its place; it is used up by one.
    pub fn first(&mut self, concerns: impl Fn(&F, Option<&P>) -> bool) -> Option<F> {
        let now = Instant::now();
        self.0.retain(|armed| armed.left != Some(0) && armed.until.is_none_or(|until| now < until));
        let armed = self.0.iter_mut().find(|armed| concerns(&armed.fault, armed.place.as_ref()))?;
        armed.left = armed.left.map(|left| left - 1);
        Some(armed.fault.clone())
    }
}
