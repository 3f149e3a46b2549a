//! A program that runs: in a process group of its own, with bounded streams, ended as a whole.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Most bytes of its standard output.
pub const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// Most bytes of its standard error that are kept: the last ones.
pub const ERRORS_KEPT: usize = 16 * 1024;
/// How long it may take to end once it was told to.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long streams may stay open after its end.
const CLOSING: Duration = Duration::from_millis(500);
/// How often it is looked whether its group has ended.
const LOOK: Duration = Duration::from_millis(20);
/// A variable by which processes of a call are found that left its group.
const CALL: &str = "TOOLGATE_CALL";

/// What is to be run.
pub struct Run {
    pub line: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub folder: PathBuf,
    pub stdin: Option<String>,
    /// A word that no other call has.
    pub call: String,
    /// Nothing ends what has left the group, so that it has to be looked for.
    pub may_escape: bool,
}

/// How it ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, with its output and the end of what it wrote to standard error.
    Itself {
        status: ExitStatus,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    /// It was told to: nobody waits for it any more.
    Stopped,
    /// It wrote more than is read.
    TooMuch,
    NotStarted(String),
}

/// Runs it to its end, which `stop` brings about. Not to be dropped: then it ends at once, and what left its group stays.
pub async fn run(run: Run, stop: CancellationToken) -> Ended {
    let Some((program, args)) = run.line.split_first() else { return Ended::NotStarted("there is no program".into()) };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(run.env).env(CALL, &run.call).current_dir(&run.folder);
    command.stdin(if run.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NotStarted(format!("'{}': {}", program.display(), error.kind())),
    };
    let mut group = Group::of(child);
    let ended = group.wait(run.stdin, &stop).await;
    group.end().await;
    if run.may_escape {
        let _ = tokio::task::spawn_blocking(move || end_marked(&run.call)).await;
    }
    ended
}

/// A process and its group.
struct Group {
    child: Child,
    id: Option<Pid>,
}

impl Group {
    fn of(child: Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { child, id }
    }

    async fn wait(&mut self, stdin: Option<String>, stop: &CancellationToken) -> Ended {
        let (too_much, mut is_too_much) = watch::channel(false);
        let reading = |stream| AbortOnDropHandle::new(stream);
        let mut stdout = reading(tokio::spawn(first(self.child.stdout.take(), too_much)));
        let mut stderr = reading(tokio::spawn(last(self.child.stderr.take())));
        let input = self.child.stdin.take().zip(stdin);
        let _writing = AbortOnDropHandle::new(tokio::spawn(async move {
            if let Some((mut pipe, text)) = input {
                // It need not read what it is given.
                let _ = pipe.write_all(text.as_bytes()).await;
            }
        }));
        let status = tokio::select! {
            biased;
            () = stop.cancelled() => return Ended::Stopped,
            status = self.child.wait() => status,
            // The sender is gone once the stream ended: then this never comes.
            Ok(_) = is_too_much.wait_for(|is| *is) => return Ended::TooMuch,
        };
        let status = match status {
            Ok(status) => status,
            Err(error) => return Ended::NotStarted(format!("it cannot be waited for: {}", error.kind())),
        };
        let both = async { (&mut stdout).await.ok().zip((&mut stderr).await.ok()) };
        let Ok(both) = timeout(CLOSING, both).await else {
            // What it left behind holds the streams: that ends first.
            self.end().await;
            let both = async { (&mut stdout).await.ok().zip((&mut stderr).await.ok()) };
            let (stdout, stderr) = timeout(CLOSING, both).await.ok().flatten().unwrap_or_default();
            return Ended::of(status, stdout, stderr);
        };
        let (stdout, stderr) = both.unwrap_or_default();
        Ended::of(status, stdout, stderr)
    }

    /// Ends whatever is left of it.
    async fn end(&mut self) {
        let Some(id) = self.id else { return };
        if !self.is_there(id) {
            return;
        }
        let _ = kill_process_group(id, Signal::TERM);
        let until = Instant::now() + GRACE;
        while self.is_there(id) && Instant::now() < until {
            sleep(LOOK).await;
        }
        if self.is_there(id) {
            let _ = kill_process_group(id, Signal::KILL);
        }
        let _ = timeout(GRACE, self.child.wait()).await;
    }

    /// Whether anybody is left in the group. Its first process is fetched, so that it does not count when it is dead.
    fn is_there(&mut self, id: Pid) -> bool {
        let _ = self.child.try_wait();
        test_kill_process_group(id).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Where the runtime ends before the call does. A number is not used again while its process was not fetched.
        if let (Some(id), Ok(None)) = (self.id, self.child.try_wait()) {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Ended {
    fn of(status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8>) -> Self {
        if stdout.len() > OUTPUT_MAX { Self::TooMuch } else { Self::Itself { status, stdout, stderr } }
    }
}

/// The beginning of a stream, one byte more than is allowed at most; says when it is more.
async fn first(stream: Option<impl AsyncRead + Unpin>, too_much: watch::Sender<bool>) -> Vec<u8> {
    let mut read = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(OUTPUT_MAX as u64 + 1).read_to_end(&mut read).await;
    }
    if read.len() > OUTPUT_MAX {
        let _ = too_much.send(true);
    }
    read
}

/// The end of a stream, which is read to its end whatever is written there, so that nobody waits for us to read it.
async fn last(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), vec![0_u8; 8 * 1024]);
    let Some(mut stream) = stream else { return kept };
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..read]);
        let more = kept.len().saturating_sub(ERRORS_KEPT);
        if more > 0 {
            kept.drain(..more);
        }
    }
    kept
}

/// Kills the processes of a call that left its group, wherever they are.
fn end_marked(call: &str) {
    let mark = format!("{CALL}={call}\0");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let is_marked = |path: &Path| {
            std::fs::read(path).is_ok_and(|environ| environ.windows(mark.len()).any(|part| part == mark.as_bytes()))
        };
        if is_marked(&entry.path().join("environ")) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}
