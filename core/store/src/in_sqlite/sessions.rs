//! What sessions remember in SQLite.

use async_trait::async_trait;
use contract::{
    Digest, StoreDown, TurnId,
    records::{
        ALLOWED_MAX, ITEMS_MAX, Item, Remembered, Retained, Retention, SESSIONS_MAX, SWITCHES_MAX, Session,
        SessionChange, SessionId, SessionQuery, Sessions, Visit,
    },
};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};

use super::{Sqlite, id_bytes, id_of, int};
use crate::{
    LINES_DEFAULT, now_ms,
    pack::{pack, unpack},
    session::{Head, Put, read_items},
};

#[async_trait]
impl Sessions for Sqlite {
    async fn current(&self, visit: &Visit) -> Result<Option<Session>, StoreDown> {
        let (place, turn) = (visit.place.hash(), visit.turn);
        let stored = self
            .threads
            .read(move |db| match session_of(db, place, turn)? {
                Some(id) => find(db, id),
                None => Ok(None),
            })
            .await?;
        stored.map(Stored::into_session).transpose()
    }

    async fn open(&self, visit: &Visit) -> Result<Session, StoreDown> {
        let put = Put::visit(visit)?;
        let stored = self
            .threads
            .write(move |db| {
                let id = make(db, &put)?;
                find(db, id)
            })
            .await?;
        there(stored)
    }

    async fn begin(&self, visit: &Visit) -> Result<Session, StoreDown> {
        let put = Put::visit(visit)?;
        there(self.threads.write(move |db| begin(db, &put)).await?)
    }

    async fn resume(&self, visit: &Visit, id: SessionId) -> Result<Option<Session>, StoreDown> {
        let Some(session) = self.get(id).await? else { return Ok(None) };
        if session.place != visit.place || session.owner != visit.person {
            return Ok(None);
        }
        let (place, turn, id) = (visit.place.hash(), visit.turn, session.id.0.to_bytes());
        self.threads.write(move |db| switch(db, place, turn, id)).await?;
        Ok(Some(session))
    }

    async fn get(&self, id: SessionId) -> Result<Option<Session>, StoreDown> {
        let stored = self.threads.read(move |db| find(db, id.0.to_bytes())).await?;
        stored.map(Stored::into_session).transpose()
    }

    async fn list(&self, query: &SessionQuery) -> Result<Vec<Session>, StoreDown> {
        let asked = query.clone();
        let stored = self.threads.read(move |db| list(db, &asked)).await?;
        let sessions = stored.into_iter().filter_map(|stored| stored.into_session().ok());
        Ok(sessions.filter(|session| query.fits(session)).collect())
    }

    async fn change(&self, session: &Session, change: &SessionChange) -> Result<bool, StoreDown> {
        let id = session.id.0.to_bytes();
        match change.clone() {
            SessionChange::Mount(mounted) => {
                let mounted = mounted.map(|names| pack(&names)).transpose()?;
                self.set(move |db| {
                    db.prepare_cached("UPDATE sessions SET mounted = ?2 WHERE id = ?1")?.execute(params![id, mounted])
                })
                .await
            }
            SessionChange::Allow(digest) => self.threads.write(move |db| allow(db, id, digest)).await,
            SessionChange::Summary { text, to } => {
                let read = (session.summarised_to.map(id_bytes), int(session.began_ms));
                self.threads.write(move |db| note(db, id, read, (&text, id_bytes(to)))).await
            }
        }
    }

    async fn items(&self, session: &Session, after: Option<TurnId>, most: usize) -> Result<Vec<Item>, StoreDown> {
        let (id, after) = (session.id.0.to_bytes(), after.map(id_bytes).unwrap_or_default());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut packed: Vec<Vec<u8>> = self
            .threads
            .read(move |db| {
                let mut newest = db.prepare_cached(
                    "SELECT item FROM said WHERE session = ?1 AND turn > ?2 ORDER BY turn DESC LIMIT ?3",
                )?;
                newest.query_map(params![id, after, most], |row| row.get(0))?.collect()
            })
            .await?;
        packed.reverse();
        Ok(read_items(&packed))
    }

    async fn remember(&self, what: &Remembered) -> Result<(), StoreDown> {
        let put = Put::of(what)?;
        self.threads.write(move |db| remember(db, &put)).await
    }

    async fn erase(&self, session: &Session) -> Result<bool, StoreDown> {
        let id = session.id.0.to_bytes();
        self.threads.write(move |db| erase(db, id)).await
    }

    async fn retain(&self, retention: &Retention) -> Result<u64, StoreDown> {
        let mut erased = 0;
        for Retained { platform, tenant, keep } in &retention.0 {
            let before = int(now_ms().saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX)));
            loop {
                let of = (platform.map(|platform| platform.as_str()), tenant.clone());
                let batch = self.threads.write(move |db| erase_old(db, of.0, of.1.as_deref(), before)).await?;
                erased += u64::try_from(batch).unwrap_or(0);
                if batch < BATCH {
                    break;
                }
            }
        }
        Ok(erased)
    }
}

/// Sessions that are erased in one commit.
pub const BATCH: usize = 256;

impl Sqlite {
    async fn set<F>(&self, change: F) -> Result<bool, StoreDown>
    where
        F: FnOnce(&Connection) -> rusqlite::Result<usize> + Send + 'static,
    {
        Ok(self.threads.write(change).await? > 0)
    }
}

fn there(stored: Option<Stored>) -> Result<Session, StoreDown> {
    stored.ok_or_else(|| StoreDown("a session that was just made is gone".to_owned()))?.into_session()
}

const SELECT: &str = "SELECT id, head, title, began_ms, used_ms, turns, summary, summarised_to, mounted, allowed
                      FROM sessions";

/// A session as it is read.
pub struct Stored {
    id: [u8; 16],
    head: Vec<u8>,
    title: String,
    times: [i64; 3],
    summary: Option<String>,
    summarised_to: Option<[u8; 16]>,
    mounted: Option<Vec<u8>>,
    allowed: Option<Vec<u8>>,
}

impl Stored {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            head: row.get(1)?,
            title: row.get(2)?,
            times: [row.get(3)?, row.get(4)?, row.get(5)?],
            summary: row.get(6)?,
            summarised_to: row.get(7)?,
            mounted: row.get(8)?,
            allowed: row.get(9)?,
        })
    }

    pub fn into_session(self) -> Result<Session, StoreDown> {
        let [began_ms, used_ms, turns] = self.times.map(i64::unsigned_abs);
        let allowed = self.allowed.map(|allowed| unpack("list of allowed calls", &allowed)).transpose()?;
        Ok(Session {
            title: self.title,
            began_ms,
            used_ms,
            turns,
            summary: self.summary,
            summarised_to: self.summarised_to.map(id_of),
            mounted: self.mounted.map(|mounted| unpack("list of mounted tools", &mounted)).transpose()?,
            allowed: allowed.unwrap_or_default(),
            ..Head::unpack(&self.head)?.into_session(SessionId(id_of(self.id).0))
        })
    }
}

pub fn find(db: &Connection, id: [u8; 16]) -> rusqlite::Result<Option<Stored>> {
    db.prepare_cached(&format!("{SELECT} WHERE id = ?1"))?.query_row([id], Stored::of).optional()
}

/// The session that was current when the turn was accepted; of a turn older than all that is known, the oldest.
fn session_of(db: &Connection, place: [u8; 16], turn: TurnId) -> rusqlite::Result<Option<[u8; 16]>> {
    let mut then =
        db.prepare_cached("SELECT session FROM switches WHERE place = ?1 AND since <= ?2 ORDER BY since DESC LIMIT 1")?;
    if let Some(session) = then.query_row(params![place, id_bytes(turn)], |row| row.get(0)).optional()? {
        return Ok(Some(session));
    }
    let mut first = db.prepare_cached("SELECT session FROM switches WHERE place = ?1 ORDER BY since LIMIT 1")?;
    first.query_row([place], |row| row.get(0)).optional()
}

fn switch(db: &Connection, place: [u8; 16], since: TurnId, session: [u8; 16]) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached("INSERT OR REPLACE INTO switches (place, since, session) VALUES (?1, ?2, ?3)")?;
    put.execute(params![place, id_bytes(since), session])?;
    let mut trim = db.prepare_cached(
        "DELETE FROM switches WHERE place = ?1
         AND since <= (SELECT since FROM switches WHERE place = ?1 ORDER BY since DESC LIMIT 1 OFFSET ?2)",
    )?;
    trim.execute(params![place, SWITCHES_MAX as i64]).map(drop)
}

/// The session of the turn, made when there is none.
fn make(db: &Connection, put: &Put) -> rusqlite::Result<[u8; 16]> {
    let id = match session_of(db, put.place, put.turn)? {
        Some(id) => id,
        None => {
            let id = id_bytes(put.turn);
            switch(db, put.place, put.turn, id)?;
            id
        }
    };
    insert(db, put, id)?;
    Ok(id)
}

fn insert(db: &Connection, put: &Put, id: [u8; 16]) -> rusqlite::Result<()> {
    let now = int(now_ms());
    let mut row = db.prepare_cached(
        "INSERT OR IGNORE INTO sessions (id, place, platform, owner, tenant, head, began_ms, used_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
    )?;
    let made = row.execute(params![id, put.place, put.platform, put.owner, put.tenant, put.head, now])?;
    if made == 0 {
        return Ok(());
    }
    let mut surplus = db.prepare_cached(
        "SELECT id FROM sessions WHERE place = ?1 AND id <> ?2 ORDER BY used_ms DESC LIMIT -1 OFFSET ?3",
    )?;
    let surplus = surplus.query_map(params![put.place, id, SESSIONS_MAX as i64 - 1], |row| row.get(0))?;
    surplus.collect::<Result<Vec<[u8; 16]>, _>>()?.into_iter().try_for_each(|id| erase(db, id).map(drop))
}

fn begin(db: &Connection, put: &Put) -> rusqlite::Result<Option<Stored>> {
    let id = id_bytes(put.turn);
    let before = session_of(db, put.place, put.turn)?.filter(|before| *before != id);
    switch(db, put.place, put.turn, id)?;
    insert(db, put, id)?;
    // One in which nothing was said is not worth its place in the list.
    if let Some(before) = before {
        let mut empty = db.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1 AND turns = 0")?;
        if empty.exists([before])? {
            erase(db, before)?;
        }
    }
    find(db, id)
}

/// Appends and keeps the newest; a turn is remembered once.
pub fn remember(db: &Connection, put: &Put) -> rusqlite::Result<()> {
    let id = make(db, put)?;
    let mut row =
        db.prepare_cached("INSERT OR IGNORE INTO said (session, turn, person, item) VALUES (?1, ?2, ?3, ?4)")?;
    if row.execute(params![id, id_bytes(put.turn), put.owner, put.item])? == 0 {
        return Ok(());
    }
    let mut speaker = db.prepare_cached("INSERT OR IGNORE INTO speakers (person, session) VALUES (?1, ?2)")?;
    speaker.execute(params![put.owner, id])?;
    let mut used = db.prepare_cached(
        "UPDATE sessions SET turns = turns + 1, used_ms = ?2, title = CASE title WHEN '' THEN ?3 ELSE title END
         WHERE id = ?1",
    )?;
    used.execute(params![id, int(now_ms()), put.title])?;
    let mut trim = db.prepare_cached(
        "DELETE FROM said WHERE session = ?1
         AND turn <= (SELECT turn FROM said WHERE session = ?1 ORDER BY turn DESC LIMIT 1 OFFSET ?2)",
    )?;
    trim.execute(params![id, ITEMS_MAX as i64]).map(drop)
}

/// False when the session is gone. What is allowed already is not put twice.
fn allow(db: &Connection, id: [u8; 16], digest: Digest) -> rusqlite::Result<bool> {
    let mut read = db.prepare_cached("SELECT allowed FROM sessions WHERE id = ?1")?;
    let Some(allowed) = read.query_row([id], |row| row.get::<_, Option<Vec<u8>>>(0)).optional()? else {
        return Ok(false);
    };
    let mut allowed: Vec<Digest> =
        allowed.and_then(|bytes| crate::readable(unpack("list", &bytes))).unwrap_or_default();
    allowed.retain(|known| *known != digest);
    allowed.push(digest);
    allowed.drain(..allowed.len().saturating_sub(ALLOWED_MAX));
    let packed = pack(&allowed).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let mut write = db.prepare_cached("UPDATE sessions SET allowed = ?2 WHERE id = ?1")?;
    write.execute(params![id, packed]).map(|_| true)
}

/// False when the session is gone. `read` is how far it was noted when it was read, and when it began: one that was erased
/// begins anew under its id.
fn note(
    db: &Connection,
    id: [u8; 16],
    read: (Option<[u8; 16]>, i64),
    (text, to): (&str, [u8; 16]),
) -> rusqlite::Result<bool> {
    let mut put = db.prepare_cached(
        "UPDATE sessions SET summary = ?2, summarised_to = ?3
         WHERE id = ?1 AND summarised_to IS ?4 AND began_ms = ?5 AND coalesce(summarised_to, x'') < ?3",
    )?;
    let is_noted = put.execute(params![id, text, to, read.0, read.1])? > 0;
    Ok(is_noted || db.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([id])?)
}

pub fn erase(db: &Connection, id: [u8; 16]) -> rusqlite::Result<bool> {
    db.prepare_cached("DELETE FROM said WHERE session = ?1")?.execute([id])?;
    db.prepare_cached("DELETE FROM speakers WHERE session = ?1")?.execute([id])?;
    Ok(db.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])? > 0)
}

/// Sessions that were not used since then, at most [`BATCH`] of them; of one platform or tenant or of all.
pub fn erase_old(
    db: &Connection,
    platform: Option<&str>,
    tenant: Option<&str>,
    before_ms: i64,
) -> rusqlite::Result<usize> {
    let mut old = db.prepare_cached(
        "SELECT id FROM sessions WHERE used_ms < ?1 AND tenant = coalesce(?2, tenant)
         AND platform = coalesce(?3, platform) ORDER BY used_ms LIMIT ?4",
    )?;
    let old = old.query_map(params![before_ms, tenant, platform, BATCH as i64], |row| row.get(0))?;
    let old = old.collect::<Result<Vec<[u8; 16]>, _>>()?;
    for id in &old {
        erase(db, *id)?;
    }
    // Of places that have no session any more nothing stays.
    let mut switches = db.prepare_cached(
        "DELETE FROM switches WHERE session = ?1
         AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.place = switches.place)",
    )?;
    old.iter().try_for_each(|id| switches.execute([id]).map(drop))?;
    Ok(old.len())
}

fn list(db: &Connection, query: &SessionQuery) -> rusqlite::Result<Vec<Stored>> {
    let most = i64::try_from(if query.most == 0 { LINES_DEFAULT } else { query.most }).unwrap_or(i64::MAX);
    let place = query.place.as_ref().map(contract::MemoryKey::hash);
    let owner = query.owner.as_ref().map(contract::records::Person::hash);
    let platform = query.platform.map(|platform| platform.as_str());
    let mut sql = format!("{SELECT} WHERE 1");
    let mut values: Vec<&dyn ToSql> = Vec::new();
    let mut and = |condition: &str, value| {
        sql.push_str(condition);
        values.push(value);
    };
    if let Some(place) = &place {
        and(" AND place = ?", place);
    }
    if let Some(owner) = &owner {
        and(" AND owner = ?", owner);
    }
    if let Some(platform) = &platform {
        and(" AND platform = ?", platform);
    }
    and(" ORDER BY used_ms DESC, id DESC LIMIT ?", &most);
    let mut find = db.prepare_cached(&sql)?;
    find.query_map(values.as_slice(), Stored::of)?.collect()
}
