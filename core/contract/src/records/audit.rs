//! The audit trail: one event for each call, kept apart from the trees and for a time of its own.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    call::State,
    digest::Digest,
    failure::{Code, Layer},
    ids::{CallId, CallPath, SessionKey, TurnId},
    node::{Node, Place},
    place::{Origin, Platform, Sender},
    seams::StoreDown,
};

/// How long a store keeps events, unless it is told otherwise.
pub const AUDIT_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Most events that a store keeps; of more the oldest go.
pub const AUDIT_MAX: usize = 2_000_000;

/// What became of one call, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEvent {
    pub turn: TurnId,
    pub call: CallId,
    /// When the call ended, milliseconds since 1970.
    pub at_ms: u64,
    pub tool: String,
    pub platform: Platform,
    pub tenant: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The event itself: JSON in one line.
    pub text: Arc<str>,
}

impl AuditEvent {
    pub fn of(node: &Node, place: &Place) -> Self {
        let caller = &place.caller;
        let ended_us = node.started_us.saturating_add(node.duration_us.unwrap_or(0));
        let text = serde_json::to_string(&Told {
            event: "call",
            at_ms: ended_us / 1_000,
            platform: caller.platform,
            account: &caller.account,
            tenant: &caller.tenant,
            space: caller.space.as_deref(),
            conversation: &caller.conversation,
            thread: caller.thread.as_deref(),
            session: &place.session,
            sender: &caller.sender,
            origin: caller.origin,
            turn: node.turn,
            call: node.call,
            path: node.path.as_ref(),
            parent: node.parent,
            tool: &node.tool,
            spec: hex(node.spec),
            state: node.state,
            code: node.code,
            layer: node.layer(),
            duration_us: node.duration_us,
            queued_us: node.queued_us,
            attempts: node.attempts,
            upstream_status: node.upstream_status,
            marks: &node.marks,
            args: &node.args,
            args_digest: hex(node.args_digest),
            result: &node.result,
            result_digest: hex(node.result_digest),
            result_bytes: node.result_bytes,
            request: &node.detail,
            told: &node.told,
        });
        Self {
            turn: node.turn,
            call: node.call,
            at_ms: ended_us / 1_000,
            tool: node.tool.clone(),
            platform: caller.platform,
            tenant: caller.tenant.clone(),
            code: node.code,
            text: text.expect("plain fields serialize").into(),
        }
    }
}

/// The event as it is written: its fields in the order in which they are read.
#[derive(Serialize)]
struct Told<'a> {
    event: &'static str,
    at_ms: u64,
    platform: Platform,
    account: &'a str,
    tenant: &'a str,
    space: Option<&'a str>,
    conversation: &'a str,
    thread: Option<&'a str>,
    session: &'a SessionKey,
    sender: &'a Sender,
    origin: Origin,
    turn: TurnId,
    call: CallId,
    path: Option<&'a CallPath>,
    parent: Option<CallId>,
    tool: &'a str,
    spec: Option<String>,
    state: State,
    code: Option<Code>,
    layer: Option<Layer>,
    duration_us: Option<u64>,
    queued_us: u64,
    attempts: u32,
    upstream_status: Option<u16>,
    marks: &'a [String],
    args: &'a str,
    args_digest: Option<String>,
    result: &'a str,
    result_digest: Option<String>,
    result_bytes: u32,
    request: &'a str,
    told: &'a str,
}

fn hex(digest: Option<Digest>) -> Option<String> {
    digest.map(|digest| digest.to_string())
}

/// What is asked of the trail; the newest come first.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    pub turn: Option<TurnId>,
    pub tool: Option<String>,
    pub platform: Option<Platform>,
    pub tenant: Option<String>,
    pub failed: bool,
    /// Milliseconds since 1970; by when the call's turn began.
    pub since_ms: Option<u64>,
    pub most: usize,
}

impl AuditQuery {
    pub fn fits(&self, event: &AuditEvent) -> bool {
        self.turn.is_none_or(|turn| turn == event.turn)
            && self.tool.as_ref().is_none_or(|tool| *tool == event.tool)
            && self.platform.is_none_or(|platform| platform == event.platform)
            && self.tenant.as_ref().is_none_or(|tenant| *tenant == event.tenant)
            && self.since_ms.is_none_or(|since| event.turn.at_ms() >= since)
            && (!self.failed || event.code.is_some())
    }
}

/// Keeps the trail. An event that comes twice is there once.
#[async_trait]
pub trait Audit: Send + Sync {
    async fn audit(&self, events: &[AuditEvent]) -> Result<(), StoreDown>;

    async fn audited(&self, query: &AuditQuery) -> Result<Vec<AuditEvent>, StoreDown>;
}
