//! A reply to messages that Telegram takes: HTML that is escaped by construction, each part within the limits and valid
//! alone, each with its plain form.
//!
//! CommonMark becomes a [`doc::Doc`], visible text with styles over it; it is cut by visible length and only then drawn,
//! so a cut never falls into a tag or an escape. Nothing here can ping anybody.

use bytes::Bytes;
use contract::{Button, Content, Part, Reply, reply::DUPLICATE_MARK, seams::PartFile};

pub(crate) use self::split::is_blank;
use self::{
    doc::{Doc, Writer},
    split::{Cutter, Piece},
};

mod doc;
mod markdown;
mod mentions;
mod notice;
#[cfg(test)]
mod reader;
mod split;
mod table;
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

/// Kind and id of a file on Telegram's servers, as a handle names it behind [`HANDLE`]: one kind cannot be sent as another.
pub(crate) fn kind_and_id(named: &str) -> (&str, &str) {
    named.split_once(':').unwrap_or(("document", named))
}

/// Whether Telegram shows a text with the file.
fn takes_caption(file: &PartFile) -> bool {
    let named = String::from_utf8_lossy(if file.media_type == BY_ID { &file.bytes } else { b"" });
    !matches!(kind_and_id(&named).0, "sticker" | "video_note")
}

/// The messages of a reply, in order. A part with an empty `body` is sent as its plain form, without markup.
pub fn reply(reply: &Reply) -> Vec<Part> {
    let files = files(reply);
    let doc = document(reply, files.is_empty());
    let mut parts = texts(&doc, reply, &files);
    let rest = parts.first().filter(|part| !part.files.is_empty()).map_or(0, |part| part.files.len());
    for file in files.into_iter().skip(rest) {
        parts.push(part(Piece::default(), vec![file]));
    }
    let last = parts.len().saturating_sub(1);
    for (n, part) in parts.iter_mut().enumerate() {
        part.audience = reply.audience;
        if n == last {
            part.buttons.clone_from(&reply.buttons);
        }
    }
    parts
}

/// The parts that carry text. A short text becomes the first file's caption; a long one ends in a file of its own.
fn texts(doc: &Doc, reply: &Reply, files: &[PartFile]) -> Vec<Part> {
    let most = reply.most_messages.map_or(usize::MAX, |most| most.max(1) as usize);
    if let Some(file) = files.first().filter(|file| takes_caption(file)) {
        let mut cutter = Cutter::new(doc);
        let piece = cutter.next(MOST_CAPTION);
        if cutter.is_done() {
            return vec![part(piece.unwrap_or_default(), vec![file.clone()])];
        }
    }
    let mut cutter = Cutter::new(doc);
    let mut parts = Vec::new();
    while parts.len() < most
        && let Some(piece) = cutter.next(MOST_TEXT)
    {
        parts.push(part(piece, Vec::new()));
    }
    if !cutter.is_done() {
        parts.pop();
        parts.push(overflow(reply, most));
    }
    parts
}

/// The last part of a reply that takes too many messages: the whole of it as a file, with a word.
fn overflow(reply: &Reply, most: usize) -> Part {
    let words = match most {
        1 => "The answer is too long for one message: it goes on in the file.".to_owned(),
        _ => format!("The answer is too long for {most} messages: it goes on in the file."),
    };
    let file = PartFile {
        name: "reply.md".to_owned(),
        media_type: "text/markdown".to_owned(),
        bytes: Bytes::from(source(reply)),
    };
    part(Piece { html: words.clone(), plain: words }, vec![file])
}

/// The reply as it was written.
fn source(reply: &Reply) -> String {
    let mut out = String::new();
    for content in &reply.content {
        let text = match content {
            Content::Text(text) | Content::Plain(text) => text.clone(),
            Content::Code { language, text } => format!("```{language}\n{text}\n```"),
            Content::Notice(notice) => {
                let details = notice.detail_lines().join("\n");
                format!("{}\n{}\n{details}\n{}", notice.heading().1, notice.say, notice.hint)
            }
            Content::File(_) | Content::Attachment { .. } => continue,
        };
        out.push_str(&text);
        out.push_str("\n\n");
    }
    out.extend(reply.reference.map(|turn| format!("ref {turn}\n")));
    out
}

fn document(reply: &Reply, needs_text: bool) -> Doc {
    let mut writer = Writer::default();
    if reply.maybe_repeated {
        writer.text(DUPLICATE_MARK);
    }
    let start = writer.len();
    for content in &reply.content {
        writer.gap(2);
        match content {
            Content::Text(text) => markdown::write(&mut writer, text),
            Content::Plain(text) => writer.text(text.trim_end_matches('\n')),
            Content::Code { language, text } => writer.pre(language, text.trim_end_matches('\n')),
            Content::Notice(notice) => notice::write(&mut writer, notice, reply.reference),
            Content::File(file) if file.handle.reveal().starts_with(HANDLE) => {}
            Content::File(file) => writer.text(&format!("📎 {}", contract::text::one_line(&file.name, 200))),
            Content::Attachment { .. } => {}
        }
    }
    if needs_text && is_blank(writer.written_since(start)) {
        writer.text("(no output)");
    }
    if let Some(turn) = reply.reference {
        writer.gap(2);
        notice::reference(&mut writer, turn);
    }
    writer.finish()
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

/// A name without what could end a header or name a folder.
fn file_name(name: &str) -> String {
    let name = contract::text::one_line(name, 120).replace(['/', '\\', '"'], "_");
    if name.is_empty() { "file".to_owned() } else { name }
}

fn part(piece: Piece, files: Vec<PartFile>) -> Part {
    let buttons: Vec<Button> = Vec::new();
    Part { body: piece.html, plain: piece.plain, buttons, files, audience: contract::Audience::Everyone }
}
