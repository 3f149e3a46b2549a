//! `tool list`, `tool show` and `tool invoke`: of the running gateway, else from files and the store. What changes tools
//! is in `change`.

mod change;

use serde_json::{Value, json};
use tools::{Quarantine, Schema};

use super::{
    Said, Teller, caller, read,
    remote::{Answer, Gateway, Trouble, ask, ask_tools, named, words},
    trace::when,
    usable,
};
pub use change::{add_tools, deprecate_tool, publish_tool, refresh_tool, remove_tool, rollback_tool, tool_history};

use crate::{
    cli::{Exit, Invoke, Remote, Who},
    config::Config,
    run::{
        Ended,
        gateway::{Running, open, open_store, settings},
    },
    sources::{Origins, endpoints},
    table::{self, text},
};

/// Said in the place of an empty list.
const NONE: &str = "no tool can be used there; 'toolgate policy explain --tool NAME' with the same options says why";

/// The tools that somebody may use.
pub async fn list(config: &Config, who: &Who, remote: &Remote) -> Said {
    match ask_tools(config, remote, who).await {
        Answer::Given(tools, teller) => table_of(&tools, &[]).by(&teller),
        Answer::Away => listed(config, who),
        Answer::Refused(said) => said,
    }
}

/// Every tool there is, whoever may use it.
pub async fn all_tools(config: &Config, remote: &Remote) -> Said {
    match ask(config, remote, "/v1/tools", &[("all", "true".to_owned())]).await {
        Answer::Given(tools, teller) => table_of_all(&tools).by(&teller),
        Answer::Away => {
            let tools = dispatch::keeper::in_short(&read(config).tools);
            table_of_all(&Value::Array(tools)).by(&Teller::Files)
        }
        Answer::Refused(said) => said,
    }
}

fn table_of_all(tools: &Value) -> Said {
    let rows = tools.as_array().into_iter().flatten().map(|tool| {
        let cell = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
        let short = |name: &str| cell(name).chars().take(8).collect::<String>();
        let is_newer = tool["waiting"].is_string() && tool["waiting"] != tool["version"];
        let waits = if is_newer { format!(", {} waits", short("waiting")) } else { String::new() };
        let from = match tool["line"].as_u64() {
            Some(line) => format!("{}:{line}", cell("file")),
            None => String::new(),
        };
        vec![
            cell("name"),
            format!("{}{waits}", cell("state")),
            short("version"),
            cell("toolset"),
            from,
            cell("description"),
        ]
    });
    let columns = [text("name"), text("state"), text("version"), text("toolset"), text("from"), text("description")];
    Said::told(table::draw(&columns, rows, "there are no tools"), json!({ "tools": tools }))
}

/// One tool: as the files say, or as the running gateway describes it.
pub async fn show(config: &Config, name: &str, remote: &Remote) -> Said {
    let local = shown(config, name);
    if local.exit == Exit::Ok && remote.gateway.is_none() {
        return local;
    }
    if let Answer::Given(tool, teller) = ask(config, remote, &format!("/v1/tools/{}", segment(name)), &[]).await {
        return in_full(&tool).by(&teller);
    }
    // A client is told of its own view alone.
    match ask_tools(config, remote, &Who::default()).await {
        Answer::Given(tools, teller) => {
            match tools.as_array().into_iter().flatten().find(|tool| tool["name"] == name) {
                Some(tool) => described(tool).by(&teller),
                None if remote.gateway.is_none() => local,
                None => unknown(name, tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()))
                    .by(&teller),
            }
        }
        Answer::Away => local,
        Answer::Refused(said) => said,
    }
}

/// Runs a tool through the same gate as in chat.
pub async fn invoke(config: &Config, asked: &Invoke) -> Said {
    if let Err(why) = object(&asked.params) {
        return Said::failed(Exit::Usage, why);
    }
    let path = format!("/v1/tools/{}/invoke", segment(&asked.name));
    let gateway = match Gateway::at(config, &asked.remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.post(&path, &named(&asked.who), asked.params.clone()).await {
        Ok(json) => {
            let text = pretty(&json["result"]);
            Said::told(text, json).by(&gateway.teller())
        }
        Err(Trouble::Away(why)) if gateway.may_be_away() => alone(config, asked).await.by(&Teller::Alone(why)),
        Err(trouble) => gateway.said(trouble),
    }
}

/// Whether arguments are a JSON object; else what is wrong, and where.
fn object(params: &str) -> Result<(), String> {
    match serde_json::from_str::<Value>(params) {
        Ok(Value::Object(_)) => Ok(()),
        Ok(_) => Err("--params: the arguments are a JSON object, such as '{\"city\": \"Oslo\"}'".into()),
        Err(error) => Err(format!("--params: not readable as JSON: {error}; keys and texts stand in double quotes")),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value serializes")
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
    running.stop(None).await;
    let reference = invoked.turn.to_string();
    let outcome = invoked.outcome;
    match outcome.result {
        Ok(result) => {
            let text = pretty(&result);
            let json = json!({
                "reference": reference, "result": result, "state": outcome.state.as_str(), "took_us": outcome.took_us,
            });
            Said::told(text, json)
        }
        Err(failure) => {
            // As the gateway's API tells of it, but for what only HTTP needs.
            let error = failure.for_model(outcome.repeatable)["error"].take();
            let json = json!({
                "detail": error["message"], "code": error["code"], "reference": reference, "error": error,
            });
            let text = words(&json, "the call failed");
            Said::refused(Exit::Failed, text, json)
        }
    }
}

/// A gateway without adapters. It owns the store, so that a call that happens once has its record.
async fn start(config: &Config) -> Result<Running, Ended> {
    let stores = open_store(config).await?;
    let running = open(Origins::of(config), stores, settings(config), None, endpoints(config)).await?;
    running.start();
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
    let tools: Vec<_> = seen.iter().map(|tool| (*tool.described()).clone()).collect();
    table_of(&Value::Array(tools), sources.tools.quarantined()).by(&Teller::Files)
}

/// Tools as a model is told of them, as a table; below it what of the files is not offered.
fn table_of(tools: &Value, out: &[Quarantine]) -> Said {
    let rows = tools.as_array().into_iter().flatten().map(|tool| {
        let text = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
        vec![text("name"), text("description")]
    });
    let mut lines = vec![table::draw(&[text("name"), text("description")], rows, NONE)];
    for out in out {
        lines.push(format!("not offered: {} ({}:{}: {})", out.name, out.file, out.line, out.reason));
    }
    Said::told(lines.join("\n"), json!({ "tools": tools }))
}

/// One tool, from files.
pub(super) fn shown(config: &Config, name: &str) -> Said {
    let (sources, _) = match usable(config) {
        Ok(usable) => usable,
        Err(said) => return said,
    };
    let said = match sources.tools.get(name) {
        Some(tool) => in_full(&dispatch::keeper::in_full(tool)),
        None => unknown(name, sources.tools.tools().iter().map(|tool| &*tool.name)),
    };
    said.by(&Teller::Files)
}

fn unknown<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Said {
    let near = contract::text::nearest(name, names).map(|near| format!(": did you mean '{near}'?"));
    Said::failed(Exit::Failed, format!("there is no tool '{name}'{}", near.unwrap_or_default()))
}

/// A tool as operators are told of it.
fn in_full(tool: &Value) -> Said {
    let mut said = described(tool);
    let text = |name: &str| contract::text::one_line(tool[name].as_str().unwrap_or_default(), 200);
    let labels: Vec<_> = tool["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let repeats = tool["repeatable"].as_bool().unwrap_or_default();
    let mut facts = vec![
        String::new(),
        format!("state       {}", text("state")),
        format!("from        {}:{}", text("file"), tool["line"]),
        format!("version     {}", text("version")),
        format!("toolset     {}", text("toolset")),
        format!("labels      {}", if labels.is_empty() { "none".into() } else { labels.join(", ") }),
        format!("repeatable  {}", if repeats { "yes" } else { "no: a call is run once, never again" }),
        format!("timeout     {} s", tool["timeout_ms"].as_f64().unwrap_or_default() / 1_000.0),
    ];
    for (mark, what) in [("deprecated", "deprecated "), ("off", "switched off")] {
        if let Some(by) = tool[mark]["by"].as_str() {
            let why = tool[mark]["why"].as_str().unwrap_or_default();
            let at = when(tool[mark]["at_ms"].as_u64().unwrap_or_default().saturating_mul(1_000));
            facts.push(contract::text::one_line(format!("{what} {at} by {by}: {why}").trim_end_matches(": "), 700));
        }
    }
    if tool["waiting"].is_string() {
        facts.push(format!("waits       {}, until it is published", text("waiting")));
    }
    facts.extend(tool["unavailable"].as_str().map(|why| format!("unavailable {}", contract::text::one_line(why, 500))));
    if !tool["returns"].is_null() {
        facts.extend([String::new(), "returns".into(), pretty(&tool["returns"])]);
    }
    said.text.push('\n');
    said.text.push_str(&facts.join("\n"));
    said
}

/// A tool as a model is told of it, with how it is called in a chat.
fn described(tool: &Value) -> Said {
    let part = |name: &str| contract::text::one_line(tool[name].as_str().unwrap_or_default(), 2_000);
    let mut lines = vec![part("name"), part("description"), String::new()];
    if let Ok(schema) = Schema::compile(&tool["parameters"]) {
        lines.extend([format!("usage  {}", schema.usage(&part("name"))), String::new()]);
    }
    lines.extend(["parameters".into(), pretty(&tool["parameters"])]);
    Said::told(lines.join("\n"), tool.clone())
}
