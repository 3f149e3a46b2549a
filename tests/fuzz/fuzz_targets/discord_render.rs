//! A reply of anything, as Discord's messages: within the limits, nothing lost, nothing read as what it is not, nobody pinged.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the adapter itself uses all of it")]

use fuzz::{is_kept, reply};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

use self::discord::render;

#[path = "../../../adapters/discord/src"]
mod discord {
    pub mod render;
}

/// What reads as clients do, and shares nothing with what draws.
#[path = "../../../adapters/discord/src/render"]
mod independent {
    mod reader;

    pub fn read(source: &str) -> String {
        let read = reader::read(source);
        assert!(
            read.mentions.is_empty() && read.surprises.is_empty(),
            "{:?} {:?} in {source:?}",
            read.mentions,
            read.surprises
        );
        read.text
    }
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

fuzz_target!(|data: &[u8]| {
    let case = reply::of(data);
    let mut seen = String::new();
    for part in render::reply(&case.reply) {
        assert!(units(&part.plain) <= render::MOST_TEXT && part.files.len() <= render::MOST_FILES);
        assert!(!part.files.is_empty() || !document::is_blank(&part.plain), "a message that shows nothing");
        if part.body.is_empty() {
            continue;
        }
        let body: Value = serde_json::from_str(&part.body).expect("a body is JSON");
        assert!(body["allowed_mentions"]["parse"].as_array().is_some_and(Vec::is_empty));
        let content = body["content"].as_str().expect("it is set");
        assert!(units(content) <= render::MOST_TEXT);
        seen.push_str(&independent::read(content));
        let embeds = body["embeds"].as_array().cloned().unwrap_or_default();
        let mut total = 0;
        for embed in &embeds {
            for (key, most) in [("title", 256), ("description", 4_096)] {
                let text = embed[key].as_str().unwrap_or_default();
                assert!(units(text) <= most, "{key} of {}", units(text));
                total += units(text);
                seen.push_str(&independent::read(text));
            }
            total += units(embed["footer"]["text"].as_str().unwrap_or_default());
        }
        assert!(embeds.len() <= 10 && total <= 6_000, "{total} in embeds");
    }
    if case.is_whole {
        let doc = document::of(&case.reply, &render::RULES);
        let written: String = doc.blocks.iter().map(|block| doc.text_of(block)).collect();
        assert!(is_kept(&written, &seen), "{written:?}\n{seen:?}");
    }
});
