//! Stages that an operator or an embedding program adds to the way of a call, each in its order.
//!
//! Reading order: five traits of one method each are what may be added; [`Chain`] holds them with whom they are for and what
//! their failure means; [`Stages`] is the chain for one call. [`built_in`] are stages that need nothing but the call.
//! With an empty chain nothing of this is on a call's path.

pub mod built_in;
mod chain;
mod contain;
mod only;
mod run;

use std::sync::Arc;

use async_trait::async_trait;
use contract::{CallPath, Caller, Node, Private, Public, TurnId};
use serde_json::Value;

use crate::{
    endpoint::{Cx, Host, Output, ToolFailure},
    permitted::Permitted,
    tool::Tool,
};
pub use chain::{AFTER_AT_ONCE, Chain, Class, Count, Link, MOST, Stage};
pub use only::{Name, Only};
pub use run::Stages;

/// The call that a stage looks at.
#[derive(Clone)]
pub struct Of {
    pub tool: Arc<Tool>,
    pub caller: Caller,
    pub turn: TurnId,
    pub path: CallPath,
}

/// Why a stage does not let a call, or its answer, pass.
#[derive(Debug, Clone)]
pub enum Stopped {
    /// It says no, in a sentence that anybody may read.
    Refused(Public),
    /// It came to no decision; why is for operators.
    Failed(Private),
}

/// What a stage puts in the place of arguments or of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub value: Value,
    /// For the node; what differs is said when this is empty.
    pub what: String,
}

impl From<Value> for Changed {
    fn from(value: Value) -> Self {
        Self { value, what: String::new() }
    }
}

/// Sees arguments before they are checked; may change them, or refuse the call.
#[async_trait]
pub trait Request: Send + Sync {
    /// Nothing where they stay as they are.
    async fn request(&self, of: &Of, args: &Value) -> Result<Option<Changed>, Stopped>;
}

/// Decides on a call that is permitted and well-formed, before anybody is asked about it and before it starts.
#[async_trait]
pub trait Before: Send + Sync {
    async fn before(&self, of: &Of, args: &Value) -> Result<(), Stopped>;
}

/// Stands around each attempt of a call, within the guard: may do something before and after, or answer by itself.
#[async_trait]
pub trait Around: Send + Sync {
    async fn around(&self, call: &Permitted, cx: &Cx<'_>, next: Next<'_>) -> Result<Output, ToolFailure>;
}

/// Sees a good answer before it is cut, kept and told; may change it, or withhold it.
#[async_trait]
pub trait Transform: Send + Sync {
    /// Nothing where it stays as it is.
    async fn transform(&self, of: &Of, answer: &Value, host: &dyn Host) -> Result<Option<Changed>, Stopped>;
}

/// Sees how a call ended, with all that stages changed; nobody waits for it.
#[async_trait]
pub trait After: Send + Sync {
    /// An error is counted.
    async fn after(&self, of: &Of, node: &Node) -> Result<(), Private>;
}

/// What stands within an [`Around`]: the next one, and the endpoint at last.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    links: &'a [Link],
    call: &'a Permitted,
    /// The one that is given this.
    own: Option<&'a Link>,
}

impl<'a> Next<'a> {
    pub(crate) fn new(chain: Option<Stages<'a>>, call: &'a Permitted) -> Self {
        Self { links: chain.map_or(&[], |stages| stages.chain.links()), call, own: None }
    }

    /// Goes on. May be called again: each time the endpoint is called again.
    pub async fn run(self, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        let tool = self.call.tool();
        for (n, link) in self.links.iter().enumerate() {
            if let Stage::Around(stage) = &link.stage
                && link.only.is_for(tool, cx.caller)
            {
                link.counts.called();
                let next = Next { links: &self.links[n + 1..], own: Some(link), ..self };
                return stage.around(self.call, cx, next).await;
            }
        }
        tool.endpoint.call(self.call, cx).await
    }

    /// Counts what the stage itself came to, which nobody else can tell from what the endpoint did.
    pub fn came_to(&self, decision: Result<(), &Stopped>) {
        if let Some(link) = self.own {
            run::counted(link, decision);
        }
    }
}

#[cfg(test)]
mod tests;
