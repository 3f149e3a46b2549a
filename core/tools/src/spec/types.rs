//! The keys of a Tool Spec.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contract::{Digest, Finding, Platform};
use policies::tree::{Node, Place};
use serde_json::Value;

use crate::select::Select;

/// A tool as its owner describes it.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: Arc<str>,
    pub toolset: Arc<str>,
    pub description: String,
    /// JSON Schema of the arguments; always an object.
    pub parameters: Value,
    pub returns: Option<Value>,
    /// Labels that policies speak about.
    pub permissions: Vec<Arc<str>>,
    pub platforms: Option<Vec<Platform>>,
    /// Unavailable while one of these is unset.
    pub requires_env: Vec<String>,
    pub check: Option<Check>,
    pub endpoint: EndpointSpec,
    pub execution: Execution,
    pub max_result_size_chars: Option<usize>,
    pub select: Option<Select>,
    pub full_payload_log: PayloadLog,
    pub publish: Publish,
    /// Listed for language models also where most tools are only found by searching.
    pub pinned: bool,
    /// May replace a tool of the same name that another owner registered.
    pub overrides: bool,
    /// Still callable; the message is said in its description.
    pub deprecated: Option<String>,
    pub dynamic: BTreeMap<String, Dynamic>,
    pub examples: Vec<Example>,
    pub(crate) places: Places,
    pub(crate) digest: Digest,
}

/// Where the keys of a document stand, by dotted path (`endpoint.steps.0.tool`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Places {
    pub file: Arc<str>,
    pub root: Arc<Node>,
}

impl Spec {
    /// The file and line of the document.
    pub fn source(&self) -> (&str, u32) {
        (&self.places.file, self.places.of("").0)
    }

    /// An error at a key, by dotted path; the nearest enclosing key when it is not written.
    pub fn error_at(&self, path: &str, message: impl Into<String>) -> Finding {
        let (line, column) = self.places.of(path);
        Finding { file: self.places.file.to_string(), line, column, message: message.into(), hint: None }
    }

    /// Whether it reads the same, from the same place: then nothing is to be made anew. The digest does not see the
    /// order of keys, people do.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.places == other.places
    }

    /// Whether a key is written, by dotted path.
    pub fn says(&self, path: &str) -> bool {
        self.places.has(path)
    }

    /// Of the content: the same on every replica, whatever file it stands in.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether a call may be run again without harm: said so, or by the default rule; of a pipeline its children decide.
    pub fn is_repeatable(&self) -> bool {
        let by_default = match &self.endpoint {
            EndpointSpec::Pipeline(_) => return true,
            EndpointSpec::Http(http) => matches!(&*http.method, "GET" | "HEAD" | "PUT" | "DELETE"),
            EndpointSpec::Mcp { .. } | EndpointSpec::Command { .. } | EndpointSpec::Native { .. } => false,
        };
        let only_reads = !self.permissions.is_empty() && self.permissions.iter().all(|label| &**label == "read");
        self.execution.idempotent.unwrap_or(by_default || only_reads)
    }

    /// Whether the service is sent the call's idempotency key: it may be asked again under the same key.
    pub fn honours_key(&self) -> bool {
        let EndpointSpec::Http(http) = &self.endpoint else { return false };
        http.headers.iter().any(|(_, value)| value == KEY_MARK)
    }
}

/// The value of a header that carries the call's idempotency key: the same for every attempt, over restarts too.
pub const KEY_MARK: &str = "{idempotency_key}";

impl Places {
    /// Whether the key is written.
    pub fn has(&self, path: &str) -> bool {
        self.root.find(path).is_ok()
    }

    /// The place of a path, else of what encloses it.
    pub fn of(&self, path: &str) -> Place {
        self.root.find(path).unwrap_or_else(|outer| outer)
    }
}

/// What carries a call out.
#[derive(Debug, Clone, PartialEq)]
pub enum EndpointSpec {
    Http(HttpSpec),
    Mcp { server: String, tool: String },
    Command { argv: Vec<String>, stdin: Option<String> },
    Pipeline(PipelineSpec),
    Native { name: String },
}

/// A request to a service.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSpec {
    /// Upper case.
    pub method: String,
    /// With `{param}` where an argument is filled in.
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Our name to theirs, nested with dots.
    pub rename: Vec<(String, String)>,
    pub credential: Option<String>,
}

/// Calls of other tools, in steps.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineSpec {
    pub steps: Vec<Step>,
    /// What is answered, with templates; the last step's result when absent.
    pub result: Option<Value>,
}

impl PipelineSpec {
    /// Every call of every step.
    pub fn calls(&self) -> impl Iterator<Item = &StepCall> {
        self.steps.iter().flat_map(|step| match step {
            Step::Call(call) => std::slice::from_ref(call),
            Step::Parallel(calls) => calls,
        })
    }
}

/// A part of a pipeline.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a pipeline has few steps, and most are single calls")]
pub enum Step {
    Call(StepCall),
    /// All at once; the next step waits for all.
    Parallel(Vec<StepCall>),
}

/// One call of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCall {
    /// What later steps call its result; the tool's name when not said.
    pub id: String,
    pub tool: String,
    /// With templates in its strings.
    pub args: Value,
    /// An expression: the step is left out (its result is null) unless it holds.
    pub when: Option<String>,
    /// A list, or a template that gives one: one call for each `item`, all at once; the result is the list of theirs.
    pub for_each: Option<Value>,
    pub on_error: OnError,
}

/// What becomes of a pipeline when a step of it fails.
#[derive(Debug, Clone, PartialEq)]
pub enum OnError {
    /// It fails too.
    Fail,
    /// It goes on: the step's result is null, and a mapped step keeps the results that it has.
    Skip,
    /// It goes on with this in place of the result.
    Default(Value),
}

/// How calls are run.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Of one attempt.
    pub timeout: Duration,
    /// Of all attempts.
    pub total_timeout: Option<Duration>,
    pub retries: u32,
    pub retry_interval: Duration,
    pub backoff_multiplier: f64,
    pub concurrency_limit: Option<usize>,
    pub rate_limit: Option<Rate>,
    pub circuit_breaker: Option<Breaker>,
    pub idempotent: Option<bool>,
    pub parallel: bool,
    /// What a call needs alone: `orders:{order_id}`.
    pub resource: Option<String>,
    pub resource_scope: ResourceScope,
    pub r#async: Option<Value>,
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            total_timeout: None,
            retries: 0,
            retry_interval: Duration::from_millis(500),
            backoff_multiplier: 2.0,
            concurrency_limit: None,
            rate_limit: None,
            circuit_breaker: None,
            idempotent: None,
            parallel: true,
            resource: None,
            resource_scope: ResourceScope::Process,
            r#async: None,
        }
    }
}

impl Execution {
    /// How long all attempts may take together: what is said, else enough for each of them and the waits between.
    pub fn time_of_all(&self) -> Duration {
        self.total_timeout.unwrap_or_else(|| {
            let waits: Duration =
                (1..=self.retries.min(RETRIES_MAX)).map(|n| crate::guard::longest_wait(self, n)).sum();
            self.timeout.saturating_mul(self.retries.saturating_add(1)).saturating_add(waits)
        })
    }
}

/// Most retries that a tool may ask for.
pub const RETRIES_MAX: u32 = 20;

/// Where a resource is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceScope {
    Process,
    Global,
}

/// How it is found out whether what a tool needs is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// An address that answers 2xx or 3xx.
    Http(String),
    /// `HOST:PORT` that takes a connection.
    Tcp(String),
    /// A command, without a shell, that ends with 0.
    Command(Vec<String>),
}

/// So many in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub per: Duration,
}

/// When a failing service is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row.
    pub failure_threshold: u32,
    pub cooldown: Duration,
    /// Failures among the calls of the window, from `minimum_calls` on.
    pub failure_percent: Option<u8>,
    pub window: Duration,
    pub minimum_calls: u32,
    pub scope: BreakerScope,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            failure_threshold: 5,
            cooldown: Duration::from_secs(30),
            failure_percent: None,
            window: Duration::from_secs(60),
            minimum_calls: 10,
            scope: BreakerScope::Tool,
        }
    }
}

/// Who shares a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerScope {
    Tool,
    /// All tools of one host whose breakers have the same numbers.
    Host,
}

/// Whether whole bodies are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadLog {
    Never,
    Always,
    For(Duration),
}

/// Whether being there publishes the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publish {
    Auto,
    Manual,
}

/// A part of the schema that is fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Dynamic {
    pub url: String,
    pub ttl: Duration,
    /// What of the answer stands in the place.
    pub select: Option<Select>,
}

/// What somebody might say, and the call that it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    pub say: String,
    pub args: Value,
}
