//! The way to the gateway: its address, how many shards there are, and how often a session may be begun.

use std::{collections::HashMap, sync::Arc, time::Duration};

use contract::{Core, Stopped, seams::Condition};
use reqwest::Url;
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::{
    sync::{Mutex, oneshot},
    time::{Instant, sleep, sleep_until},
};
use twilight_gateway::{Config, ConfigBuilder, Intents, Session, Shard, ShardId, queue::Queue};

use super::{Report, back_off, memory::Saved, words};
use crate::{Discord, random, stopped};

/// What we listen to.
const INTENTS: Intents = Intents::GUILDS
    .union(Intents::GUILD_MESSAGES)
    .union(Intents::GUILD_MESSAGE_REACTIONS)
    .union(Intents::DIRECT_MESSAGES)
    .union(Intents::DIRECT_MESSAGE_REACTIONS)
    .union(Intents::MESSAGE_CONTENT);
/// More shards than this are a misreading.
const MOST_SHARDS: u32 = 1_000;
/// A budget that is used up is looked at again at least so often.
const LONGEST_BUDGET_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// Shared by all shards of an account.
pub(super) struct Door {
    discord: Arc<Discord>,
    url: String,
    total: u32,
    /// With the roots of trust, which are read once.
    config: Config<Free>,
    /// When the next session of each group may be begun. Held while one waits: that is its purpose.
    begun: Mutex<HashMap<u64, Instant>>,
}

/// A queue that lets everybody through: who begins a session has waited before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free;

impl Queue for Free {
    fn enqueue(&self, _id: u32) -> oneshot::Receiver<()> {
        let (go, come) = oneshot::channel();
        let _ = go.send(());
        come
    }
}

impl Door {
    /// Asks where the gateway is until it is answered.
    pub(super) async fn open(discord: &Arc<Discord>, core: &Core) -> Result<Self, Stopped> {
        let mut failures = 0;
        let told = loop {
            match discord.rest.get("/gateway/bot").await {
                Ok(told) => break told,
                Err(problem) => {
                    let words = format!("Discord does not answer: {}", words(&problem));
                    core.health.set(&discord.part(), Condition::Degraded(words));
                    sleep(back_off(&mut failures, discord.config.timing.backoff)).await;
                }
            }
        };
        let named = discord.config.gateway_url.as_deref().or_else(|| told["url"].as_str()).unwrap_or_default();
        let url = allowed(discord, named).ok_or_else(|| {
            stopped(
                "the gateway's address is not one of the server that was configured",
                &["set 'gateway_url' to the gateway of the server at 'api_url', like ws://127.0.0.1:8081/gateway"],
            )
        })?;
        let recommended = || told["shards"].as_u64().and_then(|shards| u32::try_from(shards).ok());
        let total = discord.config.shards.or_else(recommended).unwrap_or(1).clamp(1, MOST_SHARDS);
        Ok(Self { config: config(discord, &url)?, discord: discord.clone(), url, total, begun: Mutex::default() })
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = ShardId> {
        let total = self.total;
        (0..total).filter_map(move |number| ShardId::new_checked(number, total))
    }

    /// A socket that resumes a session, or begins one.
    pub(super) fn socket(&self, id: ShardId, session: Option<&Saved>) -> Shard<Free> {
        let mut config = ConfigBuilder::from(self.config.clone());
        if let Some(saved) = session {
            config = config.session(Session::new(saved.seq, saved.id.clone()));
            if let Some(url) = saved.url.as_deref().and_then(|url| allowed(&self.discord, url)) {
                config = config.resume_url(url);
            }
        }
        tracing::debug!(account = self.discord.account, url = self.url, resumes = session.is_some(), "connects");
        Shard::with_config(id, config.build())
    }

    /// Waits until a new session may be begun: so many a day, and one of a group every few seconds.
    pub(super) async fn admit(&self, id: ShardId, report: &Report) {
        let mut failures = 0;
        let group = loop {
            let told = match self.discord.rest.get("/gateway/bot").await {
                Ok(told) => told,
                Err(problem) => {
                    report.socket(&format!("Discord does not answer: {}", words(&problem)));
                    sleep(back_off(&mut failures, self.discord.config.timing.backoff)).await;
                    continue;
                }
            };
            let limit = &told["session_start_limit"];
            if limit["remaining"].as_u64() != Some(0) {
                break u64::from(id.number()) % limit["max_concurrency"].as_u64().unwrap_or(1).max(1);
            }
            let wait = Duration::from_millis(limit["reset_after"].as_u64().unwrap_or(60_000)).min(LONGEST_BUDGET_WAIT);
            report.socket(&format!(
                "all sessions that Discord allows in a day are used up: the next is begun in {}",
                contract::text::wait(wait)
            ));
            sleep(wait + Duration::from_millis(50)).await;
        };
        let every = self.discord.config.timing.identify;
        let at = {
            let mut begun = self.begun.lock().await;
            let at = begun.get(&group).map_or_else(Instant::now, |last| (*last + every).max(Instant::now()));
            begun.insert(group, at);
            at
        };
        // Spread a little: other processes of the same bot count in the same seconds.
        sleep_until(at + every.mul_f64(random() / 10.0)).await;
    }
}

/// The address, if it is one that may be spoken to: Discord's own, or, with another server configured, that server's.
fn allowed(discord: &Discord, url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "ws" | "wss"))?;
    let host = parsed.host_str()?;
    let is_allowed = if discord.rest.is_discord() && discord.config.gateway_url.is_none() {
        parsed.scheme() == "wss" && (host == "discord.gg" || host.ends_with(".discord.gg"))
    } else {
        let place = (Some(host), parsed.port_or_known_default());
        let named = discord.config.gateway_url.as_deref().and_then(|url| Url::parse(url).ok());
        named.is_some_and(|url| (url.host_str(), url.port_or_known_default()) == place)
            || (!discord.rest.is_discord() && discord.rest.host() == place)
    };
    is_allowed.then(|| url.trim_end_matches('/').to_owned())
}

fn config(discord: &Discord, url: &str) -> Result<Config<Free>, Stopped> {
    let token = discord.rest.token().expose_secret().to_owned();
    // The library panics where the machine has no roots of trust.
    let made = std::panic::catch_unwind(|| ConfigBuilder::new(token, INTENTS));
    let made = made.map_err(|_| {
        stopped("no certificates were found to trust", &["install the system's certificates (package ca-certificates)"])
    })?;
    Ok(made.queue(Free).proxy_url(url.to_owned()).build())
}

/// What a greeting says of the session that began.
pub(super) fn begun(data: &Value, seq: u64) -> Option<Saved> {
    let id = data["session_id"].as_str()?.to_owned();
    Some(Saved { id, url: data["resume_gateway_url"].as_str().map(str::to_owned), seq })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discord(api_url: Option<&str>, gateway_url: Option<&str>) -> Arc<Discord> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = crate::Config::new("main", "abc.def.ghi".into(), api_url.map(str::to_owned));
        config.gateway_url = gateway_url.map(str::to_owned);
        Discord::new(config).unwrap_or_else(|stopped| panic!("{stopped}"))
    }

    #[test]
    fn with_another_server_discord_itself_is_never_spoken_to() {
        let real = "wss://gateway-us-east1-b.discord.gg";
        let local = discord(Some("http://127.0.0.1:5/discord"), None);
        assert_eq!(allowed(&local, real), None);
        assert_eq!(allowed(&local, "ws://127.0.0.1:6/x"), None, "another port is another server");
        assert_eq!(
            allowed(&local, "ws://127.0.0.1:5/discord/gateway/"),
            Some("ws://127.0.0.1:5/discord/gateway".into())
        );
        let named = discord(Some("http://127.0.0.1:5"), Some("ws://127.0.0.1:6/gateway"));
        assert!(allowed(&named, "ws://127.0.0.1:6/gateway").is_some() && allowed(&named, real).is_none());
        let ours = discord(None, None);
        assert!(allowed(&ours, real).is_some() && allowed(&ours, "wss://gateway.discord.gg").is_some());
        for other in ["wss://discord.gg.evil.test", "wss://evil-discord.gg", "ws://gateway.discord.gg", "no address"] {
            assert_eq!(allowed(&ours, other), None, "{other}");
        }
    }
}
