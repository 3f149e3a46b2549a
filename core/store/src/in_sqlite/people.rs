//! What is kept of people in SQLite, and its erasure.

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{Artefacts as _, Erased, FACTS_MAX, Fact, Kept, People, Person},
};
use rusqlite::{Connection, params};

use super::{
    Sqlite, id_bytes, id_of,
    sessions::{erase, find},
};
use crate::{
    pack::{pack, unpack},
    record::{HEAD, blanked, is_body},
    rows::{unpack_line, unpack_node},
    session::{Belongs, KeptFact, free_number, nothing_noted, without_sender},
};

/// Turns that are looked through in one commit.
const BATCH: i64 = 512;
const NEWEST: [u8; 16] = [0xff; 16];

#[async_trait]
impl People for Sqlite {
    async fn facts(&self, person: &Person) -> Result<Vec<Fact>, StoreDown> {
        let hash = person.hash();
        let all = self.threads.read(move |db| all_facts(db, hash)).await?;
        let here = all.into_iter().filter(|(_, fact)| fact.space == person.space);
        Ok(here.map(|(n, fact)| Fact { n, text: fact.text }).collect())
    }

    async fn keep(&self, person: &Person, fact: &str) -> Result<Kept, StoreDown> {
        let (hash, new) = (person.hash(), KeptFact { space: person.space.clone(), text: fact.to_owned() });
        let packed = pack(&new)?;
        self.threads
            .write(move |db| {
                let all = all_facts(db, hash)?;
                if let Some((n, _)) = all.iter().find(|(_, known)| *known == new) {
                    return Ok(Kept::As(*n));
                }
                if all.len() >= FACTS_MAX {
                    return Ok(Kept::Full);
                }
                let n = free_number(&all);
                let mut put = db.prepare_cached("INSERT INTO facts (person, n, fact) VALUES (?1, ?2, ?3)")?;
                put.execute(params![hash, n, packed]).map(|_| Kept::As(n))
            })
            .await
    }

    async fn drop_fact(&self, person: &Person, n: u32) -> Result<bool, StoreDown> {
        if !self.facts(person).await?.iter().any(|fact| fact.n == n) {
            return Ok(false);
        }
        let hash = person.hash();
        let forget =
            move |db: &Connection| db.execute("DELETE FROM facts WHERE person = ?1 AND n = ?2", params![hash, n]);
        Ok(self.threads.write(forget).await? > 0)
    }

    async fn forget(&self, person: &Person) -> Result<Erased, StoreDown> {
        let hash = person.hash();
        // First: one that is due meanwhile would leave something of theirs behind what was looked through.
        let schedules = count(self.threads.write(move |db| super::schedules::forget(db, hash)).await?);
        let who = person.clone();
        let mut erased = self.threads.write(move |db| forget_sessions(db, &who)).await?;
        let facts = self.threads.write(move |db| db.execute("DELETE FROM facts WHERE person = ?1", [hash])).await?;
        erased.facts = count(facts);
        let (trees, _) = self.through_turns(person, forget_trees).await?;
        let (records, open) = self.through_turns(person, forget_records).await?;
        let approvals = self.without_approvals(person).await?;
        let artefacts = self.forget_artefacts(person).await?;
        Ok(Erased { trees, records, open, approvals, artefacts, schedules, ..erased })
    }
}

/// What a batch did: what was erased, what was left, and where the next begins.
type Batch = ([u64; 2], Option<[u8; 16]>);

impl Sqlite {
    async fn without_approvals(&self, person: &Person) -> Result<u64, StoreDown> {
        let (mut erased, mut after) = (0, Some(String::new()));
        while let Some(from) = after {
            let person = person.clone();
            let batch = move |db: &Connection| super::approvals::without(db, &person, &from, BATCH);
            let (done, next) = self.threads.write(batch).await?;
            (erased, after) = (erased + done, next);
        }
        Ok(erased)
    }

    /// All turns, newest first, in batches.
    async fn through_turns(
        &self,
        person: &Person,
        work: fn(&Connection, &Person, [u8; 16]) -> rusqlite::Result<Batch>,
    ) -> Result<(u64, u64), StoreDown> {
        let (mut sums, mut before) = ([0, 0], Some(NEWEST));
        while let Some(from) = before {
            let person = person.clone();
            let (done, next) = self.threads.write(move |db| work(db, &person, from)).await?;
            sums = [sums[0] + done[0], sums[1] + done[1]];
            before = next;
        }
        Ok((sums[0], sums[1]))
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

fn all_facts(db: &Connection, person: [u8; 16]) -> rusqlite::Result<Vec<(u32, KeptFact)>> {
    let mut all = db.prepare_cached("SELECT n, fact FROM facts WHERE person = ?1 ORDER BY n")?;
    let packed = all.query_map([person], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let packed = packed.collect::<Result<Vec<(u32, Vec<u8>)>, _>>()?;
    Ok(packed.into_iter().filter_map(|(n, fact)| Some((n, crate::readable(unpack("fact", &fact))?))).collect())
}

fn forget_sessions(db: &Connection, person: &Person) -> rusqlite::Result<Erased> {
    let hash = person.hash();
    let mut theirs = db.prepare_cached(
        "SELECT session FROM speakers WHERE person = ?1 UNION SELECT id FROM sessions WHERE owner = ?1",
    )?;
    let theirs = theirs.query_map([hash], |row| row.get(0))?.collect::<Result<Vec<[u8; 16]>, _>>()?;
    let mut others = db.prepare_cached("SELECT 1 FROM speakers WHERE session = ?1 AND person <> ?2")?;
    let mut erased = Erased::default();
    for id in theirs {
        match others.exists(params![id, hash])? {
            true => erased.items += take_out(db, id, person)?,
            false => erased.sessions += u64::from(erase(db, id)?),
        }
    }
    Ok(erased)
}

/// Takes what a person said out of a session that others share.
fn take_out(db: &Connection, id: [u8; 16], person: &Person) -> rusqlite::Result<u64> {
    let hash = person.hash();
    let taken = db.execute("DELETE FROM said WHERE session = ?1 AND person = ?2", params![id, hash])?;
    db.execute("DELETE FROM speakers WHERE session = ?1 AND person = ?2", params![id, hash])?;
    let nothing = id_bytes(nothing_noted());
    db.execute("UPDATE sessions SET summary = NULL, summarised_to = ?2 WHERE id = ?1", params![id, nothing])?;
    let session = find(db, id)?.and_then(|stored| stored.into_session().ok());
    if let Some(session) = session.filter(|session| session.owner.hash() == hash) {
        let head = without_sender(&session).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        db.execute("UPDATE sessions SET title = '', owner = x'', head = ?2 WHERE id = ?1", params![id, head])?;
    }
    Ok(count(taken))
}

fn forget_trees(db: &Connection, person: &Person, before: [u8; 16]) -> rusqlite::Result<Batch> {
    let mut lines = db.prepare_cached(
        "SELECT lines.turn, line, node FROM lines LEFT JOIN nodes ON nodes.turn = lines.turn AND nodes.call = 0
         WHERE lines.turn < ?1 ORDER BY lines.turn DESC LIMIT ?2",
    )?;
    let lines = lines.query_map(params![before, BATCH], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let lines = lines.collect::<Result<Vec<([u8; 16], Vec<u8>, Option<Vec<u8>>)>, _>>()?;
    let mut erased = 0;
    for (turn, line, root) in &lines {
        let line = unpack_line(id_of(*turn), line).ok();
        let root = root.as_ref().and_then(|root| unpack_node(id_of(*turn), root).ok());
        if !person.asked(root.as_ref(), line.as_ref()) {
            continue;
        }
        for table in ["nodes", "lines", "calls"] {
            db.prepare_cached(&format!("DELETE FROM {table} WHERE turn = ?1"))?.execute([turn])?;
        }
        erased += 1;
    }
    Ok(([erased, 0], lines.last().map(|(turn, ..)| *turn)))
}

fn forget_records(db: &Connection, person: &Person, before: [u8; 16]) -> rusqlite::Result<Batch> {
    let mut heads = db.prepare_cached(
        "SELECT id, done_ms IS NOT NULL, value FROM turns JOIN parts ON turn = id AND field = ?3
         WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let heads = heads.query_map(params![before, BATCH, HEAD], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let heads = heads.collect::<Result<Vec<([u8; 16], bool, Vec<u8>)>, _>>()?;
    let (mut erased, mut open) = (0, 0);
    for (turn, is_done, head) in &heads {
        let Some(blank) = blanked(head, person) else { continue };
        if !is_done {
            open += 1;
            continue;
        }
        let mut names = db.prepare_cached("SELECT field FROM parts WHERE turn = ?1")?;
        let names = names.query_map([turn], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let mut body = db.prepare_cached("DELETE FROM parts WHERE turn = ?1 AND field = ?2")?;
        for name in names.iter().filter(|name| is_body(name)) {
            body.execute(params![turn, name])?;
        }
        let mut put = db.prepare_cached("UPDATE parts SET value = ?3 WHERE turn = ?1 AND field = ?2")?;
        put.execute(params![turn, HEAD, blank])?;
        erased += 1;
    }
    Ok(([erased, open], heads.last().map(|(turn, ..)| *turn)))
}
