//! What the calls of one tool share, kept over reloads as far as its spec asks for the same.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    breaker::Breaker,
    fair::Line,
    rate::Bucket,
    service::{Service, Services},
};
use crate::{
    spec::{BreakerScope, Spec},
    tool::Tool,
};

/// A tool's places, its tokens, its breaker, and the service that it shares with others.
#[derive(Debug)]
pub struct Guard {
    pub(super) line: Option<Arc<Line>>,
    pub(super) bucket: Option<Arc<Bucket>>,
    pub(super) breaker: Option<Arc<Breaker>>,
    /// Nothing where nothing is repeated and no service is named.
    pub(super) service: Option<Arc<Service>>,
}

impl Guard {
    /// The guard of a tool whose endpoint calls the service `host`. Of the version before it keeps each part whose
    /// numbers are the same; the breaker only while the same endpoint is called, since of another one nothing is known.
    pub(crate) fn following(spec: &Spec, host: Option<&str>, before: Option<&Tool>, services: &Services) -> Arc<Self> {
        let execution = &spec.execution;
        let old = before.map(|tool| &*tool.guard);
        let service = match host {
            Some(host) => Some(services.named(host)),
            None if execution.retries > 0 => {
                Some(old.and_then(|old| old.service.clone()).unwrap_or_else(|| Arc::new(Service::new())))
            }
            None => None,
        };
        let is_same = before.is_some_and(|tool| tool.spec.endpoint == spec.endpoint);
        let line = execution.concurrency_limit.map(|size| {
            let kept = old.and_then(|old| old.line.clone()).filter(|line| line.size() == size);
            kept.unwrap_or_else(|| Arc::new(Line::new(size)))
        });
        let bucket = execution.rate_limit.map(|rate| {
            let kept = old.and_then(|old| old.bucket.clone()).filter(|bucket| bucket.rate() == rate);
            kept.unwrap_or_else(|| Arc::new(Bucket::new(rate)))
        });
        let breaker = execution.circuit_breaker.map(|rules| match (&service, rules.scope) {
            (Some(service), BreakerScope::Host) if host.is_some() => service.breaker(rules),
            _ => {
                let kept = old.and_then(|old| old.breaker.clone());
                let kept = kept.filter(|breaker| is_same && *breaker.rules() == rules);
                kept.unwrap_or_else(|| Arc::new(Breaker::new(rules)))
            }
        });
        let new = Self { line, bucket, breaker, service };
        match before.filter(|tool| new.is(&tool.guard)) {
            Some(tool) => tool.guard.clone(),
            None => Arc::new(new),
        }
    }

    fn is(&self, other: &Self) -> bool {
        fn same<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
            one.as_ref().map(Arc::as_ptr) == other.as_ref().map(Arc::as_ptr)
        }
        same(&self.line, &other.line)
            && same(&self.bucket, &other.bucket)
            && same(&self.breaker, &other.breaker)
            && same(&self.service, &other.service)
    }

    /// How many calls run under the limit, where there is one.
    pub fn running(&self) -> usize {
        self.line.as_ref().map_or(0, |line| line.running())
    }

    /// How many calls wait for a place.
    pub fn waiting(&self) -> usize {
        self.line.as_ref().map_or(0, |line| line.waiting())
    }

    /// How long the breaker lets no call through; nothing when it does, or when there is none.
    pub fn open_for(&self) -> Option<Duration> {
        self.breaker.as_ref().and_then(|breaker| breaker.open_for(Instant::now()))
    }
}
