//! An event of Discord's gateway, of any JSON: messages, edits, reactions, commands, presses, forms.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the adapter itself uses all of it")]

use contract::Kind;
use fuzz::{is_sound, json};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use serde_json::Value;

use self::discord::inbound::{self, Context, What};

#[path = "../../../adapters/discord/src"]
mod discord {
    pub mod inbound;
}

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    json::mutate(data, size, most, seed, fuzzer_mutate)
});

fuzz_target!(|data: &[u8]| {
    let Ok(mut payload) = serde_json::from_slice::<Value>(data) else { return };
    let event = if payload["op"].is_number() { payload["d"].take() } else { payload };
    for (our_role, parent) in [(None, None), (Some("2"), Some("77"))] {
        heard(&event, &Context { account: "main", me: "1", our_role, parent });
    }
});

fn heard(event: &Value, cx: &Context<'_>) {
    for message in
        [inbound::message(event, cx), inbound::edit(event, cx), inbound::reaction(event, cx)].iter().flatten()
    {
        is_sound(message);
    }
    let Some(found) = inbound::interaction(event) else { return };
    let kind = match &found.what {
        What::Command { path, options } | What::Complete { path, options } => {
            Kind::Command { name: path.join(" "), args: inbound::arguments(options, str::to_owned) }
        }
        What::Press { data } => Kind::Press { data: data.clone() },
        What::Form { id, fields } => {
            let args = fields.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect();
            Kind::Form { name: id.clone(), args }
        }
        What::Other => return,
    };
    if let Some(message) = inbound::answered(event, &found, kind, cx) {
        is_sound(&message);
    }
}
