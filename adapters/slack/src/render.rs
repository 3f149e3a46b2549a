//! A reply to messages that Slack takes: blocks whose text needs no escaping, so that code and text are exact. Pure.
//!
//! The body of a part is the JSON object of the message's content: `text`, for notifications and readers of screens, and
//! `blocks`. Files come in a part of their own without a body, since Slack takes them by other requests. The plain form is
//! not escaped.

use bytes::Bytes;
use contract::{Content, FileRef, Part, Reply, seams::PartFile};
use document::{Rules, file_name};

use self::rich::RichText;

mod blocks;
mod measure;
#[cfg(test)]
mod reader;
mod rich;
#[cfg(test)]
mod tests;

/// Most characters of the JSON of a message's blocks: Slack documents no limit of the sum and refuses about 13,200.
pub const MOST_BLOCKS_TEXT: usize = 11_400;
/// Most blocks of a message.
pub const MOST_BLOCKS: usize = 50;
/// Most characters of `text`, once it is escaped.
pub const MOST_TEXT: usize = 4_000;

/// What is a link here, and what is sent without its bytes.
pub(crate) const RULES: Rules = Rules { is_link, is_sent: |_: &FileRef| false };

/// The messages of a reply, in order. A part with an empty `body` is sent as its plain form.
pub fn reply(reply: &Reply) -> Vec<Part> {
    let doc = document::of(reply, &RULES);
    let files = files(reply);
    let mut parts = document::texts(&doc, reply, &RichText { pings: reply.pings });
    if !files.is_empty() {
        let mut part = document::parts::part(String::new(), String::new());
        part.files = files;
        parts.push(part);
    }
    document::close(parts, reply)
}

/// Pages, and addresses that mail is sent to.
fn is_link(target: &str) -> bool {
    let is_mail = |address: &str| {
        let (name, host) = address.split_once('@').unwrap_or_default();
        let plain =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b));
        plain(name) && plain(host) && host.contains('.')
    };
    document::links::is_web(target) || target.strip_prefix("mailto:").is_some_and(is_mail)
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
