//! One event of a platform as a message: bytes to JSON to message, on typical ones and on public payloads where they are.

use std::path::Path;

use serde_json::{Value, json};

use crate::figures::{note, row, sample};

pub fn run() {
    let discord = discord::inbound::Context { account: "main", me: "1", our_role: Some("2"), parent: None };
    platform("Discord", "discord", &discord_event(), |event| {
        let event = event.get("d").unwrap_or(event);
        std::hint::black_box((
            discord::inbound::message(event, &discord),
            discord::inbound::edit(event, &discord),
            discord::inbound::interaction(event),
        ));
    });
    let telegram = telegram::inbound::Me { id: 4242, username: "tool_gate_bot".into() };
    platform("Telegram", "telegram", &telegram_update(), |update| {
        std::hint::black_box(telegram::inbound::message(update, &telegram, "main"));
    });
    let slack = slack::inbound::Me { user: "UBOT".into(), team: "T1".into(), ..slack::inbound::Me::default() };
    platform("Slack", "slack", &slack_event("D1", "U1", 1), |payload| {
        std::hint::black_box((
            slack::inbound::is_ours(payload, &slack),
            slack::inbound::message(payload, &slack, "main"),
        ));
    });
}

fn platform(name: &str, folder: &str, typical: &Value, read: impl Fn(&Value)) {
    let bytes = serde_json::to_vec(typical).expect("it is JSON");
    let whole = |bytes: &[u8]| {
        if let Ok(payload) = serde_json::from_slice::<Value>(bytes) {
            read(&payload);
        }
    };
    let (samples, all) = sample(50_000, || whole(&bytes));
    row(&format!("inbound, {name}, a message of {} bytes", bytes.len()), samples, all);
    let payloads = public(folder);
    if payloads.is_empty() {
        return note(&format!("inbound, {name}, public payloads"), "not here");
    }
    let mut samples = Vec::new();
    let mut all = std::time::Duration::ZERO;
    for _ in 0..200 {
        for bytes in &payloads {
            let (one, took) = sample(1, || whole(bytes));
            samples.extend(one);
            all += took;
        }
    }
    let size = payloads.iter().map(Vec::len).sum::<usize>() / payloads.len();
    row(&format!("inbound, {name}, {} public payloads, {size} bytes in the mean", payloads.len()), samples, all);
}

fn public(platform: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("CORPUS").map_or(folder, Into::into).join(platform);
    let files = folder.read_dir().into_iter().flatten().flatten();
    let is_payload = |path: &Path| !path.ends_with("MANIFEST.json");
    files.map(|file| file.path()).filter(|path| is_payload(path)).filter_map(|path| std::fs::read(path).ok()).collect()
}

fn discord_event() -> Value {
    let user = json!({ "id": "123456789012345678", "username": "ann", "global_name": "Ann", "avatar": null });
    json!({ "op": 0, "t": "MESSAGE_CREATE", "s": 7, "d": {
        "id": "1100000000000000001", "channel_id": "1100000000000000002", "guild_id": "1100000000000000003", "type": 0,
        "content": "<@1> what is the weather in Oslo, and will it rain tomorrow?", "author": user,
        "member": { "nick": "Annie", "roles": ["2", "3"], "joined_at": "2026-01-01T00:00:00Z", "deaf": false, "mute": false },
        "mentions": [{ "id": "1", "username": "toolgate" }], "mention_roles": [], "mention_everyone": false, "pinned": false,
        "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null, "tts": false, "attachments": [],
        "embeds": [], "components": [], "flags": 0, "nonce": "1100000000000000000",
    }})
}

/// What a person says to a bot of Telegram's, in a chat with it.
pub fn telegram_message(n: u64, person: u64) -> Value {
    let person_of =
        json!({ "id": person, "is_bot": false, "first_name": "Ann", "username": "ann", "language_code": "en" });
    json!({ "update_id": n, "message": {
        "message_id": n, "date": 1_767_225_600, "text": "/noop a=text b=3 c=true e=x",
        "from": person_of, "chat": { "id": person, "type": "private", "first_name": "Ann", "username": "ann" },
        "entities": [{ "type": "bot_command", "offset": 0, "length": 5 }],
    }})
}

fn telegram_update() -> Value {
    telegram_message(7, 77)
}

/// What a person says to an app of Slack's, in a chat with it.
pub fn slack_event(channel: &str, user: &str, n: u64) -> Value {
    let ts = format!("{}.{:06}", 1_767_225_600 + n / 1_000_000, n % 1_000_000);
    let text = "/noop a=text b=3 c=true e=x";
    json!({
        "token": "old", "team_id": "T1", "context_team_id": "T1", "context_enterprise_id": null, "api_app_id": "A1",
        "event": {
            "type": "message", "user": user, "ts": ts, "client_msg_id": format!("00000000-0000-0000-0000-{n:012}"), "text": text,
            "team": "T1", "channel": channel, "event_ts": ts, "channel_type": "im",
            "blocks": [{ "type": "rich_text", "block_id": "b", "elements": [
                { "type": "rich_text_section", "elements": [{ "type": "text", "text": text }] },
            ]}],
        },
        "type": "event_callback", "event_id": format!("Ev{n:010}"), "event_time": 1_767_225_600,
        "authorizations": [{ "enterprise_id": null, "team_id": "T1", "user_id": "UBOT", "is_bot": true,
            "is_enterprise_install": false }],
        "is_ext_shared_channel": false, "event_context": "4-x",
    })
}
