//! Tools and policies as files hold them, brought together: what `up`, `check` and the commands that look begin with.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use contract::records::Shelf;
use endpoints::{
    Endpoints,
    command::{Commands, checkpoint::Checkpoints},
    credentials::Credentials,
    mcp,
};
use policies::{Compiled, Policies, Source};
use tools::Registry;

use crate::config::{Config, Finding, Store};

/// What tools can call, as the configuration says.
pub fn endpoints(config: &Config) -> Endpoints {
    let servers = Arc::new(mcp::Servers::new(mcp_servers(config)));
    Endpoints::new()
        .credentials(Credentials::new(config.credentials.clone()))
        .mcp(servers)
        .commands(Arc::new(commands(&config.store)))
}

/// What runs programs as tools: this binary confines them, where it can be found.
pub fn commands(store: &Store) -> Commands {
    std::env::current_exe().map(Commands::new).unwrap_or_default().checkpoints(checkpoints(store))
}

/// Where it is kept how folders were before tools worked in them.
pub fn checkpoints(store: &Store) -> Option<Checkpoints> {
    beside(store, "checkpoints").map(Checkpoints::new)
}

/// Beside the database; where that is elsewhere, in the folder that systemd (or whoever starts the gateway) gives it for
/// its state.
pub fn beside(store: &Store, what: &str) -> Option<PathBuf> {
    match store {
        Store::Sqlite(path) => {
            let mut name = path.file_name()?.to_owned();
            name.push(format!(".{what}"));
            Some(path.with_file_name(name))
        }
        Store::Redis(_) | Store::Secret(_) => {
            let folders = std::env::var_os("STATE_DIRECTORY").filter(|folders| !folders.is_empty())?;
            Some(std::env::split_paths(&folders).next()?.join(format!("toolgate.{what}")))
        }
    }
}

/// The MCP servers of the configuration; none is asked yet.
pub fn mcp_servers(config: &Config) -> Vec<mcp::Server> {
    config.mcp_servers.iter().map(|known| known.server.clone()).collect()
}

/// Where tools and policies come from.
pub struct Origins {
    pub tools: Vec<PathBuf>,
    /// Specs that the binary brings: the name that messages show, and the text.
    pub brought: Vec<(&'static str, String)>,
    pub policies: PolicyOrigin,
}

/// Where policies come from.
pub enum PolicyOrigin {
    Folder(PathBuf),
    /// Files that are part of the binary.
    Brought(&'static [(&'static str, &'static str)]),
}

impl Origins {
    /// As the configuration says; without a folder the shipped policies count.
    pub fn of(config: &Config) -> Self {
        let policies = match &config.policies {
            Some(folder) => PolicyOrigin::Folder(folder.clone()),
            None => PolicyOrigin::Brought(policies::shipped()),
        };
        Self { tools: config.tools.clone(), brought: Vec::new(), policies }
    }

    /// The demo's, with its services at `url`.
    pub fn demo(url: &str) -> Self {
        let policies = PolicyOrigin::Brought(policies::demo());
        Self { tools: Vec::new(), brought: crate::demo::tools::files(url), policies }
    }

    /// The files and folders that are read, to be watched.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = self.tools.clone();
        if let PolicyOrigin::Folder(folder) = &self.policies {
            files.push(folder.clone());
        }
        files
    }

    /// Reads everything. Reads files: not for a runtime's thread.
    pub fn load(&self, registry: &Registry) -> Sources {
        self.load_with(registry, &Shelf::default())
    }

    /// The same, with what the store has.
    pub fn load_with(&self, registry: &Registry, shelf: &Shelf) -> Sources {
        let brought: Vec<_> = self.brought.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let loaded = registry.load_all(&self.tools, &brought, shelf);
        let mut sources = Sources {
            tools: loaded.snapshot,
            policies: None,
            compiled: None,
            errors: loaded.errors,
            warnings: loaded.warnings,
        };
        match self.policies.load() {
            Ok(loaded) => {
                sources.warnings.extend(loaded.warnings);
                sources.compile(Arc::new(loaded.policies));
            }
            Err(errors) => sources.errors.extend(errors),
        }
        sources
    }
}

impl PolicyOrigin {
    fn load(&self) -> Result<policies::Loaded, Vec<Finding>> {
        match self {
            Self::Folder(folder) => Policies::load(folder),
            Self::Brought(files) => {
                let files: Vec<_> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
                Policies::parse(&files)
            }
        }
    }
}

/// What was read, and everything to be said of it.
pub struct Sources {
    pub tools: Arc<tools::Snapshot>,
    /// Nothing when the files cannot be read.
    pub policies: Option<Arc<Policies>>,
    /// Nothing when they do not fit the tools.
    pub compiled: Option<Arc<Compiled>>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Sources {
    /// Binds policies to the tools that were read. A tool that is out of order does not take along the policies that
    /// name it.
    pub fn compile(&mut self, policies: Arc<Policies>) {
        let facts = self.tools.facts();
        let compiled = match out_of_order(&self.tools) {
            none if none.is_empty() => policies.compile(&facts),
            some => policies.compile_with_quarantine(&facts, &some),
        };
        match compiled {
            Ok((compiled, warnings)) => {
                self.warnings.extend(warnings);
                self.compiled = Some(Arc::new(compiled));
            }
            Err(errors) => self.errors.extend(errors),
        }
        self.policies = Some(policies);
    }
}

/// What quarantined and removed tools may be called in rules: one whose name cannot be read goes by its file's.
fn out_of_order(tools: &tools::Snapshot) -> Vec<&str> {
    let stem = |file| Path::new(file).file_stem().and_then(|stem| stem.to_str());
    let quarantined =
        tools.quarantined().iter().flat_map(|tool| [Some(tool.name.as_str()), stem(&tool.file)]).flatten();
    quarantined.chain(tools.removed().iter().map(String::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use contract::{Caller, Origin, Platform, Sender};

    use super::*;

    fn demo() -> Sources {
        Origins::demo("http://127.0.0.1:1").load(&Registry::new(Arc::new(Endpoints::new())))
    }

    fn on(platform: Platform) -> Caller {
        Caller {
            platform,
            account: "main".into(),
            tenant: "default".into(),
            space: None,
            conversation: "1".into(),
            thread: None,
            sender: Sender { id: "1".into(), name: String::new() },
            roles: Vec::new(),
            origin: Origin::Command,
        }
    }

    #[test]
    fn the_demo_has_no_errors_and_no_warnings() {
        let sources = demo();
        let said: Vec<_> = sources.errors.iter().chain(&sources.warnings).map(ToString::to_string).collect();
        assert!(said.is_empty(), "{said:#?}");
        assert!(sources.tools.quarantined().is_empty());
    }

    #[test]
    fn a_refund_is_not_for_telegram_and_everything_else_is() {
        let sources = demo();
        let compiled = sources.compiled.unwrap();
        let seen = |platform| {
            let view = compiled.view(&on(platform));
            sources
                .tools
                .tools()
                .iter()
                .enumerate()
                .filter(|(ix, _)| view.contains(*ix))
                .map(|(_, tool)| tool.name.to_string())
                .collect::<Vec<_>>()
        };
        let (telegram, console) = (seen(Platform::Telegram), seen(Platform::Console));
        assert_eq!(console.len(), sources.tools.tools().len());
        let hidden: Vec<_> = console.iter().filter(|name| !telegram.contains(name)).collect();
        assert_eq!(hidden, ["order_refund"]);
    }

    #[test]
    fn the_shipped_policies_fit_no_tools_at_all() {
        let origins = Origins::of(&crate::config::parse(None, "tools: []", []).unwrap().config);
        let sources = origins.load(&Registry::new(Arc::new(Endpoints::new())));
        assert!(sources.errors.is_empty() && sources.compiled.is_some(), "{:?}", sources.errors);
    }
}
