//! Artefacts beside SQLite: their bytes are files of a folder, which rows say where they belong.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use contract::{
    MemoryKey, StoreDown,
    records::{ARTEFACT_KEPT, ARTEFACT_MAX, ARTEFACTS_MAX, ArtefactId, Artefacts, Person},
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Sqlite, int};
use crate::{now_ms, record::hex};

/// Artefacts that make room for a new one in one commit.
const EVICTED: i64 = 256;
/// A file that nothing names is of a life that died between the file and its row; by then a row would be too old too.
const ORPHANED: Duration = Duration::from_secs(2 * ARTEFACT_KEPT.as_secs());

/// Where the bytes are.
#[derive(Clone)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn beside(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push(".artefacts");
        Self(name.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Whole or not at all, whenever the process dies.
    fn write(&self, name: &str, body: &str) -> io::Result<()> {
        let new = self.file(&format!("{name}.new"));
        let write = || std::fs::write(&new, body).and_then(|()| std::fs::rename(&new, self.file(name)));
        match write() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private(&self.0)?;
                write()
            }
            done => done,
        }
    }

    fn remove(&self, names: &[String]) {
        for name in names {
            // What is not there is removed.
            let _ = std::fs::remove_file(self.file(name));
        }
    }

    /// Removes files that no row can name any more.
    fn sweep(&self) {
        let Ok(files) = std::fs::read_dir(&self.0) else { return };
        let old = |file: &std::fs::DirEntry| {
            let written = file.metadata().and_then(|about| about.modified()).unwrap_or_else(|_| SystemTime::now());
            written.elapsed().is_ok_and(|age| age > ORPHANED)
        };
        for file in files.flatten().filter(old) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// What tools answered is nobody's but the gateway's.
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[async_trait]
impl Artefacts for Sqlite {
    async fn keep(&self, place: &MemoryKey, person: &Person, body: &str) -> Result<Option<ArtefactId>, StoreDown> {
        if body.len() > ARTEFACT_MAX {
            return Ok(None);
        }
        let id = ArtefactId::of(place, person, body);
        let (folder, name, bytes) = (self.artefacts.clone(), named(&place.hash(), &id.to_string()), body.len() as u64);
        let body = body.to_owned();
        aside(move || folder.write(&name, &body)).await?;
        let (place, person) = (place.hash(), person.hash());
        let evicted = self.threads.write(move |db| put(db, place, id, person, bytes)).await?;
        let folder = self.artefacts.clone();
        if !evicted.is_empty() {
            aside(move || {
                folder.remove(&evicted);
                Ok(())
            })
            .await?;
        }
        Ok(Some(id))
    }

    async fn artefact(&self, place: &MemoryKey, id: ArtefactId) -> Result<Option<String>, StoreDown> {
        let (hash, now) = (place.hash(), int(now_ms()));
        let there = self.threads.read(move |db| {
            let mut find =
                db.prepare_cached("SELECT 1 FROM artefacts WHERE place = ?1 AND id = ?2 AND until_ms > ?3")?;
            find.exists(params![hash, id.to_string(), now])
        });
        if !there.await? {
            return Ok(None);
        }
        let file = self.artefacts.file(&named(&hash, &id.to_string()));
        aside(move || match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        })
        .await
    }

    /// The files first: what a killed process leaves is rows without a file, which are found again.
    async fn forget_artefacts(&self, person: &Person) -> Result<u64, StoreDown> {
        let hash = person.hash();
        let theirs = self.threads.read(move |db| {
            let mut theirs = db.prepare_cached("SELECT place, id FROM artefacts WHERE person = ?1")?;
            let names = theirs.query_map([hash], |row| Ok(named(&row.get(0)?, &row.get::<_, String>(1)?)))?;
            names.collect::<Result<Vec<_>, _>>()
        });
        let names = theirs.await?;
        let (erased, folder) = (names.len() as u64, self.artefacts.clone());
        aside(move || {
            folder.remove(&names);
            Ok(())
        })
        .await?;
        let drop = move |db: &Connection| db.execute("DELETE FROM artefacts WHERE person = ?1", [hash]);
        self.threads.write(drop).await?;
        Ok(erased)
    }
}

impl Sqlite {
    /// Artefacts that are past their time, and what a killed process left.
    pub(super) async fn sweep_artefacts(&self) -> Result<(), StoreDown> {
        let names = self.threads.write(|db| evict(db, 0)).await?;
        let folder = self.artefacts.clone();
        aside(move || {
            folder.remove(&names);
            folder.sweep();
            Ok(())
        })
        .await
    }
}

fn named(place: &[u8; 16], id: &str) -> String {
    format!("{}-{id}", hex(place))
}

async fn aside<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, StoreDown> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| StoreDown(format!("the folder of artefacts: {error}")))
}

/// The names of those that had to go.
fn put(
    db: &Connection,
    place: [u8; 16],
    id: ArtefactId,
    person: [u8; 16],
    bytes: u64,
) -> rusqlite::Result<Vec<String>> {
    let gone = evict(db, bytes)?;
    let until = now_ms() + u64::try_from(ARTEFACT_KEPT.as_millis()).unwrap_or(u64::MAX);
    let mut put = db.prepare_cached("INSERT OR REPLACE INTO artefacts VALUES (?1, ?2, ?3, ?4, ?5)")?;
    put.execute(params![place, id.to_string(), person, int(bytes), int(until)])?;
    let kept = named(&place, &id.to_string());
    Ok(gone.into_iter().filter(|name| *name != kept).collect())
}

/// Takes out what is past its time, and the oldest until there is room.
fn evict(db: &Connection, room: u64) -> rusqlite::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut old = db.prepare_cached(
        "DELETE FROM artefacts WHERE (place, id) IN
         (SELECT place, id FROM artefacts WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2) RETURNING place, id",
    )?;
    let past =
        old.query_map(params![int(now_ms()), EVICTED], |row| Ok(named(&row.get(0)?, &row.get::<_, String>(1)?)))?;
    for name in past {
        names.push(name?);
    }
    let mut all = db.prepare_cached("SELECT COALESCE(SUM(bytes), 0) FROM artefacts")?;
    let mut oldest = db.prepare_cached("SELECT place, id, bytes FROM artefacts ORDER BY until_ms LIMIT 1")?;
    let mut drop = db.prepare_cached("DELETE FROM artefacts WHERE place = ?1 AND id = ?2")?;
    let mut sum = u64::try_from(all.query_row([], |row| row.get::<_, i64>(0))?).unwrap_or(0);
    while sum + room > ARTEFACTS_MAX {
        let first = oldest.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        let Some((place, id, bytes)): Option<([u8; 16], String, i64)> = first else { break };
        drop.execute(params![place, id])?;
        sum = sum.saturating_sub(u64::try_from(bytes).unwrap_or(0));
        names.push(named(&place, &id));
    }
    Ok(names)
}
