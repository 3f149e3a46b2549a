//! Approvals in SQLite: what never changes in one column, where it stands in two more.

use async_trait::async_trait;
use contract::{
    SessionKey, StoreDown, TurnId,
    records::{Approval, ApprovalId, ApprovalState, Approvals, NotRead, Person, Settled},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Sqlite, id_bytes, int};
use crate::{
    now_ms,
    record::{Op, approval_of, approval_without, asked, state_bytes},
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
                match set.execute(params![id, was, from, is, becomes, settled_ms])? {
                    0 => Ok(Settled::Late),
                    _ if is_open => Ok(Settled::Made { woke: false }),
                    _ => woken(db, turn, lane),
                }
            })
            .await
    }

    async fn settle_unread(
        &self,
        id: ApprovalId,
        turn: TurnId,
        session: &SessionKey,
        to: &ApprovalState,
    ) -> Result<Settled, StoreDown> {
        let (is, becomes) = (to.number(), state_bytes(to)?);
        let (id, lane) = (id.to_string(), session.hash());
        self.threads
            .write(move |db| {
                let mut set = db.prepare_cached(
                    "UPDATE approvals SET state = ?2, detail = ?3, settled_ms = ?4
                     WHERE id = ?1 AND (settled_ms IS NULL OR (state = ?2 AND detail = ?3))",
                )?;
                match set.execute(params![id, is, becomes, int(now_ms())])? {
                    0 => Ok(Settled::Late),
                    _ => woken(db, turn, lane),
                }
            })
            .await
    }

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, NotRead> {
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

/// The turn of what was settled is in its lane again, if it was parked.
fn woken(db: &Connection, turn: TurnId, lane: [u8; 16]) -> rusqlite::Result<Settled> {
    super::turns::unpark(db, turn, lane, true)?;
    // What was put back by a write whose answer was lost is there too.
    let mut queued = db.prepare_cached("SELECT 1 FROM turns WHERE id = ?1 AND state = 0")?;
    Ok(Settled::Made { woke: queued.exists([id_bytes(turn)])? })
}

/// Takes a person's words and names out of a batch of those behind `after` whose turns are over; how many, and where the
/// next batch begins.
pub fn without(db: &Connection, person: &Person, after: &str, most: i64) -> rusqlite::Result<(u64, Option<String>)> {
    type Row = (String, Vec<u8>, u8, Vec<u8>);
    let mut some =
        db.prepare_cached("SELECT id, fixed, state, detail FROM approvals WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let rows = some.query_map(params![after, most], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let rows = rows.collect::<Result<Vec<Row>, _>>()?;
    let mut erased = 0;
    for (id, fixed, state, detail) in &rows {
        let Some((blank, told)) = approval_without(fixed, *state, detail, person) else { continue };
        let Some(approval) = crate::readable(approval_of(fixed, *state, detail)) else { continue };
        // What a turn that goes on is bound to stays.
        let mut open = db.prepare_cached("SELECT 1 FROM turns WHERE id = ?1 AND done_ms IS NULL")?;
        if open.exists([id_bytes(approval.turn)])? || (&blank, &told) == (fixed, detail) {
            continue;
        }
        let mut put = db.prepare_cached("UPDATE approvals SET fixed = ?2, detail = ?3 WHERE id = ?1")?;
        put.execute(params![id, blank, told])?;
        erased += 1;
    }
    Ok((erased, rows.into_iter().last().map(|(id, ..)| id)))
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
