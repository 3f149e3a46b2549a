//! One attempt: the endpoint's future, polled until it ends, time is up or somebody stops it.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use tokio::{task::unconstrained, time::Instant};

use super::RunCx;
use crate::{
    endpoint::{Cx, Notes, Output, ToolFailure},
    permitted::Permitted,
    stages::Next,
};

/// What one attempt needs.
pub struct Attempt<'a> {
    pub call: &'a Permitted,
    pub cx: &'a RunCx<'a>,
    pub notes: &'a Notes,
    pub number: u32,
    pub until: Instant,
}

/// How an attempt ended.
#[derive(Debug)]
pub enum End {
    Done(serde_json::Value),
    /// The work goes on elsewhere, as this job.
    Job(String),
    Failed(ToolFailure),
    Late,
    Cancelled,
    /// With the words of the panic, for operators.
    Panicked(String),
}

impl Attempt<'_> {
    pub async fn run(self) -> End {
        let Self { call, cx, notes, number, until } = self;
        let inner = Cx {
            caller: cx.caller,
            turn: cx.turn,
            deadline: until,
            attempt: number,
            cancel: cx.cancel,
            idempotency_key: cx.idempotency_key,
            host: cx.host,
            notes,
        };
        let endpoint = &call.tool().endpoint;
        let begun = catch_unwind(AssertUnwindSafe(|| match cx.stages {
            None => endpoint.call(call, &inner),
            some => Box::pin(Next::new(some, call).run(&inner)),
        }));
        let mut work = match begun {
            Ok(future) => Contained(Some(future)),
            Err(payload) => return End::Panicked(words(payload)),
        };
        // Many tools answer at once; for them no timer is set.
        if let Poll::Ready(end) = poll_fn(|cx| Poll::Ready(work.poll(cx))).await {
            return end;
        }
        // Without a budget of their own, the clock and the stop could be starved by an endpoint that is always busy.
        let mut stopped = pin!(unconstrained(cx.cancel.cancelled()));
        let mut clock = pin!(unconstrained(tokio::time::sleep_until(until)));
        poll_fn(|cx| {
            if let Poll::Ready(end) = work.poll(cx) {
                return Poll::Ready(end);
            }
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(End::Cancelled);
            }
            clock.as_mut().poll(cx).map(|()| End::Late)
        })
        .await
    }
}

type Work<'a> = Pin<Box<dyn Future<Output = Result<Output, ToolFailure>> + Send + 'a>>;

/// An endpoint's future whose panics end here, also those of its destructors.
struct Contained<'a>(Option<Work<'a>>);

impl Contained<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        let Some(work) = &mut self.0 else { return Poll::Pending };
        let end = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(Output::Done(value)))) => End::Done(value),
            Ok(Poll::Ready(Ok(Output::Job(handle)))) => End::Job(handle),
            Ok(Poll::Ready(Err(failure))) => End::Failed(failure),
            Err(payload) => End::Panicked(words(payload)),
        };
        self.drop_work();
        Poll::Ready(end)
    }

    fn drop_work(&mut self) {
        let Some(work) = self.0.take() else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(work))) {
            tracing::error!(cause = words(payload), "a tool's code crashed while it was being dropped");
        }
    }
}

impl Drop for Contained<'_> {
    fn drop(&mut self) {
        self.drop_work();
    }
}

/// What a panic said.
pub fn words(payload: Box<dyn Any + Send>) -> String {
    let words = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without words".to_owned());
    // A payload of somebody's own type may panic again when it is dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    words
}
