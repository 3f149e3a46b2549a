//! The configuration file, `toolgate.yaml`: strict, with a place for every error; secrets are references.

mod audit;
mod credentials;
pub mod finding;
pub mod hooks;
pub mod mcp;
pub mod model;
mod overrides;
pub mod platforms;
mod read;
pub mod secret;
pub mod store;
mod yaml;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use contract::Platform;

pub use self::read::parse_duration;
pub use self::{
    audit::{Audit, Posted},
    finding::{Finding, finding_at},
    mcp::McpServer,
    model::{Model, Models},
    platforms::{DiscordAccount, Platforms, SlackAccount, SlackEvents, TelegramAccount},
    secret::Secret,
    store::{Store, StoreSync},
};
use self::{
    platforms::required_secret,
    read::Reader,
    yaml::{Key, Spot, Tree},
};

/// Where the configuration is looked for when `--config` says nothing.
pub const FILE: &str = "toolgate.yaml";

/// The whole configuration, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file that was read; nothing when only defaults and variables count.
    pub file: Option<PathBuf>,
    pub listen: SocketAddr,
    pub admin_token: Option<Secret>,
    pub clients: Vec<Client>,
    pub store: Store,
    pub store_sync: StoreSync,
    /// What keys in Redis begin with.
    pub store_prefix: String,
    /// Files and folders of tools. A folder that was not stated need not be there.
    pub tools: Vec<PathBuf>,
    /// The folder of policies; nothing means those that come with the binary.
    pub policies: Option<PathBuf>,
    pub platforms: Platforms,
    /// The language models; without one only commands are read.
    pub model: Option<Models>,
    /// What tools may name as their `credential`.
    pub credentials: BTreeMap<String, endpoints::credentials::Settings>,
    /// MCP servers whose tools may be used.
    pub mcp_servers: Vec<McpServer>,
    /// What is added to the way of every call, in order.
    pub hooks: Vec<hooks::Hook>,
    pub audit: Audit,
    pub limits: Limits,
    pub log: Log,
}

/// A program that may use the HTTP API. Platform and tenant come from here, never from a request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub name: String,
    pub token: Secret,
    pub platform: Platform,
    pub tenant: Option<String>,
}

/// Limits of the gateway itself; those of turns and calls are policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Messages that wait in one session.
    pub lane: u64,
    /// How long a repeated event is recognised.
    pub dedup: Duration,
    pub dedup_keys: u64,
    /// How long running turns get at the end.
    pub drain: Duration,
    pub traces_kept: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let hours = |n: u64| Duration::from_secs(n * 3_600);
        Self {
            lane: 32,
            dedup: hours(24),
            dedup_keys: 1_000_000,
            drain: Duration::from_secs(60),
            traces_kept: hours(24 * 7),
        }
    }
}

/// What is written to stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A level, or a filter such as `info,toolgate=debug`.
    pub level: String,
    pub json: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".into(), json: false }
    }
}

/// A configuration and what is to be said of it.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    pub warnings: Vec<Finding>,
}

/// Reads the file (or nothing, when none is named and there is none) and the process's variables.
pub fn load(named: Option<&Path>) -> Result<Loaded, Vec<Finding>> {
    let path = named.unwrap_or(Path::new(FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let shown = path.display().to_string();
            return Err(vec![finding_at(&shown, &Spot::default(), format!("cannot be read: {error}"))]);
        }
    };
    parse(text.is_some().then_some(path), &text.unwrap_or_default(), std::env::vars_os().filter_map(utf8))
}

fn utf8((name, value): (std::ffi::OsString, std::ffi::OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

/// Reads a text as if it stood in `path`; relative paths start from its folder.
pub fn parse(
    path: Option<&Path>,
    text: &str,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Loaded, Vec<Finding>> {
    let file = path.unwrap_or(Path::new(FILE));
    let shown = file.display().to_string();
    let base = file.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut tree = Tree::parse(&shown, text).map_err(|error| vec![error])?;
    let errors = overrides::apply(&mut tree, variables);
    let mut reader = Reader { file: shown, base, vault: Arc::default(), errors, warnings: Vec::new() };
    let config = Config { file: path.map(Path::to_path_buf), ..Config::read(&mut reader, tree) };
    if reader.errors.is_empty() {
        Ok(Loaded { config, warnings: reader.warnings })
    } else {
        reader.errors.sort_by_key(|error| (error.line, error.column));
        Err(reader.errors)
    }
}

impl Config {
    fn defaults(base: &Path) -> Self {
        Self {
            file: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            admin_token: None,
            clients: Vec::new(),
            store: Store::Sqlite(base.join("toolgate.db")),
            store_sync: StoreSync::default(),
            store_prefix: "toolgate".into(),
            tools: there(base.join("tools")).into_iter().collect(),
            policies: there(base.join("platform-policies")),
            platforms: Platforms::default(),
            model: None,
            credentials: BTreeMap::new(),
            mcp_servers: Vec::new(),
            hooks: Vec::new(),
            audit: Audit::default(),
            limits: Limits::default(),
            log: Log::default(),
        }
    }

    fn read(reader: &mut Reader, tree: Tree) -> Self {
        let mut config = Self::defaults(&reader.base);
        let Some(mut table) = reader.table("the file", tree) else { return config };
        table.path.clear();
        // First, since every other key may refer to it.
        if let Some(tree) = table.take("vault") {
            credentials::vault(reader, tree);
        }
        if let Some(tree) = table.take("listen") {
            config.listen = listen(reader, &tree).unwrap_or(config.listen);
        }
        config.admin_token = table.take("admin_token").and_then(|tree| reader.secret("admin_token", &tree));
        config.clients = table.take("clients").map(|tree| clients(reader, tree)).unwrap_or_default();
        if let Some(tree) = table.take("store") {
            config.store = store::read(reader, &tree).unwrap_or(config.store);
        }
        if let Some(tree) = table.take("store_sync") {
            let words = [("normal", StoreSync::Normal), ("full", StoreSync::Full)];
            config.store_sync = reader.choice("store_sync", &tree, &words).unwrap_or_default();
        }
        if let Some(tree) = table.take("store_prefix") {
            config.store_prefix = store::prefix(reader, &tree).unwrap_or(config.store_prefix);
        }
        if let Some(tree) = table.take("tools") {
            config.tools = reader.list(tree).iter().filter_map(|item| reader.path("tools", item)).collect();
        }
        if let Some(tree) = table.take("policies") {
            config.policies = reader.path("policies", &tree).or(config.policies);
        }
        if let Some(tree) = table.take("platforms") {
            config.platforms = Platforms::read(reader, tree);
        }
        config.model = table.take("model").and_then(|tree| Models::read(reader, tree));
        if let Some(tree) = table.take("credential_store") {
            config.credentials = credentials::read(reader, tree);
        }
        if let Some(tree) = table.take("mcp_servers") {
            config.mcp_servers = mcp::read(reader, tree, &config.credentials);
        }
        if let Some(tree) = table.take("hooks") {
            config.hooks = hooks::read(reader, tree);
        }
        if let Some(tree) = table.take("limits") {
            config.limits = limits(reader, tree);
        }
        if let Some(tree) = table.take("log") {
            config.log = log(reader, tree);
        }
        if let Some(tree) = table.take("audit") {
            config.audit = Audit::read(reader, tree);
        }
        reader.finish(table);
        config
    }
}

/// A folder that nobody named counts if it is there.
fn there(path: PathBuf) -> Option<PathBuf> {
    path.is_dir().then_some(path)
}

fn listen(reader: &mut Reader, tree: &Tree) -> Option<SocketAddr> {
    let address = reader.text("listen", tree)?.parse().ok();
    if address.is_none() {
        reader.error(&tree.spot, "'listen' must be an address and a port such as 127.0.0.1:8787 or [::1]:8787");
    }
    address
}

fn clients(reader: &mut Reader, tree: Tree) -> Vec<Client> {
    let Some(mut table) = reader.table("clients", tree) else { return Vec::new() };
    table.take_all().into_iter().filter_map(|(name, tree)| client(reader, name, tree)).collect()
}

fn client(reader: &mut Reader, name: Key, tree: Tree) -> Option<Client> {
    let mut table = reader.table(&format!("clients.{}", name.text), tree)?;
    let token = required_secret(reader, &mut table, "token");
    let mut platform = Some(Platform::Api);
    if let Some(tree) = table.take("platform") {
        let words = [("api", Platform::Api), ("web", Platform::Web), ("mcp", Platform::Mcp)];
        platform = reader.choice(&table.name("platform"), &tree, &words);
    }
    let tenant = table.take("tenant").and_then(|tree| reader.text(&table.name("tenant"), &tree));
    reader.finish(table);
    Some(Client { name: name.text, token: token?, platform: platform?, tenant })
}

fn limits(reader: &mut Reader, tree: Tree) -> Limits {
    let mut limits = Limits::default();
    let Some(mut table) = reader.table("limits", tree) else { return limits };
    for (key, slot) in [("lane", &mut limits.lane), ("dedup_keys", &mut limits.dedup_keys)] {
        if let Some(tree) = table.take(key) {
            *slot = reader.whole(&table.name(key), &tree).unwrap_or(*slot);
        }
    }
    for (key, slot) in
        [("dedup", &mut limits.dedup), ("drain", &mut limits.drain), ("traces_kept", &mut limits.traces_kept)]
    {
        if let Some(tree) = table.take(key) {
            *slot = reader.duration(&table.name(key), &tree).unwrap_or(*slot);
        }
    }
    reader.finish(table);
    limits
}

fn log(reader: &mut Reader, tree: Tree) -> Log {
    let mut log = Log::default();
    let Some(mut table) = reader.table("log", tree) else { return log };
    if let Some(tree) = table.take("level") {
        log.level = reader.text("log.level", &tree).unwrap_or(log.level);
    }
    if let Some(tree) = table.take("format") {
        log.json = reader.choice("log.format", &tree, &[("text", false), ("json", true)]).unwrap_or(false);
    }
    reader.finish(table);
    log
}

#[cfg(test)]
mod tests;
