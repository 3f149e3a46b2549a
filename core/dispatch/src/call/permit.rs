//! Whether a call may run: by the turn's policies and by the current ones, so that nothing is gained in the middle of a turn.

use contract::{Caller, Failure};

use super::{Parent, TurnCx};

impl TurnCx {
    pub fn permit(&self, parent: Option<Parent<'_>>, tool: &str) -> Result<policies::Permit, Failure> {
        self.permit_as(&self.caller, parent, tool)
    }

    /// For whoever the caller is by now.
    pub fn permit_as(
        &self,
        caller: &Caller,
        parent: Option<Parent<'_>>,
        tool: &str,
    ) -> Result<policies::Permit, Failure> {
        let now = self.inner.snapshot.load();
        let (turns, current) = (&self.snapshot.policies, &now.policies);
        let (mounted, within) = (self.here.mounted.as_ref(), parent.and_then(|p| p.rights));
        policies::permit_in(turns, current, caller, tool, mounted, within).map_err(|refusal| {
            let view = now.policies.view_in(caller, mounted);
            let mut near = now.tools.nearest(tool, &view);
            near.retain(|near| within.is_none_or(|within| within.allows(near)));
            refusal.to_failure(tool, &near)
        })
    }
}
