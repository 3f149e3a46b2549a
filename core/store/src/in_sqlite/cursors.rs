//! Adapters' cursors and leases in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use contract::{Cursors, Fence, StoreDown};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Sqlite, int};
use crate::{now_ms, owner};

#[async_trait]
impl Cursors for Sqlite {
    async fn load(&self, what: &str) -> Result<Option<Vec<u8>>, StoreDown> {
        let what = what.to_owned();
        self.threads
            .read(move |db| {
                let mut find = db.prepare_cached("SELECT value FROM cursors WHERE what = ?1")?;
                find.query_row([what], |row| row.get(0)).optional()
            })
            .await
    }

    async fn save(&self, what: &str, value: &[u8]) -> Result<(), StoreDown> {
        let (what, value) = (what.to_owned(), value.to_owned());
        self.threads
            .write(move |db| {
                let mut put = db.prepare_cached("INSERT OR REPLACE INTO cursors (what, value) VALUES (?1, ?2)")?;
                put.execute(params![what, value]).map(drop)
            })
            .await
    }

    async fn lease(&self, what: &str, ttl: Duration) -> Result<Option<Fence>, StoreDown> {
        let (what, me) = (what.to_owned(), self.options.owner.clone());
        self.threads.write(move |db| lease(db, &what, &me, ttl)).await
    }

    async fn release(&self, what: &str) -> Result<(), StoreDown> {
        let (what, me) = (what.to_owned(), self.options.owner.clone());
        self.threads
            .write(move |db| {
                // The fence stays and grows on.
                let mut free = db.prepare_cached("UPDATE leases SET until_ms = 0 WHERE what = ?1 AND owner = ?2")?;
                free.execute([what, me]).map(drop)
            })
            .await
    }
}

fn lease(db: &Connection, what: &str, me: &str, ttl: Duration) -> rusqlite::Result<Option<Fence>> {
    let mut find = db.prepare_cached("SELECT owner, fence, until_ms FROM leases WHERE what = ?1")?;
    let held = find
        .query_row([what], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))
        .optional()?;
    let now = int(now_ms());
    let fence = match held {
        None => 1,
        Some((owner, fence, until)) if owner == me && until > now => fence,
        Some((owner, fence, until)) if until <= now || owner::has_ended(&owner) => fence + 1,
        Some(_) => return Ok(None),
    };
    let until = now.saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
    let mut put =
        db.prepare_cached("INSERT OR REPLACE INTO leases (what, owner, fence, until_ms) VALUES (?1, ?2, ?3, ?4)")?;
    put.execute(params![what, me, fence, until])?;
    Ok(Some(Fence(fence.unsigned_abs())))
}
