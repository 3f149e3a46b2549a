//! The thin layer between us and Discord's HTTP API.
//!
//! Requests are made here and not by an SDK, because an SDK's own way costs messages: its rate limiter sleeps in the middle of a
//! delivery that must not sleep, repeats for ever, and a strict reading of a successful answer makes a message that was sent
//! look like one that was not. Of an answer to a send only the id is read.

use std::{
    error::Error as StdError,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use contract::{
    Stopped,
    seams::{ByteStream, PartFile},
};
use futures_util::StreamExt;
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
    multipart,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::limits::{Limits, Verdict};
use crate::{lock, stopped};

mod limits;
#[cfg(test)]
mod tests;

/// Where Discord is.
const DISCORD: &str = "https://discord.com/api/v10";
const VERSION: &str = "v10";
/// How long a request may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// An upload of the largest file over a slow line.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(120);
const CONNECT: Duration = Duration::from_secs(10);
/// An idle connection that the other side is closing would make a send doubtful.
const IDLE: Duration = Duration::from_secs(20);
/// No answer that is read is larger.
const LARGEST_ANSWER: usize = 8 << 20;
const AGENT: &str = concat!("DiscordBot (https://discord.com, ", env!("CARGO_PKG_VERSION"), ")");

/// Why a request brought nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Problem {
    /// The platform answered that it will not; `code` is its own number for the reason.
    Refused { status: u16, code: u64, words: String },
    /// To be asked again later.
    Wait { wait: Duration, of_all: bool },
    /// No connection: nothing was sent.
    NotSent(String),
    /// It was sent, or may have been, and no readable answer came.
    Unsure(String),
}

/// What goes with a request.
pub(crate) enum Body<'a> {
    Nothing,
    Json(&'a Value),
    /// JSON with files beside it.
    Files(&'a Value, &'a [PartFile]),
}

/// The HTTP API of one account.
pub(crate) struct Rest {
    client: reqwest::Client,
    /// Without our token: whoever has the files must not have it.
    files: reqwest::Client,
    base: Url,
    is_discord: bool,
    token: SecretString,
    limits: Mutex<Limits>,
    /// Cancelled when the token is refused.
    refused: CancellationToken,
}

impl Rest {
    /// Fails when the token or the address cannot be right.
    pub(crate) fn new(token: &SecretString, api_url: Option<&str>) -> Result<Self, Stopped> {
        let bare = bare(token.expose_secret());
        if bare.is_empty() || !bare.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(stopped("the token is not one of Discord's", &TOKEN_STEPS));
        }
        if bare.split('.').count() != 3 || bare.split('.').any(str::is_empty) {
            return Err(stopped("the token is not a bot's: that has three parts with dots between them", &SHAPE_STEPS));
        }
        let base = base(api_url).ok_or_else(|| {
            stopped("'api_url' is not an http address", &["write it like http://127.0.0.1:8081/api/v10"])
        })?;
        let mut authorization = HeaderValue::from_str(&format!("Bot {bare}"))
            .map_err(|_| stopped("the token is not one of Discord's", &TOKEN_STEPS))?;
        authorization.set_sensitive(true);
        let ours = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
        let is_discord = api_url.is_none();
        let client = |headers| {
            client(headers, is_discord).map_err(|_| stopped("no HTTP client could be made", &["check the TLS set-up"]))
        };
        Ok(Self {
            client: client(ours)?,
            files: client(HeaderMap::new())?,
            base,
            is_discord,
            token: SecretString::from(bare.to_owned()),
            limits: Mutex::default(),
            refused: CancellationToken::new(),
        })
    }

    /// With so many requests in a second, when the account was granted another number.
    pub(crate) fn granted(self, per_second: Option<usize>) -> Self {
        lock(&self.limits).granted = per_second;
        self
    }

    /// The token without its scheme, for the gateway.
    pub(crate) fn token(&self) -> &SecretString {
        &self.token
    }

    /// Ends when Discord has refused the token.
    pub(crate) async fn until_refused(&self) {
        self.refused.cancelled().await;
    }

    /// What operators are told of the limits, if anything.
    pub(crate) fn complaint(&self) -> Option<String> {
        lock(&self.limits).complaint(Instant::now())
    }

    /// Whether nothing but this server is to be spoken to.
    pub(crate) fn is_discord(&self) -> bool {
        self.is_discord
    }

    pub(crate) fn host(&self) -> (Option<&str>, Option<u16>) {
        (self.base.host_str(), self.base.port_or_known_default())
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Problem> {
        self.call(Method::GET, path, Body::Nothing).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Problem> {
        self.call(Method::POST, path, Body::Json(body)).await
    }

    /// A request that is asked again where the platform has it wait, for at most `patience`; for what no delivery carries.
    pub(crate) async fn patiently(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, Problem> {
        let until = Instant::now() + patience;
        loop {
            let carried = body.map_or(Body::Nothing, Body::Json);
            match self.call(method.clone(), path, carried).await {
                Err(Problem::Wait { wait, of_all }) if Instant::now() + wait > until => {
                    return Err(Problem::Wait { wait, of_all });
                }
                Err(Problem::Wait { wait, .. }) => tokio::time::sleep(wait).await,
                answered => return answered,
            }
        }
    }

    /// One request. Where it is known that the platform would have it wait, none is made.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Body<'_>) -> Result<Value, Problem> {
        let route = limits::route(method.as_str(), path);
        match lock(&self.limits).ask(&route, Instant::now()) {
            Verdict::Go => {}
            Verdict::Wait { wait, of_all } => return Err(Problem::Wait { wait, of_all }),
        }
        let answer = self.request(method, path, body)?.send().await.map_err(|cause| match cause {
            _ if cause.is_connect() || cause.is_builder() => Problem::NotSent(self.words(&cause.without_url())),
            _ if cause.is_timeout() => Problem::Unsure("no answer in time".into()),
            _ => Problem::Unsure(self.words(&cause.without_url())),
        })?;
        let status = answer.status().as_u16();
        let headers = answer.headers().clone();
        let body = self.read(answer).await;
        let parsed = body.as_ref().ok().and_then(|body| serde_json::from_slice(body).ok());
        lock(&self.limits).heard(&route, status, &headers, parsed.as_ref(), Instant::now());
        match (status, body) {
            (200..=299, Ok(body)) if body.is_empty() => Ok(Value::Null),
            (200..=299, Ok(_)) => parsed.ok_or_else(|| Problem::Unsure("an answer that is no JSON".into())),
            (200..=299, Err(problem)) => Err(problem),
            _ => Err(self.problem(status, &headers, parsed.as_ref(), &route)),
        }
    }

    fn request(&self, method: Method, path: &str, body: Body<'_>) -> Result<reqwest::RequestBuilder, Problem> {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let request = self.client.request(method, url).timeout(PATIENCE);
        Ok(match body {
            Body::Nothing => request,
            Body::Json(json) => request.json(json),
            Body::Files(json, files) => request.multipart(form(json, files)).timeout(UPLOAD_PATIENCE),
        })
    }

    async fn read(&self, answer: reqwest::Response) -> Result<Bytes, Problem> {
        let mut stream = answer.bytes_stream();
        let mut whole = Vec::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|cause| Problem::Unsure(self.words(&cause.without_url())))?;
            if whole.len() + chunk.len() > LARGEST_ANSWER {
                return Err(Problem::Unsure("an answer without end".into()));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.into())
    }

    fn problem(&self, status: u16, headers: &HeaderMap, body: Option<&Value>, route: &limits::Route) -> Problem {
        let nothing = Value::Null;
        let answer = body.unwrap_or(&nothing);
        if status == 429 {
            return Problem::Wait {
                wait: limits::told_to_wait(headers, answer),
                of_all: limits::is_of_all(headers, answer, body.is_some()),
            };
        }
        if status == 401 && !route.is_by_token() && body.is_some() {
            self.refused.cancel();
        }
        match body {
            // Somebody on the way answered, and not the platform, which knows nothing of it.
            None if (400..500).contains(&status) && status != 413 => {
                Problem::NotSent(format!("HTTP {status} without a readable answer"))
            }
            _ if status < 400 => Problem::NotSent(format!("HTTP {status}, a redirect that is not followed")),
            _ if status >= 500 => Problem::Unsure(format!("HTTP {status}")),
            _ => Problem::Refused {
                status,
                code: answer["code"].as_u64().unwrap_or(0),
                words: self.redact(&said(status, answer)),
            },
        }
    }

    /// The bytes behind an address. Only for addresses that were looked at.
    pub(crate) async fn download(self: &Arc<Self>, url: Url) -> Result<ByteStream, Problem> {
        let answer = self
            .files
            .get(url)
            .timeout(UPLOAD_PATIENCE)
            .send()
            .await
            .map_err(|cause| Problem::NotSent(self.words(&cause.without_url())))?;
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(Problem::Refused { status, code: 0, words: format!("HTTP {status}") });
        }
        let rest = self.clone();
        Ok(Box::pin(
            answer
                .bytes_stream()
                .map(move |chunk| chunk.map_err(|cause| std::io::Error::other(rest.words(&cause.without_url())))),
        ))
    }

    /// An error and its causes, without the token.
    fn words(&self, error: &dyn StdError) -> String {
        let mut words = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            words.push_str(": ");
            words.push_str(&cause.to_string());
            source = cause.source();
        }
        self.redact(&words)
    }

    fn redact(&self, words: &str) -> String {
        words.replace(self.token.expose_secret(), "(token)")
    }
}

/// A public key or a client secret was copied instead.
const SHAPE_STEPS: [&str; 1] =
    ["a bot token has three parts with dots: Developer Portal → Bot → Reset Token shows a new one once"];

pub(crate) const TOKEN_STEPS: [&str; 3] = [
    "open https://discord.com/developers/applications, choose the application, then Bot",
    "press 'Reset Token' and copy the new token to where the configuration's 'token' points, then start again",
    "with 'api_url' set, check that this server knows the bot",
];

fn client(headers: HeaderMap, is_discord: bool) -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .user_agent(AGENT)
        .default_headers(headers)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none());
    // Another server than Discord was named by its address: it is spoken to directly.
    if is_discord { client.build() } else { client.no_proxy().build() }
}

fn bare(token: &str) -> &str {
    let token = token.trim();
    token.strip_prefix("Bot ").map_or(token, str::trim)
}

/// The address of the API with its version, from whatever of it was written.
fn base(api_url: Option<&str>) -> Option<Url> {
    let written = api_url.unwrap_or(DISCORD).trim().trim_end_matches('/');
    let last = written.rsplit('/').next().unwrap_or_default();
    let is_version = last.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let whole = match last {
        _ if is_version => written.to_owned(),
        "api" => format!("{written}/{VERSION}"),
        _ => format!("{written}/api/{VERSION}"),
    };
    Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// The platform's words, and where in the request it found what.
fn said(status: u16, answer: &Value) -> String {
    let mut words = answer["message"].as_str().map_or_else(|| format!("HTTP {status}"), str::to_owned);
    let mut found = Vec::new();
    details(&answer["errors"], &mut Vec::new(), &mut found);
    if !found.is_empty() {
        words.push_str(": ");
        words.push_str(&found.join("; "));
    }
    contract::text::one_line(&words, 300)
}

const MOST_DETAILS: usize = 5;
const DEEPEST: usize = 12;

fn details<'a>(errors: &'a Value, path: &mut Vec<&'a str>, found: &mut Vec<String>) {
    if let Some(list) = errors["_errors"].as_array() {
        let words = list.iter().filter_map(|error| error["message"].as_str());
        found.extend(words.map(|words| format!("{} {words}", path.join("."))).take(MOST_DETAILS - found.len()));
    }
    for (key, inner) in errors.as_object().into_iter().flatten() {
        if key != "_errors" && path.len() < DEEPEST && found.len() < MOST_DETAILS {
            path.push(key);
            details(inner, path, found);
            path.pop();
        }
    }
}

fn form(json: &Value, files: &[PartFile]) -> multipart::Form {
    let payload = multipart::Part::text(json.to_string());
    let payload = payload.mime_str("application/json").expect("a media type of ours is one");
    files.iter().enumerate().fold(multipart::Form::new().part("payload_json", payload), |form, (n, file)| {
        let part = || {
            multipart::Part::stream_with_length(file.bytes.clone(), file.bytes.len() as u64)
                .file_name(file.name.clone())
        };
        let part = part().mime_str(&file.media_type).unwrap_or_else(|_| part());
        form.part(format!("files[{n}]"), part)
    })
}

/// What a message says of the files beside it.
pub(crate) fn attachments(files: &[PartFile]) -> Value {
    files.iter().enumerate().map(|(n, file)| json!({"id": n, "filename": file.name})).collect()
}
