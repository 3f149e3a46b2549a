//! What the calls of one turn share, and the way of one call: admitted, run, recorded. The only place that runs a tool.

mod earlier;
mod ended;
mod host;
mod job;
mod own;
mod parent;
mod permit;
mod stages;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use contract::{
    Address, Call, CallId, CallPath, Caller, Code, Digest, Failure, FileRef, Locale, Node, NodeKind, Outcome, Reply,
    SessionKey, TurnId,
    records::{Change, ChangeError, Delivery, DeliveryState, Entry, Exact, Job, ModelStep},
    seams::Fence,
};
use policies::Need;
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;
use tools::{Permitted, RunCx, Stages, spec::EndpointSpec};

use earlier::unknown;
pub(crate) use ended::Begun;
use ended::{end_of, idempotency_key};
use host::TurnHost;
use job::AtJob;
use own::Own;
pub(crate) use parent::Parent;
use parent::said;
pub(crate) use stages::Staged;

use crate::{
    approval::{self, Asks, Waits},
    artefacts::Reading,
    bridge,
    delegate::{Delegated, Steps},
    delivery::Settling,
    gateway::Inner,
    model::Usage,
    planner::Planned,
    progress::Progress,
    schedule::Standing,
    session::Here,
    snapshot::Snapshot,
    summary::summary,
    trace::LiveTurn,
    turn::{now_ms, now_us},
};

/// A running turn, as its calls see it.
pub(crate) struct TurnCx {
    pub inner: Arc<Inner>,
    pub id: TurnId,
    pub session: SessionKey,
    /// Whose memory the turn has, and what is mounted in it.
    pub here: Here,
    pub caller: Caller,
    /// Where the answer goes.
    pub address: Option<Address>,
    /// Where the caller is and can be asked: the same, but for a schedule.
    pub asked_at: Option<Address>,
    /// What came with the message, and with those that joined it.
    pub files: Mutex<Arc<[FileRef]>>,
    /// Of a schedule's run.
    pub standing: Option<Standing>,
    pub snapshot: Arc<Snapshot>,
    pub limits: policies::Limits,
    /// The language of what is said.
    pub locale: Locale,
    /// How often the turn was taken up again.
    pub life: u32,
    pub cancel: CancellationToken,
    pub deadline: Instant,
    pub live: Arc<LiveTurn>,
    /// What a model planned in earlier lives for tasks that it handed on.
    pub plan: Vec<ModelStep>,
    /// What earlier lives started.
    pub journal: Vec<Entry>,
    /// Messages to other conversations that earlier lives stored, by their numbers.
    pub posted: Vec<u32>,
    /// Nothing where the turn has no record (one repeatable call by itself).
    pub fence: Option<Fence>,
    pub progress: Progress,
    pub calls: AtomicU32,
    pub steps: Steps,
    pub nodes: AtomicU32,
    /// Ends that could not be written yet; they go along with the finish.
    pub unwritten: Mutex<Vec<Change>>,
    /// The lease was lost: nothing more is started, nothing more is written.
    pub lost: AtomicBool,
    /// What has to be delivered before the record is done.
    pub settling: Arc<Settling>,
    /// What the model's steps took so far.
    pub usage: Mutex<Usage>,
    /// For calls that run at once, in all batches of the turn together.
    pub places: Arc<Semaphore>,
    /// What waits for people.
    pub waits: Waits,
}

/// Calls beyond a turn's limit that its tree shows; a long message may hold a hundred thousand.
const REFUSED_SHOWN: u32 = 100;

/// As many as policy allows at once.
pub(crate) fn places(limits: &policies::Limits) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(limits.concurrent_calls.max(1) as usize))
}

/// What came of asking for a call.
pub(crate) enum Admission {
    Ready(Box<Ready>),
    /// People have to say yes first.
    Asks(Box<Asks>),
    /// It is a task that a model hands on.
    Delegates(Box<Delegated>),
    /// Reads on in a result that was cut.
    Reads(Box<Reading>),
    Ended(Box<Outcome>),
}

/// A call that may run.
pub(crate) struct Ready {
    permitted: Permitted,
    node: Node,
    key: String,
    /// For the journal; nothing for a repeatable call.
    pub entry: Option<Entry>,
    /// For the journal once it goes on elsewhere.
    as_job: Option<Entry>,
    within_place: bool,
    delegations: u32,
    /// An earlier life began it, and it goes on elsewhere.
    job: Option<Job>,
    /// Beside it, by a model; kept where its children may be asked about.
    said: String,
}

/// What may become of a call that is permitted and whose arguments are well.
enum Fit {
    Runs(Permitted),
    Asks(Need, Arc<tools::Tool>, Value),
}

impl TurnCx {
    pub fn files(&self) -> Arc<[FileRef]> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A message that joined the turn has files.
    pub fn brings(&self, more: &[FileRef]) {
        if !more.is_empty() {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            *files = files.iter().chain(more).cloned().collect();
        }
    }

    /// Resolve, permit, read, coerce, validate. What ends here has its node already.
    pub fn admit(&self, parent: Option<Parent<'_>>, staged: Staged) -> Admission {
        let Staged { planned, marks } = staged;
        let step = parent.filter(|parent| parent.is_step);
        let (planned, through) = if step.is_some() { bridge::unwrapped(planned) } else { (planned, None) };
        let Planned { call, unreadable } = planned;
        let mut node = self.node(&call, parent);
        node.marks.extend(through);
        node.marks.extend(marks);
        if let Some(outcome) = self.journaled(&call, &mut node) {
            return Admission::Ended(Box::new(outcome));
        }
        if let Some((own, parent)) = step.and_then(|p| Some((Own::of(&call.tool, p, self.limits.delegation)?, p))) {
            return self.admit_own(own, parent, call, node, unreadable);
        }
        let permit = self
            .within_limits(&call.path, parent.map_or(0, |parent| parent.delegations), self.job(&call.path).is_some())
            .and_then(|()| self.permit(parent, &call.tool));
        let permitted = permit.and_then(|permit| match unreadable {
            Some(failure) => Err(failure),
            None => self.prepare(permit, call.args.clone(), &call.path),
        });
        match permitted {
            Ok(Fit::Runs(permitted)) => {
                let ready = self.ready(parent, permitted, node);
                match self.as_begun(&call, ready) {
                    Ok(ready) => Admission::Ready(ready),
                    Err(refused) => Admission::Ended(Box::new(self.refuse_ready(*refused.0, refused.1))),
                }
            }
            Ok(Fit::Asks(need, tool, args)) => {
                let said = said(parent).to_owned();
                Admission::Asks(Box::new(Asks { call, node, need, tool, args, said }))
            }
            Err(failure) => {
                node.args = summary(&call.args);
                let failure = match self.begun(&call.path) {
                    Some(entry) => unknown(entry).cause(failure.cause),
                    None => failure,
                };
                Admission::Ended(Box::new(self.refuse(call, node, failure)))
            }
        }
    }

    fn node(&self, call: &Call, parent: Option<Parent<'_>>) -> Node {
        let id = self.waits.node(&call.path).unwrap_or_else(|| self.next_node());
        let mut node = Node::new(self.id, id, NodeKind::Call, now_us());
        node.path = Some(call.path.clone());
        node.parent = Some(parent.map_or(CallId(0), |p| p.call));
        match self.snapshot.tools.get(&call.tool) {
            Some(tool) => {
                node.tool.clone_from(&call.tool);
                node.spec = Some(tool.digest);
            }
            // Whatever somebody typed.
            None => node.tool = contract::text::one_line(&call.tool, 64),
        }
        node
    }

    fn within_limits(&self, path: &CallPath, delegations: u32, is_begun: bool) -> Result<(), Failure> {
        // What is under way is ended by whoever follows it.
        if !is_begun && self.cancel.is_cancelled() {
            return Err(not_started("stopped before it started"));
        }
        if self.inner.tracer.audit.refuses() {
            return Err(Failure::new(Code::Store, "it was not started: the audit trail cannot be written"));
        }
        if path.depth() > (self.limits.call_depth + delegations) as usize {
            return Err(Failure::new(Code::LimitReached, "calls are nested too deep"));
        }
        let most = self.limits.calls_per_turn;
        if self.calls.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(Failure::new(Code::LimitReached, format!("one message may make at most {most} calls")));
        }
        Ok(())
    }

    fn prepare(&self, permit: policies::Permit, args: Value, path: &CallPath) -> Result<Fit, Failure> {
        let Some(tool) = self.snapshot.tools.get(permit.tool()).cloned() else {
            return Err(Failure::unknown_tool(permit.tool(), &[]));
        };
        let prepared = tool.prepare(tool.with_files(args, &self.files())?)?;
        self.has_room_for_job(&tool, path)?;
        let mut permit = permit;
        if let Some(need) = permit.need(&prepared.args) {
            let args = Digest::of_json(&prepared.args);
            let (session, caller, by) = (&self.session, &self.caller, need.by);
            let people = approval::people(self, by);
            let exact = Exact { tool: &tool.name, spec: tool.digest, args, session, caller, by, need: people };
            if !self.is_allowed_in_session(&exact) {
                return Ok(Fit::Asks(need, tool, prepared.args));
            }
            permit = permit.allowed_before(&exact);
        }
        Ok(Fit::Runs(Permitted::new(permit, tool, prepared, path.clone())?.queue(&self.inner.resources)))
    }

    fn is_allowed_in_session(&self, exact: &Exact<'_>) -> bool {
        let digest = exact.digest();
        let before = self.here.session.as_ref().is_some_and(|session| session.allowed.contains(&digest));
        before || self.waits.is_allowed(digest)
    }

    pub fn ready(&self, parent: Option<Parent<'_>>, permitted: Permitted, mut node: Node) -> Ready {
        let tool = permitted.tool();
        let digest = Digest::of_json(permitted.args());
        node.spec = Some(tool.digest);
        node.args_digest = Some(digest);
        node.args = summary(permitted.args());
        node.bodies = self.inner.payloads.begin(tool, permitted.args());
        // Nothing reads the key of a call that may be repeated and whose service is not sent it.
        let key = match tool.is_repeatable() && !tool.spec.honours_key() {
            true => String::new(),
            false => idempotency_key(self.id, permitted.path(), &tool.name, &digest),
        };
        let is_once = !tool.is_repeatable();
        let entry = self.fence.is_some().then(|| Entry {
            path: permitted.path().clone(),
            tool: tool.name.to_string(),
            spec: tool.digest,
            args: digest,
            key: tool.spec.honours_key().then(|| key.clone()),
            at_ms: now_ms(),
            end: None,
        });
        let as_job = entry.clone().filter(|_| tool.spec.execution.r#async.is_some());
        let entry = entry.filter(|_| is_once);
        let within_place = parent.is_some_and(|parent| parent.has_place);
        let delegations = parent.map_or(0, |parent| parent.delegations);
        let said = if asks_for_others(&tool.spec.endpoint) { said(parent).to_owned() } else { String::new() };
        Ready { permitted, node, key, entry, as_job, job: None, within_place, delegations, said }
    }

    pub fn refuse(&self, call: Call, node: Node, failure: Failure) -> Outcome {
        let shown = self.limits.calls_per_turn.saturating_add(REFUSED_SHOWN);
        if self.calls.load(Ordering::Relaxed) > shown {
            return Self::outcome(call.path, &node, Err(failure), false);
        }
        self.end(call.path, node, Err(failure), false)
    }

    /// Ends a call that was admitted and is not started after all.
    pub fn refuse_ready(&self, ready: Ready, failure: Failure) -> Outcome {
        self.end(ready.permitted.path().clone(), ready.node, Err(failure), false)
    }

    /// What a model is told of the call's end stands on its node.
    pub fn told(&self, path: &CallPath, said: &str) {
        let node = self.live.find(|node| node.kind == NodeKind::Call && node.path.as_ref() == Some(path));
        if let Some(mut node) = node {
            node.told = contract::text::cut(said, contract::node::TOLD_MAX);
            self.inner.tracer.ended_earlier(&self.live, &Arc::new(node));
        }
    }

    /// Makes a model's step durable; its calls do not start before.
    pub async fn plan(&self, step: &ModelStep) -> Result<(), Failure> {
        self.change(&[Change::Planned(step.clone())]).await.map_err(|error| {
            Failure::new(Code::Store, "it was not gone on with: we could not write down what comes next")
                .cause(contract::Private::new(error.to_string()))
        })
    }

    /// Makes the starts of once calls durable; what cannot be written is not started.
    pub async fn journal(&self, entries: Vec<Entry>) -> Result<(), Failure> {
        if entries.is_empty() {
            return Ok(());
        }
        self.change(&[Change::Started(entries)]).await.map_err(|error| {
            Failure::new(Code::Store, "it was not started: we could not write down that it starts")
                .cause(contract::Private::new(error.to_string()))
        })
    }

    /// Runs a call that may run. Always gives its one outcome.
    pub async fn run(self: &Arc<Self>, ready: Ready) -> Outcome {
        let Ready { permitted, mut node, key, entry, as_job, job, within_place, delegations, said } = ready;
        let _working = self.waits.work();
        node.started_us = now_us();
        self.inner.tracer.start(&self.live, &Arc::new(node.clone()));
        let stop = self.progress.started(node.call, &node.tool, &self.cancel);
        let repeatable = self.snapshot.tools.is_repeatable(&permitted.tool().name);
        let path = permitted.path().clone();
        let waits_for_others = asks_for_others(&permitted.tool().spec.endpoint);
        let host = TurnHost {
            cx: self,
            call: node.call,
            files: self.files(),
            path: path.clone(),
            tool: node.tool.clone(),
            rights: permitted.rights().clone(),
            has_place: within_place || !waits_for_others,
            delegations,
            said,
            children: AtomicU32::new(0),
            posts: AtomicU32::new(0),
            job: AtJob::new(as_job, job.as_ref()),
        };
        if waits_for_others {
            self.waits.is_begun_anew(&path);
        }
        let of = self.stages_of(permitted.tool(), &path);
        let mut begun = Begun::new(self, path, node, repeatable);
        let run = RunCx {
            caller: &self.caller,
            turn: self.id,
            deadline: self.deadline,
            cancel: &stop,
            idempotency_key: &key,
            host: &host,
            resources: &self.inner.resources,
            places: (!within_place && !waits_for_others).then_some(&self.places),
            repeatable,
            stages: of.as_ref().map(|of| Stages { chain: &self.inner.settings.stages, of }),
        };
        let report = match job {
            Some(job) => Box::pin(tools::follow(permitted, job::left(&job), run)).await,
            None => tools::run(permitted, run).await,
        };
        begun.reported(report);
        match entry.map(|entry| entry.path).or_else(|| host.job.kept()) {
            Some(path) => self.journal_end(path, &begun.result).await,
            None => self.waits.keep(|| begun.entry()),
        }
        begun.end().expect("a call ends once")
    }

    async fn journal_end(&self, path: CallPath, result: &Result<Value, Failure>) {
        self.keep_end(Change::Ended { path, end: end_of(result) }).await;
    }

    /// Writes that something ended; what cannot be written goes along with the finish.
    pub async fn keep_end(&self, change: Change) {
        if self.change(std::slice::from_ref(&change)).await.is_err() {
            self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).push(change);
        }
    }

    /// The one way in which the turn's record changes while it runs.
    pub async fn change(&self, changes: &[Change]) -> Result<(), ChangeError> {
        let Some(fence) = self.fence else { return Ok(()) };
        if self.lost.load(Ordering::Relaxed) {
            return Err(ChangeError::Lost);
        }
        let done = self.inner.stores.turns.change(fence, self.id, &self.session, changes).await;
        if matches!(done, Err(ChangeError::Lost)) {
            self.lost.store(true, Ordering::Relaxed);
            self.cancel.cancel();
        }
        done
    }
}

/// Whether nothing but calls of its own comes of such a call.
fn asks_for_others(endpoint: &EndpointSpec) -> bool {
    matches!(endpoint, EndpointSpec::Pipeline(_))
}

pub(crate) fn not_started(why: &str) -> Failure {
    Failure::new(Code::NotStarted, why)
}

fn placeholder() -> Node {
    Node::new(TurnId::default(), CallId(0), NodeKind::Call, 0)
}

/// A delivery that waits for its first part.
pub(crate) fn new_delivery(n: u32, to: Address, reply: Option<Reply>) -> Delivery {
    Delivery {
        n,
        to,
        reply,
        state: DeliveryState::Ready { part: 0, due_ms: 0 },
        parts: Vec::new(),
        receipts: Vec::new(),
        draft: None,
        marked: false,
    }
}
