//! What the chat platforms say of our accounts: scopes, intents, privacy. Part of `check`.

use std::time::Duration;

use contract::Missing;
use futures_util::future::join_all;

use crate::{
    config::{Config, Finding, finding_at, platforms::Named},
    run::{
        Ended,
        adapters::{Account, Adapter, of_discord, of_slack, of_telegram},
    },
};

/// How long one account may take to be asked about.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is to be said of the accounts.
#[derive(Debug, Default)]
pub struct Asked {
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

/// Asks every platform about its accounts, all at once. One that does not answer is a warning.
pub async fn ask(config: &Config) -> Asked {
    let file = config.file.as_ref().map_or_else(|| crate::config::FILE.to_owned(), |file| file.display().to_string());
    let platforms = &config.platforms;
    let discord = platforms.discord.iter().map(|account| async {
        let read = of_discord(account).await.map(Account::Discord);
        one("discord", &account.named, read).await
    });
    let telegram = platforms.telegram.iter().map(|account| async {
        let read = of_telegram(account).await.map(Account::Telegram);
        one("telegram", &account.named, read).await
    });
    let slack = platforms.slack.iter().map(|account| async {
        let read = of_slack(account).await.map(Account::Slack);
        one("slack", &account.named, read).await
    });
    let (discord, telegram, slack) = tokio::join!(join_all(discord), join_all(telegram), join_all(slack));
    let mut asked = Asked::default();
    asked.warnings.extend(unreadable_keys(config, &file).await);
    for (platform, named, missing) in discord.into_iter().chain(telegram).chain(slack) {
        for Missing { what, step, fatal } in missing {
            let message = format!("{platform} '{}': {what}", named.name);
            let finding = finding_at(&file, &named.spot, message).hint(step);
            if fatal { &mut asked.errors } else { &mut asked.warnings }.push(finding);
        }
    }
    asked
}

/// Keys of language models that cannot be read here. Models themselves are not asked: some cost money.
async fn unreadable_keys(config: &Config, file: &str) -> Vec<Finding> {
    let mut warnings = Vec::new();
    for model in config.model.iter().flat_map(|models| models.all()) {
        let Some(key) = &model.api_key else { continue };
        if let Err(why) = key.read().await {
            warnings.push(finding_at(file, &model.spot, why.to_string()).hint("set it where the gateway runs"));
        }
    }
    warnings
}

async fn one<'a>(
    platform: &'static str,
    named: &'a Named,
    account: Result<Account, Ended>,
) -> (&'static str, &'a Named, Vec<Missing>) {
    let missing = match account {
        // A secret that is not here now may be there where the gateway runs.
        Err(cause) => vec![not_asked(cause.to_string(), "set it where the gateway runs")],
        Ok(account) => match Adapter::new(account) {
            Err(stopped) => vec![Missing { what: stopped.why, step: stopped.steps.join("; "), fatal: true }],
            Ok(adapter) => tokio::time::timeout(PATIENCE, adapter.inspect()).await.unwrap_or_else(|_| {
                vec![not_asked(
                    "the platform does not answer".into(),
                    "look at the network, or leave it out with --offline",
                )]
            }),
        },
    };
    (platform, named, missing)
}

fn not_asked(why: String, step: &str) -> Missing {
    Missing { what: format!("its set-up was not looked at: {why}"), step: step.into(), fatal: false }
}
