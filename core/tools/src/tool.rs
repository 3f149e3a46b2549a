//! One tool as the gateway holds it: spec, schemas, endpoint, guard.

use std::sync::Arc;

use contract::{Digest, Failure, FileRef};
use serde_json::{Value, json};

use crate::{
    availability::{Availability, Probe},
    dynamic::Part,
    endpoint::Endpoint,
    guard::Guard,
    registry::Standing,
    resources,
    schema::{Prepared, Schema},
    spec::Spec,
};

/// A tool that is ready to run.
pub struct Tool {
    pub name: Arc<str>,
    pub spec: Arc<Spec>,
    pub digest: Digest,
    pub schema: Arc<Schema>,
    pub returns: Option<Arc<Schema>>,
    pub endpoint: Arc<dyn Endpoint>,
    /// Shared with the versions before and after this one while its numbers stay the same.
    pub guard: Arc<Guard>,
    /// Whether it is offered, and what the store says of it.
    pub standing: Standing,
    /// What is asked in the background, where the spec has a `check`.
    pub probe: Option<Arc<dyn Probe>>,
    pub availability: Arc<Availability>,
    /// What of its parameters is fetched.
    pub dynamic: Vec<Arc<Part>>,
    described: Arc<Value>,
}

impl Tool {
    pub(crate) fn new(
        spec: Arc<Spec>,
        (schema, returns): (Arc<Schema>, Option<Arc<Schema>>),
        endpoint: Arc<dyn Endpoint>,
        guard: Arc<Guard>,
        standing: Standing,
    ) -> Self {
        let described = Arc::new(json!({
            "name": &*spec.name,
            "description": description(&spec, &standing),
            "parameters": crate::files::told(&spec.parameters),
        }));
        let (name, digest) = (spec.name.clone(), spec.digest());
        Self {
            name,
            digest,
            spec,
            schema,
            returns,
            endpoint,
            guard,
            standing,
            probe: None,
            availability: Arc::default(),
            dynamic: Vec::new(),
            described,
        }
    }

    /// With a probe, and what is known by it.
    #[must_use]
    pub(crate) fn probed(self, probe: Option<Arc<dyn Probe>>, availability: Arc<Availability>) -> Self {
        Self { probe, availability, ..self }
    }

    /// With the parts of its parameters that are fetched.
    #[must_use]
    pub(crate) fn filled(self, dynamic: Vec<Arc<Part>>) -> Self {
        Self { dynamic, ..self }
    }

    /// The same tool where it stands now; with what it remembers and counts.
    pub(crate) fn standing_so(&self, standing: Standing) -> Self {
        let schemas = (self.schema.clone(), self.returns.clone());
        Self::new(self.spec.clone(), schemas, self.endpoint.clone(), self.guard.clone(), standing)
            .probed(self.probe.clone(), self.availability.clone())
            .filled(self.dynamic.clone())
    }

    /// Coerces and validates; all problems at once, with how the tool is called.
    pub fn prepare(&self, args: Value) -> Result<Prepared, Failure> {
        self.schema
            .coerce_and_validate(args)
            .map_err(|problems| Failure::invalid_args(&self.name, problems, self.usage()))
    }

    /// The arguments with the files of the message where it takes them.
    pub fn with_files(&self, args: Value, files: &[FileRef]) -> Result<Value, Failure> {
        crate::files::filled(&self.spec.parameters, args, files)
            .map_err(|problems| Failure::invalid_args(&self.name, problems, self.usage()))
    }

    /// Why it cannot be used at present; nothing when it can. Reads the environment, no file, no network.
    pub fn unavailable(&self) -> Option<String> {
        let is_unset = |name: &&String| std::env::var_os(name).is_none_or(|value| value.is_empty());
        let unset = self.spec.requires_env.iter().find(is_unset);
        unset.map(|name| format!("the environment variable '{name}' is not set")).or_else(|| {
            let why = self.probe.as_ref().and_then(|_| self.availability.failing())?;
            // What the endpoint itself needs of this host says so in its own words.
            Some(if self.spec.check.is_some() { format!("its 'check' says: {why}") } else { why })
        })
    }

    pub fn is_repeatable(&self) -> bool {
        self.spec.is_repeatable()
    }

    /// `/order_query order_id [status=pending|paid]`.
    pub fn usage(&self) -> String {
        self.schema.usage(&self.name)
    }

    /// What it is for, with a word on its end of life.
    pub fn description(&self) -> &str {
        self.described["description"].as_str().unwrap_or_default()
    }

    /// `{name, description, parameters}` as a model gets it.
    pub fn described(&self) -> Arc<Value> {
        self.described.clone()
    }

    /// What the call needs alone: `orders:A-17`; the tool's own name when it does not run in parallel.
    pub fn resource(&self, args: &Value) -> Option<String> {
        let execution = &self.spec.execution;
        match &execution.resource {
            Some(template) => Some(resources::fill(template, args)),
            None if !execution.parallel => Some(self.name.to_string()),
            None => None,
        }
    }
}

/// With a word on its end of life, which a model has to know of before it calls.
fn description(spec: &Spec, standing: &Standing) -> String {
    let by_operator = standing.deprecated.as_ref().map(|mark| mark.why.as_str());
    match by_operator.filter(|why| !why.is_empty()).or(spec.deprecated.as_deref()).or(by_operator) {
        None => spec.description.clone(),
        Some("") => format!("{} (deprecated)", spec.description),
        Some(message) => format!("{} (deprecated: {message})", spec.description),
    }
}
