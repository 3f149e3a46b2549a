//! Schedules in SQLite.

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{
        Person, Put, SCHEDULES_PER_PERSON, SCHEDULES_PER_TENANT, Schedule, ScheduleId, ScheduleQuery, Schedules,
    },
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Sqlite, int};
use crate::pack::{pack, unpack};

#[async_trait]
impl Schedules for Sqlite {
    async fn put(&self, schedule: &Schedule) -> Result<Put, StoreDown> {
        let packed = pack(schedule)?;
        let row = Row {
            id: schedule.id.to_string(),
            version: int(schedule.version),
            owner: Person::of(&schedule.owner).hash(),
            tenant: schedule.owner.tenant.clone(),
            made_ms: int(schedule.made_ms),
            next_ms: schedule.next_ms.map(int),
        };
        self.threads.write(move |db| put(db, &row, &packed)).await
    }

    async fn remove(&self, id: ScheduleId) -> Result<bool, StoreDown> {
        let id = id.to_string();
        let removed = self.threads.write(move |db| db.execute("DELETE FROM schedules WHERE id = ?1", [id])).await?;
        Ok(removed > 0)
    }

    async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, StoreDown> {
        let id = id.to_string();
        let find = move |db: &Connection| {
            let mut find = db.prepare_cached("SELECT schedule FROM schedules WHERE id = ?1")?;
            find.query_row([id], |row| row.get::<_, Vec<u8>>(0)).optional()
        };
        Ok(self.threads.read(find).await?.map(|packed| unpack("schedule", &packed)).transpose()?)
    }

    async fn schedules(&self, query: &ScheduleQuery) -> Result<Vec<Schedule>, StoreDown> {
        let (owner, tenant) = (query.owner.as_ref().map(Person::hash), query.tenant.clone());
        let most = if query.most == 0 { SCHEDULES_PER_TENANT } else { query.most };
        let find = move |db: &Connection| {
            let mut find = db.prepare_cached(
                "SELECT schedule FROM schedules WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR tenant = ?2)
                 ORDER BY made_ms, id LIMIT ?3",
            )?;
            find.query_map(params![owner, tenant, rows(most)], |row| row.get(0))?.collect()
        };
        Ok(all(self.threads.read(find).await?))
    }

    async fn due(&self, most: usize) -> Result<Vec<Schedule>, StoreDown> {
        let find = move |db: &Connection| {
            let mut find = db.prepare_cached(
                "SELECT schedule FROM schedules WHERE next_ms IS NOT NULL ORDER BY next_ms, id LIMIT ?1",
            )?;
            find.query_map([rows(most)], |row| row.get(0))?.collect()
        };
        Ok(all(self.threads.read(find).await?))
    }
}

/// What is looked for, beside the schedule itself.
struct Row {
    id: String,
    version: i64,
    owner: [u8; 16],
    tenant: String,
    made_ms: i64,
    next_ms: Option<i64>,
}

fn put(db: &Connection, row: &Row, packed: &[u8]) -> rusqlite::Result<Put> {
    let mut find = db.prepare_cached("SELECT version, schedule FROM schedules WHERE id = ?1")?;
    let there = find.query_row([&row.id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match there {
        None if row.version != 1 => return Ok(Put::Late),
        None => {
            if let Some(too_many) = too_many(db, row)? {
                return Ok(too_many);
            }
        }
        Some((version, stored)) if (version, &stored) == (row.version, &packed.to_vec()) => return Ok(Put::Made),
        Some((version, _)) if version + 1 != row.version => return Ok(Put::Late),
        Some(_) => {}
    }
    let mut put = db.prepare_cached(
        "INSERT INTO schedules (id, version, owner, tenant, made_ms, next_ms, schedule) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (id) DO UPDATE SET version = ?2, next_ms = ?6, schedule = ?7",
    )?;
    put.execute(params![row.id, row.version, row.owner, row.tenant, row.made_ms, row.next_ms, packed])?;
    Ok(Put::Made)
}

fn too_many(db: &Connection, row: &Row) -> rusqlite::Result<Option<Put>> {
    let mut theirs = db.prepare_cached("SELECT count(*) FROM schedules WHERE owner = ?1")?;
    let mut tenants = db.prepare_cached("SELECT count(*) FROM schedules WHERE tenant = ?1")?;
    if theirs.query_row([row.owner], |row| row.get::<_, i64>(0))? >= rows(SCHEDULES_PER_PERSON) {
        return Ok(Some(Put::TooMany { of_tenant: false }));
    }
    let is_full = tenants.query_row([&row.tenant], |row| row.get::<_, i64>(0))? >= rows(SCHEDULES_PER_TENANT);
    Ok(is_full.then_some(Put::TooMany { of_tenant: true }))
}

fn all(packed: Vec<Vec<u8>>) -> Vec<Schedule> {
    packed.iter().filter_map(|packed| crate::readable(unpack("schedule", packed))).collect()
}

fn rows(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Of a person who is forgotten.
pub fn forget(db: &Connection, person: [u8; 16]) -> rusqlite::Result<usize> {
    db.execute("DELETE FROM schedules WHERE owner = ?1", [person])
}
