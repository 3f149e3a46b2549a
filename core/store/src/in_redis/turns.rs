//! Turns in Redis: a hash each, changed by one script that checks the fence.

use async_trait::async_trait;
use contract::{
    Fence, SessionKey, StoreDown, TurnId,
    ids::PARTITIONS,
    records::{Admitted, Change, ChangeError, LEASE, Owned, Record, Turns},
};
use redis::ScriptInvocation;

use super::Redis;
use crate::record::{self, Fresh, Op, Row, dedup_key, hex, ops};

/// Records that are read at once.
const CHUNK: usize = 128;

/// A hash as it is read.
type Fields = Vec<(String, Vec<u8>)>;

#[async_trait]
impl Turns for Redis {
    async fn accept(&self, record: &Record) -> Result<Admitted, StoreDown> {
        let (partition, lane) = (record.session.partition(), hex(&record.session.hash()));
        let parts = Fresh::of(record)?;
        let key = dedup_key(record);
        let seen = self.keys.seen(partition);
        let mut accept = self.scripts.accept.prepare_invoke();
        accept
            .key(format!("{seen}{}", hex(&key)))
            .key(self.keys.turn(partition, record.id))
            .key(self.keys.lane(partition, &lane))
            .key(self.keys.lanes(partition))
            .key(self.keys.account(partition, &key[..8]))
            .arg(record.id.to_string())
            .arg(&lane)
            .arg(parts.head)
            .arg(parts.said)
            .arg(self.options.lane)
            .arg(seconds(self.options.keep.done))
            .arg((self.options.keep.keys_per_account / usize::from(PARTITIONS)).max(1))
            .arg(hex(&key))
            .arg(&seen);
        let (word, value): (String, String) = self.link.script(&accept).await?;
        let strange = || StoreDown(format!("redis answered '{word} {value}' to an acceptance"));
        if word == "known" {
            return value.parse().map(|id| Admitted::Known { id }).map_err(|_| strange());
        }
        self.places.insert(record.id, partition);
        match word.as_str() {
            "full" => Ok(Admitted::Full),
            "new" => value.parse().map(|ahead| Admitted::New { ahead }).map_err(|_| strange()),
            _ => Err(strange()),
        }
    }

    async fn hold(&self) -> Result<Vec<Owned>, StoreDown> {
        let dead = self.dead_owner().await?;
        let script = &self.scripts.lease;
        let mut pipe = redis::pipe();
        pipe.cmd("SCRIPT").arg("LOAD").arg(include_str!("lease.lua")).ignore();
        for partition in 0..PARTITIONS {
            pipe.cmd("EVALSHA").arg(script.get_hash()).arg(1).arg(self.keys.partition_lease(partition));
            pipe.arg(&self.options.owner).arg(millis(LEASE)).arg(&dead);
        }
        let fences: Vec<String> = self.link.pipe(&pipe).await?;
        let owned =
            |(partition, fence): (u8, String)| fence.parse().ok().map(|fence| Owned { partition, fence: Fence(fence) });
        Ok((0..PARTITIONS).zip(fences).filter_map(owned).collect())
    }

    async fn let_go(&self) -> Result<(), StoreDown> {
        let mut pipe = redis::pipe();
        pipe.cmd("SCRIPT").arg("LOAD").arg(include_str!("free.lua")).ignore();
        for partition in 0..PARTITIONS {
            pipe.cmd("EVALSHA").arg(self.scripts.free.get_hash()).arg(1).arg(self.keys.partition_lease(partition));
            pipe.arg(&self.options.owner).ignore();
        }
        self.link.pipe(&pipe).await
    }

    async fn unfinished(&self, partition: u8) -> Result<Vec<Record>, StoreDown> {
        let ids = self.unfinished_ids(partition).await?;
        let mut records = Vec::with_capacity(ids.len());
        for ids in ids.chunks(CHUNK) {
            let mut pipe = redis::pipe();
            for id in ids {
                pipe.cmd("HGETALL").arg(self.keys.turn(partition, *id));
            }
            let all: Vec<Fields> = self.link.pipe(&pipe).await?;
            for (turn, fields) in ids.iter().zip(all) {
                match row(*turn, fields).map(Row::into_record).transpose() {
                    Ok(record) => records.extend(record.filter(|record| !is_done(record))),
                    // One record that cannot be read does not keep the others from being taken up.
                    Err(error) => tracing::error!(%turn, %error, "a turn is left out of the recovery"),
                }
            }
        }
        Ok(records)
    }

    async fn change(
        &self,
        fence: Fence,
        turn: TurnId,
        session: &SessionKey,
        changes: &[Change],
    ) -> Result<(), ChangeError> {
        let (partition, lane) = (session.partition(), hex(&session.hash()));
        let mut change = self.scripts.change.prepare_invoke();
        change
            .key(self.keys.partition_lease(partition))
            .key(self.keys.turn(partition, turn))
            .key(self.keys.lane(partition, &lane))
            .key(self.keys.lanes(partition))
            .key(self.keys.due(partition))
            .arg(fence.0)
            .arg(turn.to_string())
            .arg(&lane)
            .arg(seconds(self.options.keep.done))
            .arg(self.session_limits())
            .arg(self.keys.base(partition));
        let approvals = (self.keys.approvals(partition), self.keys.asked(partition));
        ops(changes)?.iter().for_each(|op| put(&mut change, op, &approvals));
        let made: u8 = self.link.script(&change).await?;
        match made {
            0 => Err(ChangeError::Lost),
            2 => Err(ChangeError::NotAllowed),
            _ => Ok(()),
        }
    }

    async fn cancel(&self, turn: TurnId) -> Result<bool, StoreDown> {
        let Some(partition) = self.place(turn).await? else { return Ok(false) };
        self.link.script(self.scripts.cancel.prepare_invoke().key(self.keys.turn(partition, turn))).await
    }

    async fn get(&self, turn: TurnId) -> Result<Option<Record>, StoreDown> {
        let Some(partition) = self.place(turn).await? else { return Ok(None) };
        let fields: Fields = self.link.ask(redis::cmd("HGETALL").arg(self.keys.turn(partition, turn))).await?;
        Ok(row(turn, fields).map(Row::into_record).transpose()?)
    }

    /// Everything in Redis expires by itself.
    async fn sweep(&self) -> Result<(), StoreDown> {
        Ok(())
    }

    async fn close(&self) {
        if let Err(error) = self.let_go().await {
            tracing::warn!(%error, "the leases were not given back; they run out by themselves");
        }
        self.link.close();
        self.behind.close();
    }
}

impl Redis {
    /// Whoever held partitions and is known to be dead need not be waited for.
    async fn dead_owner(&self) -> Result<String, StoreDown> {
        let mut pipe = redis::pipe();
        for partition in 0..PARTITIONS {
            pipe.cmd("HGET").arg(self.keys.partition_lease(partition)).arg("owner");
        }
        let owners: Vec<Option<String>> = self.link.pipe(&pipe).await?;
        Ok(self.dead_among(owners))
    }

    /// Of turns in lanes, each lane in its order, then of those that wait for something else.
    async fn unfinished_ids(&self, partition: u8) -> Result<Vec<TurnId>, StoreDown> {
        let mut pipe = redis::pipe();
        pipe.cmd("ZRANGE").arg(self.keys.lanes(partition)).arg(0).arg(-1);
        pipe.cmd("ZRANGE").arg(self.keys.due(partition)).arg(0).arg(-1);
        let (lanes, due): (Vec<String>, Vec<String>) = self.link.pipe(&pipe).await?;
        let mut pipe = redis::pipe();
        for lane in &lanes {
            pipe.cmd("LRANGE").arg(self.keys.lane(partition, lane)).arg(0).arg(-1);
        }
        let waiting: Vec<Vec<String>> = self.link.pipe(&pipe).await?;
        let mut ids: Vec<TurnId> = Vec::new();
        let mut known = std::collections::HashSet::<TurnId>::new();
        for id in waiting.into_iter().flatten().chain(due) {
            ids.extend(id.parse().ok().filter(|id| known.insert(*id)));
        }
        Ok(ids)
    }
}

fn is_done(record: &Record) -> bool {
    record.state == contract::records::TurnState::Done
}

/// Nothing when there is no such hash.
fn row(id: TurnId, fields: Fields) -> Option<Row> {
    let mut row = Row { id, state: u8::MAX, merged: None, lives: 0, cancelled: false, parts: Vec::new() };
    if fields.is_empty() {
        return None;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (name, value) in fields {
        match name.as_str() {
            "s" => row.state = text(&value).parse().unwrap_or(u8::MAX),
            "l" => row.lives = text(&value).parse().unwrap_or(0),
            "g" => row.merged = text(&value).parse().ok(),
            "c" => row.cancelled = true,
            "f" | "b" => {}
            _ => row.parts.push((name, value)),
        }
    }
    Some(row)
}

/// A step of the change script. `approvals`: what their keys begin with, and the key of those that are asked.
fn put(change: &mut ScriptInvocation<'_>, op: &Op, (approvals, asked): &(String, String)) {
    match op {
        Op::Set(field, value) => change.arg("set").arg(field).arg(value.as_slice()),
        Op::Del(field) => change.arg("del").arg(field),
        Op::Life => change.arg("life"),
        Op::Cancel => change.arg("cancel"),
        Op::Ask { id, until_ms, fixed } => {
            change.arg("ask").arg(format!("{approvals}{id}")).arg(asked).arg(id);
            change.arg(*until_ms).arg(fixed.as_slice()).arg(record::asked())
        }
        Op::Use(id) => change.arg("use").arg(format!("{approvals}{id}")),
        Op::Park { until_ms } => change.arg("park").arg(*until_ms),
        Op::Unpark => change.arg("unpark"),
        Op::Merge(into) => change.arg("merge").arg(into.to_string()),
        Op::Finish => change.arg("finish"),
        Op::Due(due_ms) => change.arg("due").arg(*due_ms),
        Op::Remember(put) => {
            change.arg("remember").arg(hex(&put.place)).arg(put.head.as_slice()).arg(&put.tenant);
            change.arg(hex(&put.owner)).arg(&put.title).arg(put.item.as_slice())
        }
        Op::Done { keep_message, keep_reply } => {
            change.arg("done").arg(u8::from(*keep_message)).arg(u8::from(*keep_reply))
        }
    };
}

/// At least one: zero would mean at once.
pub fn seconds(time: std::time::Duration) -> u64 {
    time.as_secs().max(1)
}

pub fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
