//! A reply to messages that Discord takes: Markdown that is escaped by construction, or embeds for what went wrong. Pure.
//!
//! The body of a part is the JSON object of the message's content: `content` and `allowed_mentions`, or `embeds` besides.

use bytes::Bytes;
use contract::{Content, FileRef, Part, Pings, Reply, seams::PartFile};
use document::{Rules, file_name};
use serde::Serialize;

use self::markdown::Markdown;

mod embed;
mod markdown;
mod measure;
#[cfg(test)]
mod reader;
#[cfg(test)]
mod tests;

/// Most UTF-16 units of a message's content, as it is sent.
pub const MOST_TEXT: usize = 2_000;
/// Most files of a message.
pub const MOST_FILES: usize = 10;

/// What is a link here, and what is sent without its bytes.
pub(crate) const RULES: Rules = Rules { is_link: document::links::is_web, is_sent: |_: &FileRef| false };

/// What a message's request holds of a part.
#[derive(Debug, Serialize)]
struct Body<'a> {
    content: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    embeds: &'a [embed::Embed],
    allowed_mentions: Allowed,
}

/// Whom a message may ping: nobody, unless the reply may.
#[derive(Debug, Serialize)]
struct Allowed {
    parse: Vec<&'static str>,
    replied_user: bool,
}

impl Allowed {
    fn of(pings: Pings) -> Self {
        let kinds = [(pings.users, "users"), (pings.roles, "roles"), (pings.everyone, "everyone")];
        Self { parse: kinds.into_iter().filter(|(is, _)| *is).map(|(_, kind)| kind).collect(), replied_user: false }
    }
}

fn body(content: &str, embeds: &[embed::Embed], pings: Pings) -> String {
    let body = Body { content, embeds, allowed_mentions: Allowed::of(pings) };
    serde_json::to_string(&body).expect("texts and numbers serialize")
}

/// The messages of a reply, in order. A part with an empty `body` is sent as its plain form.
pub fn reply(reply: &Reply) -> Vec<Part> {
    let doc = document::of(reply, &RULES);
    let files = files(reply);
    let mut parts = match embed::part(reply, &doc) {
        Some(part) => vec![part],
        None => document::texts(&doc, reply, &Markdown { pings: reply.pings }),
    };
    for file in files {
        match parts.last_mut() {
            Some(part) if part.files.len() < MOST_FILES => part.files.push(file),
            _ => {
                let mut part = document::parts::part(String::new(), String::new());
                part.files.push(file);
                parts.push(part);
            }
        }
    }
    document::close(parts, reply)
}

fn files(reply: &Reply) -> Vec<PartFile> {
    let file = |content: &Content| match content {
        Content::Attachment { name, media_type, bytes } => Some(PartFile {
            name: file_name(name),
            media_type: media_type.clone(),
            bytes: Bytes::copy_from_slice(bytes),
        }),
        Content::File(_) | Content::Text(_) | Content::Plain(_) | Content::Code { .. } | Content::Notice(_) => None,
    };
    reply.content.iter().filter_map(file).collect()
}
