//! The long poll: one poller per account, an offset that survives, and an answer to everything that can go wrong.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contract::{Core, Stopped, seams::Condition};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Telegram,
    api::{Api, PATIENCE, Problem, random, stopped},
    inbound::Me,
    updates::{Intake, Taken},
};

/// The platform leaves out reactions and members unless they are named.
const WANTED: [&str; 8] = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "message_reaction",
    "my_chat_member",
    "chat_member",
];
/// Ids of updates begin anew at random after a week without any: an older offset would throw messages away.
const OFFSET_LASTS: Duration = Duration::from_secs(6 * 24 * 3_600);
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const STAND_BY: Duration = Duration::from_secs(1);
/// How often what may grow is looked at while it is waited for.
const LOOKS: u32 = 4;
/// How long the last things may take once we are to stop.
const FAREWELL: Duration = Duration::from_secs(3);

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
    telegram: Arc<Telegram>,
    core: Core,
    /// Rebuilt when a poll hangs; sends have their own.
    api: Api,
    intake: Option<Intake>,
    next: Option<i64>,
    confirmed: Option<i64>,
    last_update: Instant,
    lease_due: Instant,
    /// As far as is known, nobody else polls for the account.
    holds: bool,
    failures: u32,
    /// What operators were told last.
    complaint: String,
    /// The next poll asks for what there is and does not wait.
    looks_again: bool,
}

impl Poller {
    fn new(telegram: Arc<Telegram>, core: Core) -> Self {
        let (api, now) = (telegram.api.clone(), Instant::now());
        Self {
            telegram,
            core,
            api,
            intake: None,
            next: None,
            confirmed: None,
            last_update: now,
            lease_due: now,
            holds: false,
            failures: 0,
            complaint: String::new(),
            looks_again: true,
        }
    }

    async fn poll(&mut self) -> Result<(), Stopped> {
        let me = self.introduce().await?;
        tracing::info!(account = self.telegram.account, bot = me.username, "polls for updates");
        self.recall(me.id).await;
        self.intake = Some(Intake::new(self.telegram.clone(), self.core.clone(), me));
        loop {
            while !self.hold_lease().await {
                sleep(STAND_BY).await;
            }
            let wait = match self.updates().await {
                Ok(Some(updates)) => self.take(&updates).await,
                Ok(None) => continue,
                Err(problem) => self.trouble(&problem)?,
            };
            if let Some(wait) = wait {
                sleep(wait).await;
            }
        }
    }

    /// Who we are; asked until it is answered.
    async fn introduce(&mut self) -> Result<Me, Stopped> {
        loop {
            let problem = match self.api.call("getMe", &json!({}), PATIENCE).await {
                Ok(me) => match me["id"].as_i64() {
                    Some(id) => {
                        self.failures = 0;
                        return Ok(Me { id, username: me["username"].as_str().unwrap_or_default().to_owned() });
                    }
                    None => Problem::Unsure("an answer without an id".into()),
                },
                Err(problem) => problem,
            };
            sleep(self.trouble(&problem)?.unwrap_or_default()).await;
        }
    }

    /// One long poll. The lease is renewed meanwhile; losing it ends the poll without an answer.
    async fn updates(&mut self) -> Result<Option<Vec<Value>>, Problem> {
        // At first, after trouble and within something unfinished the answer is wanted at once; else the poll waits for news.
        let patience = if self.looks_again { Duration::ZERO } else { self.telegram.config.timing.poll };
        self.looks_again = false;
        if self.last_update.elapsed() > OFFSET_LASTS {
            self.next = None;
        }
        let mut body = json!({"timeout": patience.as_secs(), "limit": 100, "allowed_updates": WANTED});
        if let Some(next) = self.next {
            body["offset"] = json!(next);
        }
        let api = self.api.clone();
        let watchdog = patience + self.telegram.config.timing.watchdog;
        let poll = api.updates(&body, watchdog);
        tokio::pin!(poll);
        let updates = loop {
            tokio::select! {
                updates = &mut poll => break updates?,
                () = sleep_until(self.lease_due) => {
                    if !self.hold_lease().await {
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
            self.ready();
            return None;
        }
        self.last_update = Instant::now();
        let bot = intake.me.id;
        let (next, taken) = intake.take(updates).await;
        // Old updates can come again; the offset never goes back.
        let ahead = next.filter(|next| self.next.is_none_or(|known| *next > known));
        if let Some(next) = ahead {
            self.next = Some(next);
            if let Err(cause) = self.save(bot, next).await {
                tracing::warn!(account = self.telegram.account, %cause, "the offset is not stored");
            }
        }
        match taken {
            Taken::All => {
                self.ready();
                // Updates that do not move the offset would come again at once, for ever.
                ahead.is_none().then_some(STAND_BY)
            }
            Taken::Open => {
                self.looks_again = true;
                // Whoever else speaks meanwhile is heard at the next look.
                Some(self.telegram.config.timing.album / LOOKS)
            }
            Taken::StoreDown(cause) => {
                self.degraded(&format!("nothing is taken in: {cause}"));
                // The store is near and soon asked again: what waits is taken as soon as it is back.
                Some(self.back_off().min(STAND_BY))
            }
        }
    }

    async fn save(&self, bot: i64, next: i64) -> Result<(), contract::StoreDown> {
        let offset = serde_json::to_vec(&Offset { bot, next, at_ms: now_ms() }).unwrap_or_default();
        self.core.cursors.save(&self.telegram.cursor("offset"), &offset).await
    }

    async fn recall(&mut self, bot: i64) {
        let saved = match self.core.cursors.load(&self.telegram.cursor("offset")).await {
            Ok(saved) => saved.and_then(|saved| serde_json::from_slice::<Offset>(&saved).ok()),
            Err(cause) => {
                // The platform remembers too; what comes again meets the dedup.
                tracing::warn!(account = self.telegram.account, %cause, "the offset could not be read");
                None
            }
        };
        let is_fresh = |at_ms: u64| now_ms().saturating_sub(at_ms) < OFFSET_LASTS.as_millis() as u64;
        self.next = saved.filter(|saved| saved.bot == bot && is_fresh(saved.at_ms)).map(|saved| saved.next);
    }

    /// Takes or renews the lease when it is due. While the store is away nobody can say who holds it: who did goes on, who
    /// did not could take nothing in anyway.
    async fn hold_lease(&mut self) -> bool {
        if Instant::now() < self.lease_due {
            return true;
        }
        let lease = self.telegram.config.timing.lease;
        match self.core.cursors.lease(&self.telegram.part(), lease).await {
            Ok(Some(_)) => {
                self.lease_due = Instant::now() + lease / 3;
                self.holds = true;
            }
            Ok(None) => {
                self.holds = false;
                self.degraded("another process polls for this account: standing by");
            }
            Err(cause) if self.holds => {
                tracing::debug!(account = self.telegram.account, %cause, "the lease is not renewed");
                self.lease_due = Instant::now() + lease / 12;
            }
            Err(cause) => self.degraded(&format!("nothing is taken in: {cause}")),
        }
        self.holds
    }

    /// What a failed request means: how long to wait, or that a person must act.
    fn trouble(&mut self, problem: &Problem) -> Result<Option<Duration>, Stopped> {
        self.looks_again = true;
        let wait = match problem {
            Problem::Refused { code: 401 | 404, .. } => {
                return Err(stopped(
                    "the token was refused",
                    &[
                        "open a chat with @BotFather and send /token to see the bot's token",
                        "put it where the configuration's 'token' points and start again",
                        "with 'api_url' set, check that this server knows the bot",
                    ],
                ));
            }
            Problem::Refused { code: 409, words, .. } if words.contains("webhook") => {
                self.degraded("a webhook is set for this bot, so it cannot be polled: remove it with deleteWebhook");
                self.telegram.config.timing.conflict
            }
            Problem::Refused { code: 409, .. } => {
                self.degraded("another program polls with this token: stop it, or give it a bot of its own");
                self.telegram.config.timing.conflict
            }
            Problem::Refused { retry_after: Some(wait), .. } => {
                self.degraded("Telegram asks to wait");
                wait.duration()
            }
            Problem::TimedOut => {
                self.rebuild();
                self.degraded("a poll brought no answer in time: the connection is rebuilt");
                self.back_off()
            }
            Problem::Refused { words, .. } | Problem::NotSent(words) | Problem::Unsure(words) => {
                self.degraded(&format!("Telegram does not answer: {words}"));
                self.back_off()
            }
        };
        Ok(Some(wait))
    }

    /// A connection that looks alive and brings nothing is left behind with its client.
    fn rebuild(&mut self) {
        let config = &self.telegram.config;
        if let Ok(api) = Api::new(&config.token, config.api_url.as_deref()) {
            self.api = api;
        }
    }

    /// Full jitter over a range that doubles with each failure.
    fn back_off(&mut self) -> Duration {
        let most = self.telegram.config.timing.backoff;
        let range = FIRST_BACKOFF.saturating_mul(1 << self.failures.min(10)).min(most);
        self.failures += 1;
        range.mul_f64(random() as f64 / u64::MAX as f64).max(FIRST_BACKOFF.min(most) / 10)
    }

    fn ready(&mut self) {
        self.failures = 0;
        self.complaint.clear();
        self.core.health.set(&self.telegram.part(), Condition::Ready);
    }

    /// Said to operators when it is new, and not at each try.
    fn degraded(&mut self, why: &str) {
        if self.complaint == why {
            return;
        }
        tracing::warn!(account = self.telegram.account, why, "Telegram is in trouble");
        why.clone_into(&mut self.complaint);
        self.core.health.set(&self.telegram.part(), Condition::Degraded(why.to_owned()));
    }

    /// Confirms what was taken, so that the next poller does not get it again, and gives the account back.
    async fn finish(&mut self) {
        if let Some(intake) = &mut self.intake {
            intake.finish(FAREWELL).await;
        }
        // Who does not hold the account would end the poll of the one who does.
        if let Some(next) = self.next.filter(|_| self.holds && self.next != self.confirmed) {
            let body = json!({"offset": next, "limit": 1, "timeout": 0, "allowed_updates": WANTED});
            if let Err(cause) = self.api.call("getUpdates", &body, FAREWELL).await {
                tracing::debug!(account = self.telegram.account, ?cause, "the last updates are not confirmed");
            }
        }
        // Not given back, it ends by itself.
        let _ = timeout(FAREWELL, self.core.cursors.release(&self.telegram.part())).await;
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
