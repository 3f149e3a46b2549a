//! What operators ask of the trail and of what is counted.

use contract::{
    StoreDown,
    records::{AuditEvent, AuditQuery, Measure},
};

use super::AuditHealth;
use crate::{
    gateway::Gateway,
    trace::Counted,
    turn::now_ms,
    unusual::{Unusual, unusual},
};

/// How the calls of one tool are held back now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    pub tool: String,
    pub running: usize,
    pub waiting: usize,
    /// Its breaker lets no call through.
    pub is_open: bool,
}

impl Gateway {
    /// Events of calls, newest first.
    pub async fn audited(&self, query: &AuditQuery) -> Result<Vec<AuditEvent>, StoreDown> {
        self.inner.stores.audit.audited(query).await
    }

    /// How each place of the audit trail fares.
    pub fn audit_health(&self) -> Vec<AuditHealth> {
        self.inner.tracer.audit.health()
    }

    /// What was counted since the process began.
    pub fn counted(&self) -> Counted {
        self.inner.tracer.counted()
    }

    /// What was counted since a time, by the minute.
    pub async fn measures(&self, since_ms: u64) -> Result<Vec<Measure>, StoreDown> {
        self.inner.stores.trees.measures(since_ms).await
    }

    /// What stood out since a time.
    pub async fn unusual(&self, since_ms: u64) -> Result<Vec<Unusual>, StoreDown> {
        unusual(&self.inner.stores, since_ms, now_ms()).await
    }

    /// Tools whose calls run under a limit, wait, or are let through no more.
    pub fn guarded(&self) -> Vec<Guarded> {
        let snapshot = self.snapshot();
        let guarded = snapshot.tools.tools().iter().map(|tool| Guarded {
            tool: tool.name.to_string(),
            running: tool.guard.running(),
            waiting: tool.guard.waiting(),
            is_open: tool.guard.open_for().is_some(),
        });
        guarded.filter(|guarded| guarded.running > 0 || guarded.waiting > 0 || guarded.is_open).collect()
    }
}
