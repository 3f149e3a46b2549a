//! Tools and their changes as operators are told of them, by the API and by the command line alike.

use contract::records::{Mark, StoredTool, ToolChange, ToolVerb};
use serde_json::{Value, json};
use tools::Tool;

use super::Kept;

/// A tool as operators are told of it: what a model is told, and what its owner wants to know besides.
pub fn in_full(tool: &Tool) -> Value {
    let mut all = (*tool.described()).clone();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more_of(tool)) {
        all.extend(more);
    }
    all
}

fn more_of(tool: &Tool) -> Value {
    let (spec, standing) = (&tool.spec, &tool.standing);
    let (file, line) = spec.source();
    let labels: Vec<_> = spec.permissions.iter().map(|label| &**label).collect();
    let timeout_ms = u64::try_from(spec.execution.timeout.as_millis()).unwrap_or(u64::MAX);
    let mark = |mark: &Option<Mark>| mark.as_ref().map(|mark| json!(mark));
    json!({
        "state": standing.state.as_str(),
        "file": file,
        "line": line,
        "version": tool.digest.to_string(),
        "change": standing.version,
        "waiting": standing.waiting.map(|digest| digest.to_string()),
        "deprecated": mark(&standing.deprecated),
        "off": mark(&standing.off),
        "toolset": &*spec.toolset,
        "labels": labels,
        "repeatable": tool.is_repeatable(),
        "timeout_ms": timeout_ms,
        "unavailable": tool.unavailable(),
        "returns": spec.returns,
    })
}

/// Every tool in a line, sorted by name; what is out of order and what was removed too.
pub fn in_short(all: &tools::Snapshot) -> Vec<Value> {
    let mut lines: Vec<Value> = Vec::new();
    for tool in all.tools() {
        let (file, line) = tool.spec.source();
        let standing = &tool.standing;
        lines.push(json!({
            "name": &*tool.name, "state": standing.state.as_str(), "version": tool.digest.to_string(),
            "change": standing.version, "waiting": standing.waiting.map(|digest| digest.to_string()),
            "toolset": &*tool.spec.toolset, "file": file, "line": line, "description": tool.description(),
        }));
    }
    for out in all.quarantined() {
        lines.push(json!({
            "name": out.name, "state": if out.kept { "kept" } else { "quarantined" }, "file": out.file, "line": out.line,
            "description": out.reason,
        }));
    }
    let is_out = |name: &str| all.quarantined().iter().any(|out| out.name == name);
    for name in all.removed().iter().filter(|name| !is_out(name)) {
        lines.push(json!({ "name": name, "state": "removed" }));
    }
    lines.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    lines
}

/// The changes of a tool, each with its author and its text; `owner` is the tool as it is now.
pub fn history(stored: &StoredTool, changes: &[ToolChange], owner: Option<&Value>) -> Value {
    let line = |change: &ToolChange| {
        let after = &change.after;
        let spec = match change.what {
            ToolVerb::Added => after.waiting.as_ref(),
            ToolVerb::Published | ToolVerb::Deprecated | ToolVerb::Removed | ToolVerb::RolledBack => {
                after.live.as_ref()
            }
        };
        json!({
            "version": after.version, "what": change.what.as_str(), "by": change.by, "at_ms": change.at_ms,
            "message": change.why, "to": change.to, "digest": spec.map(|spec| spec.digest.to_string()),
            "spec": spec.map(|spec| &spec.text), "offered": after.live.as_ref().map(|live| live.digest.to_string()),
        })
    };
    let changes: Vec<_> = changes.iter().map(line).collect();
    let owner = owner.map(|tool| json!({ "file": tool["file"], "line": tool["line"] }));
    json!({ "name": stored.name, "version": stored.version, "owner": owner, "changes": changes })
}

/// What became of a tool.
pub fn kept(kept: &Kept) -> Value {
    json!({
        "name": kept.name, "version": kept.version, "digest": kept.digest.map(|digest| digest.to_string()),
        "said": kept.said, "already": kept.already, "warnings": kept.warnings,
    })
}
