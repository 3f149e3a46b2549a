//! The records in one SQLite file: the store that needs no set-up.

mod approvals;
mod artefacts;
mod audit;
mod cursors;
mod people;
mod schedules;
mod sessions;
mod sweep;
mod threads;
mod tools;
mod trees;
mod turns;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use contract::{Fence, TurnId, records::Stores};
use rusqlite::{Connection, ErrorCode};

use crate::{OpenError, Options, in_sqlite::threads::Threads};

/// Version of the tables; a file with a higher one was written by a later release.
const VERSION: i64 = 1;
/// How long SQLite itself waits for another process that writes.
const BUSY: Duration = Duration::from_secs(2);

/// The store in one file.
pub struct Sqlite {
    threads: Threads,
    options: Options,
    owner: Arc<Mutex<Ownership>>,
    swept: sweep::Swept,
    artefacts: artefacts::Folder,
    /// Removed at the end, when the database was asked for in memory.
    _temporary: Option<Temporary>,
}

/// The lock that makes this process the one owner. The system frees it when the process dies, however it dies.
struct Ownership {
    path: PathBuf,
    lock: Option<File>,
    fence: Option<Fence>,
}

/// Opens the file, making it and its tables when there is none.
pub fn open(path: &str, options: Options) -> Result<Stores, OpenError> {
    let temporary = (path == ":memory:").then(Temporary::new);
    let path = temporary.as_ref().map_or_else(|| PathBuf::from(path), |temporary| temporary.0.clone());
    if !options.create && temporary.is_none() && !path.exists() {
        return Err(OpenError::Unreachable(format!("there is no database '{}'", path.display())));
    }
    let writer = connect(&path, &options)?;
    make_tables(&writer)?;
    unless_busy(|| writer.execute_batch(include_str!("approvals.sql"))).map_err(|error| cannot(&path, &error))?;
    let readers = [connect_reader(&path, &options)?, connect_reader(&path, &options)?];
    let threads = Threads::start(writer, readers).map_err(|error| cannot(&path, &error))?;
    let owner = Ownership { path: lock_path(&path), lock: None, fence: None };
    let store = Arc::new(Sqlite {
        threads,
        options,
        owner: Arc::new(Mutex::new(owner)),
        swept: sweep::Swept::default(),
        artefacts: artefacts::Folder::beside(&path),
        _temporary: temporary,
    });
    Ok(Stores {
        turns: store.clone(),
        sessions: store.clone(),
        people: store.clone(),
        trees: store.clone(),
        cursors: store.clone(),
        approvals: store.clone(),
        schedules: store.clone(),
        registry: store.clone(),
        artefacts: store.clone(),
        audit: store,
    })
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> OpenError {
    OpenError::Unreachable(format!("sqlite cannot open '{}': {error}", path.display()))
}

fn connect(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let db = Connection::open(path).map_err(|error| cannot(path, &error))?;
    db.set_prepared_statement_cache_capacity(96);
    let set = || {
        db.busy_timeout(BUSY)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", if options.sync_full { "FULL" } else { "NORMAL" })?;
        // A burst may stretch the log; it shrinks at the next checkpoint.
        db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)
    };
    unless_busy(set).map_err(|error| cannot(path, &error))?;
    Ok(db)
}

/// SQLite does not wait by itself while another process makes the same new file a WAL database.
fn unless_busy<T>(work: impl Fn() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let until = Instant::now() + BUSY;
    loop {
        match work() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

fn connect_reader(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let db = connect(path, options)?;
    db.pragma_update(None, "query_only", true).map_err(|error| cannot(path, &error))?;
    Ok(db)
}

/// Tables that came later, each with the name of one of them: made where they are missing, whatever the version.
const LATER: [(&str, &str); 5] = [
    ("sessions", include_str!("sessions.sql")),
    ("artefacts", include_str!("artefacts.sql")),
    ("schedules", include_str!("schedules.sql")),
    ("tools", include_str!("tools.sql")),
    ("audit", include_str!("audit.sql")),
];

fn make_tables(db: &Connection) -> Result<(), OpenError> {
    make_first_tables(db)?;
    let broken = |error: rusqlite::Error| OpenError::Unreachable(format!("sqlite: {error}"));
    for (name, tables) in LATER {
        let there = || {
            let mut find = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")?;
            find.exists([name])
        };
        if !unless_busy(there).map_err(broken)? {
            unless_busy(|| db.execute_batch(&format!("BEGIN IMMEDIATE; {tables} COMMIT"))).map_err(broken)?;
        }
    }
    Ok(())
}

fn make_first_tables(db: &Connection) -> Result<(), OpenError> {
    let version = || unless_busy(|| db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)));
    let broken = |error: rusqlite::Error| OpenError::Unreachable(format!("sqlite: {error}"));
    match version().map_err(broken)? {
        VERSION => return Ok(()),
        0 => {}
        other => return Err(OpenError::Foreign(format!("the database has version {other}, this program {VERSION}"))),
    }
    // Another process may be making them at this moment.
    unless_busy(|| db.execute_batch("BEGIN IMMEDIATE")).map_err(broken)?;
    let made = match version().map_err(broken)? {
        0 => db.execute_batch(include_str!("schema.sql")),
        _ => Ok(()),
    };
    made.and_then(|()| db.execute_batch("COMMIT")).map_err(broken)
}

fn lock_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// A database that nobody keeps; a real file, since readers and writer have connections of their own.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("toolgate-{}.db", TurnId::new())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm", ".lock"] {
            let mut name = self.0.as_os_str().to_owned();
            name.push(end);
            // What was never made cannot be removed.
            let _ = std::fs::remove_file(name);
        }
        let _ = std::fs::remove_dir_all(artefacts::Folder::beside(&self.0).path());
    }
}

/// SQLite's integers are signed; nothing that is stored in one comes near the limit.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn id_bytes(turn: TurnId) -> [u8; 16] {
    turn.0.to_bytes()
}

fn id_of(bytes: [u8; 16]) -> TurnId {
    TurnId(ulid::Ulid::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_in_memory_leaves_nothing_behind() {
        let temporary = Temporary::new();
        let path = temporary.0.clone();
        let db = connect(&path, &Options::default()).unwrap();
        make_tables(&db).unwrap();
        File::create(lock_path(&path)).unwrap();
        assert!(path.exists());
        drop(temporary);
        for end in ["", "-wal", "-shm", ".lock"] {
            assert!(!PathBuf::from(format!("{}{end}", path.display())).exists(), "{end}");
        }
    }
}
