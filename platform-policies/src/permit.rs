//! The one function that decides whether a call may run.

use std::sync::Arc;

use contract::Caller;

use crate::{Compiled, PolicyLayer, Refusal, RefusalKind, Rule, ToolSet};

/// Proof that a call may run: made here only, used once.
#[derive(Debug)]
pub struct Permit {
    tool: Arc<str>,
    rights: Rights,
}

impl Permit {
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// What the call's children may do: what its caller may, within what its own parent may.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }
}

/// Tools that a call or a session may use; holds under any snapshot, by name. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rights {
    /// Sorted.
    names: Arc<[Arc<str>]>,
    set: ToolSet,
}

impl Rights {
    /// Rights to these tools alone, for what a session mounts. Rights only ever narrow, so making them gives nobody any.
    pub fn to<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        names.sort_unstable();
        names.dedup();
        Self { set: ToolSet::all(names.len()), names: names.into() }
    }

    pub fn allows(&self, tool: &str) -> bool {
        self.names.binary_search_by(|name| (**name).cmp(tool)).is_ok_and(|ix| self.set.contains(ix))
    }
}

/// The one function that decides. `now` is the current snapshot's policies, `turn` those of the turn; `within` are the
/// rights of the parent call.
pub fn permit(
    turn: &Compiled,
    now: &Compiled,
    caller: &Caller,
    tool: &str,
    within: Option<&Rights>,
) -> Result<Permit, Refusal> {
    permit_in(turn, now, caller, tool, None, within)
}

/// [`permit`], narrowed by what the session has mounted.
pub fn permit_in(
    _turn: &Compiled,
    _now: &Compiled,
    _caller: &Caller,
    _tool: &str,
    _session: Option<&Rights>,
    _within: Option<&Rights>,
) -> Result<Permit, Refusal> {
    let rule = Rule {
        layer: PolicyLayer::Published,
        rule: "no policy".into(),
        file: crate::verdict::BUILT_IN.into(),
        line: 0,
    };
    Err(Refusal::new(RefusalKind::Unknown, rule))
}
