//! A call whose work goes on elsewhere: made durable before it is asked about, and where the turn may be put aside for it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use contract::{
    CallPath,
    records::{Change, End, Entry, Job},
};

use super::host::TurnHost;
use crate::turn::now_ms;

/// What is known of the job of a call.
pub(super) struct AtJob {
    /// As it stands in the journal once there is one; nothing where there is no journal.
    entry: Option<Entry>,
    /// A next life can go on with it.
    is_kept: AtomicBool,
    until_ms: std::sync::atomic::AtomicU64,
}

impl AtJob {
    pub fn new(entry: Option<Entry>, begun: Option<&Job>) -> Self {
        let until_ms = begun.map_or(0, |job| job.until_ms).into();
        Self { is_kept: (begun.is_some() && entry.is_some()).into(), entry, until_ms }
    }

    /// The call's place in the journal, where it stands there as a job.
    pub fn kept(&self) -> Option<CallPath> {
        self.entry.as_ref().filter(|_| self.is_kept.load(Ordering::Relaxed)).map(|entry| entry.path.clone())
    }
}

impl TurnHost<'_> {
    pub(super) async fn began(&self, begun: &tools::Job) {
        let Some(entry) = &self.job.entry else { return };
        let job = Job { handle: begun.handle.clone(), until_ms: now_ms().saturating_add(millis(begun.left)) };
        self.job.until_ms.store(job.until_ms, Ordering::Relaxed);
        let entry = Entry { end: Some(End::Job(job)), ..entry.clone() };
        match self.cx.change(&[Change::Started(vec![entry])]).await {
            Ok(()) => self.job.is_kept.store(true, Ordering::Relaxed),
            // It is waited for in place; should we die meanwhile, nobody knows what came of it.
            Err(error) => {
                tracing::warn!(turn = %self.cx.id, tool = self.tool, %error, "a job could not be written down")
            }
        }
    }

    pub(super) fn at_rest(&self) -> Option<Box<dyn Send + '_>> {
        self.job.kept()?;
        let waiting = self.cx.waits.wait_for_job(&self.path, self.job.until_ms.load(Ordering::Relaxed))?;
        Some(Box::new((waiting, self.cx.waits.rest(self.call))))
    }
}

/// With the time that is left of it.
pub(super) fn left(job: &Job) -> tools::Job {
    let left = Duration::from_millis(job.until_ms.saturating_sub(now_ms()));
    tools::Job { handle: job.handle.clone(), left }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2)
}
