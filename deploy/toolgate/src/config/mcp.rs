//! MCP servers whose tools may be used: the key `mcp_servers`.

use std::{collections::BTreeMap, time::Duration};

use endpoints::{
    credentials::{Kind, Place, Settings},
    mcp::{Part, Server, Via},
    secret::Source,
};
use reqwest::header::HeaderName;

use super::{
    read::{Reader, Table},
    yaml::{Key, Tree, Value},
};

/// An MCP server and the toolset that its tools are imported into.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    pub server: Server,
    pub toolset: String,
}

/// What a reference to a secret begins with.
const SCHEMES: [&str; 4] = ["env:", "file:", "exec:", "vault:"];
/// How long a server may take to start and to say what it offers, unless it is said otherwise.
const START: Duration = Duration::from_secs(30);
/// Most servers.
const MOST: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Http,
    Stdio,
    Sse,
}

const TRANSPORTS: [(&str, Transport); 4] = [
    ("streamable-http", Transport::Http),
    ("http", Transport::Http),
    ("stdio", Transport::Stdio),
    ("sse", Transport::Sse),
];

/// Headers that the protocol sets itself.
const TAKEN: [&str; 9] = [
    "accept",
    "content-type",
    "content-length",
    "host",
    "connection",
    "transfer-encoding",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
];

pub(super) fn read(reader: &mut Reader, tree: Tree, credentials: &BTreeMap<String, Settings>) -> Vec<McpServer> {
    let mut all: Vec<McpServer> = Vec::new();
    if !matches!(tree.value, Value::List(_)) {
        reader.error(&tree.spot, "'mcp_servers' must be a list, such as [{ id: files, command: [npx, …] }]");
        return all;
    }
    let spot = tree.spot.clone();
    for (i, item) in reader.list(tree).into_iter().enumerate() {
        let Some(mut table) = reader.table(&format!("mcp_servers[{i}]"), item) else { continue };
        let place = table.spot.clone();
        let server = server(reader, &mut table, credentials);
        reader.finish(table);
        let Some(server) = server else { continue };
        if all.iter().any(|other| other.server.id == server.server.id) {
            reader.error(&place, format!("two MCP servers are called '{}'", server.server.id));
        }
        all.push(server);
    }
    if all.len() > MOST {
        reader.error(&spot, format!("'mcp_servers' must be at most {MOST}"));
    }
    all
}

fn server(reader: &mut Reader, table: &mut Table, credentials: &BTreeMap<String, Settings>) -> Option<McpServer> {
    let id = id(reader, table);
    let transport = table.take("transport").map(|tree| reader.choice(&table.name("transport"), &tree, &TRANSPORTS));
    let toolset = table.take("toolset").and_then(|tree| reader.text(&table.name("toolset"), &tree));
    let timeout = table.take("timeout").and_then(|tree| reader.duration(&table.name("timeout"), &tree));
    let (url, command) = (table.take("url"), table.take("command"));
    let spot = table.spot.clone();
    let transport = match transport {
        Some(chosen) => chosen?,
        None if command.is_some() => Transport::Stdio,
        None => Transport::Http,
    };
    let via = match transport {
        Transport::Stdio => {
            if let Some(url) = url {
                reader.error(
                    &url.spot,
                    format!("'{}' is for a server over HTTP, not for one over stdio", table.name("url")),
                );
            }
            process(reader, table, command)
        }
        Transport::Http => {
            if let Some(command) = command {
                let message = format!("'{}' is for 'transport: stdio'", table.name("command"));
                reader.error(&command.spot, message);
            }
            http(reader, table, url, credentials)
        }
        Transport::Sse => {
            let message = "the transport 'sse' of 2024 is not spoken: most servers offer streamable-http by now";
            reader.error(&spot, message);
            None
        }
    };
    let id = id?;
    let toolset = toolset.unwrap_or_else(|| id.clone());
    Some(McpServer { server: Server { id, via: via?, timeout: timeout.unwrap_or(START) }, toolset })
}

fn id(reader: &mut Reader, table: &mut Table) -> Option<String> {
    let Some(tree) = table.take("id") else {
        if !table.is_misspelt("id") {
            reader.error(
                &table.spot.clone(),
                format!("'{}' is missing: how do tools call the server?", table.name("id")),
            );
        }
        return None;
    };
    let id = reader.text(&table.name("id"), &tree)?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if id.len() > 32 || !id.chars().all(fits) {
        let message = format!("'{}' must be at most 32 of a-z, 0-9, '_' and '-'", table.name("id"));
        reader.error(&tree.spot, message);
        return None;
    }
    Some(id)
}

fn process(reader: &mut Reader, table: &mut Table, command: Option<Tree>) -> Option<Via> {
    let path = table.name("command");
    for key in ["headers", "credential"] {
        if let Some(tree) = table.take(key) {
            let message =
                format!("'{}' is for a server over HTTP; a process is given secrets in 'env'", table.name(key));
            reader.error(&tree.spot, message);
        }
    }
    let env = table.take("env").map(|tree| values(reader, &table.name("env"), tree)).unwrap_or_default();
    let Some(command) = command else {
        reader.error(&table.spot.clone(), format!("'{path}' is missing: how is the server started?"));
        return None;
    };
    let Value::List(words) = &command.value else {
        reader.error(&command.spot, format!("'{path}' must be a list of words: there is no shell"));
        return None;
    };
    let command: Option<Vec<_>> = words.iter().map(|word| reader.text(&path, word)).collect();
    let command = command.filter(|words| !words.is_empty())?;
    let folder = Some(reader.base.clone()).filter(|base| !base.as_os_str().is_empty());
    let env = env.into_iter().map(|(key, parts)| (key.text, parts)).collect();
    Some(Via::Stdio { command, env, folder })
}

fn http(
    reader: &mut Reader,
    table: &mut Table,
    url: Option<Tree>,
    credentials: &BTreeMap<String, Settings>,
) -> Option<Via> {
    if let Some(tree) = table.take("env") {
        reader.error(&tree.spot, format!("'{}' is for 'transport: stdio'", table.name("env")));
    }
    let path = table.name("headers");
    let written = table.take("headers").map(|tree| values(reader, &path, tree)).unwrap_or_default();
    let mut headers = Vec::new();
    for (key, parts) in written {
        match key.text.parse::<HeaderName>() {
            Ok(name) if !TAKEN.contains(&name.as_str()) => headers.push((name, parts)),
            Ok(name) => reader.error(&key.spot, format!("the header '{name}' is the protocol's to set")),
            Err(_) => reader.error(&key.spot, format!("a key of '{path}' cannot be a header's name")),
        }
    }
    if let Some(tree) = table.take("credential") {
        headers.extend(credential(reader, &table.name("credential"), &tree, credentials));
    }
    let Some(url) = url else {
        let message =
            format!("'{}' is missing; a server that is a program has 'command' in its place", table.name("url"));
        reader.error(&table.spot.clone(), message);
        return None;
    };
    let url = reader.url(&table.name("url"), &url)?;
    Some(Via::Http { url, headers })
}

/// The header of a credential that is sent as it is.
fn credential(
    reader: &mut Reader,
    path: &str,
    tree: &Tree,
    credentials: &BTreeMap<String, Settings>,
) -> Option<(HeaderName, Vec<Part>)> {
    let name = reader.text(path, tree)?;
    let Some(settings) = credentials.get(&name) else {
        reader.error(&tree.spot, format!("'{path}': there is no credential '{name}' in 'credential_store'"));
        return None;
    };
    match settings.base.as_ref().map(|variant| &variant.kind) {
        Some(Kind::Secret { secret, place: Place::Header { name, prefix } }) => {
            Some((name.clone(), vec![Part::Written(prefix.clone()), Part::Secret(secret.clone())]))
        }
        _ => {
            let message = format!(
                "'{path}': an MCP server takes a credential that is sent as it is in a header: bearer or api_key"
            );
            reader.error(&tree.spot, message);
            None
        }
    }
}

/// Names with their values, each text or a reference, which may stand behind a first word: `Bearer env:TOKEN`.
pub(super) fn values(reader: &mut Reader, path: &str, tree: Tree) -> Vec<(Key, Vec<Part>)> {
    let Some(mut table) = reader.table(path, tree) else { return Vec::new() };
    let mut all = Vec::new();
    for (key, tree) in table.take_all() {
        let path = format!("{path}.{}", key.text);
        let Some(text) = reader.text(&path, &tree) else { continue };
        let begins = |at: &usize| SCHEMES.iter().any(|scheme| text[*at..].starts_with(scheme));
        let words = std::iter::once(0).chain(text.match_indices(' ').map(|(at, _)| at + 1));
        match { words }.find(begins) {
            Some(at) => {
                let reference = Tree { value: Value::Text(text[at..].to_owned()), ..tree };
                let Some(secret) = reader.secret(&path, &reference) else { continue };
                all.push((key, vec![Part::Written(text[..at].to_owned()), Part::Secret(Source::new(secret))]));
            }
            None if is_secret_name(&key.text) => {
                // Says how a reference is written, and repeats nothing of what stands there.
                let literal = Tree { value: Value::Text(String::new()), ..tree };
                reader.secret(&path, &literal);
            }
            None => all.push((key, vec![Part::Written(text)])),
        }
    }
    all
}

/// Whether what stands under such a name is a secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    ["token", "secret", "password", "passwd", "api_key", "apikey", "access_key", "authorization", "cookie"]
        .iter()
        .any(|part| name.contains(part))
        || name.ends_with("_key")
}

#[cfg(test)]
mod tests;
