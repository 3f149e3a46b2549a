//! From a tree to a [`Spec`].

mod endpoint;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contract::{Digest, Platform};
use policies::tree::{Kind, Node};
use serde_json::{Value, json};

use super::{
    fields::{Diagnosis, Fields, choice_of, text_of},
    is_name,
    types::{
        Breaker, BreakerScope, Check, Dynamic, EndpointSpec, Example, Execution, PayloadLog, Places, Publish,
        RETRIES_MAX, ResourceScope, Spec,
    },
};
use crate::select::Select;

const KEYS: &[&str] = &[
    "name",
    "toolset",
    "description",
    "parameters",
    "returns",
    "permissions",
    "platforms",
    "requires_env",
    "check",
    "endpoint",
    "execution",
    "max_result_size_chars",
    "select",
    "full_payload_log",
    "publish",
    "pinned",
    "override",
    "deprecated",
    "dynamic",
    "examples",
];
const EXECUTION: &[&str] = &[
    "timeout",
    "total_timeout",
    "retries",
    "retry_interval",
    "backoff_multiplier",
    "concurrency_limit",
    "rate_limit",
    "circuit_breaker",
    "idempotent",
    "parallel",
    "resource",
    "resource_scope",
    "async",
];
pub(super) const METHODS: &[(&str, &str)] =
    &[("GET", "GET"), ("HEAD", "HEAD"), ("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE")];

/// As long as a turn may take.
const PIPELINE_TIMEOUT: Duration = Duration::from_secs(300);

/// The document's name, if it has a fit one.
pub fn name_of(root: &Node) -> Option<String> {
    match root.get("name")?.value() {
        Value::String(name) if is_name(&name) => Some(name),
        _ => None,
    }
}

/// Reads on after an error so that all are said at once; what is returned beside errors is not to be used.
pub fn spec(root: &Node, found: &mut Diagnosis) -> Option<Spec> {
    let fields = Fields::of(root, "a tool", KEYS, found)?;
    let name = name(&fields, found);
    let endpoint = match fields.required("endpoint", "a tool", found) {
        Some(node) => endpoint::endpoint(node, found),
        None => None,
    };
    let mut execution = fields.node("execution").and_then(|node| execution(node, found)).unwrap_or_default();
    let has_own_time = root.get("execution").is_some_and(|node| node.get("timeout").is_some());
    if matches!(endpoint, Some(EndpointSpec::Pipeline(_))) && !has_own_time {
        // Else it would end before its own step does, and nobody would learn which one did not answer.
        execution.timeout = PIPELINE_TIMEOUT;
    }
    let texts = |key, found: &mut Diagnosis| fields.texts(key, found).unwrap_or_default();
    let spec = Spec {
        name: name.as_deref().unwrap_or_default().into(),
        toolset: toolset(&fields, found).into(),
        description: fields.text("description", found).unwrap_or_default().trim().to_owned(),
        parameters: parameters(&fields, found),
        returns: schema(&fields, "returns", found),
        permissions: labels(&fields, found).into_iter().map(Arc::from).collect(),
        platforms: platforms(&fields, found),
        requires_env: texts("requires_env", found),
        check: check(&fields, found),
        // Stands in for what is wrong and has been said, so that the rest is read too.
        endpoint: endpoint.unwrap_or_else(|| EndpointSpec::Native { name: String::new() }),
        execution,
        max_result_size_chars: fields.count("max_result_size_chars", 100, found),
        select: select(&fields, found),
        full_payload_log: payload_log(&fields, found),
        publish: fields
            .choice("publish", &[("auto", Publish::Auto), ("manual", Publish::Manual)], found)
            .unwrap_or(Publish::Auto),
        pinned: fields.flag("pinned", found).unwrap_or(false),
        overrides: fields.flag("override", found).unwrap_or(false),
        deprecated: deprecated(&fields, found),
        dynamic: dynamic(&fields, found),
        examples: examples(&fields, found),
        places: Places { file: found.file.clone(), root: Arc::new(root.clone()) },
        digest: Digest::of_json(&root.value()),
    };
    name.map(|_| spec)
}

fn select(fields: &Fields<'_>, found: &mut Diagnosis) -> Option<Select> {
    let text = fields.text("select", found)?;
    let node = fields.node("select")?;
    Select::parse(&text).inspect_err(|why| found.error(node.at, format!("'select' cannot be read: {why}"))).ok()
}

fn name(fields: &Fields<'_>, found: &mut Diagnosis) -> Option<String> {
    let node = fields.required("name", "a tool", found)?;
    let name = text_of(node, "name", found)?;
    if !is_name(&name) {
        let shown = contract::text::one_line(&name, 80);
        found.error(node.at, format!("the name '{shown}' is not fit: 1 to 64 of a-z, 0-9, '_' and '-'"));
        return None;
    }
    Some(name)
}

fn toolset(fields: &Fields<'_>, found: &mut Diagnosis) -> String {
    let Some(toolset) = fields.text("toolset", found) else { return "default".to_owned() };
    if !is_name(&toolset) {
        let shown = contract::text::one_line(&toolset, 80);
        let at = fields.node("toolset").map_or(fields.at, |n| n.at);
        found.error(at, format!("the toolset '{shown}' is not fit: 1 to 64 of a-z, 0-9, '_' and '-'"));
    }
    toolset
}

fn labels(fields: &Fields<'_>, found: &mut Diagnosis) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for node in fields.list("permissions", found) {
        match text_of(node, "permissions", found) {
            Some(label) if !is_name(&label) => {
                let shown = contract::text::one_line(&label, 40);
                found.error(node.at, format!("the label '{shown}' is not fit: 1 to 64 of a-z, 0-9, '_' and '-'"));
            }
            Some(label) if !labels.contains(&label) => labels.push(label),
            Some(_) | None => {}
        }
    }
    labels
}

fn platforms(fields: &Fields<'_>, found: &mut Diagnosis) -> Option<Vec<Platform>> {
    fields.node("platforms")?;
    let words = Platform::ALL.map(|p| (p.as_str(), p));
    Some(fields.list("platforms", found).iter().filter_map(|n| choice_of(n, "platforms", &words, found)).collect())
}

/// The arguments' schema, an object even when nothing is said.
fn parameters(fields: &Fields<'_>, found: &mut Diagnosis) -> Value {
    let Some(mut schema) = schema(fields, "parameters", found) else {
        return json!({ "type": "object", "properties": {} });
    };
    let at = fields.node("parameters").map_or(fields.at, |n| n.at);
    match schema.get("type") {
        None => {
            schema["type"] = json!("object");
        }
        Some(kind) if kind == "object" => {}
        Some(_) => found.error(at, "'parameters' has to be of type object: arguments have names"),
    }
    schema
}

/// A JSON Schema written as YAML.
fn schema(fields: &Fields<'_>, key: &str, found: &mut Diagnosis) -> Option<Value> {
    let node = fields.node(key)?;
    match &node.kind {
        Kind::Map(_) => Some(node.value()),
        Kind::Scalar(_) | Kind::Seq(_) => {
            let message = format!("'{key}' has to be a JSON Schema written as YAML, not {}", node.is_a());
            found.error_hint(node.at, message, Some("write 'type: object' and 'properties:' below it".to_owned()));
            None
        }
    }
}

fn check(fields: &Fields<'_>, found: &mut Diagnosis) -> Option<Check> {
    let node = fields.node("check")?;
    let inner = Fields::of(node, "'check'", &["http", "tcp", "command"], found)?;
    let ways: Vec<&str> = ["http", "tcp", "command"].into_iter().filter(|key| inner.node(key).is_some()).collect();
    let [way] = ways[..] else {
        found.error(node.at, "'check' has exactly one of 'http', 'tcp' and 'command'");
        return None;
    };
    if way == "command" {
        let argv = inner.texts("command", found)?;
        if argv.is_empty() {
            found.error(node.at, "'check.command' is a program and its arguments, one text each");
            return None;
        }
        return Some(Check::Command(argv));
    }
    let text = inner.text(way, found)?;
    if way == "http" {
        return Some(Check::Http(text));
    }
    match text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(_) => Some(Check::Tcp(text)),
        None => {
            found.error(inner.node("tcp").map_or(node.at, |node| node.at), "'check.tcp' is written HOST:PORT");
            None
        }
    }
}

fn payload_log(fields: &Fields<'_>, found: &mut Diagnosis) -> PayloadLog {
    let Some(node) = fields.node("full_payload_log") else { return PayloadLog::Never };
    let Kind::Scalar(scalar) = &node.kind else {
        // The other way to write it: `{ for: 2h }`.
        let inner = Fields::of(node, "'full_payload_log'", &["for"], found);
        let time = inner.and_then(|f| f.duration("for", found));
        return time.map_or(PayloadLog::Never, PayloadLog::For);
    };
    let time = scalar.text.strip_prefix("for:").and_then(|t| contract::text::duration(t.trim()));
    match (scalar.value(), time) {
        (Value::Bool(true), _) => PayloadLog::Always,
        (Value::Bool(false), _) => PayloadLog::Never,
        (_, Some(time)) => PayloadLog::For(time),
        (_, None) => {
            found.error(node.at, "'full_payload_log' has to be true, false or '{ for: 2h }'");
            PayloadLog::Never
        }
    }
}

fn deprecated(fields: &Fields<'_>, found: &mut Diagnosis) -> Option<String> {
    let node = fields.node("deprecated")?;
    match node.value() {
        Value::Bool(is_so) => is_so.then(String::new),
        _ => text_of(node, "deprecated", found),
    }
}

fn dynamic(fields: &Fields<'_>, found: &mut Diagnosis) -> BTreeMap<String, Dynamic> {
    let mut out = BTreeMap::new();
    for (key, node) in fields.map("dynamic", found) {
        let what = format!("'dynamic.{}'", key.name);
        let Some(inner) = Fields::of(node, &what, &["url", "ttl", "select"], found) else { continue };
        if !key.name.starts_with("parameters.") {
            found.error(key.at, format!("{what} has to begin with 'parameters.': only they are filled in"));
            continue;
        }
        inner.required("url", &what, found);
        let url = inner.text("url", found).unwrap_or_default();
        let ttl = inner.duration("ttl", found).unwrap_or(Duration::from_secs(300));
        if ttl < TTL_LEAST {
            found.error(node.at, format!("the 'ttl' of {what} is at least {} s", TTL_LEAST.as_secs()));
        }
        out.insert(key.name.clone(), Dynamic { url, ttl, select: select(&inner, found) });
    }
    out
}

fn examples(fields: &Fields<'_>, found: &mut Diagnosis) -> Vec<Example> {
    let mut out = Vec::new();
    for node in fields.list("examples", found) {
        let Some(inner) = Fields::of(node, "an example", &["say", "args"], found) else { continue };
        let say = inner.text("say", found).unwrap_or_default();
        let args = inner.node("args").map_or_else(|| json!({}), Node::value);
        out.push(Example { say, args });
    }
    out
}

/// Least time between two fetches of a part of the parameters.
const TTL_LEAST: Duration = Duration::from_secs(5);

fn execution(node: &Node, found: &mut Diagnosis) -> Option<Execution> {
    let fields = Fields::of(node, "'execution'", EXECUTION, found)?;
    let usual = Execution::default();
    let scopes = [("process", ResourceScope::Process), ("global", ResourceScope::Global)];
    Some(Execution {
        timeout: fields.duration("timeout", found).unwrap_or(usual.timeout),
        total_timeout: fields.duration("total_timeout", found),
        retries: retries(&fields, found),
        retry_interval: fields.duration("retry_interval", found).unwrap_or(usual.retry_interval),
        backoff_multiplier: fields.factor("backoff_multiplier", found).unwrap_or(usual.backoff_multiplier),
        concurrency_limit: concurrency_limit(&fields, found),
        rate_limit: fields.rate("rate_limit", found),
        circuit_breaker: fields.node("circuit_breaker").and_then(|node| breaker(node, found)),
        idempotent: fields.flag("idempotent", found),
        parallel: fields.flag("parallel", found).unwrap_or(usual.parallel),
        resource: fields.text("resource", found).filter(|r| !r.is_empty()),
        resource_scope: fields.choice("resource_scope", &scopes, found).unwrap_or(usual.resource_scope),
        r#async: fields.node("async").and_then(|node| super::jobs::read(node, found)),
    })
}

/// Most calls at once that a tool may ask for; more is no limit.
const CONCURRENCY_MAX: usize = 100_000;

fn concurrency_limit(fields: &Fields<'_>, found: &mut Diagnosis) -> Option<usize> {
    let limit: usize = fields.count("concurrency_limit", 1, found)?;
    if limit > CONCURRENCY_MAX {
        let at = fields.node("concurrency_limit").map_or(fields.at, |n| n.at);
        found.error(at, format!("'concurrency_limit' is at most {CONCURRENCY_MAX}"));
    }
    Some(limit.min(CONCURRENCY_MAX))
}

fn retries(fields: &Fields<'_>, found: &mut Diagnosis) -> u32 {
    let retries: u32 = fields.count("retries", 0, found).unwrap_or_default();
    if retries > RETRIES_MAX {
        let at = fields.node("retries").map_or(fields.at, |n| n.at);
        found.error(at, format!("'retries' is at most {RETRIES_MAX}"));
    }
    retries.min(RETRIES_MAX)
}

const BREAKER: &[&str] = &["failure_threshold", "cooldown", "failure_rate", "window", "minimum_calls", "scope"];

fn breaker(node: &Node, found: &mut Diagnosis) -> Option<Breaker> {
    let fields = Fields::of(node, "'circuit_breaker'", BREAKER, found)?;
    let usual = Breaker::default();
    let scopes = [("tool", BreakerScope::Tool), ("host", BreakerScope::Host)];
    Some(Breaker {
        failure_threshold: fields.count("failure_threshold", 1, found).unwrap_or(usual.failure_threshold),
        cooldown: fields.duration("cooldown", found).unwrap_or(usual.cooldown),
        failure_percent: fields.percent("failure_rate", found),
        window: fields.duration("window", found).unwrap_or(usual.window),
        minimum_calls: fields.count("minimum_calls", 1, found).unwrap_or(usual.minimum_calls),
        scope: fields.choice("scope", &scopes, found).unwrap_or(usual.scope),
    })
}
