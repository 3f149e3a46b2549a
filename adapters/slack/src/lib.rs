//! The Slack adapter: hears events over a socket or over HTTP, sends replies, opens files.
//!
//! Reading order: [`inbound`] turns a payload into a message, [`render`] a reply into parts (both pure); [`run`] holds the
//! sockets, [`hooks`] takes the events that come over HTTP; [`Slack`] is the outlet and the source that the core is given.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use contract::{Core, Missing, Stopped, seams::Condition};
use secrecy::SecretString;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{api::Api, intake::Intake};

mod api;
mod body;
mod forms;
mod hooks;
mod hosts;
pub mod inbound;
mod inspect;
mod intake;
mod lanes;
mod lease;
mod memory;
mod outlet;
mod people;
mod post;
mod refusal;
pub mod render;
mod report;
mod socket;
mod sockets;
mod source;
mod streams;
mod upload;

/// One app in one workspace (or one organisation).
#[derive(Debug, Clone)]
pub struct Config {
    /// Its configuration key.
    pub account: String,
    pub bot_token: SecretString,
    pub mode: Mode,
    /// Another server than Slack's own: a simulator, a proxy. It ends where the methods begin.
    pub api_url: Option<String>,
    /// The slash command that takes every tool's name as its first word.
    pub command: String,
    pub timing: Timing,
}

impl Config {
    pub fn new(account: impl Into<String>, bot_token: SecretString, mode: Mode, api_url: Option<String>) -> Self {
        let (account, command) = (account.into(), "toolgate".to_owned());
        Self { account, bot_token, mode, api_url, command, timing: Timing::default() }
    }
}

/// How events come.
#[derive(Debug, Clone)]
pub enum Mode {
    /// Over sockets that we open.
    Socket { app_token: SecretString },
    /// Over HTTP, to [`hooks`].
    Events { signing_secret: SecretString },
}

/// How long things wait, and how many sockets there are.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Sockets that are held at once; Slack allows ten.
    pub sockets: usize,
    /// How often a socket is asked whether it lives.
    pub ping: Duration,
    /// A socket that brings nothing for so long is left.
    pub silence: Duration,
    /// How long a socket that is to end is still listened to.
    pub farewell: Duration,
    /// The most that a retry waits.
    pub backoff: Duration,
    /// How long an event may wait for the store before it is left to be sent again.
    pub accept: Duration,
    /// How long a lease on the account lasts without renewal.
    pub lease: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            sockets: 2,
            ping: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            farewell: Duration::from_secs(30),
            backoff: Duration::from_secs(30),
            accept: Duration::from_millis(2_500),
            lease: Duration::from_secs(60),
        }
    }
}

/// A Slack app: where replies go and files come from.
pub struct Slack {
    account: String,
    api: Api,
    config: Config,
    /// What takes messages in while the adapter runs.
    intake: Mutex<Option<Arc<Intake>>>,
    memory: memory::Memory,
    streams: Mutex<streams::Streams>,
    /// [`run`] is at work.
    is_hearing: AtomicBool,
    /// No other process takes in for the account, as far as is known.
    holds: AtomicBool,
    /// What people type before a command's name.
    prefix: String,
    /// What ended the account while it was used.
    fatal: watch::Sender<Option<Stopped>>,
}

impl Slack {
    /// Fails when a token or the address cannot be right; nothing is asked yet.
    pub fn new(config: Config) -> Result<Arc<Self>, Stopped> {
        let app_token = match &config.mode {
            Mode::Socket { app_token } => Some(app_token),
            Mode::Events { .. } => None,
        };
        let api = Api::new(&config.bot_token, app_token, config.api_url.as_deref())?;
        Ok(Arc::new(Self {
            account: config.account.clone(),
            api,
            prefix: format!("/{} ", config.command),
            config,
            intake: Mutex::default(),
            memory: memory::Memory::default(),
            streams: Mutex::default(),
            is_hearing: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            fatal: watch::Sender::new(None),
        }))
    }

    fn intake(&self) -> Option<Arc<Intake>> {
        lock(&self.intake).clone()
    }

    /// The part of the health that is this account's.
    fn part(&self) -> String {
        format!("slack/{}", self.account)
    }
}

/// Hears until shutdown. Ends by itself only for what a person must mend.
pub async fn run(slack: Arc<Slack>, core: Core, shutdown: CancellationToken) -> Result<(), Stopped> {
    slack.fatal.send_replace(None);
    let mut fatal = slack.fatal.subscribe();
    slack.is_hearing.store(true, Ordering::Relaxed);
    let _hearing = Hearing(&slack);
    let ended = tokio::select! {
        stopped = fatal.wait_for(Option::is_some) => Err(stopped.ok().and_then(|stopped| stopped.clone())),
        ended = hear(&slack, &core, &shutdown) => ended.map_err(Some),
    };
    let intake = lock(&slack.intake).take();
    if let Some(intake) = intake {
        intake.finish().await;
    }
    lease::release(&slack, &core).await;
    match ended {
        Err(Some(stopped)) => {
            core.health.set(&slack.part(), Condition::Stopped(stopped.why.clone()));
            Err(stopped)
        }
        Ok(()) | Err(None) => Ok(()),
    }
}

/// Lets go of what takes messages in however [`run`] ends, also when it is dropped: that holds us and the core.
struct Hearing<'a>(&'a Slack);

impl Drop for Hearing<'_> {
    fn drop(&mut self) {
        self.0.is_hearing.store(false, Ordering::Relaxed);
        self.0.holds.store(false, Ordering::Relaxed);
        let intake = lock(&self.0.intake).take();
        if let Some(intake) = intake {
            intake.abandon();
        }
    }
}

async fn hear(slack: &Arc<Slack>, core: &Core, shutdown: &CancellationToken) -> Result<(), Stopped> {
    let me = tokio::select! {
        me = sockets::introduce(slack, core) => me?,
        () = shutdown.cancelled() => return Ok(()),
    };
    tracing::info!(account = slack.account, bot = me.user, team = me.team, "hears Slack");
    let intake = Intake::new(slack.clone(), core.clone(), me);
    *lock(&slack.intake) = Some(intake.clone());
    lease::Lease::new(slack, &intake).serve(shutdown).await
}

/// The routes to which Slack sends events, commands and interactions; they refuse unless [`run`] takes in.
pub fn hooks(slack: &Arc<Slack>) -> axum::Router {
    hooks::router(slack.clone())
}

/// What the app's set-up lacks, each with the step that mends it.
pub async fn inspect(slack: &Arc<Slack>) -> Vec<Missing> {
    inspect::missing(slack).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that nobody needs to foresee: for spreading retries.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
