//! How files go out: by which method, what is shown as a picture, and several as an album.

use contract::seams::PartFile;
use serde_json::{Map, Value, json};

use crate::{
    Telegram,
    api::{PATIENCE, Problem},
    render::{BY_ID, kind, kind_and_id},
};

/// How Telegram says that a picture is broken, too long, or too narrow for it.
const NO_PICTURE: [&str; 3] = ["IMAGE_PROCESS_FAILED", "PHOTO_", "wrong type of the web page content"];
const PHOTO: &str = "photo";
const DOCUMENT: &str = "document";

impl Telegram {
    /// A picture is shown as one; what Telegram does not take as a picture goes as the file that it is.
    pub(super) async fn upload(&self, fields: &Map<String, Value>, file: &PartFile) -> Result<Value, Problem> {
        if kind(file) == PHOTO {
            match self.api.upload("sendPhoto", fields, &[(PHOTO, file)]).await {
                Err(problem) if self.is_no_picture(&problem) => {}
                answered => return answered,
            }
        }
        self.api.upload("sendDocument", fields, &[(DOCUMENT, file)]).await
    }

    /// Several files as one album; what Telegram does not take as pictures goes as the files that they are.
    pub(super) async fn album(&self, fields: &Map<String, Value>, files: &[PartFile]) -> Result<Value, Problem> {
        match self.group(fields, files, false).await {
            // One kind of file on its servers cannot be sent as another.
            Err(problem) if self.is_no_picture(&problem) && files.iter().all(|file| file.media_type != BY_ID) => {
                self.group(fields, files, true).await
            }
            answered => answered,
        }
    }

    async fn group(
        &self,
        fields: &Map<String, Value>,
        files: &[PartFile],
        as_documents: bool,
    ) -> Result<Value, Problem> {
        let (fields, uploads) = grouped(fields, files, as_documents);
        if uploads.is_empty() {
            return self.api.call("sendMediaGroup", &Value::Object(fields), PATIENCE).await;
        }
        let uploads: Vec<_> = uploads.iter().map(|(name, file)| (name.as_str(), *file)).collect();
        self.api.upload("sendMediaGroup", &fields, &uploads).await
    }

    fn is_no_picture(&self, problem: &Problem) -> bool {
        let Problem::Refused { code: 400, words, .. } = problem else { return false };
        let is_one = NO_PICTURE.iter().any(|no| words.contains(no));
        if is_one {
            tracing::debug!(account = self.account, words, "a picture is sent as a file");
        }
        is_one
    }
}

/// The fields of an album's request, and the files that go along under the names that it gives them. The caption is the
/// first picture's, which all clients show as the album's, and stands under the last one of other files.
fn grouped<'a>(
    fields: &Map<String, Value>,
    files: &'a [PartFile],
    as_documents: bool,
) -> (Map<String, Value>, Vec<(String, &'a PartFile)>) {
    let mut fields = fields.clone();
    let caption: Vec<(&str, Value)> =
        ["caption", "parse_mode"].into_iter().filter_map(|key| Some((key, fields.remove(key)?))).collect();
    let mut uploads = Vec::new();
    let mut media = Vec::with_capacity(files.len());
    for (n, file) in files.iter().enumerate() {
        let kind = if as_documents { DOCUMENT.to_owned() } else { kind(file) };
        let is_seen = matches!(kind.as_str(), PHOTO | "video");
        let source = if file.media_type == BY_ID {
            kind_and_id(&String::from_utf8_lossy(&file.bytes)).1.to_owned()
        } else {
            uploads.push((format!("file{n}"), file));
            format!("attach://file{n}")
        };
        let mut one = json!({"type": kind, "media": source});
        if n == if is_seen { 0 } else { files.len() - 1 } {
            caption.iter().for_each(|(key, value)| one[*key] = value.clone());
        }
        media.push(one);
    }
    fields.insert("media".into(), Value::Array(media));
    (fields, uploads)
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
