//! What can be wrong with a pipeline before it ever runs.

use contract::{Finding, text};
use serde_json::{Value, json};
use tools::{
    Spec,
    spec::{OnError, PipelineSpec, Step, StepCall},
};

use super::template::Templates;

/// Every template can be read and uses only what is there when it runs: parameters, and steps that came before.
pub fn check(spec: &Spec, pipeline: &PipelineSpec, templates: &Templates) -> Result<(), Finding> {
    let mut check = Check { spec, templates, done: Vec::new() };
    for (n, step) in pipeline.steps.iter().enumerate() {
        let path = format!("endpoint.steps.{n}");
        match step {
            Step::Call(call) => check.call(call, &path)?,
            Step::Parallel(calls) => {
                for (i, call) in calls.iter().enumerate() {
                    check.call(call, &format!("{path}.parallel.{i}"))?;
                }
            }
        }
        let ids = match step {
            Step::Call(call) => std::slice::from_ref(call),
            Step::Parallel(calls) => calls,
        };
        check.done.extend(ids.iter().map(|call| call.id.as_str()));
    }
    match &pipeline.result {
        Some(result) => check.value(result, "endpoint.result", false),
        None => Ok(()),
    }
}

struct Check<'a> {
    spec: &'a Spec,
    templates: &'a Templates,
    done: Vec<&'a str>,
}

impl Check<'_> {
    fn call(&self, call: &StepCall, path: &str) -> Result<(), Finding> {
        if call.tool == *self.spec.name {
            return Err(self.spec.error_at(&format!("{path}.tool"), "a pipeline cannot call itself"));
        }
        // A tool's own name may be no identifier: then templates cannot speak of the step, and need not.
        if call.id != call.tool && !is_identifier(&call.id) {
            let message = format!("the step's id '{}' cannot be used in templates", text::one_line(&call.id, 64));
            return Err(self.spec.error_at(path, message).hint("give it an 'id' of letters, digits and '_'"));
        }
        if let Some(when) = &call.when {
            let used = self.templates.variables_of(when);
            self.variables(used, &format!("{path}.when"), false)?;
        }
        if let Some(each) = &call.for_each {
            if !matches!(each, Value::Array(_) | Value::String(_)) {
                let message = "'for_each' has to be a list, or a template that gives one";
                return Err(self.spec.error_at(&format!("{path}.for_each"), message));
            }
            self.value(each, &format!("{path}.for_each"), false)?;
        }
        if let OnError::Default(value) = &call.on_error {
            self.value(value, &format!("{path}.default"), false)?;
        }
        self.value(&call.args, &format!("{path}.args"), call.for_each.is_some())
    }

    fn value(&self, value: &Value, path: &str, has_item: bool) -> Result<(), Finding> {
        self.variables(self.templates.variables(value), path, has_item)
    }

    fn variables(&self, used: Result<Vec<String>, String>, path: &str, has_item: bool) -> Result<(), Finding> {
        let used = used.map_err(|why| self.spec.error_at(path, format!("the template is not readable: {why}")))?;
        used.iter().try_for_each(|name| self.variable(name, path, has_item))
    }

    fn variable(&self, name: &str, path: &str, has_item: bool) -> Result<(), Finding> {
        let mut parts = name.split('.');
        let (root, field) = (parts.next().unwrap_or_default(), parts.next());
        let none = json!({});
        let known: Vec<&str> = match root {
            "args" => self
                .spec
                .parameters
                .get("properties")
                .unwrap_or(&none)
                .as_object()
                .map(|map| map.keys().map(String::as_str).collect())
                .unwrap_or_default(),
            "steps" => self.done.clone(),
            "item" | "index" if has_item => return Ok(()),
            "item" | "index" => {
                return Err(self.spec.error_at(path, format!("'{root}' is there only in a step with 'for_each'")));
            }
            // The template language's own functions.
            "range" | "dict" | "namespace" | "debug" | "loop" => return Ok(()),
            _ => {
                let error = self.spec.error_at(path, format!("nothing is called '{}' here", text::one_line(root, 64)));
                return Err(error.hint("there are 'args', 'steps', and with 'for_each' also 'item' and 'index'"));
            }
        };
        let Some(field) = field.filter(|field| !known.contains(field)) else { return Ok(()) };
        let message = match root {
            "args" => format!("the tool has no parameter '{field}'"),
            _ => format!("no step before this one is called '{field}'"),
        };
        let error = self.spec.error_at(path, message);
        Err(match text::nearest(field, known) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error,
        })
    }
}

fn is_identifier(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
