//! A file that a tool answered: sent to the chat, and named in its answer.

use contract::{Content, Reply, text};
use tools::Cx;

use crate::http::attached::size;

/// Most bytes of a file that a reply carries; a reply is kept until it has arrived.
const MOST: usize = 1 << 20;
/// Most characters of its name.
const NAME_MAX: usize = 100;
/// What names of files end with, by the type that an answer says.
const ENDINGS: [(&str, &str); 11] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("video/mp4", "mp4"),
];

/// A file, as its tool names it.
#[derive(Debug)]
pub struct Made {
    name: String,
    media_type: String,
    bytes: Vec<u8>,
}

impl Made {
    /// `said` is the name that the tool gives it, if any; `kind` may have parameters.
    pub fn new(tool: &str, said: Option<&str>, kind: &str, bytes: Vec<u8>) -> Self {
        let media_type = kind.split(';').next().unwrap_or_default().trim().to_owned();
        let media_type = if media_type.is_empty() { "application/octet-stream".to_owned() } else { media_type };
        let last = said.and_then(|name| name.rsplit(['/', '\\']).next()).map(|name| text::one_line(name, NAME_MAX));
        let name = last.filter(|name| !name.trim_matches(['.', ' ']).is_empty()).unwrap_or_else(|| {
            let ending = ENDINGS.iter().find(|(kind, _)| *kind == media_type).map_or("bin", |(_, ending)| *ending);
            format!("{tool}.{ending}")
        });
        Self { name, media_type, bytes }
    }
}

/// Sends it to where the answer goes; what the answer says of it.
pub async fn sent(made: Made, cx: &Cx<'_>) -> String {
    let Made { name, media_type, bytes } = made;
    let what = format!("'{name}' ({media_type}, {})", size(bytes.len() as u64));
    if bytes.len() > MOST {
        return format!("{what} is not shown: files of more than {} are too large to be sent", size(MOST as u64));
    }
    let Some(to) = cx.host.here() else { return format!("{what} is not shown: no file can be sent here") };
    let content = vec![Content::Attachment { name, media_type, bytes }];
    match cx.host.post(to, Reply { content, ..Reply::default() }).await {
        Ok(()) => format!("{what} is sent to the chat as a file"),
        Err(failure) => {
            cx.notes.mark(format!("its file was not sent: {}", failure.failure().say));
            format!("{what} is not shown: it could not be sent")
        }
    }
}
