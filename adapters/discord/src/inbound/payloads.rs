//! Public payloads of the wire: none may panic, and none may lose a text.

use serde_json::Value;

use super::{Context, What, edit, interaction, message, tests::line};

fn cx() -> Context<'static> {
    Context { account: "main", me: "1", our_role: None, parent: None }
}

/// Every payload as an event: a frame carries its event inside.
fn payloads() -> Option<Vec<(String, Value)>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/discord");
    let Ok(files) = folder.read_dir() else {
        eprintln!("the public payloads are not here: {} was not found", folder.display());
        return None;
    };
    let mut found = Vec::new();
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let read = std::fs::read(file.path()).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(mut payload) = read.filter(|_| name != "MANIFEST.json") else { continue };
        let event = if payload["op"].is_number() { payload["d"].take() } else { payload };
        found.push((name, event));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Some(found)
}

/// The texts that people read in it.
fn texts(event: &Value) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut keep = |value: &Value| {
        found.extend(value.as_str().filter(|text| !text.trim().is_empty()).map(|text| text.trim().to_owned()));
    };
    keep(&event["content"]);
    for snapshot in event["message_snapshots"].as_array().into_iter().flatten() {
        keep(&snapshot["message"]["content"]);
    }
    keep(&event["poll"]["question"]["text"]);
    found
}

#[test]
fn every_public_payload_is_read_and_no_text_is_lost() {
    let Some(payloads) = payloads() else { return };
    let (mut messages, mut interactions) = (0, 0);
    for (name, event) in &payloads {
        let _ = super::reaction(event, &cx());
        if let Some(found) = interaction(event).filter(|found| found.what != What::Other) {
            interactions += 1;
            let kind = contract::Kind::Press { data: String::new() };
            let _ = super::answered(event, &found, kind, &cx());
            continue;
        }
        let is_message = event["id"].is_string() && event["channel_id"].is_string();
        let is_systems = event["type"].as_u64().is_some_and(|kind| !super::SAID.contains(&kind));
        if !is_message
            || is_systems
            || event["webhook_id"].is_null() && event["author"].is_null() && event["content"].is_null()
        {
            let _ = message(event, &cx());
            continue;
        }
        let heard = if event["edited_timestamp"].is_string() && event["author"].is_null() {
            edit(event, &cx())
        } else {
            message(event, &cx())
        };
        let texts = texts(event);
        let shown = heard.as_ref().map(|message| message.text().to_owned()).unwrap_or_default();
        // Mentions are replaced by names, so words are compared.
        for text in &texts {
            let words = text.split(|c: char| c.is_whitespace() || c == '<' || c == '>' || c == '@');
            for word in words.filter(|word| !word.is_empty() && !word.bytes().any(|b| b.is_ascii_digit())) {
                assert!(shown.contains(word), "{name}: {word:?} is lost in {}", line(heard.clone()));
            }
        }
        messages += usize::from(heard.is_some());
    }
    assert!(messages >= 8 && interactions >= 5, "only {messages} messages and {interactions} interactions were found");
}

#[test]
fn every_option_of_a_public_command_is_typed() {
    let Some(payloads) = payloads() else { return };
    let (_, event) = payloads.iter().find(|(name, _)| name.contains("subcommand_group")).expect("it is among them");
    let Some(What::Command { path, options }) = interaction(event).map(|found| found.what) else { panic!("a command") };
    assert_eq!(path, ["tool", "files", "put"]);
    let kinds: Vec<_> = options.iter().map(|option| (option.name.as_str(), option.value.clone())).collect();
    assert_eq!(kinds[1], ("n", Value::from(-9_007_199_254_740_991_i64)));
    assert_eq!((&kinds[2].1, &kinds[3].1), (&Value::from(1.5), &Value::from(true)));
}
