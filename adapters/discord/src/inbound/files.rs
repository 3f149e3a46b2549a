//! The files that a message carries.

use contract::{FileRef, Opaque};
use serde_json::Value;

use super::{text, words::list};

/// What stands before the address in a file's handle.
pub(crate) const HANDLE: &str = "discord:";

/// Of a message and of what it forwards.
pub(super) fn of(message: &Value) -> Vec<FileRef> {
    let forwarded = list(message, "message_snapshots").flat_map(|snapshot| list(&snapshot["message"], "attachments"));
    list(message, "attachments").chain(forwarded).filter_map(file).collect()
}

pub(super) fn file(attachment: &Value) -> Option<FileRef> {
    let url = text(attachment, "url")?;
    Some(FileRef {
        name: text(attachment, "filename").unwrap_or("file").to_owned(),
        media_type: text(attachment, "content_type").map(str::to_owned),
        size: attachment["size"].as_u64(),
        handle: Opaque::new(format!("{HANDLE}{url}"))?,
    })
}
