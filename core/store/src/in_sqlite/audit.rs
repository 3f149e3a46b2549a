//! The audit trail in SQLite.

use async_trait::async_trait;
use contract::{
    CallId, Code, StoreDown,
    records::{AUDIT_MAX, Audit, AuditEvent, AuditQuery},
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::{Sqlite, id_bytes, id_of, int};
use crate::{LINES_DEFAULT, earliest};

#[async_trait]
impl Audit for Sqlite {
    async fn audit(&self, events: &[AuditEvent]) -> Result<(), StoreDown> {
        let events = events.to_vec();
        self.threads.write(move |db| events.iter().try_for_each(|event| put(db, event))).await
    }

    async fn audited(&self, query: &AuditQuery) -> Result<Vec<AuditEvent>, StoreDown> {
        let query = query.clone();
        let found = self.threads.read(move |db| find(db, &query)).await?;
        // A platform that this version does not know cannot be told.
        Ok(found.into_iter().flatten().collect())
    }
}

fn put(db: &Connection, event: &AuditEvent) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached("INSERT OR REPLACE INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let (turn, platform, code) = (id_bytes(event.turn), event.platform.as_str(), event.code.map(Code::as_str));
    let (call, at, text) = (event.call.0, int(event.at_ms), &*event.text);
    put.execute(params![turn, call, at, event.tool, platform, event.tenant, code, text]).map(drop)
}

fn find(db: &Connection, query: &AuditQuery) -> rusqlite::Result<Vec<Option<AuditEvent>>> {
    let most = i64::try_from(if query.most == 0 { LINES_DEFAULT } else { query.most }).unwrap_or(i64::MAX);
    let (turn, since) = (query.turn.map(id_bytes), query.since_ms.map(|ms| id_bytes(earliest(ms))));
    let platform = query.platform.map(contract::Platform::as_str);
    let conditions: [(&str, Option<&dyn ToSql>); 5] = [
        (" AND turn = ?", turn.as_ref().map(|turn| turn as _)),
        (" AND turn >= ?", since.as_ref().map(|since| since as _)),
        (" AND tool = ?", query.tool.as_ref().map(|tool| tool as _)),
        (" AND platform = ?", platform.as_ref().map(|platform| platform as _)),
        (" AND tenant = ?", query.tenant.as_ref().map(|tenant| tenant as _)),
    ];
    let mut sql = "SELECT turn, call, at_ms, tool, platform, tenant, code, event FROM audit WHERE 1".to_owned();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    for (condition, value) in conditions {
        let Some(value) = value else { continue };
        sql.push_str(condition);
        values.push(value);
    }
    if query.failed {
        sql.push_str(" AND code IS NOT NULL");
    }
    sql.push_str(" ORDER BY turn DESC, call DESC LIMIT ?");
    values.push(&most);
    let mut find = db.prepare_cached(&sql)?;
    let found = find.query_map(values.as_slice(), read)?;
    found.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<AuditEvent>> {
    let (platform, code): (String, Option<String>) = (row.get(4)?, row.get(6)?);
    let Ok(platform) = platform.parse() else { return Ok(None) };
    Ok(Some(AuditEvent {
        turn: id_of(row.get(0)?),
        call: CallId(row.get(1)?),
        at_ms: row.get::<_, i64>(2)?.try_into().unwrap_or_default(),
        tool: row.get(3)?,
        platform,
        tenant: row.get(5)?,
        code: code.and_then(|code| Code::ALL.iter().copied().find(|known| known.as_str() == code)),
        text: row.get::<_, String>(7)?.into(),
    }))
}

/// Events of turns before that one; how many turns there were.
pub fn forget(db: &Connection, before: [u8; 16], most: i64) -> rusqlite::Result<usize> {
    let mut old = db.prepare_cached("SELECT DISTINCT turn FROM audit WHERE turn < ?1 ORDER BY turn LIMIT ?2")?;
    let old = old.query_map(params![before, most], |row| row.get(0))?.collect::<Result<Vec<[u8; 16]>, _>>()?;
    let mut forget = db.prepare_cached("DELETE FROM audit WHERE turn = ?1")?;
    for turn in &old {
        forget.execute([turn])?;
    }
    Ok(old.len())
}

/// The turn of the oldest event that there is room for; nothing when there is room for all.
pub fn first_to_keep(db: &Connection) -> rusqlite::Result<Option<[u8; 16]>> {
    let most = i64::try_from(AUDIT_MAX).unwrap_or(i64::MAX);
    let mut first = db.prepare_cached("SELECT turn FROM audit ORDER BY turn DESC LIMIT 1 OFFSET ?1")?;
    first.query_row([most], |row| row.get(0)).optional()
}
