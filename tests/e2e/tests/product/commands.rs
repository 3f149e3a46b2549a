//! Programs as tools of the real binary: confined by it, ended by it, and what they wrote brought back.

use std::{path::Path, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::{
    database::Kind,
    gateway::Gateway,
    world::{World, eventually},
};

/// A script of a shell as a tool, with more keys of its endpoint.
fn tool(name: &str, more: &str) -> String {
    format!(
        "name: {name}\ndescription: Runs a small script\npermissions: [write_files]\n\
         parameters: {{ type: object, required: [script], properties: {{ script: {{ type: string }} }} }}\n\
         endpoint: {{ type: command, argv: [sh, -c, \"{{script}}\"]{more} }}\n\
         execution: {{ timeout: 3s, concurrency_limit: 64 }}\n"
    )
}

async fn invoke(gateway: &Gateway, tool: &str, script: &str) -> Value {
    gateway.post(&format!("/v1/tools/{tool}/invoke?platform=telegram"), json!({ "script": script })).await.1
}

/// Whether a process runs that was started with these words.
fn runs(words: &str) -> bool {
    let entries = std::fs::read_dir("/proc").expect("a folder of processes").flatten();
    let mut lines = entries.map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
    lines.any(|line| line.replace('\0', " ").starts_with(words))
}

fn toolgate(folder: &Path, args: &[&str]) -> Value {
    let output = Command::new(crate::gateway::binary())
        .args(["--json", "--config"])
        .arg(folder.join("toolgate.yaml"))
        .args(args)
        .output()
        .expect("the binary starts");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[tokio::test]
async fn programs_of_every_bad_habit_harm_no_other_call() {
    let world = World::new(Kind::Sqlite).await;
    world.write("tools/sh.yaml", &tool("sh", ", sandbox: { processes: 16, file_size: 1MiB, disk: 4MiB }"));
    let gateway = world.start().await;
    gateway.logged("tools that are programs are confined").await;
    let well = async {
        for n in 0..20 {
            let answer = invoke(&gateway, "sh", &format!("echo {n}; sleep 0.1")).await;
            assert_eq!(answer["result"], json!(n.to_string()), "{answer:#}");
        }
    };
    let bad = async {
        let code = async |script: &str| invoke(&gateway, "sh", script).await["error"]["code"].clone();
        assert_eq!(code("kill -ABRT $$").await, "panic");
        assert_eq!(code("exit 7").await, "upstream.5xx");
        assert_eq!(code("trap '' TERM; sleep 77.1; sleep 77.1").await, "timeout");
        assert_eq!(code("head -c 262144 /dev/zero >&2; exit 1").await, "upstream.5xx");
        assert_eq!(code("setsid sleep 77.2 & (sleep 77.2 &); exit 1").await, "upstream.5xx");
        assert_eq!(code("f() { f | f & }; f; sleep 30").await, "upstream.5xx");
        assert_eq!(code("while :; do head -c 900000 /dev/zero > $(mktemp); done").await, "upstream.5xx");
        assert_eq!(code("yes").await, "upstream.broken");
        assert_eq!(code("cat /etc/shadow").await, "upstream.5xx");
    };
    tokio::join!(well, bad);
    for words in ["sleep 77.1", "sleep 77.2"] {
        eventually("nothing of it is left", async || !runs(words)).await;
    }
    let team = world.chat("team");
    assert!(team.says("/look tag=after").answer().await.text.contains("tag: after"));
}

#[tokio::test]
async fn a_gateway_that_stops_or_is_killed_leaves_no_program_behind() {
    let world = World::new(Kind::Sqlite).await;
    world.write("tools/sh.yaml", &tool("sh", ""));
    for (words, kills) in [("sleep 78.1", false), ("sleep 78.2", true)] {
        let mut gateway = world.start().await;
        let team = world.chat("team");
        team.says(&format!("/sh script=\"trap '' TERM; {words}; {words}\""));
        eventually("it runs", async || runs(words)).await;
        if kills {
            gateway.kill();
        } else {
            gateway.terminate();
            let _ = tokio::time::timeout(Duration::from_secs(20), gateway.ended()).await;
        }
        eventually("it has ended", async || !runs(words)).await;
    }
}

#[tokio::test]
async fn a_folder_is_kept_before_a_tool_writes_in_it_and_brought_back() {
    let world = World::new(Kind::Sqlite).await;
    world.write("work/notes.txt", "as it was");
    let folder = world.path("work").canonicalize().expect("it is there");
    world.write("tools/sh.yaml", &tool("sh", &format!(", folder: \"{}\"", folder.display())));
    let gateway = world.start().await;
    let answer = invoke(&gateway, "sh", "echo changed > notes.txt; echo new > new.txt; cat notes.txt").await;
    assert_eq!(answer["result"], "changed", "{answer:#}");
    let kept = toolgate(world.folder.path(), &["checkpoint", "list"]);
    let id = kept["checkpoints"][0]["id"].as_str().unwrap_or_else(|| panic!("{kept:#}")).to_owned();
    let shown = toolgate(world.folder.path(), &["checkpoint", "show", &id]);
    assert_eq!(
        shown["changes"],
        json!([{ "path": "new.txt", "how": "added" }, { "path": "notes.txt", "how": "changed" }]),
        "{shown:#}"
    );
    let restored = toolgate(world.folder.path(), &["checkpoint", "restore", &id]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    assert_eq!((read("notes.txt").as_deref(), read("new.txt")), (Some("as it was"), None));
    let before = restored["kept"]["id"].as_str().expect("the present was kept");
    toolgate(world.folder.path(), &["checkpoint", "restore", before]);
    assert_eq!((read("notes.txt").as_deref(), read("new.txt").as_deref()), (Some("changed\n"), Some("new\n")));
}
