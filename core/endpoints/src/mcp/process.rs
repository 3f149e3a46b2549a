//! A server that is a process of ours: in a group of its own, so that all that it started ends with it.

use std::{
    collections::VecDeque,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncReadExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::{Instant, timeout},
};
use tracing::{debug, info};

/// How long a process is given to end by itself, then again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// Most bytes of a line of its standard error that are kept.
const LINE: usize = 500;
/// Most lines that are logged in a minute; of the others the number is told.
const LINES_A_MINUTE: u32 = 60;
/// The last lines are kept to tell why it ended.
const LAST_LINES: usize = 5;
/// What every program needs to find its files and to speak a language; nothing else of ours is passed on.
pub const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
];

/// The last lines of a process's standard error.
type Last = Arc<Mutex<VecDeque<String>>>;

/// A process that runs.
pub struct Process {
    child: Child,
    group: Option<Pid>,
    last: Last,
    log: JoinHandle<()>,
}

/// Starts a process; its standard streams are for the protocol, its standard error goes to the log.
pub fn start(
    server: &str,
    command: &[String],
    env: &[(String, String)],
    folder: Option<&Path>,
) -> Result<(Process, ChildStdout, ChildStdin), String> {
    let (program, args) = command.split_first().ok_or("there is no command")?;
    let mut it = Command::new(program);
    it.args(args).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    it.envs(PASSED_ON.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    it.envs(env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = folder {
        it.current_dir(folder);
    }
    let mut child = it
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("'{program}' cannot be started: {}", error.kind()))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = streams else { return Err("it has no streams".into()) };
    let last = Last::default();
    // Ends with the stream, which the group's end closes; `end` and the drop see to both.
    let log = tokio::spawn(drain(server.into(), stderr, last.clone()));
    Ok((Process { child, group, last, log }, stdout, stdin))
}

impl Process {
    /// Waits until it ended by itself; how, and its last words.
    pub async fn ended(&mut self) -> String {
        let status = self.child.wait().await;
        // What it wrote last may be on its way still; a child of its own may hold the stream for ever.
        if !self.log.is_finished() {
            let _ = timeout(Duration::from_millis(200), &mut self.log).await;
        }
        let how = status.map_or_else(|error| error.kind().to_string(), |status| status.to_string());
        let last = self.last_words();
        if last.is_empty() {
            format!("the process ended ({how})")
        } else {
            format!("the process ended ({how}): {last}")
        }
    }

    pub fn last_words(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    /// Ends it and all that it started. Its standard input is closed by now: that is how it is asked.
    pub async fn end(mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = timeout(GRACE, self.child.wait()).await;
        }
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
    }

    /// Ends it at once.
    pub async fn kill(mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
    }

    fn signal(&self, signal: Signal) {
        // Nobody is left in the group: that is as good.
        let _ = self.group.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.log.abort();
    }
}

/// Reads standard error to its end, whatever is written there, so that the server never waits for us to read it.
async fn drain(server: Arc<str>, stderr: ChildStderr, last: Last) {
    let mut stderr = BufReader::new(stderr);
    let (mut chunk, mut line) = (vec![0_u8; 4096], Vec::new());
    let mut pace = Pace::new();
    loop {
        let read = match stderr.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        for byte in chunk.iter().take(read) {
            match byte {
                b'\n' => tell(&server, &mut line, &last, &mut pace),
                _ if line.len() < LINE => line.push(*byte),
                _ => {}
            }
        }
    }
    tell(&server, &mut line, &last, &mut pace);
}

fn tell(server: &str, line: &mut Vec<u8>, last: &Last, pace: &mut Pace) {
    let text = contract::text::one_line(&String::from_utf8_lossy(line), LINE);
    line.clear();
    if text.is_empty() {
        return;
    }
    if pace.may_tell(server) {
        debug!(%server, said = text, "an MCP server writes");
    }
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if last.len() == LAST_LINES {
        last.pop_front();
    }
    last.push_back(text);
}

/// How many lines went to the log in this minute.
struct Pace {
    since: Instant,
    lines: u32,
}

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), lines: 0 }
    }

    fn may_tell(&mut self, server: &str) -> bool {
        if self.since.elapsed() >= Duration::from_secs(60) {
            if self.lines > LINES_A_MINUTE {
                info!(%server, lines = self.lines - LINES_A_MINUTE, "an MCP server wrote more than is logged");
            }
            *self = Self::new();
        }
        self.lines = self.lines.saturating_add(1);
        self.lines <= LINES_A_MINUTE
    }
}
