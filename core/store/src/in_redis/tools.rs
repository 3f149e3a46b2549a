//! Added tools in Redis: everything on one slot, and a channel on which each change is told.

use std::time::Duration;

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{CHANGES_MAX, PutTool, Registry, Shelf, StoredTool, TOOLS_MAX, ToolChange},
};
use redis::cmd;

use super::Redis;
use crate::pack::{pack, unpack};

/// How often it is looked although nothing was told: a message to a connection that broke is lost.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a subscription may take to come about.
const SUBSCRIBE: Duration = Duration::from_secs(2);

#[async_trait]
impl Registry for Redis {
    async fn shelf(&self) -> Result<Shelf, StoreDown> {
        let [tools, _, refreshed, generation] = self.keys.tools();
        let mut pipe = redis::pipe();
        pipe.atomic().cmd("GET").arg(generation).cmd("HVALS").arg(tools).cmd("HGETALL").arg(refreshed);
        type Rows = (Option<u64>, Vec<Vec<u8>>, Vec<(String, u64)>);
        let (generation, tools, refreshed): Rows = self.link.pipe(&pipe).await?;
        let read = |tool: Vec<u8>| crate::readable(unpack("tool", &tool));
        let mut tools: Vec<StoredTool> = tools.into_iter().filter_map(read).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Shelf { generation: generation.unwrap_or_default(), tools, refreshed: refreshed.into_iter().collect() })
    }

    async fn stored_tool(&self, name: &str) -> Result<Option<StoredTool>, StoreDown> {
        let [tools, ..] = self.keys.tools();
        let tool: Option<Vec<u8>> = self.link.ask(cmd("HGET").arg(tools).arg(name)).await?;
        Ok(tool.map(|tool| unpack("tool", &tool)).transpose()?)
    }

    async fn tool_changes(&self, name: &str, most: usize) -> Result<Vec<ToolChange>, StoreDown> {
        let Some(last) = most.checked_sub(1) else { return Ok(Vec::new()) };
        let list = cmd("LRANGE").arg(self.keys.tool_changes(name)).arg(0).arg(last).clone();
        let rows: Vec<Vec<u8>> = self.link.ask(&list).await?;
        Ok(rows.iter().filter_map(|row| crate::readable(unpack("change of a tool", row))).collect())
    }

    async fn put_tool(&self, change: &ToolChange) -> Result<PutTool, StoreDown> {
        let [tools, versions, _, generation] = self.keys.tools();
        let StoredTool { name, version, .. } = &change.after;
        let mut put = self.scripts.tool.prepare_invoke();
        put.key(tools)
            .key(versions)
            .key(self.keys.tool_changes(name))
            .key(generation)
            .arg(name)
            .arg(version.saturating_sub(1))
            .arg(version)
            .arg(pack(&change.after)?)
            .arg(pack(change)?)
            .arg(CHANGES_MAX)
            .arg(TOOLS_MAX)
            .arg(self.keys.tools_told());
        let made: u8 = self.link.script(&put).await?;
        Ok(match made {
            0 => PutTool::Late,
            2 => PutTool::Full,
            _ => PutTool::Made,
        })
    }

    async fn refresh_tool(&self, name: &str) -> Result<(), StoreDown> {
        let [_, _, refreshed, generation] = self.keys.tools();
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("HINCRBY").arg(refreshed).arg(name).arg(1).ignore();
        pipe.cmd("INCR").arg(generation).ignore();
        pipe.cmd("PUBLISH").arg(self.keys.tools_told()).arg(name).ignore();
        self.link.pipe(&pipe).await
    }

    async fn tools_changed(&self, since: u64) -> Result<u64, StoreDown> {
        use futures_util::StreamExt as _;
        // Before the first look, so that nothing is told between the two.
        let mut told = self.subscribed(&self.keys.tools_told()).await?;
        let [.., generation] = self.keys.tools();
        loop {
            let now: Option<u64> = self.link.ask(cmd("GET").arg(&generation)).await?;
            match now.unwrap_or_default() {
                now if now != since => return Ok(now),
                _ => {}
            }
            if let Ok(None) = tokio::time::timeout(LOOK_EVERY, told.next()).await {
                return Err(StoreDown("redis: the subscription ended".to_owned()));
            }
        }
    }
}

impl Redis {
    /// A connection of its own, as the protocol wants.
    async fn subscribed(&self, channel: &str) -> Result<redis::aio::PubSubStream, StoreDown> {
        let down = |error: redis::RedisError| StoreDown(format!("redis: {error}"));
        let subscribing = async {
            let mut connection = self.link.client().get_async_pubsub().await.map_err(down)?;
            connection.subscribe(channel).await.map_err(down)?;
            Ok(connection.into_on_message())
        };
        let late = |_| Err(StoreDown("redis: no subscription in time".to_owned()));
        tokio::time::timeout(SUBSCRIBE, subscribing).await.unwrap_or_else(late)
    }
}
