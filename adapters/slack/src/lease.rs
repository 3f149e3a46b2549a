//! Who takes in for the account: of several processes on one store, the one that holds its lease.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use contract::{Stopped, seams::Condition};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::{Mode, Slack, intake::Intake, sockets};

/// How often one that stands by asks.
const STAND_BY: Duration = Duration::from_secs(1);
/// How long giving it back may take.
const FAREWELL: Duration = Duration::from_secs(3);

pub(crate) struct Lease<'a> {
    slack: &'a Arc<Slack>,
    intake: &'a Arc<Intake>,
    due: Instant,
}

impl<'a> Lease<'a> {
    pub(crate) fn new(slack: &'a Arc<Slack>, intake: &'a Arc<Intake>) -> Self {
        Self { slack, intake, due: Instant::now() }
    }

    /// Takes in whenever the account is ours, until shutdown.
    pub(crate) async fn serve(mut self, shutdown: &CancellationToken) -> Result<(), Stopped> {
        loop {
            tokio::select! {
                () = self.take_over() => {}
                () = shutdown.cancelled() => return Ok(()),
            }
            let term = shutdown.child_token();
            let (slack, intake) = (self.slack, self.intake);
            let hearing = hear(slack, intake, &term);
            tokio::pin!(hearing);
            let ended = tokio::select! {
                ended = &mut hearing => Some(ended),
                () = self.lost() => None,
            };
            match ended {
                Some(ended) => return ended,
                None => {
                    term.cancel();
                    hearing.await?;
                    if shutdown.is_cancelled() {
                        return Ok(());
                    }
                    self.stands_by();
                }
            }
        }
    }

    /// Waits until the account is ours.
    async fn take_over(&mut self) {
        while !self.hold().await {
            sleep(STAND_BY.min(self.slack.config.timing.lease / 3)).await;
        }
    }

    /// Renews it; returns when another process has it.
    async fn lost(&mut self) {
        loop {
            sleep_until(self.due).await;
            if !self.hold().await {
                return;
            }
        }
    }

    /// Takes or renews it. While the store is away nobody can say who holds it: who did goes on, who did not could take
    /// nothing in anyway.
    async fn hold(&mut self) -> bool {
        let lease = self.slack.config.timing.lease;
        let held = self.slack.holds.load(Ordering::Relaxed);
        let (holds, due) = match self.intake.core.cursors.lease(&self.slack.part(), lease).await {
            Ok(Some(_)) => (true, lease / 3),
            Ok(None) => {
                self.stands_by();
                (false, lease / 3)
            }
            Err(cause) if held => {
                tracing::debug!(account = self.slack.account, %cause, "the lease is not renewed");
                (true, lease / 12)
            }
            Err(cause) => {
                self.intake.report.line(Condition::Degraded(format!("nothing is taken in: {cause}")));
                (false, lease / 3)
            }
        };
        self.due = Instant::now() + due;
        self.slack.holds.store(holds, Ordering::Relaxed);
        holds
    }

    fn stands_by(&self) {
        let why = "another process takes in for this account: standing by";
        self.intake.report.line(Condition::Degraded(why.into()));
    }
}

/// Takes in until the term ends.
async fn hear(slack: &Arc<Slack>, intake: &Arc<Intake>, term: &CancellationToken) -> Result<(), Stopped> {
    match &slack.config.mode {
        Mode::Socket { .. } => sockets::hold(slack, intake, term).await,
        Mode::Events { .. } => {
            intake.report.line(Condition::Ready);
            term.cancelled().await;
            Ok(())
        }
    }
}

/// Gives the account back, when it is ours; not given back, it ends by itself.
pub(crate) async fn release(slack: &Slack, core: &contract::Core) {
    if slack.holds.swap(false, Ordering::Relaxed) {
        let _ = timeout(FAREWELL, core.cursors.release(&slack.part())).await;
    }
}
