//! What is offered at present: files and natives turned into an immutable snapshot.
//!
//! A load never makes things worse: what cannot be read keeps its last good version, and says so.

mod files;
mod merge;
mod snapshot;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use contract::Finding;

use crate::{
    endpoint::Build,
    guard::Guard,
    schema::Schema,
    spec::{EndpointSpec, Spec},
    tool::Tool,
};
use merge::{Loses, Refusal};
pub use snapshot::{Quarantine, Snapshot};

/// Loads tools, and remembers the last good version of each.
pub struct Registry {
    build: Arc<dyn Build>,
    current: ArcSwap<Snapshot>,
    /// One load at a time: each begins with what the one before left.
    loading: Mutex<()>,
}

/// What a load gave.
pub struct Loaded {
    /// The one before when nothing changed.
    pub snapshot: Arc<Snapshot>,
    /// In the order of files and lines; a hint says where a last good version stays.
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Registry {
    pub fn new(build: Arc<dyn Build>) -> Self {
        Self { build, current: ArcSwap::default(), loading: Mutex::new(()) }
    }

    /// Loads files and folders (`*.yaml`, `*.yml`, one level of folders inside). Reads files: not for a runtime's thread.
    pub fn load(&self, paths: &[PathBuf]) -> Loaded {
        self.load_with(paths, &[])
    }

    /// The same, with specs that the binary brings: `(label shown in messages, YAML)`.
    pub fn load_with(&self, paths: &[PathBuf], natives: &[(&str, &str)]) -> Loaded {
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.current.load_full();
        let mut sources = files::natives(natives);
        sources.extend(files::collect(paths));
        let mut offer = merge::merge(sources, &last);
        let (mut errors, mut warnings) = (offer.errors, offer.warnings);
        let mut tools = BTreeMap::new();
        for spec in offer.chosen {
            let name = spec.name.clone();
            match self.tool(spec, &last, &mut warnings) {
                Ok(tool) => drop(tools.insert(name, tool)),
                Err(no) => {
                    let error = match no {
                        NoTool::Wrong(error) => told(error, &mut errors),
                        NoTool::Inactive(why) => told(why, &mut warnings),
                    };
                    offer.refused.push(Refusal { name: Some(name.to_string()), error, loses: Loses::Tool });
                }
            }
        }
        let quarantined = merge::keep(offer.refused, &last, &mut tools, &mut errors, &mut warnings);
        let by_place = |e: &Finding| (e.file.clone(), e.line, e.column);
        errors.sort_by_key(by_place);
        warnings.sort_by_key(by_place);
        let snapshot = Snapshot::following(&last, tools.into_values().collect(), quarantined);
        self.current.store(snapshot.clone());
        Loaded { snapshot, errors, warnings }
    }

    /// The newest snapshot.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Makes the tool of a spec, or says why there is none.
    fn tool(&self, spec: Spec, last: &Snapshot, warnings: &mut Vec<Finding>) -> Result<Arc<Tool>, NoTool> {
        let before = last.get(&spec.name);
        let schema = spec.compile("parameters", &spec.parameters)?;
        warn(&spec, "parameters", &schema, warnings);
        let returns = match &spec.returns {
            Some(source) => {
                let returns = spec.compile("returns", source)?;
                warn(&spec, "returns", &returns, warnings);
                Some(returns)
            }
            None => None,
        };
        examples(&spec, &schema, warnings);
        is_active(&spec).map_err(NoTool::Inactive)?;
        if let Some(tool) = before.filter(|tool| tool.spec.is_same_as(&spec)) {
            return Ok(tool.clone());
        }
        let endpoint = self.build.build(&spec)?;
        let limit = spec.execution.concurrency_limit;
        let guard = match before.filter(|tool| tool.guard.fits(limit)) {
            Some(tool) => tool.guard.clone(),
            None => Arc::new(Guard::new(limit)),
        };
        Ok(Arc::new(Tool::new(Arc::new(spec), schema, returns, endpoint, guard)))
    }
}

/// Why a spec makes no tool.
enum NoTool {
    Wrong(Finding),
    /// There is nothing wrong with it; this version cannot run it.
    Inactive(Finding),
}

impl From<Finding> for NoTool {
    fn from(error: Finding) -> Self {
        Self::Wrong(error)
    }
}

/// Adds what is told to a list.
fn told(error: Finding, list: &mut Vec<Finding>) -> Finding {
    list.push(error.clone());
    error
}

/// Refuses what this version cannot run, rather than running it otherwise than its owner wrote.
fn is_active(spec: &Spec) -> Result<(), Finding> {
    let inactive = |what: &str| Err(spec.error_at("endpoint.type", format!("{what} are not active in this version")));
    match &spec.endpoint {
        EndpointSpec::Mcp { .. } => inactive("endpoints of type mcp"),
        EndpointSpec::Command { .. } => inactive("endpoints of type command"),
        EndpointSpec::Http(http) if http.credential.is_some() => Err(spec.error_at(
            "endpoint.credential",
            "credentials are not active in this version, and without its credential the tool is not published",
        )),
        EndpointSpec::Http(_) | EndpointSpec::Pipeline(_) | EndpointSpec::Native { .. } => Ok(()),
    }
}

/// A schema's lints begin with where they belong.
fn warn(spec: &Spec, key: &str, schema: &Schema, warnings: &mut Vec<Finding>) {
    for lint in schema.lints() {
        let (path, message) = lint.split_once(": ").unwrap_or(("", &lint));
        let path = if path == "the whole" { "" } else { path };
        let at = format!("{key}.{}", path.replace('/', "."));
        let at = at.trim_end_matches('.');
        warnings.push(spec.error_at(at, format!("'{at}': {message}")));
    }
}

fn examples(spec: &Spec, schema: &Schema, warnings: &mut Vec<Finding>) {
    for (i, example) in spec.examples.iter().enumerate() {
        if let Err(problems) = schema.coerce_and_validate(example.args.clone()) {
            let first = problems.first().map(|p| format!(": {} expected {}", p.path, p.expected)).unwrap_or_default();
            let message = format!("the example's arguments do not fit 'parameters'{first}");
            warnings.push(spec.error_at(&format!("examples.{i}.args"), message));
        }
    }
}

#[cfg(test)]
mod tests;
