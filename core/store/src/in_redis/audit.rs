//! The audit trail in Redis: streams, of which what is past its time is trimmed with every batch.

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use contract::{
    StoreDown, TurnId,
    records::{AUDIT_MAX, Audit, AuditEvent, AuditQuery},
};
use redis::{Value, cmd};

use super::{Redis, turns::seconds};
use crate::{
    LINES_DEFAULT, now_ms,
    pack::{pack, unpack},
};

/// Streams beside each other.
const SHARDS: u64 = 16;
/// Entries that are read at once.
const CHUNK: usize = 500;
/// Entries of one stream that one question looks at.
const LOOKED: usize = AUDIT_MAX / SHARDS as usize;

#[async_trait]
impl Audit for Redis {
    async fn audit(&self, events: &[AuditEvent]) -> Result<(), StoreDown> {
        let keep = seconds(self.options.keep.audit);
        let oldest = now_ms().saturating_sub(keep.saturating_mul(1_000));
        let mut shards = BTreeMap::<u64, Vec<&AuditEvent>>::new();
        for event in events {
            shards.entry(shard(event.turn)).or_default().push(event);
        }
        let mut pipe = redis::pipe();
        for (shard, events) in shards {
            let key = self.keys.audit(shard);
            for event in events {
                let add = pipe.cmd("XADD").arg(&key).arg("MAXLEN").arg("~").arg(LOOKED).arg("*");
                add.arg("e").arg(pack(event)?).ignore();
            }
            pipe.cmd("XTRIM").arg(&key).arg("MINID").arg("~").arg(oldest).ignore();
            pipe.cmd("EXPIRE").arg(&key).arg(keep).ignore();
        }
        self.behind.pipe(&pipe).await
    }

    async fn audited(&self, query: &AuditQuery) -> Result<Vec<AuditEvent>, StoreDown> {
        let most = if query.most == 0 { LINES_DEFAULT } else { query.most };
        let shards = query.turn.map_or(0..SHARDS, |turn| shard(turn)..shard(turn) + 1);
        let mut found = Vec::new();
        for shard in shards {
            self.look(shard, query, most, &mut found).await?;
        }
        found.sort_by_key(|event| std::cmp::Reverse((event.turn, event.call)));
        // A batch that came twice.
        let mut seen = HashSet::new();
        found.retain(|event| seen.insert((event.turn, event.call)));
        found.truncate(most);
        Ok(found)
    }
}

impl Redis {
    /// The newest of one stream that fit.
    async fn look(
        &self,
        shard: u64,
        query: &AuditQuery,
        most: usize,
        found: &mut Vec<AuditEvent>,
    ) -> Result<(), StoreDown> {
        let key = self.keys.audit(shard);
        let since = query.since_ms.unwrap_or(0);
        let (mut until, mut looked, mut fit) = ("+".to_owned(), 0, 0);
        while fit < most && looked < LOOKED {
            let mut range = cmd("XREVRANGE");
            range.arg(&key).arg(&until).arg(since).arg("COUNT").arg(CHUNK);
            let entries: Vec<(String, Vec<Value>)> = self.behind.ask(&range).await?;
            looked += entries.len();
            for (_, fields) in &entries {
                let Some(Value::BulkString(bytes)) = fields.get(1) else { continue };
                let event: Option<AuditEvent> = crate::readable(unpack("event", bytes));
                let before = found.len();
                found.extend(event.filter(|event| query.fits(event)));
                fit += found.len() - before;
            }
            match entries.last().filter(|_| entries.len() == CHUNK) {
                Some((id, _)) => until = format!("({id}"),
                None => break,
            }
        }
        Ok(())
    }
}

fn shard(turn: TurnId) -> u64 {
    let bytes = turn.0.to_bytes();
    u64::from(bytes[15]) % SHARDS
}
