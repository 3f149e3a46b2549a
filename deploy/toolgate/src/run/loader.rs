//! Files become snapshots: tool specs and policies, read together, swapped together.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use contract::seams::{Condition, Health};
use dispatch::{Gateway, Snapshot};
use endpoints::Endpoints;
use policies::Policies;
use tools::Registry;
use tracing::{error, info, warn};

use crate::{
    config::Finding,
    sources::{Origins, Sources},
};

/// Reads the sources, again and again.
pub struct Loader {
    origins: Origins,
    registry: Registry,
    generation: AtomicU64,
    /// The last policies that were good.
    last_good: Mutex<Option<Arc<Policies>>>,
}

/// What a load found, besides a snapshot.
pub struct Findings {
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Loader {
    pub fn new(origins: Origins, endpoints: Endpoints) -> Self {
        Self {
            origins,
            registry: Registry::new(Arc::new(endpoints)),
            generation: AtomicU64::new(0),
            last_good: Mutex::default(),
        }
    }

    /// Reads everything. No snapshot when the policies are bad and none were good before. Reads files: not for a
    /// runtime's thread.
    pub fn load(&self) -> (Option<Snapshot>, Findings) {
        let mut sources = self.origins.load(&self.registry);
        let mut last_good = self.last_good.lock().unwrap_or_else(PoisonError::into_inner);
        match (&sources.compiled, last_good.clone()) {
            (Some(_), _) => *last_good = sources.policies.clone(),
            (None, Some(good)) => sources.compile(good),
            (None, None) => {}
        }
        let Sources { tools, compiled, errors, warnings, .. } = sources;
        let snapshot = compiled.map(|policies| {
            let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
            Snapshot::new(tools, policies, generation)
        });
        (snapshot, Findings { errors, warnings })
    }

    /// Reads again and swaps; what is bad keeps its last good version and is said wherever an operator looks.
    pub fn reload(&self, gateway: &Gateway) {
        let (snapshot, findings) = self.load();
        report(&findings, &gateway.health());
        if let Some(snapshot) = snapshot {
            let tools = snapshot.tools.tools().len();
            info!(generation = snapshot.generation, tools, "tools and policies were read again");
            gateway.swap(snapshot);
        }
    }

    /// What is watched for changes.
    pub fn watched(&self) -> Vec<std::path::PathBuf> {
        self.origins.files()
    }
}

/// Says what was found in the log and in the health.
pub fn report(findings: &Findings, health: &Health) {
    for warning in &findings.warnings {
        warn!("{warning}");
    }
    for problem in &findings.errors {
        error!("{problem}");
    }
    let condition = match findings.errors.len() {
        0 => Condition::Ready,
        1 => Condition::Degraded("1 error; the last good version is used where there is one".into()),
        n => Condition::Degraded(format!("{n} errors; the last good version is used where there is one")),
    };
    health.set("tools and policies", condition);
}
