//! A reply to messages that Telegram takes: HTML that is escaped by construction, each part within the limits and valid
//! alone, each with its plain form.
//!
//! The document is cut by visible length and only then drawn, so a cut never falls into a tag or an escape. Nothing here
//! can ping anybody, unless the reply may.

use bytes::Bytes;
use contract::{Content, FileRef, Part, Reply, seams::PartFile};
use document::{Cutter, Doc, Manner as _, Rules, file_name};

pub(crate) use document::is_blank;

use self::html::Html;

mod html;
mod mentions;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reader;
#[cfg(test)]
mod tests;

/// Most UTF-16 units of a message, after its markup is read.
pub const MOST_TEXT: usize = 4_096;
/// Most UTF-16 units of a file's caption.
pub const MOST_CAPTION: usize = 1_024;
/// The media type of a file that is already on Telegram's servers: its bytes are its kind and id there.
pub const BY_ID: &str = "application/x-telegram-file-id";

/// What stands before a file's id in the handle of a [`contract::FileRef`] of this adapter.
pub(crate) const HANDLE: &str = "telegram:";

/// What is a link here, and what is sent without its bytes.
pub(crate) const RULES: Rules = Rules { is_link: document::links::is_web, is_sent: is_ours };

/// Kind and id of a file on Telegram's servers, as a handle names it behind [`HANDLE`]: one kind cannot be sent as another.
pub(crate) fn kind_and_id(named: &str) -> (&str, &str) {
    named.split_once(':').unwrap_or(("document", named))
}

fn is_ours(file: &FileRef) -> bool {
    file.handle.reveal().starts_with(HANDLE)
}

/// Whether Telegram shows a text with the file.
fn takes_caption(file: &PartFile) -> bool {
    let named = String::from_utf8_lossy(if file.media_type == BY_ID { &file.bytes } else { b"" });
    !matches!(kind_and_id(&named).0, "sticker" | "video_note")
}

/// The messages of a reply, in order. A part with an empty `body` is sent as its plain form, without markup.
pub fn reply(reply: &Reply) -> Vec<Part> {
    let files = files(reply);
    let doc = document::of(reply, &RULES);
    let mut parts = texts(&doc, reply, &files);
    let rest = parts.first().filter(|part| !part.files.is_empty()).map_or(0, |part| part.files.len());
    for file in files.into_iter().skip(rest) {
        let mut part = document::parts::part(String::new(), String::new());
        part.files.push(file);
        parts.push(part);
    }
    document::close(parts, reply)
}

/// The parts that carry text. A short text becomes the first file's caption; a long one ends in a file of its own.
fn texts(doc: &Doc, reply: &Reply, files: &[PartFile]) -> Vec<Part> {
    let html = Html { most_units: MOST_TEXT, pings: reply.pings.users };
    if let Some(file) = files.first().filter(|file| takes_caption(file)) {
        let caption = Html { most_units: MOST_CAPTION, ..html };
        let mut cutter = Cutter::new(doc, &caption);
        let piece = cutter.next(caption.most());
        if cutter.is_done() {
            let mut part =
                piece.map_or_else(|| document::parts::part(String::new(), String::new()), |piece| caption.part(piece));
            part.files.push(file.clone());
            return vec![part];
        }
    }
    document::texts(doc, reply, &html)
}

fn files(reply: &Reply) -> Vec<PartFile> {
    let file = |content: &Content| match content {
        Content::Attachment { name, media_type, bytes } => Some(PartFile {
            name: file_name(name),
            // Bytes are bytes: a tool's word must not have them taken for a file that lies elsewhere.
            media_type: if media_type == BY_ID { "application/octet-stream".to_owned() } else { media_type.clone() },
            bytes: Bytes::copy_from_slice(bytes),
        }),
        Content::File(file) => {
            let id = file.handle.reveal().strip_prefix(HANDLE)?.to_owned();
            Some(PartFile { name: file_name(&file.name), media_type: BY_ID.to_owned(), bytes: Bytes::from(id) })
        }
        Content::Text(_) | Content::Plain(_) | Content::Code { .. } | Content::Notice(_) => None,
    };
    reply.content.iter().filter_map(file).collect()
}
