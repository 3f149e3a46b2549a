//! Files in both directions, kept in memory up to a sum.

use bytes::Bytes;
use serde_json::{Value, json};

use super::error::ApiError;
use crate::files::{Shelf, Stored, dimensions};

/// A bot may download at most this.
pub const MAX_DOWNLOAD: u64 = 20_000_000;
/// A bot may upload at most this, and a photo of at most the other.
pub const MAX_UPLOAD: usize = 50 * 1024 * 1024;
pub const MAX_PHOTO: usize = 10 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct File {
    pub id: String,
    pub name: String,
    pub mime: String,
    /// What the platform says the size is; a test may claim more than it stores.
    pub size: u64,
    pub path: String,
    pub bytes: Bytes,
    pub kind: FileKind,
}

/// What a file is to the platform; one kind cannot be sent as another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    #[default]
    Document,
    Photo,
    Video,
    Animation,
    Audio,
    Voice,
    VideoNote,
    Sticker,
}

impl FileKind {
    pub fn takes_caption(self) -> bool {
        !matches!(self, Self::Sticker | Self::VideoNote)
    }

    /// The kinds that an album may have.
    pub fn of_album(name: &str) -> Option<Self> {
        match name {
            "document" => Some(Self::Document),
            "photo" => Some(Self::Photo),
            "video" => Some(Self::Video),
            "audio" => Some(Self::Audio),
            _ => None,
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Document => "documents",
            Self::Photo => "photos",
            Self::Video => "videos",
            Self::Animation => "animations",
            Self::Audio => "music",
            Self::Voice => "voice",
            Self::VideoNote => "video_notes",
            Self::Sticker => "stickers",
        }
    }
}

#[derive(Debug, Default)]
pub struct Files {
    kept: Shelf<File>,
    made: u64,
}

impl Stored for File {
    fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl Files {
    pub fn add(&mut self, name: &str, mime: &str, bytes: Bytes, size: Option<u64>, kind: FileKind) -> File {
        self.made += 1;
        let extension = name
            .rsplit_once('.')
            .map(|(_, ending)| ending)
            .filter(|ending| !ending.is_empty() && ending.bytes().all(|c| c.is_ascii_alphanumeric()));
        let folder = kind.folder();
        let file = File {
            id: format!("BQACAgIAAxkBAAI{:06}", self.made),
            name: name.to_owned(),
            mime: mime.to_owned(),
            size: size.unwrap_or(bytes.len() as u64),
            path: format!(
                "{folder}/file_{}.{}",
                self.made,
                extension.unwrap_or(if kind == FileKind::Photo { "jpg" } else { "bin" })
            ),
            bytes,
            kind,
        };
        self.kept.add(file.clone());
        file
    }

    pub fn by_id(&self, id: &str) -> Option<&File> {
        self.kept.find(|file| file.id == id)
    }

    pub fn by_path(&self, path: &str) -> Option<&File> {
        self.kept.find(|file| file.path == path)
    }

    /// What `getFile` answers.
    pub fn describe(&self, id: &str) -> Result<Value, ApiError> {
        let file =
            self.by_id(id).ok_or_else(|| ApiError::bad("wrong file_id or the file is temporarily unavailable"))?;
        if file.size > MAX_DOWNLOAD {
            return Err(ApiError::broken("download_size", "file is too big"));
        }
        Ok(json!({"file_id": file.id, "file_unique_id": file.unique(), "file_size": file.size, "file_path": file.path}))
    }
}

impl File {
    fn unique(&self) -> String {
        format!("AgAD{}", &self.id[self.id.len() - 6..])
    }

    /// The field of a message that carries the file, and its value.
    pub fn media(&self) -> (&'static str, Value) {
        let common = json!({"file_id": self.id, "file_unique_id": self.unique(), "file_size": self.size});
        let named = json!({"file_name": self.name, "mime_type": self.mime});
        let (field, own) = match self.kind {
            FileKind::Photo => return ("photo", self.photo(&common)),
            FileKind::Document => ("document", json!({})),
            FileKind::Video => ("video", json!({"width": 640, "height": 480, "duration": 3})),
            FileKind::Animation => ("animation", json!({"width": 640, "height": 480, "duration": 3})),
            FileKind::Audio => ("audio", json!({"duration": 3})),
            FileKind::Voice => ("voice", json!({"duration": 3})),
            FileKind::VideoNote => ("video_note", json!({"length": 240, "duration": 3})),
            FileKind::Sticker => {
                let look =
                    json!({"type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false});
                ("sticker", look)
            }
        };
        let mut out = match self.kind {
            FileKind::VideoNote | FileKind::Sticker => json!({}),
            FileKind::Voice => json!({"mime_type": self.mime}),
            _ => named,
        };
        merge(&mut out, &own);
        merge(&mut out, &common);
        (field, out)
    }

    /// A photo in its sizes.
    fn photo(&self, common: &Value) -> Value {
        let (width, height) = dimensions(&self.bytes);
        let scale = 90.0 / f64::from(width.max(height).max(90));
        let mut small =
            json!({"width": (f64::from(width) * scale) as u32, "height": (f64::from(height) * scale) as u32});
        merge(&mut small, common);
        let mut large = json!({"width": width, "height": height});
        merge(&mut large, common);
        small["file_size"] = json!(self.size.min(2_000));
        json!([small, large])
    }

    /// Whether the bytes begin as one of the pictures that the platform takes.
    pub fn is_picture(bytes: &[u8]) -> bool {
        bytes.starts_with(b"\x89PNG\r\n\x1a\n")
            || bytes.starts_with(b"\xff\xd8\xff")
            || bytes.starts_with(b"GIF8")
            || bytes.get(8..12) == Some(b"WEBP")
    }
}

fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from.clone());
    }
}
