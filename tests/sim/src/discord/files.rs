//! Files in both directions, kept in memory up to a sum and served at addresses that are signed and expire.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::{Value, json};

use super::ids::{digest, now_ms};

/// How much is kept in all; the oldest files are forgotten first.
const KEPT_BYTES: usize = 256 * 1024 * 1024;
const KEPT_FILES: usize = 10_000;
/// An address holds for a day.
const HOLDS_SECONDS: u64 = 86_400;

#[derive(Clone, Debug)]
pub struct File {
    pub id: u64,
    pub channel: u64,
    pub name: String,
    pub mime: String,
    /// What the platform says the size is; a test may claim more than it stores.
    pub size: u64,
    pub bytes: Bytes,
    pub description: Option<String>,
}

#[derive(Debug, Default)]
pub struct Files {
    kept: VecDeque<File>,
    total: usize,
}

impl Files {
    pub fn add(&mut self, file: File) {
        self.total += file.bytes.len();
        self.kept.push_back(file);
        while self.total > KEPT_BYTES || self.kept.len() > KEPT_FILES {
            let Some(old) = self.kept.pop_front() else { break };
            self.total -= old.bytes.len();
        }
    }

    pub fn get(&self, id: u64) -> Option<&File> {
        self.kept.iter().find(|file| file.id == id)
    }

    /// The file of an address, if its signature is right and it has not expired.
    pub fn at(&self, id: u64, expires: &str, signature: &str) -> Option<&File> {
        let until = u64::from_str_radix(expires, 16).ok()?;
        let file = self.get(id)?;
        (signature == sign(id, until) && now_ms() / 1_000 < until).then_some(file)
    }
}

fn sign(id: u64, until: u64) -> String {
    format!("{:016x}{:016x}", digest(&format!("{id}:{until}")), digest(&format!("{until}:{id}")))
}

impl File {
    /// Where a client fetches it from now on.
    pub fn address(&self, base: &str) -> String {
        let now = now_ms() / 1_000;
        let until = now + HOLDS_SECONDS;
        let name: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' }).collect();
        let (channel, id, signature) = (self.channel, self.id, sign(self.id, until));
        format!("{base}/discord/attachments/{channel}/{id}/{name}?ex={until:x}&is={now:x}&hm={signature}")
    }

    pub fn json(&self, base: &str) -> Value {
        let address = self.address(base);
        let mut out = json!({
            "id": self.id.to_string(), "filename": self.name, "size": self.size, "url": address, "proxy_url": address, "content_type": self.mime,
        });
        if let Some(description) = &self.description {
            out["description"] = json!(description);
        }
        if self.mime.starts_with("image/") {
            let (width, height) = self.dimensions();
            (out["width"], out["height"]) = (json!(width), json!(height));
        }
        out
    }

    fn dimensions(&self) -> (u32, u32) {
        let number =
            |from: usize| self.bytes.get(from..from + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
        match (self.bytes.starts_with(b"\x89PNG"), number(16), number(20)) {
            (true, Some(width), Some(height)) => (width, height),
            _ => (800, 600),
        }
    }
}

/// What a file most likely is, by its ending.
pub fn mime(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("txt" | "log") => "text/plain; charset=utf-8",
        Some("md") => "text/markdown; charset=utf-8",
        Some("csv") => "text/csv; charset=utf-8",
        Some("json") => "application/json; charset=utf-8",
        Some("pdf") => "application/pdf",
        Some("zip") => "application/zip",
        Some("ogg") => "audio/ogg",
        _ => "application/octet-stream",
    }
}

/// Reads base64 of either alphabet, padded or not.
pub fn base64(code: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(code.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for c in code.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_with_its_own_signature_alone() {
        let file = File {
            id: 7,
            channel: 5,
            name: "a b.png".into(),
            mime: "image/png".into(),
            size: 3,
            bytes: Bytes::from_static(b"abc"),
            description: None,
        };
        let address = file.address("http://h");
        assert!(address.starts_with("http://h/discord/attachments/5/7/a_b.png?ex="), "{address}");
        let part = |name: &str| {
            let from = address.split_once(&format!("{name}=")).expect("a part").1;
            from.split('&').next().expect("a value").to_owned()
        };
        let mut files = Files::default();
        files.add(file);
        assert!(files.at(7, &part("ex"), &part("hm")).is_some());
        assert!(files.at(7, &part("is"), &part("hm")).is_none());
        assert!(files.at(7, &part("ex"), "0").is_none());
    }

    #[test]
    fn base64_is_read_in_both_alphabets() {
        assert_eq!(base64("MTIz").as_deref(), Some(b"123".as_slice()));
        assert_eq!(base64("-_8=").as_deref(), base64("+/8").as_deref());
        assert_eq!(base64("?"), None);
    }
}
