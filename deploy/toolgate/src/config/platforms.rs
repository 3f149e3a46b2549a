//! The `platforms` part of the configuration: one account each, or a list of accounts with names.

use super::{
    read::{Reader, Table},
    secret::Secret,
    yaml::{Spot, Tree, Value},
};

/// The name of an account that was given none.
pub const MAIN: &str = "main";

/// What every account has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    /// Another server in place of the platform's own, without a trailing slash.
    pub api_url: Option<String>,
    /// Where it stands in the file.
    pub spot: Spot,
}

/// One Telegram bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramAccount {
    pub named: Named,
    pub token: Secret,
    /// Updates are sent to us; otherwise they are fetched.
    pub webhook: Option<Webhook>,
}

/// Where Telegram sends updates, and what it shows to be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    pub secret: Secret,
}

/// One Discord bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscordAccount {
    pub named: Named,
    pub token: Secret,
    pub application_id: Option<String>,
    /// Another gateway socket than the one that the API names.
    pub gateway_url: Option<String>,
    /// As many as Discord recommends when nothing is said.
    pub shards: Option<u32>,
}

/// One Slack app in one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackAccount {
    pub named: Named,
    pub bot_token: Secret,
    pub events: SlackEvents,
}

/// How events come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlackEvents {
    Socket { app_token: Secret },
    Http { signing_secret: Secret },
}

/// All accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Platforms {
    pub discord: Vec<DiscordAccount>,
    pub telegram: Vec<TelegramAccount>,
    pub slack: Vec<SlackAccount>,
}

impl Platforms {
    pub fn read(reader: &mut Reader, tree: Tree) -> Self {
        let mut platforms = Self::default();
        let Some(mut table) = reader.table("platforms", tree) else { return platforms };
        if let Some(tree) = table.take("discord") {
            platforms.discord = accounts(reader, "discord", tree, discord);
        }
        if let Some(tree) = table.take("telegram") {
            platforms.telegram = accounts(reader, "telegram", tree, telegram);
        }
        if let Some(tree) = table.take("slack") {
            platforms.slack = accounts(reader, "slack", tree, slack);
        }
        reader.finish(table);
        platforms
    }

    pub fn count(&self) -> usize {
        self.discord.len() + self.telegram.len() + self.slack.len()
    }
}

fn accounts<T>(
    reader: &mut Reader,
    platform: &str,
    tree: Tree,
    one: impl Fn(&mut Reader, &mut Table, Named) -> Option<T>,
) -> Vec<T> {
    let listed = matches!(tree.value, Value::List(_));
    let mut read = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (i, item) in reader.list(tree).into_iter().enumerate() {
        let path = if listed { format!("platforms.{platform}[{i}]") } else { format!("platforms.{platform}") };
        let Some(mut table) = reader.table(&path, item) else { continue };
        let spot = table.spot.clone();
        let Some(name) = account_name(reader, &mut table, listed) else { continue };
        if names.contains(&name) {
            reader.error(&spot, format!("two accounts of '{platform}' are named '{name}'"));
        }
        names.push(name.clone());
        let api_url = url(reader, &mut table, "api_url");
        read.extend(one(reader, &mut table, Named { name, api_url, spot }));
        reader.finish(table);
    }
    read
}

fn account_name(reader: &mut Reader, table: &mut Table, listed: bool) -> Option<String> {
    let path = table.name("name");
    let Some(tree) = table.take("name") else {
        if listed {
            reader.error(&table.spot.clone(), format!("'{path}' is missing: accounts in a list need names"));
        }
        return (!listed).then(|| MAIN.to_owned());
    };
    let name = reader.text(&path, &tree)?;
    if name.len() <= 32 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Some(name);
    }
    reader.error(&tree.spot, format!("'{path}' must have letters, digits, - and _ only, at most 32"));
    None
}

/// What a `mode` means, and whether it was stated.
fn mode<T: Copy>(reader: &mut Reader, table: &mut Table, words: &[(&str, T)]) -> Option<(T, Spot)> {
    let path = table.name("mode");
    let tree = table.take("mode")?;
    reader.choice(&path, &tree, words).map(|mode| (mode, tree.spot))
}

fn telegram(reader: &mut Reader, table: &mut Table, named: Named) -> Option<TelegramAccount> {
    let mode = mode(reader, table, &[("polling", false), ("webhook", true)]);
    let hook_path = table.name("webhook");
    let webhook = table.take("webhook").map(|tree| (tree.spot.clone(), webhook(reader, &hook_path, tree, &named)));
    let webhook = match (mode, webhook) {
        (Some((true, _)), None) if table.is_misspelt("webhook") => None,
        (Some((true, spot)), None) => {
            reader.error(&spot, format!("'{hook_path}' is missing: {{ url: https://…, secret: env:NAME }}"));
            None
        }
        (Some((false, _)), Some((spot, _))) => {
            reader.error(&spot, format!("'{hook_path}' has no use where 'mode' is polling"));
            None
        }
        (_, webhook) => webhook.and_then(|(_, webhook)| webhook),
    };
    let token = required_secret(reader, table, "token")?;
    Some(TelegramAccount { named, token, webhook })
}

fn webhook(reader: &mut Reader, path: &str, tree: Tree, of: &Named) -> Option<Webhook> {
    let mut table = reader.table(path, tree)?;
    let address = match table.take("url") {
        Some(tree) => {
            let path = table.name("url");
            reader.url(&path, &tree).filter(|url| leads_to_us(reader, &path, &tree.spot, url, of))
        }
        None if table.is_misspelt("url") => None,
        None => {
            let spot = table.spot.clone();
            reader.error(&spot, format!("'{path}.url' is missing: the address under which Telegram finds us"));
            None
        }
    };
    let secret = required_secret(reader, &mut table, "secret");
    reader.finish(table);
    Some(Webhook { url: address?, secret: secret? })
}

/// Telegram calls no plain HTTP; another server in its place may. Where updates must arrive is said, since a proxy may
/// rewrite it.
fn leads_to_us(reader: &mut Reader, path: &str, spot: &Spot, url: &str, of: &Named) -> bool {
    if of.api_url.is_none() && !url.starts_with("https://") {
        reader.error(spot, format!("'{path}' must begin with https://: Telegram sends updates to nothing else"));
        return false;
    }
    let ours = format!("/hooks/telegram/{}", of.name);
    if !url.split(['?', '#']).next().is_some_and(|address| address.ends_with(&ours)) {
        let words = format!("'{path}' does not end in {ours}: requests must arrive there; a proxy may rewrite it");
        reader.warn(spot, words);
    }
    true
}

fn discord(reader: &mut Reader, table: &mut Table, named: Named) -> Option<DiscordAccount> {
    let application_id = snowflake(reader, table, "application_id");
    let gateway_url = socket(reader, table, "gateway_url");
    let shards_path = table.name("shards");
    let shards = table.take("shards").and_then(|tree| {
        let shards = reader.whole(&shards_path, &tree)?;
        let fits = u32::try_from(shards).ok().filter(|shards| *shards <= 1_000);
        if fits.is_none() {
            reader.error(&tree.spot, format!("'{shards_path}' must be at most 1000"));
        }
        fits
    });
    let token = required_secret(reader, table, "token")?;
    Some(DiscordAccount { named, token, application_id, gateway_url, shards })
}

/// An id of Discord. Written without quotes it is a number all the same.
fn snowflake(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<String> {
    let path = table.name(key);
    let tree = table.take(key)?;
    let text = reader.text(&path, &tree)?;
    if text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(text);
    }
    reader.error(&tree.spot, format!("'{path}' must be an id: digits, as the Developer Portal shows it"));
    None
}

fn socket(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<String> {
    let path = table.name(key);
    let tree = table.take(key)?;
    let text = reader.text(&path, &tree)?;
    let host = text.strip_prefix("ws://").or_else(|| text.strip_prefix("wss://"));
    if host.is_some_and(|host| !host.is_empty() && !host.contains('@')) {
        return Some(text.trim_end_matches('/').to_owned());
    }
    reader.error(&tree.spot, format!("'{path}' must be a URL such as ws://127.0.0.1:8080, without a user in it"));
    None
}

fn slack(reader: &mut Reader, table: &mut Table, named: Named) -> Option<SlackAccount> {
    let mode = mode(reader, table, &[("socket", false), ("events", true)]);
    let spot = table.spot.clone();
    let app_token = secret(reader, table, "app_token");
    let signing_secret = secret(reader, table, "signing_secret");
    let bot_token = required_secret(reader, table, "bot_token");
    let events = match (mode.map(|(mode, _)| mode), app_token, signing_secret) {
        (Some(true), _, Some(signing_secret)) | (None, None, Some(signing_secret)) => {
            Some(SlackEvents::Http { signing_secret })
        }
        (Some(false) | None, Some(app_token), _) => Some(SlackEvents::Socket { app_token }),
        (Some(true), _, None) if table.is_misspelt("signing_secret") => None,
        (Some(false) | None, None, _) if table.is_misspelt("app_token") || table.is_misspelt("signing_secret") => None,
        (Some(true), _, None) => {
            let path = table.name("signing_secret");
            reader.error(&spot, format!("'{path}' is missing: with 'mode: events' it proves that Slack is who asks"));
            None
        }
        (Some(false) | None, None, _) => {
            let path = table.name("app_token");
            let other = "or write 'mode: events' with a 'signing_secret'";
            reader.error(&spot, format!("'{path}' is missing: Socket Mode needs it ({other})"));
            None
        }
    };
    Some(SlackAccount { named, bot_token: bot_token?, events: events? })
}

fn url(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<String> {
    let path = table.name(key);
    table.take(key).and_then(|tree| reader.url(&path, &tree))
}

fn secret(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<Secret> {
    let path = table.name(key);
    table.take(key).and_then(|tree| reader.secret(&path, &tree))
}

/// A secret that has to be there.
pub fn required_secret(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<Secret> {
    let path = table.name(key);
    let Some(tree) = table.take(key) else {
        if !table.is_misspelt(key) {
            let spot: Spot = table.spot.clone();
            reader.error(&spot, format!("'{path}' is missing"));
        }
        return None;
    };
    reader.secret(&path, &tree)
}
