//! The process between the gateway and a program: it sets limits, confines, begins, and watches until the end.
//!
//! Two steps, each a process: the one that watches is not confined, so that it sees what the program does; the other
//! confines itself and becomes the program. Runs before there is a runtime: `toolgate confine PLAN -- PROGRAM ARGS`.

use std::{
    ffi::OsString,
    fs,
    io::Write as _,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        Pid, Resource, Rlimit, Signal, WaitOptions, getpgrp, getpid, getuid, kill_process, kill_process_group,
        set_child_subreaper, setrlimit, wait,
    },
};

use super::plan::{BY_SIGNAL, OURS, OURS_EXIT, Plan};

/// How often it is looked at what the program takes.
const LOOK: Duration = Duration::from_millis(25);
/// The same where all processes of the host have to be looked through.
const LOOK_AT_ALL: Duration = Duration::from_millis(200);
/// Most entries of the folder that are looked at; one that has more has too many.
const ENTRIES: usize = 20_000;
/// Most open files of one process.
const OPEN_FILES: u64 = 1_024;
/// The lowest bound of process numbers that a kernel takes, and a little.
const PID_MAX_LEAST: u32 = 310;
/// How far a program stands back when the processors are wanted by others: by the gateway, and by what watches it.
const STANDS_BACK: i32 = 10;
/// How often those that are left are told to end.
const ROUNDS: u32 = 200;

/// Does what the plan says; how to end.
pub fn run(plan: &str, argv: &[OsString]) -> u8 {
    let told = serde_json::from_str::<Plan>(plan).map_err(|error| format!("the plan cannot be read: {error}"));
    let done = told
        .and_then(|plan| if plan.watched { begin(&plan, argv).map(|never| match never {}) } else { watch(plan, argv) });
    done.unwrap_or_else(|why| {
        say(&why);
        OURS_EXIT
    })
}

fn say(why: &str) {
    // Whoever should read it may be gone.
    let _ = writeln!(std::io::stderr(), "{OURS}{why}");
}

/// Starts the second step, waits for its end, and ends what it left.
fn watch(mut plan: Plan, argv: &[OsString]) -> Result<u8, String> {
    // What the program leaves behind comes to us. The first process of a namespace is that anyway.
    let _ = set_child_subreaper(Some(getpid()));
    let exe = std::env::current_exe().map_err(|error| format!("the launcher is not to be found: {}", error.kind()))?;
    plan.watched = true;
    bound_processes(&plan);
    let text = serde_json::to_string(&plan).map_err(|error| error.to_string())?;
    let child = Command::new(exe)
        .arg("confine")
        .arg(text)
        .arg("--")
        .args(argv)
        .spawn()
        .map_err(|error| format!("the second step cannot be started: {}", error.kind()))?;
    let first = i32::try_from(child.id()).map_err(|_| "a process has no number")?;
    thread::spawn(move || look(&plan));
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == first => {
                end_the_rest();
                return Ok(code(std::process::ExitStatus::from_raw(status.as_raw())));
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    }
}

/// A bound that the kernel keeps also for root, whose processes it does not count: how high the numbers of this namespace
/// go. It may be set where the namespace is ours and the kernel has one for each; elsewhere the watching is all there is.
fn bound_processes(plan: &Plan) {
    if plan.own_processes && getpid() == Pid::INIT {
        let most = PID_MAX_LEAST.saturating_add(plan.processes);
        let _ = fs::write("/proc/sys/kernel/pid_max", most.to_string());
    }
}

fn code(status: std::process::ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(OURS_EXIT)
}

/// Kills what the program left. The end of a namespace's first process does that by itself.
fn end_the_rest() {
    if getpid() == Pid::INIT {
        return;
    }
    for _ in 0..ROUNDS {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let left = descendants();
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends everything once the program takes more than it may.
fn look(plan: &Plan) {
    let why = loop {
        thread::sleep(if plan.own_processes { LOOK } else { LOOK_AT_ALL });
        let running = if plan.own_processes { numbers().count() } else { descendants().len() + 1 };
        // This process is one of them.
        if running > plan.processes as usize + 2 {
            break format!("it ran more than {} processes at once", plan.processes);
        }
        if nobody_reads() {
            break "nobody reads what it writes".to_owned();
        }
        if taken(&plan.scratch, &mut 0) > plan.disk {
            break format!("its files took more than {} MiB", plan.disk >> 20);
        }
    };
    say(&why);
    if !plan.own_processes {
        // Whoever left the group too, then itself.
        end_the_rest();
        let _ = kill_process_group(getpgrp(), Signal::KILL);
    }
    std::process::exit(i32::from(OURS_EXIT));
}

/// Whether the gateway is gone: it reads standard error until the end, whatever happens.
fn nobody_reads() -> bool {
    let stderr = std::io::stderr();
    let mut asked = [PollFd::new(&stderr, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|_| asked[0].revents().contains(PollFlags::ERR))
}

/// The bytes of a folder; more than anything when it has too many entries.
fn taken(folder: &Path, seen: &mut usize) -> u64 {
    let mut sum = 0_u64;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        *seen += 1;
        if *seen > ENTRIES {
            return u64::MAX;
        }
        let Ok(about) = entry.metadata() else { continue };
        let inner = if about.is_dir() { taken(&entry.path(), seen) } else { about.len() };
        sum = sum.saturating_add(inner);
    }
    sum
}

/// The processes that are to be seen.
fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Everything that this process started, and what those did.
fn descendants() -> Vec<i32> {
    // Its number as the mounted files about processes count it, which need not be its own namespace's.
    let own = fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse::<i32>().ok());
    let parents: Vec<(i32, i32)> = numbers().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let (mut found, mut at) = (Vec::from_iter(own), 0);
    while let Some(pid) = found.get(at).copied() {
        found.extend(
            parents
                .iter()
                .filter(|(child, parent)| *parent == pid && !found.contains(child))
                .map(|(child, _)| *child)
                .collect::<Vec<_>>(),
        );
        at += 1;
    }
    found.split_off(usize::from(own.is_some()))
}

/// The fourth field of `stat`, after a name that may hold anything.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Nobody returns from becoming another program.
enum Never {}

/// Confines itself and becomes the program.
fn begin(plan: &Plan, argv: &[OsString]) -> Result<Never, String> {
    let (program, args) = argv.split_first().ok_or("there is no program")?;
    let _ = rustix::process::nice(STANDS_BACK);
    limit(plan)?;
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("privileges cannot be given up: {error}"))?;
    confine(plan)?;
    let error = Command::new(program).args(args).exec();
    Err(format!("'{}' cannot be started: {}", program.display(), error.kind()))
}

fn limit(plan: &Plan) -> Result<(), String> {
    let set = |resource, most: u64| {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        // What is bounded more tightly already stays so.
        match setrlimit(resource, limit) {
            Ok(()) | Err(rustix::io::Errno::PERM) => Ok(()),
            Err(error) => Err(format!("a limit cannot be set: {error}")),
        }
    };
    if let Some(seconds) = plan.cpu {
        set(Resource::Cpu, seconds)?;
    }
    set(Resource::Data, plan.memory)?;
    set(Resource::Fsize, plan.file_size)?;
    set(Resource::Core, 0)?;
    set(Resource::Nofile, OPEN_FILES)?;
    // The kernel counts a user's threads; in a namespace of its own those of the program alone.
    let others = if plan.own_processes { 2 } else { threads_of_ours() };
    set(Resource::Nproc, u64::from(plan.processes) + others)
}

/// How many threads this user has.
fn threads_of_ours() -> u64 {
    let own = getuid().as_raw();
    let threads = |pid: i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next());
        let is_ours = field("Uid:")?.parse() == Ok(own);
        field("Threads:")?.parse::<u64>().ok().filter(|_| is_ours)
    };
    numbers().filter_map(threads).sum()
}

#[cfg(target_os = "linux")]
fn confine(plan: &Plan) -> Result<(), String> {
    super::landlock::confine(plan)
}

#[cfg(not(target_os = "linux"))]
fn confine(_plan: &Plan) -> Result<(), String> {
    Ok(())
}
