//! Stores and outlets with the test's hand on each operation: it fails on demand, or the process "dies" there.

mod approvals;

mod schedules;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use contract::{
    Address, Cursors, DeliveryError, DeliveryKey, Fence, FileRef, Indicator, MemoryKey, Node, Op, Outlet, Pace, Part,
    Receipt, Reply, SessionKey, StoreDown, TurnId,
    records::{
        Admitted, ArtefactId, Artefacts, Change, ChangeError, Erased, Fact, Item, Kept, Measure, Owned, People, Person,
        Record, Remembered, Retention, Session, SessionChange, SessionId, SessionQuery, Sessions, Stores, Trees,
        TurnLine, TurnQuery, Turns, Visit,
    },
};
use tokio::sync::Notify;

/// What happens before and after an operation. Operations are `accept`, `change Started Ended`, `cancel`, `get`,
/// `hold`, `unfinished`, `session`, `tree read`, `tree write`, `send post`, `tool`.
#[async_trait]
pub trait Hook: Send + Sync {
    async fn before(&self, operation: &str) -> Result<(), StoreDown>;
    /// An error in place of the answer to what was done.
    async fn after(&self, _operation: &str) -> Result<(), StoreDown> {
        Ok(())
    }
}

/// The process dies at the n-th of the steps that matter: from there on nothing goes in or out.
pub struct Death {
    at: usize,
    steps: AtomicUsize,
    names: Mutex<Vec<String>>,
    died: Notify,
}

impl Death {
    /// At step `at`, from 0; each operation that changes something has two, before and after it.
    pub fn at(at: usize) -> Arc<Self> {
        Arc::new(Self { at, steps: AtomicUsize::new(0), names: Mutex::default(), died: Notify::new() })
    }

    pub fn never() -> Arc<Self> {
        Self::at(usize::MAX)
    }

    /// Returns when the step was reached.
    pub async fn reached(&self) {
        self.died.notified().await;
    }

    /// The steps so far, for a message.
    pub fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A step; never returns when it is the last or one after it.
    pub async fn step(&self, name: String) {
        let n = self.steps.fetch_add(1, Ordering::SeqCst);
        if n <= self.at {
            self.names.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        }
        if n == self.at {
            self.died.notify_one();
        }
        if n >= self.at {
            std::future::pending::<()>().await;
        }
    }

    async fn is_over(&self) {
        if self.steps.load(Ordering::SeqCst) > self.at {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Hook for Death {
    async fn before(&self, operation: &str) -> Result<(), StoreDown> {
        match matters(operation) {
            true => self.step(format!("before {operation}")).await,
            false => self.is_over().await,
        }
        Ok(())
    }

    async fn after(&self, operation: &str) -> Result<(), StoreDown> {
        if matters(operation) {
            self.step(format!("after {operation}")).await;
        }
        Ok(())
    }
}

fn matters(operation: &str) -> bool {
    let word = operation.split(' ').next().unwrap_or_default();
    matches!(word, "accept" | "change" | "cancel" | "send" | "tool")
}

/// The store is away while the test says so: all of it, or its trees alone, which may also hang.
#[derive(Default)]
pub struct Flaky {
    pub down: AtomicBool,
    pub trees_down: AtomicBool,
    pub trees_hang: AtomicBool,
    /// Fails the next operations that begin with this word.
    pub fail_next: Mutex<Vec<&'static str>>,
    /// The same, but the operation is carried out: only its answer is lost.
    pub lose_next: Mutex<Vec<&'static str>>,
}

impl Flaky {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn go_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }
}

#[async_trait]
impl Hook for Flaky {
    async fn before(&self, operation: &str) -> Result<(), StoreDown> {
        if operation.starts_with("send") || operation == "tool" {
            return Ok(());
        }
        let is_tree = operation.starts_with("tree");
        if is_tree && self.trees_hang.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let told = is_told(&self.fail_next, operation);
        let away = told || self.down.load(Ordering::SeqCst) || (is_tree && self.trees_down.load(Ordering::SeqCst));
        if away { Err(StoreDown("told to".into())) } else { Ok(()) }
    }

    async fn after(&self, operation: &str) -> Result<(), StoreDown> {
        if is_told(&self.lose_next, operation) { Err(StoreDown("told to lose the answer".into())) } else { Ok(()) }
    }
}

fn is_told(words: &Mutex<Vec<&'static str>>, operation: &str) -> bool {
    let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
    let found = words.iter().position(|word| operation.starts_with(word));
    found.map(|at| words.remove(at)).is_some()
}

/// Stores whose operations pass a hook.
pub fn hooked(stores: Stores, hook: Arc<dyn Hook>) -> Stores {
    let (registry, audit) = (stores.registry.clone(), stores.audit.clone());
    let hooked = Arc::new(Hooked { stores, hook });
    Stores {
        turns: hooked.clone(),
        sessions: hooked.clone(),
        people: hooked.clone(),
        trees: hooked.clone(),
        cursors: hooked.clone(),
        approvals: hooked.clone(),
        schedules: hooked.clone(),
        registry,
        artefacts: hooked,
        audit,
    }
}

struct Hooked {
    stores: Stores,
    hook: Arc<dyn Hook>,
}

impl Hooked {
    async fn pass<T>(&self, operation: &str, work: impl Future<Output = Result<T, StoreDown>>) -> Result<T, StoreDown> {
        self.hook.before(operation).await?;
        let done = work.await;
        self.hook.after(operation).await?;
        done
    }
}

fn name_of(changes: &[Change]) -> String {
    let name = |change: &Change| match change {
        Change::Life => "Life".to_owned(),
        Change::Planned(_) => "Planned".to_owned(),
        Change::Started(_) => "Started".to_owned(),
        Change::Ended { .. } => "Ended".to_owned(),
        Change::Cancel => "Cancel".to_owned(),
        Change::Ask(_) => "Ask".to_owned(),
        Change::Use(_) => "Use".to_owned(),
        Change::Park(_) => "Park".to_owned(),
        Change::Unpark => "Unpark".to_owned(),
        Change::Merge(_) => "Merge".to_owned(),
        Change::Finish { .. } => "Finish".to_owned(),
        Change::Delivery(delivery) => format!("Delivery({:?})", delivery.state),
        Change::Done { .. } => "Done".to_owned(),
    };
    let names: Vec<_> = changes.iter().map(name).collect();
    format!("change {}", names.join(" "))
}

#[async_trait]
impl Artefacts for Hooked {
    async fn keep(&self, place: &MemoryKey, person: &Person, body: &str) -> Result<Option<ArtefactId>, StoreDown> {
        self.pass("keep artefact", self.stores.artefacts.keep(place, person, body)).await
    }

    async fn artefact(&self, place: &MemoryKey, id: ArtefactId) -> Result<Option<String>, StoreDown> {
        self.pass("artefact", self.stores.artefacts.artefact(place, id)).await
    }

    async fn forget_artefacts(&self, person: &Person) -> Result<u64, StoreDown> {
        self.pass("forget artefacts", self.stores.artefacts.forget_artefacts(person)).await
    }
}

#[async_trait]
impl Turns for Hooked {
    async fn accept(&self, record: &Record) -> Result<Admitted, StoreDown> {
        self.pass("accept", self.stores.turns.accept(record)).await
    }

    async fn hold(&self) -> Result<Vec<Owned>, StoreDown> {
        self.pass("hold", self.stores.turns.hold()).await
    }

    async fn let_go(&self) -> Result<(), StoreDown> {
        self.pass("hold", self.stores.turns.let_go()).await
    }

    async fn unfinished(&self, partition: u8) -> Result<Vec<Record>, StoreDown> {
        self.pass("unfinished", self.stores.turns.unfinished(partition)).await
    }

    async fn change(
        &self,
        fence: Fence,
        turn: TurnId,
        session: &SessionKey,
        changes: &[Change],
    ) -> Result<(), ChangeError> {
        let operation = name_of(changes);
        self.hook.before(&operation).await?;
        let done = self.stores.turns.change(fence, turn, session, changes).await;
        self.hook.after(&operation).await?;
        done
    }

    async fn cancel(&self, turn: TurnId) -> Result<bool, StoreDown> {
        self.pass("cancel", self.stores.turns.cancel(turn)).await
    }

    async fn get(&self, turn: TurnId) -> Result<Option<Record>, StoreDown> {
        self.pass("get", self.stores.turns.get(turn)).await
    }

    async fn sweep(&self) -> Result<(), StoreDown> {
        self.pass("sweep", self.stores.turns.sweep()).await
    }

    async fn close(&self) {
        self.stores.turns.close().await;
    }
}

#[async_trait]
impl Sessions for Hooked {
    async fn current(&self, visit: &Visit) -> Result<Option<Session>, StoreDown> {
        self.pass("session", self.stores.sessions.current(visit)).await
    }

    async fn open(&self, visit: &Visit) -> Result<Session, StoreDown> {
        self.pass("session", self.stores.sessions.open(visit)).await
    }

    async fn begin(&self, visit: &Visit) -> Result<Session, StoreDown> {
        self.pass("session", self.stores.sessions.begin(visit)).await
    }

    async fn resume(&self, visit: &Visit, id: SessionId) -> Result<Option<Session>, StoreDown> {
        self.pass("session", self.stores.sessions.resume(visit, id)).await
    }

    async fn get(&self, id: SessionId) -> Result<Option<Session>, StoreDown> {
        self.pass("session", self.stores.sessions.get(id)).await
    }

    async fn list(&self, query: &SessionQuery) -> Result<Vec<Session>, StoreDown> {
        self.pass("session", self.stores.sessions.list(query)).await
    }

    async fn change(&self, session: &Session, change: &SessionChange) -> Result<bool, StoreDown> {
        self.pass("session", self.stores.sessions.change(session, change)).await
    }

    async fn items(&self, session: &Session, after: Option<TurnId>, most: usize) -> Result<Vec<Item>, StoreDown> {
        self.pass("session", self.stores.sessions.items(session, after, most)).await
    }

    async fn remember(&self, what: &Remembered) -> Result<(), StoreDown> {
        self.pass("session", self.stores.sessions.remember(what)).await
    }

    async fn erase(&self, session: &Session) -> Result<bool, StoreDown> {
        self.pass("session", self.stores.sessions.erase(session)).await
    }

    async fn retain(&self, retention: &Retention) -> Result<u64, StoreDown> {
        self.pass("session", self.stores.sessions.retain(retention)).await
    }
}

#[async_trait]
impl People for Hooked {
    async fn facts(&self, person: &Person) -> Result<Vec<Fact>, StoreDown> {
        self.pass("person", self.stores.people.facts(person)).await
    }

    async fn keep(&self, person: &Person, fact: &str) -> Result<Kept, StoreDown> {
        self.pass("person", self.stores.people.keep(person, fact)).await
    }

    async fn drop_fact(&self, person: &Person, n: u32) -> Result<bool, StoreDown> {
        self.pass("person", self.stores.people.drop_fact(person, n)).await
    }

    async fn forget(&self, person: &Person) -> Result<Erased, StoreDown> {
        self.pass("person", self.stores.people.forget(person)).await
    }
}

#[async_trait]
impl Trees for Hooked {
    async fn write(&self, nodes: &[Arc<Node>], ended: &[TurnLine]) -> Result<(), StoreDown> {
        self.pass("tree write", self.stores.trees.write(nodes, ended)).await
    }

    async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        self.pass("tree read", self.stores.trees.tree(turn)).await
    }

    async fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        self.pass("tree read", self.stores.trees.turns(query)).await
    }

    async fn measure(&self, boot: &str, measures: &[Measure]) -> Result<(), StoreDown> {
        self.pass("tree write", self.stores.trees.measure(boot, measures)).await
    }

    async fn measures(&self, since_ms: u64) -> Result<Vec<Measure>, StoreDown> {
        self.pass("tree read", self.stores.trees.measures(since_ms)).await
    }
}

#[async_trait]
impl Cursors for Hooked {
    async fn load(&self, what: &str) -> Result<Option<Vec<u8>>, StoreDown> {
        self.pass("cursor", self.stores.cursors.load(what)).await
    }

    async fn save(&self, what: &str, value: &[u8]) -> Result<(), StoreDown> {
        self.pass("cursor", self.stores.cursors.save(what, value)).await
    }

    async fn lease(&self, what: &str, ttl: std::time::Duration) -> Result<Option<Fence>, StoreDown> {
        self.pass("cursor", self.stores.cursors.lease(what, ttl)).await
    }

    async fn release(&self, what: &str) -> Result<(), StoreDown> {
        self.pass("cursor", self.stores.cursors.release(what)).await
    }
}

/// An outlet whose requests pass a hook.
pub struct HookedOutlet {
    pub outlet: Arc<dyn Outlet>,
    pub hook: Arc<dyn Hook>,
}

#[async_trait]
impl Outlet for HookedOutlet {
    fn render(&self, reply: &Reply, to: &Address) -> Vec<Part> {
        self.outlet.render(reply, to)
    }

    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
        let operation = match &op {
            Op::Find => return self.outlet.send(to, op, key).await,
            Op::Post(_) => format!("send post {}", key.part),
            Op::Replace(..) => "send replace".to_owned(),
            Op::Draft(..) => "send draft".to_owned(),
            Op::Remove(_) => "send remove".to_owned(),
        };
        self.hook.before(&operation).await.map_err(|down| DeliveryError::NotSent(down.0))?;
        let sent = self.outlet.send(to, op, key).await;
        self.hook.after(&operation).await.map_err(|down| DeliveryError::Unsure(down.0))?;
        sent
    }

    async fn indicate(&self, to: &Address, indicator: Indicator) {
        self.outlet.indicate(to, indicator).await;
    }

    fn pace(&self, to: &Address) -> Pace {
        self.outlet.pace(to)
    }

    fn can_be_private(&self, to: &Address) -> bool {
        self.outlet.can_be_private(to)
    }

    fn sends_by_handle(&self, file: &FileRef) -> bool {
        self.outlet.sends_by_handle(file)
    }

    fn fallback(&self, to: &Address) -> Option<Address> {
        self.outlet.fallback(to)
    }
}
