//! The Discord adapter: listens to the gateway, sends replies, answers interactions, registers commands.
//!
//! Reading order: [`inbound`] turns an event into a message, [`render`] a reply into parts (both pure); [`run`] holds the
//! gateway's sockets and hands messages to the inbox; [`Discord`] is the outlet and the source that the core is given;
//! [`inspect`] says what the account lacks.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use contract::{Core, Stopped, seams::Condition};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{answers::Answers, commands::keep::Menus, places::Places, rest::Rest};

mod answers;
mod catchup;
mod commands;
mod gateway;
pub mod inbound;
mod inspect;
mod intake;
mod outlet;
mod places;
mod refusal;
pub mod render;
mod rest;
mod source;

pub use inspect::inspect;

/// One bot account.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its configuration key.
    pub account: String,
    pub token: SecretString,
    /// Asked of Discord when it is not here.
    pub application_id: Option<String>,
    /// Another server than Discord's own: a simulator, a proxy. With it, Discord itself is never spoken to.
    pub api_url: Option<String>,
    /// Where that server's gateway is; asked of it when it is not here.
    pub gateway_url: Option<String>,
    /// As many as Discord recommends when it is not here.
    pub shards: Option<u32>,
    /// As many as Discord allows everybody when it is not here; it grants more to large bots.
    pub requests_per_second: Option<usize>,
    pub timing: Timing,
}

impl Config {
    pub fn new(account: impl Into<String>, token: SecretString, api_url: Option<String>) -> Self {
        Self {
            account: account.into(),
            token,
            application_id: None,
            api_url,
            gateway_url: None,
            shards: None,
            requests_per_second: None,
            timing: Timing::default(),
        }
    }
}

/// How long things wait.
#[derive(Debug, Clone)]
pub struct Timing {
    /// After how long an interaction is deferred although it is not accepted yet; Discord waits three seconds.
    pub defer: Duration,
    /// How long completions may take.
    pub complete: Duration,
    /// How long a socket may take until it is greeted.
    pub greeting: Duration,
    /// A socket that brings nothing for so long is dropped; it carries a heartbeat every 41 seconds.
    pub silence: Duration,
    /// Between two identifies of one group of shards.
    pub identify: Duration,
    /// The most that a reconnect waits.
    pub backoff: Duration,
    /// How long a socket waits for room when more comes than is taken in, before it is left.
    pub pressure: Duration,
    /// How often sessions and the newest messages are stored, at most.
    pub save: Duration,
    /// How long a lease on a shard lasts without renewal.
    pub lease: Duration,
    /// Messages that were missed and are older than this are not caught up.
    pub catch_up: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            defer: Duration::from_secs(1),
            complete: Duration::from_millis(300),
            greeting: Duration::from_secs(30),
            silence: Duration::from_secs(100),
            identify: Duration::from_secs(5),
            backoff: Duration::from_secs(60),
            pressure: Duration::from_secs(5),
            save: Duration::from_secs(1),
            lease: Duration::from_secs(60),
            catch_up: Duration::from_secs(300),
        }
    }
}

/// A Discord account: where replies go and files come from.
pub struct Discord {
    account: String,
    config: Config,
    rest: Arc<Rest>,
    me: OnceLock<Me>,
    answers: Answers,
    places: Places,
    menus: Menus,
    /// Channel and message on which we put the sign for waiting.
    waiting: Mutex<HashSet<(String, String)>>,
    /// Direct conversations by the people in them.
    directs: Mutex<HashMap<String, String>>,
}

/// Who we are on this account.
#[derive(Debug, Clone)]
struct Me {
    user: String,
    application: String,
}

impl Discord {
    /// Fails when the token or the address cannot be right; nothing is asked yet.
    pub fn new(config: Config) -> Result<Arc<Self>, Stopped> {
        Ok(Arc::new(Self {
            account: config.account.clone(),
            rest: Arc::new(Rest::new(&config.token, config.api_url.as_deref())?.granted(config.requests_per_second)),
            config,
            me: OnceLock::new(),
            answers: Answers::default(),
            places: Places::default(),
            menus: Menus::default(),
            waiting: Mutex::default(),
            directs: Mutex::default(),
        }))
    }

    /// The name of a durable note of this account.
    fn cursor(&self, what: &str) -> String {
        format!("discord/{}/{what}", self.account)
    }

    /// The part of the health that is this account's.
    fn part(&self) -> String {
        format!("discord/{}", self.account)
    }

    /// Our user's id, once it is known.
    fn user(&self) -> &str {
        self.me.get().map_or("", |me| &me.user)
    }
}

/// Listens until shutdown. Ends by itself only for what a person must mend.
pub async fn run(discord: Arc<Discord>, core: Core, shutdown: CancellationToken) -> Result<(), Stopped> {
    let listening = async {
        tokio::select! {
            () = gateway::introduce(&discord, &core) => {}
            () = shutdown.cancelled() => return Ok(()),
        }
        tokio::select! {
            ended = gateway::run(&discord, &core, &shutdown) => ended,
            never = commands::keep::keep(&discord, &core) => match never {},
        }
    };
    let ended = tokio::select! {
        ended = listening => ended,
        () = discord.rest.until_refused() => Err(stopped("the token was refused", &rest::TOKEN_STEPS)),
    };
    if let Err(stopped) = &ended {
        core.health.set(&discord.part(), Condition::Stopped(stopped.why.clone()));
    }
    ended
}

/// A reason to stop that a person must remove.
fn stopped(why: &str, steps: &[&str]) -> Stopped {
    Stopped { why: format!("Discord: {why}"), steps: steps.iter().map(|step| (*step).to_owned()).collect() }
}

/// A number that nobody needs to foresee, below one: for spreading what would else happen at once.
fn random() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
