//! Signatures by template: an HMAC over the parts of a request that a service wants signed, in its order and writing.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use reqwest::{Request, header::HeaderName};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::{Applied, Trouble, header_value, trimmed};
use crate::secret::Source;

/// How requests are signed.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    pub secret: Source,
    /// How the key is written in the secret.
    pub key_form: KeyForm,
    pub algorithm: Algorithm,
    /// What is signed, in this order.
    pub signed: Vec<Part>,
    /// What stands between the parts.
    pub separator: String,
    pub encoding: Encoding,
    /// The header of the signature, and what it says: `{signature}`, `{timestamp}`, `{nonce}` and `{key_id}` are filled in.
    pub header: HeaderName,
    pub value: String,
    pub timestamp: TimeForm,
    pub timestamp_header: Option<HeaderName>,
    pub nonce_header: Option<HeaderName>,
    pub digest_header: Option<HeaderName>,
    /// Which key it is, for a service that knows several.
    pub key_id: Option<Source>,
    pub key_id_header: Option<HeaderName>,
}

/// The hash of a signature and of a body's digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Hex,
    Base64,
    Base64Url,
}

/// How a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// The secret's bytes are the key.
    Text,
    Hex,
    Base64,
}

/// How the time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds since 1970.
    Seconds,
    Milliseconds,
    /// `2026-01-31T12:00:00Z`.
    Rfc3339,
    /// `Sat, 31 Jan 2026 12:00:00 GMT`.
    HttpDate,
}

/// A part of what is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Method,
    Host,
    Path,
    /// As it is sent.
    Query,
    /// Its pairs in the order of their bytes.
    SortedQuery,
    Header(HeaderName),
    Timestamp,
    Nonce,
    KeyId,
    Body,
    BodyDigest,
    /// Itself.
    Text(String),
}

/// The words of a part in the configuration; besides them `header:NAME` and `text:WORDS`.
pub const PARTS: [(&str, Part); 10] = [
    ("method", Part::Method),
    ("host", Part::Host),
    ("path", Part::Path),
    ("query", Part::Query),
    ("sorted_query", Part::SortedQuery),
    ("timestamp", Part::Timestamp),
    ("nonce", Part::Nonce),
    ("key_id", Part::KeyId),
    ("body", Part::Body),
    ("body_digest", Part::BodyDigest),
];

impl Part {
    /// Reads a word; nothing when it is none.
    pub fn parse(word: &str) -> Option<Self> {
        if let Some(text) = word.strip_prefix("text:") {
            return Some(Self::Text(text.to_owned()));
        }
        if let Some(name) = word.strip_prefix("header:") {
            return name.trim().parse().ok().map(Self::Header);
        }
        PARTS.iter().find(|(known, _)| *known == word).map(|(_, part)| part.clone())
    }
}

/// What is new in each request.
struct Fresh {
    timestamp: String,
    nonce: String,
    key_id: String,
}

impl Signature {
    /// Signs a request as it is now: nothing may be changed in it afterwards.
    pub(super) async fn sign(&self, request: &mut Request) -> Result<Applied, Trouble> {
        let secret = self.secret.read().await?;
        let key_id = match &self.key_id {
            Some(source) => trimmed(&source.read_name().await?).to_owned(),
            None => String::new(),
        };
        let fresh = Fresh {
            timestamp: self.timestamp.of(Timestamp::now()),
            // Whatever is new each time will do.
            nonce: contract::TurnId::new().0.to_string().to_lowercase(),
            key_id,
        };
        self.sign_with(request, trimmed(&secret), &fresh)?;
        Ok(Applied::of([&secret]))
    }

    fn sign_with(&self, request: &mut Request, secret: &str, fresh: &Fresh) -> Result<(), Trouble> {
        let key = self.key_form.key(secret).ok_or_else(|| {
            Trouble::new(format!("the key of the signature is not written in {}", self.key_form.word()))
        })?;
        let body = match request.body() {
            Some(body) => body.as_bytes().ok_or_else(|| Trouble::new("a body that is streamed cannot be signed"))?,
            None => &[],
        };
        let digest = self.encoding.write(&self.algorithm.digest(body));
        // What is signed besides has to be there already, since headers are signed too.
        let extra = [
            (&self.timestamp_header, &fresh.timestamp),
            (&self.nonce_header, &fresh.nonce),
            (&self.digest_header, &digest),
            (&self.key_id_header, &fresh.key_id),
        ];
        let body = body.to_vec();
        for (name, value) in extra {
            if let Some(name) = name {
                let value = header_value(name, value)?;
                request.headers_mut().insert(name.clone(), value);
            }
        }
        let signed = self.signed_bytes(request, &body, &digest, fresh)?;
        let signature = self.encoding.write(&self.algorithm.sign(&key, &signed));
        let value = filled(&self.value, &signature, fresh);
        let value = header_value(&self.header, &value)?;
        request.headers_mut().insert(self.header.clone(), value);
        Ok(())
    }

    fn signed_bytes(&self, request: &Request, body: &[u8], digest: &str, fresh: &Fresh) -> Result<Vec<u8>, Trouble> {
        let mut out = Vec::with_capacity(body.len() + 256);
        for (n, part) in self.signed.iter().enumerate() {
            if n > 0 {
                out.extend_from_slice(self.separator.as_bytes());
            }
            let url = request.url();
            match part {
                Part::Method => out.extend_from_slice(request.method().as_str().as_bytes()),
                Part::Host => {
                    out.extend_from_slice(url.host_str().unwrap_or_default().as_bytes());
                    if let Some(port) = url.port() {
                        out.extend_from_slice(format!(":{port}").as_bytes());
                    }
                }
                Part::Path => out.extend_from_slice(url.path().as_bytes()),
                Part::Query => out.extend_from_slice(url.query().unwrap_or_default().as_bytes()),
                Part::SortedQuery => out.extend_from_slice(sorted(url.query().unwrap_or_default()).as_bytes()),
                Part::Header(name) => {
                    let value = request.headers().get(name);
                    let value = value
                        .ok_or_else(|| Trouble::new(format!("the header '{name}', which is signed, is not sent")))?;
                    out.extend_from_slice(value.as_bytes());
                }
                Part::Timestamp => out.extend_from_slice(fresh.timestamp.as_bytes()),
                Part::Nonce => out.extend_from_slice(fresh.nonce.as_bytes()),
                Part::KeyId => out.extend_from_slice(fresh.key_id.as_bytes()),
                Part::Body => out.extend_from_slice(body),
                Part::BodyDigest => out.extend_from_slice(digest.as_bytes()),
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
            }
        }
        Ok(out)
    }
}

fn sorted(query: &str) -> String {
    let mut pairs: Vec<_> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_by_key(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.join("&")
}

/// In one pass, so that what is filled in is not looked at again.
fn filled(template: &str, signature: &str, fresh: &Fresh) -> String {
    let names = [
        ("{signature}", signature),
        ("{timestamp}", &fresh.timestamp),
        ("{nonce}", &fresh.nonce),
        ("{key_id}", &fresh.key_id),
    ];
    let (mut out, mut rest) = (String::new(), template);
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (mark, value) = names.into_iter().find(|(mark, _)| rest.starts_with(mark)).unwrap_or(("{", "{"));
        out.push_str(value);
        rest = &rest[mark.len()..];
    }
    out + rest
}

impl Algorithm {
    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    fn sign(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        fn with<M: Mac + KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
            let mut mac = <M as KeyInit>::new_from_slice(key).expect("a key of an HMAC has any length");
            mac.update(bytes);
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Self::Sha1 => with::<Hmac<Sha1>>(key, bytes),
            Self::Sha256 => with::<Hmac<Sha256>>(key, bytes),
            Self::Sha512 => with::<Hmac<Sha512>>(key, bytes),
        }
    }
}

impl Encoding {
    fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base64Url => URL_SAFE_NO_PAD.encode(bytes),
        }
    }
}

impl KeyForm {
    fn key(self, secret: &str) -> Option<Vec<u8>> {
        match self {
            Self::Text => Some(secret.as_bytes().to_vec()),
            Self::Base64 => STANDARD.decode(secret).ok(),
            Self::Hex => {
                let digits = secret.as_bytes().chunks(2);
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                secret.len().is_multiple_of(2).then(|| digits.map(byte).collect())?
            }
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Hex => "hex",
            Self::Base64 => "base64",
        }
    }
}

impl TimeForm {
    fn of(self, now: Timestamp) -> String {
        match self {
            Self::Seconds => now.as_second().to_string(),
            Self::Milliseconds => now.as_millisecond().to_string(),
            Self::Rfc3339 => now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            Self::HttpDate => now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
