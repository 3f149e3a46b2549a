//! Payloads that others published, if they are at hand: none panics, and no text of a person is lost.

use serde_json::json;

use super::{tests::me, *};

/// A payload as it would come: envelopes opened, a bare event wrapped.
fn opened(payload: Value) -> Value {
    if let Some(inside) = payload.get("payload").filter(|inside| inside.is_object()) {
        return inside.clone();
    }
    let is_event = payload.get("event").is_some() || payload.get("command").is_some();
    let is_bare = !is_event && text(&payload, "type").is_some_and(|kind| matches!(kind, "message" | "app_mention"));
    if is_bare { json!({"team_id": "T1", "event": payload}) } else { payload }
}

/// The account that a sample was sent to.
fn receiver(payload: &Value) -> Me {
    let team = array(payload, "authorizations").first().and_then(|with| text(with, "team_id"));
    Me { team: team.or_else(|| text(payload, "team_id")).unwrap_or("T1").to_owned(), ..me() }
}

/// Texts that a person wrote in an event, whatever becomes of it.
fn written(payload: &Value) -> Option<&str> {
    let event = payload.get("event")?;
    let is_said = matches!(text(event, "type")?, "message" | "app_mention");
    let subtype = text(event, "subtype").unwrap_or_default();
    let is_complete = text(event, "channel").is_some() && text(event, "ts").is_some();
    let is_silent = SILENT.contains(&subtype) || subtype == "message_changed";
    text(event, "text").filter(|_| is_said && is_complete && !is_silent)
}

#[test]
fn no_text_of_a_published_payload_is_lost() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/slack");
    let Ok(files) = folder.read_dir() else {
        eprintln!("the public payloads are not here: {} was not found", folder.display());
        return;
    };
    let (mut seen, mut heard) = (0, 0);
    for file in files.flatten() {
        let body = std::fs::read(file.path()).expect("readable");
        let name = file.file_name();
        let payload = opened(serde_json::from_slice(&body).unwrap_or_default());
        let me = receiver(&payload);
        let _ = (is_ours(&payload, &me), command(&payload, &me, "main", 0), press(&payload, &me, "main", 0));
        let _ = form(&payload, &me, "main", 0);
        let found = event(&payload, &me, "main");
        if let Some(wrote) = written(&payload) {
            let expected = words::plain(wrote, &me).text;
            assert_eq!(found.as_ref().map(Message::text), Some(expected.as_str()), "{}", name.display());
            heard += 1;
        }
        seen += 1;
    }
    assert!(seen >= 200 && heard >= 20, "only {heard} of {seen} payloads were heard");
}

#[test]
fn published_commands_and_presses_are_heard() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/slack");
    let read = |name: &str| Some(opened(serde_json::from_slice(&std::fs::read(folder.join(name)).ok()?).ok()?));
    if let Some(payload) = read("pysdk_sm_slash_commands.json") {
        let typed = command(&payload, &receiver(&payload), "main", 0).expect("a command");
        assert_eq!(typed.message.text(), "/hello-socket-mode");
    }
    if let Some(payload) = read("bolt_int_block_actions_4.json") {
        let pressed = press(&payload, &receiver(&payload), "main", 0).expect("a press");
        assert_eq!(pressed.kind, Kind::Press { data: "click_me_123".into() });
    }
}
