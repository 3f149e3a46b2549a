//! Requests to the Web API: slack-morphism's client carries them, with raw JSON both ways. Its typed answers refuse
//! messages that it does not know, which would make a successful send look like a failure that is then sent again.
//! Files and response addresses go over the same connection stack, since its client neither streams nor shows headers.

use std::{error::Error as StdError, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, Response, StatusCode, header},
};
use bytes::Bytes;
use contract::Stopped;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{self, Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use slack_morphism::{
    SlackApiToken, SlackApiTokenValue, SlackClientApiCallContext, SlackClientHttpConnector, errors::SlackClientError,
    hyper_tokio::SlackClientHyperConnector,
};

use crate::hosts::Hosts;

/// How long a request may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// An upload of a large file over a slow line.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(120);
const CONNECT: Duration = Duration::from_secs(10);
/// An idle connection that the other side is closing would make a send doubtful.
const IDLE: Duration = Duration::from_secs(20);
/// The longest wait that is believed.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);
/// What is read of an answer that says whether something worked.
const LONGEST_ANSWER: usize = 64 * 1024;
const OFFICIAL: &str = "https://slack.com/api";

type Https = HttpsConnector<HttpConnector>;

/// Why a request brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The platform answered that it will not: its code, and the scope that was missing.
    Refused { code: String, needed: Option<String> },
    /// Too much at once.
    Wait(Duration),
    /// No connection: nothing was sent.
    NotSent(String),
    /// It was sent, or may have been, and no readable answer came.
    Unsure(String),
}

impl Problem {
    pub(crate) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == wanted)
    }
}

/// Which of the account's tokens speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    Bot,
    /// Opens sockets, and nothing else.
    App,
}

/// The Web API of one account. It has no `Debug`: it holds tokens.
pub(crate) struct Api {
    slack: SlackClientHyperConnector<Https>,
    raw: Client<Https, Body>,
    bot: SlackApiToken,
    app: Option<SlackApiToken>,
    base: String,
    pub(crate) hosts: Hosts,
    pub(crate) tls: rustls::ClientConfig,
}

impl Api {
    /// Fails when a token or the address cannot be right; nothing is asked yet.
    pub(crate) fn new(bot: &SecretString, app: Option<&SecretString>, api_url: Option<&str>) -> Result<Self, Stopped> {
        let bot = token(bot, &["xoxb-", "xoxe."], "bot token", "OAuth & Permissions → Bot User OAuth Token (xoxb-…)")?;
        let app = app.map(|app| {
            token(
                app,
                &["xapp-"],
                "app-level token",
                "Basic Information → App-Level Tokens → Generate, with the scope connections:write (xapp-…)",
            )
        });
        let app = app.transpose()?;
        let base = api_url.map_or(OFFICIAL, |url| url.trim_end_matches('/')).to_owned();
        let hosts = Hosts::new(api_url).ok_or_else(|| {
            stopped("'api_url' is not an http address", &["write it like http://127.0.0.1:8081/slack/api"])
        })?;
        let tls = tls(base.starts_with("http:")).ok_or_else(|| {
            stopped("the system has no certificates to check servers by", &["install the package ca-certificates"])
        })?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let raw = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(https.clone());
        let slack = SlackClientHyperConnector::with_connector(https).with_slack_api_url(&base);
        Ok(Self { slack, raw, bot, app, base, hosts, tls })
    }

    /// A method that does something, with a body of ours.
    pub(crate) async fn call(&self, method: &str, body: &Value) -> Result<Value, Problem> {
        self.call_as(As::Bot, method, body).await
    }

    pub(crate) async fn call_as(&self, who: As, method: &str, body: &Value) -> Result<Value, Problem> {
        let span = tracing::Span::none();
        let asking = self.slack.http_post::<_, Value>(method, body, self.context(who, &span));
        self.answer(asking).await
    }

    /// A method that reads: those take no JSON.
    pub(crate) async fn ask(&self, method: &str, fields: &[(&str, &str)]) -> Result<Value, Problem> {
        let span = tracing::Span::none();
        let fields: Vec<(&str, Option<&str>)> = fields.iter().map(|(name, value)| (*name, Some(*value))).collect();
        let asking = self.slack.http_get::<Value, _, &str>(method, &fields, self.context(As::Bot, &span));
        self.answer(asking).await
    }

    fn context<'a>(&'a self, who: As, span: &'a tracing::Span) -> SlackClientApiCallContext<'a> {
        let token = match who {
            As::Bot => &self.bot,
            As::App => self.app.as_ref().unwrap_or(&self.bot),
        };
        SlackClientApiCallContext {
            rate_control_params: None,
            token: Some(token),
            tracing_span: span,
            is_sensitive_url: true,
        }
    }

    async fn answer(&self, asking: impl Future<Output = Result<Value, SlackClientError>>) -> Result<Value, Problem> {
        match tokio::time::timeout(PATIENCE, asking).await {
            Err(_) => Err(Problem::Unsure("no answer in time".into())),
            Ok(Err(error)) => Err(self.problem(error)),
            Ok(Ok(answer)) if answer["ok"] == true => Ok(answer),
            Ok(Ok(answer)) => match answer["error"].as_str() {
                Some(code) => Err(refused(code.to_owned(), None)),
                None => Err(Problem::Unsure("an answer without a result".into())),
            },
        }
    }

    fn problem(&self, error: SlackClientError) -> Problem {
        match error {
            SlackClientError::ApiError(error) => refused(error.code, error.http_response_body.as_deref()),
            SlackClientError::RateLimitError(error) => {
                Problem::Wait(error.retry_after.unwrap_or(Duration::from_secs(1)).min(LONGEST_WAIT))
            }
            SlackClientError::HttpError(error) => {
                let words = format!("HTTP {}", error.status_code.as_u16());
                let body = error.http_response_body.unwrap_or_default();
                match serde_json::from_str::<Value>(&body)
                    .ok()
                    .and_then(|body| Some(body["error"].as_str()?.to_owned()))
                {
                    Some(code) if error.status_code.is_client_error() => refused(code, Some(&body)),
                    // Somebody on the way answered, and not the platform, which knows nothing of it.
                    _ if error.status_code.is_client_error() => Problem::NotSent(words),
                    _ => Problem::Unsure(words),
                }
            }
            SlackClientError::HttpProtocolError(error) => match &error.cause {
                Some(cause) if is_connect(cause.as_ref()) => Problem::NotSent(self.words(cause.as_ref())),
                Some(cause) => Problem::Unsure(self.words(cause.as_ref())),
                None => Problem::Unsure("the connection broke".into()),
            },
            // What its words hold is an answer that was no JSON: nothing for anybody to read.
            SlackClientError::ProtocolError(_) => Problem::Unsure("an answer that is no JSON".into()),
            error => Problem::Unsure(self.words(&error)),
        }
    }

    /// A request to an address that the platform gave: for bytes, with the token where the address is a file's.
    pub(crate) async fn fetch(&self, url: &str) -> Result<Response<Body>, Problem> {
        let request = Request::builder().uri(url).header(header::AUTHORIZATION, self.bearer(&self.bot));
        self.exchange(request, Body::empty(), PATIENCE).await
    }

    /// The bytes of a file to where the platform wants them.
    pub(crate) async fn upload(&self, url: &str, bytes: Bytes) -> Result<(), Problem> {
        let request =
            Request::builder().method(Method::POST).uri(url).header(header::CONTENT_TYPE, "application/octet-stream");
        let answer = self.exchange(request, bytes.into(), UPLOAD_PATIENCE).await?;
        match answer.status() {
            StatusCode::TOO_MANY_REQUESTS => Err(Problem::Wait(retry_after(&answer))),
            status if status.is_success() => Ok(()),
            // Nothing is shown before the upload is completed.
            status => Err(Problem::NotSent(format!("the upload was answered by HTTP {}", status.as_u16()))),
        }
    }

    /// An answer to an interaction, at the address that came with it.
    pub(crate) async fn respond(&self, url: &str, body: &Value) -> Result<(), Problem> {
        let request = Request::builder().method(Method::POST).uri(url).header(header::CONTENT_TYPE, "application/json");
        let answer = self.exchange(request, body.to_string().into(), PATIENCE).await?;
        let (status, wait) = (answer.status(), retry_after(&answer));
        let said = to_bytes(answer.into_body(), LONGEST_ANSWER).await.unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let refusal = serde_json::from_str::<Value>(&said).ok().filter(|answer| answer["ok"] == false);
        match (status, refusal) {
            (StatusCode::TOO_MANY_REQUESTS, _) => Err(Problem::Wait(wait)),
            (_, Some(answer)) => Err(refused(answer["error"].as_str().unwrap_or("refused").to_owned(), None)),
            (status, None) if status.is_success() => Ok(()),
            (status, None) if status.is_client_error() => {
                let code = said.trim();
                Err(refused(if is_code(code) { code } else { "response_url_refused" }.to_owned(), None))
            }
            (status, None) => Err(Problem::Unsure(format!("HTTP {}", status.as_u16()))),
        }
    }

    /// The scopes that the bot's token has, where the platform says them.
    pub(crate) async fn scopes(&self) -> Result<Option<Vec<String>>, Problem> {
        let answer = self.fetch(&format!("{}/auth.test", self.base)).await?;
        let scopes = answer.headers().get("x-oauth-scopes").and_then(|scopes| scopes.to_str().ok());
        Ok(scopes.map(|scopes| scopes.split(',').map(|scope| scope.trim().to_owned()).collect()))
    }

    async fn exchange(
        &self,
        request: axum::http::request::Builder,
        body: Body,
        patience: Duration,
    ) -> Result<Response<Body>, Problem> {
        let request = request.body(body).map_err(|_| Problem::NotSent("not an address".into()))?;
        if !self.hosts.knows(request.uri()) {
            return Err(Problem::NotSent("the address is none of the platform's".into()));
        }
        match tokio::time::timeout(patience, self.raw.request(request)).await {
            Err(_) => Err(Problem::Unsure("no answer in time".into())),
            Ok(Err(cause)) if cause.is_connect() => Err(Problem::NotSent(self.words(&cause))),
            Ok(Err(cause)) => Err(Problem::Unsure(self.words(&cause))),
            Ok(Ok(answer)) => Ok(answer.map(Body::new)),
        }
    }

    fn bearer(&self, token: &SlackApiToken) -> String {
        format!("Bearer {}", token.token_value.0)
    }

    /// An error and its causes, without a token.
    pub(crate) fn words(&self, error: &dyn StdError) -> String {
        let mut words = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            words.push_str(": ");
            words.push_str(&cause.to_string());
            source = cause.source();
        }
        for token in std::iter::once(&self.bot).chain(&self.app) {
            words = words.replace(&token.token_value.0, "(token)");
        }
        contract::text::one_line(&words, 300)
    }
}

fn refused(code: String, body: Option<&str>) -> Problem {
    let needed = body.and_then(|body| serde_json::from_str::<Value>(body).ok());
    let needed = needed.and_then(|body| Some(body["needed"].as_str()?.to_owned()));
    match code.as_str() {
        "ratelimited" | "rate_limited" => Problem::Wait(Duration::from_secs(1)),
        // The platform's own trouble: it may have done it all the same.
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => Problem::Unsure(code),
        // What is no code is nobody's to read: it may be anything, a token as well.
        code if !is_code(code) => Problem::Refused { code: "unknown_error".into(), needed },
        _ => Problem::Refused { code, needed },
    }
}

fn is_code(code: &str) -> bool {
    !code.is_empty() && code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn retry_after(answer: &Response<Body>) -> Duration {
    let told = answer.headers().get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok());
    Duration::from_secs(told.and_then(|wait| wait.trim().parse().ok()).unwrap_or(1)).min(LONGEST_WAIT)
}

fn is_connect(cause: &(dyn StdError + Send + Sync + 'static)) -> bool {
    cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect)
}

/// A reason to stop that a person must remove.
pub(crate) fn stopped(why: &str, steps: &[&str]) -> Stopped {
    Stopped { why: format!("Slack: {why}"), steps: steps.iter().map(|step| (*step).to_owned()).collect() }
}

fn token(token: &SecretString, begins: &[&str], what: &str, step: &str) -> Result<SlackApiToken, Stopped> {
    let token = token.expose_secret().trim();
    let is_legal = token.bytes().all(|b| b.is_ascii_graphic()) && begins.iter().any(|begin| token.starts_with(begin));
    if !is_legal {
        let step = format!("copy it from https://api.slack.com/apps → your app → {step}");
        return Err(stopped(&format!("the {what} is not one of Slack's"), &[&step]));
    }
    Ok(SlackApiToken::new(SlackApiTokenValue(token.to_owned())))
}

/// Only plain addresses need no certificates.
fn tls(is_plain: bool) -> Option<rustls::ClientConfig> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    if is_plain {
        return Some(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth());
    }
    Some(builder.with_native_roots().ok()?.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn api() -> Api {
        let (bot, app) = (SecretString::from("xoxb-SECRET"), SecretString::from("xapp-HIDDEN"));
        Api::new(&bot, Some(&app), Some("http://127.0.0.1:1/slack/api/")).unwrap_or_else(|stopped| panic!("{stopped}"))
    }

    #[tokio::test]
    async fn a_platform_that_is_not_there_was_sent_nothing_and_no_token_is_told() {
        let api = api();
        for problem in [
            api.call("auth.test", &json!({})).await.expect_err("nobody listens there"),
            api.ask("users.info", &[("user", "U1")]).await.expect_err("nobody listens there"),
            api.fetch("http://127.0.0.1:1/x").await.expect_err("nobody listens there"),
        ] {
            assert!(matches!(problem, Problem::NotSent(_)), "{problem:?}");
            assert!(!format!("{problem:?}").contains("SECRET"));
        }
        assert!(!api.words(&std::io::Error::other("xoxb-SECRET xapp-HIDDEN")).contains("-"));
    }

    #[tokio::test]
    async fn an_address_elsewhere_is_never_asked() {
        for url in ["https://slack.com/api/auth.test", "http://127.0.0.1:2/x", "http://e.test/x", "nonsense"] {
            let problem = api().fetch(url).await.expect_err("refused");
            assert!(matches!(&problem, Problem::NotSent(words) if words.contains("address")), "{problem:?}");
        }
    }

    #[test]
    fn what_is_no_token_or_address_stops_with_steps() {
        let new = |bot: &str, app: Option<&str>, url| {
            Api::new(&bot.into(), app.map(SecretString::from).as_ref(), url)
                .map(|_| ())
                .map_err(|stopped| stopped.steps)
        };
        assert!(new("nonsense", None, None).is_err() && new("xapp-1", None, Some("http://127.0.0.1:1")).is_err());
        assert!(new("xoxb-1", Some("xoxb-1"), Some("http://127.0.0.1:1")).is_err());
        assert!(new("xoxb-1", None, Some("nonsense")).is_err() && new("xoxb-a b", None, None).is_err());
        assert!(new(" xoxb-1\n", Some("xapp-1"), Some("http://127.0.0.1:1")).is_ok());
    }

    #[test]
    fn a_refusal_names_the_scope_that_is_missing() {
        let body = r#"{"ok":false,"error":"missing_scope","needed":"files:write","provided":"chat:write"}"#;
        let needed = Some("files:write".to_owned());
        assert_eq!(
            refused("missing_scope".into(), Some(body)),
            Problem::Refused { code: "missing_scope".into(), needed }
        );
        assert!(matches!(refused("internal_error".into(), None), Problem::Unsure(_)));
        let planted = Problem::Refused { code: "unknown_error".into(), needed: None };
        assert_eq!(refused("bad token xoxb-SECRET".into(), None), planted, "what is no code is not told on");
    }
}
