//! The chat accounts: configuration with its secrets read, the adapter that serves each, and what became of it.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::Router;
use contract::{Core, Health, Missing, Outlet, Platform, Source, Stopped, seams::Condition};
use discord::Discord;
use futures_util::FutureExt;
use slack::Slack;
use telegram::Telegram;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    config::{DiscordAccount, Platforms, SlackAccount, SlackEvents, TelegramAccount},
    run::{Ended, gateway::read},
};

/// When an account's set-up is looked at again after the start: the adapter sets a webhook, or removes it, meanwhile.
const SOON: Duration = Duration::from_secs(10);
/// How often it is looked at from then on.
const NOW_AND_THEN: Duration = Duration::from_secs(300);

/// An account whose secrets are read.
pub enum Account {
    Discord(discord::Config),
    Telegram(telegram::Config),
    Slack(slack::Config),
}

impl Account {
    pub fn platform(&self) -> Platform {
        match self {
            Self::Discord(_) => Platform::Discord,
            Self::Telegram(_) => Platform::Telegram,
            Self::Slack(_) => Platform::Slack,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Discord(config) => &config.account,
            Self::Telegram(config) => &config.account,
            Self::Slack(config) => &config.account,
        }
    }
}

/// Every account of the configuration.
pub async fn accounts(platforms: &Platforms) -> Result<Vec<Account>, Ended> {
    let mut accounts = Vec::with_capacity(platforms.count());
    for account in &platforms.discord {
        accounts.push(Account::Discord(of_discord(account).await?));
    }
    for account in &platforms.telegram {
        accounts.push(Account::Telegram(of_telegram(account).await?));
    }
    for account in &platforms.slack {
        accounts.push(Account::Slack(of_slack(account).await?));
    }
    Ok(accounts)
}

pub async fn of_discord(account: &DiscordAccount) -> Result<discord::Config, Ended> {
    let (name, api_url) = (account.named.name.clone(), account.named.api_url.clone());
    let mut config = discord::Config::new(name, read(&account.token).await?, api_url);
    config.application_id.clone_from(&account.application_id);
    config.gateway_url.clone_from(&account.gateway_url);
    config.shards = account.shards;
    Ok(config)
}

pub async fn of_telegram(account: &TelegramAccount) -> Result<telegram::Config, Ended> {
    let (name, api_url) = (account.named.name.clone(), account.named.api_url.clone());
    let mut config = telegram::Config::new(name, read(&account.token).await?, api_url);
    if let Some(webhook) = &account.webhook {
        let secret = read(&webhook.secret).await?;
        config.mode = telegram::Mode::Webhook { url: webhook.url.clone(), secret };
    }
    Ok(config)
}

pub async fn of_slack(account: &SlackAccount) -> Result<slack::Config, Ended> {
    let mode = match &account.events {
        SlackEvents::Socket { app_token } => slack::Mode::Socket { app_token: read(app_token).await? },
        SlackEvents::Http { signing_secret } => slack::Mode::Events { signing_secret: read(signing_secret).await? },
    };
    let (name, api_url) = (account.named.name.clone(), account.named.api_url.clone());
    Ok(slack::Config::new(name, read(&account.bot_token).await?, mode, api_url))
}

/// An account's adapter. Nothing is asked of the platform until it runs.
#[derive(Clone)]
pub struct Adapter {
    pub platform: Platform,
    pub name: String,
    of: Of,
}

#[derive(Clone)]
enum Of {
    Discord(Arc<Discord>),
    Telegram(Arc<Telegram>),
    Slack(Arc<Slack>),
}

impl Adapter {
    /// Fails when a token or an address cannot be right.
    pub fn new(account: Account) -> Result<Self, Stopped> {
        let (platform, name) = (account.platform(), account.name().to_owned());
        let of = match account {
            Account::Discord(config) => Of::Discord(Discord::new(config)?),
            Account::Telegram(config) => Of::Telegram(Telegram::new(config)?),
            Account::Slack(config) => Of::Slack(Slack::new(config)?),
        };
        Ok(Self { platform, name, of })
    }

    pub fn outlet(&self) -> Arc<dyn Outlet> {
        match &self.of {
            Of::Discord(discord) => discord.clone(),
            Of::Telegram(telegram) => telegram.clone(),
            Of::Slack(slack) => slack.clone(),
        }
    }

    pub fn source(&self) -> Arc<dyn Source> {
        match &self.of {
            Of::Discord(discord) => discord.clone(),
            Of::Telegram(telegram) => telegram.clone(),
            Of::Slack(slack) => slack.clone(),
        }
    }

    /// Where the platform sends events to us; nothing where it has no way to.
    pub fn hooks(&self) -> Option<Router> {
        let routes = match &self.of {
            Of::Discord(_) => return None,
            Of::Telegram(telegram) => telegram::hooks(telegram),
            Of::Slack(slack) => slack::hooks(slack),
        };
        Some(Router::new().nest(&format!("/{}/{}", self.platform, self.name), routes))
    }

    /// What the account's set-up lacks; asks the platform.
    pub async fn inspect(&self) -> Vec<Missing> {
        match &self.of {
            Of::Discord(adapter) => discord::inspect(adapter).await,
            Of::Telegram(adapter) => telegram::inspect(adapter).await,
            Of::Slack(adapter) => slack::inspect(adapter).await,
        }
    }

    /// Until it says how it fares itself, it does not hear anything yet.
    pub fn begins(&self, health: &Health) {
        health.set(&format!("{}/{}", self.platform, self.name), Condition::Degraded("is connecting".into()));
    }

    /// Runs until shutdown. An end that nobody asked for, also a crash, is a condition that operators see.
    pub async fn run(self, core: Core, shutdown: CancellationToken) {
        let health = core.health.clone();
        let running = async {
            match self.of {
                Of::Discord(adapter) => discord::run(adapter, core, shutdown).await,
                Of::Telegram(adapter) => telegram::run(adapter, core, shutdown).await,
                Of::Slack(adapter) => slack::run(adapter, core, shutdown).await,
            }
        };
        let ended = AssertUnwindSafe(running).catch_unwind().await;
        if let Err(stopped) = ended.unwrap_or_else(|_| Err(crashed())) {
            say_stopped(&health, self.platform, &self.name, &stopped);
        }
    }

    /// Says what the set-up lacks, until shutdown: asked at the start, again once the adapter had time to put right what it
    /// can, and now and then, since people mend it meanwhile. The log tells changes only.
    pub async fn tell_missing(self, health: Health, shutdown: CancellationToken) {
        let mut known = Vec::new();
        let mut waits = std::iter::once(SOON).chain(std::iter::repeat(NOW_AND_THEN));
        loop {
            let Some(missing) = shutdown.run_until_cancelled(self.inspect()).await else { return };
            self.tell(&health, &known, &missing);
            known = missing;
            let wait = waits.next().unwrap_or(NOW_AND_THEN);
            if shutdown.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }

    fn tell(&self, health: &Health, known: &[Missing], missing: &[Missing]) {
        let part = format!("{}/{}/set-up", self.platform, self.name);
        for Missing { what, step, .. } in missing.iter().filter(|new| known.iter().all(|old| old.what != new.what)) {
            warn!(platform = %self.platform, account = self.name, step, "{what}");
        }
        match missing {
            [] => {
                if !known.is_empty() {
                    info!(platform = %self.platform, account = self.name, "nothing is missing in the set-up any more");
                }
                health.clear(&part);
            }
            missing => {
                let lines: Vec<_> = missing.iter().map(|m| format!("{}: {}", m.what, m.step)).collect();
                health.set(&part, Condition::Degraded(lines.join("; ")));
            }
        }
    }
}

/// An adapter's end, with what to do; the others run on.
pub fn say_stopped(health: &Health, platform: Platform, account: &str, stopped: &Stopped) {
    error!(%platform, account, why = stopped.why, steps = stopped.steps.join("; "), "an adapter stopped; the others run on");
    let words = format!("{}: {}", stopped.why, stopped.steps.join("; "));
    health.set(&format!("{platform}/{account}"), Condition::Stopped(words));
}

fn crashed() -> Stopped {
    let steps = vec!["restart the gateway; the log says where it crashed".to_owned()];
    Stopped { why: "the adapter crashed".into(), steps }
}
