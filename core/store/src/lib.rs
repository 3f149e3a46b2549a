//! The records of the gateway in SQLite and in Redis.
//!
//! Reading order: `record` (a turn as small named parts), `rows` (nodes of trees), `session` (what is remembered), then the two stores, whose files
//! have the same names.

mod in_redis;
mod in_sqlite;
pub mod owner;
mod pack;
mod record;
mod rows;
mod session;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::{
    TurnId,
    records::{AUDIT_KEPT, LANE_MAX, Stores},
};

/// Lines of an answer when nobody says how many.
const LINES_DEFAULT: usize = 50;

/// How a store is used; the default fits a process of its own.
#[derive(Debug, Clone)]
pub struct Options {
    /// Before every key in Redis; without braces.
    pub prefix: String,
    /// Names this process life; see [`owner::this_process`].
    pub owner: String,
    /// SQLite: safe against a loss of power too, not only against the death of the process.
    pub sync_full: bool,
    /// SQLite: makes the file when there is none; whoever only reads should not.
    pub create: bool,
    /// Most turns that wait or run in one lane; the next one is refused.
    pub lane: usize,
    pub keep: Keep,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: "toolgate".to_owned(),
            owner: owner::this_process(),
            sync_full: false,
            create: true,
            lane: LANE_MAX,
            keep: Keep::default(),
        }
    }
}

/// How long things are kept.
#[derive(Debug, Clone)]
pub struct Keep {
    /// Done turns, and with them their dedup keys.
    pub done: Duration,
    /// Most dedup keys of one account.
    pub keys_per_account: usize,
    /// Trees, their indexes, measures.
    pub traces: Duration,
    /// What a silent session remembers.
    pub sessions: Duration,
    /// Events of the audit trail.
    pub audit: Duration,
}

impl Default for Keep {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { done: DAY, keys_per_account: 1_000_000, traces: 7 * DAY, sessions: 90 * DAY, audit: AUDIT_KEPT }
    }
}

/// Why a store cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The configuration is wrong.
    #[error("{0}")]
    Url(String),
    /// It may be there later.
    #[error("{0}")]
    Unreachable(String),
    /// Another version's, or not ours.
    #[error("the store is not one of this version: {0}")]
    Foreign(String),
}

/// Opens the store that `url` names: `sqlite:PATH`, `sqlite::memory:` or `redis://…`.
pub async fn open(url: &str, options: Options) -> Result<Stores, OpenError> {
    match Place::of(url)? {
        Place::Sqlite(path) => {
            let opened = tokio::task::spawn_blocking(move || in_sqlite::open(&path, options)).await;
            opened.map_err(|error| OpenError::Unreachable(format!("sqlite cannot be opened: {error}")))?
        }
        Place::Redis(url) => in_redis::open(&url, options).await,
    }
}

/// What can be lost with the store as it is set up, one sentence each; nothing when all is well.
pub async fn warnings(url: &str) -> Result<Vec<String>, OpenError> {
    match Place::of(url)? {
        Place::Sqlite(path) if path == ":memory:" => {
            Ok(vec!["the store is a temporary file: everything is lost when the gateway ends".to_owned()])
        }
        Place::Sqlite(_) => Ok(Vec::new()),
        Place::Redis(url) => in_redis::warnings(&url).await,
    }
}

/// The store's address without what is secret in it, for people.
pub fn describe(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        _ => url.to_owned(),
    }
}

/// Where records are kept.
enum Place {
    Sqlite(String),
    Redis(String),
}

impl Place {
    fn of(url: &str) -> Result<Self, OpenError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                "" => Err(OpenError::Url("'sqlite:' needs a path, such as sqlite:toolgate.db".to_owned())),
                path => Ok(Self::Sqlite(path.to_owned())),
            };
        }
        if url.starts_with("redis://") || url.starts_with("rediss://") {
            return Ok(Self::Redis(url.to_owned()));
        }
        let scheme = url.split(':').next().unwrap_or_default();
        Err(OpenError::Url(format!(
            "no store is called '{scheme}': write sqlite:PATH, sqlite::memory: or redis://HOST:PORT/DB"
        )))
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The smallest id of a turn that was made at that time or later: ids sort by time.
fn earliest(ms: u64) -> TurnId {
    TurnId(ulid::Ulid::from_parts(ms.min((1 << 48) - 1), 0))
}

/// What cannot be read is left out of an answer and said in the log.
fn readable<T>(read: Result<T, pack::Unreadable>) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(%error, "a stored row is left out")).ok()
}
