//! What the tools of one service share: how often they may try again, and a breaker where their specs ask for one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::time::Instant;

use super::{breaker::Breaker, window::Window};
use crate::spec::Breaker as Rules;

/// How far back calls and retries are counted.
const RECENT: Duration = Duration::from_secs(10);
/// One retry for so many calls of that time.
const CALLS_PER_RETRY: u64 = 10;
/// So many retries are made in that time in any case, so that a service with few calls is asked again too.
const RETRIES_ANYWAY: u64 = 10;

/// The services of all tools, by name; one that no tool calls any more is forgotten.
#[derive(Debug, Default)]
pub struct Services(Mutex<HashMap<String, Weak<Service>>>);

impl Services {
    pub fn named(&self, name: &str) -> Arc<Service> {
        let mut services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        services.retain(|_, service| service.strong_count() > 0);
        if let Some(service) = services.get(name).and_then(Weak::upgrade) {
            return service;
        }
        let service = Arc::new(Service::new());
        services.insert(name.to_owned(), Arc::downgrade(&service));
        service
    }
}

/// One of them.
#[derive(Debug)]
pub struct Service {
    /// Calls and retries.
    recent: Mutex<Window>,
    /// One for each set of rules.
    breakers: Mutex<Vec<Weak<Breaker>>>,
}

impl Service {
    pub fn new() -> Self {
        Self { recent: Mutex::new(Window::new(RECENT, Instant::now())), breakers: Mutex::default() }
    }

    pub fn called(&self) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.add(Instant::now(), 1, 0);
    }

    /// Whether one more retry is within what a service in trouble can bear; if so it is counted.
    pub fn may_retry(&self) -> bool {
        let now = Instant::now();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (calls, retries) = recent.sums(now);
        let may = retries < RETRIES_ANYWAY + calls / CALLS_PER_RETRY;
        if may {
            recent.add(now, 0, 1);
        }
        may
    }

    /// The breaker of all tools of the service that have these rules.
    pub fn breaker(&self, rules: Rules) -> Arc<Breaker> {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.retain(|breaker| breaker.strong_count() > 0);
        if let Some(breaker) = breakers.iter().filter_map(Weak::upgrade).find(|breaker| *breaker.rules() == rules) {
            return breaker;
        }
        let breaker = Arc::new(Breaker::new(rules));
        breakers.push(Arc::downgrade(&breaker));
        breaker
    }
}
