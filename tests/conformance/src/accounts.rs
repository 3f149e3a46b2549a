//! One account per platform: its tokens, its adapter with short times, and the simulators' set-up.

use std::{sync::Arc, time::Duration};

use axum::Router;
use contract::{Core, Platform, Stopped};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{people::People, stage::Adapter};

const TELEGRAM: &str = "4242:AAconformanceCONFORMANCEconformance";
const DISCORD: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GdEmoX.conformance-of-the-simulated-bot-0";
const SLACK_BOT: &str = "xoxb-100000000001-200000000001-conformanceOfTheSimulated";
const SLACK_APP: &str = "xapp-1-A0CONFORM01-300000000001-conformanceofthesimulated";

/// What must never be read anywhere: the secret parts of the tokens.
pub const SECRETS: [&str; 4] = [
    "AAconformanceCONFORMANCEconformance",
    "conformance-of-the-simulated-bot-0",
    "conformanceOfTheSimulated",
    "conformanceofthesimulated",
];

/// Without any pace, and with short clocks.
pub(crate) fn simulators() -> sim::Options {
    sim::Options {
        telegram: sim::telegram::Setup { limits: sim::telegram::Limits::none(), ..Default::default() },
        discord: sim::discord::Setup { limits: sim::discord::Limits::none(), ..Default::default() },
        slack: sim::slack::Setup { limits: slack_limits(), ..Default::default() },
        ..sim::Options::default()
    }
}

/// Slack's clocks, so short that a test can wait for them.
fn slack_limits() -> sim::slack::Limits {
    sim::slack::Limits {
        retry_first: 0.1,
        retry_second: 0.3,
        retry_third: 1.0,
        ping_seconds: 0.2,
        grace_seconds: 1.0,
        ..sim::slack::Limits::none()
    }
}

/// Tells the platform where events are to be brought, where its people do that by hand.
pub(crate) async fn announce(people: &People, doorstep: &Doorstep) {
    if people.platform == Platform::Slack {
        let url = &doorstep.url;
        let urls = json!({ "url": format!("{url}/events"), "commands_url": format!("{url}/commands"),
            "interactivity_url": format!("{url}/interactive"), "signing_secret": SECRET });
        people.post("events", urls).await;
    }
}

type Start = Box<dyn FnOnce() -> JoinHandle<Result<(), Stopped>> + Send>;

/// Where events are brought to us, instead of being fetched.
#[derive(Clone)]
pub(crate) struct Doorstep {
    /// Without a slash at the end.
    pub url: String,
}

const SECRET: &str = "conformance-5197111";

/// What a start needs.
pub(crate) struct Set<'a> {
    /// Where the simulators are.
    pub url: &'a str,
    pub core: Core,
    pub shutdown: CancellationToken,
    pub doorstep: Option<&'a Doorstep>,
}

/// A platform's adapter that fetches its events, and what starts it.
pub(crate) fn adapter(platform: Platform, url: &str, core: Core, shutdown: CancellationToken) -> (Adapter, Start) {
    adapter_with(platform, Set { url, core, shutdown, doorstep: None })
}

/// A platform's adapter, and what starts it.
pub(crate) fn adapter_with(platform: Platform, set: Set<'_>) -> (Adapter, Start) {
    let Set { url, core, shutdown, doorstep } = set;
    match platform {
        Platform::Discord => {
            let mut config = discord::Config::new("main", DISCORD.into(), Some(format!("{url}/discord/api/v10")));
            // The simulators have no limits.
            config.requests_per_second = Some(10_000);
            config.timing.defer = Duration::from_millis(500);
            config.timing.identify = Duration::from_millis(50);
            config.timing.backoff = Duration::from_millis(200);
            config.timing.save = Duration::from_millis(20);
            config.timing.lease = Duration::from_millis(900);
            let adapter = discord::Discord::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
            let (outlet, source) = (adapter.clone(), adapter.clone());
            let hooks = Router::new();
            (Adapter { outlet, source, hooks }, Box::new(move || tokio::spawn(discord::run(adapter, core, shutdown))))
        }
        Platform::Telegram => {
            let mut config = telegram::Config::new("main", TELEGRAM.into(), Some(format!("{url}/telegram")));
            config.timing.album = Duration::from_millis(100);
            config.timing.poll = Duration::from_secs(3);
            config.timing.watchdog = Duration::from_secs(2);
            config.timing.conflict = Duration::from_millis(300);
            config.timing.backoff = Duration::from_millis(200);
            config.timing.lease = Duration::from_millis(900);
            if let Some(doorstep) = doorstep {
                config.mode = telegram::Mode::Webhook { url: doorstep.url.clone(), secret: SECRET.into() };
            }
            let adapter = telegram::Telegram::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
            let (outlet, source) = (adapter.clone(), adapter.clone());
            let hooks = telegram::hooks(&adapter);
            (Adapter { outlet, source, hooks }, Box::new(move || tokio::spawn(telegram::run(adapter, core, shutdown))))
        }
        Platform::Slack => {
            let mode = match doorstep {
                Some(_) => slack::Mode::Events { signing_secret: SECRET.into() },
                None => slack::Mode::Socket { app_token: SLACK_APP.into() },
            };
            let mut config = slack::Config::new("main", SLACK_BOT.into(), mode, Some(format!("{url}/slack/api")));
            config.timing.ping = Duration::from_millis(200);
            config.timing.silence = Duration::from_millis(900);
            config.timing.farewell = Duration::from_secs(2);
            config.timing.lease = Duration::from_millis(900);
            config.timing.backoff = Duration::from_millis(200);
            let adapter = slack::Slack::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
            let (outlet, source): (Arc<slack::Slack>, _) = (adapter.clone(), adapter.clone());
            let hooks = slack::hooks(&adapter);
            (Adapter { outlet, source, hooks }, Box::new(move || tokio::spawn(slack::run(adapter, core, shutdown))))
        }
        other => panic!("'{other}' has no adapter"),
    }
}
