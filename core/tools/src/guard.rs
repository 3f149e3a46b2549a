//! Runs a permitted call: place in line, deadline, cancellation, crash, checked answer.

use std::{sync::Arc, time::Duration};

use contract::{Caller, Failure, Private, TurnId};
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{endpoint::Host, permitted::Permitted, resources::Resources};

/// A tool's limits and who waits for them.
pub struct Guard {
    #[expect(dead_code)]
    limit: Option<Arc<Semaphore>>,
}

/// What dispatch gives along with a call.
pub struct RunCx<'a> {
    pub caller: &'a Caller,
    pub turn: TurnId,
    /// When the turn's time ends.
    pub deadline: Instant,
    pub cancel: &'a CancellationToken,
    pub idempotency_key: &'a str,
    pub host: &'a dyn Host,
    pub resources: &'a Resources,
}

/// How a call went.
pub struct Report {
    pub result: Result<Value, Failure>,
    /// How often the endpoint was called.
    pub attempts: u32,
    /// Waiting for a place, apart from running.
    pub queued: Duration,
    pub upstream_status: Option<u16>,
    /// The request as sent, without secrets.
    pub request: Private,
    pub marks: Vec<String>,
}

/// Runs the call. Never panics, always ends by its deadline.
pub async fn run(_call: Permitted, _cx: RunCx<'_>) -> Report {
    unimplemented!()
}
