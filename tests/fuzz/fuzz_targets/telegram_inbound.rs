//! An update of Telegram, and a batch of them, of any bytes.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the adapter itself uses all of it")]

use fuzz::{is_sound, json};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use serde_json::Value;

use self::telegram::{
    gather,
    inbound::{self, Me},
    lenient, render,
};

#[path = "../../../adapters/telegram/src"]
mod telegram {
    pub mod gather;
    pub mod inbound;
    pub mod lenient;
    pub mod render;
}

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    json::mutate(data, size, most, seed, fuzzer_mutate)
});

fuzz_target!(|data: &[u8]| {
    let me = Me { id: 4242, username: "tool_gate_bot".into() };
    if let Some(updates) = lenient::updates(data) {
        batch(&updates, &me);
    }
    let one = lenient::update(&String::from_utf8_lossy(data));
    update(&one, &me);
    // Some payloads are messages without an update around them.
    for kind in ["message", "edited_message", "callback_query", "message_reaction", "my_chat_member"] {
        let around = serde_json::json!({ "update_id": 7, kind: one });
        update(&around, &me);
        batch(&[around.clone(), around], &me);
    }
});

fn update(update: &Value, me: &Me) {
    if let Some(message) = inbound::message(update, me, "main") {
        is_sound(&message);
        let joined = inbound::join(vec![("", message.clone()), (inbound::glue(update), message)], "g:1:2".into());
        is_sound(&joined.expect("there are two"));
    }
    let _ = (inbound::album(update), inbound::chat(update), inbound::migration(update), inbound::press_id(update));
    let _ = (inbound::membership(update), inbound::is_silent(update), inbound::continues(update, update));
}

fn batch(updates: &[Value], me: &Me) {
    let groups = gather::groups(updates, 0..updates.len());
    for group in &groups {
        if let Some(message) = group.message(updates, |update| inbound::message(update, me, "main")) {
            is_sound(&message);
        }
    }
}
