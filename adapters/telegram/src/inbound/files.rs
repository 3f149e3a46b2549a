//! The files that a message names.

use contract::FileRef;
use serde_json::Value;

use super::{file, int, text};
use crate::render::{HANDLE, kind_and_id};

/// Kinds with a file of their own, the name that a nameless one gets, and its usual type.
const KINDS: [(&str, &str, Option<&str>); 7] = [
    ("animation", "animation.mp4", None),
    ("document", "document", None),
    ("audio", "audio.mp3", None),
    ("video", "video.mp4", None),
    ("voice", "voice.ogg", Some("audio/ogg")),
    ("video_note", "video-note.mp4", Some("video/mp4")),
    ("sticker", "sticker", None),
];

/// All of them, each once: an animation is sent as a document too.
pub(super) fn of(message: &Value) -> Vec<FileRef> {
    let mut files: Vec<FileRef> = largest_photo(message).into_iter().collect();
    for (kind, name, media_type) in KINDS {
        let Some(found) = message.get(kind).and_then(|value| named(value, kind, name, media_type)) else { continue };
        if !files.iter().any(|file| id(file) == id(&found)) {
            files.push(found);
        }
    }
    files
}

fn id(file: &FileRef) -> &str {
    let handle = file.handle.reveal();
    kind_and_id(handle.strip_prefix(HANDLE).unwrap_or(handle)).1
}

fn named(value: &Value, kind: &str, name: &str, media_type: Option<&str>) -> Option<FileRef> {
    let given = text(value, &["file_name"]).filter(|name| !name.is_empty());
    let media_type = text(value, &["mime_type"]).or(media_type);
    file(kind, text(value, &["file_id"])?, given.unwrap_or(name).to_owned(), media_type, int(value, &["file_size"]))
}

/// Telegram sends a photo in several sizes; the last is not always the largest.
fn largest_photo(message: &Value) -> Option<FileRef> {
    let area = |size: &&Value| int(size, &["width"]).unwrap_or(0).saturating_mul(int(size, &["height"]).unwrap_or(0));
    let photo = message.get("photo")?.as_array()?.iter().max_by_key(area)?;
    file("photo", text(photo, &["file_id"])?, "photo.jpg".into(), Some("image/jpeg"), int(photo, &["file_size"]))
}
