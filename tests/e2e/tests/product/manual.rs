//! What the manual tells people to type, typed.

use std::{path::Path, process::Command};

use e2e::demo::Demo;
use serde_json::{Value, json};

use crate::{gateway::binary, world::eventually};

/// As the manual calls the schedule of its example.
const ID: &str = "1v5zk3m9";

/// The lines of the first block of a kind in a document.
fn example(document: &str, kind: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(path).expect("the document is there");
    let block = text
        .split_once(&format!("```{kind}\n"))
        .and_then(|(_, rest)| rest.split_once("```"))
        .expect("it has commands")
        .0;
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

    let lines: Vec<_> = example("SCHEDULES.md", "sh").iter().map(|line| line.replace(ID, id)).collect();
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

#[tokio::test]
async fn what_the_manual_says_in_a_chat_makes_and_changes_schedules() {
    // Another test of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let demo = tokio::task::spawn_blocking(Demo::start).await.expect("it is waited for");
    let gateway = demo.playground.trim_end_matches("/playground");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let says = async |text: String| {
        let asked = client.post(format!("{gateway}/v1/messages")).json(&json!({ "text": text }));
        let answer: Value = asked.send().await.expect("it answers").json().await.expect("in JSON");
        answer["text"].as_str().expect("a text").to_owned()
    };
    let mut id = String::new();
    for line in example("SCHEDULES.md", "chat") {
        let answer = says(line.replace(ID, &id)).await;
        let expected = match line.split_whitespace().nth(1) {
            // Nobody wrote in that conversation, so nobody here may write to it.
            Some("add") if line.contains(" to slack:") => "may not be sent to that conversation",
            Some("add") if line.contains('说') => "已记下",
            Some("add") => "Noted as",
            None => "Your schedules",
            Some("pause") => "is paused",
            Some("resume") => "goes on",
            Some("run") => "runs now",
            Some("remove") => "is removed",
            Some(other) => panic!("nobody says what '{other}' does"),
        };
        assert!(answer.contains(expected), "{line}: {answer}");
        if let Some((_, made)) = answer.split_once("Noted as ") {
            id = made.trim_start_matches('`').chars().take_while(char::is_ascii_alphanumeric).collect();
        }
    }
    let left: Value = serde_json::from_str(&typed("toolgate schedule list --json", gateway).await).expect("it is JSON");
    // That of the demo, and those that were added and not removed.
    assert_eq!(left["schedules"].as_array().map(Vec::len), Some(3), "{left:#}");
}
