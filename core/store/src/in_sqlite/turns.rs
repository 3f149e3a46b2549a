//! Turns in SQLite: a change writes the turn's small row and the parts that it concerns.

use std::fs::{File, TryLockError};

use async_trait::async_trait;
use contract::{
    Fence, SessionKey, StoreDown, TurnId,
    ids::PARTITIONS,
    records::{Admitted, Change, ChangeError, Owned, Record, TurnState, Turns},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Ownership, Sqlite, approvals, id_bytes, id_of, int, sessions, threads::lock};
use crate::{
    now_ms,
    record::{DELIVERY, Fresh, HEAD, Op, REPLY, Row, SAID, WAIT, dedup_key, ops, state_number},
};

const ANSWERED: u8 = 4;
const DONE: u8 = 5;

#[async_trait]
impl Turns for Sqlite {
    async fn accept(&self, record: &Record) -> Result<Admitted, StoreDown> {
        let new = NewTurn::of(record, self.options.lane)?;
        self.threads.write(move |db| new.accept(db)).await
    }

    async fn hold(&self) -> Result<Vec<Owned>, StoreDown> {
        let owner = self.owner.clone();
        let fence = self.threads.write(move |db| take(db, &mut lock(&owner))).await?;
        // Known only once it is committed, so that no fence is used that a crash would give out again.
        let mut owner = lock(&self.owner);
        owner.fence = owner.fence.max(fence);
        Ok(fence.map(|fence| (0..PARTITIONS).map(|partition| Owned { partition, fence }).collect()).unwrap_or_default())
    }

    async fn let_go(&self) -> Result<(), StoreDown> {
        let owner = self.owner.clone();
        // In the queue, behind the writes that were made as the owner.
        self.threads
            .write(move |_| {
                let mut owner = lock(&owner);
                owner.fence = None;
                owner.lock = None;
                Ok(())
            })
            .await
    }

    async fn unfinished(&self, partition: u8) -> Result<Vec<Record>, StoreDown> {
        self.threads.read(move |db| unfinished(db, partition)).await
    }

    async fn change(
        &self,
        fence: Fence,
        turn: TurnId,
        session: &SessionKey,
        changes: &[Change],
    ) -> Result<(), ChangeError> {
        let (ops, lane) = (ops(changes)?, session.hash());
        match self.threads.write(move |db| change(db, fence, turn, lane, &ops)).await? {
            Changed::Made => Ok(()),
            Changed::Lost => Err(ChangeError::Lost),
            Changed::NotAllowed => Err(ChangeError::NotAllowed),
        }
    }

    async fn cancel(&self, turn: TurnId) -> Result<bool, StoreDown> {
        self.threads
            .write(move |db| {
                let mut cancel = db.prepare_cached("UPDATE turns SET cancelled = 1 WHERE id = ?1 AND state < ?2")?;
                Ok(cancel.execute(params![id_bytes(turn), ANSWERED])? > 0)
            })
            .await
    }

    async fn get(&self, turn: TurnId) -> Result<Option<Record>, StoreDown> {
        let row = self
            .threads
            .read(move |db| {
                let snapshot = db.unchecked_transaction()?;
                let mut find = snapshot.prepare_cached(&format!("{SELECT} WHERE id = ?1"))?;
                find.query_row([id_bytes(turn)], hot).optional()?.map(|row| with_parts(&snapshot, row)).transpose()
            })
            .await?;
        Ok(row.map(Row::into_record).transpose()?)
    }

    async fn sweep(&self) -> Result<(), StoreDown> {
        self.sweep_all().await
    }

    async fn close(&self) {
        self.threads.close().await;
        let mut owner = lock(&self.owner);
        owner.fence = None;
        owner.lock = None;
    }
}

/// A turn on its way into the tables.
struct NewTurn {
    id: TurnId,
    key: [u8; 24],
    lane: [u8; 16],
    partition: u8,
    parts: Fresh,
    /// Most turns in its lane.
    most: usize,
}

impl NewTurn {
    fn of(record: &Record, most: usize) -> Result<Self, StoreDown> {
        Ok(Self {
            id: record.id,
            key: dedup_key(record),
            lane: record.session.hash(),
            partition: record.session.partition(),
            parts: Fresh::of(record)?,
            most,
        })
    }

    fn accept(&self, db: &Connection) -> rusqlite::Result<Admitted> {
        let mut known = db.prepare_cached("SELECT id, place, busy FROM turns WHERE key = ?1")?;
        let known = known
            .query_row([self.key], |row| Ok((id_of(row.get(0)?), row.get::<_, Option<i64>>(1)?, row.get(2)?)))
            .optional()?;
        match known {
            Some((id, ..)) if id != self.id => Ok(Admitted::Known { id }),
            // The same acceptance again, whose answer was lost.
            Some((_, _, true)) => Ok(Admitted::Full),
            Some((_, place, false)) => Ok(Admitted::New { ahead: self.ahead(db, place)? }),
            None => self.insert(db),
        }
    }

    fn ahead(&self, db: &Connection, place: Option<i64>) -> rusqlite::Result<usize> {
        let mut count = db.prepare_cached("SELECT count(*) FROM turns WHERE lane = ?1 AND place < ?2")?;
        count.query_row(params![self.lane, place.unwrap_or(i64::MIN)], |row| row.get::<_, i64>(0)).map(count_of)
    }

    fn insert(&self, db: &Connection) -> rusqlite::Result<Admitted> {
        let mut lane =
            db.prepare_cached("SELECT count(*), max(place) FROM turns WHERE lane = ?1 AND place IS NOT NULL")?;
        let (waiting, last) =
            lane.query_row([self.lane], |row| Ok((count_of(row.get(0)?), row.get::<_, Option<i64>>(1)?.unwrap_or(0))))?;
        let full = waiting >= self.most;
        let state = state_number(if full { TurnState::Done } else { TurnState::Queued });
        let place = (!full).then_some(last + 1);
        let mut insert = db.prepare_cached(
            "INSERT INTO turns (id, key, lane, part, state, place, busy, done_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        let done_ms = full.then(now_ms).map(int);
        insert.execute(params![id_bytes(self.id), self.key, self.lane, self.partition, state, place, full, done_ms])?;
        set(db, self.id, HEAD, &self.parts.head)?;
        if full {
            return Ok(Admitted::Full);
        }
        set(db, self.id, SAID, &self.parts.said)?;
        Ok(Admitted::New { ahead: waiting })
    }
}

/// Becomes the one owner, or stays it; nothing when another process is.
fn take(db: &Connection, owner: &mut Ownership) -> rusqlite::Result<Option<Fence>> {
    if owner.lock.is_none() {
        owner.fence = None;
        owner.lock = lock_file(owner).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    }
    match (owner.lock.is_some(), owner.fence) {
        (false, _) => Ok(None),
        (true, Some(fence)) => Ok(Some(fence)),
        (true, None) => db
            .query_row("UPDATE fence SET value = value + 1 RETURNING value", [], |row| row.get::<_, i64>(0))
            .map(|value| Some(Fence(value.unsigned_abs()))),
    }
}

fn lock_file(owner: &Ownership) -> std::io::Result<Option<File>> {
    let file = File::options().create(true).append(true).open(&owner.path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

const SELECT: &str = "SELECT id, state, merged, lives, cancelled FROM turns";

fn hot(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        id: id_of(row.get(0)?),
        state: row.get(1)?,
        merged: row.get::<_, Option<[u8; 16]>>(2)?.map(id_of),
        lives: row.get(3)?,
        cancelled: row.get(4)?,
        parts: Vec::new(),
    })
}

fn with_parts(db: &Connection, mut row: Row) -> rusqlite::Result<Row> {
    let mut parts = db.prepare_cached("SELECT field, value FROM parts WHERE turn = ?1")?;
    let parts = parts.query_map([id_bytes(row.id)], |part| Ok((part.get(0)?, part.get(1)?)))?;
    row.parts = parts.collect::<Result<_, _>>()?;
    Ok(row)
}

fn unfinished(db: &Connection, partition: u8) -> rusqlite::Result<Vec<Record>> {
    let snapshot = db.unchecked_transaction()?;
    let mut open = snapshot.prepare_cached(&format!(
        "{SELECT} WHERE part = ?1 AND done_ms IS NULL ORDER BY place IS NULL, lane, place, id"
    ))?;
    let rows = open.query_map([partition], hot)?.collect::<Result<Vec<_>, _>>()?;
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let turn = row.id;
        match with_parts(&snapshot, row)?.into_record() {
            Ok(record) => records.push(record),
            // One record that cannot be read does not keep the others from being taken up.
            Err(error) => tracing::error!(%turn, %error, "a turn is left out of the recovery"),
        }
    }
    Ok(records)
}

enum Changed {
    Made,
    /// The fence is old or the turn is gone.
    Lost,
    NotAllowed,
}

fn change(db: &Connection, fence: Fence, turn: TurnId, lane: [u8; 16], ops: &[Op]) -> rusqlite::Result<Changed> {
    let current: i64 = db.prepare_cached("SELECT value FROM fence")?.query_row([], |row| row.get(0))?;
    let mut find = db.prepare_cached("SELECT 1 FROM turns WHERE id = ?1")?;
    if current != int(fence.0) || !find.exists([id_bytes(turn)])? {
        return Ok(Changed::Lost);
    }
    if !approvals::are_allowed(db, ops)? {
        return Ok(Changed::NotAllowed);
    }
    let at = At { db, turn, lane, fence };
    ops.iter().try_for_each(|op| at.apply(op))?;
    Ok(Changed::Made)
}

/// Puts the turn at the front of its lane; with `parked`, only if it waits for something.
pub fn unpark(db: &Connection, turn: TurnId, lane: [u8; 16], parked: bool) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached(
        "UPDATE turns SET state = 0, merged = NULL, place = coalesce(place,
           (SELECT coalesce(min(place), 1) - 1 FROM turns WHERE lane = ?2 AND place IS NOT NULL))
         WHERE id = ?1 AND state < 4 AND (state = 2 OR NOT ?3)",
    )?;
    if put.execute(params![id_bytes(turn), lane, parked])? > 0 {
        let mut over = db.prepare_cached("DELETE FROM parts WHERE turn = ?1 AND field = ?2")?;
        over.execute(params![id_bytes(turn), WAIT])?;
    }
    Ok(())
}

fn set(db: &Connection, turn: TurnId, field: &str, value: &[u8]) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached("INSERT OR REPLACE INTO parts (turn, field, value) VALUES (?1, ?2, ?3)")?;
    put.execute(params![id_bytes(turn), field, value]).map(drop)
}

/// The turn that is changed.
struct At<'a> {
    db: &'a Connection,
    turn: TurnId,
    lane: [u8; 16],
    fence: Fence,
}

impl At<'_> {
    fn apply(&self, op: &Op) -> rusqlite::Result<()> {
        let id = id_bytes(self.turn);
        match op {
            Op::Set(field, value) => set(self.db, self.turn, field, value),
            Op::Del(field) => self.run("DELETE FROM parts WHERE turn = ?1 AND field = ?2", params![id, field]),
            Op::Life => self.run(
                "UPDATE turns SET lives = lives + (life_fence IS NOT ?2), life_fence = ?2, state = 1
                 WHERE id = ?1 AND state < 4",
                params![id, int(self.fence.0)],
            ),
            Op::Cancel => self.run("UPDATE turns SET cancelled = 1 WHERE id = ?1", [id]),
            Op::Park { .. } => self.run("UPDATE turns SET state = 2, place = NULL WHERE id = ?1 AND state < 4", [id]),
            Op::Ask { id, until_ms, fixed } => approvals::ask(self.db, id, *until_ms, fixed),
            Op::Use(id) => approvals::take(self.db, id),
            Op::Unpark => unpark(self.db, self.turn, self.lane, false),
            Op::Merge(into) => self.run(
                "UPDATE turns SET state = 3, merged = ?2, place = NULL WHERE id = ?1 AND state < 4",
                params![id, id_bytes(*into)],
            ),
            Op::Finish => self.run("UPDATE turns SET state = 4, place = NULL WHERE id = ?1 AND state < 5", [id]),
            // Timers are in memory: the one owner reads all of its turns when it starts.
            Op::Due(_) => Ok(()),
            Op::Remember(put) => sessions::remember(self.db, put),
            Op::Done { keep_message, keep_reply } => self.done(*keep_message, *keep_reply),
        }
    }

    fn done(&self, keep_message: bool, keep_reply: bool) -> rusqlite::Result<()> {
        self.run(
            "UPDATE turns SET state = ?3, place = NULL, done_ms = ?2 WHERE id = ?1 AND state < ?3",
            params![id_bytes(self.turn), int(now_ms()), DONE],
        )?;
        let kept = |keep: bool, field| if keep { field } else { HEAD };
        self.run(
            "DELETE FROM parts WHERE turn = ?1 AND field NOT IN (?2, ?3, ?4) AND field NOT LIKE ?5 || '%'",
            params![id_bytes(self.turn), HEAD, kept(keep_message, SAID), kept(keep_reply, REPLY), DELIVERY],
        )
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute(values).map(drop)
    }
}

fn count_of(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}
