//! Files become snapshots: tool specs and policies, read together, swapped together.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use contract::seams::{Condition, Health};
use dispatch::{Gateway, Snapshot};
use endpoints::Endpoints;
use policies::{ConfigError, Policies};
use tools::{Registry, SpecError};
use tracing::{error, info, warn};

/// Where specs and policies come from.
pub struct Sources {
    pub tools: Vec<PathBuf>,
    /// Specs that the binary brings: label and YAML.
    pub built_in: Vec<(&'static str, String)>,
    pub policies: PolicySource,
}

/// Where policies come from.
pub enum PolicySource {
    Folder(PathBuf),
    /// Files that the binary brings.
    BuiltIn(&'static [(&'static str, &'static str)]),
}

/// Reads the sources, again and again.
pub struct Loader {
    sources: Sources,
    registry: Registry,
    generation: AtomicU64,
    /// The last policies that were good.
    policies: Mutex<Option<Policies>>,
}

/// What a load found, besides a snapshot.
#[derive(Default)]
pub struct Findings {
    pub tool_errors: Vec<SpecError>,
    pub policy_errors: Vec<ConfigError>,
    pub warnings: Vec<String>,
}

impl Findings {
    pub fn errors(&self) -> Vec<String> {
        let tools = self.tool_errors.iter().map(ToString::to_string);
        tools.chain(self.policy_errors.iter().map(ToString::to_string)).collect()
    }
}

impl Loader {
    pub fn new(sources: Sources, endpoints: Endpoints) -> Self {
        Self {
            sources,
            registry: Registry::new(Arc::new(endpoints)),
            generation: AtomicU64::new(0),
            policies: Mutex::default(),
        }
    }

    /// Reads everything. No snapshot when the policies are bad and none were good before. Reads files: not for a
    /// runtime's thread.
    pub fn load(&self) -> (Option<Snapshot>, Findings) {
        let built_in: Vec<_> = self.sources.built_in.iter().map(|(label, text)| (*label, text.as_str())).collect();
        let loaded = self.registry.load_with(&self.sources.tools, &built_in);
        let mut findings = Findings {
            tool_errors: loaded.errors,
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            ..Findings::default()
        };
        let Some(policies) = self.policies(&mut findings) else { return (None, findings) };
        let facts = loaded.snapshot.facts();
        let compiled = match loaded.snapshot.quarantined().is_empty() {
            true => policies.compile(&facts),
            // A tool that is out of order must not take the policies that name it along.
            false => Ok(policies.compile_with_quarantine(&facts)),
        };
        match compiled {
            Ok((compiled, warnings)) => {
                findings.warnings.extend(warnings.iter().map(ToString::to_string));
                let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
                *self.policies.lock().unwrap_or_else(PoisonError::into_inner) = Some(policies);
                (Some(Snapshot::new(loaded.snapshot, Arc::new(compiled), generation)), findings)
            }
            Err(errors) => {
                findings.policy_errors.extend(errors);
                (None, findings)
            }
        }
    }

    fn policies(&self, findings: &mut Findings) -> Option<Policies> {
        let read = match &self.sources.policies {
            PolicySource::Folder(folder) => Policies::load(folder),
            PolicySource::BuiltIn(files) => Policies::parse(
                &files
                    .iter()
                    .map(|(file, text)| policies::Source { file: (*file).to_owned(), text: (*text).to_owned() })
                    .collect::<Vec<_>>(),
            ),
        };
        match read {
            Ok(loaded) => {
                findings.warnings.extend(loaded.warnings.iter().map(ToString::to_string));
                Some(loaded.policies)
            }
            Err(errors) => {
                findings.policy_errors.extend(errors);
                self.policies.lock().unwrap_or_else(PoisonError::into_inner).clone()
            }
        }
    }

    /// What is watched for changes.
    pub fn watched(&self) -> Vec<PathBuf> {
        let mut paths = self.sources.tools.clone();
        if let PolicySource::Folder(folder) = &self.sources.policies {
            paths.push(folder.clone());
        }
        paths
    }

    /// Reads again and swaps; what is bad keeps its last good version and is said wherever an operator looks.
    pub fn reload(&self, gateway: &Gateway) {
        let (snapshot, findings) = self.load();
        report(&findings, &gateway.health());
        if let Some(snapshot) = snapshot {
            info!(generation = snapshot.generation, tools = snapshot.tools.tools().len(), "tools and policies read again");
            gateway.swap(snapshot);
        }
    }
}

/// Says what was found in the log and in the health.
pub fn report(findings: &Findings, health: &Health) {
    for warning in &findings.warnings {
        warn!("{warning}");
    }
    for problem in findings.errors() {
        error!("{problem}");
    }
    let condition = |n: usize, what: &str| match n {
        0 => Condition::Ready,
        n => Condition::Degraded(format!("{n} {what} in error; the last good version is used")),
    };
    health.set("tools", condition(findings.tool_errors.len(), "tool specs"));
    health.set("policies", condition(findings.policy_errors.len(), "places of the policies"));
}
