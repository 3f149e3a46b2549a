//! What sessions remember, adapters' cursors and leases in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use contract::{
    Cursors, Fence, SessionKey, StoreDown,
    records::{Item, Sessions},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Sqlite, int};
use crate::{
    ITEMS_MAX, now_ms, owner,
    pack::{pack, unpack},
};

#[async_trait]
impl Sessions for Sqlite {
    async fn items(&self, session: &SessionKey, most: usize) -> Result<Vec<Item>, StoreDown> {
        let session = session.hash();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let packed: Vec<Vec<u8>> = self
            .threads
            .read(move |db| {
                let mut newest =
                    db.prepare_cached("SELECT item FROM items WHERE session = ?1 ORDER BY n DESC LIMIT ?2")?;
                newest.query_map(params![session, most], |row| row.get(0))?.collect()
            })
            .await?;
        packed.iter().rev().map(|item| Ok(unpack("item of a session", item)?)).collect()
    }

    async fn remember(&self, session: &SessionKey, item: &Item) -> Result<(), StoreDown> {
        let (session, item) = (session.hash(), pack(item)?);
        self.threads.write(move |db| remember(db, session, &item)).await
    }

    async fn reset(&self, session: &SessionKey) -> Result<(), StoreDown> {
        let session = session.hash();
        self.threads.write(move |db| db.execute("DELETE FROM items WHERE session = ?1", [session]).map(drop)).await
    }
}

/// Appends and keeps the newest; what is there already is not put twice.
pub fn remember(db: &Connection, session: [u8; 16], item: &[u8]) -> rusqlite::Result<()> {
    let mut known = db.prepare_cached(
        "SELECT 1 FROM (SELECT item FROM items WHERE session = ?1 ORDER BY n DESC LIMIT 32) WHERE item = ?2",
    )?;
    if known.exists(params![session, item])? {
        return Ok(());
    }
    let mut put = db.prepare_cached("INSERT INTO items (session, item, at_ms) VALUES (?1, ?2, ?3)")?;
    put.execute(params![session, item, int(now_ms())])?;
    let mut trim = db.prepare_cached(
        "DELETE FROM items WHERE session = ?1
         AND n <= (SELECT n FROM items WHERE session = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)",
    )?;
    trim.execute(params![session, ITEMS_MAX]).map(drop)
}

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
