//! Whether what a tool needs is there: asked in the background, never while a list is built.
//!
//! Until the first answer a tool counts as available. An answer holds for [`EVERY`]; one that says no is believed once
//! [`GRACE`] has passed since the last that said yes, so that one lost packet hides no tool.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

/// How long an answer holds.
pub const EVERY: Duration = Duration::from_secs(30);
/// How long after the last good answer a bad one is not believed.
pub const GRACE: Duration = Duration::from_secs(60);
/// How long a probe may take.
pub const PROBE_TIME: Duration = Duration::from_secs(5);

/// Asks whether what a tool needs is there.
#[async_trait]
pub trait Probe: Send + Sync {
    /// An error says to operators what is not there; no secret in it.
    async fn probe(&self) -> Result<(), String>;
}

/// What is known of a tool's needs. The versions of a tool that have the same `check` share it.
#[derive(Default)]
pub struct Availability(Mutex<State>);

#[derive(Default)]
struct State {
    asked: Option<Instant>,
    under_way: bool,
    good: Option<Instant>,
    bad: Option<String>,
}

impl Availability {
    /// A probe that is due; nobody else has it until it is told or dropped.
    pub fn due(self: &Arc<Self>) -> Option<Asking> {
        let mut state = self.lock();
        let is_due = state.asked.is_none_or(|asked| asked.elapsed() >= EVERY);
        if state.under_way || !is_due {
            return None;
        }
        state.under_way = true;
        state.asked = Some(Instant::now());
        Some(Asking(self.clone()))
    }

    /// Why the tool is not available.
    pub fn failing(&self) -> Option<String> {
        let state = self.lock();
        let in_grace = state.good.is_some_and(|good| good.elapsed() < GRACE);
        state.bad.clone().filter(|_| !in_grace)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A probe under way.
pub struct Asking(Arc<Availability>);

impl Asking {
    /// Runs the probe within its time and keeps what it says.
    pub async fn run(self, probe: &dyn Probe) {
        let answer = tokio::time::timeout(PROBE_TIME, probe.probe()).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PROBE_TIME.as_secs())));
        let mut state = self.0.lock();
        match answer {
            Ok(()) => {
                state.good = Some(Instant::now());
                state.bad = None;
            }
            Err(why) => state.bad = Some(contract::text::one_line(&why, 200)),
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.lock().under_way = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Says(Result<(), &'static str>);

    #[async_trait]
    impl Probe for Says {
        async fn probe(&self) -> Result<(), String> {
            self.0.map_err(str::to_owned)
        }
    }

    struct Silent;

    #[async_trait]
    impl Probe for Silent {
        async fn probe(&self) -> Result<(), String> {
            std::future::pending().await
        }
    }

    async fn ask(of: &Arc<Availability>, probe: &dyn Probe) {
        of.due().expect("it is due").run(probe).await;
    }

    async fn later(time: Duration) {
        tokio::time::advance(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_never_asked_is_available_and_a_first_no_is_believed() {
        let of = Arc::new(Availability::default());
        assert_eq!(of.failing(), None);
        ask(&of, &Says(Err("connection refused"))).await;
        assert_eq!(of.failing().as_deref(), Some("connection refused"));
        assert!(of.due().is_none(), "an answer holds for a while");
        later(EVERY).await;
        ask(&of, &Says(Ok(()))).await;
        assert_eq!(of.failing(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_no_is_believed_a_minute_after_the_last_yes() {
        let of = Arc::new(Availability::default());
        ask(&of, &Says(Ok(()))).await;
        later(EVERY).await;
        ask(&of, &Says(Err("503"))).await;
        assert_eq!(of.failing(), None);
        later(GRACE - EVERY).await;
        assert_eq!(of.failing().as_deref(), Some("503"));
    }

    #[tokio::test(start_paused = true)]
    async fn one_asks_at_a_time_and_a_probe_that_is_dropped_frees_its_place() {
        let of = Arc::new(Availability::default());
        let asking = of.due().unwrap();
        later(EVERY * 2).await;
        assert!(of.due().is_none());
        drop(asking);
        ask(&of, &Silent).await;
        assert_eq!(of.failing().as_deref(), Some("no answer within 5 s"));
    }
}
