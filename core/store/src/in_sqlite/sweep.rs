//! What is past its time is deleted in small batches, so that no turn waits for it.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use contract::StoreDown;
use rusqlite::{Connection, params};

use super::{Sqlite, id_bytes, int, sessions::erase_old, threads::lock};
use crate::{earliest, now_ms};

/// Rows of one commit, and commits of one sweep and table.
const BATCH: i64 = 256;
const BATCHES: usize = 64;
/// Counting an account's keys reads all of them.
const COUNT_EVERY: Duration = Duration::from_secs(600);

/// When the keys of accounts were last counted.
#[derive(Default)]
pub struct Swept(Mutex<Option<Instant>>);

impl Sqlite {
    pub(super) async fn sweep_all(&self) -> Result<(), StoreDown> {
        let keep = self.options.keep.clone();
        let now = now_ms();
        let before = |age: Duration| now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let (done, sessions, traces) = (int(before(keep.done)), int(before(keep.sessions)), before(keep.traces));
        self.in_batches(move |db| forget_turns(db, done)).await?;
        self.in_batches(move |db| super::approvals::forget(db, done, BATCH)).await?;
        self.in_batches(move |db| erase_old(db, None, None, sessions)).await?;
        let oldest = id_bytes(earliest(traces));
        self.in_batches(move |db| forget_trees(db, oldest)).await?;
        let minute = int(traces / 60_000);
        self.in_batches(move |db| forget_measures(db, minute)).await?;
        self.sweep_artefacts().await?;
        let oldest = id_bytes(earliest(before(keep.audit)));
        self.in_batches(move |db| super::audit::forget(db, oldest, BATCH)).await?;
        self.cap_keys(keep.keys_per_account).await
    }

    /// Until a batch finds less than it may delete.
    async fn in_batches<F>(&self, batch: F) -> Result<(), StoreDown>
    where
        F: Fn(&Connection) -> rusqlite::Result<usize> + Copy + Send + 'static,
    {
        for _ in 0..BATCHES {
            if self.threads.write(move |db| batch(db)).await? < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                break;
            }
        }
        Ok(())
    }

    /// Forgets the oldest keys of accounts that have too many.
    async fn cap_keys(&self, most: usize) -> Result<(), StoreDown> {
        let due = lock(&self.swept.0).is_none_or(|at| at.elapsed() >= COUNT_EVERY);
        if !due {
            return Ok(());
        }
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        if let Some(first) = self.threads.read(super::audit::first_to_keep).await? {
            self.in_batches(move |db| super::audit::forget(db, first, BATCH)).await?;
        }
        let surplus = self.threads.read(move |db| surplus_keys(db, most)).await?;
        let mut ids = surplus.into_iter();
        loop {
            let batch: Vec<_> = ids.by_ref().take(usize::try_from(BATCH).unwrap_or(1)).collect();
            if batch.is_empty() {
                break;
            }
            self.threads
                .write(move |db| {
                    let mut forget = db.prepare_cached("UPDATE turns SET key = NULL WHERE id = ?1")?;
                    batch.iter().try_for_each(|id| forget.execute([id]).map(drop))
                })
                .await?;
        }
        *lock(&self.swept.0) = Some(Instant::now());
        Ok(())
    }
}

fn forget_turns(db: &Connection, before_ms: i64) -> rusqlite::Result<usize> {
    let mut old = db.prepare_cached("SELECT id FROM turns WHERE done_ms < ?1 LIMIT ?2")?;
    let old = old.query_map([before_ms, BATCH], |row| row.get(0))?.collect::<Result<Vec<[u8; 16]>, _>>()?;
    let mut parts = db.prepare_cached("DELETE FROM parts WHERE turn = ?1")?;
    let mut turns = db.prepare_cached("DELETE FROM turns WHERE id = ?1")?;
    for id in &old {
        parts.execute([id])?;
        turns.execute([id])?;
    }
    Ok(old.len())
}

fn forget_trees(db: &Connection, before: [u8; 16]) -> rusqlite::Result<usize> {
    let mut forgotten = 0;
    for table in ["nodes", "lines", "calls"] {
        let mut old =
            db.prepare_cached(&format!("SELECT DISTINCT turn FROM {table} WHERE turn < ?1 ORDER BY turn LIMIT ?2"))?;
        let old = old.query_map(params![before, BATCH], |row| row.get(0))?.collect::<Result<Vec<[u8; 16]>, _>>()?;
        let mut forget = db.prepare_cached(&format!("DELETE FROM {table} WHERE turn = ?1"))?;
        for turn in &old {
            forget.execute([turn])?;
        }
        forgotten = forgotten.max(old.len());
    }
    Ok(forgotten)
}

fn forget_measures(db: &Connection, before_minute: i64) -> rusqlite::Result<usize> {
    let mut old = db.prepare_cached("SELECT minute, tool, boot FROM measures WHERE minute < ?1 LIMIT ?2")?;
    let old = old
        .query_map([before_minute, BATCH], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<Vec<(i64, String, String)>, _>>()?;
    let mut forget = db.prepare_cached("DELETE FROM measures WHERE minute = ?1 AND tool = ?2 AND boot = ?3")?;
    for (minute, tool, boot) in &old {
        forget.execute(params![minute, tool, boot])?;
    }
    Ok(old.len())
}

/// Turns whose keys are beyond the newest `most` of their account.
fn surplus_keys(db: &Connection, most: i64) -> rusqlite::Result<Vec<[u8; 16]>> {
    let mut next = db.prepare_cached("SELECT min(key) FROM turns WHERE key > ?1")?;
    let mut count = db.prepare_cached("SELECT count(*) FROM turns WHERE key BETWEEN ?1 AND ?2")?;
    let mut beyond =
        db.prepare_cached("SELECT id FROM turns WHERE key BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3")?;
    let mut surplus = Vec::new();
    let mut last = [0; 24];
    // From account to account by jumps through the index.
    while let Some(first) = next.query_row([last], |row| row.get::<_, Option<[u8; 24]>>(0))? {
        last = [0xff; 24];
        last[..8].copy_from_slice(&first[..8]);
        if count.query_row(params![first, last], |row| row.get::<_, i64>(0))? > most {
            let ids = beyond.query_map(params![first, last, most], |row| row.get(0))?;
            surplus.extend(ids.collect::<Result<Vec<[u8; 16]>, _>>()?);
        }
    }
    Ok(surplus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_keys_of_an_account_with_too_many_are_found() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        let put = |id: u8, account: u8| {
            let mut key = [account; 24];
            key[23] = id.wrapping_mul(101);
            let values = params![[id; 16], key, [0u8; 16]];
            db.execute("INSERT INTO turns (id, key, lane, part, state) VALUES (?1, ?2, ?3, 0, 5)", values).unwrap();
        };
        (0..5).for_each(|id| put(id, 0xff));
        (5..8).for_each(|id| put(id, 0));
        let mut surplus = surplus_keys(&db, 3).unwrap();
        surplus.sort_unstable();
        assert_eq!(surplus, [[0; 16], [1; 16]]);
        assert!(surplus_keys(&db, 5).unwrap().is_empty());
    }
}
