//! `tool add|publish|deprecate|remove|rollback|history|cache-invalidate`: of the running gateway, else of the store. The
//! author is whoever is logged in here.

use std::{io::Read as _, sync::Arc};

use contract::Finding;
use dispatch::keeper::{self, Asked, Keeper as _, Kept, NotKept, ToolWish};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    super::{
        Said, Teller,
        remote::{Gateway, Trouble},
    },
    exit, segment,
};
use crate::{
    cli::{Add, Change, Exit, Remote, ToolName},
    commands::trace::when,
    config::Config,
    run::{Ended, gateway::open_store, keeper::Keeper, loader::Loader},
    sources::{Origins, endpoints},
    table::{self, number, text},
};

/// Adds the tools of a file to the store.
pub async fn add_tools(config: &Config, add: &Add) -> Said {
    let label = if add.spec.as_os_str() == "-" { "stdin".to_owned() } else { add.spec.display().to_string() };
    let text = match read(add) {
        Ok(text) => text,
        Err(error) => return Said::failed(Exit::Usage, format!("--spec: {label} cannot be read: {error}")),
    };
    let wish = ToolWish::Add { label: label.clone(), text: text.clone(), publish: add.publish };
    let send = async |gateway: &Gateway, mut query: Vec<(&str, String)>| {
        query.extend([("file", label.clone()), ("publish", add.publish.to_string())]);
        gateway.post_text("/v1/tools", &query, text.clone()).await
    };
    change(config, &add.remote, Asked { wish, by: author(), seen: add.seen }, send).await
}

fn read(add: &Add) -> std::io::Result<String> {
    if add.spec.as_os_str() != "-" {
        return std::fs::read_to_string(&add.spec);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
}

pub async fn publish_tool(config: &Config, asked: &Change, description: Option<String>) -> Said {
    let body = json!({ "message": asked.message, "description": description });
    let (name, why) = (asked.named.name.clone(), asked.message.clone());
    one(config, &asked.named, asked.seen, ToolWish::Publish { name, why, description }, "publish", body).await
}

pub async fn deprecate_tool(config: &Config, asked: &Change) -> Said {
    let wish = ToolWish::Deprecate { name: asked.named.name.clone(), why: asked.message.clone() };
    one(config, &asked.named, asked.seen, wish, "deprecate", json!({ "message": asked.message })).await
}

pub async fn remove_tool(config: &Config, asked: &Change) -> Said {
    let wish = ToolWish::Remove { name: asked.named.name.clone(), why: asked.message.clone() };
    let path = format!("/v1/tools/{}", segment(&asked.named.name));
    let body = json!({ "message": asked.message }).to_string();
    let send = async |gateway: &Gateway, query: Vec<(&str, String)>| gateway.delete_with(&path, &query, body).await;
    change(config, &asked.named.remote, Asked { wish, by: author(), seen: asked.seen }, send).await
}

pub async fn rollback_tool(config: &Config, named: &ToolName, to: Option<u64>) -> Said {
    one(config, named, None, ToolWish::Rollback { name: named.name.clone(), to }, "rollback", json!({ "to": to })).await
}

pub async fn refresh_tool(config: &Config, named: &ToolName) -> Said {
    let wish = ToolWish::Refresh { name: named.name.clone() };
    one(config, named, None, wish, "cache-invalidate", json!({})).await
}

async fn one(config: &Config, named: &ToolName, seen: Option<u64>, wish: ToolWish, verb: &str, body: Value) -> Said {
    let path = format!("/v1/tools/{}/{verb}", segment(&named.name));
    let send =
        async |gateway: &Gateway, query: Vec<(&str, String)>| gateway.post(&path, &query, body.to_string()).await;
    change(config, &named.remote, Asked { wish, by: author(), seen }, send).await
}

/// Asks the running gateway for a change; the store is changed here when none answers.
async fn change(
    config: &Config,
    remote: &Remote,
    asked: Asked,
    send: impl AsyncFnOnce(&Gateway, Vec<(&str, String)>) -> Result<Value, Trouble>,
) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let mut query = vec![("author", asked.by.clone())];
    query.extend(asked.seen.map(|seen| ("seen", seen.to_string())));
    match send(&gateway, query).await {
        Ok(json) => told(json).by(&gateway.teller()),
        Err(Trouble::Away(why)) if gateway.may_be_away() => match alone(config, &asked).await {
            Ok(kept) => {
                let kept: Vec<_> = kept.iter().map(keeper::kept).collect();
                let json = match (&asked.wish, <[Value; 1]>::try_from(kept)) {
                    (ToolWish::Add { .. }, Ok(one)) => json!({ "tools": one }),
                    (ToolWish::Add { .. }, Err(many)) => json!({ "tools": many }),
                    (_, Ok([one])) => one,
                    (_, Err(many)) => json!(many),
                };
                told(json).by(&Teller::Store(config.store.to_string(), why))
            }
            Err(said) => said,
        },
        Err(Trouble::Refused(_, body)) if body["errors"].is_array() => wrong(body),
        Err(trouble) => {
            let is_away = matches!(&trouble, Trouble::Refused(status, _) if *status == StatusCode::SERVICE_UNAVAILABLE);
            let said = gateway.said(trouble);
            Said { exit: if is_away { Exit::Restart } else { said.exit }, ..said }
        }
    }
}

/// The keeper of the configured store, with the files beside it.
async fn keeper(config: &Config) -> Result<(Keeper, Arc<Loader>, contract::records::Stores), Said> {
    let failed = |ended: Ended| Said::failed(exit(&ended), ended.to_string());
    let stores = open_store(config).await.map_err(failed)?;
    let loader = Arc::new(Loader::new(Origins::of(config), endpoints(config)));
    let read = loader.read_shelf(&*stores.registry).await;
    read.map_err(|down| Said::failed(Exit::Restart, format!("the store does not answer: {down}")))?;
    let first = loader.clone();
    let loaded = tokio::task::spawn_blocking(move || drop(first.load())).await;
    loaded.map_err(|error| Said::failed(Exit::Failed, format!("tools cannot be read: {error}")))?;
    Ok((Keeper::new(loader.clone(), stores.registry.clone()), loader, stores))
}

async fn alone(config: &Config, asked: &Asked) -> Result<Vec<Kept>, Said> {
    let (keeper, _, stores) = keeper(config).await?;
    let kept = keeper.change(asked).await;
    stores.close().await;
    kept.map_err(not_kept)
}

fn not_kept(not: NotKept) -> Said {
    match not {
        NotKept::Unknown { name, near } => super::unknown(&name, near.iter().map(String::as_str)),
        NotKept::Refused { say, hint } => {
            let hint = hint.map(|hint| format!("\n  {hint}")).unwrap_or_default();
            Said::failed(Exit::Failed, format!("{say}{hint}"))
        }
        NotKept::Wrong { errors, warnings } => wrong(json!({ "errors": errors, "warnings": warnings })),
        NotKept::Full => Said::failed(Exit::Failed, "the store has as many tools as it takes"),
        NotKept::Down(down) => Said::failed(Exit::Restart, down.to_string()),
        NotKept::NoKeeper => Said::failed(Exit::Failed, "the tools of this gateway are not kept in a store"),
    }
}

/// What became of one tool, or of several.
fn told(json: Value) -> Said {
    let kept = match json["tools"].as_array() {
        Some(several) => several.clone(),
        None => vec![json.clone()],
    };
    let mut lines = Vec::new();
    for kept in &kept {
        lines.extend(findings("warning", &kept["warnings"]));
        let said = contract::text::one_line(kept["said"].as_str().unwrap_or_default(), 1_000);
        lines.push(match kept["already"].as_bool() {
            Some(true) => format!("'{}': {said}", kept["name"].as_str().unwrap_or_default()),
            Some(false) | None => said,
        });
    }
    Said::told(lines.join("\n"), json)
}

/// A spec that is wrong.
fn wrong(body: Value) -> Said {
    let mut lines: Vec<_> = findings("error", &body["errors"]).collect();
    lines.extend(findings("warning", &body["warnings"]));
    lines.push("nothing was changed".to_owned());
    let json = json!({ "ok": false, "errors": body["errors"], "warnings": body["warnings"] });
    Said::refused(Exit::BadConfig, lines.join("\n"), json)
}

fn findings<'a>(kind: &'a str, list: &'a Value) -> impl Iterator<Item = String> + 'a {
    list.as_array().into_iter().flatten().map(move |finding| {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| u32::try_from(finding[name].as_u64().unwrap_or_default()).unwrap_or_default();
        let hint = finding["hint"].as_str().map(str::to_owned);
        let (line, column) = (number("line"), number("column"));
        let finding = Finding { file: text("file"), line, column, message: text("message"), hint };
        format!("{kind}: {}", contract::text::one_line(&finding.to_string(), 2_000))
    })
}

/// The changes of a tool, or the text of one of its versions.
pub async fn tool_history(config: &Config, named: &ToolName, version: Option<u64>) -> Said {
    let gateway = match Gateway::at(config, &named.remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let path = format!("/v1/tools/{}/history", segment(&named.name));
    let (json, teller) = match gateway.get(&path, &[]).await {
        Ok(json) => (json, gateway.teller()),
        Err(Trouble::Away(why)) if gateway.may_be_away() => match history_alone(config, &named.name).await {
            Ok(json) => (json, Teller::Store(config.store.to_string(), why)),
            Err(said) => return said,
        },
        Err(trouble) => return gateway.said(trouble),
    };
    match version {
        Some(version) => text_of(&json, version).by(&teller),
        None => changes(json).by(&teller),
    }
}

async fn history_alone(config: &Config, name: &str) -> Result<Value, Said> {
    let (keeper, loader, stores) = keeper(config).await?;
    let found = keeper.history(name).await;
    stores.close().await;
    match found {
        Err(down) => Err(Said::failed(Exit::Restart, down.to_string())),
        Ok(None) => {
            let snapshot = loader.registry().current();
            Err(super::unknown(name, snapshot.tools().iter().map(|tool| &*tool.name)))
        }
        Ok(Some((stored, changes))) => {
            let owner = loader.registry().current().get(name).map(|tool| keeper::in_full(tool));
            Ok(keeper::history(&stored, &changes, owner.as_ref()))
        }
    }
}

fn changes(json: Value) -> Said {
    let cell = |change: &Value, name: &str| change[name].as_str().unwrap_or_default().to_owned();
    let rows = json["changes"].as_array().into_iter().flatten().map(|change| {
        let what = match change["to"].as_u64() {
            Some(to) => format!("{} to {to}", cell(change, "what")),
            None => cell(change, "what"),
        };
        let at = when(change["at_ms"].as_u64().unwrap_or_default().saturating_mul(1_000));
        let digest = cell(change, "digest").chars().take(8).collect();
        vec![change["version"].to_string(), what, at, cell(change, "by"), digest, cell(change, "message")]
    });
    let columns = [number("version"), text("what"), text("when"), text("by"), text("digest"), text("message")];
    let owner = match (json["owner"]["file"].as_str(), json["owner"]["line"].as_u64()) {
        (Some(file), Some(line)) if !file.starts_with("store:") => {
            format!("\nit belongs to {file}:{line}; the history of its text is that of the file")
        }
        _ => String::new(),
    };
    let table = table::draw(&columns, rows, "nothing was changed in the store");
    Said::told(format!("{table}{owner}"), json)
}

fn text_of(json: &Value, version: u64) -> Said {
    let change = json["changes"].as_array().into_iter().flatten().find(|change| change["version"] == version);
    match change.and_then(|change| Some((change, change["spec"].as_str()?))) {
        // Only what is no letter of a text is kept from the terminal.
        Some((change, spec)) => {
            Said::told(spec.replace(|c: char| c.is_control() && c != '\n' && c != '\t', " "), change.clone())
        }
        None => Said::failed(Exit::Failed, format!("no text of version {version} is kept")),
    }
}

/// Who is logged in here.
fn author() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let named = named.filter(|name| !name.trim().is_empty()).or_else(user_of_this_process);
    named.unwrap_or_else(|| "operator".to_owned())
}

/// Where no login says it: by the number of the user.
fn user_of_this_process() -> Option<String> {
    let number = std::fs::metadata("/proc/self").ok().map(|own| std::os::unix::fs::MetadataExt::uid(&own))?.to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = users.lines().map(|line| line.split(':'));
    lines.find_map(|mut parts| {
        let name = parts.next()?;
        (parts.nth(1)? == number).then(|| name.to_owned())
    })
}
