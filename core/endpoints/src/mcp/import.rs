//! A server's tools as specs in a file (pure).
//!
//! Each tool is a document, which remembers a digest of each key as it was imported. When the tools are imported again,
//! what a person changed since stays as it is, and everything else follows the server. What nobody has read yet is
//! written with `publish: manual`, and so is a tool again whose meaning the server changed.

use std::collections::BTreeSet;

use contract::text;
use serde_json::{Map, Value, json};

use super::Listed;

mod document;
mod names;
mod schema;
mod yaml;

pub use document::merge;

/// What is imported, and how.
pub struct Source<'a> {
    /// The server's id.
    pub server: &'a str,
    pub toolset: &'a str,
    /// A person has read what is imported now.
    pub reviewed: bool,
    /// Names that other files own.
    pub taken: &'a BTreeSet<String>,
}

/// A file as it is after an import, and what is to be said of each tool.
#[derive(Debug, Default, PartialEq)]
pub struct Imported {
    pub text: String,
    pub tools: Vec<Row>,
}

/// A tool of the import.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As the server calls it, and as we do.
    pub theirs: String,
    pub name: String,
    pub change: Change,
    pub labels: Vec<String>,
    /// Whether it is offered: read by a person.
    pub published: bool,
    /// The keys that follow a person, not the server.
    pub edited: Vec<String>,
    pub notes: Vec<String>,
}

/// What the import did to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    New,
    Same,
    /// These keys follow the server.
    Changed(Vec<String>),
    /// The server has it no more, and nobody had changed it.
    Removed,
    /// The server has it no more; a person changed it, so it stays.
    Orphaned,
}

impl Change {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Same => "same",
            Self::Changed(_) => "changed",
            Self::Removed => "removed",
            Self::Orphaned => "gone at the server, kept",
        }
    }
}

/// Calls to a server that run at once, unless a person says otherwise.
const AT_ONCE: u32 = 8;
/// Most characters of a description that are taken over.
const DESCRIPTION: usize = 4_000;
/// A description with fewer characters says too little to choose by.
const THIN: usize = 20;

/// A tool as it would be written if nobody had changed it, but for `publish`.
struct Draft {
    keys: Map<String, Value>,
    hinted_idempotent: bool,
    notes: Vec<String>,
}

impl Draft {
    fn new(tool: &Listed, name: &str, source: &Source<'_>) -> Self {
        let mut notes = Vec::new();
        let description = description(tool, source.server, &mut notes);
        let parameters = schema::repaired(&tool.parameters, "parameters", &mut notes);
        let returns = tool.returns.as_ref().map(|returns| schema::repaired(returns, "returns", &mut notes));
        let labels = labels(tool, &mut notes);
        let mut keys = Map::new();
        keys.insert("name".into(), json!(name));
        keys.insert("toolset".into(), json!(source.toolset));
        keys.insert("description".into(), json!(description));
        keys.insert("permissions".into(), json!(labels));
        keys.insert("parameters".into(), parameters);
        if let Some(returns) = returns {
            keys.insert("returns".into(), returns);
        }
        keys.insert("endpoint".into(), json!({ "type": "mcp", "server": source.server, "tool": tool.name }));
        keys.insert("execution".into(), json!({ "concurrency_limit": AT_ONCE }));
        // What only reads is repeatable by its label.
        let hinted_idempotent = tool.idempotent == Some(true) && tool.reads_only != Some(true);
        Self { keys, hinted_idempotent, notes }
    }

    /// A hint counts once a person has read it.
    fn reviewed(&mut self) {
        if self.hinted_idempotent {
            self.keys["execution"]["idempotent"] = json!(true);
        }
    }
}

fn shown(name: &str) -> String {
    text::one_line(name, 80)
}

fn description(tool: &Listed, server: &str, notes: &mut Vec<String>) -> String {
    let plain: String = tool.description.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    if text::clean_framing(&plain) != plain {
        notes.push("the description holds marks that speak to a model: read it with care".into());
    }
    if plain.chars().count() > DESCRIPTION {
        notes.push(format!("the description is cut to {DESCRIPTION} characters"));
    }
    let lines: Vec<_> = plain.lines().map(str::trim_end).collect();
    let plain = text::cut(lines.join("\n").trim(), DESCRIPTION);
    if plain.is_empty() {
        notes.push("the server does not describe it: say what it is for".into());
        let title = tool.title.as_deref().unwrap_or(&tool.name);
        return format!("{} (a tool of the MCP server {server})", shown(title));
    }
    if plain.chars().count() < THIN {
        notes.push("the description is thin: say when to use it".into());
    }
    plain
}

/// What the server hints, as labels that policies speak about. Without hints it may change something.
fn labels(tool: &Listed, notes: &mut Vec<String>) -> Vec<&'static str> {
    match (tool.reads_only, tool.destroys) {
        (Some(true), _) => vec!["read"],
        (_, Some(false)) => vec!["write"],
        // Who says that it writes and not that it destroys nothing, may destroy: so the protocol has it.
        (Some(false), None) | (_, Some(true)) => vec!["write", "delete"],
        (None, None) => {
            notes.push("the server does not say what it changes: labelled 'write'".into());
            vec!["write"]
        }
    }
}

#[cfg(test)]
mod tests;
