//! Turns that wait for work that goes on elsewhere. While such a turn is out of its lane its jobs are asked about here; it
//! comes back to the front of its lane when one of them has ended, and asks that once more by itself.
//!
//! What is needed for it is the turn's journal: a process that takes the partition over, or is started anew, goes on asking.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use contract::{
    Address, CallPath, Caller, FileRef, Outcome, Reply, SessionKey, TurnId,
    records::{ApprovalId, Job, Record, TurnState},
    seams::{ByteStream, Fence},
    text::one_line,
};
use futures_util::FutureExt;
use serde_json::Value;
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tools::{
    Cx, Fault, Host, Notes, ToolFailure,
    job::{self, Pace, Stands},
};
use tracing::info;

use crate::{
    approval,
    call::TurnCx,
    gateway::Inner,
    running::ASKED_MAX,
    turn::{asked, now_ms},
};

/// Most jobs of turns that are put aside, in one process; of one tenant, one tool, one conversation so many. A call that would
/// begin one more is not started.
const OPEN_MAX: usize = 2_000;
const OPEN_OF_TENANT_MAX: usize = 1_000;
const OPEN_OF_TOOL_MAX: usize = 500;
const OPEN_OF_SESSION_MAX: usize = 16;
/// Questions about jobs at once.
const AT_ONCE: usize = 32;
/// Nothing is due earlier than this without saying so.
const LONG: Duration = Duration::from_secs(3_600);

/// The jobs of turns that are out of their lanes.
pub(crate) struct Book {
    open: Mutex<HashMap<ApprovalId, Waiting>>,
    sooner: Notify,
    places: Arc<Semaphore>,
}

#[derive(Clone)]
struct Waiting {
    turn: TurnId,
    session: SessionKey,
    fence: Fence,
    caller: Caller,
    tool: String,
    job: Job,
    /// Nothing while it is being asked.
    due: Option<Instant>,
    pace: Pace,
}

impl Default for Book {
    fn default() -> Self {
        Self { open: Mutex::default(), sooner: Notify::new(), places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Book {
    fn note(&self, id: ApprovalId, waiting: Waiting) {
        self.lock().insert(id, waiting);
        self.sooner.notify_one();
    }

    /// The turn is in its lane again, and asks by itself. Whether it had jobs.
    pub fn strike(&self, inner: &Inner, turn: TurnId) -> bool {
        let mut open = self.lock();
        let ids: Vec<_> = open.iter().filter(|(_, waiting)| waiting.turn == turn).map(|(id, _)| *id).collect();
        for id in &ids {
            open.remove(id);
            inner.approvals.strike_job(*id);
        }
        !ids.is_empty()
    }

    /// Whether one more may be begun.
    pub fn has_room(&self, tool: &str, session: &SessionKey, caller: &Caller) -> bool {
        let open = self.lock();
        let of = |theirs: &dyn Fn(&Waiting) -> bool| open.values().filter(|waiting| theirs(waiting)).count();
        open.len() < OPEN_MAX
            && of(&|waiting| waiting.caller.tenant == caller.tenant) < OPEN_OF_TENANT_MAX
            && of(&|waiting| waiting.tool == tool) < OPEN_OF_TOOL_MAX
            && of(&|waiting| waiting.session == *session) < OPEN_OF_SESSION_MAX
    }

    /// The turns of a session that wait for jobs, each with the tool.
    pub fn of_session(&self, session: &SessionKey) -> Vec<(TurnId, String)> {
        let open = self.lock();
        let theirs = open.values().filter(|waiting| waiting.session == *session);
        let mut theirs: Vec<_> = theirs.map(|waiting| (waiting.turn, waiting.tool.clone())).collect();
        theirs.sort_unstable();
        theirs
    }

    fn next(&self) -> Option<Instant> {
        self.lock().values().filter_map(|waiting| waiting.due).min()
    }

    /// One that is due; it is being asked from now on.
    fn take(&self, now: Instant) -> Option<(ApprovalId, Waiting)> {
        let mut open = self.lock();
        let (id, waiting) = open.iter_mut().find(|(_, waiting)| waiting.due.is_some_and(|due| due <= now))?;
        waiting.due = None;
        Some((*id, waiting.clone()))
    }

    fn again(&self, id: ApprovalId, after: Duration, pace: Pace) {
        if let Some(waiting) = self.lock().get_mut(&id) {
            (waiting.due, waiting.pace) = (Some(Instant::now() + after), pace);
        }
        self.sooner.notify_one();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ApprovalId, Waiting>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes the jobs that a turn was put aside for, as its calls wrote them down.
pub(crate) async fn parked(cx: &TurnCx, fence: Fence, jobs: &[CallPath]) {
    let record = cx.inner.stores.turns.get(cx.id).await.ok().flatten();
    match record {
        Some(record) => {
            if record.state == TurnState::Parked {
                note(&cx.inner, fence, &record, Some(jobs));
            }
            // Stopped before it stood in the book.
            if cx.cancel.is_cancelled() || record.cancelled {
                wake(&cx.inner, cx.id).await;
            }
        }
        // The store is away: the turn comes back as soon as it can be read, and sees by itself.
        None => {
            let _ = approval::wake(&cx.inner, fence, cx.id, &cx.session).await;
        }
    }
}

/// Those of a parked turn that was found in the store; whether there are any.
pub(crate) fn found(inner: &Inner, fence: Fence, record: &Record) -> bool {
    note(inner, fence, record, None)
}

fn note(inner: &Inner, fence: Fence, record: &Record, only: Option<&[CallPath]>) -> bool {
    let mut any = false;
    for entry in &record.journal {
        let Some(job) = entry.job() else { continue };
        any = true;
        let id = ApprovalId::of(&record.session, record.id, &entry.path);
        inner.approvals.note_job(id, (record.id, &record.session), &record.caller, one_line(&asked(record), ASKED_MAX));
        // What was just asked is not asked again at once.
        let first = if only.is_some_and(|only| only.contains(&entry.path)) {
            first_wait(inner, &entry.tool)
        } else {
            Duration::ZERO
        };
        let waiting = Waiting {
            turn: record.id,
            session: record.session.clone(),
            fence,
            caller: record.caller.clone(),
            tool: entry.tool.clone(),
            job: job.clone(),
            due: Some(Instant::now() + first),
            pace: Pace::default(),
        };
        inner.jobs.note(id, waiting);
    }
    any
}

fn first_wait(inner: &Inner, tool: &str) -> Duration {
    let snapshot = inner.snapshot.load();
    let jobs = snapshot.tools.get(tool).and_then(|tool| tool.spec.execution.r#async.as_ref().map(|jobs| jobs.interval));
    jobs.unwrap_or_default()
}

/// The person is told that the answer comes later.
pub(crate) async fn tell(cx: &Arc<TurnCx>, jobs: &[CallPath]) {
    let nodes = cx.live.nodes();
    let is_of = |node: &&contract::Node| node.path.as_ref().is_some_and(|path| jobs.contains(path));
    let Some(node) = nodes.iter().find(is_of) else { return };
    cx.progress.waits(cx, &words::job_waits(&node.tool, cx.locale)).await;
}

/// Asks about jobs when they are due, until the gateway leaves.
pub(crate) async fn keep_asking(inner: Arc<Inner>) {
    loop {
        let wait = inner.jobs.next().map_or(LONG, |due| due.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = inner.jobs.sooner.notified() => continue,
            () = inner.left.cancelled() => return,
        }
        let Some((id, waiting)) = inner.jobs.take(Instant::now()) else { continue };
        let Ok(place) = inner.jobs.places.clone().acquire_owned().await else { return };
        let of = inner.clone();
        inner.tasks.spawn(async move {
            let _place = place;
            tokio::select! {
                () = contained(&of, id, waiting) => {}
                () = of.left.cancelled() => {}
            }
        });
    }
}

/// A crash while one is asked about is its turn's affair alone.
async fn contained(inner: &Arc<Inner>, id: ApprovalId, waiting: Waiting) {
    let turn = waiting.turn;
    if AssertUnwindSafe(ask(inner, id, waiting)).catch_unwind().await.is_err() {
        wake(inner, turn).await;
    }
}

async fn ask(inner: &Arc<Inner>, id: ApprovalId, mut waiting: Waiting) {
    if inner.fences.get(&waiting.session) != Some(waiting.fence) {
        // Whoever has the session now asks by what the journal says.
        inner.jobs.strike(inner, waiting.turn);
        return;
    }
    let is_over = waiting.job.until_ms <= now_ms();
    let tool = inner.snapshot.load().tools.get(&waiting.tool).cloned();
    let (notes, cancel) = (Notes::default(), CancellationToken::new());
    let cx = Cx {
        caller: &waiting.caller,
        turn: waiting.turn,
        deadline: Instant::now() + Duration::from_secs(30),
        attempt: 1,
        cancel: &cancel,
        idempotency_key: "",
        host: &Nobody,
        notes: &notes,
    };
    let stands = match (tool, is_over) {
        (Some(tool), false) => job::ask(&tool, &waiting.job.handle, &mut waiting.pace, &cx).await,
        // The turn itself says what is known.
        _ => return wake(inner, waiting.turn).await,
    };
    match stands {
        Stands::Waits { after, .. } => {
            let left = Duration::from_millis(waiting.job.until_ms.saturating_sub(now_ms()));
            inner.jobs.again(id, after.min(left), waiting.pace);
        }
        Stands::Ended(_) => wake(inner, waiting.turn).await,
    }
}

/// A turn that waits for jobs goes back to the front of its lane: one of them ended, or nobody wants them any more.
pub(crate) async fn wake(inner: &Arc<Inner>, turn: TurnId) {
    let waiting = inner.jobs.lock().values().find(|waiting| waiting.turn == turn).cloned();
    let Some(Waiting { session, fence, .. }) = waiting else { return };
    if !inner.jobs.strike(inner, turn) {
        return;
    }
    let mut wait = Duration::from_millis(50);
    loop {
        match inner.stores.turns.get(turn).await {
            Ok(record) => {
                // Somebody else may have woken it.
                if record.is_some_and(|record| record.state == TurnState::Parked) {
                    info!(%turn, "turn goes on: a job it waited for has ended, or is not wanted any more");
                    let _ = approval::wake(inner, fence, turn, &session).await;
                }
                return;
            }
            Err(_) => tokio::select! {
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(Duration::from_secs(1)),
                () = inner.kill.cancelled() => return,
            },
        }
    }
}

/// A question about a job has nobody to talk to.
struct Nobody;

#[async_trait]
impl Host for Nobody {
    async fn children(&self, _calls: Vec<(String, Value)>) -> Vec<Outcome> {
        Vec::new()
    }

    fn progress(&self, _text: &str) {}

    async fn post(&self, _to: Address, _reply: Reply) -> Result<(), ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "it cannot be sent from here"))
    }

    async fn open(&self, _file: &FileRef) -> Result<ByteStream, ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "the file cannot be fetched from the chat any more"))
    }
}
