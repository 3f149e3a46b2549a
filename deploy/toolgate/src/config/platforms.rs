//! The `platforms` part of the configuration: one account each, or a list of accounts with names.

use super::{
    read::{Reader, Table},
    secret::Secret,
    yaml::{Spot, Tree, Value},
};

/// The name of an account that was given none.
pub const MAIN: &str = "main";

/// One Telegram bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramAccount {
    pub name: String,
    pub token: Secret,
    /// Another server in place of the platform's own, without a trailing slash.
    pub api_url: Option<String>,
}

/// All accounts that this version can serve.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Platforms {
    pub telegram: Vec<TelegramAccount>,
}

impl Platforms {
    pub fn read(reader: &mut Reader, tree: Tree) -> Self {
        let mut platforms = Self::default();
        let Some(mut table) = reader.table("platforms", tree) else { return platforms };
        if let Some(tree) = table.take("telegram") {
            platforms.telegram = accounts(reader, "telegram", tree, telegram);
        }
        for (name, keys) in [("discord", DISCORD), ("slack", SLACK)] {
            if let Some(tree) = table.take(name) {
                let spot = tree.spot.clone();
                accounts(reader, name, tree, |reader, table, _| inactive_account(reader, table, keys));
                reader.warn(&spot, format!("'platforms.{name}' is not active in this version"));
            }
        }
        reader.finish(table);
        platforms
    }
}

/// A key of a platform that is checked and not used yet, and whether it holds a secret.
type Keys = &'static [(&'static str, bool)];
const DISCORD: Keys = &[("token", true), ("application_id", false), ("api_url", false), ("gateway_url", false)];
const SLACK: Keys = &[
    ("bot_token", true),
    ("app_token", true),
    ("signing_secret", true),
    ("mode", false),
    ("webhook", false),
    ("api_url", false),
];

fn accounts<T>(
    reader: &mut Reader,
    platform: &str,
    tree: Tree,
    one: impl Fn(&mut Reader, &mut Table, String) -> Option<T>,
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
        read.extend(one(reader, &mut table, name));
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Polling,
    Webhook,
}

fn telegram(reader: &mut Reader, table: &mut Table, name: String) -> Option<TelegramAccount> {
    let (mode_path, hook_path, url_path) = (table.name("mode"), table.name("webhook"), table.name("api_url"));
    if let Some(tree) = table.take("mode") {
        let mode = reader.choice(&mode_path, &tree, &[("polling", Mode::Polling), ("webhook", Mode::Webhook)]);
        if mode == Some(Mode::Webhook) {
            reader.warn(&tree.spot, format!("'{mode_path}: webhook' is not active in this version; polling is used"));
        }
    }
    if let Some(tree) = table.take("webhook") {
        let spot = tree.spot.clone();
        webhook(reader, &hook_path, tree);
        reader.warn(&spot, format!("'{hook_path}' is not active in this version; polling is used"));
    }
    let api_url = table.take("api_url").and_then(|tree| reader.url(&url_path, &tree));
    let token = required_secret(reader, table, "token")?;
    Some(TelegramAccount { name, token, api_url })
}

fn webhook(reader: &mut Reader, path: &str, tree: Tree) {
    let Some(mut table) = reader.table(path, tree) else { return };
    if let Some(tree) = table.take("url") {
        reader.url(&table.name("url"), &tree);
    }
    if let Some(tree) = table.take("secret") {
        reader.secret(&table.name("secret"), &tree);
    }
    reader.finish(table);
}

fn inactive_account(reader: &mut Reader, table: &mut Table, keys: Keys) -> Option<()> {
    for &(key, secret) in keys {
        if let Some(tree) = table.take(key).filter(|_| secret) {
            reader.secret(&table.name(key), &tree);
        }
    }
    None
}

/// A secret that has to be there.
pub fn required_secret(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<Secret> {
    let path = table.name(key);
    let Some(tree) = table.take(key) else {
        let spot: Spot = table.spot.clone();
        reader.error(&spot, format!("'{path}' is missing"));
        return None;
    };
    reader.secret(&path, &tree)
}
