//! Call trees, their indexes and measures in SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use contract::{
    Node, StoreDown, TurnId,
    records::{Measure, ScheduleId, Trees, TurnLine, TurnQuery},
};
use rusqlite::{Connection, ToSql, params};

use super::{Sqlite, id_bytes, id_of, int};
use crate::{
    LINES_DEFAULT, earliest,
    pack::{pack, unpack},
    rows::{SCHEDULED, has_failed, is_ended_call, pack_line, pack_node, state_number, unpack_line, unpack_node},
};

#[async_trait]
impl Trees for Sqlite {
    async fn write(&self, nodes: &[Arc<Node>], ended: &[TurnLine]) -> Result<(), StoreDown> {
        let nodes = nodes.iter().map(|node| NodeToPut::of(node)).collect::<Result<Vec<_>, _>>()?;
        let lines = ended.iter().map(LineToPut::of).collect::<Result<Vec<_>, _>>()?;
        self.threads
            .write(move |db| {
                nodes.iter().try_for_each(|node| node.put(db))?;
                lines.iter().try_for_each(|line| line.put(db))
            })
            .await
    }

    async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        let packed: Vec<Vec<u8>> = self
            .threads
            .read(move |db| {
                let mut nodes = db.prepare_cached("SELECT node FROM nodes WHERE turn = ?1")?;
                nodes.query_map([id_bytes(turn)], |row| row.get(0))?.collect()
            })
            .await?;
        Ok(packed.iter().filter_map(|node| crate::readable(unpack_node(turn, node))).collect())
    }

    async fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        let query = query.clone();
        let packed = self.threads.read(move |db| find_lines(db, &query)).await?;
        Ok(packed.iter().filter_map(|(turn, line)| crate::readable(unpack_line(*turn, line))).collect())
    }

    async fn measure(&self, boot: &str, measures: &[Measure]) -> Result<(), StoreDown> {
        let rows = measures
            .iter()
            .map(|measure| {
                Ok((int(measure.minute), measure.tool.clone(), crate::rows::measured_by(boot, measure), pack(measure)?))
            })
            .collect::<Result<Vec<_>, StoreDown>>()?;
        self.threads
            .write(move |db| {
                let mut put = db.prepare_cached(
                    "INSERT OR REPLACE INTO measures (minute, tool, boot, measure) VALUES (?1, ?2, ?3, ?4)",
                )?;
                rows.iter()
                    .try_for_each(|(minute, tool, by, row)| put.execute(params![minute, tool, by, row]).map(drop))
            })
            .await
    }

    async fn measures(&self, since_ms: u64) -> Result<Vec<Measure>, StoreDown> {
        let since = int(since_ms / 60_000);
        let rows: Vec<Vec<u8>> = self
            .threads
            .read(move |db| {
                let mut all = db.prepare_cached("SELECT measure FROM measures WHERE minute >= ?1")?;
                all.query_map([since], |row| row.get(0))?.collect()
            })
            .await?;
        Ok(rows.iter().filter_map(|row| crate::readable(unpack("measure", row))).collect())
    }
}

struct NodeToPut {
    turn: [u8; 16],
    call: u32,
    node: Vec<u8>,
    running: bool,
    /// Listed in the index of tools.
    tool: Option<String>,
}

impl NodeToPut {
    fn of(node: &Node) -> Result<Self, StoreDown> {
        Ok(Self {
            turn: id_bytes(node.turn),
            call: node.call.0,
            node: pack_node(node)?,
            running: state_number(node.state) == 0,
            tool: is_ended_call(node).then(|| node.tool.clone()),
        })
    }

    fn put(&self, db: &Connection) -> rusqlite::Result<()> {
        // A start that comes late, from a spill or a repeat, does not hide the end.
        let how = if self.running { "IGNORE" } else { "REPLACE" };
        let mut put =
            db.prepare_cached(&format!("INSERT OR {how} INTO nodes (turn, call, node) VALUES (?1, ?2, ?3)"))?;
        put.execute(params![self.turn, self.call, self.node])?;
        let Some(tool) = &self.tool else { return Ok(()) };
        index(db, tool, self.turn)
    }
}

fn index(db: &Connection, tool: &str, turn: [u8; 16]) -> rusqlite::Result<()> {
    let mut index = db.prepare_cached("INSERT OR IGNORE INTO calls (tool, turn) VALUES (?1, ?2)")?;
    index.execute(params![tool, turn]).map(drop)
}

struct LineToPut {
    turn: [u8; 16],
    session: [u8; 16],
    failed: bool,
    scheduled: bool,
    line: Vec<u8>,
}

impl LineToPut {
    fn of(line: &TurnLine) -> Result<Self, StoreDown> {
        Ok(Self {
            turn: id_bytes(line.turn),
            session: line.session.hash(),
            failed: has_failed(line),
            scheduled: ScheduleId::of_session(&line.session).is_some(),
            line: pack_line(line)?,
        })
    }

    fn put(&self, db: &Connection) -> rusqlite::Result<()> {
        let mut put =
            db.prepare_cached("INSERT OR REPLACE INTO lines (turn, session, failed, line) VALUES (?1, ?2, ?3, ?4)")?;
        put.execute(params![self.turn, self.session, self.failed, self.line])?;
        if self.scheduled { index(db, SCHEDULED, self.turn) } else { Ok(()) }
    }
}

fn find_lines(db: &Connection, query: &TurnQuery) -> rusqlite::Result<Vec<(TurnId, Vec<u8>)>> {
    let most = i64::try_from(if query.most == 0 { LINES_DEFAULT } else { query.most }).unwrap_or(i64::MAX);
    let since = query.since_ms.map(|ms| id_bytes(earliest(ms)));
    let session = query.session.as_ref().map(|session| session.hash());
    let mut sql = "SELECT turn, line FROM lines WHERE 1".to_owned();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    let mut and = |sql: &mut String, condition: &str, value| {
        sql.push_str(condition);
        values.push(value);
    };
    if let Some(since) = &since {
        and(&mut sql, " AND turn >= ?", since);
    }
    if let Some(session) = &session {
        and(&mut sql, " AND session = ?", session);
    }
    if let Some(tool) = &query.tool {
        and(&mut sql, " AND EXISTS (SELECT 1 FROM calls WHERE tool = ? AND calls.turn = lines.turn)", tool);
    }
    if query.scheduled {
        and(&mut sql, " AND turn IN (SELECT turn FROM calls WHERE tool = ?)", &SCHEDULED);
    }
    if query.failed {
        sql.push_str(" AND failed = 1");
    }
    and(&mut sql, " ORDER BY turn DESC LIMIT ?", &most);
    let mut find = db.prepare_cached(&sql)?;
    let lines = find.query_map(values.as_slice(), |row| Ok((id_of(row.get(0)?), row.get(1)?)))?;
    lines.collect()
}
