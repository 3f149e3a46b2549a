//! A reply to messages that the platform takes. Pure.

use contract::{Part, Reply};

pub fn reply(reply: &Reply) -> Vec<Part> {
    let text: Vec<&str> = reply
        .content
        .iter()
        .filter_map(|c| match c {
            contract::Content::Text(text) | contract::Content::Plain(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let plain = text.join("\n\n");
    vec![Part {
        body: String::new(),
        plain,
        buttons: reply.buttons.clone(),
        files: Vec::new(),
        audience: reply.audience,
    }]
}
