//! The keys of one credential, turned into what it is.

use async_trait::async_trait;
use endpoints::{
    credentials::{
        ClientAuth, Kind, OAuth, Place, Signature,
        signature::{Algorithm, Encoding, KeyForm, PARTS, Part, TimeForm},
    },
    secret::{SecretSource, SecretUnreadable, Source},
};
use reqwest::{Url, header::HeaderName};
use secrecy::SecretString;

use super::{missing, text};
use crate::config::{
    finding::finding_at,
    read::{Reader, Table},
    secret::Secret,
    yaml::{Key, Spot, Tree, Value},
};

/// A credential's keys while they are read.
pub struct Form<'a> {
    pub reader: &'a mut Reader,
    pub table: Table,
    /// Whether what is missing may be said elsewhere.
    pub partly: bool,
}

impl Form<'_> {
    pub fn token(&mut self, key: &'static str, usual: Place) -> Option<Kind> {
        let secret = self.secret(key);
        let place = self.place(usual);
        Some(Kind::Secret { secret: self.needed(key, secret)?, place: place? })
    }

    pub fn basic(&mut self) -> Option<Kind> {
        let (username, password) = (self.name("username"), self.secret("password"));
        let (username, password) = (self.needed("username", username), self.needed("password", password));
        Some(Kind::Basic { username: username?, password: password? })
    }

    pub fn oauth(&mut self) -> Option<Kind> {
        let token_url = self.address("token_url");
        let (client_id, client_secret) = (self.name("client_id"), self.secret("client_secret"));
        let scopes = self.words("scopes");
        let audience = self.text("audience");
        let ways = [("basic", ClientAuth::Basic), ("body", ClientAuth::Body)];
        let client_auth = self.choice("client_auth", &ways).unwrap_or_default();
        let params = self.params();
        let place = self.place(Place::bearer());
        let token_url = self.needed("token_url", token_url);
        let (client_id, client_secret) =
            (self.needed("client_id", client_id), self.needed("client_secret", client_secret));
        Some(Kind::OAuth(Box::new(OAuth {
            token_url: token_url?,
            client_id: client_id?,
            client_secret: client_secret?,
            scopes,
            audience,
            client_auth,
            params,
            place: place?,
        })))
    }

    pub fn signature(&mut self) -> Option<Kind> {
        let secret = self.secret("secret");
        let algorithms = [("sha1", Algorithm::Sha1), ("sha256", Algorithm::Sha256), ("sha512", Algorithm::Sha512)];
        let algorithm = self.choice("algorithm", &algorithms).unwrap_or(Algorithm::Sha256);
        let encodings = [("hex", Encoding::Hex), ("base64", Encoding::Base64), ("base64url", Encoding::Base64Url)];
        let encoding = self.choice("encoding", &encodings).unwrap_or(Encoding::Hex);
        let forms = [("text", KeyForm::Text), ("hex", KeyForm::Hex), ("base64", KeyForm::Base64)];
        let key_form = self.choice("secret_format", &forms).unwrap_or(KeyForm::Text);
        let times = [
            ("unix", TimeForm::Seconds),
            ("unix_ms", TimeForm::Milliseconds),
            ("rfc3339", TimeForm::Rfc3339),
            ("http_date", TimeForm::HttpDate),
        ];
        let timestamp = self.choice("timestamp_format", &times).unwrap_or(TimeForm::Seconds);
        let signed = self.parts();
        let separator = self.separator().unwrap_or_else(|| "\n".into());
        let header = self.header("header").unwrap_or(HeaderName::from_static("x-signature"));
        let value = self.value();
        let key_id = self.name("key_id");
        let has = |part: Part| signed.as_ref().is_some_and(|signed| signed.contains(&part));
        let says = |mark: &str| value.contains(mark);
        // What the service needs to check the signature goes along, unless the signature's own header says it.
        let usual = |wanted: bool, name| wanted.then(|| HeaderName::from_static(name));
        let usual_time = usual(has(Part::Timestamp) && !says("{timestamp}"), "x-timestamp");
        let usual_nonce = usual(has(Part::Nonce) && !says("{nonce}"), "x-nonce");
        let usual_id = usual(key_id.is_some() && !says("{key_id}"), "x-key-id");
        let timestamp_header = self.header("timestamp_header").or(usual_time);
        let nonce_header = self.header("nonce_header").or(usual_nonce);
        let key_id_header = self.header("key_id_header").or(usual_id);
        let digest_header = self.header("digest_header");
        let needs_id = has(Part::KeyId) || says("{key_id}") || key_id_header.is_some();
        if needs_id && key_id.is_none() {
            self.needed::<Source>("key_id", None);
        }
        let (secret, signed) = (self.needed("secret", secret), self.needed("signed", signed));
        Some(Kind::Signature(Box::new(Signature {
            secret: secret?,
            key_form,
            algorithm,
            signed: signed?,
            separator,
            encoding,
            header,
            value,
            timestamp,
            timestamp_header,
            nonce_header,
            digest_header,
            key_id,
            key_id_header,
        })))
    }

    /// The value, or an error where it is missing and nothing like it is there.
    fn needed<T>(&mut self, key: &'static str, value: Option<T>) -> Option<T> {
        let is_told = self.partly || self.table.has(key) || self.table.is_misspelt(key) || self.was_taken(key);
        if value.is_none() && !is_told {
            missing(self.reader, &self.table, key);
        }
        value
    }

    /// Whether the key is there and has its error already.
    fn was_taken(&self, key: &str) -> bool {
        let path = self.table.name(key);
        self.reader.errors.iter().any(|error| error.message.contains(&format!("'{path}'")))
    }

    fn secret(&mut self, key: &'static str) -> Option<Source> {
        let tree = self.table.take(key)?;
        self.reader.secret(&self.table.name(key), &tree).map(Source::new)
    }

    /// A name is no secret: it may stand here itself.
    fn name(&mut self, key: &'static str) -> Option<Source> {
        let tree = self.table.take(key)?;
        let path = self.table.name(key);
        let text = self.reader.text(&path, &tree)?;
        if ["env:", "file:", "exec:", "vault:"].iter().any(|scheme| text.starts_with(scheme)) {
            return self.reader.secret(&path, &tree).map(|secret| Source::new(Name::Kept(secret)));
        }
        Some(Source::new(Name::Written(text)))
    }

    fn text(&mut self, key: &'static str) -> Option<String> {
        text(self.reader, &mut self.table, key)
    }

    fn choice<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let tree = self.table.take(key)?;
        self.reader.choice(&self.table.name(key), &tree, words)
    }

    fn words(&mut self, key: &'static str) -> Vec<String> {
        let path = self.table.name(key);
        let Some(tree) = self.table.take(key) else { return Vec::new() };
        self.reader.list(tree).iter().filter_map(|item| self.reader.text(&path, item)).collect()
    }

    fn header(&mut self, key: &'static str) -> Option<HeaderName> {
        let tree = self.table.take(key)?;
        let path = self.table.name(key);
        let text = self.reader.text(&path, &tree)?;
        let taken = ["host", "content-length", "transfer-encoding", "connection", "traceparent"];
        match text.parse::<HeaderName>() {
            Ok(name) if !taken.contains(&name.as_str()) => Some(name),
            Ok(name) => {
                self.reader.error(&tree.spot, format!("'{path}': the header '{name}' is the gateway's to set"));
                None
            }
            Err(_) => {
                self.reader.error(&tree.spot, format!("'{path}' must be the name of a header"));
                None
            }
        }
    }

    /// `header` and `prefix`, or `query`.
    fn place(&mut self, usual: Place) -> Option<Place> {
        let (spot, header_given) = (self.table.spot.clone(), self.table.has("header"));
        let header = self.header("header");
        let prefix = self.text("prefix");
        let query = self.text("query");
        let Place::Header { name: usual_name, prefix: usual_prefix } = usual else { return Some(usual) };
        match (header, query) {
            (_, Some(_)) if header_given || prefix.is_some() => {
                let path = self.table.path.clone();
                self.reader.error(&spot, format!("'{path}' stands in a header or in the query, not in both"));
                None
            }
            (_, Some(name)) => Some(Place::Query { name }),
            (header, None) => {
                // In another header than the usual one nobody expects the usual word.
                let usual_prefix = if header.is_some() { String::new() } else { usual_prefix };
                let prefix = prefix.map_or(usual_prefix, spaced);
                Some(Place::Header { name: header.unwrap_or(usual_name), prefix })
            }
        }
    }

    fn address(&mut self, key: &'static str) -> Option<Url> {
        let tree = self.table.take(key)?;
        let path = self.table.name(key);
        let text = self.reader.text(&path, &tree)?;
        let url = Url::parse(&text).ok().filter(|url| {
            let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
            is_web && url.username().is_empty() && url.password().is_none() && url.fragment().is_none()
        });
        let Some(url) = url else {
            let message =
                format!("'{path}' must be a URL such as https://login.example.org/token, without a user in it");
            self.reader.error(&tree.spot, message);
            return None;
        };
        if url.scheme() == "http" && !is_this_machine(&url) {
            self.reader.warn(&tree.spot, format!("'{path}' is not encrypted: whoever is on the way reads the secret"));
        }
        Some(url)
    }

    fn params(&mut self) -> Vec<(String, String)> {
        let Some(tree) = self.table.take("params") else { return Vec::new() };
        let path = self.table.name("params");
        let Some(mut table) = self.reader.table(&path, tree) else { return Vec::new() };
        let pairs = table.take_all();
        let text = |(key, tree): (Key, Tree)| {
            let value = self.reader.text(&format!("{path}.{}", key.text), &tree)?;
            Some((key.text, value))
        };
        pairs.into_iter().filter_map(text).collect()
    }

    fn parts(&mut self) -> Option<Vec<Part>> {
        let tree = self.table.take("signed")?;
        let path = self.table.name("signed");
        let spot = tree.spot.clone();
        let mut parts = Vec::new();
        for item in self.reader.list(tree) {
            let Some(word) = self.reader.text(&path, &item) else { continue };
            match Part::parse(&word) {
                Some(part) => parts.push(part),
                None => self.no_part(&path, &word, &item.spot),
            }
        }
        if parts.is_empty() {
            self.reader.error(&spot, format!("'{path}' names nothing that is signed"));
            return None;
        }
        Some(parts)
    }

    fn no_part(&mut self, path: &str, word: &str, spot: &Spot) {
        let names: Vec<_> = PARTS.iter().map(|(name, _)| *name).collect();
        let message = format!("'{path}' must name {}, header:NAME or text:WORDS", names.join(", "));
        let finding = finding_at(&self.reader.file, spot, message);
        self.reader.errors.push(match contract::text::nearest(word, names) {
            Some(near) => finding.hint(format!("did you mean '{near}'?")),
            None => finding,
        });
    }

    /// May be empty.
    fn separator(&mut self) -> Option<String> {
        let tree = self.table.take("separator")?;
        match &tree.value {
            Value::Text(text) => Some(text.clone()),
            _ => self.reader.text(&self.table.name("separator"), &tree),
        }
    }

    /// What the header says: `value`, or `prefix` before the signature.
    fn value(&mut self) -> String {
        let prefix = self.text("prefix").unwrap_or_default();
        let Some(tree) = self.table.take("value") else { return format!("{prefix}{{signature}}") };
        let path = self.table.name("value");
        let value = self.reader.text(&path, &tree).unwrap_or_else(|| "{signature}".into());
        if !value.contains("{signature}") {
            self.reader.error(&tree.spot, format!("'{path}' must have {{signature}} in it"));
        }
        format!("{prefix}{value}")
    }
}

/// `Token` is a word before the secret; `key=` stands directly before it.
fn spaced(prefix: String) -> String {
    if prefix.ends_with(|c: char| c.is_alphanumeric()) { prefix + " " } else { prefix }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A name that belongs to a secret: written in the configuration, or kept where the secret is. It is masked nowhere.
enum Name {
    Written(String),
    Kept(Secret),
}

#[async_trait]
impl SecretSource for Name {
    async fn read(&self) -> Result<SecretString, SecretUnreadable> {
        match self {
            Self::Written(text) => Ok(SecretString::from(text.clone())),
            Self::Kept(secret) => Ok(secret.read_name(false).await?),
        }
    }

    fn reference(&self) -> String {
        match self {
            Self::Written(text) => text.clone(),
            Self::Kept(secret) => secret.reference(),
        }
    }
}
