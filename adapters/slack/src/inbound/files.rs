//! The files that a message names.

use contract::{FileRef, Opaque};
use serde_json::Value;

use super::{array, text};

/// What stands before the address of a file in its handle.
pub(crate) const BY_URL: &str = "slack:";
/// What stands before a file's id, of which the address must be asked for.
pub(crate) const BY_ID: &str = "slack-id:";

/// All files of a message that can be opened, each once.
pub(super) fn of(message: &Value) -> Vec<FileRef> {
    let mut files: Vec<FileRef> = Vec::new();
    for file in array(message, "files").iter().filter_map(file) {
        if !files.iter().any(|known| known.handle == file.handle) {
            files.push(file);
        }
    }
    files
}

fn file(file: &Value) -> Option<FileRef> {
    // A deleted file, or one beyond the workspace's limit, has no bytes.
    if text(file, "mode").is_some_and(|mode| matches!(mode, "tombstone" | "hidden_by_limit")) {
        return None;
    }
    let address = text(file, "url_private_download").or_else(|| text(file, "url_private"));
    let handle = match address.filter(|_| file["is_external"] != true) {
        Some(address) => format!("{BY_URL}{address}"),
        None => format!("{BY_ID}{}", text(file, "id")?),
    };
    let name = text(file, "name").or_else(|| text(file, "title")).or_else(|| text(file, "id")).unwrap_or("file");
    Some(FileRef {
        name: name.to_owned(),
        media_type: text(file, "mimetype").map(str::to_owned),
        size: file.get("size").and_then(Value::as_u64).filter(|size| *size > 0),
        handle: Opaque::new(handle)?,
    })
}
