//! Approvals in SQLite: what never changes in one column, where it stands in two more.

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{Approval, ApprovalId, ApprovalState, Approvals, Settled},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Sqlite, id_bytes, int};
use crate::{
    now_ms,
    record::{Op, approval_of, asked, state_bytes},
};

#[async_trait]
impl Approvals for Sqlite {
    async fn settle(&self, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown> {
        let (from, becomes) = (state_bytes(&approval.state)?, state_bytes(to)?);
        let (was, is, is_open) = (approval.state.number(), to.number(), to.is_open());
        let (id, turn, lane) = (approval.id.to_string(), approval.turn, approval.session.hash());
        self.threads
            .write(move |db| {
                let mut set = db.prepare_cached(
                    "UPDATE approvals SET state = ?4, detail = ?5, settled_ms = ?6
                     WHERE id = ?1 AND ((state = ?2 AND detail = ?3) OR (state = ?4 AND detail = ?5))",
                )?;
                let settled_ms = (!is_open).then(now_ms).map(int);
                if set.execute(params![id, was, from, is, becomes, settled_ms])? == 0 {
                    return Ok(Settled::Late);
                }
                if !is_open {
                    super::turns::unpark(db, turn, lane, true)?;
                }
                // What was put back by a write whose answer was lost is there too.
                let mut queued = db.prepare_cached("SELECT 1 FROM turns WHERE id = ?1 AND state = 0")?;
                Ok(Settled::Made { woke: !is_open && queued.exists([id_bytes(turn)])? })
            })
            .await
    }

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreDown> {
        let id = id.to_string();
        let row = self
            .threads
            .read(move |db| {
                let mut find = db.prepare_cached("SELECT fixed, state, detail FROM approvals WHERE id = ?1")?;
                find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
            })
            .await?;
        Ok(row.map(|(fixed, state, detail): (Vec<u8>, u8, Vec<u8>)| approval_of(&fixed, state, &detail)).transpose()?)
    }

    async fn open_approvals(&self, most: usize) -> Result<Vec<Approval>, StoreDown> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows: Vec<(Vec<u8>, u8, Vec<u8>)> = self
            .threads
            .read(move |db| {
                let mut open = db.prepare_cached(
                    "SELECT fixed, state, detail FROM approvals WHERE settled_ms IS NULL ORDER BY until_ms, id LIMIT ?1",
                )?;
                open.query_map([most], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
            })
            .await?;
        Ok(rows
            .iter()
            .filter_map(|(fixed, state, detail)| crate::readable(approval_of(fixed, *state, detail)))
            .collect())
    }
}

/// One that is there already is left as it is.
pub fn ask(db: &Connection, id: &str, until_ms: u64, fixed: &[u8]) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached(
        "INSERT OR IGNORE INTO approvals (id, until_ms, fixed, state, detail) VALUES (?1, ?2, ?3, 0, ?4)",
    )?;
    put.execute(params![id, int(until_ms), fixed, asked()]).map(drop)
}

/// Whether all that calls start by is allowed, or was used by the same call before.
pub fn are_allowed(db: &Connection, ops: &[Op]) -> rusqlite::Result<bool> {
    for op in ops {
        let Op::Use(id) = op else { continue };
        let mut find = db.prepare_cached("SELECT 1 FROM approvals WHERE id = ?1 AND state IN (?2, ?3)")?;
        if !find.exists(params![id, ApprovalState::ALLOWED, ApprovalState::USED])? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub fn take(db: &Connection, id: &str) -> rusqlite::Result<()> {
    let mut set = db.prepare_cached("UPDATE approvals SET state = ?2 WHERE id = ?1")?;
    set.execute(params![id, ApprovalState::USED]).map(drop)
}

pub fn forget(db: &Connection, before_ms: i64, most: i64) -> rusqlite::Result<usize> {
    let mut forget = db.prepare_cached(
        "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE settled_ms < ?1 LIMIT ?2)",
    )?;
    forget.execute(params![before_ms, most])
}
