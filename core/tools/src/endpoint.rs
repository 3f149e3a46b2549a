//! What an endpoint fills, what it is given, and how it says that it failed.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use contract::{
    Address, Caller, Code, Effect, Failure, FileRef, Finding, Outcome, Private, Problem, Public, Reply, TurnId,
    seams::ByteStream,
};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    availability::Probe,
    dynamic::Fetch,
    permitted::Permitted,
    spec::{Dynamic, Spec},
};

/// Carries out a call. Dropping the future is a normal way to end.
#[async_trait]
pub trait Endpoint: Send + Sync {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure>;

    /// Asks once how a job stands that a call of it gave back.
    async fn poll(&self, _job: &str, _cx: &Cx<'_>) -> Result<Polled, ToolFailure> {
        Err(ToolFailure::new(Fault::Unusable, "the tool has no jobs any more"))
    }

    /// Says that nobody wants the job any more, where there is somebody to say it to.
    async fn give_up(&self, _job: &str, _cx: &Cx<'_>) -> Result<(), ToolFailure> {
        Ok(())
    }

    /// The service that it calls, as `host:port`: what its tools share is counted under this name.
    fn host(&self) -> Option<&str> {
        None
    }

    /// What it answered as operators may see it, on one line: an endpoint masks what it knows to be secret.
    fn for_operator(&self, answer: &str, most: usize) -> String {
        contract::text::one_line(answer, most)
    }
}

/// Makes the endpoint that a spec describes.
pub trait Build: Send + Sync {
    /// An error quarantines the tool; [`Spec::error_at`] makes one with its place in the file.
    fn build(&self, spec: &Spec) -> Result<Arc<dyn Endpoint>, Finding>;

    /// Makes what fetches a part of the parameters; `at` is its key in the spec.
    fn fetch(&self, spec: &Spec, at: &str, _of: &Dynamic) -> Result<Arc<dyn Fetch>, Finding> {
        Err(spec.error_at(at, "nothing can be fetched here"))
    }

    /// Makes the probe of a spec's `check`; nothing where it has none.
    fn probe(&self, _spec: &Spec) -> Result<Option<Arc<dyn Probe>>, Finding> {
        Ok(None)
    }
}

/// What an endpoint gives back.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Done(Value),
    /// The work goes on elsewhere; its handle.
    Job(String),
}

/// How a job stands.
#[derive(Debug, Clone)]
pub enum Polled {
    Waits {
        /// How far it is, for people.
        said: Option<String>,
        /// It is not to be asked about sooner.
        after: Option<Duration>,
    },
    Done(Value),
    /// It came to nothing.
    Failed(ToolFailure),
}

/// What an endpoint knows of the call beside its arguments.
pub struct Cx<'a> {
    pub caller: &'a Caller,
    pub turn: TurnId,
    /// When the guard gives this attempt up.
    pub deadline: Instant,
    /// From 1.
    pub attempt: u32,
    pub cancel: &'a CancellationToken,
    /// The same for every attempt of the call, over restarts too.
    pub idempotency_key: &'a str,
    pub host: &'a dyn Host,
    /// What operators are told of the call, also when it is dropped.
    pub notes: &'a Notes,
}

/// What the gateway does for a running tool; filled by dispatch.
#[async_trait]
pub trait Host: Send + Sync {
    /// Runs other tools concurrently through the same gate, for the same caller; outcomes in the order of the calls.
    async fn children(&self, calls: Vec<(String, Value)>) -> Vec<Outcome>;
    fn progress(&self, text: &str);
    /// A message to another conversation: durable, once per call.
    async fn post(&self, to: Address, reply: Reply) -> Result<(), ToolFailure>;
    async fn open(&self, file: &FileRef) -> Result<ByteStream, ToolFailure>;

    /// The files of the message that asks for the call; see [`crate::files::named`].
    fn files(&self) -> &[FileRef] {
        &[]
    }

    /// Where the answer goes, for what cannot stand in it.
    fn here(&self) -> Option<Address> {
        None
    }

    /// The call's work goes on elsewhere: from now on a next life of the turn goes on with it.
    async fn job(&self, _begun: &crate::Job) {}

    /// Nothing is left to do but to wait for the job, until this is dropped; nothing where the turn cannot go on later, and
    /// waits here as long as it has time.
    fn rests(&self) -> Option<Box<dyn Send + '_>> {
        None
    }

    /// Keeps the whole of an answer that is told in short; how the rest is read, or nothing where it is not kept.
    async fn keep(&self, _whole: &str) -> Option<String> {
        None
    }
}

/// What an endpoint saw, for the node of the call. Kept outside the endpoint's future so that a timeout keeps it.
#[derive(Default)]
pub struct Notes(Mutex<Seen>);

#[derive(Default)]
pub(crate) struct Seen {
    pub status: Option<u16>,
    pub request: Private,
    pub marks: Vec<String>,
    pub cost_micros: u64,
    effect: Option<Effect>,
    /// Set when the first of it leaves us.
    left: Option<Arc<AtomicBool>>,
}

impl Seen {
    /// Whether something may have happened; of an endpoint that does not say, it may.
    pub fn effect(&self) -> Effect {
        match (self.effect, &self.left) {
            (Some(Effect::Unknown), Some(left)) if !left.load(Ordering::SeqCst) => Effect::None,
            (effect, _) => effect.unwrap_or(Effect::Unknown),
        }
    }
}

impl Notes {
    /// The status that the service answered.
    pub fn status(&self, status: u16) {
        self.with(|seen| seen.status = Some(status));
    }

    /// The request as sent, without secrets.
    pub fn request(&self, request: Private) {
        self.with(|seen| seen.request = request);
    }

    /// A word for the node.
    pub fn mark(&self, mark: impl Into<String>) {
        let mark = mark.into();
        self.with(|seen| seen.marks.push(mark));
    }

    /// What the attempt takes, in millionths of the operator's currency; adds up.
    pub fn cost(&self, micros: u64) {
        self.with(|seen| seen.cost_micros = seen.cost_micros.saturating_add(micros));
    }

    /// Whether something may have left us by now. An endpoint that never says is taken to have sent something.
    pub fn effect(&self, effect: Effect) {
        self.with(|seen| seen.effect = Some(effect));
    }

    /// For an endpoint that learns when the first byte leaves us: until it sets this, nothing can have happened.
    pub fn leaves(&self) -> Arc<AtomicBool> {
        let left = Arc::new(AtomicBool::new(false));
        self.with(|seen| seen.left = Some(left.clone()));
        left
    }

    fn with<R>(&self, f: impl FnOnce(&mut Seen) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take(&self) -> Seen {
        self.with(std::mem::take)
    }
}

/// Why a tool did not answer: the part of the codes that a tool may raise beside [`ToolFailure::input_refused`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    Timeout,
    /// The service refused the request (4xx).
    Refused,
    /// The service failed (5xx).
    Failed,
    /// What carried the call out crashed: of a command, the process died by a signal.
    Crashed,
    /// The tool did its work and says that it came to nothing: the service is well, and would say so again.
    Reported,
    /// Nothing can have left us: no name, no connection, no TLS.
    Unreachable,
    /// The connection broke.
    Broken,
    /// It answered, and nothing can be done with the answer: it would be the same again.
    Unusable,
    RateLimited,
    Busy,
    Returns,
    OutcomeUnknown,
    Cancelled,
    StepFailed,
    Unavailable,
    DeliveryRefused,
}

impl Fault {
    pub fn code(self) -> Code {
        match self {
            Self::Timeout => Code::Timeout,
            Self::Refused => Code::Upstream4xx,
            Self::Failed | Self::Reported => Code::Upstream5xx,
            Self::Crashed => Code::Panic,
            Self::Unreachable => Code::UpstreamUnreachable,
            Self::Broken | Self::Unusable => Code::UpstreamBroken,
            Self::RateLimited => Code::RateLimited,
            Self::Busy => Code::Busy,
            Self::Returns => Code::ReturnsInvalid,
            Self::OutcomeUnknown => Code::OutcomeUnknown,
            Self::Cancelled => Code::Cancelled,
            Self::StepFailed => Code::StepFailed,
            Self::Unavailable => Code::Unavailable,
            Self::DeliveryRefused => Code::DeliveryRefused,
        }
    }

    /// What may have happened when a tool says nothing of it: only what never left us is sure to have had no effect.
    fn effect(self) -> Effect {
        match self {
            Self::Unreachable | Self::Busy | Self::Unavailable => Effect::None,
            Self::Timeout
            | Self::Refused
            | Self::Failed
            | Self::Crashed
            | Self::Reported
            | Self::Broken
            | Self::Unusable
            | Self::RateLimited
            | Self::Returns
            | Self::OutcomeUnknown
            | Self::Cancelled
            | Self::StepFailed
            | Self::DeliveryRefused => Effect::Unknown,
        }
    }
}

/// How a tool fails: a failure of the layers Validation or Execution, by construction; Fatal where its process crashed.
#[derive(Debug, Clone)]
pub struct ToolFailure {
    failure: Box<Failure>,
    /// Nothing where the tool itself refuses its input.
    fault: Option<Fault>,
    status: Option<u16>,
    request: Private,
}

impl ToolFailure {
    /// `say` is for people: no host, path, header or secret in it.
    pub fn new(fault: Fault, say: impl Into<Public>) -> Self {
        Self { fault: Some(fault), ..Self::of(Failure::new(fault.code(), say).effect(fault.effect())) }
    }

    /// The tool itself refuses its input.
    pub fn input_refused(say: impl Into<Public>, problems: Vec<Problem>) -> Self {
        Self::of(Failure { problems, ..Failure::new(Code::InputRefused, say) })
    }

    fn of(failure: Failure) -> Self {
        Self { failure: Box::new(failure), fault: None, status: None, request: Private::default() }
    }

    /// For operators: what happened, in the words of whoever said it.
    #[must_use]
    pub fn cause(mut self, cause: Private) -> Self {
        self.failure.cause = cause;
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Public>) -> Self {
        self.failure.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.failure.retry_after = Some(wait);
        self
    }

    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.failure.effect = effect;
        self
    }

    /// The status that the service answered.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The request as sent, without secrets.
    #[must_use]
    pub fn request(mut self, request: Private) -> Self {
        self.request = request;
        self
    }

    /// With every text in it passed through `f`, which masks what must not be shown.
    #[must_use]
    pub fn map_texts(mut self, f: impl Fn(&str) -> String) -> Self {
        let failure = &mut *self.failure;
        failure.say = f(failure.say.as_str()).into();
        failure.hint = failure.hint.as_ref().map(|hint| f(hint.as_str()).into());
        failure.cause = Private::new(f(failure.cause.for_operator()));
        for Problem { path, expected, got, hint } in &mut failure.problems {
            (*path, *expected) = (f(path), f(expected));
            *got = got.as_deref().map(&f);
            *hint = hint.as_deref().map(&f);
        }
        self.request = Private::new(f(self.request.for_operator()));
        self
    }

    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    pub(crate) fn status_code(&self) -> Option<u16> {
        self.status
    }

    pub(crate) fn into_parts(self) -> (Failure, Option<u16>, Private) {
        (*self.failure, self.status, self.request)
    }
}

impl From<ToolFailure> for Failure {
    fn from(failure: ToolFailure) -> Self {
        *failure.failure
    }
}
