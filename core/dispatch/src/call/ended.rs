//! How a call ended: its outcome, and what its node says of it.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use contract::{
    CallPath, Code, Digest, Effect, Failure, Node, Outcome, State, TurnId, Usage,
    records::{End, Entry},
};
use serde_json::Value;

use super::TurnCx;
use crate::{
    summary::{summary, whole},
    turn::now_us,
};

/// A call under way. One that is dropped, because the call that made it was stopped or late, ends in its tree too.
pub(crate) struct Begun<'a> {
    cx: &'a TurnCx,
    /// Nothing once it has ended.
    of: Option<(CallPath, Node)>,
    pub result: Result<Value, Failure>,
    repeatable: bool,
}

impl<'a> Begun<'a> {
    pub fn new(cx: &'a TurnCx, path: CallPath, node: Node, repeatable: bool) -> Self {
        let dropped = Failure::new(Code::Cancelled, "the call that made it ended first").effect(Effect::Unknown);
        Self { cx, of: Some((path, node)), result: Err(dropped), repeatable }
    }

    pub fn reported(&mut self, report: tools::Report) {
        let Some((_, node)) = &mut self.of else { return };
        node.attempts = report.attempts;
        node.queued_us = micros(report.queued);
        node.upstream_status = report.upstream_status;
        node.marks.extend(report.marks);
        if report.cost_micros > 0 {
            let usage = Usage { cost_micros: report.cost_micros, ..Usage::default() };
            node.usage = Some(usage);
            *self.cx.usage.lock().unwrap_or_else(PoisonError::into_inner) += usage;
        }
        if !report.request.is_empty() {
            report.request.for_operator().clone_into(&mut node.detail);
        }
        self.result = report.result.map_err(|failure| dated(failure, self.repeatable, node.started_us));
    }

    /// It ended in this way, and whether it may be run again without harm.
    pub fn ended_with(&mut self, result: Result<Value, Failure>, repeatable: bool) {
        let started_us = self.of.as_ref().map_or(0, |(_, node)| node.started_us);
        self.result = result.map_err(|failure| dated(failure, repeatable, started_us));
        self.repeatable = repeatable;
    }

    /// How it ended, for a turn that goes on later.
    pub fn entry(&self) -> Option<Entry> {
        let (path, node) = self.of.as_ref()?;
        Some(Entry {
            path: path.clone(),
            tool: node.tool.clone(),
            spec: node.spec?,
            args: node.args_digest?,
            key: None,
            at_ms: node.started_us / 1_000,
            end: Some(end_of(&self.result)),
        })
    }

    pub fn end(&mut self) -> Option<Outcome> {
        let (path, node) = self.of.take()?;
        let result = std::mem::replace(&mut self.result, Ok(Value::Null));
        self.cx.progress.ended(node.call, result.is_ok());
        Some(self.cx.end(path, node, result, self.repeatable))
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        // Of what goes on elsewhere, or in a next life, that life tells the end.
        let goes_on = self.cx.lost.load(Ordering::Relaxed) || self.cx.waits.is_parked();
        if !goes_on && !self.cx.inner.kill.is_cancelled() {
            self.end();
        }
    }
}

/// Logged once, where it is known whole.
fn log(node: &Node, failure: &Failure) {
    let (turn, tool, code) = (node.turn, node.tool.as_str(), failure.true_code().as_str());
    match failure.layer() {
        contract::Layer::Fatal => {
            tracing::error!(%turn, tool, code, cause = failure.cause.for_operator(), "call failed")
        }
        contract::Layer::Execution => {
            tracing::warn!(%turn, tool, code, cause = failure.cause.for_operator(), "call failed");
        }
        contract::Layer::Validation | contract::Layer::Permission => {
            tracing::debug!(%turn, tool, code, cause = failure.cause.for_operator(), "call refused");
        }
    }
}

fn state_of(failure: &Failure, repeatable: bool) -> State {
    match failure.true_code() {
        Code::Denied | Code::ApprovalUnavailable | Code::ApprovalRefused | Code::HookRefused => State::Denied,
        Code::NotStarted => State::NotStarted,
        _ if is_unknown(failure, repeatable) => State::Unknown,
        Code::Cancelled => State::Cancelled,
        _ => State::Failed,
    }
}

/// Whether it is open if the call took effect. A service that answered, even with an error, has decided.
fn is_unknown(failure: &Failure, repeatable: bool) -> bool {
    let open = matches!(
        failure.code,
        Code::Timeout | Code::Cancelled | Code::UpstreamBroken | Code::OutcomeUnknown | Code::Panic
    );
    open && failure.effect == Effect::Unknown && !repeatable
}

/// A failure whose effect is open says when it may have happened.
fn dated(failure: Failure, repeatable: bool, started_us: u64) -> Failure {
    match is_unknown(&failure, repeatable) && failure.may_have_happened_ms.is_none() {
        true => Failure { may_have_happened_ms: Some(started_us / 1_000), ..failure },
        false => failure,
    }
}

impl TurnCx {
    pub(crate) fn end(
        &self,
        path: CallPath,
        mut node: Node,
        result: Result<Value, Failure>,
        repeatable: bool,
    ) -> Outcome {
        node.duration_us = Some(now_us().saturating_sub(node.started_us));
        match &result {
            Ok(value) => {
                node.state = State::Ok;
                node.result = summary(value);
                let (bytes, digest) = size_and_digest(value);
                (node.result_bytes, node.result_digest) = (bytes, Some(digest));
                if let Some(bodies) = &mut node.bodies {
                    bodies.result = whole(value);
                }
            }
            Err(failure) => {
                node.state = state_of(failure, repeatable);
                node.code = Some(failure.true_code());
                node.result = contract::text::one_line(failure.say.as_str(), contract::node::SUMMARY_MAX);
                if !failure.cause.is_empty() {
                    if !node.detail.is_empty() {
                        node.detail.push('\n');
                    }
                    node.detail.push_str(failure.cause.for_operator());
                }
                log(&node, failure);
            }
        }
        let outcome = Self::outcome(path, &node, result, repeatable);
        let node = Arc::new(node);
        self.inner.tracer.ended(&self.live, &node);
        self.tell_stages(&node);
        outcome
    }

    pub(super) fn outcome(path: CallPath, node: &Node, result: Result<Value, Failure>, repeatable: bool) -> Outcome {
        let state = result.as_ref().map_or_else(|failure| state_of(failure, repeatable), |_| State::Ok);
        let took_us = node.duration_us.unwrap_or(0);
        Outcome { path, tool: node.tool.clone(), state, result, repeatable, took_us }
    }
}

pub(super) fn end_of(result: &Result<Value, Failure>) -> End {
    match result {
        Ok(value) => End::Ok(value.clone()),
        Err(failure) => End::Failed(failure.clone()),
    }
}

/// The same for every attempt and every life of the call.
pub(super) fn idempotency_key(turn: TurnId, path: &CallPath, tool: &str, args: &Digest) -> String {
    Digest::of(format!("{turn}\0{path}\0{tool}\0{args}").as_bytes()).to_string()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn size_and_digest(value: &Value) -> (u32, Digest) {
    // What does not serialize counts as nothing.
    let json = serde_json::to_vec(value).unwrap_or_default();
    (u32::try_from(json.len()).unwrap_or(u32::MAX), Digest::of(&json))
}
