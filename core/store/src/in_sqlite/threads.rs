//! The threads that hold the connections: one writes, two read; nothing of SQLite runs on the runtime's threads.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use contract::StoreDown;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

/// Jobs that wait for the writer; more make their senders wait.
const QUEUE: usize = 1024;
/// Most jobs of one commit.
const BATCH: usize = 512;
const READERS: usize = 2;
/// No operation takes longer, whatever the disk does.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked of the writer, and its answer once the commit is known.
trait Job: Send {
    fn run(&mut self, db: &Connection);
    fn tell(self: Box<Self>, committed: Result<(), StoreDown>);
}

type Query = Box<dyn FnOnce(&Connection) + Send>;

/// The ends of the queues and the threads behind them.
pub struct Threads {
    queues: Mutex<Option<Queues>>,
    joins: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Clone)]
struct Queues {
    writes: mpsc::Sender<Box<dyn Job>>,
    reads: mpsc::Sender<Query>,
}

impl Threads {
    /// Starts a writer on `writer` and two readers on `readers`.
    pub fn start(writer: Connection, readers: [Connection; READERS]) -> std::io::Result<Self> {
        let (writes, write_queue) = mpsc::channel(QUEUE);
        let (reads, read_queue) = mpsc::channel(QUEUE);
        let read_queue = Arc::new(Mutex::new(read_queue));
        let mut joins = vec![spawn("sqlite writer", move || write_all(writer, write_queue))?];
        for reader in readers {
            let queue = read_queue.clone();
            joins.push(spawn("sqlite reader", move || read_all(&reader, &queue))?);
        }
        Ok(Self { queues: Mutex::new(Some(Queues { writes, reads })), joins: Mutex::new(joins) })
    }

    /// Runs `work` in the next commit; answers when it is committed. All of it or nothing is done.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreDown>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (answer, told) = oneshot::channel();
        let job = Box::new(Pending { work: Some(work), made: None, answer });
        let queue = self.queues()?.writes;
        patient(async {
            queue.send(job).await.map_err(|_| ended())?;
            told.await.map_err(|_| ended())?
        })
        .await
    }

    /// Runs `work` on a reader.
    pub async fn read<T, F>(&self, work: F) -> Result<T, StoreDown>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (answer, told) = oneshot::channel();
        let query: Query = Box::new(move |db| {
            // Nobody may be waiting any more.
            let _ = answer.send(work(db).map_err(down));
        });
        let queue = self.queues()?.reads;
        patient(async {
            queue.send(query).await.map_err(|_| ended())?;
            told.await.map_err(|_| ended())?
        })
        .await
    }

    /// Ends the threads once their queues are empty; later work is refused.
    pub async fn close(&self) {
        drop(lock(&self.queues).take());
        let joins = std::mem::take(&mut *lock(&self.joins));
        let joined = tokio::task::spawn_blocking(move || joins.into_iter().for_each(|join| drop(join.join())));
        if joined.await.is_err() {
            tracing::warn!("the store's threads did not end well");
        }
    }

    fn queues(&self) -> Result<Queues, StoreDown> {
        lock(&self.queues).clone().ok_or_else(ended)
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

async fn patient<T>(work: impl Future<Output = Result<T, StoreDown>>) -> Result<T, StoreDown> {
    let late = |_| Err(StoreDown("sqlite did not answer in time".to_owned()));
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(late)
}

fn ended() -> StoreDown {
    StoreDown("the store is closed".to_owned())
}

/// A fault of SQLite as the rest of the gateway knows it.
pub fn down(error: rusqlite::Error) -> StoreDown {
    StoreDown(format!("sqlite: {error}"))
}

/// Nothing that is guarded here is left half changed by a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Pending<T, F> {
    work: Option<F>,
    made: Option<rusqlite::Result<T>>,
    answer: oneshot::Sender<Result<T, StoreDown>>,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send,
{
    fn run(&mut self, db: &Connection) {
        self.made = self.work.take().map(|work| in_savepoint(db, work));
    }

    fn tell(self: Box<Self>, committed: Result<(), StoreDown>) {
        let answer = match (committed, self.made) {
            (Err(down), _) => Err(down),
            (Ok(()), Some(made)) => made.map_err(down),
            (Ok(()), None) => Err(ended()),
        };
        // Nobody may be waiting any more.
        let _ = self.answer.send(answer);
    }
}

/// A job that fails leaves no trace in the commit that it shares with others.
fn in_savepoint<T>(db: &Connection, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    db.prepare_cached("SAVEPOINT job")?.execute([])?;
    let made = work(db);
    if made.is_ok() {
        db.prepare_cached("RELEASE job")?.execute([])?;
    } else if !db.is_autocommit() {
        db.prepare_cached("ROLLBACK TO job")?.execute([])?;
        db.prepare_cached("RELEASE job")?.execute([])?;
    }
    made
}

/// Takes whatever waits, commits it as one, then tells everybody. There is no window to gather: while a commit runs
/// the next batch gathers by itself.
fn write_all(mut db: Connection, mut queue: mpsc::Receiver<Box<dyn Job>>) {
    let mut jobs: Vec<Box<dyn Job>> = Vec::new();
    while let Some(first) = queue.blocking_recv() {
        jobs.push(first);
        while jobs.len() < BATCH {
            let Ok(next) = queue.try_recv() else { break };
            jobs.push(next);
        }
        let committed = commit(&mut db, &mut jobs).map_err(down);
        jobs.drain(..).for_each(|job| job.tell(committed.clone()));
    }
}

fn commit(db: &mut Connection, jobs: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in jobs {
        job.run(&all);
        // A full disk ends the whole transaction; what follows must not run outside of one.
        if all.is_autocommit() {
            let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
            return Err(rusqlite::Error::SqliteFailure(full, Some("nothing can be written: the disk is full".into())));
        }
    }
    all.commit()
}

fn read_all(db: &Connection, queue: &Mutex<mpsc::Receiver<Query>>) {
    loop {
        // The guard is given back before the query runs, so that the other reader takes the next.
        let next = lock(queue).blocking_recv();
        match next {
            Some(query) => query(db),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> (tempfile::TempDir, Threads) {
        let folder = tempfile::tempdir().unwrap();
        let open = || Connection::open(folder.path().join("a.db")).unwrap();
        let writer = open();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        writer.execute_batch("PRAGMA max_page_count = 64").unwrap();
        let threads = Threads::start(writer, [open(), open()]).unwrap();
        (folder, threads)
    }

    fn put(bytes: usize) -> impl FnOnce(&Connection) -> rusqlite::Result<usize> + Send + 'static {
        move |db| db.execute("INSERT INTO t VALUES (zeroblob(?1))", [i64::try_from(bytes).unwrap()])
    }

    async fn rows(threads: &Threads) -> i64 {
        threads.read(|db| db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))).await.unwrap()
    }

    #[tokio::test]
    async fn a_job_that_fails_takes_nobody_with_it() {
        let (_folder, threads) = three();
        let bad = threads.write(|db| {
            db.execute("INSERT INTO t VALUES (1)", [])?;
            db.execute("INSERT INTO nowhere VALUES (1)", [])
        });
        let (before, bad, after) = tokio::join!(threads.write(put(1)), bad, threads.write(put(1)));
        assert_eq!((before.unwrap(), after.unwrap()), (1, 1));
        assert!(bad.unwrap_err().0.contains("nowhere"));
        assert_eq!(rows(&threads).await, 2);
    }

    #[tokio::test]
    async fn a_full_disk_is_said_and_the_writer_goes_on() {
        let (_folder, threads) = three();
        let (_, large, _) = tokio::join!(threads.write(put(1)), threads.write(put(1_000_000)), threads.write(put(1)));
        assert!(large.unwrap_err().0.contains("full"));
        assert_eq!(threads.write(put(1)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn what_is_in_the_queue_is_written_before_the_end() {
        let (folder, threads) = three();
        let many = futures(&threads);
        let (written, ()) = tokio::join!(many, threads.close());
        assert_eq!(written, 50);
        assert!(threads.write(put(1)).await.is_err());
        let db = Connection::open(folder.path().join("a.db")).unwrap();
        assert_eq!(db.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 50);
    }

    async fn futures(threads: &Threads) -> usize {
        let mut written = 0;
        let queue = threads.queues().unwrap().writes;
        let mut told = Vec::new();
        for _ in 0..50 {
            let (answer, wait) = oneshot::channel();
            queue.send(Box::new(Pending { work: Some(put(1)), made: None, answer })).await.unwrap();
            told.push(wait);
        }
        drop(queue);
        for wait in told {
            written += wait.await.unwrap().unwrap();
        }
        written
    }
}
