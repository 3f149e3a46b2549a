//! The account's line to the platform, however updates come: who we are, who holds the account, how it fares.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use contract::{Core, Stopped, seams::Condition};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Telegram,
    api::{Api, PATIENCE, Problem, random, stopped},
    inbound::Me,
};

/// The kinds of updates that are wanted; the platform leaves out reactions and members unless they are named.
pub(crate) const WANTED: [&str; 9] = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "message_reaction",
    "stopped_message_generation",
    "my_chat_member",
    "chat_member",
];
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
pub(crate) const STAND_BY: Duration = Duration::from_secs(1);
/// How long the last things may take once we are to stop.
pub(crate) const FAREWELL: Duration = Duration::from_secs(3);

/// What polling and webhooks share.
pub(crate) struct Line {
    pub(crate) telegram: Arc<Telegram>,
    pub(crate) core: Core,
    /// Rebuilt when a poll hangs; sends have their own.
    pub(crate) api: Api,
    pub(crate) lease_due: Instant,
    /// As far as is known, nobody else takes in for the account.
    pub(crate) holds: bool,
    failures: u32,
    /// What operators were told last.
    complaint: String,
}

impl Line {
    pub(crate) fn new(telegram: Arc<Telegram>, core: Core) -> Self {
        let api = telegram.api.clone();
        Self { telegram, core, api, lease_due: Instant::now(), holds: false, failures: 0, complaint: String::new() }
    }

    /// Who we are; asked until it is answered.
    pub(crate) async fn introduce(&mut self) -> Result<Me, Stopped> {
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
            sleep(self.trouble(&problem)?).await;
        }
    }

    /// Waits until the account is ours.
    pub(crate) async fn take_over(&mut self) {
        while !self.hold_lease().await {
            sleep(STAND_BY).await;
        }
    }

    /// Takes or renews the lease when it is due. While the store is away nobody can say who holds it: who did goes on, who
    /// did not could take nothing in anyway.
    pub(crate) async fn hold_lease(&mut self) -> bool {
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
                self.degraded("another process takes in for this account: standing by");
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
    pub(crate) fn trouble(&mut self, problem: &Problem) -> Result<Duration, Stopped> {
        Ok(match problem {
            Problem::Refused { code: 401 | 404, .. } => {
                return Err(stopped("the token was refused", &TOKEN_STEPS));
            }
            Problem::Refused { code: 409, words, .. } if words.contains("webhook") => {
                self.degraded(
                    "another program set a webhook for this bot, so it cannot be polled: stop it or give it a bot of its \
                     own; a restart here removes the webhook",
                );
                self.telegram.config.timing.conflict
            }
            Problem::Refused { code: 409, .. } => {
                self.telegram.rival.store(true, Ordering::Relaxed);
                self.degraded("another program polls with this token: stop it, or give it a bot of its own");
                self.telegram.config.timing.conflict
            }
            Problem::Refused { retry_after: Some(wait), .. } => {
                self.degraded("Telegram asks to wait");
                wait.duration()
            }
            Problem::TimedOut => {
                self.rebuild();
                self.degraded("a request brought no answer in time: the connection is rebuilt");
                self.back_off()
            }
            Problem::Refused { words, .. } | Problem::NotSent(words) | Problem::Unsure(words) => {
                self.degraded(&format!("Telegram does not answer: {words}"));
                self.back_off()
            }
        })
    }

    /// A connection that looks alive and brings nothing is left behind with its client.
    fn rebuild(&mut self) {
        let config = &self.telegram.config;
        if let Ok(api) = Api::new(&config.token, config.api_url.as_deref()) {
            self.api = api;
        }
    }

    /// Full jitter over a range that doubles with each failure.
    pub(crate) fn back_off(&mut self) -> Duration {
        let most = self.telegram.config.timing.backoff;
        let range = FIRST_BACKOFF.saturating_mul(1 << self.failures.min(10)).min(most);
        self.failures += 1;
        range.mul_f64(random() as f64 / u64::MAX as f64).max(FIRST_BACKOFF.min(most) / 10)
    }

    /// What operators were told last, if anything is wrong.
    pub(crate) fn complaint(&self) -> &str {
        &self.complaint
    }

    pub(crate) fn ready(&mut self) {
        self.telegram.rival.store(false, Ordering::Relaxed);
        self.failures = 0;
        self.complaint.clear();
        self.core.health.set(&self.telegram.part(), Condition::Ready);
    }

    /// Said to operators when it is new, and not at each try.
    pub(crate) fn degraded(&mut self, why: &str) {
        if self.complaint == why {
            return;
        }
        tracing::warn!(account = self.telegram.account, why, "Telegram is in trouble");
        why.clone_into(&mut self.complaint);
        self.core.health.set(&self.telegram.part(), Condition::Degraded(why.to_owned()));
    }

    /// Gives the account back; not given back, it ends by itself.
    pub(crate) async fn release(&self) {
        let _ = timeout(FAREWELL, self.core.cursors.release(&self.telegram.part())).await;
    }
}

/// What is to be done about a token that Telegram does not know.
pub(crate) const TOKEN_STEPS: [&str; 3] = [
    "open a chat with @BotFather and send /token to see the bot's token",
    "put it where the configuration's 'token' points and start again",
    "with 'api_url' set, check that this server knows the bot",
];
