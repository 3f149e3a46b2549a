//! Where the state is kept: the `store` key.

use std::{fmt, path::PathBuf};

use super::{finding::finding_at, read::Reader, secret::Secret, yaml::Tree};

/// A store as the configuration names it.
#[derive(Clone, PartialEq, Eq)]
pub enum Store {
    Sqlite(PathBuf),
    Redis(RedisUrl),
    /// The URL itself is a secret.
    Secret(Secret),
}

/// A Redis URL; what is printed of it has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(String);

impl RedisUrl {
    /// With the password, for the client alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// How far a write goes before it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreSync {
    /// Safe against the death of the process.
    #[default]
    Normal,
    /// Safe against power loss too.
    Full,
}

/// The text names no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAStore {
    #[error("must be sqlite:FILE, redis://HOST:PORT/DB or rediss://…")]
    Unknown,
    #[error("'{0}' is not supported in this version; use redis:// with one server")]
    Later(&'static str),
}

impl Store {
    /// `sqlite:toolgate.db`, `redis://127.0.0.1:6379/0`, `rediss://…`. Used for `--store` too.
    pub fn parse(text: &str, base: &std::path::Path) -> Result<Self, NotAStore> {
        if let Some(file) = text.strip_prefix("sqlite:") {
            return if file.is_empty() { Err(NotAStore::Unknown) } else { Ok(Self::Sqlite(base.join(file))) };
        }
        for scheme in ["redis-cluster", "redis-sentinel"] {
            if text.starts_with(scheme) {
                return Err(NotAStore::Later(scheme));
            }
        }
        let host = text.strip_prefix("redis://").or_else(|| text.strip_prefix("rediss://"));
        match host {
            Some(host) if !host.is_empty() => Ok(Self::Redis(RedisUrl(text.to_owned()))),
            _ => Err(NotAStore::Unknown),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Redis(url) => f.write_str(&without_user(&url.0)),
            Self::Secret(secret) => f.write_str(&secret.reference()),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_user(&self.0))
    }
}

fn without_user(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://***@{}", &url[..scheme], &url[at + 1..]),
        _ => url.to_owned(),
    }
}

pub(super) fn read(reader: &mut Reader, tree: &Tree) -> Option<Store> {
    let text = reader.text("store", tree)?;
    if ["env:", "file:", "exec:", "vault:"].iter().any(|scheme| text.starts_with(scheme)) {
        return reader.secret("store", tree).map(Store::Secret);
    }
    match Store::parse(&text, &reader.base) {
        Ok(store) => {
            if text != without_user(&text) {
                let finding = finding_at(&reader.file, &tree.spot, "'store' has a password in it");
                reader.warnings.push(finding.hint("put the whole URL into a secret and write store: env:NAME"));
            }
            Some(store)
        }
        Err(why) => {
            reader.error(&tree.spot, format!("'store' {why}"));
            None
        }
    }
}

pub(super) fn prefix(reader: &mut Reader, tree: &Tree) -> Option<String> {
    let text = reader.text("store_prefix", tree)?;
    // A brace would move every key to another slot of a cluster.
    if text.len() <= 64 && !text.contains(['{', '}', ' ']) {
        return Some(text);
    }
    reader.error(&tree.spot, "'store_prefix' must have at most 64 characters, no braces and no spaces");
    None
}
