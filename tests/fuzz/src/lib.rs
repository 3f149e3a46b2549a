//! What the targets share: [`json`] changes payloads without breaking them, [`reply`] makes replies of bytes.

pub mod json;
pub mod reply;

use contract::Message;

/// What every message must be, whatever it was made of: it is written down and read again.
pub fn is_sound(message: &Message) {
    assert!(!message.key.is_empty(), "a message has a key");
    let written = serde_json::to_string(message).expect("a message is written down");
    let read: Message = serde_json::from_str(&written).expect("a message is read again");
    assert_eq!(serde_json::to_string(&read).expect("it was written before"), written);
}

/// What a person sees of a text: without what joins, separates and fills.
pub fn visible(text: &str) -> String {
    text.chars().filter(|c| !document::is_blank(c.encode_utf8(&mut [0; 4]))).collect()
}

/// Everything visible of `written` stands in `seen`, in order.
pub fn is_kept(written: &str, seen: &str) -> bool {
    let (written, seen) = (visible(written), visible(seen));
    let mut seen = seen.chars();
    written.chars().all(|c| seen.any(|other| other == c))
}
