//! The facade: everything that the binary, the HTTP interface and an embedding service ask of the gateway.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use contract::{
    Accepted, Address, Call, CallId, CallPath, Caller, Code, Core, Failure, Feed, Health, Inbox, Kind, Message, Node,
    NodeKind, Notice, Outcome, Outlet, Place, Platform, Reply, Sender, SessionKey, Source, StoreDown, TurnEvent,
    TurnId, TurnStream,
    message::Heard,
    records::{Admitted, Change, Record, Stores, ToolStats, TurnLine, TurnQuery, TurnState},
    seams::Fence,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tools::Resources;
use tracing::warn;

use crate::{
    batch,
    builtin::Desk,
    call::TurnCx,
    delivery::{Deliveries, Settling},
    intake,
    lane::Lanes,
    planner::{Commands, Planned, Planner},
    progress::Progress,
    recovery::{self, Fences},
    snapshot::{Snapshot, ToolList},
    trace::{Flusher, TraceHealth, Tracer},
    turn::{now_ms, now_us, persist_of},
};

/// What marks the records of calls by themselves; no session key begins with it.
pub(crate) const INVOKED: &str = "!invoke/";
/// Conversations that are told once are remembered up to this many.
const TOLD_MAX: usize = 10_000;

/// What operators may set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long running turns and deliveries have when the gateway leaves.
    pub drain: Duration,
    /// Most turns that run at once; the others wait in their lanes.
    pub turns_at_once: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { drain: Duration::from_secs(60), turns_at_once: 4_096 }
    }
}

/// What a gateway is made of.
pub struct Options {
    pub stores: Stores,
    pub snapshot: Snapshot,
    pub settings: Settings,
    /// Plans turns in place of commands (a language model).
    pub planner: Option<Arc<dyn Planner>>,
}

/// The gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
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
    pub fences: Fences,
    pub running: Running,
    pub told: Told,
    pub resources: Resources,
    pub health: Health,
    pub planner: Arc<dyn Planner>,
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

impl Gateway {
    /// Opens a gateway over its stores; [`Gateway::start`] makes it take up work.
    pub fn open(options: Options) -> Self {
        let boot = TurnId::new().to_string();
        let (tracer, flusher) = Tracer::new(options.stores.trees.clone(), boot);
        let generation = options.snapshot.generation;
        let inner = Arc::new_cyclic(|weak| Inner {
            stores: options.stores,
            snapshot: ArcSwap::from_pointee(options.snapshot),
            generation: watch::channel(generation).0,
            tracer,
            lanes: Lanes::default(),
            deliveries: Deliveries::default(),
            outlets: RwLock::default(),
            fences: Fences::default(),
            running: Running::default(),
            told: Told::default(),
            resources: Resources::default(),
            health: Health::default(),
            planner: options.planner.unwrap_or_else(|| Arc::new(Commands { desk: Desk { inner: weak.clone() } })),
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

    /// Turns that run in this process, newest first; their calls are not counted yet.
    pub fn running(&self) -> Vec<TurnLine> {
        self.inner.running.lines()
    }

    pub async fn stats(&self, since_ms: u64) -> Result<Vec<ToolStats>, StoreDown> {
        self.inner.stores.trees.stats(since_ms).await
    }

    /// Stops a turn on behalf of an operator. False when it has ended.
    pub async fn cancel(&self, turn: TurnId) -> Result<bool, StoreDown> {
        if let Some(record) = self.record(turn).await? {
            self.inner.lanes.cancel_waiting(&record.session, |r| r.id == turn);
        }
        self.inner.running.cancel(turn);
        self.inner.stores.turns.cancel(turn).await
    }

    pub fn health(&self) -> Health {
        self.inner.health.clone()
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
        invoke(&self.inner, caller, tool, args).await
    }

    /// [`Gateway::invoke`] with the arguments as JSON text: read exactly, integers digit for digit.
    pub async fn invoke_json(&self, caller: Caller, tool: &str, raw: &str) -> Invoked {
        self.invoke(caller, tool, tools::args::parse_json(raw)).await
    }
}

impl Inner {
    pub fn outlet(&self, to: &Address) -> Option<Connected> {
        let outlets = self.outlets.read().unwrap_or_else(PoisonError::into_inner);
        outlets.get(&(to.platform, to.account.clone())).cloned()
    }

    pub async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        let reading = tokio::time::timeout(TREE_DEADLINE, self.stores.trees.tree(turn)).await;
        let mut nodes = reading.unwrap_or_else(|_| Err(StoreDown("the call trees do not answer".into())))?;
        // What is in memory is newer than what is written.
        if let Some(live) = self.tracer.live(turn) {
            for node in live.nodes() {
                match nodes.iter_mut().find(|n| n.call == node.call) {
                    Some(old) => *old = node,
                    None => nodes.push(node),
                }
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

/// Trees decide nothing: whoever reads one waits no longer than this.
pub(crate) const TREE_DEADLINE: Duration = Duration::from_secs(3);
/// How often a turn that runs elsewhere is looked at while somebody watches.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long such a turn is watched without an end.
const LOOK_MAX: Duration = Duration::from_secs(3_600);

#[async_trait]
impl Feed for Inner {
    async fn watch(&self, turn: TurnId) -> TurnStream {
        if let Some(live) = self.tracer.watch(turn) {
            return live;
        }
        let look = Look { stores: self.stores.clone(), turn, seen: HashMap::new(), since: Instant::now(), over: false };
        let looks = stream::unfold(look, |look| async move { look.next().await });
        looks.map(stream::iter).flatten().boxed()
    }
}

fn is_open(record: &Record) -> bool {
    matches!(record.state, TurnState::Queued | TurnState::Running | TurnState::Parked)
}

/// Watches a turn in the store: one that has ended, or that runs elsewhere.
struct Look {
    stores: Stores,
    turn: TurnId,
    seen: HashMap<CallId, contract::State>,
    since: Instant,
    over: bool,
}

impl Look {
    async fn next(mut self) -> Option<(Vec<TurnEvent>, Self)> {
        if self.over {
            return None;
        }
        if !self.seen.is_empty() || self.since.elapsed() > LOOK_EVERY {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let record = self.stores.turns.get(self.turn).await.ok().flatten();
        let mut events = self.new_nodes().await;
        let reply = record.as_ref().and_then(|r| r.reply.clone());
        let open = record.as_ref().is_some_and(is_open);
        events.extend(reply.map(|reply| TurnEvent::End(Arc::new(reply))));
        self.over = !open || self.since.elapsed() > LOOK_MAX;
        if !self.over && events.is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Some((events, self))
    }

    async fn new_nodes(&mut self) -> Vec<TurnEvent> {
        let reading = tokio::time::timeout(TREE_DEADLINE, self.stores.trees.tree(self.turn)).await;
        let nodes = reading.ok().and_then(Result::ok).unwrap_or_default();
        let seen = &mut self.seen;
        let news = nodes.into_iter().filter(|n| seen.insert(n.call, n.state) != Some(n.state));
        news.map(|n| TurnEvent::Node(Arc::new(n))).collect()
    }
}

async fn invoke(inner: &Arc<Inner>, caller: Caller, tool: &str, args: Result<Value, Failure>) -> Invoked {
    let id = TurnId::new();
    let snapshot = inner.snapshot.load_full();
    let name = snapshot.resolve(&caller, tool).map_or_else(|| tool.to_owned(), |t| t.name.to_string());
    let once = snapshot.resolve(&caller, &name).is_some_and(|t| !t.is_repeatable());
    let (args, unreadable) = match args {
        Ok(args) => (args, None),
        Err(failure) => (Value::Null, Some(failure)),
    };
    let asked = format!("/{name} {}", crate::summary::summary(&args));
    let record = Record::new(id, session_of_call(inner, id), call_message(&caller, id, &asked), caller);
    // A once call has a record, so that a crash can tell what is known of it; others pay nothing.
    let recorded = match once && unreadable.is_none() {
        true => accept_call(inner, &record).await,
        false => Ok(None),
    };
    let (fence, refused) = match recorded {
        Ok(fence) => (fence, unreadable),
        Err(failure) => (None, Some(failure)),
    };
    let cx = call_context(inner, &record, snapshot, fence);
    let running = inner.running.enter(&record, cx.cancel.clone());
    let mut root = Node::new(id, CallId(0), NodeKind::Turn, now_us());
    root.args = contract::text::one_line(&asked, contract::node::SUMMARY_MAX);
    root.place = Some(Box::new(Place { caller: cx.caller.clone(), session: SessionKey::of(&record.message.address) }));
    inner.tracer.start(&cx.live, &Arc::new(root.clone()));
    let call = Call { path: CallPath::top(1, 1), tool: name.clone(), args };
    let mut outcomes = batch::run(&cx, None, vec![Planned { call, unreadable: refused }]).await;
    drop(running);
    let outcome = outcomes.pop().unwrap_or_else(|| lost_outcome(&name));
    let reply = match &outcome.result {
        Ok(value) => Reply::text(crate::summary::summary(value)),
        Err(failure) => Reply::notice(Notice::of(failure, Some(&name), Some(id))),
    };
    if let Some(fence) = fence {
        end_call(&cx, fence, &record, &reply).await;
    }
    end_call_tree(&cx, root, &outcome, &asked, reply);
    Invoked { turn: id, outcome }
}

/// A session of the call's own, in a partition that is ours.
fn session_of_call(inner: &Inner, id: TurnId) -> SessionKey {
    let candidates = (0..256).map(|n| SessionKey::from_text(format!("{INVOKED}{id}/{n}")));
    let mut ours = candidates.filter(|session| inner.fences.get(session).is_some());
    ours.next().unwrap_or_else(|| SessionKey::from_text(format!("{INVOKED}{id}")))
}

fn call_message(caller: &Caller, id: TurnId, asked: &str) -> Message {
    let mut address = Address::new(caller.platform, &caller.account, &caller.conversation);
    address.space.clone_from(&caller.space);
    address.thread.clone_from(&caller.thread);
    Message {
        key: format!("invoke:{id}"),
        address,
        sender: Sender { id: caller.sender.id.clone(), name: caller.sender.name.clone() },
        roles: Vec::new(),
        kind: Kind::Text { text: asked.to_owned() },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: now_ms(),
    }
}

async fn accept_call(inner: &Inner, record: &Record) -> Result<Option<Fence>, Failure> {
    let away = |why: String| {
        Failure::new(Code::Store, "it was not started: we could not write down that it starts")
            .cause(contract::Private::new(why))
    };
    let fence = inner.fences.get(&record.session).ok_or_else(|| away("no partition is held".into()))?;
    match inner.stores.turns.accept(record).await {
        Ok(Admitted::New { .. }) => Ok(Some(fence)),
        Ok(Admitted::Known { .. } | Admitted::Full) => Err(away("the record of a new call was refused".into())),
        Err(down) => Err(away(down.to_string())),
    }
}

fn call_context(inner: &Arc<Inner>, record: &Record, snapshot: Arc<Snapshot>, fence: Option<Fence>) -> Arc<TurnCx> {
    let limits = snapshot.policies.limits(&record.caller);
    Arc::new(TurnCx {
        inner: inner.clone(),
        id: record.id,
        session: record.session.clone(),
        caller: record.caller.clone(),
        address: None,
        deadline: tokio::time::Instant::now() + limits.turn_timeout,
        limits,
        snapshot,
        life: 0,
        cancel: CancellationToken::new(),
        live: inner.tracer.begin(record.id),
        journal: Vec::new(),
        posted: Vec::new(),
        fence,
        progress: Progress::silent(record.message.address.clone()),
        calls: AtomicU32::new(0),
        nodes: AtomicU32::new(0),
        unwritten: Mutex::default(),
        lost: AtomicBool::new(false),
        settling: Settling::new(&record.message.address),
    })
}

async fn end_call(cx: &TurnCx, fence: Fence, record: &Record, reply: &Reply) {
    let mut changes = std::mem::take(&mut *cx.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
    changes.push(Change::Finish { reply: reply.clone(), deliveries: Vec::new(), item: None });
    if cx.settling.settle().is_some() {
        changes.push(Change::Done { keep_message: false, keep_reply: true });
    }
    // The client has waited for the call, not for the record: when the store is away, recovery ends it.
    let writing = persist_of(&cx.inner, fence, record.id, &record.session, &changes);
    let _ = tokio::time::timeout(Duration::from_secs(3), writing).await;
}

fn end_call_tree(cx: &TurnCx, mut root: Node, outcome: &Outcome, asked: &str, reply: Reply) {
    let duration_us = now_us().saturating_sub(root.started_us);
    root.duration_us = Some(duration_us);
    root.state = outcome.state;
    root.code = outcome.result.as_ref().err().map(Failure::true_code);
    let line = TurnLine {
        turn: cx.id,
        state: root.state,
        code: root.code,
        platform: cx.caller.platform,
        tenant: cx.caller.tenant.clone(),
        session: root.place.as_ref().map_or_else(|| cx.session.clone(), |p| p.session.clone()),
        sender: cx.caller.sender.id.clone(),
        asked: contract::text::one_line(asked, contract::node::SUMMARY_MAX),
        calls: cx.calls.load(std::sync::atomic::Ordering::Relaxed),
        started_us: root.started_us,
        duration_us,
    };
    cx.inner.tracer.ended(&cx.live, &Arc::new(root));
    cx.inner.tracer.close(&cx.live, &Arc::new(reply), line);
}

fn lost_outcome(tool: &str) -> Outcome {
    Outcome {
        path: CallPath::top(1, 1),
        tool: tool.to_owned(),
        state: contract::State::Failed,
        result: Err(Failure::fatal(Code::Internal, "a batch of one call gave no outcome")),
        repeatable: false,
        took_us: 0,
    }
}

/// The turns that run in this process.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<TurnId, RunningTurn>>);

struct RunningTurn {
    cancel: CancellationToken,
    place: SessionKey,
    caller: Caller,
    asked: String,
    since: Instant,
}

/// Leaves the list when it is dropped.
pub(crate) struct Entered<'a>(&'a Running, TurnId);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

impl Running {
    /// From here on it can be stopped by `cancel`.
    pub fn enter(&self, record: &Record, cancel: CancellationToken) -> Entered<'_> {
        let turn = RunningTurn {
            cancel,
            place: SessionKey::of(&record.message.address),
            caller: record.caller.clone(),
            asked: contract::text::one_line(record.message.text(), 60),
            since: Instant::now(),
        };
        self.lock().insert(record.id, turn);
        Entered(self, record.id)
    }

    pub fn cancel(&self, turn: TurnId) {
        if let Some(running) = self.lock().get(&turn) {
            running.cancel.cancel();
        }
    }

    pub fn of_person(&self, place: &SessionKey, caller: &Caller) -> Vec<TurnId> {
        let running = self.lock();
        let theirs = running.iter().filter(|(_, t)| t.place == *place && t.caller.sender.id == caller.sender.id);
        theirs.map(|(id, _)| *id).collect()
    }

    /// Other turns of the place: id, what was asked, for how many seconds.
    pub fn of_session(&self, place: &SessionKey, but: TurnId) -> Vec<(TurnId, String, u64)> {
        let running = self.lock();
        let here = running.iter().filter(|(id, t)| t.place == *place && **id != but);
        here.map(|(id, t)| (*id, t.asked.clone(), t.since.elapsed().as_secs())).collect()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lines(&self) -> Vec<TurnLine> {
        let now = crate::turn::now_us();
        let line = |(id, turn): (&TurnId, &RunningTurn)| {
            let took = u64::try_from(turn.since.elapsed().as_micros()).unwrap_or(u64::MAX);
            TurnLine {
                turn: *id,
                state: contract::State::Running,
                code: None,
                platform: turn.caller.platform,
                tenant: turn.caller.tenant.clone(),
                session: turn.place.clone(),
                sender: turn.caller.sender.id.clone(),
                asked: turn.asked.clone(),
                calls: 0,
                started_us: now.saturating_sub(took),
                duration_us: took,
            }
        };
        let mut lines: Vec<_> = self.lock().iter().map(line).collect();
        lines.sort_by(|a, b| b.turn.cmp(&a.turn));
        lines
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TurnId, RunningTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What conversations were told already, so that they are told once.
#[derive(Default)]
pub(crate) struct Told(Mutex<Tellings>);

#[derive(Default)]
struct Tellings {
    store_down: std::collections::HashSet<SessionKey>,
    busy: HashMap<SessionKey, (Option<Instant>, u32)>,
}

/// At most one "busy" in this time and conversation.
const BUSY_EVERY: Duration = Duration::from_secs(5);

/// When a message that was not taken is told of.
pub(crate) enum Busy {
    /// Now, with those before it: how many.
    Now(u32),
    /// With those that come until then.
    After(Duration),
    /// Somebody tells of it already.
    Counted,
}

impl Told {
    /// True for the first time since the store went away.
    pub fn store_down(&self, session: &SessionKey) -> bool {
        let mut told = self.lock();
        told.store_down.len() < TOLD_MAX && told.store_down.insert(session.clone())
    }

    pub fn store_is_back(&self) {
        let mut told = self.lock();
        if !told.store_down.is_empty() {
            told.store_down.clear();
        }
    }

    /// Counts a message that was not taken, and says when to tell of it.
    pub fn busy(&self, session: &SessionKey) -> Busy {
        let mut told = self.lock();
        if told.busy.len() > TOLD_MAX {
            told.busy.clear();
        }
        let (last, count) = told.busy.entry(session.clone()).or_insert((None, 0));
        *count += 1;
        let since = last.map(|at| at.elapsed()).filter(|since| *since < BUSY_EVERY);
        match (since, *count) {
            (None, _) => {
                *last = Some(Instant::now());
                Busy::Now(std::mem::take(count))
            }
            (Some(since), 1) => Busy::After(BUSY_EVERY.saturating_sub(since)),
            (Some(_), _) => Busy::Counted,
        }
    }

    /// Messages that nobody was told of yet.
    pub fn busy_since(&self, session: &SessionKey) -> u32 {
        let mut told = self.lock();
        let Some((last, count)) = told.busy.get_mut(session) else { return 0 };
        *last = Some(Instant::now());
        std::mem::take(count)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tellings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
