//! What sessions remember, adapters' cursors and leases in Redis.

use std::time::Duration;

use async_trait::async_trait;
use contract::{
    Cursors, Fence, SessionKey, StoreDown,
    records::{Item, Sessions},
};
use redis::cmd;

use super::{
    Redis,
    turns::{millis, seconds},
};
use crate::{
    ITEMS_MAX,
    pack::{pack, unpack},
};

#[async_trait]
impl Sessions for Redis {
    async fn items(&self, session: &SessionKey, most: usize) -> Result<Vec<Item>, StoreDown> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let packed: Vec<Vec<u8>> =
            self.link.ask(cmd("LRANGE").arg(self.session_key(session)).arg(-most).arg(-1)).await?;
        packed.iter().map(|item| Ok(unpack("item of a session", item)?)).collect()
    }

    async fn remember(&self, session: &SessionKey, item: &Item) -> Result<(), StoreDown> {
        let mut remember = self.scripts.remember.prepare_invoke();
        remember
            .key(self.session_key(session))
            .arg(pack(item)?)
            .arg(ITEMS_MAX)
            .arg(seconds(self.options.keep.sessions));
        self.link.script(&remember).await
    }

    async fn reset(&self, session: &SessionKey) -> Result<(), StoreDown> {
        self.link.ask(cmd("DEL").arg(self.session_key(session))).await
    }
}

#[async_trait]
impl Cursors for Redis {
    async fn load(&self, what: &str) -> Result<Option<Vec<u8>>, StoreDown> {
        self.link.ask(cmd("GET").arg(self.keys.cursor(what))).await
    }

    async fn save(&self, what: &str, value: &[u8]) -> Result<(), StoreDown> {
        self.link.ask(cmd("SET").arg(self.keys.cursor(what)).arg(value)).await
    }

    async fn lease(&self, what: &str, ttl: Duration) -> Result<Option<Fence>, StoreDown> {
        let key = self.keys.lease(what);
        let owner: Option<String> = self.link.ask(cmd("HGET").arg(&key).arg("owner")).await?;
        let mut lease = self.scripts.lease.prepare_invoke();
        lease.key(key).arg(&self.options.owner).arg(millis(ttl)).arg(self.dead_among([owner]));
        let fence: String = self.link.script(&lease).await?;
        Ok(fence.parse().ok().map(Fence))
    }

    async fn release(&self, what: &str) -> Result<(), StoreDown> {
        self.link.script(self.scripts.free.prepare_invoke().key(self.keys.lease(what)).arg(&self.options.owner)).await
    }
}
