//! What is allowed in a spec but hardly meant, and what this version does not act on yet.

use serde_json::Value;

use super::{
    fields::Diagnosis,
    keys, quotes,
    types::{EndpointSpec, HttpSpec, ResourceScope, Spec},
    vague::vague,
};

pub fn spec(spec: &Spec, found: &mut Diagnosis) {
    inactive(spec, found);
    name(spec, found);
    description(spec, found);
    if spec.returns.is_none() {
        warn(spec, "", "no 'returns': the answer passes unchecked", found);
    }
    execution(spec, found);
    if let EndpointSpec::Http(http) = &spec.endpoint {
        self::http(spec, http, found);
    }
    quotes::unquoted(&spec.places.root, found);
    keys::by_their_looks(&spec.places.root, found);
    if let Some(template) = &spec.execution.resource {
        for name in holes(template) {
            known_parameter(spec, "execution.resource", name, found);
        }
    }
}

fn warn(spec: &Spec, path: &str, message: impl Into<String>, found: &mut Diagnosis) {
    found.warning(spec.places.of(path), message);
}

/// Nothing that is written is ignored silently.
fn inactive(spec: &Spec, found: &mut Diagnosis) {
    if spec.execution.resource_scope == ResourceScope::Global {
        let message =
            "'resource_scope: global' is not active in this version: calls wait for each other in one process";
        warn(spec, "execution.resource_scope", message, found);
    }
}

/// Names that mean something else where a tool is called.
const TAKEN: &[&str] = &[
    "start",
    "help",
    "tools",
    "trace",
    "stop",
    "new",
    "status",
    "delegate",
    "tool_search",
    "tool_describe",
    "tool_call",
    "read_result",
];

fn name(spec: &Spec, found: &mut Diagnosis) {
    if TAKEN.contains(&&*spec.name) {
        let message = format!("'{}' is a word of the gateway's own: the tool can hardly be called", spec.name);
        warn(spec, "name", message, found);
    }
}

fn description(spec: &Spec, found: &mut Diagnosis) {
    if spec.description.is_empty() {
        let hint = "write 'description': what it does, and when to use it";
        let message = "no 'description': nobody can tell what the tool is for";
        return found.warning_hint(spec.places.of("name"), message, hint.to_owned());
    }
    if let Some(why) = vague(&spec.description, &spec.name) {
        let hint = "say what the tool does and when to use it; a model chooses by it".to_owned();
        found.warning_hint(spec.places.of("description"), why, hint);
    }
}

fn execution(spec: &Spec, found: &mut Diagnosis) {
    let execution = &spec.execution;
    if execution.retries > 0 && !spec.is_repeatable() && !spec.honours_key() {
        let message = "'retries' of a tool that is not idempotent: only what was surely not carried out is repeated";
        warn(spec, "execution.retries", message, found);
    }
    let leaves_us = match &spec.endpoint {
        EndpointSpec::Http(_) | EndpointSpec::Mcp { .. } | EndpointSpec::Command(_) => true,
        EndpointSpec::Pipeline(_) | EndpointSpec::Native { .. } => false,
    };
    if leaves_us && execution.concurrency_limit.is_none() {
        warn(spec, "execution", "no 'concurrency_limit': any number of calls may run at once", found);
    }
    if let Some(total) = execution.total_timeout
        && total < execution.timeout
    {
        warn(spec, "execution.total_timeout", "'total_timeout' is less than 'timeout'", found);
    }
}

fn http(spec: &Spec, http: &HttpSpec, found: &mut Diagnosis) {
    let (path, query) = http.url.split_once('?').unwrap_or((&http.url, ""));
    for name in holes(path) {
        known_parameter(spec, "endpoint.url", name, found);
        if is_parameter(spec, name) && !is_required(spec, name) {
            let message = format!("'{{{name}}}' is part of the path, but '{name}' is not required");
            warn(spec, "endpoint.url", message, found);
        }
    }
    for name in holes(query) {
        known_parameter(spec, "endpoint.url", name, found);
    }
    for (ours, _) in &http.rename {
        let first = ours.split('.').next().unwrap_or(ours);
        known_parameter(spec, &format!("endpoint.rename.{ours}"), first, found);
    }
    let literal = "holds a literal key: everybody who reads the file can use it";
    let has_userinfo =
        path.split_once("://").is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|h| h.contains('@')));
    if has_userinfo || query.split('&').filter_map(|pair| pair.split_once('=')).any(|(k, v)| is_secret(k, v)) {
        let at = spec.places.of("endpoint.url");
        found.warning_hint(at, format!("'url' {literal}"), keys::WHAT_TO_DO.to_owned());
    }
    for (name, value) in http.headers.iter().filter(|(name, value)| is_secret(name, value)) {
        debug_assert!(!value.is_empty());
        let at = spec.places.of(&format!("endpoint.headers.{name}"));
        found.warning_hint(at, format!("the header '{name}' {literal}"), keys::WHAT_TO_DO.to_owned());
    }
}

/// Whether a value under such a name is a key rather than a reference or a template.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_lowercase().replace('_', "-");
    let is_named_so = ["authorization", "cookie", "key", "api-key", "apikey", "sig", "signature", "password", "pwd"]
        .contains(&&*name)
        || ["-key", "-token", "-secret", "-auth", "-password"].iter().any(|end| name.ends_with(end))
        || ["token", "secret", "auth", "apikey"].contains(&&*name);
    let is_reference = ["env:", "file:", "exec:", "vault:"].iter().any(|scheme| value.starts_with(scheme));
    is_named_so && !value.is_empty() && !is_reference && !value.contains('{')
}

fn known_parameter(spec: &Spec, path: &str, name: &str, found: &mut Diagnosis) {
    if !is_parameter(spec, name) {
        let first = name.split('.').next().unwrap_or(name);
        let properties = spec.parameters.get("properties").and_then(Value::as_object);
        let hint = properties.and_then(|map| contract::text::nearest(first, map.keys().map(String::as_str)));
        let hint = hint.map(|near| format!(": did you mean '{near}'?")).unwrap_or_default();
        warn(spec, path, format!("'{name}' is no parameter of the tool{hint}"), found);
    }
}

fn is_parameter(spec: &Spec, name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    spec.parameters.get("properties").and_then(Value::as_object).is_some_and(|map| map.contains_key(first))
}

fn is_required(spec: &Spec, name: &str) -> bool {
    let required = spec.parameters.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|n| n == name))
}

/// The names in braces.
fn holes(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name))
}
