//! A simulator, an adapter and the core, in a runtime of their own that can be killed as a process is.

use std::{sync::Arc, time::Duration};

use contract::{Platform, Stopped, ids::PARTITIONS, records::Stores};
use dispatch::{Gateway, Settings};
use endpoints::Endpoints;
use testkit::{Gate, Ground, Setup, StoreKind};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::people::People;

const TELEGRAM: &str = "4242:AAconformanceCONFORMANCEconformance";
const DISCORD: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GdEmoX.conformance-of-the-simulated-bot-0";
const SLACK_BOT: &str = "xoxb-100000000001-200000000001-conformanceOfTheSimulated";
const SLACK_APP: &str = "xapp-1-A0CONFORM01-300000000001-conformanceofthesimulated";

/// What may differ from the usual.
pub struct Options {
    /// Policies beside those that allow the toolset `lab`, by file name; one of the same name replaces it.
    pub policies: Vec<(String, String)>,
    pub store: StoreKind,
    /// Further tools.
    pub tools: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { policies: Vec::new(), store: StoreKind::Sqlite, tools: String::new() }
    }
}

/// One platform's simulator, and a gateway with one account on it.
pub struct Stage {
    pub platform: Platform,
    pub people: People,
    /// What the tools `gate` and `once` wait at.
    pub gate: Gate,
    pub ground: Ground,
    options: Arc<Options>,
    url: String,
    simulators: CancellationToken,
    sim: sim::Running,
    life: Option<Life>,
}

/// A process life.
struct Life {
    runtime: Option<Runtime>,
    gateway: Gateway,
    adapter: JoinHandle<Result<(), Stopped>>,
    intake: CancellationToken,
}

impl Stage {
    pub async fn new(platform: Platform) -> Self {
        Self::with(platform, Options::default()).await
    }

    pub async fn with(platform: Platform, options: Options) -> Self {
        let simulators = CancellationToken::new();
        let setup = sim::Options {
            telegram: sim::telegram::Setup { limits: sim::telegram::Limits::none(), ..Default::default() },
            ..sim::Options::default()
        };
        let sim = sim::serve(setup, simulators.clone()).await.expect("the simulators start");
        let mut stage = Self {
            platform,
            people: People::new(platform, &sim.url),
            gate: Gate::opened(),
            ground: Ground::new(options.store).await,
            options: Arc::new(options),
            url: sim.url.clone(),
            simulators,
            sim,
            life: None,
        };
        stage.start().await;
        stage
    }

    /// A process life begins, on the store that is there.
    pub async fn start(&mut self) {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts");
        let (opening, options) = (self.ground.opening(), self.options.clone());
        let (platform, url, gate) = (self.platform, self.url.clone(), self.gate.clone());
        let intake = CancellationToken::new();
        let stopping = intake.clone();
        let started = runtime.spawn(async move {
            let gateway = gateway(opening.await, &options, gate);
            let adapter = adapter(platform, &url, &gateway, stopping);
            gateway.start();
            (gateway, adapter())
        });
        let (gateway, adapter) = started.await.expect("the gateway starts");
        testkit::until("partitions are held", || gateway.partitions_held() == usize::from(PARTITIONS)).await;
        self.life = Some(Life { runtime: Some(runtime), gateway, adapter, intake });
    }

    pub fn gateway(&self) -> &Gateway {
        &self.life.as_ref().expect("a life goes on").gateway
    }

    /// Ends every task where it stands, as `kill -9` does.
    pub fn kill(&mut self) {
        drop(self.life.take());
    }

    /// Ends it as SIGTERM does; how the adapter ended.
    pub async fn stop(&mut self) -> Result<(), Stopped> {
        let mut life = self.life.take().expect("a life goes on");
        life.intake.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(10), &mut life.adapter).await;
        life.gateway.drain().await;
        ended.expect("the adapter stops in time").expect("the adapter does not panic")
    }

    /// How the adapter ended by itself.
    pub async fn adapter_ended(&mut self) -> Result<(), Stopped> {
        let life = self.life.as_mut().expect("a life goes on");
        let ended = tokio::time::timeout(crate::people::SOON, &mut life.adapter).await;
        ended.expect("the adapter ends").expect("the adapter does not panic")
    }

    pub async fn restart(&mut self) {
        self.stop().await.expect("the adapter stops when it is asked to");
        self.start().await;
    }

    /// Ends the stage; the platform must have found nothing to blame.
    pub async fn end(mut self) {
        if self.life.is_some() {
            self.stop().await.expect("the adapter stops when it is asked to");
        }
        self.people.is_content().await;
        self.simulators.cancel();
        self.sim.join().await;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn gateway(stores: Stores, options: &Options, gate: Gate) -> Gateway {
    let chats = [Platform::Discord, Platform::Telegram, Platform::Slack];
    let mut policies: Vec<_> = chats.into_iter().map(testkit::allow_lab).collect();
    policies.retain(|(file, _)| options.policies.iter().all(|(other, _)| other != file));
    policies.extend(options.policies.iter().cloned());
    let tools = format!("{}{}", testkit::TOOLS, options.tools);
    Gateway::open(dispatch::Options {
        stores,
        snapshot: Setup::snapshot(&tools, &policies, Endpoints::new().native("gate", gate), 1),
        settings: Settings { drain: Duration::from_secs(5), ..Settings::default() },
        planner: None,
    })
}

type Run = Box<dyn FnOnce() -> JoinHandle<Result<(), Stopped>> + Send>;

/// Connects the platform's adapter; what comes back starts it.
fn adapter(platform: Platform, url: &str, gateway: &Gateway, shutdown: CancellationToken) -> Run {
    let core = gateway.core();
    match platform {
        Platform::Discord => {
            let config = discord::Config::new("main", DISCORD.into(), Some(format!("{url}/discord/api/v10")));
            let adapter = discord::Discord::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
            gateway.connect(platform, "main", adapter.clone(), adapter.clone());
            Box::new(move || tokio::spawn(discord::run(adapter, core, shutdown)))
        }
        Platform::Telegram => {
            let mut config = telegram::Config::new("main", TELEGRAM.into(), Some(format!("{url}/telegram")));
            config.timing.album = Duration::from_millis(100);
            config.timing.poll = Duration::from_secs(3);
            config.timing.watchdog = Duration::from_secs(2);
            config.timing.conflict = Duration::from_millis(300);
            config.timing.backoff = Duration::from_millis(200);
            let adapter = telegram::Telegram::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
            gateway.connect(platform, "main", adapter.clone(), adapter.clone());
            Box::new(move || tokio::spawn(telegram::run(adapter, core, shutdown)))
        }
        Platform::Slack => {
            let mode = slack::Mode::Socket { app_token: SLACK_APP.into() };
            let config = slack::Config::new("main", SLACK_BOT.into(), mode, Some(format!("{url}/slack/api")));
            let adapter = slack::Slack::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
            gateway.connect(platform, "main", adapter.clone(), adapter.clone());
            Box::new(move || tokio::spawn(slack::run(adapter, core, shutdown)))
        }
        other => panic!("'{other}' has no adapter"),
    }
}
