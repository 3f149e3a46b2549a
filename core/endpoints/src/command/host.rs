//! What this host has to confine a program with, and the command line that does it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tools::spec::{Granted, Sandbox};

use super::plan::{Plan, SYSTEM};

/// What there is, looked at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The program that sets limits and confines: this one.
    pub launcher: PathBuf,
    /// Of Landlock; 0 when there is none.
    pub landlock: u8,
    pub around: Around,
}

/// What gives a program a network, processes and files of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    Bubblewrap,
    /// `unshare` of util-linux; whether the program gets files about its own processes alone.
    Unshare {
        own_processes: bool,
    },
    Nothing,
}

/// Options of `unshare`. Whoever ends it ends all that runs in it.
const UNSHARE: &[&str] = &["--user", "--map-current-user", "--ipc", "--pid", "--fork", "--kill-child"];
/// Options of bubblewrap.
const BUBBLEWRAP: &[&str] = &["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--die-with-parent"];

impl Host {
    /// Looks: starts a few short programs, so not for a runtime's thread.
    pub fn look(launcher: &Path) -> Self {
        Self { launcher: launcher.to_owned(), landlock: landlock(), around: Around::look() }
    }

    /// Whether what is not granted can be denied, else why not.
    pub fn can(&self, sandbox: &Sandbox) -> Result<(), String> {
        if !cfg!(target_os = "linux") {
            return Err("programs can be confined on Linux alone".to_owned());
        }
        let all = |granted: &Granted| *granted == Granted::All;
        let keeps_files = !(all(&sandbox.read) && all(&sandbox.write));
        if keeps_files && self.landlock == 0 && self.around != Around::Bubblewrap {
            return Err(
                "this host cannot keep it from other files: install bubblewrap, or use a kernel with Landlock \
                        (6.2 or newer), or grant them with 'sandbox: { read: true, write: true }'"
                    .to_owned(),
            );
        }
        if self.around != Around::Nothing {
            return Ok(());
        }
        if !sandbox.network {
            return Err("this host cannot keep it from the network: install bubblewrap, or allow user namespaces, or \
                        grant it with 'sandbox: { network: true }'"
                .to_owned());
        }
        if !all(&sandbox.write) && self.landlock < 6 {
            return Err("this host cannot keep it from ending other processes: install bubblewrap, or allow user \
                        namespaces, or use a kernel of 6.12 or newer, or grant all with 'sandbox: { write: true }'"
                .to_owned());
        }
        Ok(())
    }

    /// For operators: `bubblewrap and landlock 6`.
    pub fn words(&self) -> String {
        let around = match self.around {
            Around::Bubblewrap => Some("bubblewrap".to_owned()),
            Around::Unshare { .. } => Some("namespaces".to_owned()),
            Around::Nothing => None,
        };
        let landlock = (self.landlock > 0).then(|| format!("landlock {}", self.landlock));
        let words: Vec<_> = around.into_iter().chain(landlock).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(" and ") }
    }

    /// Whether the program sees its own processes alone.
    pub fn own_processes(&self) -> bool {
        matches!(self.around, Around::Bubblewrap | Around::Unshare { own_processes: true })
    }

    /// The whole command line; `folder` is where the program works.
    pub fn line(&self, plan: &Plan, folder: &Path, argv: &[String]) -> Vec<OsString> {
        let mut line: Vec<OsString> = match self.around {
            Around::Nothing => Vec::new(),
            Around::Unshare { own_processes } => {
                let mut line = words(&["unshare"]);
                line.extend(words(UNSHARE));
                line.extend(words(if own_processes { &["--mount-proc"] } else { &[] }));
                line.extend(words(if plan.network { &[] } else { &["--net"] }));
                line.push("--".into());
                line
            }
            Around::Bubblewrap => self.bubblewrap(plan, folder),
        };
        let text = serde_json::to_string(plan).expect("plain fields serialize");
        line.push(self.launcher.clone().into());
        line.extend(["confine".into(), text.into(), "--".into()]);
        line.extend(argv.iter().map(OsString::from));
        line
    }

    fn bubblewrap(&self, plan: &Plan, folder: &Path) -> Vec<OsString> {
        let mut line = words(&["bwrap"]);
        line.extend(words(BUBBLEWRAP));
        line.extend(words(if plan.network { &[] } else { &["--unshare-net"] }));
        let mut bind = |how: &str, path: &Path| line.extend([how.into(), path.into(), path.into()]);
        match (&plan.read, &plan.write) {
            (_, None) => bind("--bind", Path::new("/")),
            (None, Some(_)) => bind("--ro-bind", Path::new("/")),
            (Some(_), Some(_)) => SYSTEM.iter().for_each(|path| bind("--ro-bind-try", Path::new(path))),
        }
        plan.read.iter().flatten().for_each(|path| bind("--ro-bind-try", path));
        line.extend(words(&["--proc", "/proc", "--dev", "/dev"]));
        if plan.read.is_some() && plan.write.is_some() {
            line.extend(words(&["--tmpfs", "/tmp"]));
        }
        let mut bind = |how: &str, path: &Path| line.extend([how.into(), path.into(), path.into()]);
        bind("--ro-bind", &self.launcher);
        plan.write.iter().flatten().for_each(|path| bind("--bind-try", path));
        line.extend(["--chdir".into(), folder.into(), "--".into()]);
        line
    }
}

impl Around {
    fn look() -> Self {
        let bubblewrap =
            [BUBBLEWRAP, &["--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]];
        if works("bwrap", &bubblewrap.concat()) {
            return Self::Bubblewrap;
        }
        for own_processes in [true, false] {
            let proc: &[&str] = if own_processes { &["--mount-proc"] } else { &[] };
            if works("unshare", &[UNSHARE, proc, &["--net", "--", "true"]].concat()) {
                return Self::Unshare { own_processes };
            }
        }
        Self::Nothing
    }
}

fn works(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(target_os = "linux")]
fn landlock() -> u8 {
    super::landlock::level()
}

#[cfg(not(target_os = "linux"))]
fn landlock() -> u8 {
    0
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(landlock: u8, around: Around) -> Host {
        Host { launcher: "/bin/toolgate".into(), landlock, around }
    }

    #[test]
    fn what_cannot_be_denied_has_to_be_granted() {
        let usual = Sandbox::default();
        let all = Sandbox { read: Granted::All, write: Granted::All, ..usual.clone() };
        let online = Sandbox { network: true, ..usual.clone() };
        let free = Sandbox { network: true, ..all.clone() };
        let namespaces = Around::Unshare { own_processes: true };
        let may = |host: Host| [&usual, &all, &online, &free].map(|sandbox| host.can(sandbox).is_ok());
        assert_eq!(may(host(0, Around::Bubblewrap)), [true; 4]);
        assert_eq!(may(host(3, namespaces)), [true; 4]);
        assert_eq!(may(host(0, namespaces)), [false, true, false, true]);
        assert_eq!(may(host(6, Around::Nothing)), [false, false, true, true]);
        assert_eq!(may(host(5, Around::Nothing)), [false, false, false, true]);
        assert_eq!(may(host(0, Around::Nothing)), [false, false, false, true]);
    }
}
