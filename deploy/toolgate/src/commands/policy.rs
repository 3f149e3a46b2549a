//! `policy show` and `policy explain`: of the running gateway, else from files.

use contract::{Caller, Platform};
use policies::{Rule, Verdict};
use serde_json::{Value, json};

use super::{
    Said, caller,
    remote::{Answer, ask, named},
    usable,
};
use crate::{
    cli::{Remote, Who},
    config::Config,
    table::{self, text},
};

/// Whose rules are told: those that are in force, or those of the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The running gateway's; the files' when none answers.
    Running,
    /// Those of a configuration that the user named.
    Files,
}

impl Whose {
    /// A named gateway is always asked; else a named configuration is what the user means.
    pub fn of(config_named: bool, remote: &Remote) -> Self {
        if config_named && remote.gateway.is_none() { Self::Files } else { Self::Running }
    }
}

/// The rules as they are in force.
pub async fn show(config: &Config, platform: Option<Platform>, remote: &Remote, whose: Whose) -> Said {
    let query: Vec<_> = platform.iter().map(|platform| ("platform", platform.to_string())).collect();
    match asked(config, remote, whose, "/v1/policies", &query).await {
        Answer::Given(json, _) => rules_said(json, GATEWAY),
        Answer::Away => listed(config, platform),
        Answer::Refused(said) => said,
    }
}

/// What every layer says of a call.
pub async fn explain(config: &Config, tool: &str, who: &Who, remote: &Remote, whose: Whose) -> Said {
    let mut query = named(who);
    query.push(("tool", tool.to_owned()));
    match asked(config, remote, whose, "/v1/policies/explain", &query).await {
        Answer::Given(json, _) => explained_said(json, who, GATEWAY),
        Answer::Away => explained(config, tool, who),
        Answer::Refused(said) => said,
    }
}

async fn asked(config: &Config, remote: &Remote, whose: Whose, path: &str, query: &[(&str, String)]) -> Answer {
    match whose {
        Whose::Running => ask(config, remote, path, query).await,
        Whose::Files => Answer::Away,
    }
}

const GATEWAY: &str = "gateway";
const FILES: &str = "files";

/// The rules as they stand in the files.
pub(super) fn listed(config: &Config, platform: Option<Platform>) -> Said {
    let (sources, _) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    let rules = sources.policies.as_ref().map(|policies| policies.rules(platform)).unwrap_or_default();
    let rule = |rule: &Rule| {
        let Rule { layer, rule, file, line } = rule;
        json!({ "layer": layer.as_str(), "rule": rule, "file": file, "line": line })
    };
    rules_said(json!({ "rules": rules.iter().map(rule).collect::<Vec<_>>() }), FILES)
}

/// What the files say of a call.
pub(super) fn explained(config: &Config, tool: &str, who: &Who) -> Said {
    let (sources, compiled) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    let caller = caller(who, &compiled);
    let Caller { platform, tenant, .. } = &caller;
    let verdicts = compiled.explain(&caller, tool);
    let gating = compiled.manner(&caller).gating;
    let heard = (!platform.is_pull()).then(|| {
        json!({ "groups": gating.hearing(false).as_str(), "direct": gating.hearing(true).as_str(), "bots": gating.bots })
    });
    let layer = |verdict: &Verdict| {
        let Verdict { layer, allowed, rule, file, line } = verdict;
        json!({ "layer": layer.as_str(), "allowed": allowed, "rule": rule, "file": file, "line": line })
    };
    let names = sources.tools.tools().iter().map(|tool| &*tool.name);
    let near = sources.tools.get(tool).is_none().then(|| contract::text::nearest(tool, names)).flatten();
    let json = json!({
        "tool": tool, "allowed": verdicts.iter().all(|verdict| verdict.allowed), "platform": platform.as_str(),
        "tenant": tenant, "layers": verdicts.iter().map(layer).collect::<Vec<_>>(), "nearest": near,
        "heard": heard,
    });
    explained_said(json, who, FILES)
}

fn rules_said(mut json: Value, from: &str) -> Said {
    let rules = json["rules"].as_array().into_iter().flatten();
    let rows = rules.map(|rule| vec![word(rule, "layer"), word(rule, "rule"), place(rule)]);
    let table = table::draw(&[text("layer"), text("rule"), text("where")], rows, "no rule speaks of that platform");
    json["from"] = from.into();
    Said::told(format!("{table}\n\n{}", source(from)), json)
}

fn explained_said(mut json: Value, who: &Who, from: &str) -> Said {
    let says = |of: &Value| if of["allowed"] == true { "allowed" } else { "refused" };
    let layers = json["layers"].as_array().into_iter().flatten();
    let rows = layers.map(|layer| vec![word(layer, "layer"), says(layer).into(), word(layer, "rule"), place(layer)]);
    let table = table::draw(&[text("layer"), text("says"), text("rule"), text("where")], rows, "no layer speaks");
    let mut lines = vec![table, String::new()];
    lines.push(format!("{} is {} for {}", word(&json, "tool"), says(&json), described(who, &json)));
    lines.extend(heard(&json["heard"]));
    lines.extend(json["nearest"].as_str().map(|near| format!("did you mean '{near}'?")));
    lines.push(source(from).to_owned());
    json["from"] = from.into();
    Said::told(lines.join("\n"), json)
}

/// When what this person writes is heard; nothing where an older gateway does not say it, or a program asks.
fn heard(heard: &Value) -> Option<String> {
    let when = |key: &str| match heard[key].as_str()? {
        "addressed" => Some("when addressed"),
        "paired" => Some("once an operator lets them in (pairing)"),
        "always" => Some("always"),
        "never" => Some("never"),
        _ => None,
    };
    let bots = if heard["bots"] == true { "; so are bots" } else { "" };
    Some(format!("their messages are heard: in groups {}, directly {}{bots}", when("groups")?, when("direct")?))
}

fn source(from: &str) -> &'static str {
    if from == GATEWAY { "as the running gateway has it" } else { "as the files here say, not a running gateway" }
}

fn described(who: &Who, json: &Value) -> String {
    let mut words = format!("'{}' on {}", who.sender.as_deref().unwrap_or("operator"), word(json, "platform"));
    if let Some(conversation) = &who.conversation {
        words.push_str(&format!(" in {conversation}"));
    }
    words.push_str(&format!(", tenant {}", word(json, "tenant")));
    words
}

fn word(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().to_owned()
}

fn place(rule: &Value) -> String {
    match rule["line"].as_u64() {
        None | Some(0) => word(rule, "file"),
        Some(line) => format!("{}:{line}", word(rule, "file")),
    }
}
