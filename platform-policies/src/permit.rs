//! The one function that decides whether a call may run.

use std::sync::Arc;

use contract::Caller;

use crate::{BUILT_IN, Compiled, PolicyLayer, Refusal, RefusalKind, Rule, ToolSet};

/// Proof that a call may run: made by [`permit`] alone, used once.
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
    may_start(turn, now, caller, tool)?;
    let (tool, names) = (Arc::clone(&turn.names[ix]), Arc::clone(&turn.names));
    Ok(Permit { tool, rights: Rights { names, set: rights } })
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

/// What stands in the way of a call that is allowed. Asked last, so that a denied person learns nothing of it.
fn may_start(turn: &Compiled, now: &Compiled, caller: &Caller, tool: &str) -> Result<(), Refusal> {
    let asked = turn.approves(caller, tool);
    if let Some(rule) = asked.or_else(|| if std::ptr::eq(turn, now) { None } else { now.approves(caller, tool) }) {
        return Err(Refusal::new(RefusalKind::NeedsApproval, rule));
    }
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
