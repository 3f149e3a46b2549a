//! Files in both directions, kept in memory up to a sum and served at addresses that are signed and expire.

use bytes::Bytes;
use serde_json::{Value, json};

use super::ids::digest;
use crate::files::{Shelf, Stored, dimensions};
use crate::transcript::now_ms;

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

pub type Files = Shelf<File>;

impl Stored for File {
    fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl Files {
    pub fn get(&self, id: u64) -> Option<&File> {
        self.find(|file| file.id == id)
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
            let (width, height) = dimensions(&self.bytes);
            (out["width"], out["height"]) = (json!(width), json!(height));
        }
        out
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
}
