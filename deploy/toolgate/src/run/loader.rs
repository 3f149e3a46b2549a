//! Files and what the store has become snapshots: tool specs and policies, read together, swapped together.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use contract::{
    StoreDown,
    records::{self, Shelf},
    seams::{Condition, Health},
};
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
    /// What the store had when it was last read.
    shelf: Mutex<Arc<Shelf>>,
    /// What was said of an earlier load and still holds: it is not said again with every change.
    said: Mutex<HashSet<Finding>>,
    /// One at a time, so that no older snapshot replaces a newer one.
    reloading: Mutex<()>,
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
            shelf: Mutex::default(),
            said: Mutex::default(),
            reloading: Mutex::default(),
        }
    }

    /// Reads what the store has of tools; the generation of that. While the store is away, what it had counts.
    pub async fn read_shelf(&self, stored: &dyn records::Registry) -> Result<u64, StoreDown> {
        let new = stored.shelf().await?;
        let generation = new.generation;
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        // Read by two at once, the older may come last.
        if generation >= shelf.generation {
            *shelf = Arc::new(new);
        }
        Ok(generation)
    }

    pub fn shelf(&self) -> Arc<Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools as they were last loaded, and how new ones are looked at.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Reads everything. No snapshot when the policies are bad and none were good before. Reads files: not for a
    /// runtime's thread.
    pub fn load(&self) -> (Option<Snapshot>, Findings) {
        let mut sources = self.origins.load_with(&self.registry, &self.shelf());
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
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let (snapshot, findings) = self.load();
        self.report(&findings, &gateway.health());
        if let Some(snapshot) = snapshot {
            let tools = snapshot.tools.tools().len();
            info!(generation = snapshot.generation, tools, "tools and policies were read again");
            gateway.swap(snapshot);
        }
    }

    /// Says what was found: in the health all of it, in the log what is new.
    pub fn report(&self, findings: &Findings, health: &Health) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in findings.warnings.iter().filter(|warning| !said.contains(*warning)) {
            warn!("{warning}");
        }
        for problem in findings.errors.iter().filter(|problem| !said.contains(*problem)) {
            error!("{problem}");
        }
        *said = findings.errors.iter().chain(&findings.warnings).cloned().collect();
        health.set("tools and policies", condition(&findings.errors));
    }

    /// What is watched for changes.
    pub fn watched(&self) -> Vec<std::path::PathBuf> {
        self.origins.files()
    }
}

/// Most files that a condition names.
const FILES_NAMED: usize = 3;

/// How many errors stand in which files.
fn condition(errors: &[Finding]) -> Condition {
    let mut files: Vec<&str> = errors.iter().map(|error| error.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let count = match errors.len() {
        0 => return Condition::Ready,
        1 => "1 error".to_owned(),
        n => format!("{n} errors"),
    };
    let more = match files.len().saturating_sub(FILES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    files.truncate(FILES_NAMED);
    let files = files.join(", ");
    Condition::Degraded(format!("{count} in {files}{more}; the last good version is used where there is one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_the_files_with_errors() {
        let error = |file: &str| Finding { file: file.into(), line: 1, column: 1, message: "m".into(), hint: None };
        assert_eq!(condition(&[]), Condition::Ready);
        let errors = ["b.yaml", "a.yaml", "a.yaml", "c.yaml", "d.yaml"].map(error);
        let words = "5 errors in a.yaml, b.yaml, c.yaml and 1 more; the last good version is used where there is one";
        assert_eq!(condition(&errors), Condition::Degraded(words.into()));
        let words = "1 error in b.yaml; the last good version is used where there is one";
        assert_eq!(condition(&errors[..1]), Condition::Degraded(words.into()));
    }
}
