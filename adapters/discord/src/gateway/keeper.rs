//! What a shard keeps over its connections: the lease, and what it remembers in the store.

use std::{convert::Infallible, sync::Arc, time::Duration};

use contract::Core;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use twilight_gateway::ShardId;

use super::{Memory, Report, door::Door};
use crate::Discord;

const STAND_BY: Duration = Duration::from_secs(1);
/// How often an absent store is asked again at the start.
const RECALL: Duration = Duration::from_millis(500);
/// The newest messages are stored less often than the session: what comes again is known.
const SEEN_EVERY: u32 = 5;
/// How long the last writes may take once we are to stop.
const FAREWELL: Duration = Duration::from_secs(3);

/// What belongs to a shard over all its connections.
pub(super) struct Shard {
    pub(super) discord: Arc<Discord>,
    pub(super) core: Core,
    pub(super) door: Arc<Door>,
    pub(super) id: ShardId,
    pub(super) report: Arc<Report>,
    pub(super) memory: Arc<Memory>,
    /// As far as is known, nobody else is connected for this shard.
    pub(super) holds: watch::Sender<bool>,
}

impl Shard {
    fn cursor(&self, what: &str) -> String {
        self.discord.cursor(&format!("{what}/{}", self.id.number()))
    }

    /// Waits for the store: without these, what was missed would not be known.
    pub(super) async fn recall(&self) {
        let cursors = &self.core.cursors;
        loop {
            let loaded = async {
                Ok::<_, contract::StoreDown>((
                    cursors.load(&self.cursor("session")).await?,
                    cursors.load(&self.cursor("seen")).await?,
                ))
            };
            match loaded.await {
                Ok((session, seen)) => {
                    let (bot, total) = (self.discord.user(), self.id.total());
                    session.into_iter().for_each(|note| self.memory.recall(&note, bot, total));
                    seen.into_iter().for_each(|note| self.memory.recall_seen(&note));
                    return;
                }
                Err(cause) => self.report.socket(&format!("nothing is taken in: {cause}")),
            }
            sleep(RECALL).await;
        }
    }

    /// Renews the lease and stores what changed, for ever.
    pub(super) async fn keep(&self) -> Infallible {
        let timing = &self.discord.config.timing;
        let every = timing.save.min(timing.lease / 6);
        let mut lease_due = Instant::now();
        let mut stored = None;
        let mut seen_due = Instant::now();
        loop {
            if Instant::now() >= lease_due {
                lease_due = Instant::now() + self.lease().await;
            }
            if *self.holds.borrow() {
                let with_seen = Instant::now() >= seen_due;
                if with_seen {
                    seen_due = Instant::now() + timing.save * SEEN_EVERY;
                }
                self.save(&mut stored, with_seen).await;
            }
            self.report.rest(self.discord.rest.complaint());
            tokio::select! {
                () = sleep(every) => {}
                () = self.memory.begun() => {}
            }
        }
    }

    /// Takes or renews the lease; when it is due again. While the store is away nobody can say who holds it: who did goes
    /// on, who did not could take nothing in anyway.
    async fn lease(&self) -> Duration {
        let lease = self.discord.config.timing.lease;
        match self.core.cursors.lease(&self.cursor("shard"), lease).await {
            Ok(Some(_)) => {
                self.holds.send_replace(true);
                lease / 3
            }
            Ok(None) => {
                self.holds.send_replace(false);
                self.report.socket("another process is connected for this account: standing by");
                STAND_BY.min(lease / 3)
            }
            Err(cause) => {
                if !*self.holds.borrow() {
                    self.report.socket(&format!("nothing is taken in: {cause}"));
                }
                lease / 12
            }
        }
    }

    async fn save(&self, stored: &mut Option<Vec<u8>>, with_seen: bool) {
        let cursors = &self.core.cursors;
        if with_seen
            && let Some(seen) = self.memory.seen_note()
            && cursors.save(&self.cursor("seen"), &seen).await.is_err()
        {
            self.memory.seen_not_stored();
        }
        let note = self.memory.note(self.discord.user(), self.id.total());
        if note.is_some() && note != *stored {
            let note = note.unwrap_or_default();
            match cursors.save(&self.cursor("session"), &note).await {
                Ok(()) => *stored = Some(note),
                Err(cause) => tracing::debug!(account = self.discord.account, %cause, "the session is not stored"),
            }
        }
    }

    /// Stores the last state and gives the shard back. Who does not hold it leaves the state of who does alone.
    pub(super) async fn finish(&self) {
        let last = async {
            if *self.holds.borrow() {
                self.save(&mut None, true).await;
            }
            // Not given back, it ends by itself.
            let _ = self.core.cursors.release(&self.cursor("shard")).await;
        };
        let _ = timeout(FAREWELL, last).await;
    }
}
