//! Calls of the loop itself, which only a model's step can make: they need no permit, and give no right that it lacks.

use contract::{Call, Digest, Failure, Node};

use super::{Admission, Parent, TurnCx};
use crate::{
    artefacts, bridge,
    delegate::{self, DELEGATE, Delegated},
    summary::summary,
};

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Search,
    Describe,
    /// One that names no tool; every other is the tool that it names.
    Call,
    Delegate,
    Read,
}

impl Own {
    /// Nothing outside a model's step, where no such tool is known.
    pub fn of(tool: &str, parent: Parent<'_>, delegation: u32) -> Option<Self> {
        match tool {
            _ if !parent.is_step => None,
            bridge::SEARCH => Some(Self::Search),
            bridge::DESCRIBE => Some(Self::Describe),
            bridge::CALL => Some(Self::Call),
            artefacts::READ => Some(Self::Read),
            DELEGATE if parent.delegations < delegation => Some(Self::Delegate),
            _ => None,
        }
    }
}

impl TurnCx {
    pub(super) fn admit_own(
        &self,
        own: Own,
        parent: Parent<'_>,
        call: Call,
        mut node: Node,
        unreadable: Option<Failure>,
    ) -> Admission {
        node.args = summary(&call.args);
        node.args_digest = Some(Digest::of_json(&call.args));
        node.spec = Some(Digest::of(node.tool.as_bytes()));
        let within = parent.rights.or(self.here.mounted.as_ref());
        let fit =
            self.within_limits(&call.path, parent.delegations, false).and_then(|()| unreadable.map_or(Ok(()), Err));
        let result = match (fit, own) {
            (Err(failure), _) => return Admission::Ended(Box::new(self.refuse(call, node, failure))),
            (Ok(()), Own::Search) => bridge::search(self, within, &call.args),
            (Ok(()), Own::Describe) => bridge::describe(self, within, &call.args),
            (Ok(()), Own::Call) => Err(bridge::missing(bridge::CALL, "name", "the name of a tool")),
            (Ok(()), Own::Read) => return Admission::Reads(Box::new(artefacts::Reading { call, node })),
            (Ok(()), Own::Delegate) => match delegate::task(self, within, &call.args) {
                Ok(task) => {
                    return Admission::Delegates(Box::new(Delegated { call, node, task, above: parent.delegations }));
                }
                Err(failure) => Err(failure),
            },
        };
        Admission::Ended(Box::new(self.end(call.path, node, result, true)))
    }
}
