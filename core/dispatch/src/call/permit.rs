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
        let there = self.standing.as_ref().and_then(|standing| standing.there.as_ref());
        let in_both = || {
            // Before what is mounted, which is what the destination shows: its own rule says why.
            let there = there.map(|there| policies::permit(turns, current, there, tool, within)).transpose()?;
            let permit = policies::permit_in(turns, current, caller, tool, mounted, within)?;
            Ok(match there {
                Some(there) => permit.and(there),
                None => permit,
            })
        };
        in_both().map_err(|refusal: policies::Refusal| {
            let view = now.policies.view_in(caller, mounted);
            let mut near = now.tools.nearest(tool, &view);
            near.retain(|near| within.is_none_or(|within| within.allows(near)));
            refusal.to_failure(tool, &near)
        })
    }
}
