//! The records in Redis 7, one script per change on one slot; no modules are needed.

mod approvals;
mod artefacts;
mod audit;
mod cursors;
mod keys;
mod link;
mod people;
mod queries;
mod schedules;
mod sessions;
mod tools;
mod trees;
mod turns;

use std::sync::Arc;

use contract::{StoreDown, TurnId, ids::PARTITIONS, records::Stores};
use moka::sync::Cache;
use redis::{Script, cmd};

use crate::{OpenError, Options, owner};
use keys::Keys;
use link::Link;

/// Turns whose partition is remembered; the others are looked for.
const PLACES: u64 = 16_384;

/// The store on one server.
pub struct Redis {
    /// For what turns wait for.
    link: Link,
    /// For what is written behind: a large batch delays no turn.
    behind: Link,
    keys: Keys,
    options: Options,
    scripts: Scripts,
    places: Cache<TurnId, u8>,
}

struct Scripts {
    artefacts: Script,
    accept: Script,
    change: Script,
    settle: Script,
    lease: Script,
    free: Script,
    cancel: Script,
    schedule: Script,
    session: Script,
    tool: Script,
}

impl Scripts {
    fn new() -> Self {
        Self {
            artefacts: Script::new(include_str!("artefacts.lua")),
            accept: Script::new(include_str!("accept.lua")),
            change: Script::new(concat!(include_str!("sessions.lua"), include_str!("change.lua"))),
            settle: Script::new(include_str!("settle.lua")),
            lease: Script::new(include_str!("lease.lua")),
            free: Script::new(include_str!("free.lua")),
            cancel: Script::new(include_str!("cancel.lua")),
            schedule: Script::new(include_str!("schedule.lua")),
            session: Script::new(concat!(include_str!("sessions.lua"), include_str!("session.lua"))),
            tool: Script::new(include_str!("tool.lua")),
        }
    }
}

/// Connects and checks that what is there is ours.
pub async fn open(url: &str, options: Options) -> Result<Stores, OpenError> {
    let client = client(url)?;
    let keys = Keys::new(&options.prefix)?;
    let store = Redis {
        link: Link::new(client.clone())?,
        behind: Link::new(client)?,
        keys,
        options,
        scripts: Scripts::new(),
        places: Cache::new(PLACES),
    };
    store.check().await?;
    let store = Arc::new(store);
    Ok(Stores {
        turns: store.clone(),
        sessions: store.clone(),
        people: store.clone(),
        trees: store.clone(),
        cursors: store.clone(),
        approvals: store.clone(),
        schedules: store.clone(),
        registry: store.clone(),
        artefacts: store.clone(),
        audit: store,
    })
}

fn client(url: &str) -> Result<redis::Client, OpenError> {
    if url.starts_with("rediss:") {
        // Somebody else of the process may have chosen one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    link::client(url)
}

impl Redis {
    /// The number of partitions is fixed when a store is made: a session's lane must not move.
    async fn check(&self) -> Result<(), OpenError> {
        let unreachable = |down: StoreDown| OpenError::Unreachable(down.to_string());
        let ours = format!("1 {PARTITIONS}");
        let mut pipe = redis::pipe();
        pipe.cmd("SET").arg(self.keys.made()).arg(&ours).arg("NX").ignore();
        pipe.cmd("GET").arg(self.keys.made());
        let (made,): (String,) = self.link.pipe(&pipe).await.map_err(unreachable)?;
        match made == ours {
            true => Ok(()),
            false => Err(OpenError::Foreign(format!("it is of layout '{made}', this program of '{ours}'"))),
        }
    }

    /// Where a turn is, which its id does not say.
    async fn place(&self, turn: TurnId) -> Result<Option<u8>, StoreDown> {
        if let Some(partition) = self.places.get(&turn) {
            return Ok(Some(partition));
        }
        let mut pipe = redis::pipe();
        for partition in 0..PARTITIONS {
            pipe.cmd("EXISTS").arg(self.keys.turn(partition, turn));
        }
        let there: Vec<bool> = self.link.pipe(&pipe).await?;
        let found = (0..PARTITIONS).zip(there).find_map(|(partition, there)| there.then_some(partition));
        if let Some(partition) = found {
            self.places.insert(turn, partition);
        }
        Ok(found)
    }

    /// One of the owners that is known to have ended, or an empty text, which is nobody's name.
    fn dead_among(&self, owners: impl IntoIterator<Item = Option<String>>) -> String {
        let mut others: Vec<_> = owners.into_iter().flatten().filter(|other| *other != self.options.owner).collect();
        others.sort();
        others.dedup();
        others.into_iter().find(|other| owner::has_ended(other)).unwrap_or_default()
    }
}

/// What can be lost with the server as it is set up; one sentence each.
pub async fn warnings(url: &str) -> Result<Vec<String>, OpenError> {
    let link = Link::new(client(url)?)?;
    let info: String =
        link.ask(cmd("INFO").arg("server")).await.map_err(|down| OpenError::Unreachable(down.to_string()))?;
    let mut warnings = Vec::new();
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("unknown");
    if version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_none_or(|major| major < 7) {
        warnings.push(format!("redis has version {version}; it is tested with 7.0 and later"));
    }
    let setting = async |name: &str| -> Option<String> {
        let answer: Result<Vec<String>, _> = link.ask(cmd("CONFIG").arg("GET").arg(name)).await;
        answer.ok().and_then(|pair| pair.into_iter().nth(1))
    };
    match setting("appendonly").await.as_deref() {
        Some("yes") => {}
        Some(_) => warnings.push(
            "redis runs without 'appendonly yes': when it restarts, messages and replies since its last snapshot are lost"
                .to_owned(),
        ),
        None => warnings.push("redis does not tell whether 'appendonly yes' is set".to_owned()),
    }
    match setting("maxmemory-policy").await.as_deref() {
        Some("noeviction") | None => {}
        Some(policy) => warnings.push(format!(
            "redis has maxmemory-policy {policy}: when its memory is full it drops records; set noeviction"
        )),
    }
    Ok(warnings)
}
