//! A reply of anything, as Slack's messages: valid blocks within the limits, nothing lost, nobody pinged.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the adapter itself uses all of it")]

use document::BlockKind;
use fuzz::{is_kept, reply};
use libfuzzer_sys::fuzz_target;

use self::slack::render;

#[path = "../../../adapters/slack/src"]
mod slack {
    pub mod render;
}

/// What reads as the platform does, and shares nothing with what draws.
#[path = "../../../adapters/slack/src/render"]
mod independent {
    mod reader;

    pub fn read(body: &str) -> String {
        let read = reader::read(body).expect("it is valid");
        assert!(read.mentions.is_empty(), "{:?} in {body}", read.mentions);
        read.text
    }
}

fuzz_target!(|data: &[u8]| {
    let case = reply::of(data);
    let mut seen = String::new();
    for part in render::reply(&case.reply) {
        assert!(!part.files.is_empty() || !document::is_blank(&part.plain), "a message that shows nothing");
        if !part.body.is_empty() {
            seen.push_str(&independent::read(&part.body));
        }
    }
    if case.is_whole {
        let doc = document::of(&case.reply, &render::RULES);
        // Cells of tables are checked by the reader's own shape.
        let is_text = |block: &&document::Block| !matches!(block.kind, BlockKind::Table(_) | BlockKind::Rule);
        let written: String = doc.blocks.iter().filter(is_text).map(|block| doc.text_of(block)).collect();
        assert!(is_kept(&written, &seen), "{written:?}\n{seen:?}");
    }
});
