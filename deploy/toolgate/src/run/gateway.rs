//! The composition: stores, snapshot, gateway, adapters, HTTP.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::Router;
use contract::records::{Shelf, Stores};
use dispatch::{Gateway, Options, Settings};
use endpoints::{Endpoints, command::Commands};
use models::Chain;
use secrecy::SecretString;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tools::{
    spec::EndpointSpec,
    watch::{Watch, watch},
};
use tracing::{info, warn};

use crate::{
    config::{Config, Model, Secret, Store, StoreSync},
    run::{
        Ended,
        adapters::{Account, Adapter, say_stopped},
        audit,
        keeper::Keeper,
        loader::Loader,
    },
    sources::{Origins, beside},
};

/// A gateway that runs.
pub struct Running {
    pub gateway: Gateway,
    pub stores: Stores,
    loader: Arc<Loader>,
    keeper: Arc<Keeper>,
    /// The servers whose tools are called over MCP.
    mcp: Option<Arc<endpoints::mcp::Servers>>,
    /// The programs that are tools.
    commands: Arc<Commands>,
    connected: Vec<Adapter>,
    adapters: TaskTracker,
    /// Ends adapters and HTTP.
    intake: CancellationToken,
    _watch: Option<Watch>,
}

/// Opens the configured store.
pub async fn open_store(config: &Config) -> Result<Stores, Ended> {
    let options = store::Options {
        prefix: config.store_prefix.clone(),
        sync_full: config.store_sync == StoreSync::Full,
        lane: usize::try_from(config.limits.lane).unwrap_or(usize::MAX),
        keep: store::Keep {
            done: config.limits.dedup,
            keys_per_account: usize::try_from(config.limits.dedup_keys).unwrap_or(usize::MAX),
            traces: config.limits.traces_kept,
            audit: config.audit.kept,
            ..store::Keep::default()
        },
        ..store::Options::default()
    };
    let url = store_url(&config.store).await?;
    for warning in store::warnings(&url).await.map_err(no_store)? {
        warn!("store: {warning}");
    }
    store::open(&url, options).await.map_err(no_store)
}

/// What the configured store has of tools, without making one.
pub async fn read_shelf(config: &Config) -> Result<Shelf, String> {
    if matches!(&config.store, Store::Sqlite(path) if !path.exists()) {
        return Ok(Shelf::default());
    }
    let url = store_url(&config.store).await.map_err(|ended| ended.to_string())?;
    let prefix = config.store_prefix.clone();
    let options = store::Options { prefix, create: false, ..store::Options::default() };
    let stores = store::open(&url, options).await.map_err(|error| error.to_string())?;
    let shelf = stores.registry.shelf().await.map_err(|down| down.to_string());
    stores.close().await;
    shelf
}

fn no_store(error: store::OpenError) -> Ended {
    match error {
        store::OpenError::Url(_) | store::OpenError::Foreign(_) => Ended::BadConfiguration(format!("store: {error}")),
        store::OpenError::Unreachable(_) => Ended::Again(format!("store: {error}")),
    }
}

async fn store_url(store: &Store) -> Result<String, Ended> {
    match store {
        Store::Sqlite(path) => Ok(format!("sqlite:{}", path.display())),
        Store::Redis(url) => Ok(url.reveal().to_owned()),
        Store::Secret(secret) => read(secret).await.map(|s| secrecy::ExposeSecret::expose_secret(&s).to_owned()),
    }
}

/// A secret's present value.
pub async fn read(secret: &Secret) -> Result<SecretString, Ended> {
    secret.read().await.map_err(|e| Ended::BadConfiguration(e.to_string()))
}

/// What the configuration says of the gateway itself.
pub fn settings(config: &Config) -> Settings {
    let audit = audit::places(&config.audit, beside(&config.store, "audit"), false);
    Settings { drain: config.limits.drain, spill: beside(&config.store, "traces"), audit, ..Settings::default() }
}

/// The same for the service, which alone tells of calls on standard output.
pub fn settings_of_up(config: &Config) -> Settings {
    let audit = audit::places(&config.audit, beside(&config.store, "audit"), true);
    Settings { audit, ..settings(config) }
}

/// The language models of the configuration; nothing is asked of them yet.
pub fn models(config: &Config) -> Result<Option<Arc<Chain>>, Ended> {
    let Some(models) = &config.model else { return Ok(None) };
    chain(models.first.settings(), models.fallback.iter().map(Model::settings).collect()).map(Some)
}

/// A model and those that answer in its place.
pub fn chain(first: models::Settings, others: Vec<models::Settings>) -> Result<Arc<Chain>, Ended> {
    let chain = Chain::new(first, others);
    chain.map(Arc::new).map_err(|why| Ended::Failed(format!("no HTTP client for language models: {why}")))
}

/// Puts the gateway together; nothing runs yet. Without models only commands are read.
pub async fn open(
    origins: Origins,
    stores: Stores,
    settings: Settings,
    models: Option<Arc<Chain>>,
    endpoints: Endpoints,
) -> Result<Running, Ended> {
    let (mcp, commands) = (endpoints.mcp_servers(), endpoints.running_commands());
    let loader = Arc::new(Loader::new(origins, endpoints));
    let read = loader.read_shelf(&*stores.registry).await;
    read.map_err(|down| Ended::Again(format!("the tools of the store cannot be read: {down}")))?;
    let first = loader.clone();
    let loaded = tokio::task::spawn_blocking(move || first.load()).await;
    let (snapshot, findings) = loaded.map_err(|e| Ended::Failed(format!("tools and policies cannot be read: {e}")))?;
    let Some(snapshot) = snapshot else {
        let lines: Vec<_> = findings.errors.iter().map(ToString::to_string).collect();
        return Err(Ended::BadConfiguration(lines.join("\n")));
    };
    if snapshot.tools.tools().iter().any(|tool| matches!(tool.spec.endpoint, EndpointSpec::Command(_))) {
        let looking = commands.clone();
        let by = tokio::task::spawn_blocking(move || looking.look()).await.ok().flatten();
        info!(by = by.unwrap_or_else(|| "nothing".to_owned()), "tools that are programs are confined");
    }
    let model = models.clone().map(|models| models as Arc<dyn dispatch::Model>);
    let gateway = Gateway::open(Options { stores: stores.clone(), snapshot, settings, model });
    if let Some(models) = models {
        models.tell(gateway.health());
    }
    loader.report(&findings, &gateway.health());
    let keeper = Arc::new(Keeper::new(loader.clone(), stores.registry.clone()));
    gateway.keeps_tools(keeper.clone());
    Ok(Running {
        gateway,
        stores,
        loader,
        keeper,
        mcp,
        commands,
        connected: Vec::new(),
        adapters: TaskTracker::new(),
        intake: CancellationToken::new(),
        _watch: None,
    })
}

impl Running {
    /// Reads tools and policies again when their files change.
    pub fn watch(&mut self) {
        let paths: Vec<PathBuf> = self.loader.watched();
        if paths.is_empty() {
            return;
        }
        let (loader, gateway) = (self.loader.clone(), self.gateway.clone());
        match watch(&paths, move || loader.reload(&gateway)) {
            Ok(watch) => self._watch = Some(watch),
            Err(error) => warn!(%error, "files are not watched; restart after a change"),
        }
    }

    /// The adapters of these accounts, connected; one that cannot be right is said and left out.
    pub fn connect(&mut self, accounts: Vec<Account>) {
        for account in accounts {
            let (platform, name) = (account.platform(), account.name().to_owned());
            match Adapter::new(account) {
                Ok(adapter) => {
                    self.gateway.connect(platform, &name, adapter.outlet(), adapter.source());
                    self.connected.push(adapter);
                }
                Err(stopped) => say_stopped(&self.gateway.health(), platform, &name, &stopped),
            }
        }
    }

    /// Where platforms send events to us, below `/hooks`.
    pub fn hooks(&self) -> Router {
        self.connected.iter().filter_map(Adapter::hooks).fold(Router::new(), Router::merge)
    }

    /// Starts the gateway and the adapters.
    pub fn start(&self) {
        self.gateway.start();
        if let Some(mcp) = &self.mcp {
            mcp.start(&self.gateway.health());
        }
        let (follow, over) = (self.keeper.clone().follow(self.gateway.clone()), self.intake.clone());
        self.adapters.spawn(async move {
            tokio::select! {
                () = follow => {}
                () = over.cancelled() => {}
            }
        });
        for adapter in &self.connected {
            adapter.begins(&self.gateway.health());
            let (core, shutdown) = (self.gateway.core(), self.intake.clone());
            self.adapters.spawn(adapter.clone().run(core, shutdown));
            self.adapters.spawn(adapter.clone().tell_missing(self.gateway.health(), self.intake.clone()));
        }
    }

    /// Waits a little until turns can be run: one process at a time works on a store. False when another does.
    pub async fn is_ours(&self) -> bool {
        for _ in 0..100 {
            if self.gateway.partitions_held() > 0 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    /// Serves HTTP until the gateway stops.
    pub async fn serve(&self, config: web::Config) -> Result<web::Running, Ended> {
        web::serve(config, self.gateway.clone(), Vec::new, self.intake.clone()).await.map_err(|e| match e {
            web::Error::Listen { listen, source } => Ended::Failed(format!(
                "cannot listen on {listen} ({}); choose another address with --listen",
                source.kind()
            )),
            e => Ended::BadConfiguration(e.to_string()),
        })
    }

    /// Intake stops, turns finish, deliveries go out, the last nodes are written.
    pub async fn stop(self, web: Option<web::Running>) {
        info!("stopping: no new messages, running turns finish");
        self.intake.cancel();
        self.adapters.close();
        if tokio::time::timeout(Duration::from_secs(10), self.adapters.wait()).await.is_err() {
            warn!("an adapter did not stop in time");
        }
        self.gateway.drain().await;
        if let Some(mcp) = &self.mcp {
            mcp.close().await;
        }
        self.commands.close().await;
        self.stores.close().await;
        if let Some(web) = web {
            let _ = web.join.await;
        }
        info!("stopped");
    }
}

/// Waits for Ctrl+C or SIGTERM.
pub async fn asked_to_stop() {
    let mut term = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(term) => term,
        Err(error) => {
            warn!(%error, "SIGTERM is not heard");
            let _ = tokio::signal::ctrl_c().await;
            return;
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
    }
}
