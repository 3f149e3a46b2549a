//! A reply of anything, as Telegram's messages: valid HTML within the limits, nothing lost, nobody pinged.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the adapter itself uses all of it")]

use fuzz::{is_kept, reply};
use libfuzzer_sys::fuzz_target;

use self::telegram::render;

#[path = "../../../adapters/telegram/src"]
mod telegram {
    pub mod render;
}

/// What reads as the platform does, and shares nothing with what draws.
#[path = "../../../adapters/telegram/src/render"]
mod independent {
    pub mod reader;
}

fuzz_target!(|data: &[u8]| {
    let case = reply::of(data);
    let mut seen = String::new();
    for part in render::reply(&case.reply) {
        let most = if part.files.is_empty() { render::MOST_TEXT } else { render::MOST_CAPTION };
        let (text, entities) = independent::reader::read(&part.body).expect("it is valid");
        assert!(document::units(&text) <= most && document::units(&part.plain) <= most && entities <= 100);
        assert!(!independent::reader::pings(&part.body), "{:?}", part.body);
        // Several files are an album, which takes ten and no buttons.
        assert!(part.body.len() <= 32_768 && part.files.len() <= 10);
        assert!(part.files.len() < 2 || part.buttons.is_empty());
        assert!(!part.files.is_empty() || !document::is_blank(&part.plain), "a message that shows nothing");
        seen.push_str(&text);
    }
    if case.is_whole {
        let doc = document::of(&case.reply, &render::RULES);
        let written: String = doc.blocks.iter().map(|block| doc.text_of(block)).collect();
        assert!(is_kept(&written, &seen), "{written:?}\n{seen:?}");
    }
});
