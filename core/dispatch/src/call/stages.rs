//! What stages that were added have to say of a call: before it is admitted, while it runs, after its end.
//!
//! A call that policy denies, and one that cannot be read, is shown to none of them. Where no stage is configured nothing
//! here is asked.

use std::sync::{Arc, atomic::Ordering};

use contract::{
    CallPath, Failure, Node, NodeKind,
    records::{End, Entry},
};
use tools::{Stages, Tool, stages::Of};

use super::{Parent, TurnCx};
use crate::{bridge, planner::Planned};

/// A call as planned, with what was done to it since, for its node.
pub(crate) struct Staged {
    pub planned: Planned,
    pub marks: Vec<String>,
}

/// With its place in the batch.
pub(crate) type Placed = (usize, Staged);

impl From<Planned> for Staged {
    fn from(planned: Planned) -> Self {
        Self { planned, marks: Vec::new() }
    }
}

impl TurnCx {
    pub(crate) fn has_stages(&self) -> bool {
        !self.inner.settings.stages.is_empty()
    }

    /// Those that stages are asked about first, apart from the others; each with its place in the batch.
    pub(crate) fn apart(&self, parent: Option<Parent<'_>>, planned: Vec<Planned>) -> (Vec<Placed>, Vec<Placed>) {
        let calls = planned.into_iter().map(Staged::from).enumerate();
        if !self.has_stages() {
            return (calls.collect(), Vec::new());
        }
        let chain = &self.inner.settings.stages;
        let calls = calls.map(|(n, staged)| (n, self.unwrapped(parent, staged)));
        calls.partition(|(_, staged)| {
            let tool = self.snapshot.tools.get(&staged.planned.call.tool);
            !tool.is_some_and(|tool| chain.is_asked_first(tool, &self.caller))
        })
    }

    /// By its real name.
    pub(crate) fn unwrapped(&self, parent: Option<Parent<'_>>, staged: Staged) -> Staged {
        if !parent.is_some_and(|parent| parent.is_step) {
            return staged;
        }
        let (planned, through) = bridge::unwrapped(staged.planned);
        Staged { planned, marks: through.into_iter().collect() }
    }

    /// The call as stages leave it: with other arguments, or with why it does not run.
    pub(crate) async fn staged(&self, parent: Option<Parent<'_>>, staged: Staged) -> Staged {
        let Staged { mut planned, mut marks } = staged;
        if let Some(of) = self.asked_first(parent, &planned)
            && let Err(failure) = self.ask_first(&of, &mut planned, &mut marks).await
        {
            planned.unreadable = Some(failure);
        }
        Staged { planned, marks }
    }

    /// The call, if stages are to be asked: it is readable, permitted and within the turn's limit, and it has not begun.
    fn asked_first(&self, parent: Option<Parent<'_>>, planned: &Planned) -> Option<Arc<Of>> {
        let call = &planned.call;
        let is_full = self.calls.load(Ordering::Relaxed) >= self.limits.calls_per_turn;
        if !self.has_stages() || planned.unreadable.is_some() || is_full || self.cancel.is_cancelled() {
            return None;
        }
        // Its end is known, or it is not and stays so.
        let is_settled = |entry: &Entry| match &entry.end {
            Some(End::Ok(_) | End::Failed(_)) => true,
            Some(End::Job(_)) => false,
            None => entry.key.is_none(),
        };
        if self.begun(&call.path).is_some_and(is_settled) {
            return None;
        }
        let tool = self.snapshot.tools.get(&call.tool)?;
        if !self.inner.settings.stages.is_asked_first(tool, &self.caller) {
            return None;
        }
        self.permit(parent, &call.tool).ok()?;
        Some(Arc::new(self.of(tool, &call.path)))
    }

    async fn ask_first(&self, of: &Arc<Of>, planned: &mut Planned, marks: &mut Vec<String>) -> Result<(), Failure> {
        let stages = Stages { chain: &self.inner.settings.stages, of };
        let args = std::mem::take(&mut planned.call.args);
        // What cannot be made to fit yet may fit once something is filled in.
        let args = match of.tool.schema.coerce(&args) {
            Ok(Some(prepared)) => {
                marks.extend(prepared.changes);
                prepared.args
            }
            Ok(None) | Err(_) => args,
        };
        let (args, asked) = stages.request(args, marks).await;
        planned.call.args = args;
        asked?;
        // What is wrong with it is said when it is admitted.
        let Ok(prepared) = of.tool.prepare(planned.call.args.clone()) else { return Ok(()) };
        marks.extend(prepared.changes);
        planned.call.args = prepared.args;
        // What goes on elsewhere was decided on before it began; its arguments are needed as they were made then.
        if self.begun(&planned.call.path).is_some_and(|entry| matches!(entry.end, Some(End::Job(_)))) {
            return Ok(());
        }
        if let Some(telling) = stages.observers(&planned.call.args) {
            self.inner.tasks.spawn(telling);
        }
        stages.before(&planned.call.args, marks).await
    }

    fn of(&self, tool: &Arc<Tool>, path: &CallPath) -> Of {
        Of { tool: tool.clone(), caller: self.caller.clone(), turn: self.id, path: path.clone() }
    }

    /// The call, for what stands around it and looks at its answer.
    pub(super) fn stages_of(&self, tool: &Arc<Tool>, path: &CallPath) -> Option<Arc<Of>> {
        let is_for = self.has_stages() && self.inner.settings.stages.is_for(tool, &self.caller);
        is_for.then(|| Arc::new(self.of(tool, path)))
    }

    /// Tells stages how a call ended. The gateway waits for them when it leaves, the turn does not.
    pub(super) fn tell_stages(&self, node: &Arc<Node>) {
        if !self.has_stages() || node.kind != NodeKind::Call {
            return;
        }
        let (Some(tool), Some(path)) = (self.snapshot.tools.get(&node.tool), &node.path) else { return };
        let Some(of) = self.stages_of(tool, path) else { return };
        if let Some(telling) = (Stages { chain: &self.inner.settings.stages, of: &of }).after(node) {
            self.inner.tasks.spawn(telling);
        }
    }
}
