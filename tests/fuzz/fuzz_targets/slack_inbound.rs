//! What Slack sends, over a socket or as the body of a request, of any bytes: events, commands, presses, forms.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the adapter itself uses all of it")]

use contract::Problem;
use fuzz::{is_sound, json};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use serde_json::{Value, json};

use self::slack::{
    body,
    forms::{self, Origin},
    inbound::{self, Me},
};

#[path = "../../../adapters/slack/src"]
mod slack {
    pub mod body;
    pub mod forms;
    pub mod inbound;
}

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    json::mutate(data, size, most, seed, fuzzer_mutate)
});

fuzz_target!(|data: &[u8]| {
    for kind in ["application/json", "application/x-www-form-urlencoded"] {
        if let Some((_, payload)) = body::read(kind, data) {
            take(&payload);
            // Over a socket it is in an envelope, and public payloads are often an event alone.
            take(&payload["payload"]);
            take(&json!({ "team_id": "T1", "type": "event_callback", "event": payload }));
        }
    }
});

fn take(payload: &Value) {
    let mut me = Me {
        user: "UBOT".into(),
        bot: Some("B1".into()),
        app: Some("A1".into()),
        team: "T1".into(),
        organisation: None,
    };
    let _ = inbound::is_ours(payload, &me);
    me.organisation = Some("E1".into());
    let _ = inbound::is_ours(payload, &me);
    for message in [inbound::message(payload, &me, "main"), inbound::event(payload, &me, "main")].iter().flatten() {
        is_sound(message);
    }
    for message in [inbound::press(payload, &me, "main", 7), inbound::form(payload, &me, "main", 7)].iter().flatten() {
        is_sound(message);
    }
    if let Some(typed) = inbound::command(payload, &me, "main", 7) {
        is_sound(&typed.message);
        let said = typed.said("toolgate", |name| name == "gate");
        let _ = forms::pairs(&said, &schema());
    }
    let view = &payload["view"];
    let _ = (Origin::of(view), forms::filled(view));
    let path = payload["type"].as_str().unwrap_or("a").to_owned();
    let problem = Problem { path, expected: "an integer".into(), got: None, hint: None };
    let _ = forms::errors(view, &[problem], contract::Locale::ZhHans);
}

fn schema() -> Value {
    json!({ "type": "object", "required": ["city"], "properties": {
        "city": { "type": "string" }, "days": { "type": "integer" }, "units": { "enum": ["c", "f"] },
    } })
}
