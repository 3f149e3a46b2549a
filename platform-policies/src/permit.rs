//! The one function that decides whether a call may run.

use std::sync::Arc;

use contract::{
    Caller, Digest,
    records::{Approval, Exact},
};
use serde_json::Value;

use crate::{
    BUILT_IN, Compiled, PolicyLayer, Refusal, RefusalKind, Rule, ToolSet,
    approval::{Asking, Need, need},
};

/// Proof that a call may run, once people said yes where it [needs](Permit::need) that: made by [`permit`] alone, used
/// once.
///
/// ```compile_fail
/// fn twice(permit: policies::Permit) -> [policies::Permit; 2] {
///     [permit.clone(), permit]
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    tool: Arc<str>,
    rights: Rights,
    /// The rules that ask for an approval of it, those with conditions among them.
    asking: Vec<Asking>,
    /// The tool's version and the arguments that were approved.
    approved: Option<(Digest, Digest)>,
}

impl Permit {
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The approval that a call with these arguments needs, if it needs one.
    pub fn need(&self, args: &Value) -> Option<Need> {
        need(&self.asking, args)
    }

    /// For a call that two places have to allow: what its children may do is what both do, and what either asks is asked.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rights.set = other.rights.narrow(self.rights.set.clone(), &self.rights.names);
        self.asking.extend(other.asking);
        if other.tool != self.tool {
            self.rights.set = ToolSet::none(self.rights.names.len());
        }
        self
    }

    /// For exactly what people said yes to. A state that is no yes changes nothing.
    #[must_use]
    pub fn approved(mut self, by: &Approval) -> Self {
        if by.state.is_yes() && *by.tool == *self.tool {
            self.approved = Some((by.spec, by.args));
        }
        self
    }

    /// For exactly the call that was allowed beforehand in its session.
    #[must_use]
    pub fn allowed_before(mut self, exact: &Exact<'_>) -> Self {
        if *exact.tool == *self.tool {
            self.approved = Some((exact.spec, exact.args));
        }
        self
    }

    /// Whether the call may start: it needs no approval, or has one for this version and these arguments.
    pub fn covers(&self, spec: Digest, args: &Value) -> bool {
        self.asking.is_empty()
            || self.need(args).is_none()
            || self.approved.is_some_and(|approved| approved == (spec, Digest::of_json(args)))
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
    /// Rights to these tools alone, for what a session mounts. Rights only ever narrow, so to make them gives nothing.
    pub fn to<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        names.sort_unstable();
        names.dedup();
        Self { set: ToolSet::all(names.len()), names: names.into() }
    }

    pub fn allows(&self, tool: &str) -> bool {
        self.names.binary_search_by(|name| (**name).cmp(tool)).is_ok_and(|ix| self.set.contains(ix))
    }

    /// The tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.set.iter().filter_map(|ix| self.names.get(ix)).map(|name| &**name)
    }

    /// Drops of `set`, indices into `names`, what these rights lack.
    pub(crate) fn narrow(&self, mut set: ToolSet, names: &Arc<[Arc<str>]>) -> ToolSet {
        if Arc::ptr_eq(names, &self.names) {
            set.keep(&self.set);
            return set;
        }
        let held = ToolSet::of(names.len(), |ix| set.contains(ix) && self.allows(&names[ix]));
        set.keep(&held);
        set
    }
}

/// The one function that decides. `turn` are the policies of the turn's snapshot and `now` those of the current one:
/// nothing is gained in the middle of a turn, anything can be lost. `within` are the rights of the parent call.
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
    turn: &Compiled,
    now: &Compiled,
    caller: &Caller,
    tool: &str,
    session: Option<&Rights>,
    within: Option<&Rights>,
) -> Result<Permit, Refusal> {
    let Some(ix) = turn.index(tool) else {
        return Err(Refusal::new(RefusalKind::Unknown, built_in(PolicyLayer::Published, "no tool has this name")));
    };
    let mut rights = turn.allowed(caller, session);
    if let Some(within) = within {
        rights = within.narrow(rights, &turn.names);
    }
    if !rights.contains(ix) {
        return Err(denied(turn, caller, tool, session, within));
    }
    if !std::ptr::eq(turn, now) {
        still_allowed(now, caller, tool, session, within)?;
    }
    is_available(now, tool)?;
    // What either asks is asked.
    let mut asking = turn.asking(caller, tool);
    if !std::ptr::eq(turn, now) {
        asking.extend(now.asking(caller, tool));
    }
    let (tool, names) = (Arc::clone(&turn.names[ix]), Arc::clone(&turn.names));
    Ok(Permit { tool, rights: Rights { names, set: rights }, asking, approved: None })
}

/// Whether the current policies allow what the turn's do.
fn still_allowed(
    now: &Compiled,
    caller: &Caller,
    tool: &str,
    session: Option<&Rights>,
    within: Option<&Rights>,
) -> Result<(), Refusal> {
    let Some(ix) = now.index(tool) else {
        let rule = built_in(PolicyLayer::Published, "the tool was removed while the turn ran");
        return Err(Refusal::new(RefusalKind::Removed, rule));
    };
    if now.allowed(caller, session).contains(ix) { Ok(()) } else { Err(denied(now, caller, tool, session, within)) }
}

/// Asked last, so that a denied person learns nothing of it.
fn is_available(now: &Compiled, tool: &str) -> Result<(), Refusal> {
    if now.index(tool).is_some_and(|ix| now.is_available(ix)) {
        return Ok(());
    }
    let rule = built_in(PolicyLayer::Availability, "the tool is not available at present");
    Err(Refusal::new(RefusalKind::Unavailable, rule))
}

/// The first rule that refuses, found by asking every layer in words.
fn denied(
    policies: &Compiled,
    caller: &Caller,
    tool: &str,
    session: Option<&Rights>,
    within: Option<&Rights>,
) -> Refusal {
    let no = policies.explain_in(caller, tool, session, within).into_iter().find(|verdict| !verdict.allowed);
    let rule = no.map(|no| Rule { layer: no.layer, rule: no.rule, file: no.file, line: no.line });
    // The sets and the words cannot disagree (a test compares them); if they did, the sets would still decide.
    let rule = rule.unwrap_or_else(|| built_in(PolicyLayer::Platform, "the rules do not allow it"));
    Refusal::new(RefusalKind::Denied, rule)
}

fn built_in(layer: PolicyLayer, words: &str) -> Rule {
    Rule { layer, rule: words.to_owned(), file: BUILT_IN.to_owned(), line: 0 }
}
