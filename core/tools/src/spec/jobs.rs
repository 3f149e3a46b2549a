//! Tools whose answer says only that the work has begun: how it is asked for, and what its answers mean.

use std::time::Duration;

use policies::tree::Node;
use serde_json::Value;

use super::{
    fields::{Diagnosis, Fields, text_of},
    read::METHODS,
};

/// Nothing is asked about more often.
pub const INTERVAL_LEAST: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// No job is waited for longer.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// `execution.async`.
#[derive(Debug, Clone, PartialEq)]
pub struct Jobs {
    /// Where the answer to the call names the job, as a JSON pointer.
    pub id: String,
    pub poll: Asked,
    pub interval: Duration,
    pub done: Condition,
    pub failed: Option<Condition>,
    /// Where the answer of a job that is done has the result; the whole answer when nothing is said.
    pub result: String,
    /// Where it says how far it is, for people.
    pub progress: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// What is asked when nobody wants the job any more.
    pub cancel: Option<Asked>,
}

/// A request about a job; `{id}` in its address is the job, other names are arguments of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
}

/// `/status == 'done'`, several of them with `or`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Vec<Test>);

#[derive(Debug, Clone, PartialEq)]
struct Test {
    pointer: String,
    equal: bool,
    value: Value,
}

impl Condition {
    /// What is wrong with it, otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split(" or ").map(Test::parse).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_met(&self, by: &Value) -> bool {
        self.0.iter().any(|test| test.is_met(by))
    }
}

impl Test {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once("==").map(|(at, value)| (at, true, value));
        let parts = parts.or_else(|| text.split_once("!=").map(|(at, value)| (at, false, value)));
        let (pointer, equal, value) = parts.ok_or("a condition is written like: /status == 'done'")?;
        let (pointer, value) = (pointer.trim().to_owned(), value.trim());
        if !is_pointer(&pointer) {
            return Err(format!("'{pointer}' is no JSON pointer: it begins with '/'"));
        }
        let quoted = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let value = match quoted {
            Some(text) => Value::String(text.to_owned()),
            None => serde_json::from_str(value)
                .map_err(|_| format!("{value} is no value: a text stands in single quotes"))?,
        };
        Ok(Self { pointer, equal, value })
    }

    fn is_met(&self, by: &Value) -> bool {
        // Of what is not there nothing is known.
        by.pointer(&self.pointer).is_some_and(|found| (*found == self.value) == self.equal)
    }
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

const KEYS: &[&str] = &["id", "poll", "done", "failed", "result", "progress", "timeout", "cancel"];

pub(super) fn read(node: &Node, found: &mut Diagnosis) -> Option<Jobs> {
    let fields = Fields::of(node, "'async'", KEYS, found)?;
    let id = pointer(&fields, "id", found);
    let (poll, interval) = fields.required("poll", "'async'", found).and_then(|node| poll(node, found))?;
    let done = fields.required("done", "'async'", found).and_then(|node| condition(node, "done", found));
    let failed = fields.node("failed").and_then(|node| condition(node, "failed", found));
    let timeout = fields.duration("timeout", found).unwrap_or(TIMEOUT);
    if timeout > TIMEOUT_MAX {
        let at = fields.place("timeout").unwrap_or(fields.at);
        found.error(at, format!("'timeout' of a job is at most {} days", TIMEOUT_MAX.as_secs() / 86_400));
    }
    let cancel = fields.node("cancel").and_then(|node| {
        let fields = Fields::of(node, "'cancel'", &["method", "url", "headers"], found)?;
        asked(&fields, "'cancel'", "DELETE", found)
    });
    Some(Jobs {
        id: id.unwrap_or_else(|| "/id".to_owned()),
        poll,
        interval,
        done: done?,
        failed,
        result: pointer(&fields, "result", found).unwrap_or_default(),
        progress: pointer(&fields, "progress", found),
        timeout: timeout.min(TIMEOUT_MAX),
        cancel,
    })
}

fn poll(node: &Node, found: &mut Diagnosis) -> Option<(Asked, Duration)> {
    let fields = Fields::of(node, "'poll'", &["method", "url", "interval", "headers"], found)?;
    let interval = fields.duration("interval", found).unwrap_or(INTERVAL);
    if interval < INTERVAL_LEAST {
        let at = fields.place("interval").unwrap_or(fields.at);
        found.error(at, format!("'interval' is at least {} ms", INTERVAL_LEAST.as_millis()));
    }
    Some((asked(&fields, "'poll'", "GET", found)?, interval.max(INTERVAL_LEAST)))
}

fn asked(fields: &Fields<'_>, what: &str, usual: &'static str, found: &mut Diagnosis) -> Option<Asked> {
    let url = fields.required("url", what, found).and_then(|node| text_of(node, "url", found))?;
    let method = fields.choice("method", METHODS, found).unwrap_or(usual).to_owned();
    Some(Asked { method, url, headers: fields.pairs("headers", found) })
}

fn pointer(fields: &Fields<'_>, key: &str, found: &mut Diagnosis) -> Option<String> {
    let text = fields.text(key, found)?;
    if !is_pointer(&text) {
        let at = fields.place(key).unwrap_or(fields.at);
        found.error(at, format!("'{key}' is a JSON pointer: it begins with '/'"));
    }
    Some(text)
}

fn condition(node: &Node, key: &str, found: &mut Diagnosis) -> Option<Condition> {
    let text = text_of(node, key, found)?;
    Condition::parse(&text).map_err(|why| found.error(node.at, format!("'{key}': {why}"))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_is_met_by_what_is_there_and_equal() {
        let is_met = |condition: &str, by: Value| Condition::parse(condition).map(|c| c.is_met(&by));
        assert_eq!(is_met("/status == 'done'", json!({"status": "done"})), Ok(true));
        assert_eq!(is_met("/status == 'done'", json!({"status": "running"})), Ok(false));
        assert_eq!(is_met("/status == 'done' or /code == 3", json!({"code": 3})), Ok(true));
        assert_eq!(is_met("/done==true", json!({"done": true})), Ok(true));
        assert_eq!(is_met("/a/0 != 'x'", json!({"a": ["y"]})), Ok(true));
        assert_eq!(is_met("/status != 'running'", json!({})), Ok(false));
        for bad in ["", "/status", "status == 'done'", "/status == done", "/status = 'done'"] {
            assert!(is_met(bad, json!({})).is_err(), "{bad}");
        }
    }
}
