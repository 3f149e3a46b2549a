//! What is offered at present: files and natives turned into an immutable snapshot.
//!
//! A load never makes things worse: what cannot be read keeps its last good version, and says so.

mod files;
pub mod lifecycle;
mod merge;
mod snapshot;
mod standing;
mod waits;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use contract::{Finding, records::Shelf};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    dynamic::{self, Part},
    endpoint::Build,
    guard::{Guard, Services},
    schema::Schema,
    spec::{self, BreakerScope, Dynamic, Spec},
    tool::Tool,
};
use merge::{Loses, Refusal};
pub use snapshot::{Quarantine, Snapshot};
pub use standing::{Stage, Standing, label};

/// Loads tools, and remembers the last good version of each.
pub struct Registry {
    build: Arc<dyn Build>,
    current: ArcSwap<Snapshot>,
    services: Services,
    /// Counts the changes of what is fetched.
    changed: watch::Sender<u64>,
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
        Self {
            build,
            current: ArcSwap::default(),
            services: Services::default(),
            changed: watch::channel(0).0,
            loading: Mutex::new(()),
        }
    }

    /// Loads files and folders (`*.yaml`, `*.yml`, one level of folders inside). Reads files: not for a runtime's thread.
    pub fn load(&self, paths: &[PathBuf]) -> Loaded {
        self.load_with(paths, &[])
    }

    /// The same, with specs that the binary brings: `(label shown in messages, YAML)`.
    pub fn load_with(&self, paths: &[PathBuf], natives: &[(&str, &str)]) -> Loaded {
        self.load_all(paths, natives, &Shelf::default())
    }

    /// The same, with what the store has.
    pub fn load_all(&self, paths: &[PathBuf], natives: &[(&str, &str)], shelf: &Shelf) -> Loaded {
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.current.load_full();
        let mut sources = files::natives(natives);
        sources.extend(files::collect(paths));
        sources.extend(files::stored(shelf));
        let mut offer = merge::merge(sources, shelf, &last);
        let (mut errors, mut warnings) = (offer.errors, offer.warnings);
        let mut tools = BTreeMap::new();
        for spec in offer.chosen {
            let name = spec.name.clone();
            let standing = Standing::of(&spec, shelf);
            match self.tool(spec, standing, &last, &mut warnings) {
                Ok(tool) => drop(tools.insert(name, tool)),
                Err(error) => {
                    errors.push(error.clone());
                    offer.refused.push(Refusal { name: Some(name.to_string()), error, loses: Loses::Tool });
                }
            }
        }
        for (name, error) in waits::take_out(&mut tools) {
            errors.push(error.clone());
            // Its last version would wait in the same way for what its calls are now.
            offer.refused.push(Refusal { name: Some(name.to_string()), error, loses: Loses::Nothing });
        }
        let quarantined = merge::keep(offer.refused, &last, &mut tools, &mut errors, &mut warnings);
        for tool in tools.values_mut() {
            // What stays of an earlier load stands where it stands now.
            let standing = Standing::of(&tool.spec, shelf);
            if tool.standing != standing {
                *tool = Arc::new(tool.standing_so(standing));
            }
        }
        let removed = shelf.tools.iter().filter(|tool| !tools.contains_key(&*tool.name));
        let removed = removed.map(|tool| tool.name.clone()).collect();
        let by_place = |e: &Finding| (e.file.clone(), e.line, e.column);
        errors.sort_by_key(by_place);
        warnings.sort_by_key(by_place);
        let snapshot = Snapshot::following(&last, tools.into_values().collect(), quarantined, removed);
        self.current.store(snapshot.clone());
        Loaded { snapshot, errors, warnings }
    }

    /// Tells when what is fetched has changed, so that tools are to be loaded anew.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The newest snapshot.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Looks at specs as a load would, and changes nothing; `label` is what messages call the text.
    pub fn examine(&self, label: &str, text: &str) -> Examined {
        let parsed = spec::parse(label, text);
        let (mut errors, mut warnings) = (parsed.errors, parsed.warnings);
        let mut specs: Vec<ExaminedSpec> = Vec::new();
        for (spec, text) in parsed.specs.into_iter().zip(parsed.texts) {
            if let Some(first) = specs.iter().find(|first| first.spec.name == spec.name) {
                let message = format!("'{}' stands here twice, first in line {}", spec.name, first.spec.source().1);
                errors.push(spec.error_at("name", message));
                continue;
            }
            if let Err(error) = self.tool(spec.clone(), Standing::default(), &Snapshot::default(), &mut warnings) {
                errors.push(error);
                continue;
            }
            let text = text.strip_prefix("---").unwrap_or(&text).trim_start_matches(['\r', '\n']).to_owned();
            specs.push(ExaminedSpec { spec, text });
        }
        let by_place = |finding: &Finding| (finding.line, finding.column);
        errors.sort_by_key(by_place);
        warnings.sort_by_key(by_place);
        Examined { specs, errors, warnings }
    }

    /// Makes the tool of a spec, or says why there is none.
    fn tool(
        &self,
        mut spec: Spec,
        standing: Standing,
        last: &Snapshot,
        warnings: &mut Vec<Finding>,
    ) -> Result<Arc<Tool>, Finding> {
        let before = last.get(&spec.name);
        let dynamic = self.parts(&spec, before.map_or(&[][..], |tool| &tool.dynamic))?;
        if before.is_some_and(|tool| tool.standing.refreshed != standing.refreshed) {
            dynamic.iter().for_each(|part| part.refresh());
        }
        dynamic::fill(&mut spec, &dynamic);
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
        let is_same = |tool: &&Arc<Tool>| {
            tool.spec.is_same_as(&spec)
                && tool.spec.parameters == spec.parameters
                && tool.standing.refreshed == standing.refreshed
        };
        if let Some(tool) = before.filter(is_same) {
            return Ok(tool.clone());
        }
        let endpoint = self.build.build(&spec)?;
        let host = endpoint.host();
        if host.is_none() && spec.execution.circuit_breaker.is_some_and(|rules| rules.scope == BreakerScope::Host) {
            let message = "'scope: host' of an endpoint that names no host: the tool has a breaker of its own";
            warnings.push(spec.error_at("execution.circuit_breaker.scope", message));
        }
        let guard = Guard::following(&spec, host, before.map(|tool| &**tool), &self.services);
        let schemas = (Arc::new(schema), returns.map(Arc::new));
        let probe = self.build.probe(&spec)?;
        let known = before.filter(|tool| tool.spec.check == spec.check).map(|tool| tool.availability.clone());
        let tool = Tool::new(Arc::new(spec), schemas, endpoint, guard, standing);
        Ok(Arc::new(tool.probed(probe, known.unwrap_or_default()).filled(dynamic)))
    }

    /// What of its parameters is fetched; what was fetched for an earlier version stays.
    fn parts(&self, spec: &Spec, before: &[Arc<Part>]) -> Result<Vec<Arc<Part>>, Finding> {
        let part = |(path, of): (&String, &Dynamic)| {
            let at = format!("dynamic.{path}");
            let pointer = path.trim_start_matches("parameters").replace('.', "/");
            let above = pointer.rsplit_once('/').map_or("", |(above, _)| above);
            if !spec.parameters.pointer(above).is_some_and(Value::is_object) {
                let message = format!("there is no '{}' in this tool", path.rsplit_once('.').map_or("", |(a, _)| a));
                return Err(spec.error_at(&at, message));
            }
            if let Some(part) = before.iter().find(|part| part.is(&pointer, of)) {
                return Ok(part.clone());
            }
            Ok(Part::new(pointer, of, self.build.fetch(spec, &at, of)?, self.changed.clone()))
        };
        spec.dynamic.iter().map(part).collect()
    }
}

/// What [`Registry::examine`] found.
#[derive(Debug, Default)]
pub struct Examined {
    pub specs: Vec<ExaminedSpec>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

/// A spec that is good.
#[derive(Debug)]
pub struct ExaminedSpec {
    pub spec: Spec,
    /// Its document alone.
    pub text: String,
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
