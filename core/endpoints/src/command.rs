//! A program of this host as a tool: started without a shell, confined, within limits, ended with all that it started.
//!
//! Reading order: [`Commands`] is what all of them share; `argv` fills the command line, `host` confines it, `run` runs it,
//! `answer` reads its end. [`launch`] is the process between us and the program. The program sees an environment of its
//! own, no network, and may write its folder alone, unless its owner grants more.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use contract::{Effect, Finding, Private};
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tools::{
    Cx, Endpoint, Fault, Output, Permitted, Probe, Spec, ToolFailure,
    spec::{CommandSpec, Granted},
};

mod answer;
mod argv;
pub mod checkpoint;
mod folder;
mod host;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
pub mod launch;
mod plan;
mod run;

use answer::Wants;
use argv::Line;
use checkpoint::Checkpoints;
use folder::Folder;
use host::Host;
use plan::Plan;
use run::Run;

/// Where programs are looked for when our own environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// What is passed on of our own environment, beside the search path.
const PASSED_ON: &[&str] = &["LANG", "LC_ALL", "LC_CTYPE", "TZ"];
/// The label of a tool whose folder is kept before each call.
const WRITES: &str = "write_files";
/// What a variable of the spec begins with that is read from ours.
const FROM_ENV: &str = "env:";

/// What all programs share: how they are confined, and the tasks that see to their end.
#[derive(Debug, Default)]
pub struct Commands {
    /// The program that has the subcommand `confine`.
    launcher: Option<PathBuf>,
    /// Where checkpoints of folders are kept.
    checkpoints: Option<Checkpoints>,
    host: OnceLock<Host>,
    running: TaskTracker,
    count: AtomicU64,
}

impl Commands {
    /// With the program that confines: our own.
    pub fn new(launcher: PathBuf) -> Self {
        Self { launcher: Some(launcher), ..Self::default() }
    }

    /// With a place where checkpoints are kept.
    #[must_use]
    pub fn checkpoints(self, checkpoints: Option<Checkpoints>) -> Self {
        Self { checkpoints, ..self }
    }

    /// What this host confines with, in words; nothing without a launcher. Not for a runtime's thread.
    pub fn look(&self) -> Option<String> {
        self.host().map(Host::words)
    }

    /// Why a program cannot be run here. Not for a runtime's thread.
    pub fn cannot_run(&self, command: &CommandSpec) -> Option<String> {
        self.may_run(command).err()
    }

    /// Waits until all programs have ended and their folders are gone; their calls have been dropped by now.
    pub async fn close(&self) {
        self.running.close();
        self.running.wait().await;
    }

    fn host(&self) -> Option<&Host> {
        let launcher = self.launcher.as_ref()?;
        Some(self.host.get_or_init(|| {
            folder::remove_old();
            Host::look(launcher)
        }))
    }

    /// What confines a program, or why nothing does.
    fn may_run(&self, command: &CommandSpec) -> Result<&Host, String> {
        let host = self.host().ok_or("programs cannot be confined here")?;
        host.can(&command.sandbox)?;
        match &command.folder {
            Some(folder) if !Path::new(folder).is_dir() => Err(format!("there is no folder '{folder}'")),
            Some(_) | None => Ok(host),
        }
    }

    /// A word that no other call of this host has.
    fn call(&self) -> String {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{:x}-{:x}-{:x}", std::process::id(), since.as_nanos(), self.count.fetch_add(1, Ordering::Relaxed))
    }
}

/// A tool that is a program.
pub(crate) struct Command {
    commands: Arc<Commands>,
    name: Arc<str>,
    command: Arc<CommandSpec>,
    line: Line,
    wants: Wants,
    /// The folder that is kept before the program works in it.
    keeps: Option<PathBuf>,
}

impl Command {
    pub(crate) fn build(spec: &Spec, command: &CommandSpec, commands: Arc<Commands>) -> Result<Self, Finding> {
        Ok(Self {
            commands,
            name: spec.name.clone(),
            command: Arc::new(command.clone()),
            line: Line::build(spec, &command.argv, command.stdin.as_deref())?,
            wants: Wants::of(spec.returns.as_ref()),
            keeps: keeps(spec, command),
        })
    }

    fn unavailable(&self, why: impl Into<String>) -> ToolFailure {
        let say = format!("'{}' cannot be run at present", self.name);
        ToolFailure::new(Fault::Unavailable, say).cause(Private::new(why)).effect(Effect::None)
    }

    async fn run(&self, args: &Map<String, Value>, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        let (argv, stdin) = self.line.fill(args).map_err(|problems| {
            ToolFailure::input_refused(format!("'{}' cannot be called with these values", self.name), problems)
        })?;
        cx.notes.request(Private::new(answer::shown(&argv)));
        let Ready { run, scratch, confined } = self.ready(argv, stdin).await?;
        cx.notes.mark(confined);
        self.checkpoint(cx).await?;
        cx.notes.effect(Effect::Unknown);
        let (stop, (tell, told)) = (CancellationToken::new(), oneshot::channel());
        // Dropped with the call: the task then ends the program and sees to what it left.
        let _stops = stop.clone().drop_guard();
        self.commands.running.spawn(async move {
            let ended = run::run(run, stop).await;
            let _ = tokio::task::spawn_blocking(move || drop(scratch)).await;
            let _ = tell.send(ended);
        });
        let ended = told.await.map_err(|_| self.unavailable("the gateway is stopping"))?;
        answer::read(&self.name, ended, self.wants)
    }

    /// Keeps how the folder is. Without that nothing is changed in it.
    async fn checkpoint(&self, cx: &Cx<'_>) -> Result<(), ToolFailure> {
        let Some(folder) = &self.keeps else { return Ok(()) };
        let nowhere = "there is no place for checkpoints: set the environment variable STATE_DIRECTORY";
        let checkpoints = self.commands.checkpoints.as_ref().ok_or_else(|| self.unavailable(nowhere))?;
        let taken = checkpoints.take(folder, &format!("{} in turn {}", self.name, cx.turn)).await;
        let taken =
            taken.map_err(|why| self.unavailable(format!("no checkpoint of its folder can be taken: {why}")))?;
        cx.notes.mark(format!("checkpoint {}", taken.id));
        Ok(())
    }

    /// What it needs of the host, made ready on a thread that may wait.
    async fn ready(&self, argv: Vec<String>, stdin: Option<String>) -> Result<Ready, ToolFailure> {
        let (commands, command) = (self.commands.clone(), self.command.clone());
        let ready = tokio::task::spawn_blocking(move || Ready::of(&commands, &command, &argv, stdin)).await;
        ready.map_err(|_| "it could not be made ready".to_owned()).flatten().map_err(|why| self.unavailable(why))
    }
}

#[async_trait]
impl Endpoint for Command {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        let none = Map::new();
        self.run(call.args().as_object().unwrap_or(&none), cx).await.map(Output::Done)
    }
}

/// A tool that says that it writes files has its folder kept, unless its owner does not want that.
fn keeps(spec: &Spec, command: &CommandSpec) -> Option<PathBuf> {
    let writes = spec.permissions.iter().any(|label| &**label == WRITES);
    let folder = command.folder.as_ref().filter(|_| writes && command.checkpoint)?;
    Some(PathBuf::from(folder))
}

/// A call that can begin.
struct Ready {
    run: Run,
    scratch: Folder,
    /// By what it is confined, for the node.
    confined: String,
}

impl Ready {
    fn of(commands: &Commands, command: &CommandSpec, argv: &[String], stdin: Option<String>) -> Result<Self, String> {
        let host = commands.may_run(command)?;
        let call = commands.call();
        let scratch = Folder::make(&call).map_err(|error| format!("no folder can be made for it: {}", error.kind()))?;
        let folder = match &command.folder {
            Some(folder) => {
                Path::new(folder).canonicalize().map_err(|error| format!("'{folder}': {}", error.kind()))?
            }
            None => scratch.path().to_owned(),
        };
        let plan = plan(host, command, scratch.path(), &folder);
        let run = Run {
            line: host.line(&plan, &folder, argv),
            env: environment(command, scratch.path())?,
            folder,
            stdin,
            call,
            may_escape: host.around == host::Around::Nothing,
        };
        Ok(Self { run, scratch, confined: confined(host, command) })
    }
}

fn plan(host: &Host, command: &CommandSpec, scratch: &Path, folder: &Path) -> Plan {
    let sandbox = &command.sandbox;
    let granted = |granted: &Granted, more: &[&Path]| match granted {
        Granted::All => None,
        Granted::These(paths) => {
            Some(paths.iter().map(PathBuf::from).chain(more.iter().map(|path| path.to_path_buf())).collect::<Vec<_>>())
        }
    };
    // A program that is named with its path may be read, wherever it is.
    let program = command.argv.first().filter(|program| program.starts_with('/')).map(Path::new);
    Plan {
        landlock: host.landlock,
        network: sandbox.network,
        read: granted(&sandbox.read, program.as_slice()),
        write: granted(&sandbox.write, &[scratch, folder]),
        own_processes: host.own_processes(),
        cpu: sandbox.cpu.map(|time| time.as_secs().max(1)),
        memory: sandbox.memory,
        file_size: sandbox.file_size,
        processes: sandbox.processes,
        scratch: scratch.to_owned(),
        disk: sandbox.disk,
        watched: false,
    }
}

/// `confined by namespaces and landlock 6: no network, writes its folder`.
fn confined(host: &Host, command: &CommandSpec) -> String {
    let sandbox = &command.sandbox;
    let network = if sandbox.network { "network" } else { "no network" };
    let files = match (&sandbox.read, &sandbox.write) {
        (_, Granted::All) => "writes everywhere",
        (_, Granted::These(paths)) if !paths.is_empty() => "writes its folder and what is granted",
        (Granted::All, Granted::These(_)) => "reads everything, writes its folder",
        (Granted::These(_), Granted::These(_)) => "writes its folder",
    };
    format!("confined by {}: {network}, {files}", host.words())
}

/// A search path, a language, and a home that is gone after the call; then what the owner gives it.
fn environment(command: &CommandSpec, scratch: &Path) -> Result<Vec<(OsString, OsString)>, String> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| PATH.into());
    let mut env: Vec<(OsString, OsString)> =
        vec![("PATH".into(), path), ("HOME".into(), scratch.into()), ("TMPDIR".into(), scratch.into())];
    env.extend(PASSED_ON.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
    for (name, value) in &command.env {
        let value = match value.strip_prefix(FROM_ENV) {
            None => value.clone(),
            Some(ours) => {
                let value = std::env::var(ours).map_err(|_| format!("the environment variable '{ours}' is not set"))?;
                // Whatever is kept there rather than in the file is masked wherever the program repeats it.
                crate::secret::Known::shared().note(&SecretString::from(value.as_str()));
                value
            }
        };
        env.push((name.into(), value.into()));
    }
    Ok(env)
}

/// Whether this host can confine a program as its owner wants it.
pub(crate) struct CanRun {
    pub commands: Arc<Commands>,
    pub command: Arc<CommandSpec>,
    /// What its `check` asks.
    pub then: Option<Arc<dyn Probe>>,
}

#[async_trait]
impl Probe for CanRun {
    async fn probe(&self) -> Result<(), String> {
        let (commands, command) = (self.commands.clone(), self.command.clone());
        let can = tokio::task::spawn_blocking(move || commands.may_run(&command).map(drop)).await;
        can.map_err(|_| "it could not be looked at".to_owned()).flatten()?;
        match &self.then {
            Some(probe) => probe.probe().await,
            None => Ok(()),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
