//! Added tools in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{CHANGES_MAX, PutTool, Registry, Shelf, StoredTool, TOOLS_MAX, ToolChange},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Sqlite, int};
use crate::pack::{pack, unpack};

/// How often it is looked whether another process changed a tool. The file itself changes with every turn, so what
/// SQLite knows of that (`PRAGMA data_version`) would only lead to the same look.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[async_trait]
impl Registry for Sqlite {
    async fn shelf(&self) -> Result<Shelf, StoreDown> {
        let (generation, tools, refreshed) = self.threads.read(read_all).await?;
        let read = |tool: Vec<u8>| crate::readable(unpack("tool", &tool));
        Ok(Shelf {
            generation,
            tools: tools.into_iter().filter_map(read).collect(),
            refreshed: refreshed.into_iter().collect(),
        })
    }

    async fn stored_tool(&self, name: &str) -> Result<Option<StoredTool>, StoreDown> {
        let name = name.to_owned();
        let find = move |db: &Connection| {
            let mut find = db.prepare_cached("SELECT tool FROM tools WHERE name = ?1")?;
            find.query_row([name], |row| row.get(0)).optional()
        };
        let tool: Option<Vec<u8>> = self.threads.read(find).await?;
        Ok(tool.map(|tool| unpack("tool", &tool)).transpose()?)
    }

    async fn tool_changes(&self, name: &str, most: usize) -> Result<Vec<ToolChange>, StoreDown> {
        let (name, most) = (name.to_owned(), i64::try_from(most).unwrap_or(i64::MAX));
        let rows: Vec<Vec<u8>> = self
            .threads
            .read(move |db| {
                let mut list = db
                    .prepare_cached("SELECT change FROM tool_changes WHERE name = ?1 ORDER BY version DESC LIMIT ?2")?;
                list.query_map(params![name, most], |row| row.get(0))?.collect()
            })
            .await?;
        Ok(rows.iter().filter_map(|row| crate::readable(unpack("change of a tool", row))).collect())
    }

    async fn put_tool(&self, change: &ToolChange) -> Result<PutTool, StoreDown> {
        let (name, version) = (change.after.name.clone(), int(change.after.version));
        let (tool, change) = (pack(&change.after)?, pack(change)?);
        self.threads.write(move |db| put(db, &name, version, &tool, &change)).await
    }

    async fn refresh_tool(&self, name: &str) -> Result<(), StoreDown> {
        let name = name.to_owned();
        self.threads
            .write(move |db| {
                let mut count = db.prepare_cached(
                    "INSERT INTO tools_refreshed VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET times = times + 1",
                )?;
                count.execute([name])?;
                grow(db)
            })
            .await
    }

    async fn tools_changed(&self, since: u64) -> Result<u64, StoreDown> {
        loop {
            let now = self.threads.read(generation).await?;
            if now != since {
                return Ok(now);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

type Rows = (u64, Vec<Vec<u8>>, Vec<(String, u64)>);

/// In one transaction, so that the generation is that of what is read.
fn read_all(db: &Connection) -> rusqlite::Result<Rows> {
    let all = db.unchecked_transaction()?;
    let generation = generation(&all)?;
    let mut tools = all.prepare_cached("SELECT tool FROM tools ORDER BY name")?;
    let tools = tools.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut refreshed = all.prepare_cached("SELECT name, times FROM tools_refreshed")?;
    let times = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
    let refreshed = refreshed.query_map([], times)?.collect::<Result<_, _>>()?;
    Ok((generation, tools, refreshed))
}

fn generation(db: &Connection) -> rusqlite::Result<u64> {
    let mut read = db.prepare_cached("SELECT value FROM tools_generation")?;
    read.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

fn grow(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE tools_generation SET value = value + 1")?.execute([]).map(drop)
}

fn put(db: &Connection, name: &str, version: i64, tool: &[u8], change: &[u8]) -> rusqlite::Result<PutTool> {
    let mut find = db.prepare_cached("SELECT version, tool FROM tools WHERE name = ?1")?;
    let found = find.query_row([name], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))).optional()?;
    match &found {
        // A write whose answer was lost is sent again.
        Some((there, same)) if *there == version && same == tool => return Ok(PutTool::Made),
        Some((there, _)) if there + 1 != version => return Ok(PutTool::Late),
        None if version != 1 => return Ok(PutTool::Late),
        None if count(db)? >= TOOLS_MAX => return Ok(PutTool::Full),
        Some(_) | None => {}
    }
    let mut write = db.prepare_cached("INSERT OR REPLACE INTO tools (name, version, tool) VALUES (?1, ?2, ?3)")?;
    write.execute(params![name, version, tool])?;
    let mut note = db.prepare_cached("INSERT INTO tool_changes (name, version, change) VALUES (?1, ?2, ?3)")?;
    note.execute(params![name, version, change])?;
    let mut trim = db.prepare_cached("DELETE FROM tool_changes WHERE name = ?1 AND version <= ?2")?;
    trim.execute(params![name, version - i64::try_from(CHANGES_MAX).unwrap_or(i64::MAX)])?;
    grow(db)?;
    Ok(PutTool::Made)
}

fn count(db: &Connection) -> rusqlite::Result<usize> {
    let count = db.query_row("SELECT count(*) FROM tools", [], |row| row.get::<_, i64>(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}
