//! `policy show` and `policy explain`.

use contract::Platform;
use serde_json::{Value, json};

use super::{Said, caller, usable};
use crate::{
    cli::{Exit, Who},
    config::Config,
    table::{self, text},
};

/// The rules as they stand in the files.
pub fn show(config: &Config, platform: Option<Platform>) -> Said {
    let (sources, _) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    let rules = sources.policies.as_ref().map(|policies| policies.rules(platform)).unwrap_or_default();
    let rows = rules.iter().map(|rule| vec![rule.layer.to_string(), rule.rule.clone(), place(&rule.file, rule.line)]);
    let table = table::draw(&[text("layer"), text("rule"), text("where")], rows, "no rule speaks of that platform");
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| json!({ "layer": rule.layer.as_str(), "rule": rule.rule, "file": rule.file, "line": rule.line }))
        .collect();
    Said { text: table, json: json!({ "rules": rules }), exit: Exit::Ok }
}

/// What every layer says of a call.
pub fn explain(config: &Config, tool: &str, who: &Who) -> Said {
    let (sources, compiled) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    let caller = caller(who, &compiled);
    let verdicts = compiled.explain(&caller, tool);
    let allowed = verdicts.iter().all(|verdict| verdict.allowed);
    let word = |allowed: bool| if allowed { "allowed" } else { "refused" };
    let rows = verdicts.iter().map(|verdict| {
        let place = place(&verdict.file, verdict.line);
        vec![verdict.layer.to_string(), word(verdict.allowed).into(), verdict.rule.clone(), place]
    });
    let table = table::draw(&[text("layer"), text("says"), text("rule"), text("where")], rows, "no layer speaks");
    let mut lines = vec![table, String::new(), format!("{tool} is {} for {}", word(allowed), described(&caller))];
    if sources.tools.get(tool).is_none() {
        let names = sources.tools.tools().iter().map(|tool| &*tool.name);
        lines.extend(contract::text::nearest(tool, names).map(|near| format!("did you mean '{near}'?")));
    }
    let verdicts: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            json!({ "layer": verdict.layer.as_str(), "allowed": verdict.allowed, "rule": verdict.rule,
                    "file": verdict.file, "line": verdict.line })
        })
        .collect();
    let json = json!({ "tool": tool, "allowed": allowed, "tenant": caller.tenant, "layers": verdicts });
    Said { text: lines.join("\n"), json, exit: Exit::Ok }
}

fn described(caller: &contract::Caller) -> String {
    let mut words = format!("'{}' on {}", caller.sender.id, caller.platform);
    if caller.conversation != "-" {
        words.push_str(&format!(" in {}", caller.conversation));
    }
    words.push_str(&format!(", tenant {}", caller.tenant));
    words
}

fn place(file: &str, line: u32) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
}
