//! Asks a program: the question on its standard input, the answer on its standard output, nothing left of it behind.

use std::{path::PathBuf, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use super::asked::BODY_MAX;
use crate::mcp::{self, PASSED_ON, Part};

/// Most bytes of its standard error that are kept, the last ones.
const ERRORS: usize = 2 << 10;

pub struct Program {
    pub argv: Vec<String>,
    pub env: Vec<(String, Vec<Part>)>,
    pub folder: Option<PathBuf>,
}

/// A group of processes that ends with this.
struct Group(Option<Pid>);

impl Group {
    fn end(&self) {
        // Nobody is left in the group: that is as good.
        let _ = self.0.map(|group| kill_process_group(group, Signal::KILL));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

impl Program {
    /// What it wrote, when it ended well. Dropped, as at its timeout, it ends with all that it started.
    pub async fn run(&self, body: Vec<u8>) -> Result<Vec<u8>, String> {
        let env = mcp::variables(&self.env, false).await?.values;
        let [program, args @ ..] = &self.argv[..] else { return Err("there is no command".to_owned()) };
        let mut command = Command::new(program);
        command.args(args).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(PASSED_ON.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)))).envs(env);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = command
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("'{program}' cannot be started: {}", error.kind()))?;
        let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let asking = async move {
            let Some(mut stdin) = stdin else { return };
            // A program that does not read what it is asked may answer all the same.
            let _ = stdin.write_all(&body).await;
            let _ = stdin.shutdown().await;
        };
        let ending = async {
            let status = child.wait().await;
            // Whatever it left behind holds its streams no longer.
            group.end();
            status
        };
        let ((), answer, errors, status) = tokio::join!(asking, whole(stdout), last(stderr), ending);
        let status = status.map_err(|error| format!("'{program}' cannot be waited for: {}", error.kind()))?;
        if !status.success() {
            let errors = String::from_utf8_lossy(&errors);
            return Err(format!("'{program}' ends with {status}: {}", contract::text::one_line(&errors, 400)));
        }
        answer.ok_or_else(|| format!("it writes more than {BODY_MAX} bytes"))
    }
}

/// All of it; nothing when that is too much. Read to its end either way, so that nobody waits for us to read.
async fn whole(stream: Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let mut fits = true;
    each(stream, |bytes| {
        fits &= all.len() + bytes.len() <= BODY_MAX;
        if fits {
            all.extend_from_slice(bytes);
        }
    })
    .await;
    fits.then_some(all)
}

/// The last of it.
async fn last(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    each(stream, |bytes| {
        kept.extend_from_slice(bytes);
        kept.drain(..kept.len().saturating_sub(ERRORS));
    })
    .await;
    kept
}

async fn each(stream: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut stream) = stream else { return };
    let mut bytes = vec![0; 16 << 10];
    while let Ok(read @ 1..) = stream.read(&mut bytes).await {
        take(&bytes[..read]);
    }
}
