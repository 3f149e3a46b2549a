//! The facade: everything that the binary, the HTTP interface and an embedding service ask of the gateway.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use contract::{
    Accepted, Address, Caller, Core, Failure, Feed, Health, Inbox, Message, Node, Outcome, Outlet, Platform, Reply,
    Source, StoreDown, TurnEvent, TurnId, TurnStream,
    records::{Record, Stores, ToolStats, TurnLine, TurnQuery},
};
use futures_util::StreamExt;
use policies::{Gating, Rule, Verdict};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tools::Resources;
use tracing::warn;

use crate::{
    approval,
    brought::Brought,
    builtin::Desk,
    delivery::Deliveries,
    gate::Gate,
    indicators::{self, Indicators},
    intake, invoke,
    keeper::Keeping,
    lane::Lanes,
    mend,
    model::Model,
    pairing::{self, NotPaired, Paired, Pairing, Pairings},
    payloads::Payloads,
    planner::{Commands, Planner},
    probing,
    reason::{Reasoner, Spending, Spent},
    recovery::{self, Fences},
    running::{Running, Told},
    schedule,
    session::{Mounts, Noting},
    settings::Settings,
    snapshot::{Snapshot, ToolList},
    trace::{Flusher, TraceHealth, Tracer},
    watch::{LOOK_EVERY, TREE_DEADLINE, is_open},
};

/// What a gateway is made of.
pub struct Options {
    pub stores: Stores,
    pub snapshot: Snapshot,
    pub settings: Settings,
    /// Reads what people say in their own words; without one only commands are read.
    pub model: Option<Arc<dyn Model>>,
}

/// The gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
    flusher: Arc<Mutex<Option<Flusher>>>,
    /// The owners of partitions and of the tracer's queue; they outlive the turns.
    owners: TaskTracker,
}

/// A call by itself, as it ended.
#[derive(Debug)]
pub struct Invoked {
    pub turn: TurnId,
    pub outcome: Outcome,
}

pub(crate) struct Inner {
    pub stores: Stores,
    pub snapshot: ArcSwap<Snapshot>,
    pub generation: watch::Sender<u64>,
    pub tracer: Arc<Tracer>,
    pub lanes: Lanes,
    pub deliveries: Deliveries,
    pub outlets: RwLock<HashMap<(Platform, String), Connected>>,
    pub brought: Brought,
    pub keeper: Keeping,
    pub fences: Fences,
    pub running: Running,
    pub told: Told,
    pub gate: Gate,
    pub pairing: Pairing,
    pub approvals: approval::Book,
    pub jobs: crate::job::Book,
    pub reasons: approval::Reasons,
    pub mounts: Mounts,
    pub noting: Noting,
    pub indicators: Indicators,
    pub spending: Spending,
    pub payloads: Payloads,
    /// A schedule was made or changed.
    pub schedules: Notify,
    /// Who asks through the HTTP interface.
    pub clients: ArcSwap<Vec<schedule::HttpClient>>,
    pub resources: Resources,
    pub health: Health,
    pub planner: Arc<dyn Planner>,
    pub model: Option<Arc<dyn Model>>,
    pub settings: Settings,
    pub places: Semaphore,
    /// Lanes and deliveries.
    pub tasks: TaskTracker,
    /// No further turn is begun.
    pub stop: CancellationToken,
    /// The drain time is over: what runs is dropped, records stay as they are.
    pub kill: CancellationToken,
    /// Turns and deliveries have ended: partitions are given back, the last nodes are written.
    pub left: CancellationToken,
}

/// What delivers for one account, and answers for it.
#[derive(Clone)]
pub(crate) struct Connected {
    pub outlet: Arc<dyn Outlet>,
    pub source: Arc<dyn Source>,
}

fn planner(commands: Commands, model: Option<Arc<dyn Model>>) -> Arc<dyn Planner> {
    match model {
        Some(model) => Arc::new(Reasoner { commands, model }),
        None => Arc::new(commands),
    }
}

impl Gateway {
    /// Opens a gateway over its stores; [`Gateway::start`] makes it take up work.
    pub fn open(options: Options) -> Self {
        let boot = TurnId::new().to_string();
        let (tracer, flusher) = Tracer::new(
            options.stores.trees.clone(),
            boot,
            options.settings.spill.clone(),
            options.settings.audit.clone().within(&options.stores.audit),
        );
        let generation = options.snapshot.generation;
        let inner = Arc::new_cyclic(|weak| Inner {
            stores: options.stores,
            snapshot: ArcSwap::from_pointee(options.snapshot),
            generation: watch::channel(generation).0,
            tracer,
            lanes: Lanes::default(),
            deliveries: Deliveries::default(),
            outlets: RwLock::default(),
            brought: Brought::default(),
            keeper: Keeping::default(),
            fences: Fences::default(),
            running: Running::default(),
            told: Told::default(),
            gate: Gate::default(),
            pairing: Pairing::default(),
            approvals: approval::Book::default(),
            jobs: crate::job::Book::default(),
            reasons: approval::Reasons::default(),
            mounts: Mounts::default(),
            noting: Noting::default(),
            indicators: Indicators::default(),
            spending: Spending::default(),
            payloads: Payloads::default(),
            schedules: Notify::new(),
            clients: ArcSwap::default(),
            resources: Resources::default(),
            health: Health::default(),
            model: options.model.clone(),
            planner: planner(Commands { desk: Desk { inner: weak.clone() } }, options.model),
            places: Semaphore::new(options.settings.turns_at_once),
            settings: options.settings,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            left: CancellationToken::new(),
        });
        Self { inner, flusher: Arc::new(Mutex::new(Some(flusher))), owners: TaskTracker::new() }
    }

    /// An account's way out. To be called before [`Gateway::start`], so that what waits for it finds it.
    pub fn connect(&self, platform: Platform, account: &str, outlet: Arc<dyn Outlet>, source: Arc<dyn Source>) {
        let mut outlets = self.inner.outlets.write().unwrap_or_else(PoisonError::into_inner);
        outlets.insert((platform, account.to_owned()), Connected { outlet, source });
    }

    /// Takes partitions and what is unfinished in them; runs until [`Gateway::drain`].
    pub fn start(&self) {
        let flusher = self.flusher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(flusher) = flusher {
            self.owners.spawn(flusher.run(self.inner.left.clone()));
            self.owners.spawn(recovery::hold(self.inner.clone()));
            self.owners.spawn(approval::keep_time(self.inner.clone()));
            self.owners.spawn(crate::job::keep_asking(self.inner.clone()));
            self.owners.spawn(schedule::keep(self.inner.clone()));
            self.owners.spawn(probing::keep(self.inner.clone()));
        }
    }

    /// Lets running turns finish within the drain time, flushes deliveries, gives partitions back. Adapters are to be
    /// stopped before.
    pub async fn drain(&self) {
        let inner = &self.inner;
        inner.stop.cancel();
        inner.tasks.close();
        if tokio::time::timeout(inner.settings.drain, inner.tasks.wait()).await.is_err() {
            warn!(turns = inner.running.count(), "the drain time is over; what runs is taken up at the next start");
            inner.kill.cancel();
            let _ = tokio::time::timeout(Duration::from_secs(5), inner.tasks.wait()).await;
        }
        indicators::clear_all(inner).await;
        inner.left.cancel();
        self.owners.close();
        let _ = tokio::time::timeout(Duration::from_secs(10), self.owners.wait()).await;
    }

    /// What adapters are given.
    pub fn core(&self) -> Core {
        Core {
            inbox: Arc::new(self.clone()),
            catalog: self.inner.clone(),
            feed: self.inner.clone(),
            cursors: self.inner.stores.cursors.clone(),
            health: self.inner.health.clone(),
        }
    }

    /// Replaces registry and policies; turns under way finish on their own snapshot.
    pub fn swap(&self, snapshot: Snapshot) {
        let generation = snapshot.generation;
        self.inner.snapshot.store(Arc::new(snapshot));
        self.inner.generation.send_replace(generation);
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.snapshot.load_full()
    }

    /// The caller that a message's sender is to policy.
    pub fn caller_of(&self, message: &Message) -> Caller {
        intake::caller_of(&self.inner, message)
    }

    /// Accepts a message for a caller that is known by other means than its place (an API client's token).
    pub async fn accept_as(&self, message: Message, caller: Caller) -> Result<Accepted, StoreDown> {
        intake::accept_as(&self.inner, message, caller).await
    }

    /// Exactly the list that a model would be sent.
    pub fn tools(&self, caller: &Caller) -> Arc<ToolList> {
        self.inner.snapshot.load().list(caller)
    }

    /// The rules in force, as written; of one platform and all tenants, or of all.
    pub fn rules(&self, platform: Option<Platform>) -> Vec<Rule> {
        self.inner.snapshot.load().policies.stated(platform)
    }

    /// What every layer says of a call, in order; all must allow it.
    pub fn explain(&self, caller: &Caller, tool: &str) -> Vec<Verdict> {
        self.inner.snapshot.load().policies.explain(caller, tool)
    }

    /// Whose messages are heard where this caller is, and whether theirs are.
    pub fn gating(&self, caller: &Caller) -> Gating {
        self.inner.snapshot.load().policies.manner(caller).gating
    }

    /// The registered tool whose name is nearest to one that is not known. For operators: policy is not asked.
    pub fn nearest(&self, tool: &str) -> Option<String> {
        let snapshot = self.snapshot();
        if snapshot.tools.get(tool).is_some() {
            return None;
        }
        contract::text::nearest(tool, snapshot.tools.tools().iter().map(|tool| &*tool.name)).map(str::to_owned)
    }

    /// A turn's record; bodies are dropped once it is done.
    pub async fn record(&self, turn: TurnId) -> Result<Option<Record>, StoreDown> {
        self.inner.stores.turns.get(turn).await
    }

    /// Waits for a turn's stored reply. Nothing when the turn is unknown or its reply is not kept any more.
    pub async fn reply(&self, turn: TurnId) -> Result<Option<Arc<Reply>>, StoreDown> {
        loop {
            let mut events = self.inner.watch(turn).await;
            while let Some(event) = events.next().await {
                if let TurnEvent::End(reply) = event {
                    return Ok(Some(reply));
                }
            }
            let record = self.record(turn).await?;
            // A turn that another process took over ends there.
            if !record.as_ref().is_some_and(is_open) || self.inner.stop.is_cancelled() {
                return Ok(record.and_then(|record| record.reply).map(Arc::new));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub async fn watch(&self, turn: TurnId) -> TurnStream {
        self.inner.watch(turn).await
    }

    /// A turn's nodes; empty when it is not known.
    pub async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        self.inner.tree(turn).await
    }

    /// Ended turns, newest first.
    pub async fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        self.inner.stores.trees.turns(query).await
    }

    /// Turns that run in this process, or wait for people, newest first; their calls are not counted yet.
    pub fn running(&self) -> Vec<TurnLine> {
        let mut lines = self.inner.approvals.lines(crate::turn::now_us());
        let running = self.inner.running.lines();
        lines.retain(|waits| running.iter().all(|runs| runs.turn != waits.turn));
        lines.extend(running);
        lines.sort_by_key(|line| std::cmp::Reverse(line.turn));
        lines
    }

    pub async fn stats(&self, since_ms: u64) -> Result<Vec<ToolStats>, StoreDown> {
        self.inner.stores.trees.stats(since_ms).await
    }

    /// What language models took since this process began.
    pub fn spent(&self) -> Vec<Spent> {
        self.inner.spending.all()
    }

    /// Stops a turn on behalf of an operator. False when it has ended.
    pub async fn cancel(&self, turn: TurnId) -> Result<bool, StoreDown> {
        let record = self.record(turn).await?;
        if let Some(record) = &record {
            self.inner.lanes.cancel_waiting(&record.session, |r| r.id == turn);
        }
        let ran = self.inner.running.cancel(turn);
        let was_open = self.inner.stores.turns.cancel(turn).await? || ran;
        if let Some(record) = record {
            approval::stop(&self.inner, &record).await;
        }
        Ok(was_open)
    }

    /// Who was let in where policy says `pairing`, and who asks for it.
    pub async fn pairings(&self) -> Result<Pairings, StoreDown> {
        pairing::all(&self.inner).await
    }

    /// Lets in the person who was shown this code.
    pub async fn approve_pairing(&self, code: &str) -> Result<Paired, NotPaired> {
        pairing::approve(&self.inner, code).await
    }

    /// Lets a person in no more; whether they had been.
    pub async fn remove_pairing(&self, platform: Platform, account: &str, sender: &str) -> Result<bool, StoreDown> {
        pairing::remove(&self.inner, (platform, account.to_owned()), sender).await
    }

    pub fn health(&self) -> Health {
        self.inner.health.clone()
    }

    /// What each stage that was added did since this process began, in the order of the chain.
    pub fn stages(&self) -> Vec<tools::stages::Count> {
        self.inner.settings.stages.counts()
    }

    pub fn trace_health(&self) -> TraceHealth {
        self.inner.tracer.health()
    }

    /// Partitions that are ours; none means that nothing is being run yet.
    pub fn partitions_held(&self) -> usize {
        self.inner.fences.held()
    }

    /// Conversations with work, deliveries that wait, turns that run.
    pub fn load(&self) -> (usize, usize, usize) {
        (self.inner.lanes.count(), self.inner.deliveries.waiting(), self.inner.running.count())
    }

    /// Runs one call without lane, session or delivery, through the same gate, guard, journal and tree.
    pub async fn invoke(&self, caller: Caller, tool: &str, args: Result<Value, Failure>) -> Invoked {
        // Waited for when the gateway leaves, so that its end is still written.
        let _under_way = self.inner.tasks.token();
        invoke::invoke(&self.inner, caller, tool, args).await
    }

    /// [`Gateway::invoke`] with the arguments as JSON text: read exactly, integers digit for digit.
    pub async fn invoke_json(&self, caller: Caller, tool: &str, raw: &str) -> Invoked {
        self.invoke(caller, tool, tools::args::parse_json(raw)).await
    }
}

impl Inner {
    /// Platform and name of every connected account.
    pub fn accounts(&self) -> Vec<(Platform, String)> {
        self.outlets.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    pub fn outlet(&self, to: &Address) -> Option<Connected> {
        let outlets = self.outlets.read().unwrap_or_else(PoisonError::into_inner);
        outlets.get(&(to.platform, to.account.clone())).cloned()
    }

    pub async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        // Taken first: it is forgotten once it is written, which may be while the store is read.
        let live = self.tracer.live(turn);
        let reading = tokio::time::timeout(TREE_DEADLINE, self.stores.trees.tree(turn)).await;
        let mut nodes = reading.unwrap_or_else(|_| Err(StoreDown("the call trees do not answer".into())))?;
        // What is in memory is newer than what is written; what nobody wrote is in the record.
        let newer = match live {
            Some(live) => live.nodes(),
            None if mend::is_cut(&nodes) => {
                let record = self.stores.turns.get(turn).await.ok().flatten();
                record.map_or_else(Vec::new, |record| mend::mended(&nodes, &record))
            }
            None => Vec::new(),
        };
        for node in newer {
            match nodes.iter_mut().find(|n| n.call == node.call) {
                Some(old) => *old = node,
                None => nodes.push(node),
            }
        }
        nodes.sort_by_key(|n| n.call);
        Ok(nodes)
    }
}

#[async_trait]
impl Inbox for Gateway {
    async fn accept(&self, message: Message) -> Result<Accepted, StoreDown> {
        intake::accept(&self.inner, message).await
    }
}
