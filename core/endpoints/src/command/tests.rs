//! Programs of every bad habit, run by the real launcher and confined by what this host has.

use std::{path::PathBuf, time::Duration};

use contract::{Code, Layer};
use expect_test::expect;
use serde_json::json;
use tools::spec::EndpointSpec;

use super::*;
use crate::testing::{Bench, spec};

/// What the test of this crate is beside: the example is built along with it.
fn launcher() -> PathBuf {
    let exe = std::env::current_exe().expect("a test is a file");
    let found = exe.ancestors().map(|folder| folder.join("examples/confine")).find(|path| path.is_file());
    found.expect("the example 'confine' is built with the tests")
}

fn commands() -> Arc<Commands> {
    Arc::new(Commands::new(launcher()))
}

/// A tool that runs a script of a shell; `more` are keys of its endpoint.
fn shell(more: &str) -> Command {
    tool_of(&commands(), &format!("argv: [sh, -c, '{{script}}']{more}"), "")
}

fn tool_of(commands: &Arc<Commands>, endpoint: &str, more: &str) -> Command {
    let spec = spec(&format!(
        "name: t\nparameters: {{ properties: {{ script: {{ type: string }} }} }}\n\
         endpoint: {{ type: command, {endpoint} }}\n{more}"
    ));
    let EndpointSpec::Command(command) = &spec.endpoint else { panic!("a command") };
    Command::build(&spec, command, commands.clone()).expect("the tool is one")
}

async fn run(tool: &Command, script: &str) -> Result<Value, ToolFailure> {
    let args = Map::from_iter([("script".to_owned(), script.into())]);
    tool.run(&args, &Bench::new().cx()).await
}

async fn text(tool: &Command, script: &str) -> String {
    match run(tool, script).await {
        Ok(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        Err(failure) => panic!("{:?}", failure.failure()),
    }
}

async fn fails(tool: &Command, script: &str) -> contract::Failure {
    run(tool, script).await.expect_err("it fails").failure().clone()
}

fn cause(failure: &contract::Failure) -> &str {
    failure.cause.for_operator()
}

/// Whether a process runs anywhere that has this word in its command line.
fn runs(word: &str) -> bool {
    let entries = std::fs::read_dir("/proc").expect("a folder of processes").flatten();
    let said = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
    let own = std::process::id().to_string();
    entries.filter(|entry| entry.file_name() != *own).map(said).any(|line| line.contains(word))
}

async fn ends(word: &str) {
    for _ in 0..1_000 {
        if !runs(word) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("'{word}' still runs");
}

#[tokio::test]
async fn a_program_answers_with_text_or_json() {
    let tool = shell("");
    assert_eq!(run(&tool, "echo hello").await.unwrap(), json!("hello"));
    assert_eq!(run(&tool, "echo '{\"a\": 1.5}'").await.unwrap(), json!({ "a": 1.5 }));
    assert_eq!(run(&tool, "echo 007").await.unwrap(), json!("007"));
    assert_eq!(run(&tool, "echo '{no json'").await.unwrap(), json!("{no json"));
    let number = tool_of(&commands(), "argv: [sh, -c, '{script}']", "returns: { type: integer }\n");
    assert_eq!(run(&number, "echo 7").await.unwrap(), json!(7));
}

#[tokio::test]
async fn a_program_reads_what_it_is_given_and_need_not() {
    let cat = tool_of(&commands(), "argv: [cat], stdin: '{script}'", "");
    let long = "x".repeat(300_000);
    assert_eq!(text(&cat, &long).await, long);
    let deaf = tool_of(&commands(), "argv: [echo, done], stdin: '{script}'", "");
    assert_eq!(text(&deaf, &long).await, "done");
    let none = shell("");
    assert_eq!(text(&none, "cat; echo nothing").await, "nothing");
}

#[tokio::test]
async fn the_environment_is_its_own() {
    let tool = shell(", env: { GREETING: 'hello', HERS: 'env:CARGO_PKG_NAME' }");
    let env = text(&tool, "env | cut -d= -f1 | sort | tr '\\n' ' '; echo; echo $GREETING $HERS; pwd; echo $HOME").await;
    let lines: Vec<_> = env.lines().collect();
    let names: Vec<_> =
        lines[0].split_whitespace().filter(|name| !["LANG", "LC_ALL", "LC_CTYPE", "TZ"].contains(name)).collect();
    assert_eq!(names, ["GREETING", "HERS", "HOME", "PATH", "PWD", "TMPDIR", "TOOLGATE_CALL"], "{env}");
    assert_eq!(lines[1], "hello endpoints");
    assert_eq!(lines[2], lines[3]);
    assert!(!PathBuf::from(lines[2]).exists(), "the folder of the call is gone");
    let missing = shell(", env: { X: 'env:NO_SUCH_VARIABLE_HERE' }");
    let failure = fails(&missing, "true").await;
    assert_eq!((failure.code, failure.effect), (Code::Unavailable, Effect::None));
}

#[tokio::test]
async fn an_exit_code_is_a_failure_and_its_last_words_are_for_operators() {
    let tool = shell("");
    let failure = fails(&tool, "echo out; echo some words >&2; exit 3").await;
    expect!["'t' ended with the exit code 3"].assert_eq(failure.say.as_str());
    expect!["exit code 3; on standard error: some words"].assert_eq(cause(&failure));
    assert_eq!((failure.layer(), failure.code), (Layer::Execution, Code::Upstream5xx));
    let failure = fails(&tool_of(&commands(), "argv: [no-such-program]", ""), "").await;
    assert_eq!((failure.code, failure.effect), (Code::Unavailable, Effect::None));
    expect!["'no-such-program' cannot be started: entity not found"].assert_eq(cause(&failure));
}

#[tokio::test]
async fn a_program_that_dies_is_fatal_to_its_call_alone() {
    let tool = Arc::new(shell(""));
    let other = tokio::spawn({
        let tool = tool.clone();
        async move { text(&tool, "sleep 1; echo well").await }
    });
    for (script, signal) in
        [("kill -ABRT $$", "signal 6"), ("kill -SEGV $$", "signal 11"), ("kill -KILL $$", "signal 9")]
    {
        let failure = fails(&tool, script).await;
        assert_eq!((failure.layer(), failure.code), (Layer::Fatal, Code::Panic), "{failure:?}");
        assert!(cause(&failure).contains(signal), "{failure:?}");
    }
    let python = tool_of(&commands(), "argv: [python3, -c, 'import os; os.abort()']", "");
    assert!(cause(&fails(&python, "").await).contains("signal 6"));
    assert_eq!(other.await.unwrap(), "well");
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_program_and_what_that_started() {
    let commands = commands();
    let tool = tool_of(&commands, "argv: [sh, -c, '{script}']", "");
    for script in [
        // Asked to end, it cleans up.
        "exec 2>/dev/null; sleep 41.11 & trap 'kill %1; exit' TERM; wait",
        "trap '' TERM; sleep 41.12; sleep 41.12",
        "setsid sh -c 'trap \"\" TERM; sleep 41.13 & sleep 41.13' & sleep 41.13",
        "(sleep 41.14 &) ; (setsid sleep 41.14 >/dev/null 2>&1 &) ; sleep 41.14",
    ] {
        let word = script.split(' ').find(|word| word.starts_with("41.")).unwrap().trim_end_matches(';').to_owned();
        let word = format!("sleep\0{word}");
        {
            let call = run(&tool, script);
            tokio::pin!(call);
            let begun = async {
                while !runs(&word) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::select! {
                ended = &mut call => panic!("{ended:?}"),
                () = begun => {}
            }
        }
        ends(&word).await;
    }
    commands.close().await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let tool = shell("");
    for script in [
        "setsid sleep 42.21 & echo done",
        "(sleep 42.22 &) ; echo done",
        "nohup sleep 42.23 >/dev/null 2>&1 & echo done",
    ] {
        assert_eq!(text(&tool, script).await, "done");
        for word in ["42.21", "42.22", "42.23"] {
            ends(&format!("sleep\0{word}")).await;
        }
    }
}

#[tokio::test]
async fn what_is_written_is_bounded() {
    let tool = shell("");
    let failure = fails(&tool, "yes").await;
    expect!["'t' wrote more than 4 MiB and was stopped"].assert_eq(failure.say.as_str());
    // Nobody waits for a reader of standard error.
    let failure = fails(&tool, "yes error | head -c 262144 >&2; echo the last words >&2; exit 4").await;
    assert!(cause(&failure).ends_with("the last words"), "{failure:?}");
    assert!(cause(&failure).len() <= run::ERRORS_KEPT + 100);
    assert_eq!(text(&tool, "yes error | head -c 262144 >&2; echo well").await, "well");
}

#[tokio::test]
async fn a_program_takes_no_more_than_it_may() {
    let limits = ", sandbox: { processes: 20, file_size: 1MiB, disk: 3MiB, memory: 128MiB, cpu: 1s }";
    let tool = shell(limits);
    let failure = fails(&tool, "f() { f | f & }; f; sleep 20").await;
    let is_stopped = cause(&failure).contains("more than 20 processes") || cause(&failure).contains("fork");
    assert!(is_stopped, "{failure:?}");
    let large = fails(&tool, "exec head -c 2000000 /dev/zero > a").await;
    assert!(cause(&large).contains("signal 25") || cause(&large).contains("too large"), "{large:?}");
    let many = fails(&tool, "i=0; while :; do head -c 500000 /dev/zero > f$i; i=$((i+1)); done").await;
    expect!["its files took more than 3 MiB"].assert_eq(cause(&many));
    let python = tool_of(&commands(), &format!("argv: [python3, -c, 'x = bytearray(10**9)']{limits}"), "");
    assert!(cause(&fails(&python, "").await).contains("MemoryError"));
    let busy = fails(&tool, "while :; do :; done").await;
    assert!(cause(&busy).contains("signal 24") || cause(&busy).contains("signal 9"), "{busy:?}");
}

#[tokio::test]
async fn what_is_not_granted_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("secret"), "kept").unwrap();
    let (secret, made) = (path.join("secret"), path.join("made"));
    let tool = shell("");
    assert_eq!(text(&tool, "echo x > mine; cat mine").await, "x");
    assert!(run(&tool, &format!("cat {}", secret.display())).await.is_err());
    assert!(run(&tool, &format!("echo x > {}", made.display())).await.is_err());
    assert!(run(&tool, "cat /etc/shadow").await.is_err());
    assert!(run(&tool, "echo x > /usr/bin/toolgate-was-here").await.is_err());
    assert!(run(&tool, &format!("kill -0 {}", std::process::id())).await.is_err());
    assert!(run(&tool, &format!("cat /proc/{}/environ", std::process::id())).await.is_err());
    let reads = shell(&format!(", sandbox: {{ read: ['{}'] }}", path.display()));
    assert_eq!(text(&reads, &format!("cat {}", secret.display())).await, "kept");
    assert!(run(&reads, &format!("echo x > {}", made.display())).await.is_err());
    let writes = shell(&format!(", sandbox: {{ write: ['{}'] }}", path.display()));
    assert_eq!(text(&writes, &format!("echo x > {}; echo done", made.display())).await, "done");
    let there = shell(&format!(", folder: '{}'", path.display()));
    assert_eq!(text(&there, "cat secret; echo; pwd").await, format!("kept\n{}", path.display()));
    let everywhere = shell(", sandbox: { read: true, write: true }");
    assert_eq!(text(&everywhere, &format!("cat {}", secret.display())).await, "kept");
}

#[tokio::test]
async fn the_network_is_there_when_it_is_granted() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("import socket; socket.create_connection((\"127.0.0.1\", {port}), 3); print(\"connected\")");
    let tool = |sandbox: &str| tool_of(&commands(), &format!("argv: [python3, -c, '{script}']{sandbox}"), "");
    assert!(cause(&fails(&tool(""), "").await).contains("Error"));
    assert_eq!(text(&tool(", sandbox: { network: true }"), "").await, "connected");
}

#[tokio::test]
async fn what_confines_a_program_is_said_of_its_call() {
    let (tool, host) = (shell(""), commands());
    let words = host.look().unwrap();
    let said = confined(host.host().unwrap(), &tool.command);
    assert_eq!(said, format!("confined by {words}: no network, writes its folder"));
    let nobody = tool_of(&Arc::default(), "argv: [sh]", "");
    let failure = fails(&nobody, "").await;
    assert_eq!((failure.code, cause(&failure)), (Code::Unavailable, "programs cannot be confined here"));
}
