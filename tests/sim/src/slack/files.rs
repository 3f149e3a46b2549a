//! Files in both directions, kept in memory up to a sum.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use serde_json::{Value, json};

use super::cast::{id, now};
use super::transcript::FileSeen;

/// How much is kept in all; the oldest files are forgotten first.
const KEPT_BYTES: usize = 256 * 1024 * 1024;
const KEPT_FILES: usize = 10_000;

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
    kept: VecDeque<File>,
    total: usize,
    made: u64,
    /// Announced uploads whose bytes have not come yet.
    awaited: BTreeSet<String>,
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
        self.total += file.bytes.len();
        self.kept.push_back(file.clone());
        while self.total > KEPT_BYTES || self.kept.len() > KEPT_FILES {
            let Some(old) = self.kept.pop_front() else { break };
            self.total -= old.bytes.len();
        }
        file
    }

    pub fn get(&self, id: &str) -> Option<&File> {
        self.kept.iter().rev().find(|file| file.id == id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut File> {
        self.kept.iter_mut().rev().find(|file| file.id == id)
    }

    pub fn remove(&mut self, id: &str) -> bool {
        let Some(at) = self.kept.iter().position(|file| file.id == id) else { return false };
        self.total -= self.kept.remove(at).map_or(0, |file| file.bytes.len());
        true
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
        self.total += bytes.len();
        if let Some(file) = self.get_mut(id) {
            file.bytes = bytes;
        }
    }

    pub fn seen(&self, ids: &[String]) -> Vec<FileSeen> {
        ids.iter()
            .filter_map(|id| self.get(id))
            .map(|file| FileSeen {
                name: file.name.clone(),
                mime: file.mime.clone(),
                size: file.size,
                id: file.id.clone(),
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
