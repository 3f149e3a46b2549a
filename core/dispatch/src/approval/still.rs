//! Whether a turn has nothing left but to wait for people.

use std::{
    collections::{HashMap, HashSet},
    future::poll_fn,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::Poll,
};

use contract::{
    CallId, CallPath, Digest, Node, NodeKind, State,
    records::{ApprovalId, Entry},
};

/// What a turn knows of its waiting. Counts are changed by what the turn's own task polls, so that they agree whenever it
/// looks at them.
#[derive(Default)]
pub(crate) struct Waits {
    /// Policy may ask: what ends is kept, so that a turn that goes on later need not run it again.
    keeps: bool,
    /// Calls at work, those that wait for their children left out.
    busy: AtomicU32,
    resting: Mutex<HashMap<CallId, u32>>,
    waiting: Mutex<HashMap<ApprovalId, u64>>,
    /// The turn is being taken out of its lane: what is dropped now goes on later.
    parked: AtomicBool,
    parked_for: Mutex<Vec<(ApprovalId, u64)>>,
    /// Calls whose work goes on elsewhere, until when.
    jobs: Mutex<HashMap<CallPath, u64>>,
    parked_jobs: Mutex<Vec<(CallPath, u64)>>,
    ended: Mutex<Vec<Entry>>,
    /// Calls that may be begun anew, since their children decide what is run again.
    anew: Mutex<HashSet<CallPath>>,
    /// Calls that were allowed for the session in this very turn.
    allowed: Mutex<HashSet<Digest>>,
    before: Before,
}

/// The nodes of a turn that goes on.
#[derive(Default)]
pub(crate) struct Before {
    began_us: Option<u64>,
    calls: HashMap<CallPath, Node>,
    /// Of approvals, by the call that they are for.
    approvals: HashMap<CallId, Node>,
    most: u32,
}

impl Before {
    pub fn of(nodes: Vec<Node>) -> Self {
        let mut before = Self::default();
        for node in nodes {
            before.most = before.most.max(node.call.0);
            match (node.kind, &node.path, node.parent) {
                (NodeKind::Call | NodeKind::ModelStep, Some(path), _) => {
                    before.calls.insert(path.clone(), node);
                }
                (NodeKind::Turn, ..) => before.began_us = Some(node.started_us),
                (NodeKind::Approval, _, Some(parent)) => {
                    before.approvals.insert(parent, node);
                }
                _ => {}
            }
        }
        before
    }
}

impl Waits {
    pub fn new(keeps: bool, before: Before) -> Self {
        Self { keeps, before, ..Self::default() }
    }

    /// A call is at work until this is dropped.
    pub fn work(&self) -> Working<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Working(self)
    }

    /// A call at work waits until this is dropped: for people, or for calls that it made, perhaps for several batches.
    pub fn rest(&self, call: CallId) -> Resting<'_> {
        let mut resting = lock(&self.resting);
        let times = resting.entry(call).or_insert(0);
        *times += 1;
        if *times == 1 {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
        Resting(self, call)
    }

    /// A call waits for people until this is dropped.
    pub fn wait(&self, id: ApprovalId, until_ms: u64) -> Waiting<'_> {
        lock(&self.waiting).insert(id, until_ms);
        Waiting(self, id)
    }

    /// A call waits for its job until this is dropped; nothing where the turn cannot be put aside meanwhile.
    pub fn wait_for_job(&self, path: &CallPath, until_ms: u64) -> Option<AtJob<'_>> {
        (self.keeps && self.can_go_on(path)).then(|| {
            lock(&self.jobs).insert(path.clone(), until_ms);
            AtJob(self, path.clone())
        })
    }

    /// The jobs that the turn was parked for.
    pub fn parked_jobs(&self) -> Vec<CallPath> {
        lock(&self.parked_jobs).iter().map(|(path, _)| path.clone()).collect()
    }

    /// What calls wait for at present.
    pub fn waits_for(&self) -> Vec<ApprovalId> {
        lock(&self.waiting).keys().copied().collect()
    }

    /// Returns once nothing is left but to wait. To be polled behind what the turn does.
    pub async fn still(&self) {
        poll_fn(|_| match self.busy.load(Ordering::Relaxed) == 0 && self.waits_for_something() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    fn waits_for_something(&self) -> bool {
        !lock(&self.waiting).is_empty() || !lock(&self.jobs).is_empty()
    }

    /// From now on what is dropped is not over; what is waited for is remembered.
    pub fn park(&self) {
        self.parked.store(true, Ordering::Relaxed);
        let mut parked_for: Vec<_> = lock(&self.waiting).iter().map(|(id, until_ms)| (*id, *until_ms)).collect();
        parked_for.sort_unstable();
        *lock(&self.parked_for) = parked_for;
        *lock(&self.parked_jobs) = lock(&self.jobs).iter().map(|(path, until)| (path.clone(), *until)).collect();
    }

    pub fn parked_for(&self) -> Vec<ApprovalId> {
        lock(&self.parked_for).iter().map(|(id, _)| *id).collect()
    }

    /// When the last of it expires.
    pub fn parked_until(&self) -> u64 {
        let people = lock(&self.parked_for).iter().map(|(_, until_ms)| *until_ms).max();
        let jobs = lock(&self.parked_jobs).iter().map(|(_, until_ms)| *until_ms).max();
        people.max(jobs).unwrap_or(0)
    }

    pub fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    /// Keeps how a call ended, where that may be needed.
    pub fn keep(&self, entry: impl FnOnce() -> Option<Entry>) {
        if self.keeps {
            lock(&self.ended).extend(entry());
        }
    }

    pub fn kept(&self) -> Vec<Entry> {
        std::mem::take(&mut *lock(&self.ended))
    }

    /// The call of this path may be begun anew when the turn goes on.
    pub fn is_begun_anew(&self, path: &CallPath) {
        if self.keeps {
            lock(&self.anew).insert(path.clone());
        }
    }

    /// Whether the turn can go on at this call later: nothing that called it would have an effect twice.
    pub fn can_go_on(&self, path: &CallPath) -> bool {
        let anew = lock(&self.anew);
        let mut above = path.parent();
        while let Some(path) = above {
            if !anew.contains(&path) {
                return false;
            }
            above = path.parent();
        }
        true
    }

    pub fn allow(&self, exact: Digest) {
        lock(&self.allowed).insert(exact);
    }

    pub fn is_allowed(&self, exact: Digest) -> bool {
        lock(&self.allowed).contains(&exact)
    }

    /// The number of the node of this path, where the turn goes on.
    pub fn node(&self, path: &CallPath) -> Option<CallId> {
        self.before.calls.get(path).map(|node| node.call)
    }

    /// The node of a call that ended before the turn was parked.
    pub fn ended(&self, path: &CallPath) -> Option<&Node> {
        let open = |node: &&Node| matches!(node.state, State::Parked | State::Running | State::Interrupted);
        self.before.calls.get(path).filter(|node| !open(node))
    }

    /// When the turn began, where it goes on.
    pub fn began_us(&self) -> Option<u64> {
        self.before.began_us
    }

    pub fn approval_node(&self, call: CallId) -> Option<&Node> {
        self.before.approvals.get(&call)
    }

    /// Nodes of this life begin behind those that are there.
    pub fn nodes_before(&self, life: u32) -> u32 {
        self.before.most.saturating_sub(life * 1_000).min(999)
    }
}

pub(crate) struct Working<'a>(&'a Waits);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) struct Resting<'a>(&'a Waits, CallId);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        let mut resting = lock(&self.0.resting);
        let Some(times) = resting.get_mut(&self.1) else { return };
        *times -= 1;
        if *times == 0 {
            resting.remove(&self.1);
            self.0.busy.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) struct Waiting<'a>(&'a Waits, ApprovalId);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.0.waiting).remove(&self.1);
    }
}

pub(crate) struct AtJob<'a>(&'a Waits, CallPath);

impl Drop for AtJob<'_> {
    fn drop(&mut self) {
        lock(&self.0.jobs).remove(&self.1);
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
