//! `tool import-mcp`: a server's tools as specs in a file, which a person reads before they are offered.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use endpoints::mcp::{
    Listed, Servers,
    import::{Change, Imported, Row, Source, merge},
};
use serde_json::{Value, json};

use super::{Said, read};
use crate::{
    cli::{Exit, ImportMcp},
    config::{Config, McpServer},
    sources,
    table::{self, text},
};

/// Imports once; with `--watch` again whenever the server's tools change, until Ctrl+C. `tell` prints.
pub async fn import_mcp(config: &Config, asked: &ImportMcp, mut tell: impl FnMut(Said) -> Exit) -> Exit {
    let Some(server) = config.mcp_servers.iter().find(|known| known.server.id == asked.server) else {
        return tell(unknown(config, &asked.server));
    };
    let servers = Servers::new(sources::mcp_servers(config));
    let exit = tokio::select! {
        exit = work(config, asked, server, &servers, &mut tell) => exit,
        _ = tokio::signal::ctrl_c() => Exit::Ok,
    };
    servers.close().await;
    exit
}

async fn work(
    config: &Config,
    asked: &ImportMcp,
    server: &McpServer,
    servers: &Servers,
    tell: &mut impl FnMut(Said) -> Exit,
) -> Exit {
    // From before the first reading, so that no change falls between the two.
    let changes = servers.watch(&asked.server);
    let listed = match servers.list(&asked.server).await {
        Ok(listed) => listed,
        Err(why) => return tell(Said::failed(Exit::Failed, why.to_string())),
    };
    let exit = tell(import(config, asked, server, &listed));
    let Some(mut changes) = changes.filter(|_| asked.watch && exit == Exit::Ok) else { return exit };
    let mut last = listed;
    loop {
        let listed = changes.next().await;
        if listed != last {
            tell(import(config, asked, server, &listed));
            last = listed;
        }
    }
}

fn unknown(config: &Config, id: &str) -> Said {
    let ids = config.mcp_servers.iter().map(|known| known.server.id.as_str());
    let near = contract::text::nearest(id, ids.clone()).map(|near| format!(": did you mean '{near}'?"));
    let known = match ids.collect::<Vec<_>>().as_slice() {
        [] => "; 'mcp_servers' of the configuration names none".to_owned(),
        ids => format!("; there are {}", ids.join(", ")),
    };
    let id = contract::text::one_line(id, 64);
    Said::failed(Exit::Failed, format!("there is no MCP server '{id}'{}", near.unwrap_or(known)))
}

/// Brings what the server offers into its file.
fn import(config: &Config, asked: &ImportMcp, server: &McpServer, listed: &[Listed]) -> Said {
    let file = asked.out.clone().unwrap_or_else(|| file_of(config, &asked.server));
    let shown = file.display().to_string();
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Said::failed(Exit::Failed, format!("{shown} cannot be read: {}", error.kind())),
    };
    let taken = taken(config, &file);
    let source = Source { server: &asked.server, toolset: &server.toolset, reviewed: asked.reviewed, taken: &taken };
    let imported = merge(&source, listed, before.as_deref());
    let wrote = before.as_deref() != Some(&imported.text);
    if wrote && let Err(error) = write(&file, &imported.text) {
        return Said::failed(Exit::Failed, format!("{shown} cannot be written: {}", error.kind()));
    }
    let mut said = told(&imported, &asked.server, &shown, wrote);
    if !is_read(config, &file) {
        let note = format!("{shown} is in no folder of 'tools': the gateway does not read it");
        said.text.push_str(&format!("\n{note}"));
        said.json["note"] = json!(note);
    }
    said
}

/// In the first folder of tools, or beside the first file.
fn file_of(config: &Config, id: &str) -> PathBuf {
    let first = config.tools.first().cloned().unwrap_or_else(|| {
        let base = config.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        base.join("tools")
    });
    let is_file = first.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let folder = if is_file { first.parent().unwrap_or(Path::new("")).to_owned() } else { first };
    folder.join(format!("mcp-{id}.yaml"))
}

/// Whether the gateway reads the file.
fn is_read(config: &Config, file: &Path) -> bool {
    let full = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = full(file);
    config.tools.iter().map(|tools| full(tools)).any(|tools| file == tools || file.parent() == Some(&*tools))
}

/// The names that others than this file own.
fn taken(config: &Config, file: &Path) -> BTreeSet<String> {
    let shown = file.display().to_string();
    let sources = read(config);
    let others = sources.tools.tools().iter().filter(|tool| Path::new(tool.spec.source().0) != Path::new(&shown));
    others.map(|tool| tool.name.to_string()).collect()
}

/// Beside it first, so that whoever reads the file meanwhile reads a whole one.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension("yaml.new");
    std::fs::write(&beside, text)?;
    std::fs::rename(beside, file)
}

fn told(imported: &Imported, id: &str, file: &str, wrote: bool) -> Said {
    let rows = imported.tools.iter().map(|row| {
        let state = match row.change {
            Change::Removed => "",
            _ if row.published => "offered",
            _ => "waits",
        };
        vec![row.name.clone(), row.change.as_str().into(), state.into(), row.labels.join(", "), notes(row).join("; ")]
    });
    let columns = [text("tool"), text("import"), text("state"), text("labels"), text("to read")];
    let mut lines = vec![table::draw(&columns, rows, "the server offers no tools")];
    let waiting = imported.tools.iter().filter(|row| !row.published && row.change != Change::Removed).count();
    lines.push(String::new());
    lines.push(match wrote {
        true => format!("written to {file}"),
        false => format!("{file} is as it was"),
    });
    if waiting > 0 {
        lines.push(format!(
            "{waiting} of {} wait for somebody to read them. When that is done: toolgate tool import-mcp --server {id} --reviewed",
            imported.tools.len()
        ));
    }
    let tools: Vec<_> = imported.tools.iter().map(json_of).collect();
    Said::told(
        lines.join("\n"),
        json!({ "server": id, "file": file, "written": wrote, "waiting": waiting, "tools": tools }),
    )
}

fn notes(row: &Row) -> Vec<String> {
    let mut notes = row.notes.clone();
    if let Change::Changed(keys) = &row.change {
        notes.insert(0, format!("changed: {}", keys.join(", ")));
    }
    if !row.edited.is_empty() {
        notes.push(format!("yours: {}", row.edited.join(", ")));
    }
    notes
}

fn json_of(row: &Row) -> Value {
    let changed = match &row.change {
        Change::Changed(keys) => keys.clone(),
        Change::New | Change::Same | Change::Removed | Change::Orphaned => Vec::new(),
    };
    json!({
        "name": row.name, "tool": row.theirs, "import": row.change.as_str(), "changed": changed, "offered": row.published,
        "labels": row.labels, "edited": row.edited, "notes": row.notes,
    })
}
