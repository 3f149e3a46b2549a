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
            EndpointSpec::Mcp { .. } | EndpointSpec::Command(_) | EndpointSpec::Native { .. } => false,
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
    Command(CommandSpec),
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
    /// Where parameters go that do not go where the method sends them.
    pub places: Vec<(String, Placed)>,
    /// Most bytes of all files that a call sends.
    pub file_limit: u64,
    pub credential: Option<String>,
}

/// The part of a request in which an argument goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// Where `url` names it.
    Path,
    Query,
    /// A header of its (renamed) name.
    Header,
    Body,
}

/// Most bytes of the files of one call, where the spec does not say.
pub const FILE_LIMIT: u64 = 10 << 20;
/// More a spec cannot ask for: the files of a call are in memory while it is made.
pub const FILE_LIMIT_MAX: u64 = 64 << 20;

/// A program that is run, without a shell.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandSpec {
    /// The program and its arguments, each with `{param}` where an argument of the call is filled in.
    pub argv: Vec<String>,
    /// What it reads on its standard input, with `{param}`s.
    pub stdin: Option<String>,
    /// Beside the few variables that every program needs: a text, or `env:NAME`.
    pub env: Vec<(String, String)>,
    /// Where it works, and may write; a fresh folder for each call when nothing is said.
    pub folder: Option<String>,
    /// Whether its folder is kept before each call, where it is labelled `write_files`.
    pub checkpoint: bool,
    pub sandbox: Sandbox,
}

/// What a program may do beyond its own folder, and how much of everything it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    pub network: bool,
    /// Beside the system's programs and libraries.
    pub read: Granted,
    /// Beside its folder.
    pub write: Granted,
    /// Of one process; no bound but the call's time when nothing is said.
    pub cpu: Option<Duration>,
    /// Of one process, in bytes.
    pub memory: u64,
    /// Of one file, in bytes.
    pub file_size: u64,
    /// Of all files in its fresh folder, in bytes.
    pub disk: u64,
    /// At the same time.
    pub processes: u32,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            network: false,
            read: Granted::These(Vec::new()),
            write: Granted::These(Vec::new()),
            cpu: None,
            memory: 1 << 30,
            file_size: 64 << 20,
            disk: 256 << 20,
            processes: 64,
        }
    }
}

/// Files and folders that are granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Granted {
    These(Vec<String>),
    All,
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
    /// The answer says only that the work has begun; how it is asked what came of it.
    pub r#async: Option<super::Jobs>,
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
