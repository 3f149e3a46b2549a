//! A simulator, an adapter and the core, in a runtime of their own that can be killed as a process is.

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::Router;
use contract::{
    Message, Outlet, Platform, Source, Stopped, TurnId, ids::PARTITIONS, records::Stores, seams::Condition,
};
use dispatch::{Gateway, Settings, Snapshot};
use endpoints::{Endpoints, Native};
use testkit::{Gate, Ground, Hook, Setup, StoreKind, hook::HookedOutlet};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::{self, Doorstep, Set},
    people::People,
};

/// A platform's adapter as the core and the files' reader know it.
pub struct Adapter {
    pub outlet: Arc<dyn Outlet>,
    pub source: Arc<dyn Source>,
    /// Where events come in that are brought.
    pub(crate) hooks: Router,
}

/// What may differ from the usual.
pub struct Options {
    /// Policies beside those that allow the toolset `lab`, by file name; one of the same name replaces it.
    pub policies: Vec<(String, String)>,
    pub store: StoreKind,
    /// Further tools.
    pub tools: String,
    /// Functions that they call.
    pub natives: Vec<(String, Arc<dyn Native>)>,
    /// What reads people's own words.
    pub model: Option<Arc<testkit::Scripted>>,
    /// What else the simulators are set up with.
    pub simulators: Box<dyn Fn(&mut sim::Options) + Send + Sync>,
    /// Platforms whose adapters run in the same gateway.
    pub beside: Vec<Platform>,
    /// Whether a start waits until the adapters are connected.
    pub waits: bool,
    /// Whether events are brought to us by HTTP, instead of being fetched.
    pub hooks: bool,
    /// Whether several processes live at once.
    pub side_by_side: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            store: StoreKind::Sqlite,
            tools: String::new(),
            natives: Vec::new(),
            model: None,
            simulators: Box::new(|_| ()),
            beside: Vec::new(),
            waits: true,
            hooks: false,
            side_by_side: false,
        }
    }
}

impl Options {
    /// With more lines in the policy of a platform.
    pub fn policy(platform: Platform, more: &str) -> Self {
        Self { policies: vec![testkit::allow_lab_with(platform, more)], ..Self::default() }
    }
}

/// One platform's simulator, and a gateway with one account on it.
pub struct Stage {
    pub platform: Platform,
    pub people: People,
    /// What the tools `gate` and `once` wait at.
    pub gate: Gate,
    pub ground: Ground,
    pub options: Arc<Options>,
    /// Where the simulators are.
    pub url: String,
    simulators: CancellationToken,
    sim: sim::Running,
    life: Option<Life>,
    /// Another process on the same records.
    second: Option<Life>,
    generation: u64,
}

/// A process life.
struct Life {
    runtime: Option<Runtime>,
    gateway: Gateway,
    adapters: Vec<(Platform, Adapter)>,
    running: Vec<(Platform, JoinHandle<Result<(), Stopped>>)>,
    intake: CancellationToken,
}

impl Stage {
    pub async fn new(platform: Platform) -> Self {
        Self::with(platform, Options::default()).await
    }

    /// With a gate in the test's hand.
    pub async fn gated(platform: Platform) -> Self {
        Self::at(platform, Options::default(), Gate::closed(), None).await
    }

    pub async fn with(platform: Platform, options: Options) -> Self {
        Self::at(platform, options, Gate::opened(), None).await
    }

    /// A first life whose operations pass a hook.
    pub async fn hooked(platform: Platform, options: Options, gate: Gate, hook: Arc<dyn Hook>) -> Self {
        Self::at(platform, options, gate, Some(hook)).await
    }

    pub async fn at(platform: Platform, options: Options, gate: Gate, hook: Option<Arc<dyn Hook>>) -> Self {
        let simulators = CancellationToken::new();
        let mut setup = accounts::simulators();
        (options.simulators)(&mut setup);
        let sim = sim::serve(setup, simulators.clone()).await.expect("the simulators start");
        let mut stage = Self {
            platform,
            people: People::new(platform, &sim.url),
            gate,
            ground: Ground::new(options.store).await,
            options: Arc::new(options),
            url: sim.url.clone(),
            simulators,
            sim,
            life: None,
            second: None,
            generation: 1,
        };
        stage.start_with(hook).await;
        stage
    }

    /// The simulators, for what only a program in their process can do.
    pub fn sim(&self) -> &sim::Sim {
        &self.sim.sim
    }

    /// People on another platform of the same simulators.
    pub fn people_of(&self, platform: Platform) -> People {
        People::new(platform, &self.url)
    }

    /// A process life begins, on the store that is there.
    pub async fn start(&mut self) {
        self.start_with(None).await;
    }

    pub async fn start_with(&mut self, hook: Option<Arc<dyn Hook>>) {
        let life = self.begin(hook).await;
        let gateway = life.gateway.clone();
        self.life = Some(life);
        testkit::until("partitions are held", || gateway.partitions_held() == usize::from(PARTITIONS)).await;
        if self.options.waits {
            self.connected().await;
        }
    }

    /// Another process begins beside the first one, on the same records.
    pub async fn start_second(&mut self) {
        self.second = Some(self.begin(None).await);
    }

    /// The stores for one more life. Processes that live side by side have names of which nobody knows that they ended.
    fn opening(&self) -> Pin<Box<dyn Future<Output = Stores> + Send>> {
        if !self.options.side_by_side {
            return Box::pin(self.ground.opening());
        }
        let owner = format!("process-{}", TurnId::new());
        let url = self.ground.url();
        let options = store::Options { owner, ..store::Options::default() };
        Box::pin(async move { store::open(&url, options).await.expect("the store opens") })
    }

    /// The other process is the only one from now on.
    pub fn second_goes_on_alone(&mut self) {
        self.life = self.second.take();
    }

    async fn begin(&self, hook: Option<Arc<dyn Hook>>) -> Life {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts");
        let (opening, options) = (self.opening(), self.options.clone());
        let (url, gate) = (self.url.clone(), self.gate.clone());
        let platforms: Vec<Platform> = [self.platform].into_iter().chain(self.options.beside.iter().copied()).collect();
        let intake = CancellationToken::new();
        let stopping = intake.clone();
        let (generation, people) = (self.generation, self.people.clone());
        let started = runtime.spawn(async move {
            let gate = hook.as_ref().map_or_else(|| gate.clone(), |hook| gate.with_hook(hook.clone()));
            let stores = opening.await;
            let stores = match &hook {
                Some(hook) => testkit::hook::hooked(stores, hook.clone()),
                None => stores,
            };
            let gateway = gateway(stores, &options, gate, generation);
            let (mut adapters, mut starts): (Vec<(Platform, Adapter)>, Vec<_>) = (Vec::new(), Vec::new());
            let door = match options.hooks {
                true => Some(TcpListener::bind("127.0.0.1:0").await.expect("a port is free")),
                false => None,
            };
            let doorstep = door.as_ref().map(|door| {
                let at = door.local_addr().expect("it has an address");
                Doorstep { url: format!("http://{at}") }
            });
            for platform in platforms {
                let (core, shutdown) = (gateway.core(), stopping.clone());
                let set = Set { url: &url, core, shutdown, doorstep: doorstep.as_ref() };
                let (adapter, start) = accounts::adapter_with(platform, set);
                let outlet = match &hook {
                    Some(hook) => Arc::new(HookedOutlet { outlet: adapter.outlet.clone(), hook: hook.clone() }),
                    None => adapter.outlet.clone(),
                };
                gateway.connect(platform, "main", outlet, adapter.source.clone());
                adapters.push((platform, adapter));
                starts.push((platform, start));
            }
            gateway.start();
            if let (Some(door), Some(doorstep)) = (door, doorstep) {
                let hooks: Router = adapters[0].1.hooks.clone();
                // Ends with the life's runtime.
                tokio::spawn(async move { axum::serve(door, hooks).await });
                accounts::announce(&people, &doorstep).await;
            }
            let running = starts.into_iter().map(|(platform, start)| (platform, start())).collect();
            (gateway, adapters, running)
        });
        let (gateway, adapters, running) = started.await.expect("the gateway starts");
        Life { runtime: Some(runtime), gateway, adapters, running, intake }
    }

    fn life(&self) -> &Life {
        self.life.as_ref().expect("a life goes on")
    }

    pub fn gateway(&self) -> &Gateway {
        &self.life().gateway
    }

    /// The adapter of the stage's platform, as the core knows it.
    pub fn adapter(&self) -> &Adapter {
        &self.life().adapters[0].1
    }

    /// The conditions that operators see of the stage's platform.
    pub fn conditions(&self) -> Vec<Condition> {
        self.conditions_of(self.platform)
    }

    pub fn conditions_of(&self, platform: Platform) -> Vec<Condition> {
        of(&self.life().gateway, platform)
    }

    /// Waits until operators see such a condition.
    pub async fn shows(&self, what: &str, fits: impl Fn(&Condition) -> bool) {
        testkit::until(what, || self.conditions().iter().any(&fits)).await;
    }

    pub async fn connected(&self) {
        for (platform, _) in &self.life().adapters {
            let ready = |now: &[Condition]| !now.is_empty() && now.iter().all(|one| *one == Condition::Ready);
            testkit::until("the adapter is connected", || ready(&self.conditions_of(*platform))).await;
        }
    }

    /// What operators see of the second process.
    pub fn conditions_of_second(&self) -> Vec<Condition> {
        of(&self.second.as_ref().expect("it goes on").gateway, self.platform)
    }

    /// Another policy of the platform takes the place of the old one.
    pub fn swap(&mut self, policy: (String, String)) {
        let mut policies: Vec<_> = CHATS.into_iter().map(testkit::allow_lab).collect();
        policies.retain(|(file, _)| *file != policy.0);
        policies.push(policy);
        let policies = &policies;
        self.generation += 1;
        let snapshot = snapshot(&self.options, policies, self.gate.clone(), self.generation);
        self.gateway().swap(snapshot);
    }

    /// The turn that runs, with the message that asked for it.
    pub async fn running(&self) -> (TurnId, Message) {
        testkit::until("a turn runs", || !self.gateway().running().is_empty()).await;
        let turn = self.gateway().running()[0].turn;
        let record = self.gateway().record(turn).await.expect("the store answers").expect("it is there");
        (turn, record.message)
    }

    /// Waits until a turn waits for people.
    pub async fn parked(&self) {
        for _ in 0..1_000 {
            let open = self.gateway().approvals(1).await.expect("the store answers");
            if let Some(one) = open.first() {
                let record = self.gateway().record(one.turn).await.expect("the store answers");
                if record.is_some_and(|record| record.parked.is_some()) {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no turn waits for people");
    }

    /// Ends every task where it stands, as `kill -9` does.
    pub fn kill(&mut self) {
        drop(self.life.take());
    }

    /// Ends it as SIGTERM does; how the adapter ended.
    pub async fn stop(&mut self) -> Result<(), Stopped> {
        let life = self.life.take().expect("a life goes on");
        leave(life).await
    }

    /// How the adapter of the stage's platform ended by itself.
    pub async fn adapter_ended(&mut self) -> Result<(), Stopped> {
        let life = self.life.as_mut().expect("a life goes on");
        let (_, running) = life.running.remove(0);
        let ended = tokio::time::timeout(crate::people::SOON, running).await;
        ended.expect("the adapter ends").expect("the adapter does not panic")
    }

    pub async fn restart(&mut self) {
        self.stop().await.expect("the adapter stops when it is asked to");
        self.start().await;
    }

    /// Ends it where it stands; what is blamed on purpose is not looked at.
    pub async fn kill_and_end(mut self) {
        self.kill();
        self.simulators.cancel();
        self.sim.join().await;
    }

    /// Ends the stage; the platform must have found nothing to blame.
    pub async fn end(self) {
        self.end_but_for(&[]).await;
    }

    /// The same, but for rules that the case itself had broken on purpose.
    pub async fn end_but_for(mut self, rules: &[&str]) {
        for life in [self.life.take(), self.second.take()].into_iter().flatten() {
            leave(life).await.expect("the adapter stops when it is asked to");
        }
        self.people.is_content_but_for(rules).await;
        self.simulators.cancel();
        self.sim.join().await;
    }
}

fn of(gateway: &Gateway, platform: Platform) -> Vec<Condition> {
    let all = gateway.health().all();
    let name = platform.to_string();
    all.into_iter().filter(|(part, _)| part.starts_with(&name)).map(|(_, condition)| condition).collect()
}

const CHATS: [Platform; 3] = [Platform::Discord, Platform::Telegram, Platform::Slack];

/// How long an adapter may take to stop.
const STOP: Duration = Duration::from_secs(10);

async fn leave(mut life: Life) -> Result<(), Stopped> {
    life.intake.cancel();
    let mut ends = Ok(());
    for (platform, running) in std::mem::take(&mut life.running) {
        let ended = tokio::time::timeout(STOP, running).await;
        let ended = ended.unwrap_or_else(|_| panic!("{platform} does not stop in time"));
        ends = ends.and(ended.expect("the adapter does not panic"));
    }
    life.gateway.drain().await;
    ends
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn gateway(stores: Stores, options: &Options, gate: Gate, generation: u64) -> Gateway {
    let mut policies: Vec<_> = CHATS.into_iter().map(testkit::allow_lab).collect();
    policies.retain(|(file, _)| options.policies.iter().all(|(other, _)| other != file));
    policies.extend(options.policies.iter().cloned());
    Gateway::open(dispatch::Options {
        stores,
        snapshot: snapshot(options, &policies, gate, generation),
        settings: Settings { drain: Duration::from_secs(5), ..Settings::default() },
        model: options.model.clone().map(|model| model as Arc<dyn dispatch::Model>),
    })
}

fn snapshot(options: &Options, policies: &[(String, String)], gate: Gate, generation: u64) -> Snapshot {
    let tools = format!("{}{}", testkit::TOOLS, options.tools);
    let mut endpoints = Endpoints::new().native("gate", gate);
    for (name, native) in &options.natives {
        endpoints = endpoints.native(name.clone(), Shared(native.clone()));
    }
    Setup::snapshot(&tools, policies, endpoints, generation)
}

/// A function that several lives call.
struct Shared(Arc<dyn Native>);

#[async_trait::async_trait]
impl Native for Shared {
    async fn call(
        &self,
        args: &serde_json::Value,
        cx: &tools::Cx<'_>,
    ) -> Result<serde_json::Value, tools::ToolFailure> {
        self.0.call(args, cx).await
    }
}
