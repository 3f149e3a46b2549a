//! How files go out: by which method, and what is shown as a picture.

use contract::seams::PartFile;
use serde_json::{Map, Value};

use crate::{Telegram, api::Problem};

/// What is shown as a picture, up to this size.
const PICTURES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];
const LARGEST_PICTURE: usize = 10 * 1024 * 1024;
/// How Telegram says that a picture is broken, too long, or too narrow for it.
const NO_PICTURE: [&str; 3] = ["IMAGE_PROCESS_FAILED", "PHOTO_", "wrong type of the web page content"];

impl Telegram {
    /// A picture is shown as one; what Telegram does not take as a picture goes as the file that it is.
    pub(super) async fn upload(&self, fields: &Map<String, Value>, file: &PartFile) -> Result<Value, Problem> {
        let is_picture = PICTURES.contains(&file.media_type.as_str()) && file.bytes.len() <= LARGEST_PICTURE;
        if is_picture {
            match self.api.upload("sendPhoto", fields, "photo", file).await {
                Err(Problem::Refused { code: 400, words, .. }) if NO_PICTURE.iter().any(|no| words.contains(no)) => {
                    tracing::debug!(account = self.account, words, "a picture is sent as a file");
                }
                answered => return answered,
            }
        }
        self.api.upload("sendDocument", fields, "document", file).await
    }
}

/// The method that sends a kind of file, and the field that takes it.
pub(super) fn sends(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "photo" => ("sendPhoto", "photo"),
        "video" => ("sendVideo", "video"),
        "animation" => ("sendAnimation", "animation"),
        "audio" => ("sendAudio", "audio"),
        "voice" => ("sendVoice", "voice"),
        "video_note" => ("sendVideoNote", "video_note"),
        "sticker" => ("sendSticker", "sticker"),
        _ => ("sendDocument", "document"),
    }
}
