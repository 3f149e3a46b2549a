//! Where a scenario keeps its records: a fresh SQLite file, or a Redis of its own. Outlives the gateways on it.

use std::sync::atomic::{AtomicU32, Ordering};

use contract::records::Stores;
use store::{Options, owner};

use crate::redis::Redis;

/// The kinds of store; every scenario that touches records runs on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Redis,
}

/// A store that outlives the gateways on it.
pub struct Ground {
    folder: tempfile::TempDir,
    redis: Option<Redis>,
    lives: AtomicU32,
}

impl Ground {
    pub async fn new(kind: Kind) -> Self {
        let redis = match kind {
            Kind::Sqlite => None,
            Kind::Redis => Some(Redis::start().await),
        };
        Self { folder: tempfile::tempdir().expect("a temporary folder can be made"), redis, lives: AtomicU32::new(0) }
    }

    /// Opens the store for one more process life. Its name is that of a process which has ended, so that the next
    /// life takes over at once, as it does from a process that was killed.
    pub fn opening(&self) -> impl Future<Output = Stores> + Send + use<> {
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        let options = Options { owner: format!("{}0{life}", owner::this_process()), ..Options::default() };
        let url = self.url();
        async move { store::open(&url, options).await.expect("the store opens") }
    }

    pub async fn open(&self) -> Stores {
        self.opening().await
    }

    pub fn url(&self) -> String {
        match &self.redis {
            Some(redis) => redis.url(),
            None => format!("sqlite:{}", self.folder.path().join("toolgate.db").display()),
        }
    }

    /// The server, where the store is Redis.
    pub fn server(&mut self) -> Option<&mut Redis> {
        self.redis.as_mut()
    }
}
