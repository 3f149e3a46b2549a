//! `tool list` and `tool show`, from files.

use serde_json::json;
use tools::Tool;

use super::{Said, caller, usable};
use crate::{
    cli::{Exit, Who},
    config::Config,
    table::{self, text},
};

/// The tools that somebody may use, and what is wrong with those that are not offered.
pub fn list(config: &Config, who: &Who) -> Said {
    let (sources, compiled) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    let view = compiled.view(&caller(who, &compiled));
    let seen: Vec<_> =
        sources.tools.tools().iter().enumerate().filter(|(ix, _)| view.contains(*ix)).map(|(_, tool)| tool).collect();
    let rows = seen.iter().map(|tool| {
        let labels: Vec<_> = tool.spec.permissions.iter().map(|label| &**label).collect();
        vec![tool.name.to_string(), tool.spec.toolset.to_string(), labels.join(", "), tool.spec.description.clone()]
    });
    let columns = [text("name"), text("toolset"), text("labels"), text("description")];
    let mut lines = vec![table::draw(&columns, rows, "no tool can be used there")];
    for out in sources.tools.quarantined() {
        lines.push(format!("not offered: {} ({}:{}: {})", out.name, out.file, out.line, out.reason));
    }
    let tools: Vec<_> = seen.iter().map(|tool| (*tool.described()).clone()).collect();
    Said { text: lines.join("\n"), json: json!({ "tools": tools }), exit: Exit::Ok }
}

/// One tool in full.
pub fn show(config: &Config, name: &str) -> Said {
    let (sources, _) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    match sources.tools.get(name) {
        Some(tool) => described(tool),
        None => {
            let names = sources.tools.tools().iter().map(|tool| &*tool.name);
            let near = contract::text::nearest(name, names).map(|near| format!(": did you mean '{near}'?"));
            Said::failed(Exit::Failed, format!("there is no tool '{name}'{}", near.unwrap_or_default()))
        }
    }
}

fn described(tool: &Tool) -> Said {
    let spec = &tool.spec;
    let (file, line) = spec.source();
    let pretty = |value| serde_json::to_string_pretty(value).expect("a JSON value serializes");
    let labels: Vec<_> = spec.permissions.iter().map(|label| &**label).collect();
    let mut lines = vec![
        format!("{} (toolset {})", tool.name, spec.toolset),
        spec.description.clone(),
        String::new(),
        format!("usage       {}", tool.usage()),
        format!("from        {file}:{line}"),
        format!("version     {}", tool.digest),
        format!("labels      {}", if labels.is_empty() { "none".into() } else { labels.join(", ") }),
        format!("repeatable  {}", if tool.is_repeatable() { "yes" } else { "no: a call is run once, never again" }),
        format!("timeout     {} s", spec.execution.timeout.as_secs_f64()),
    ];
    lines.extend(tool.unavailable().map(|why| format!("unavailable {why}")));
    lines.extend([String::new(), "parameters".into(), pretty(&spec.parameters)]);
    if let Some(returns) = &spec.returns {
        lines.extend([String::new(), "returns".into(), pretty(returns)]);
    }
    let json = json!({
        "name": &*tool.name, "toolset": &*spec.toolset, "description": spec.description, "usage": tool.usage(),
        "file": file, "line": line, "version": tool.digest.to_string(), "labels": labels,
        "repeatable": tool.is_repeatable(), "timeout_ms": spec.execution.timeout.as_millis() as u64,
        "unavailable": tool.unavailable(), "parameters": spec.parameters, "returns": spec.returns,
    });
    Said { text: lines.join("\n"), json, exit: Exit::Ok }
}
