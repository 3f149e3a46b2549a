//! What earlier lives of a turn began: taken from the journal, gone on with, run again under the same key, or not known.

use contract::{
    Call, CallPath, Code, Failure, Node, Outcome,
    records::{End, Entry, Job},
};

use super::{Ready, TurnCx, placeholder};
use crate::summary::summary;

impl TurnCx {
    /// A call that begins a job is not started where too many are waited for.
    pub(super) fn has_room_for_job(&self, tool: &tools::Tool, path: &CallPath) -> Result<(), Failure> {
        let begins_one = tool.spec.execution.r#async.is_some() && self.job(path).is_none();
        if !begins_one || self.inner.jobs.has_room(&tool.name, &self.session, &self.caller) {
            return Ok(());
        }
        let say = format!("'{}' is busy: too many calls wait for it already; this one was not started", tool.name);
        Err(Failure::new(Code::Busy, say).hint("try again in a moment"))
    }

    pub(super) fn job(&self, path: &CallPath) -> Option<&Job> {
        self.begun(path).and_then(Entry::job)
    }

    pub(super) fn begun(&self, path: &CallPath) -> Option<&Entry> {
        self.journal.iter().find(|entry| entry.path == *path)
    }

    /// An earlier life began it: it runs again as the very same call, or it is not known what came of it.
    pub fn as_begun(&self, call: &Call, ready: Ready) -> Result<Box<Ready>, (Box<Ready>, Failure)> {
        let begun = self.begun(&call.path);
        if let Some(job) = self.job(&call.path) {
            return Ok(Box::new(Ready { job: Some(job.clone()), entry: None, ..ready }));
        }
        match begun.filter(|entry| entry.key.as_ref() != Some(&ready.key)) {
            Some(entry) => Err((Box::new(ready), unknown(entry))),
            None => Ok(Box::new(ready)),
        }
    }

    /// What an earlier life of the turn knows of the call: its stored end, or that it was under way.
    pub(super) fn journaled(&self, call: &Call, node: &mut Node) -> Option<Outcome> {
        let entry = self.journal.iter().find(|e| e.path == call.path)?;
        // Its service knows the key: the same call again has one effect.
        if entry.end.is_none() && entry.key.is_some() {
            node.marks.push("run again with the same key".into());
            return None;
        }
        if entry.job().is_some() {
            node.marks.push("goes on with its job".into());
            return None;
        }
        let result = match &entry.end {
            Some(End::Ok(value)) => Ok(value.clone()),
            Some(End::Failed(failure)) => Err(failure.clone()),
            Some(End::Job(_)) | None => Err(unknown(entry)),
        };
        // It stands in the tree already, as it ended before the turn waited.
        if let Some(before) = self.waits.ended(&call.path).filter(|_| entry.end.is_some()) {
            return Some(Self::outcome(call.path.clone(), before, result, false));
        }
        node.marks.push("taken from the journal".into());
        node.started_us = entry.at_ms * 1_000;
        node.spec = Some(entry.spec);
        node.args = summary(&call.args);
        Some(self.end(call.path.clone(), std::mem::replace(node, placeholder()), result, false))
    }
}

pub(super) fn unknown(entry: &Entry) -> Failure {
    Failure::outcome_unknown(&entry.tool, entry.at_ms)
}
