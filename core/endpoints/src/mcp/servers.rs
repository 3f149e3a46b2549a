//! All MCP servers of the configuration.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use contract::{Finding, seams::Health, text};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tools::Spec;
use tracing::warn;

use super::{
    Listed, Server,
    listed::Catalogue,
    supervise::{NoConnection, Supervisor},
};

/// How long all servers are given to end.
const ENDING: Duration = Duration::from_secs(10);

/// The servers, each by its id; nothing is connected until it is needed.
pub struct Servers {
    all: BTreeMap<String, Arc<Supervisor>>,
    /// Whether tools that are made connect their servers.
    started: AtomicBool,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Why a server's tools cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotListed {
    #[error("there is no MCP server '{0}'")]
    Unknown(String),
    #[error("the MCP server '{0}' is away: {1}")]
    Away(String, String),
    #[error("the MCP server '{0}' does not list its tools")]
    Silent(String),
}

impl Servers {
    pub fn new(servers: Vec<Server>) -> Self {
        // Fails only when a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let http = crate::client();
        let supervised = |server: Server| {
            let id = server.id.clone();
            (id, Supervisor::new(server, http.clone(), tasks.clone(), stop.clone()))
        };
        let all = servers.into_iter().map(supervised).collect();
        Self { all, started: AtomicBool::new(false), tasks, stop }
    }

    /// The server that a spec names.
    pub(crate) fn of(&self, spec: &Spec, id: &str) -> Result<Arc<Supervisor>, Finding> {
        let Some(server) = self.all.get(id) else {
            let message = format!("no MCP server is called '{}'", text::one_line(id, 64));
            let error = spec.error_at("endpoint.server", message);
            return Err(match text::nearest(id, self.all.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error.hint("servers are declared in 'mcp_servers' of the configuration"),
            });
        };
        server.use_by_a_tool();
        if self.started.load(Ordering::Acquire) && tokio::runtime::Handle::try_current().is_ok() {
            server.begin();
        }
        Ok(server.clone())
    }

    /// Connects the servers that tools need, in the background, and tells how they fare.
    pub fn start(&self, health: &Health) {
        self.started.store(true, Ordering::Release);
        for server in self.all.values() {
            server.tell(health.clone());
            if server.is_used() {
                server.begin();
            }
        }
    }

    /// A server's tools, as it tells them now.
    pub async fn list(&self, id: &str) -> Result<Vec<Listed>, NotListed> {
        let server = self.all.get(id).ok_or_else(|| NotListed::Unknown(id.to_owned()))?;
        // The second try of a call may still be under way when the first failed.
        let until = Instant::now() + server.server.timeout + Duration::from_secs(1);
        match server.connection(until).await {
            Ok(_) => {}
            Err(NoConnection::Down(why)) => return Err(NotListed::Away(id.to_owned(), why.to_string())),
            Err(NoConnection::Late) => return Err(NotListed::Away(id.to_owned(), "it did not answer in time".into())),
            Err(NoConnection::Stopped) => return Err(NotListed::Away(id.to_owned(), "we stop".into())),
        }
        let catalogue = server.catalogue().ok_or_else(|| NotListed::Silent(id.to_owned()))?;
        Ok(catalogue.tools.clone())
    }

    /// Told of every reading of a server's tools from now on.
    pub fn watch(&self, id: &str) -> Option<Changes> {
        self.all.get(id).map(|server| Changes(server.catalogues()))
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(String::as_str)
    }

    /// Ends all connections and processes.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        if timeout(ENDING, self.tasks.wait()).await.is_err() {
            warn!("an MCP server did not end in time");
        }
    }
}

/// The readings of a server's tools.
pub struct Changes(watch::Receiver<Option<Arc<Catalogue>>>);

impl Changes {
    /// Waits for the next reading: the server told of a change, or is back.
    pub async fn next(&mut self) -> Vec<Listed> {
        loop {
            if self.0.changed().await.is_err() {
                return std::future::pending().await;
            }
            if let Some(catalogue) = self.0.borrow_and_update().clone() {
                return catalogue.tools.clone();
            }
        }
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.all.keys()).finish()
    }
}
