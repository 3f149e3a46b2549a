//! The Telegram adapter: polls for updates, sends replies, opens files.
//!
//! Reading order: [`inbound`] turns an update into a message, [`render`] a reply into parts (both pure); [`run`] polls, or
//! has updates delivered to [`hooks`], and hands messages to the inbox; [`Telegram`] is the outlet and the source that the
//! core is given; [`inspect`] says what the bot's set-up lacks.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::{Duration, Instant},
};

use contract::{Core, Cursors, Stopped, StoreDown, seams::Condition};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{
    api::{Api, stopped},
    mailbox::Mailbox,
    recent::Recent,
};

mod api;
mod commands;
mod gather;
mod held;
mod hooks;
pub mod inbound;
mod inspect;
mod lenient;
mod line;
mod mailbox;
mod outlet;
mod poll;
mod receive;
mod recent;
mod refusal;
pub mod render;
mod source;
mod updates;
mod webhook;

pub use hooks::hooks;
pub use inspect::inspect;

/// One bot account.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its configuration key.
    pub account: String,
    pub token: SecretString,
    /// Another server than Telegram's own: a simulator, a proxy, a self-hosted one. Without a slash at its end.
    pub api_url: Option<String>,
    pub mode: Mode,
    pub timing: Timing,
}

/// How updates come.
#[derive(Debug, Clone, Default)]
pub enum Mode {
    #[default]
    Polling,
    /// Telegram posts them to `url`, where [`hooks`] is mounted, with `secret` in a header.
    Webhook { url: String, secret: SecretString },
}

impl Config {
    /// One that polls.
    pub fn new(account: impl Into<String>, token: SecretString, api_url: Option<String>) -> Self {
        Self { account: account.into(), token, api_url, mode: Mode::Polling, timing: Timing::default() }
    }
}

/// How long things wait.
#[derive(Debug, Clone)]
pub struct Timing {
    /// How long the platform holds a poll open.
    pub poll: Duration,
    /// How much longer than that a poll may take before it is dropped and its connection rebuilt.
    pub watchdog: Duration,
    /// How long another poller of the same token is left alone.
    pub conflict: Duration,
    /// The most that a retry waits.
    pub backoff: Duration,
    /// How long the other parts of an album, or of a long text, are waited for.
    pub album: Duration,
    /// How long a lease on the account lasts without renewal.
    pub lease: Duration,
    /// How often it is looked whether the webhook is still ours and how deliveries fare.
    pub check: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(50),
            watchdog: Duration::from_secs(15),
            conflict: Duration::from_secs(30),
            backoff: Duration::from_secs(30),
            album: Duration::from_millis(400),
            lease: Duration::from_secs(60),
            check: Duration::from_secs(60),
        }
    }
}

/// A Telegram account: where replies go and files come from.
pub struct Telegram {
    account: String,
    api: Api,
    config: Config,
    /// Groups that became supergroups: the id that the core knows, and the present one.
    moved: Mutex<HashMap<i64, i64>>,
    cursors: OnceLock<Arc<dyn Cursors>>,
    told_to_wait: Mutex<Option<(String, Instant)>>,
    /// Where the webhook puts updates while somebody takes them in.
    mailbox: Mutex<Option<Mailbox>>,
    /// Another program polls with the token, as far as was seen.
    rival: AtomicBool,
    /// Messages that we sent, to know what people react to.
    sent: Mutex<Recent>,
    /// Messages that carry our sign of waiting.
    signed: Mutex<Recent>,
    drafts: Mutex<outlet::drafts::Drafts>,
}

/// More upgraded groups than this are followed until the next start only.
const MOST_MOVED: usize = 1_000;
/// How often an absent store is asked again at the start.
const RECALL: Duration = Duration::from_millis(500);

impl Telegram {
    /// Fails when the token or the address cannot be right; nothing is asked yet.
    pub fn new(config: Config) -> Result<Arc<Self>, Stopped> {
        check_mode(&config)?;
        Ok(Arc::new(Self {
            account: config.account.clone(),
            api: Api::new(&config.token, config.api_url.as_deref())?,
            config,
            moved: Mutex::default(),
            cursors: OnceLock::new(),
            told_to_wait: Mutex::default(),
            mailbox: Mutex::default(),
            rival: AtomicBool::new(false),
            sent: Mutex::default(),
            signed: Mutex::default(),
            drafts: Mutex::default(),
        }))
    }

    /// The present id of a chat that the core knows as `id`.
    fn current(&self, id: i64) -> i64 {
        lock(&self.moved).get(&id).copied().unwrap_or(id)
    }

    /// The id that the core knows a chat by: sessions and policies stay with a group that was upgraded.
    fn known(&self, id: i64) -> i64 {
        lock(&self.moved).iter().find(|(_, now)| **now == id).map_or(id, |(old, _)| *old)
    }

    /// Remembers that a group lives on under another id; only what is also stored, so that it is learned again otherwise.
    async fn moved(&self, old: i64, now: i64) -> Result<(), StoreDown> {
        let Some(cursors) = self.cursors.get() else { return Ok(()) };
        let all = {
            let mut moved = lock(&self.moved);
            if moved.len() >= MOST_MOVED || moved.insert(old, now) == Some(now) {
                return Ok(());
            }
            serde_json::to_vec(&*moved).unwrap_or_default()
        };
        tracing::info!(account = self.account, old, now, "a group became a supergroup");
        cursors.save(&self.cursor("moved"), &all).await.inspect_err(|_| {
            lock(&self.moved).remove(&old);
        })
    }

    /// Waits for the store: without these an upgraded group would be another conversation, and what is remembered of the
    /// others would be overwritten.
    async fn recall_moved(&self, core: &Core) {
        loop {
            match core.cursors.load(&self.cursor("moved")).await {
                Ok(saved) => {
                    let saved: HashMap<i64, i64> =
                        saved.and_then(|saved| serde_json::from_slice(&saved).ok()).unwrap_or_default();
                    lock(&self.moved).extend(saved);
                    let _ = self.cursors.set(core.cursors.clone());
                    return;
                }
                Err(cause) => {
                    core.health.set(&self.part(), Condition::Degraded(format!("nothing is taken in: {cause}")));
                    tokio::time::sleep(RECALL).await;
                }
            }
        }
    }

    /// The name of a durable note of this account.
    fn cursor(&self, what: &str) -> String {
        format!("telegram/{}/{what}", self.account)
    }

    /// The part of the health that is this account's.
    fn part(&self) -> String {
        format!("telegram/{}", self.account)
    }
}

/// A webhook that Telegram would never reach, or whose secret it would not take.
fn check_mode(config: &Config) -> Result<(), Stopped> {
    let Mode::Webhook { url, secret } = &config.mode else { return Ok(()) };
    let steps =
        ["write it like https://bot.example.org/hooks/telegram/main", "or set 'mode: polling', which needs no address"];
    let is_http = url.starts_with("http://") && config.api_url.is_some();
    if !url.starts_with("https://") && !is_http {
        return Err(stopped("the webhook's 'url' must begin with https://", &steps));
    }
    if !hooks::is_secret(secret) {
        let steps = ["take 1 to 256 letters, digits, _ and -, for example from: openssl rand -hex 32"];
        return Err(stopped("the webhook's 'secret' is not one that Telegram takes", &steps));
    }
    Ok(())
}

/// Takes updates in until shutdown. Ends by itself only for what a person must mend.
pub async fn run(telegram: Arc<Telegram>, core: Core, shutdown: CancellationToken) -> Result<(), Stopped> {
    tokio::select! {
        () = telegram.recall_moved(&core) => {}
        () = shutdown.cancelled() => return Ok(()),
    }
    let takes_in = async {
        match &telegram.config.mode {
            Mode::Polling => poll::run(&telegram, &core, &shutdown).await,
            Mode::Webhook { url, secret } => receive::run(&telegram, &core, &shutdown, (url, secret)).await,
        }
    };
    tokio::select! {
        ended = takes_in => ended,
        never = commands::keep(&telegram, &core) => match never {},
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
