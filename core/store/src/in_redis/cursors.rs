//! Adapters' cursors and leases in Redis.

use std::time::Duration;

use async_trait::async_trait;
use contract::{Cursors, Fence, StoreDown};
use redis::cmd;

use super::{Redis, turns::millis};

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
