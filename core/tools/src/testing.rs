//! A small world for tests: tools whose endpoints are closures, everything permitted on the console.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use contract::{
    Address, CallPath, Caller, FileRef, Finding, Origin, Outcome, Platform, Reply, Sender, TurnId, seams::ByteStream,
};
use policies::{Compiled, Policies, permit};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Build, Cx, Endpoint, Fault, Host, Output, Permitted, Polled, Registry, Report, Resources, RunCx, Snapshot, Spec,
    ToolFailure, run, spec::EndpointSpec,
};

pub type Work = Pin<Box<dyn Future<Output = Result<Output, ToolFailure>> + Send>>;

/// An endpoint that does what the closure says.
pub struct Act(pub Box<Deed>);

pub type Deed = dyn Fn(&Permitted, &Cx<'_>) -> Work + Send + Sync;

#[async_trait]
impl Endpoint for Act {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        (self.0)(call, cx).await
    }
}

/// An endpoint whose calls are jobs, which stand as the closure says at the nth question, from 1.
pub struct Jobs<F> {
    stands: F,
    pub asked: AtomicUsize,
    pub given_up: AtomicUsize,
}

impl<F: Fn(usize) -> Result<Polled, ToolFailure> + Send + Sync + 'static> Jobs<F> {
    pub fn new(stands: F) -> Arc<Self> {
        Arc::new(Self { stands, asked: AtomicUsize::new(0), given_up: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl<F: Fn(usize) -> Result<Polled, ToolFailure> + Send + Sync + 'static> Endpoint for Jobs<F> {
    async fn call(&self, _call: &Permitted, _cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        Ok(Output::Job("7".to_owned()))
    }

    async fn poll(&self, job: &str, _cx: &Cx<'_>) -> Result<Polled, ToolFailure> {
        assert_eq!(job, "7");
        (self.stands)(self.asked.fetch_add(1, Ordering::SeqCst) + 1)
    }

    async fn give_up(&self, _job: &str, _cx: &Cx<'_>) -> Result<(), ToolFailure> {
        self.given_up.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Native endpoints by name; anything else is built as an echo.
#[derive(Default)]
pub struct Acts(pub BTreeMap<String, Arc<dyn Endpoint>>);

impl Acts {
    pub fn with<F>(mut self, name: &str, act: impl Fn(&Permitted, &Cx<'_>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Output, ToolFailure>> + Send + 'static,
    {
        let act = move |call: &Permitted, cx: &Cx<'_>| -> Work { Box::pin(act(call, cx)) };
        self.0.insert(name.to_owned(), Arc::new(Act(Box::new(act))));
        self
    }
}

impl Build for Acts {
    fn build(&self, spec: &Spec) -> Result<Arc<dyn Endpoint>, Finding> {
        match &spec.endpoint {
            EndpointSpec::Native { name } => {
                let found = self.0.get(name).cloned();
                found.ok_or_else(|| spec.error_at("endpoint.name", format!("no native tool is called '{name}'")))
            }
            _ => Ok(Arc::new(Act(Box::new(|call, _| {
                let args = call.args().clone();
                Box::pin(async { Ok(Output::Done(args)) })
            })))),
        }
    }
}

/// Whatever a spec's endpoint is, the act `t` carries it out, at a host.
struct Named {
    acts: Acts,
    host: Option<&'static str>,
}

struct AtHost(Arc<dyn Endpoint>, Option<&'static str>);

#[async_trait]
impl Endpoint for AtHost {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        self.0.call(call, cx).await
    }

    fn host(&self) -> Option<&str> {
        self.1
    }
}

impl Build for Named {
    fn build(&self, spec: &Spec) -> Result<Arc<dyn Endpoint>, Finding> {
        let act = self.acts.0.get("t").cloned().ok_or_else(|| spec.error_at("endpoint", "there is no act 't'"))?;
        Ok(Arc::new(AtHost(act, self.host)))
    }
}

pub struct Nobody;

#[async_trait]
impl Host for Nobody {
    async fn children(&self, _calls: Vec<(String, Value)>) -> Vec<Outcome> {
        Vec::new()
    }

    fn progress(&self, _text: &str) {}

    async fn post(&self, _to: Address, _reply: Reply) -> Result<(), ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "nobody is here"))
    }

    async fn open(&self, _file: &FileRef) -> Result<ByteStream, ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "nobody is here"))
    }
}

pub struct World {
    pub snapshot: Arc<Snapshot>,
    pub resources: Resources,
    pub cancel: CancellationToken,
    policies: Compiled,
}

impl World {
    /// The natives' endpoints, and the specs as YAML; a spec without an endpoint gets the native one of its name.
    pub fn new(acts: Acts, specs: &[(&str, &str)]) -> Arc<Self> {
        let text: Vec<_> = specs
            .iter()
            .map(|(name, keys)| format!("---\nname: {name}\nendpoint: {{ type: native, name: {name} }}\n{keys}\n"))
            .collect();
        let loaded = Registry::new(Arc::new(acts)).load_with(&[], &[("world.yaml", &text.concat())]);
        assert_eq!(loaded.errors, []);
        Self::of(loaded.snapshot)
    }

    /// One tool whose spec has an endpoint of its own, carried out by the act of its name.
    pub fn with_endpoint(acts: Acts, name: &str, keys: &str) -> Arc<Self> {
        let text = format!("name: {name}\n{keys}\n");
        let loaded = Registry::new(Arc::new(Named { acts, host: None })).load_with(&[], &[("world.yaml", &text)]);
        assert_eq!(loaded.errors, []);
        Self::of(loaded.snapshot)
    }

    /// Tools that are all carried out by the act `t`, at one host.
    pub fn at_host(acts: Acts, host: &'static str, specs: &[(&str, &str)]) -> Arc<Self> {
        let text: Vec<_> = specs
            .iter()
            .map(|(name, keys)| format!("---\nname: {name}\nendpoint: {{ type: native, name: t }}\n{keys}\n"))
            .collect();
        let build = Named { acts, host: Some(host) };
        let loaded = Registry::new(Arc::new(build)).load_with(&[], &[("world.yaml", &text.concat())]);
        assert_eq!(loaded.errors, []);
        Self::of(loaded.snapshot)
    }

    pub fn of(snapshot: Arc<Snapshot>) -> Arc<Self> {
        let parsed = Policies::parse(&[]).expect("no policy at all is fit");
        let (policies, _) = parsed.policies.compile(&snapshot.facts()).expect("no policy names a tool");
        let (resources, cancel) = (Resources::default(), CancellationToken::new());
        Arc::new(Self { snapshot, resources, cancel, policies })
    }

    pub fn permitted(&self, tool: &str, args: Value) -> Permitted {
        let permit = permit(&self.policies, &self.policies, &caller(), tool, None).expect("the console may do all");
        let tool = self.snapshot.get(tool).expect("the tool is loaded").clone();
        let prepared = tool.prepare(args).expect("the arguments are fit");
        Permitted::new(permit, tool, prepared, CallPath::top(1, 1)).expect("the permit is for this tool")
    }

    pub async fn run(&self, tool: &str, args: Value) -> Report {
        self.run_until(tool, args, Instant::now() + Duration::from_secs(300)).await
    }

    pub async fn run_until(&self, tool: &str, args: Value, deadline: Instant) -> Report {
        self.run_permitted(self.permitted(tool, args), deadline).await
    }

    /// For somebody of that tenant.
    pub async fn run_as(&self, tenant: &str, tool: &str, args: Value) -> Report {
        let caller = Caller { tenant: tenant.to_owned(), ..caller() };
        let deadline = Instant::now() + Duration::from_secs(300);
        self.run_for(&caller, self.permitted(tool, args), deadline, None).await
    }

    /// With stages around it.
    pub async fn run_with(&self, stages: Option<crate::Stages<'_>>, tool: &str, args: Value) -> Report {
        let deadline = Instant::now() + Duration::from_secs(300);
        self.run_for(&caller(), self.permitted(tool, args), deadline, stages).await
    }

    pub async fn run_permitted(&self, call: Permitted, deadline: Instant) -> Report {
        self.run_for(&caller(), call, deadline, None).await
    }

    async fn run_for(
        &self,
        caller: &Caller,
        call: Permitted,
        deadline: Instant,
        stages: Option<crate::Stages<'_>>,
    ) -> Report {
        let repeatable = call.tool().is_repeatable();
        let cx = RunCx {
            caller,
            turn: TurnId::new(),
            deadline,
            cancel: &self.cancel,
            idempotency_key: "key",
            host: &Nobody,
            resources: &self.resources,
            places: None,
            repeatable,
            stages,
        };
        run(call, cx).await
    }
}

pub fn caller() -> Caller {
    Caller {
        platform: Platform::Console,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: "c".into(),
        thread: None,
        sender: Sender { id: "1".into(), name: String::new() },
        roles: Vec::new(),
        origin: Origin::Command,
    }
}

/// Counts how many are in at once.
#[derive(Clone, Default)]
pub struct Crowd(Arc<(AtomicUsize, AtomicUsize)>);

impl Crowd {
    pub async fn stay(&self, time: Duration) {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(time).await;
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}
