//! The long poll: one poller per account, an offset that survives, and an answer to everything that can go wrong.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contract::{Core, Stopped, seams::Condition};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{
    Telegram,
    api::{PATIENCE, Problem},
    line::{FAREWELL, Line, STAND_BY, WANTED},
    updates::{Intake, Taken},
};

/// Ids of updates begin anew at random after a week without any: an older offset would throw messages away.
const OFFSET_LASTS: Duration = Duration::from_secs(6 * 24 * 3_600);
/// How often what may grow is looked at while it is waited for.
pub(crate) const LOOKS: u32 = 4;

/// Polls until shutdown, then confirms what was taken and gives the account back.
pub(crate) async fn run(telegram: &Arc<Telegram>, core: &Core, shutdown: &CancellationToken) -> Result<(), Stopped> {
    let mut poller = Poller::new(telegram.clone(), core.clone());
    // Dropped wherever it waits: what was not confirmed comes again.
    let ended = tokio::select! {
        biased;
        () = shutdown.cancelled() => Ok(()),
        ended = poller.poll() => ended,
    };
    poller.finish().await;
    if let Err(stopped) = &ended {
        core.health.set(&telegram.part(), Condition::Stopped(stopped.why.clone()));
    }
    ended
}

/// The offset as it is stored.
#[derive(Serialize, Deserialize)]
struct Offset {
    /// Another bot's offset means nothing.
    bot: i64,
    next: i64,
    at_ms: u64,
}

struct Poller {
    line: Line,
    intake: Option<Intake>,
    next: Option<i64>,
    confirmed: Option<i64>,
    last_update: Instant,
    /// The next poll asks for what there is and does not wait.
    looks_again: bool,
}

impl Poller {
    fn new(telegram: Arc<Telegram>, core: Core) -> Self {
        Self {
            line: Line::new(telegram, core),
            intake: None,
            next: None,
            confirmed: None,
            last_update: Instant::now(),
            looks_again: true,
        }
    }

    async fn poll(&mut self) -> Result<(), Stopped> {
        let me = self.line.introduce().await?;
        tracing::info!(account = self.line.telegram.account, bot = me.username, "polls for updates");
        self.recall(me.id).await;
        self.intake = Some(Intake::new(self.line.telegram.clone(), self.line.core.clone(), me));
        self.line.take_over().await;
        self.unhook().await?;
        loop {
            self.line.take_over().await;
            let wait = match self.updates().await {
                Ok(Some(updates)) => self.take(&updates).await,
                Ok(None) => continue,
                Err(problem) => {
                    self.looks_again = true;
                    Some(self.line.trouble(&problem)?)
                }
            };
            if let Some(wait) = wait {
                sleep(wait).await;
            }
        }
    }

    /// Takes away a webhook that is left from an earlier set-up; what waits for it is kept and polled. One that is set
    /// later is another program's and stays, with a word to operators.
    async fn unhook(&mut self) -> Result<(), Stopped> {
        loop {
            let problem = match self.line.api.call("getWebhookInfo", &json!({}), PATIENCE).await {
                Ok(info) if info["url"].as_str().is_none_or(str::is_empty) => return Ok(()),
                Ok(_) => {
                    tracing::warn!(account = self.line.telegram.account, "a webhook is set and is removed: we poll");
                    let keep = json!({"drop_pending_updates": false});
                    match self.line.api.call("deleteWebhook", &keep, PATIENCE).await {
                        Ok(_) => return Ok(()),
                        Err(problem) => problem,
                    }
                }
                Err(problem) => problem,
            };
            sleep(self.line.trouble(&problem)?).await;
        }
    }

    /// One long poll. The lease is renewed meanwhile; losing it ends the poll without an answer.
    async fn updates(&mut self) -> Result<Option<Vec<Value>>, Problem> {
        let timing = &self.line.telegram.config.timing;
        // At first, after trouble and within something unfinished the answer is wanted at once; else the poll waits for news.
        let patience = if self.looks_again { Duration::ZERO } else { timing.poll };
        let watchdog = patience + timing.watchdog;
        self.looks_again = false;
        if self.last_update.elapsed() > OFFSET_LASTS {
            self.next = None;
        }
        let mut body = json!({"timeout": patience.as_secs(), "limit": 100, "allowed_updates": WANTED});
        if let Some(next) = self.next {
            body["offset"] = json!(next);
        }
        let api = self.line.api.clone();
        let poll = api.updates(&body, watchdog);
        tokio::pin!(poll);
        let updates = loop {
            tokio::select! {
                updates = &mut poll => break updates?,
                () = sleep_until(self.line.lease_due) => {
                    if !self.line.hold_lease().await {
                        return Ok(None);
                    }
                }
            }
        };
        self.confirmed = self.next;
        Ok(Some(updates))
    }

    /// Takes a batch in and remembers how far it came; gives how long to wait before the next poll.
    async fn take(&mut self, updates: &[Value]) -> Option<Duration> {
        let Some(intake) = &mut self.intake else { return None };
        if updates.is_empty() {
            self.line.ready();
            return None;
        }
        self.last_update = Instant::now();
        let bot = intake.me.id;
        let (dealt, taken) = intake.take(updates).await;
        // Old updates can come again; the offset never goes back.
        let next = intake.remember(updates, &dealt);
        let ahead = next.filter(|next| self.next.is_none_or(|known| *next > known));
        if let Some(next) = ahead {
            self.next = Some(next);
            if let Err(cause) = self.save(bot, next).await {
                tracing::warn!(account = self.line.telegram.account, %cause, "the offset is not stored");
            }
        }
        match taken {
            Taken::All => {
                self.line.ready();
                // Updates that do not move the offset would come again at once, for ever.
                ahead.is_none().then_some(STAND_BY)
            }
            Taken::Open => {
                self.looks_again = true;
                // Whoever else speaks meanwhile is heard at the next look.
                Some(self.line.telegram.config.timing.album / LOOKS)
            }
            Taken::StoreDown(cause) => {
                self.line.degraded(&format!("nothing is taken in: {cause}"));
                // The store is near and soon asked again: what waits is taken as soon as it is back.
                Some(self.line.back_off().min(STAND_BY))
            }
        }
    }

    async fn save(&self, bot: i64, next: i64) -> Result<(), contract::StoreDown> {
        let offset = serde_json::to_vec(&Offset { bot, next, at_ms: now_ms() }).unwrap_or_default();
        self.line.core.cursors.save(&self.line.telegram.cursor("offset"), &offset).await
    }

    async fn recall(&mut self, bot: i64) {
        let saved = match self.line.core.cursors.load(&self.line.telegram.cursor("offset")).await {
            Ok(saved) => saved.and_then(|saved| serde_json::from_slice::<Offset>(&saved).ok()),
            Err(cause) => {
                // The platform remembers too; what comes again meets the dedup.
                tracing::warn!(account = self.line.telegram.account, %cause, "the offset could not be read");
                None
            }
        };
        let is_fresh = |at_ms: u64| now_ms().saturating_sub(at_ms) < OFFSET_LASTS.as_millis() as u64;
        self.next = saved.filter(|saved| saved.bot == bot && is_fresh(saved.at_ms)).map(|saved| saved.next);
    }

    /// Confirms what was taken, so that the next poller does not get it again, and gives the account back.
    async fn finish(&mut self) {
        if let Some(intake) = &mut self.intake {
            intake.finish(FAREWELL).await;
        }
        // Who does not hold the account would end the poll of the one who does.
        if let Some(next) = self.next.filter(|_| self.line.holds && self.next != self.confirmed) {
            let body = json!({"offset": next, "limit": 1, "timeout": 0, "allowed_updates": WANTED});
            if let Err(cause) = self.line.api.call("getUpdates", &body, FAREWELL).await {
                tracing::debug!(account = self.line.telegram.account, ?cause, "the last updates are not confirmed");
            }
        }
        self.line.release().await;
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
