//! A call that may run: the only thing that the guard accepts.

use std::sync::Arc;

use contract::{CallPath, Code, Failure};
use policies::{Permit, Rights};
use serde_json::Value;

use crate::{
    resources::{Claim, Resources},
    schema::Prepared,
    tool::Tool,
};

/// A call with its permit used up, its arguments checked and its tool at hand.
pub struct Permitted {
    tool: Arc<Tool>,
    args: Value,
    path: CallPath,
    rights: Rights,
    changes: Vec<String>,
    claim: Option<Claim>,
}

impl Permitted {
    /// Consumes the permit. Refuses when it is for another tool, or when people have not said yes to exactly this call
    /// although they have to: a defect of the caller.
    pub fn new(permit: Permit, tool: Arc<Tool>, prepared: Prepared, path: CallPath) -> Result<Self, Failure> {
        if permit.tool() != &*tool.name {
            let cause = format!("a permit for '{}' was used for '{}'", permit.tool(), tool.name);
            return Err(Failure::fatal(Code::Internal, cause));
        }
        if !permit.covers(tool.digest, &prepared.args) {
            let cause =
                format!("a call of '{}' with these arguments needs an approval that it does not have", tool.name);
            return Err(Failure::fatal(Code::Internal, cause));
        }
        let rights = permit.rights().clone();
        Ok(Self { tool, args: prepared.args, path, rights, changes: prepared.changes, claim: None })
    }

    /// Takes the call's place in the line for its resource now; to be called in the order of a batch's calls.
    /// A call that did not is queued when it runs.
    #[must_use]
    pub fn queue(mut self, resources: &Resources) -> Self {
        if self.claim.is_none() {
            self.claim = self.tool.resource(&self.args).map(|key| resources.claim(&key));
        }
        self
    }

    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// Coerced and valid.
    pub fn args(&self) -> &Value {
        &self.args
    }

    pub fn path(&self) -> &CallPath {
        &self.path
    }

    /// What children of this call may do.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Leaves the line for its resource.
    pub(crate) fn leave(&mut self) {
        self.claim = None;
    }

    /// What coercion changed, for the node.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// The place in line that was taken, else one taken now; nothing when the call needs nothing alone.
    pub(crate) fn take_claim(&mut self, resources: &Resources) -> Option<Claim> {
        self.claim.take().or_else(|| self.tool.resource(&self.args).map(|key| resources.claim(&key)))
    }

    pub(crate) fn into_changes(self) -> Vec<String> {
        self.changes
    }
}
