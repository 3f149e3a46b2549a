//! That nothing is lost of what people really send: the payloads that public repositories show.

use std::path::Path;

use serde_json::json;

use super::*;

fn me() -> Me {
    Me { id: 777, username: "toolgate_bot".into() }
}

/// Every message in a payload, however it is wrapped.
fn updates(payload: &Value) -> Vec<Value> {
    match payload {
        Value::Array(items) => items.iter().flat_map(updates).collect(),
        Value::Object(map) if map.contains_key("result") => updates(&payload["result"]),
        Value::Object(map) if map.contains_key("message_id") => vec![json!({"update_id": 1, "message": payload})],
        Value::Object(map) if map.contains_key("data") && map.contains_key("from") => {
            vec![json!({"update_id": 1, "callback_query": payload})]
        }
        Value::Object(_) => vec![payload.clone()],
        _ => Vec::new(),
    }
}

/// Every payload that the public repositories show, with its file's name; none where they are not at hand.
fn public_payloads() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/telegram");
    let Ok(files) = folder.read_dir() else {
        eprintln!("the public payloads are not here: {} was not found", folder.display());
        return Vec::new();
    };
    let files =
        files.flatten().map(|file| file.path()).filter(|file| file.extension().is_some_and(|end| end == "json"));
    let read = |file: std::path::PathBuf| {
        let payload = serde_json::from_slice(&std::fs::read(&file).expect("readable")).ok()?;
        Some((file.file_name()?.to_string_lossy().into_owned(), payload))
    };
    files.filter_map(read).filter(|(name, _)| name != "MANIFEST.json").collect()
}

#[test]
fn no_public_payload_loses_its_text_its_files_or_its_press() {
    let payloads = public_payloads();
    let (mut texts, mut files, mut presses) = (0, 0, 0);
    for (name, update) in
        payloads.iter().flat_map(|(name, payload)| updates(payload).into_iter().map(move |u| (name, u)))
    {
        let found = message(&update, &me(), "main");
        if text(&update, &["callback_query", "data"]).is_some() && update["callback_query"].get("message").is_some() {
            assert!(matches!(found.as_ref().expect(name).kind, Kind::Press { .. }), "{name}");
            presses += 1;
        }
        let Some((_, carried)) = carried(&update) else { continue };
        for words in ["text", "caption"].into_iter().filter_map(|key| text(carried, &[key])) {
            assert_eq!(found.as_ref().map(Message::text), Some(words), "{name}");
            texts += 1;
        }
        for kind in ["photo", "document", "voice", "video", "audio", "animation", "sticker", "video_note"] {
            if carried.get(kind).is_some_and(|value| !value.as_array().is_some_and(Vec::is_empty)) {
                assert!(found.as_ref().is_some_and(|found| !found.files.is_empty()), "{name}: {kind}");
                files += 1;
            }
        }
    }
    assert!(payloads.is_empty() || (texts > 20 && files > 5 && presses > 0), "{texts} {files} {presses}");
}

#[test]
fn a_batch_of_all_public_updates_is_taken_whole() {
    let payloads = public_payloads();
    let mut batch: Vec<Value> = payloads.iter().flat_map(|(_, payload)| updates(payload)).collect();
    for (n, update) in batch.iter_mut().enumerate() {
        update["update_id"] = json!(n);
    }
    let body = json!({"ok": true, "result": batch}).to_string();
    let read = crate::lenient::updates(body.as_bytes()).expect("a batch");
    let groups = crate::gather::groups(&read, 0..read.len());
    let mut places: Vec<usize> = groups.iter().flat_map(|group| group.places.clone()).collect();
    places.sort_unstable();
    assert_eq!(places, (0..batch.len()).collect::<Vec<_>>(), "each once");
    let alone = batch.iter().filter_map(|update| message(update, &me(), "main")).map(|m| m.files.len()).sum::<usize>();
    let joined = groups.iter().filter_map(|group| group.message(&read, |update| message(update, &me(), "main")));
    assert_eq!(joined.map(|message| message.files.len()).sum::<usize>(), alone);
}
