//! One tool as the gateway holds it: spec, schemas, endpoint, guard.

use std::sync::Arc;

use contract::{Digest, Failure};
use serde_json::{Value, json};

use crate::{
    endpoint::Endpoint,
    guard::Guard,
    resources,
    schema::{Prepared, Schema},
    spec::Spec,
};

/// A tool that is ready to run.
pub struct Tool {
    pub name: Arc<str>,
    pub spec: Arc<Spec>,
    pub digest: Digest,
    pub schema: Schema,
    pub returns: Option<Schema>,
    pub endpoint: Arc<dyn Endpoint>,
    /// Shared with the versions before and after this one while its numbers stay the same.
    pub guard: Arc<Guard>,
    described: Arc<Value>,
}

impl Tool {
    pub(crate) fn new(
        spec: Arc<Spec>,
        schema: Schema,
        returns: Option<Schema>,
        endpoint: Arc<dyn Endpoint>,
        guard: Arc<Guard>,
    ) -> Self {
        let described = Arc::new(json!({
            "name": &*spec.name,
            "description": description(&spec),
            "parameters": spec.parameters,
        }));
        Self { name: spec.name.clone(), digest: spec.digest(), spec, schema, returns, endpoint, guard, described }
    }

    /// Coerces and validates; all problems at once, with how the tool is called.
    pub fn prepare(&self, args: Value) -> Result<Prepared, Failure> {
        self.schema
            .coerce_and_validate(args)
            .map_err(|problems| Failure::invalid_args(&self.name, problems, self.usage()))
    }

    /// Why it cannot be used at present; nothing when it can. Reads the environment, no file, no network.
    pub fn unavailable(&self) -> Option<String> {
        let is_unset = |name: &&String| std::env::var_os(name).is_none_or(|value| value.is_empty());
        self.spec.requires_env.iter().find(is_unset).map(|name| format!("the environment variable '{name}' is not set"))
    }

    pub fn is_repeatable(&self) -> bool {
        self.spec.is_repeatable()
    }

    /// `/order_query order_id [status=pending|paid]`.
    pub fn usage(&self) -> String {
        self.schema.usage(&self.name)
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
fn description(spec: &Spec) -> String {
    match spec.deprecated.as_deref() {
        None => spec.description.clone(),
        Some("") => format!("{} (deprecated)", spec.description),
        Some(message) => format!("{} (deprecated: {message})", spec.description),
    }
}
