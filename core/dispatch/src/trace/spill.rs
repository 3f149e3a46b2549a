//! Records that find no room in memory while the store is away: a bounded file of JSON lines, read again when the store
//! is back, also by the next process. Everything here blocks; the flusher calls it off the runtime.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use contract::{
    Node,
    records::{AuditEvent, TurnLine},
};
use serde::{Deserialize, Serialize};

/// Most bytes that the file takes.
pub const ROOM: u64 = 64 << 20;

/// What the store would have been given.
pub enum Record {
    Node(Arc<Node>),
    Line(TurnLine),
    Event(AuditEvent),
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Written<'a> {
    Node(&'a Node),
    Line(&'a TurnLine),
    Event(&'a AuditEvent),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stored {
    Node(Box<Node>),
    Line(Box<TurnLine>),
    Event(Box<AuditEvent>),
}

/// The file. It is there only while records wait in it.
pub struct Spill {
    path: PathBuf,
    room: u64,
    file: Option<File>,
    len: u64,
    /// What was read and written to the store.
    done: u64,
    /// Records behind it.
    waiting: u64,
}

/// Records that were read; [`Spill::written`] takes it back.
#[derive(Default)]
pub struct Batch {
    pub nodes: Vec<Arc<Node>>,
    pub lines: Vec<TurnLine>,
    pub events: Vec<AuditEvent>,
    /// Lines that are no records: a process died while it wrote them.
    pub broken: u64,
    bytes: u64,
}

impl Batch {
    fn count(&self) -> u64 {
        (self.nodes.len() + self.lines.len() + self.events.len()) as u64 + self.broken
    }
}

impl Spill {
    pub fn new(path: PathBuf, room: u64) -> Self {
        Self { path, room, file: None, len: 0, done: 0, waiting: 0 }
    }

    /// Takes over what an earlier process left.
    pub fn take_over(&mut self) -> io::Result<()> {
        if !self.path.try_exists()? {
            return Ok(());
        }
        let mut file = open(&self.path)?;
        let mut lines = 0;
        let mut last = b'\n';
        let mut reader = BufReader::new(&mut file);
        loop {
            let bytes = reader.fill_buf()?;
            let Some(end) = bytes.last() else { break };
            last = *end;
            lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            let taken = bytes.len();
            reader.consume(taken);
        }
        // A line that was cut short ends here, so that the next one is whole.
        if last != b'\n' {
            file.write_all(b"\n")?;
            lines += 1;
        }
        self.len = file.metadata()?.len();
        self.waiting = lines;
        self.file = Some(file);
        if lines == 0 { self.remove() } else { Ok(()) }
    }

    /// Writes as many as there is room for; how many that were.
    pub fn append(&mut self, records: &[Record]) -> io::Result<usize> {
        let mut text = Vec::new();
        let mut kept = 0;
        for record in records {
            let before = text.len();
            match record {
                Record::Node(node) => serde_json::to_writer(&mut text, &Written::Node(node))?,
                Record::Line(line) => serde_json::to_writer(&mut text, &Written::Line(line))?,
                Record::Event(event) => serde_json::to_writer(&mut text, &Written::Event(event))?,
            }
            text.push(b'\n');
            if self.len + text.len() as u64 > self.room {
                text.truncate(before);
                break;
            }
            kept += 1;
        }
        if kept == 0 {
            return Ok(0);
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => open(&self.path)?,
        };
        let written = file.write_all(&text);
        if written.is_err() {
            // Half a line must not stand before the next one.
            file.set_len(self.len)?;
        }
        self.file = Some(file);
        written?;
        self.len += text.len() as u64;
        self.waiting += kept as u64;
        Ok(kept)
    }

    /// The oldest that wait; nothing moves until they are [`Spill::written`].
    pub fn next(&mut self, most: usize) -> io::Result<Batch> {
        let mut batch = Batch::default();
        let Some(file) = &mut self.file else { return Ok(batch) };
        file.seek(SeekFrom::Start(self.done))?;
        let mut reader = BufReader::new(file.take(self.len - self.done));
        let mut line = Vec::new();
        while batch.count() < most as u64 && reader.read_until(b'\n', &mut line)? > 0 {
            batch.bytes += line.len() as u64;
            match serde_json::from_slice(&line) {
                Ok(Stored::Node(node)) => batch.nodes.push(Arc::new(*node)),
                Ok(Stored::Line(line)) => batch.lines.push(*line),
                Ok(Stored::Event(event)) => batch.events.push(*event),
                Err(_) => batch.broken += 1,
            }
            line.clear();
        }
        Ok(batch)
    }

    /// The store has it. Behind the last one the file goes away.
    pub fn written(&mut self, batch: &Batch) -> io::Result<()> {
        self.done += batch.bytes;
        self.waiting = self.waiting.saturating_sub(batch.count());
        if self.done >= self.len { self.remove() } else { Ok(()) }
    }

    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Bytes that still find room.
    pub fn left(&self) -> u64 {
        self.room.saturating_sub(self.len)
    }

    /// Gives up what waits: it cannot be read.
    pub fn remove(&mut self) -> io::Result<()> {
        (self.len, self.done, self.waiting) = (0, 0, 0);
        match self.file.take() {
            Some(file) => {
                file.set_len(0)?;
                fs::remove_file(&self.path)
            }
            None => Ok(()),
        }
    }
}

/// For this process alone; it holds what people said and is nobody else's to read.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    file.try_lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use contract::{CallId, NodeKind, TurnId};

    use super::*;

    fn records(from: u32, to: u32) -> Vec<Record> {
        let turn = TurnId::new();
        (from..to).map(|n| Record::Node(Arc::new(Node::new(turn, CallId(n), NodeKind::Call, 1)))).collect()
    }

    fn calls(batch: &Batch) -> Vec<u32> {
        batch.nodes.iter().map(|node| node.call.0).collect()
    }

    #[test]
    fn records_come_back_in_order_and_the_file_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut spill = Spill::new(path.clone(), ROOM);
        assert_eq!(spill.append(&records(0, 3)).unwrap(), 3);
        let batch = spill.next(2).unwrap();
        assert_eq!(calls(&batch), [0, 1]);
        assert_eq!(calls(&spill.next(2).unwrap()), [0, 1], "nothing moves until it is written");
        spill.written(&batch).unwrap();
        assert_eq!(spill.append(&records(3, 4)).unwrap(), 1);
        let batch = spill.next(9).unwrap();
        assert_eq!((calls(&batch), spill.waiting()), (vec![2, 3], 2));
        spill.written(&batch).unwrap();
        assert!(!path.exists() && spill.waiting() == 0 && spill.next(9).unwrap().count() == 0);
        assert_eq!(spill.append(&records(4, 5)).unwrap(), 1);
        assert_eq!(calls(&spill.next(9).unwrap()), [4]);
    }

    #[test]
    fn the_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut spill = Spill::new(path.clone(), 1_000);
        let kept = spill.append(&records(0, 100)).unwrap();
        assert!(0 < kept && kept < 100);
        assert_eq!(spill.append(&records(0, 100)).unwrap(), 0);
        assert!(fs::metadata(&path).unwrap().len() <= 1_000);
    }

    #[test]
    fn what_a_dead_process_left_is_taken_over_and_a_line_cut_short_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut dead = Spill::new(path.clone(), ROOM);
        dead.append(&records(0, 2)).unwrap();
        let mut spill = Spill::new(path.clone(), ROOM);
        assert!(spill.take_over().is_err(), "two processes never share it");
        drop(dead);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"node\":{\"tu").unwrap();
        spill.take_over().unwrap();
        spill.append(&records(2, 3)).unwrap();
        assert_eq!(spill.waiting(), 4);
        let batch = spill.next(9).unwrap();
        assert_eq!((calls(&batch), batch.broken), (vec![0, 1, 2], 1));
        spill.written(&batch).unwrap();
        assert!(!path.exists());
    }
}
