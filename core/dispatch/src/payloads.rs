//! Whole bodies of calls, for tools whose spec asks for them.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use contract::{Bodies, Digest};
use serde_json::Value;
use tools::{Tool, spec::PayloadLog};

use crate::summary::whole;

/// Versions of specs whose time is remembered.
const VERSIONS: usize = 1_024;

/// Since when bodies of a tool are kept that are kept for a while: its first call in this process with this spec.
#[derive(Default)]
pub(crate) struct Payloads(Mutex<HashMap<Digest, Instant>>);

impl Payloads {
    /// The bodies of a call that begins; nothing where none are wanted.
    pub fn begin(&self, tool: &Tool, args: &Value) -> Option<Box<Bodies>> {
        let wanted = match tool.spec.full_payload_log {
            PayloadLog::Never => false,
            PayloadLog::Always => true,
            PayloadLog::For(time) => self.is_within(tool.digest, time),
        };
        wanted.then(|| Box::new(Bodies { args: whole(args), result: String::new() }))
    }

    fn is_within(&self, spec: Digest, time: Duration) -> bool {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = since.get(&spec) {
            return since.elapsed() < time;
        }
        // Forgetting one would let its time begin anew.
        let has_room = since.len() < VERSIONS;
        if has_room {
            since.insert(spec, Instant::now());
        }
        has_room
    }
}
