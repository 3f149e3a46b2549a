//! What a tool can call: a service over HTTP, a tool of an MCP server, a program of this host, other tools in steps, or a
//! function of the binary.
//!
//! Reading order: [`Endpoints`] turns a spec's endpoint into something that runs; `http`, [`mcp`], [`command`], `pipeline`
//! and [`native`] are the kinds; [`credentials`] proves to services whose requests they are, and [`secret`] keeps what is secret out of
//! everything that is shown. Knows nothing of policy, chat or stores: what a call may do has been decided before it comes here.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contract::{Finding, text};
use tools::{
    Build, Endpoint, Probe, Spec,
    dynamic::Fetch,
    spec::{Dynamic, EndpointSpec},
    stages::Link,
};

pub mod command;
pub mod credentials;
mod fetch;
pub mod hooks;
mod http;
mod made;
mod masked;
pub mod mcp;
pub mod native;
mod pipeline;
mod probe;
pub mod secret;
#[cfg(test)]
mod testing;

pub use native::Native;

/// The endpoints that this binary offers.
pub struct Endpoints {
    natives: BTreeMap<String, Arc<dyn Native>>,
    /// One client for all tools, so that connections are shared; or why there is none.
    client: Result<reqwest::Client, String>,
    /// Nothing when they are not known: when files are checked alone.
    credentials: Option<credentials::Credentials>,
    /// Nothing when they are not known: when files are checked alone.
    mcp: Option<Arc<mcp::Servers>>,
    commands: Arc<command::Commands>,
}

impl Endpoints {
    /// With the built-in natives `sleep`, `crash`, `noop` and `send_message`.
    pub fn new() -> Self {
        Self {
            natives: native::built_in(),
            client: client(),
            credentials: Some(credentials::Credentials::default()),
            mcp: None,
            commands: Arc::default(),
        }
    }

    /// Offers a function under a name; one that is there already is replaced.
    #[must_use]
    pub fn native(mut self, name: impl Into<String>, native: impl Native + 'static) -> Self {
        self.natives.insert(name.into(), Arc::new(native));
        self
    }

    /// With the credentials that tools may name; without any of them a tool that names one is refused.
    #[must_use]
    pub fn credentials(mut self, credentials: credentials::Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// For checking files where no configuration is known: whatever credential a tool names is taken to be there.
    #[must_use]
    pub fn any_credential(mut self) -> Self {
        self.credentials = None;
        self
    }

    /// The MCP servers that tools may name, to be started and ended with the gateway.
    pub fn mcp_servers(&self) -> Option<Arc<mcp::Servers>> {
        self.mcp.clone()
    }

    /// With the MCP servers that tools may name.
    #[must_use]
    pub fn mcp(mut self, servers: Arc<mcp::Servers>) -> Self {
        self.mcp = Some(servers);
        self
    }

    /// With what runs programs; without it tools that are programs are not available.
    #[must_use]
    pub fn commands(mut self, commands: Arc<command::Commands>) -> Self {
        self.commands = commands;
        self
    }

    /// What runs programs, to be ended with the gateway.
    pub fn running_commands(&self) -> Arc<command::Commands> {
        self.commands.clone()
    }

    /// The link of a hook, which is asked through the same client.
    pub fn hook(&self, hook: hooks::Hook) -> Result<Link, String> {
        hook.link(self.client.as_ref().map_err(Clone::clone)?)
    }

    fn native_named(&self, name: &str, spec: &Spec) -> Result<Arc<dyn Native>, Finding> {
        self.natives.get(name).cloned().ok_or_else(|| {
            let error =
                spec.error_at("endpoint.name", format!("no native function is called '{}'", text::one_line(name, 64)));
            match text::nearest(name, self.natives.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error,
            }
        })
    }
}

impl Default for Endpoints {
    fn default() -> Self {
        Self::new()
    }
}

impl Build for Endpoints {
    fn build(&self, spec: &Spec) -> Result<Arc<dyn Endpoint>, Finding> {
        if spec.execution.r#async.is_some() && !matches!(spec.endpoint, EndpointSpec::Http(_)) {
            return Err(spec.error_at("execution.async", "jobs are for tools of 'type: http'"));
        }
        match &spec.endpoint {
            EndpointSpec::Http(http) => {
                let client =
                    self.client.clone().map_err(|why| spec.error_at("endpoint", format!("no HTTP client: {why}")))?;
                Ok(Arc::new(http::Http::build(spec, http, client, self.credentials.as_ref())?))
            }
            EndpointSpec::Pipeline(pipeline) => Ok(Arc::new(pipeline::Pipeline::build(spec, pipeline)?)),
            EndpointSpec::Native { name } => Ok(masked::masked(native::NativeEndpoint(self.native_named(name, spec)?))),
            EndpointSpec::Mcp { server, tool } => {
                let server = self.mcp.as_ref().map(|servers| servers.of(spec, server)).transpose()?;
                Ok(masked::masked(mcp::Mcp::build(spec, server, tool)))
            }
            EndpointSpec::Command(command) => {
                Ok(masked::masked(command::Command::build(spec, command, self.commands.clone())?))
            }
        }
    }

    fn fetch(&self, spec: &Spec, at: &str, of: &Dynamic) -> Result<Arc<dyn Fetch>, Finding> {
        let client = self.client.as_ref().map_err(|why| spec.error_at(at, format!("no HTTP client: {why}")))?;
        fetch::of(of, client).map_err(|why| spec.error_at(&format!("{at}.url"), why))
    }

    fn probe(&self, spec: &Spec) -> Result<Option<Arc<dyn Probe>>, Finding> {
        let asked = spec.check.as_ref().map(|check| {
            let client =
                self.client.as_ref().map_err(|why| spec.error_at("check", format!("no HTTP client: {why}")))?;
            probe::of(check, client).map_err(|(at, why)| spec.error_at(at, why))
        });
        let asked = asked.transpose()?;
        let EndpointSpec::Command(command) = &spec.endpoint else { return Ok(asked) };
        let (commands, command) = (self.commands.clone(), Arc::new(command.clone()));
        Ok(Some(Arc::new(command::CanRun { commands, command, then: asked })))
    }
}

/// Redirects are not followed, since they would choose another address than the operator did; proxies of the
/// environment are not used, since they would see the arguments.
fn client() -> Result<reqwest::Client, String> {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(64)
        .tcp_nodelay(true)
        .build()
        .map_err(|error| contract::Private::chain(&error).for_operator().to_owned())
}
