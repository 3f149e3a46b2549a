//! `tool list`, `tool show` and `tool invoke`: of the running gateway, else from files.

use contract::Platform;
use serde_json::json;
use tools::Tool;

use super::{
    Said, caller,
    remote::{Answer, Gateway, Trouble, ask, named},
    usable,
};
use crate::{
    cli::{Exit, Invoke, Remote, Who},
    config::Config,
    ink::Ink,
    run::{
        Ended,
        gateway::{Running, open, open_store, settings},
    },
    sources::Origins,
    table::{self, text},
    tree,
};

/// Said in the place of an empty list.
const NONE: &str = "no tool can be used there; 'toolgate policy explain --tool NAME' with the same options says why";

/// The tools that somebody may use.
pub async fn list(config: &Config, who: &Who, remote: &Remote) -> Said {
    match ask(config, remote, "/v1/tools", &named(who)).await {
        Answer::Given(tools) => {
            let rows = tools.as_array().into_iter().flatten().map(|tool| {
                let text = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
                vec![text("name"), text("description")]
            });
            let table = table::draw(&[text("name"), text("description")], rows, NONE);
            Said { text: table, json: json!({ "tools": tools }), exit: Exit::Ok }
        }
        Answer::Away => listed(config, who),
        Answer::Refused(said) => said,
    }
}

/// One tool in full: as the files say, or as the running gateway describes it.
pub async fn show(config: &Config, name: &str, remote: &Remote) -> Said {
    let local = shown(config, name);
    if local.exit == Exit::Ok && remote.gateway.is_none() {
        return local;
    }
    match ask(config, remote, "/v1/tools", &[("platform", Platform::Console.to_string())]).await {
        Answer::Given(tools) => match tools.as_array().into_iter().flatten().find(|tool| tool["name"] == name) {
            Some(tool) => {
                let pretty = serde_json::to_string_pretty(&tool["parameters"]).expect("a JSON value serializes");
                let description = tool["description"].as_str().unwrap_or_default();
                let text = format!("{name}\n{}\n\nparameters\n{pretty}", contract::text::one_line(description, 2_000));
                Said { text, json: tool.clone(), exit: Exit::Ok }
            }
            None => local,
        },
        Answer::Away => local,
        Answer::Refused(said) => said,
    }
}

/// Runs a tool through the same gate as in chat.
pub async fn invoke(config: &Config, asked: &Invoke) -> Said {
    let path = format!("/v1/tools/{}/invoke", segment(&asked.name));
    let gateway = match Gateway::at(config, &asked.remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.post(&path, &named(&asked.who), asked.params.clone()).await {
        Ok(json) => {
            let pretty = serde_json::to_string_pretty(&json["result"]).expect("a JSON value serializes");
            Said { text: pretty, json, exit: Exit::Ok }
        }
        Err(Trouble::Away(why)) if gateway.may_be_away() => {
            eprintln!("{why}: the tool is run alone");
            alone(config, asked).await
        }
        Err(trouble) => trouble.said(),
    }
}

/// Without a gateway: the same gate in this process, for one call.
async fn alone(config: &Config, asked: &Invoke) -> Said {
    let running = match start(config).await {
        Ok(running) => running,
        Err(why) => return Said::failed(exit(&why), why.to_string()),
    };
    let gateway = running.gateway.clone();
    let caller = caller(&asked.who, &gateway.snapshot().policies);
    let invoked = gateway.invoke_json(caller, &asked.name, &asked.params).await;
    let nodes = gateway.tree(invoked.turn).await.unwrap_or_default();
    let tree = tree::draw(&nodes, tree::Style { ink: Ink::for_stdout(), details: true });
    running.stop(None).await;
    let reference = invoked.turn.to_string();
    match invoked.outcome.result {
        Ok(result) => {
            let pretty = serde_json::to_string_pretty(&result).expect("a JSON value serializes");
            Said { text: pretty, json: json!({ "reference": reference, "result": result }), exit: Exit::Ok }
        }
        Err(failure) => {
            let notice = contract::Notice::of(&failure, Some(&asked.name), None);
            let lines: Vec<_> = notice.detail_lines().into_iter().map(|line| format!("  {line}")).collect();
            let lines = lines.join("\n");
            let text =
                format!("{}\n{lines}\n  {}\n  toolgate trace show {reference}\n\n{tree}", notice.say, notice.hint);
            let json =
                json!({ "reference": reference, "error": failure.for_model(invoked.outcome.repeatable)["error"] });
            Said { text, json, exit: Exit::Failed }
        }
    }
}

/// A gateway without adapters. It owns the store, so that a call that happens once has its record.
async fn start(config: &Config) -> Result<Running, Ended> {
    let stores = open_store(config).await?;
    let running = open(Origins::of(config), stores, settings(config)).await?;
    running.start(Vec::new())?;
    if running.is_ours().await {
        return Ok(running);
    }
    running.stop(None).await;
    Err(Ended::Again(format!(
        "another process works on the store {}, so nothing was run; ask it with --gateway URL, or stop it first",
        config.store
    )))
}

fn exit(ended: &Ended) -> Exit {
    match ended {
        Ended::Failed(_) => Exit::Failed,
        Ended::Usage(_) => Exit::Usage,
        Ended::Again(_) => Exit::Restart,
        Ended::BadConfiguration(_) => Exit::BadConfig,
    }
}

/// A name as a part of a path: whatever was typed, it stays one part.
fn segment(name: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// From files, with what is wrong with those that are not offered.
pub(super) fn listed(config: &Config, who: &Who) -> Said {
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
    let mut lines = vec![table::draw(&columns, rows, NONE)];
    for out in sources.tools.quarantined() {
        lines.push(format!("not offered: {} ({}:{}: {})", out.name, out.file, out.line, out.reason));
    }
    let tools: Vec<_> = seen.iter().map(|tool| (*tool.described()).clone()).collect();
    Said { text: lines.join("\n"), json: json!({ "tools": tools }), exit: Exit::Ok }
}

/// One tool in full, from files.
pub(super) fn shown(config: &Config, name: &str) -> Said {
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
