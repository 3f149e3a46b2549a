//! Files in both directions, kept in memory up to a sum.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};

use super::cast::{id, now};
use super::transcript::FileSeen;
use crate::files::{KEPT_FILES, Shelf, Stored};

#[derive(Clone, Debug)]
pub struct File {
    pub id: String,
    pub name: String,
    pub title: String,
    pub mime: String,
    /// What the platform says the size is; a test may claim more than it stores.
    pub size: u64,
    pub bytes: Bytes,
    pub user: String,
    /// Whether it was shared anywhere; until then only its owner sees it.
    pub shared: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Files {
    kept: Shelf<File>,
    made: u64,
    /// Announced uploads whose bytes have not come yet.
    awaited: BTreeSet<String>,
}

impl Stored for File {
    fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl Files {
    pub fn add(&mut self, name: &str, mime: &str, bytes: Bytes, size: Option<u64>, user: &str) -> File {
        self.made += 1;
        let file = File {
            id: id("F", &format!("{} {}", self.made, name)),
            name: name.to_owned(),
            title: name.to_owned(),
            mime: mime.to_owned(),
            size: size.unwrap_or(bytes.len() as u64),
            bytes,
            user: user.to_owned(),
            shared: Vec::new(),
        };
        self.kept.add(file.clone());
        file
    }

    pub fn get(&self, id: &str) -> Option<&File> {
        self.kept.find(|file| file.id == id)
    }

    /// Notes that a file was shared somewhere.
    pub fn share(&mut self, id: &str, channel: &str) {
        self.change(id, |file| file.shared.push(channel.to_owned()));
    }

    /// Changes a file, if there is that one.
    pub fn change<T>(&mut self, id: &str, change: impl FnOnce(&mut File) -> T) -> Option<T> {
        self.kept.change(|file| file.id == id, change)
    }

    pub fn remove(&mut self, id: &str) -> bool {
        self.kept.remove(|file| file.id == id)
    }

    pub fn await_bytes(&mut self, id: &str) {
        if self.awaited.len() >= KEPT_FILES {
            self.awaited.pop_first();
        }
        self.awaited.insert(id.to_owned());
    }

    /// The announced size of a file whose bytes have not come yet.
    pub fn awaited(&self, id: &str) -> Option<u64> {
        self.awaited.get(id).and_then(|id| self.get(id)).map(|file| file.size)
    }

    /// Fills a file that was announced before its bytes came.
    pub fn fill(&mut self, id: &str, bytes: Bytes) {
        self.awaited.remove(id);
        self.change(id, |file| file.bytes = bytes);
    }

    pub fn seen(&self, ids: &[String]) -> Vec<FileSeen> {
        ids.iter()
            .filter_map(|id| self.get(id))
            .map(|file| FileSeen {
                name: file.name.clone(),
                mime: file.mime.clone(),
                size: file.size,
                id: file.id.clone(),
                ..FileSeen::default()
            })
            .collect()
    }
}

impl File {
    /// The file as messages and answers carry it.
    pub fn json(&self, url: &str, team: &str) -> Value {
        let ending = self.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let slug: String =
            self.name
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c.to_ascii_lowercase() } else { '_' }
                })
                .collect();
        let at = format!("{url}/slack/files/{}", self.id);
        json!({"id": self.id, "created": now(), "timestamp": now(), "name": self.name, "title": self.title, "mimetype": self.mime,
            "filetype": ending, "pretty_type": ending.to_uppercase(), "user": self.user, "user_team": team, "editable": false, "size": self.size,
            "mode": "hosted", "is_external": false, "external_type": "", "is_public": true, "public_url_shared": false, "display_as_bot": false,
            "username": "", "url_private": format!("{at}/{slug}"), "url_private_download": format!("{at}/download/{slug}"),
            "media_display_type": "unknown", "permalink": format!("{at}/page/{slug}"), "is_starred": false, "has_rich_preview": false, "file_access": "visible",
            "channels": self.shared, "groups": [], "ims": [], "comments_count": 0})
    }
}
