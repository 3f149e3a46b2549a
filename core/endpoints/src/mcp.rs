//! A tool of an MCP server: one connection for each server, which all its tools share.
//!
//! Reading order: [`Server`] says where a server is, [`Servers`] holds them all; `supervise` keeps one connected,
//! `connect` and `process` reach it, `call` makes a call, `result` and `listed` understand what it answers (pure).
//! [`import`] turns its tools into specs (pure).
//!
//! Nothing waits for a server but the calls to it: connections are made in the background and when they are needed.
//! Both ways of the protocol are spoken: with a handshake (2025-11-25 and before), and without (2026-07-28).

use std::sync::Arc;

use async_trait::async_trait;
use contract::Effect;
use tools::{Cx, Endpoint, Fault, Output, Permitted, Spec, ToolFailure, spec::EndpointSpec};

mod call;
mod client;
mod connect;
pub mod import;
mod listed;
mod process;
mod result;
mod servers;
mod settings;
mod supervise;

pub use listed::Listed;
pub(crate) use process::PASSED_ON;
pub use servers::Servers;
pub use settings::{Part, Server, Via};
pub(crate) use settings::{headers, variables};

use result::Reader;
use supervise::Supervisor;

/// A tool as a server offers it.
pub(crate) struct Mcp {
    /// Nothing when the servers are not known here: when files are checked alone.
    server: Option<Arc<Supervisor>>,
    /// What its server's tools share is counted under this name.
    host: String,
    reader: Reader,
}

impl Mcp {
    pub fn build(spec: &Spec, server: Option<Arc<Supervisor>>, theirs: &str) -> Self {
        let wants_json = spec.returns.as_ref().is_some_and(crate::http::is_structured);
        let host = match &spec.endpoint {
            EndpointSpec::Mcp { server, .. } => format!("mcp:{server}"),
            _ => String::new(),
        };
        Self { server, host, reader: Reader { tool: spec.name.to_string(), theirs: theirs.to_owned(), wants_json } }
    }
}

#[async_trait]
impl Endpoint for Mcp {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        let Some(server) = &self.server else {
            let say = format!("'{}' could not be reached", self.reader.tool);
            return Err(ToolFailure::new(Fault::Unavailable, say).effect(Effect::None));
        };
        let args = call.args().as_object().cloned().unwrap_or_default();
        call::call(server, &self.reader, args, cx).await.map(Output::Done)
    }

    fn host(&self) -> Option<&str> {
        Some(&self.host)
    }
}

#[cfg(test)]
mod tests;
