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
/// Most files of an album.
pub const MOST_ALBUM: usize = 10;
/// What is shown as a picture, up to this size.
const PICTURES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];
const LARGEST_PICTURE: usize = 10 * 1024 * 1024;
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

pub(crate) fn is_ours(file: &FileRef) -> bool {
    file.handle.reveal().starts_with(HANDLE)
}

/// What a file is to Telegram, by its name for the kind.
pub(crate) fn kind(file: &PartFile) -> String {
    if file.media_type == BY_ID {
        return kind_and_id(&String::from_utf8_lossy(&file.bytes)).0.to_owned();
    }
    let is_picture = PICTURES.contains(&file.media_type.as_str()) && file.bytes.len() <= LARGEST_PICTURE;
    if is_picture { "photo" } else { "document" }.to_owned()
}

/// Whether Telegram shows a text with the file.
fn takes_caption(file: &PartFile) -> bool {
    !matches!(kind(file).as_str(), "sticker" | "video_note")
}

/// What files are shown with in one album, if they are: pictures and films together, others with their like.
fn album(file: &PartFile) -> Option<&'static str> {
    match kind(file).as_str() {
        "photo" | "video" => Some("seen"),
        "document" => Some("document"),
        "audio" => Some("audio"),
        _ => None,
    }
}

/// Files as they are sent together, in their order. Beneath an album no buttons are shown: then the last file is alone.
fn albums(files: Vec<PartFile>, has_buttons: bool) -> Vec<Vec<PartFile>> {
    let last = files.len().saturating_sub(1);
    let mut groups: Vec<Vec<PartFile>> = Vec::new();
    for (n, file) in files.into_iter().enumerate() {
        let joins = |group: &&mut Vec<PartFile>| {
            group.len() < MOST_ALBUM && album(&file).is_some() && group.last().map(album) == Some(album(&file))
        };
        match groups.last_mut().filter(joins).filter(|_| !(has_buttons && n == last)) {
            Some(group) => group.push(file),
            None => groups.push(vec![file]),
        }
    }
    groups
}

/// The messages of a reply, in order. A part with an empty `body` is sent as its plain form, without markup; one with
/// several files is an album.
pub fn reply(reply: &Reply) -> Vec<Part> {
    let mut albums = albums(files(reply), !reply.buttons.is_empty());
    let doc = document::of(reply, &RULES);
    let caption = albums.first().filter(|album| takes_caption(&album[0])).and_then(|_| caption(&doc, reply));
    let mut parts = Vec::new();
    match caption {
        Some(part) => parts.push(Part { files: albums.remove(0), ..part }),
        None => parts = document::texts(&doc, reply, &html(reply, MOST_TEXT)),
    }
    let bare = |files| Part { files, ..document::parts::part(String::new(), String::new()) };
    parts.extend(albums.into_iter().map(bare));
    document::close(parts, reply)
}

fn html(reply: &Reply, most_units: usize) -> Html {
    Html { most_units, pings: reply.pings.users }
}

/// A short text, which stands with the first files; a long one is a message of its own.
fn caption(doc: &Doc, reply: &Reply) -> Option<Part> {
    let html = html(reply, MOST_CAPTION);
    let mut cutter = Cutter::new(doc, &html);
    let piece = cutter.next(html.most());
    let nothing = || document::parts::part(String::new(), String::new());
    cutter.is_done().then(|| piece.map_or_else(nothing, |piece| html.part(piece)))
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
