//! Tells when files below some paths changed.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

/// How long it has to be quiet before a burst of changes is told.
const QUIET: Duration = Duration::from_millis(200);
/// A burst that does not end is told all the same.
const LONGEST: Duration = Duration::from_secs(2);
/// How often is looked where the system does not tell.
const POLL: Duration = Duration::from_secs(2);

/// Watches until dropped.
pub struct Watch {
    signal: SyncSender<()>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Calls `on_change` (from a thread of its own) 200 ms after the last of a burst of changes. Paths may be files or
/// folders, and need not exist yet.
pub fn watch(paths: &[PathBuf], on_change: impl Fn() + Send + 'static) -> io::Result<Watch> {
    // One waiting signal says all there is to say.
    let (signal, signals) = sync_channel(1);
    let stopped = Arc::new(AtomicBool::new(false));
    let mut eyes = Eyes::open(paths, &signal)?;
    let is_stopped = stopped.clone();
    let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
        while burst(&signals) && !is_stopped.load(Ordering::Acquire) {
            // Before it is told, so that what changes meanwhile is read by whoever is told.
            eyes.look_again();
            on_change();
        }
    })?;
    Ok(Watch { signal, stopped, thread: Some(thread) })
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.stopped.store(true, Ordering::Release);
        // Full means that the thread wakes anyway.
        let _ = self.signal.try_send(());
        // Whoever drops the watch from within `on_change` would wait for himself.
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            tracing::error!("the thread that watches files crashed");
        }
    }
}

/// Waits for a change and then for quiet. False when nobody can tell of changes any more.
fn burst(signals: &Receiver<()>) -> bool {
    if signals.recv().is_err() {
        return false;
    }
    let began = Instant::now();
    while began.elapsed() < LONGEST {
        match signals.recv_timeout(QUIET) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

/// The watcher and what it should see.
struct Eyes {
    watcher: Box<dyn Watcher + Send>,
    paths: Vec<PathBuf>,
    seen: Vec<PathBuf>,
}

impl Eyes {
    fn open(paths: &[PathBuf], signal: &SyncSender<()>) -> io::Result<Self> {
        let native = RecommendedWatcher::new(teller(signal.clone(), paths), Config::default())
            .map(|watcher| Box::new(watcher) as Box<dyn Watcher + Send>);
        let native = native.and_then(|watcher| Self::on(watcher, paths));
        let eyes = native.or_else(|error| {
            tracing::warn!(cause = %error, "files are looked at every two seconds: the system does not tell of changes");
            let config = Config::default().with_poll_interval(POLL).with_compare_contents(true);
            let watcher = PollWatcher::new(teller(signal.clone(), paths), config)?;
            Self::on(Box::new(watcher), paths)
        });
        eyes.map_err(io::Error::other)
    }

    fn on(watcher: Box<dyn Watcher + Send>, paths: &[PathBuf]) -> notify::Result<Self> {
        let mut eyes = Self { watcher, paths: paths.to_vec(), seen: Vec::new() };
        eyes.look()?;
        Ok(eyes)
    }

    /// Looks at what has appeared since, for one that was missing its folder.
    fn look_again(&mut self) {
        if let Err(error) = self.look() {
            tracing::warn!(cause = %error, "a folder is not watched");
        }
    }

    fn look(&mut self) -> notify::Result<()> {
        let mut failed = None;
        for path in self.paths.clone() {
            let (place, mode) = match path.is_dir() {
                true => (path, RecursiveMode::Recursive),
                // A file is replaced by a new one of its name more often than it is written: its folder tells.
                false => (existing_parent(&path), RecursiveMode::NonRecursive),
            };
            // A folder that was removed and made again is a new one, so what is watched already is watched anew.
            if self.seen.contains(&place) && self.watcher.unwatch(&place).is_ok() {
                self.seen.retain(|seen| *seen != place);
            }
            match self.watcher.watch(&place, mode) {
                Ok(()) => self.seen.push(place),
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

fn teller(signal: SyncSender<()>, paths: &[PathBuf]) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    let paths: Vec<_> = paths.iter().map(|path| absolute(path)).collect();
    move |event| {
        let is_change = match &event {
            // Reading the files must not look like a change of them.
            Ok(Event { kind: EventKind::Access(_), .. }) => false,
            Ok(event) => concerns(event, &paths),
            Err(_) => true,
        };
        if is_change {
            // Full means that a change is about to be told anyway.
            let _ = signal.try_send(());
        }
    }
}

/// A file's folder tells of its neighbours too: a database beside the tools is written all the time.
fn concerns(event: &Event, paths: &[PathBuf]) -> bool {
    let is_ours = |changed: &PathBuf| {
        let changed = absolute(changed);
        // Mounted configuration is replaced by a link to a hidden folder, under names that begin with two dots.
        let is_mounted = changed.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".."));
        is_mounted || paths.iter().any(|path| changed.starts_with(path) || path.starts_with(&changed))
    };
    event.paths.is_empty() || event.paths.iter().any(is_ours)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn existing_parent(path: &Path) -> PathBuf {
    let parents = path.ancestors().skip(1).find(|p| p.as_os_str().is_empty() || p.is_dir());
    match parents {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests;
