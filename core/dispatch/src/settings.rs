//! What operators may set of the gateway itself.

use std::{path::PathBuf, time::Duration};

use crate::audit::AuditTo;

/// What operators may set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long running turns and deliveries have when the gateway leaves.
    pub drain: Duration,
    /// Most turns that run at once; the others wait in their lanes.
    pub turns_at_once: usize,
    /// A file for records of call trees that memory has no room for while the store is away, at most 64 MiB; of this
    /// process alone. Without one they are counted and dropped.
    pub spill: Option<PathBuf>,
    /// Where an event of each call goes.
    pub audit: AuditTo,
    /// What was added to the way of every call.
    pub stages: tools::stages::Chain,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            drain: Duration::from_secs(60),
            turns_at_once: 4_096,
            spill: None,
            audit: AuditTo::default(),
            stages: Default::default(),
        }
    }
}
