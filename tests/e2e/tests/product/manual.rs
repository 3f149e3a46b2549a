//! What the manual tells people to type, typed.

use std::{path::Path, process::Command};

use e2e::demo::Demo;
use serde_json::Value;

use crate::{gateway::binary, world::eventually};

/// As the manual calls the schedule of its example.
const ID: &str = "1v5zk3m9";

/// The lines of the first block of commands in a document.
fn example(document: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(path).expect("the document is there");
    let block = text.split_once("```sh\n").and_then(|(_, rest)| rest.split_once("```")).expect("it has commands").0;
    block.lines().map(str::to_owned).collect()
}

/// Types a line where a gateway is known; what was printed.
async fn typed(line: &str, gateway: &str) -> String {
    let line = line.replacen("toolgate", "\"$TOOLGATE\"", 1);
    let mut command = Command::new("sh");
    command.args(["-c", &line]).env("TOOLGATE", binary()).env("TOOLGATE_URL", gateway);
    let run = tokio::task::spawn_blocking(move || command.output()).await.expect("it is waited for");
    let ran = run.expect("a shell is there");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{line}: {said}{}", String::from_utf8_lossy(&ran.stderr));
    said
}

#[tokio::test]
async fn the_daily_digest_of_the_manual_runs_in_the_demo() {
    let demo = tokio::task::spawn_blocking(Demo::start).await.expect("it is waited for");
    let gateway = demo.playground.trim_end_matches("/playground");
    let listed = typed("toolgate schedule list --json", gateway).await;
    let listed: Value = serde_json::from_str(&listed).expect("it is JSON");
    let schedule = &listed["schedules"][0];
    assert_eq!((&schedule["name"], &schedule["zone"]), (&"daily digest".into(), &"Europe/Berlin".into()), "{listed:#}");
    let id = schedule["id"].as_str().expect("it has an id");

    let lines: Vec<_> = example("SCHEDULES.md").iter().map(|line| line.replace(ID, id)).collect();
    let (mut ran, mut seen) = (false, Vec::new());
    for line in &lines {
        let said = typed(line, gateway).await;
        if line.contains("schedule run") {
            ran = true;
            eventually("the digest was said", async || {
                let listed = typed(&format!("toolgate trace list --schedule {id}"), gateway).await;
                listed.contains("/daily_digest Berlin") && !listed.contains("running")
            })
            .await;
        }
        seen.push((line, said));
    }
    assert!(ran, "{lines:#?}");
    let of = |words: &str| &seen.iter().find(|(line, _)| line.contains(words)).expect("the manual has that").1;
    for tool in ["daily_digest", "weather_query", "order_query", "mail_inbox", "generate_summary"] {
        assert!(of("trace stats").contains(tool), "{}", of("trace stats"));
    }
    assert!(of("schedule pause").contains("over the holidays") && !of("schedule resume").contains("paused"));

    let transcript = format!("{}/control/slack/transcript?conversation=general", demo.simulators);
    // Another test of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let transcript = client.get(transcript).send().await.expect("it answers").text().await.expect("it is text");
    for words in ["daily digest", "Weather in Berlin", "Orders that wait to be sent", "4 unread"] {
        assert!(transcript.contains(words), "{transcript}");
    }
}
