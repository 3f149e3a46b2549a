//! The key `endpoint`, by type.

mod command;

use policies::tree::{Kind, Node, Place};
use serde_json::{Value, json};

use super::{
    super::{
        fields::{Diagnosis, Fields, choice_of, text_of},
        types::{EndpointSpec, FILE_LIMIT, FILE_LIMIT_MAX, HttpSpec, OnError, PipelineSpec, Placed, Step, StepCall},
    },
    METHODS,
};

const HTTP: &[&str] = &["type", "method", "url", "headers", "rename", "in", "file_limit", "credential"];
const STEP: &[&str] = &["id", "tool", "args", "when", "for_each", "on_error", "default", "optional", "parallel"];
/// What a step of a parallel group may say: the same, and no further group.
const STEP_ALONE: &[&str] = STEP.split_at(STEP.len() - 1).0;

#[derive(Clone, Copy)]
enum Type {
    Http,
    Mcp,
    Command,
    Pipeline,
    Native,
}

/// What carries the calls out.
pub fn endpoint(node: &Node, found: &mut Diagnosis) -> Option<EndpointSpec> {
    let types = [
        ("http", Type::Http),
        ("mcp", Type::Mcp),
        ("command", Type::Command),
        ("pipeline", Type::Pipeline),
        ("native", Type::Native),
    ];
    let chosen = match node.get("type") {
        Some(node) => choice_of(node, "type", &types, found)?,
        None => Type::Http,
    };
    match chosen {
        Type::Http => http(node, found).map(EndpointSpec::Http),
        Type::Pipeline => pipeline(node, found).map(EndpointSpec::Pipeline),
        Type::Native => {
            let fields = Fields::of(node, "a native endpoint", &["type", "name"], found)?;
            let name = fields.required("name", "a native endpoint", found)?;
            Some(EndpointSpec::Native { name: text_of(name, "name", found)? })
        }
        Type::Mcp => {
            let fields = Fields::of(node, "an mcp endpoint", &["type", "server", "tool"], found)?;
            let server = fields.required("server", "an mcp endpoint", found)?;
            let tool = fields.required("tool", "an mcp endpoint", found)?;
            Some(EndpointSpec::Mcp { server: text_of(server, "server", found)?, tool: text_of(tool, "tool", found)? })
        }
        Type::Command => command::command(node, found).map(EndpointSpec::Command),
    }
}

fn http(node: &Node, found: &mut Diagnosis) -> Option<HttpSpec> {
    let fields = Fields::of(node, "an http endpoint", HTTP, found)?;
    let url_at = fields.required("url", "an http endpoint", found)?;
    let url = text_of(url_at, "url", found)?;
    url_is_fit(&url, url_at.at, found);
    let method = match fields.node("method") {
        None => "GET",
        Some(node) => method(node, found)?,
    };
    Some(HttpSpec {
        method: method.to_owned(),
        url,
        headers: fields.pairs("headers", found),
        rename: fields.pairs("rename", found),
        places: places(&fields, found),
        file_limit: file_limit(&fields, found),
        credential: fields.text("credential", found),
    })
}

/// `in: { dry_run: query, customer: header }`.
fn places(fields: &Fields<'_>, found: &mut Diagnosis) -> Vec<(String, Placed)> {
    let words = [("path", Placed::Path), ("query", Placed::Query), ("header", Placed::Header), ("body", Placed::Body)];
    let mut out = Vec::new();
    for (name, node) in fields.map("in", found) {
        out.extend(choice_of(node, &name.name, &words, found).map(|placed| (name.name.clone(), placed)));
    }
    out
}

fn file_limit(fields: &Fields<'_>, found: &mut Diagnosis) -> u64 {
    let Some(limit) = command::size(fields, "file_limit", found) else { return FILE_LIMIT };
    if limit > FILE_LIMIT_MAX
        && let Some(at) = fields.place("file_limit")
    {
        found.error(at, format!("'file_limit' can be {} MiB at most", FILE_LIMIT_MAX >> 20));
    }
    limit
}

/// In any case, as tutorials write them.
fn method(node: &Node, found: &mut Diagnosis) -> Option<&'static str> {
    let upper = match node.value() {
        Value::String(text) => text.to_ascii_uppercase(),
        _ => String::new(),
    };
    match METHODS.iter().find(|(name, _)| *name == upper) {
        Some((name, _)) => Some(name),
        None => choice_of(node, "method", METHODS, found),
    }
}

fn url_is_fit(url: &str, at: Place, found: &mut Diagnosis) {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let wrong = match host {
        None => Some("'url' has to begin with http:// or https://"),
        Some("") => Some("'url' names no host"),
        // Else an argument could choose which machine is spoken to.
        Some(host) if host.contains(['{', '}']) => Some("the host of 'url' cannot come from an argument"),
        Some(_) if url.chars().any(|c| c.is_whitespace() || c.is_control()) => Some("'url' has white space in it"),
        Some(_) if url.matches('{').count() != url.matches('}').count() => {
            Some("'url' has a brace without its partner")
        }
        Some(host) => host_is_wrong(host),
    };
    if let Some(wrong) = wrong {
        found.error_hint(at, wrong, Some("write it like https://api.example.com/orders/{id}".to_owned()));
    }
}

fn host_is_wrong(host: &str) -> Option<&'static str> {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if host.starts_with('[') {
        return (!host.contains(']')).then_some("the address in 'url' has no ']'");
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty() && !label.starts_with('-') && label.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
    };
    match port {
        _ if name.is_empty() => Some("'url' names no host"),
        Some(port) if port.parse::<u16>().is_err() => Some("the port in 'url' is none: 1 to 65535"),
        _ if !name.strip_suffix('.').unwrap_or(name).split('.').all(is_label) => {
            Some("the host in 'url' cannot be one")
        }
        _ => None,
    }
}

/// Most steps of a pipeline, those of parallel groups counted one by one.
const STEPS_MAX: usize = 100;

fn pipeline(node: &Node, found: &mut Diagnosis) -> Option<PipelineSpec> {
    let fields = Fields::of(node, "a pipeline", &["type", "steps", "result"], found)?;
    let steps_at = fields.required("steps", "a pipeline", found)?;
    let mut ids: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    for node in fields.list("steps", found) {
        let Some(step) = Fields::of(node, "a step", STEP, found) else { continue };
        if step.place("parallel").is_none() {
            steps.extend(step_call(&step, &mut ids, found).map(Step::Call));
            continue;
        }
        for &key in STEP_ALONE {
            if let Some(at) = step.place(key) {
                found.error(at, format!("'{key}' does not go with 'parallel': write it in the steps below"));
            }
        }
        let mut group = Vec::new();
        for node in step.list("parallel", found) {
            if let Some(step) = Fields::of(node, "a step", STEP_ALONE, found) {
                group.extend(step_call(&step, &mut ids, found));
            }
        }
        steps.push(Step::Parallel(group));
    }
    if ids.is_empty() || ids.len() > STEPS_MAX {
        found.error(steps_at.at, format!("a pipeline has 1 to {STEPS_MAX} steps"));
    }
    Some(PipelineSpec { steps, result: fields.node("result").map(Node::value) })
}

fn step_call(step: &Fields<'_>, ids: &mut Vec<String>, found: &mut Diagnosis) -> Option<StepCall> {
    let tool = text_of(step.required("tool", "a step", found)?, "tool", found)?;
    let id = step.text("id", found).unwrap_or_else(|| tool.clone());
    if ids.contains(&id) {
        found.error(step.at, format!("two steps are called '{id}': give one an 'id' of its own"));
    }
    ids.push(id.clone());
    let args = match step.node("args") {
        None => json!({}),
        Some(node) if matches!(node.kind, Kind::Map(_)) => node.value(),
        Some(node) => {
            found.error(node.at, format!("'args' has to be a map, not {}", node.is_a()));
            return None;
        }
    };
    Some(StepCall {
        id,
        tool,
        args,
        when: step.text("when", found),
        for_each: step.node("for_each").map(Node::value),
        on_error: on_error(step, found),
    })
}

/// `on_error: fail|skip|default`; `default` alone means the last, `optional: true` the second.
fn on_error(step: &Fields<'_>, found: &mut Diagnosis) -> OnError {
    let default = step.node("default").map(Node::value);
    let is_optional = step.flag("optional", found).unwrap_or(false);
    match (step.choice("on_error", &[("fail", "fail"), ("skip", "skip"), ("default", "default")], found), default) {
        (Some("default") | None, Some(value)) => OnError::Default(value),
        (Some("default"), None) => {
            found.error(step.at, "'on_error: default' needs a 'default'");
            OnError::Fail
        }
        (Some("skip"), _) => OnError::Skip,
        (None, None) if is_optional => OnError::Skip,
        (Some(_) | None, _) => OnError::Fail,
    }
}
