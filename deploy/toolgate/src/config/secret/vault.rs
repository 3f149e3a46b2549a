//! Secrets of HashiCorp Vault or OpenBao: the key-value engine, version 2, over its HTTP API.
//!
//! One request answers for all keys of a path and for all who ask at the same time. What was read is used for a few
//! seconds, and for some minutes more while Vault does not answer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as Lock, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tracing::warn;

use super::Secret;

/// How long what was read is used, unless somebody does not accept it any more.
const KEPT: Duration = Duration::from_secs(15);
/// How long it is used while Vault does not answer.
const KEPT_WHILE_AWAY: Duration = Duration::from_secs(600);
/// How long an answer may take.
const TIME: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST: usize = 1 << 20;
/// Most characters of what Vault says of a refusal.
const SUMMARY: usize = 200;

/// The Vault of a configuration. What the configuration does not say, the process's variables do.
#[derive(Default)]
pub struct Vault {
    settings: OnceLock<Settings>,
    client: OnceLock<Client>,
    /// As many as the configuration names.
    paths: Lock<HashMap<String, Arc<Mutex<Option<Read>>>>>,
}

/// The `vault` key.
#[derive(Debug, Default)]
pub struct Settings {
    /// `VAULT_ADDR` when it is not said.
    pub address: Option<String>,
    /// `VAULT_TOKEN`, or what stands in the file `VAULT_TOKEN_FILE`, when it is not said.
    pub token: Option<Secret>,
    /// `VAULT_NAMESPACE` when it is not said.
    pub namespace: Option<String>,
}

/// The fields of a path, and when they were asked for.
struct Read {
    fields: HashMap<String, SecretString>,
    at: Instant,
}

/// Why a path could not be read.
struct Refusal {
    why: String,
    /// Whether it may be there all the same: nobody answered, or Vault is sealed.
    is_passing: bool,
}

impl Refusal {
    fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_passing: false }
    }

    fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_passing: true }
    }
}

/// `PATH#KEY`; the first part of a path is where the engine is mounted.
pub(super) fn parse(text: &str) -> Option<(String, String)> {
    let (path, field) = text.rsplit_once('#')?;
    let path = path.trim_matches('/');
    let is_plain = path.split('/').all(|part| {
        !matches!(part, "" | "." | "..") && part.chars().all(|c| c.is_alphanumeric() || "-_.@+~ ".contains(c))
    });
    (is_plain && path.contains('/') && !field.trim().is_empty()).then(|| (path.to_owned(), field.trim().to_owned()))
}

/// As the API wants it: `secret/orders` is `secret/data/orders` there. Whoever writes that, or has an engine that is
/// mounted deeper, is taken at their word.
fn api_path(path: &str) -> String {
    if path.split('/').skip(1).any(|part| part == "data") {
        return path.to_owned();
    }
    path.split_once('/').map_or_else(|| path.to_owned(), |(mount, rest)| format!("{mount}/data/{rest}"))
}

impl Vault {
    /// To be said once, before anything is read.
    pub fn set(&self, settings: Settings) {
        let _ = self.settings.set(settings);
    }

    /// A field of a path; with `anew` past what is kept.
    pub(super) async fn read(&self, path: &str, field: &str, anew: bool) -> Result<SecretString, String> {
        let came = Instant::now();
        let slot =
            self.paths.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default().clone();
        let mut slot = slot.lock().await;
        let is_good = |read: &Read| read.at >= came || (!anew && read.at.elapsed() < KEPT);
        if !slot.as_ref().is_some_and(is_good) {
            let at = Instant::now();
            match self.fetch(path).await {
                Ok(fields) => *slot = Some(Read { fields, at }),
                Err(refusal) if refusal.is_passing && slot.as_ref().is_some_and(is_bridge) => {
                    warn!(path, cause = refusal.why, "Vault does not answer; what it said before is used");
                }
                Err(refusal) => return Err(refusal.why),
            }
        }
        let found = slot.as_ref().and_then(|read| read.fields.get(field)).cloned();
        found.ok_or_else(|| format!("there is no '{}' in Vault's {path}", contract::text::one_line(field, 64)))
    }

    async fn fetch(&self, path: &str) -> Result<HashMap<String, SecretString>, Refusal> {
        let (status, body) = tokio::time::timeout(TIME, self.ask(path))
            .await
            .unwrap_or_else(|_| Err(Refusal::passing(format!("Vault did not answer within {} s", TIME.as_secs()))))?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return fields(&answer, path);
        }
        let said = answer.get("errors").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let said = contract::text::one_line(&said.collect::<Vec<_>>().join("; "), SUMMARY);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let is_passing = status.is_server_error() || matches!(status.as_u16(), 412 | 429);
        let why = match status {
            StatusCode::NOT_FOUND => format!("Vault has nothing at {path}{said}"),
            StatusCode::FORBIDDEN => format!("Vault does not let the gateway read {path}{said}"),
            _ if status.is_redirection() => "Vault answered with a redirect, which is not followed".to_owned(),
            _ => format!("Vault answered {}{said}", status.as_u16()),
        };
        Err(Refusal { why, is_passing })
    }

    async fn ask(&self, path: &str) -> Result<(StatusCode, Vec<u8>), Refusal> {
        static NOTHING_SAID: Settings = Settings { address: None, token: None, namespace: None };
        let settings = self.settings.get().unwrap_or(&NOTHING_SAID);
        let address = settings.address.clone().or_else(|| variable("VAULT_ADDR"));
        let address =
            address.ok_or_else(|| Refusal::lasting("nobody says where Vault is: set 'vault.address' or VAULT_ADDR"))?;
        let url = format!("{}/v1/{}", address.trim_end_matches('/'), api_path(path));
        let client = self.client()?;
        let mut request = client.get(url).header("X-Vault-Request", "true");
        request = request.header("X-Vault-Token", sensitive(&token(settings).await?)?);
        if let Some(namespace) = settings.namespace.clone().or_else(|| variable("VAULT_NAMESPACE")) {
            request = request.header("X-Vault-Namespace", namespace);
        }
        let mut response = request.send().await.map_err(|error| broken(error, path))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| broken(error, path))? {
            if body.len() + chunk.len() > MOST {
                return Err(Refusal::lasting(format!("what Vault has at {path} is larger than 1 MiB")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((response.status(), body))
    }

    fn client(&self) -> Result<&Client, Refusal> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|error| Refusal::lasting(format!("no HTTP client: {error}")))?;
        Ok(self.client.get_or_init(|| made))
    }
}

fn is_bridge(read: &Read) -> bool {
    read.at.elapsed() < KEPT_WHILE_AWAY
}

async fn token(settings: &Settings) -> Result<SecretString, Refusal> {
    if let Some(secret) = &settings.token {
        // Boxed, since a token is a secret that is read in the same way.
        return Box::pin(secret.read()).await.map_err(|error| Refusal::lasting(error.to_string()));
    }
    if let Some(token) = variable("VAULT_TOKEN") {
        return Ok(SecretString::from(token));
    }
    let Some(file) = variable("VAULT_TOKEN_FILE") else {
        return Err(Refusal::lasting("no token for Vault: set 'vault.token', VAULT_TOKEN or VAULT_TOKEN_FILE"));
    };
    let text = super::read_file(std::path::Path::new(&file)).await.map_err(Refusal::lasting)?;
    Ok(SecretString::from(text.trim().to_owned()))
}

fn sensitive(token: &SecretString) -> Result<reqwest::header::HeaderValue, Refusal> {
    endpoints::secret::Known::shared().note(token);
    let mut value = reqwest::header::HeaderValue::from_str(token.expose_secret().trim())
        .map_err(|_| Refusal::lasting("the token for Vault has line ends in it"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn broken(error: reqwest::Error, path: &str) -> Refusal {
    let cause = contract::Private::chain(&error.without_url());
    let cause = contract::text::one_line(cause.for_operator(), SUMMARY);
    Refusal::passing(format!("Vault could not be asked for {path}: {cause}"))
}

fn fields(answer: &Value, path: &str) -> Result<HashMap<String, SecretString>, Refusal> {
    let data = answer.get("data");
    match data.and_then(|data| data.get("data")) {
        Some(Value::Object(fields)) => Ok(texts(fields)),
        // A version that was deleted is answered with its description alone.
        Some(Value::Null) => Err(Refusal::lasting(format!("what Vault had at {path} is deleted"))),
        _ if data.is_some() => {
            Err(Refusal::lasting(format!("Vault's {path} is not of the key-value engine, version 2")))
        }
        _ => Err(Refusal::passing("Vault's answer is not readable")),
    }
}

/// What is text, or was text before somebody's tool made a number of it.
fn texts(fields: &Map<String, Value>) -> HashMap<String, SecretString> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some((name.clone(), SecretString::from(text.clone()))),
        Value::Number(number) => Some((name.clone(), SecretString::from(number.to_string()))),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    fields.iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests;
