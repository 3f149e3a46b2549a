//! The thin layer between us and the Bot API.
//!
//! teloxide gives the words (payloads, types, the list of the API's errors) and carries the connection (its `Bot` holds
//! client, token and address, and downloads files). Requests are made here, over the bot's own client, because its way of
//! making them costs messages: an answer that its models do not fit makes a successful send look like a failure, which is
//! then sent again; a 5xx sleeps ten seconds in the middle of a delivery that must not sleep; its updates lose the text of
//! kinds that the models do not know. Of an answer to a send only the message's id is read.

use std::{error::Error as StdError, time::Duration};

use bytes::{Bytes, BytesMut};
use contract::{
    Stopped,
    seams::{ByteStream, PartFile},
};
use futures_util::StreamExt;
use reqwest_of_teloxide::{Response, redirect::Policy};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Map, Value};
use teloxide::{Bot, net::Download, requests::Payload, types::Seconds};

/// How long a request other than a poll may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// An upload of the largest file over a slow line.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(120);
const CONNECT: Duration = Duration::from_secs(10);
/// An idle connection that the other side is closing would make a send doubtful.
const IDLE: Duration = Duration::from_secs(20);
/// No request lives longer, whatever it is.
const LONGEST: Duration = Duration::from_secs(180);

/// A hundred updates are far smaller; files come by another way.
const LARGEST_ANSWER: u64 = 32 * 1024 * 1024;

/// Why a request brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The platform answered that it will not.
    Refused { code: u64, words: String, retry_after: Option<Seconds>, moved: Option<i64> },
    /// No connection: nothing was sent.
    NotSent(String),
    /// It was sent, or may have been, and no readable answer came.
    Unsure(String),
    /// The same, because the time was over.
    TimedOut,
}

/// The Bot API of one account. It has no `Debug`: the bot's own prints the token.
#[derive(Clone)]
pub(crate) struct Api {
    bot: Bot,
}

impl Api {
    /// Fails when the token or the address cannot be right.
    pub(crate) fn new(token: &SecretString, api_url: Option<&str>) -> Result<Self, Stopped> {
        let token = token.expose_secret().trim();
        if !is_token(token) {
            return Err(stopped(
                "the token is not one of Telegram's",
                &["copy the token that @BotFather gave: digits, a colon, letters"],
            ));
        }
        let url = api_url.map(|url| url.trim_end_matches('/'));
        let mut client = teloxide::net::default_reqwest_settings()
            .connect_timeout(CONNECT)
            .timeout(LONGEST)
            .pool_idle_timeout(IDLE)
            // The address holds the token, and would be told to wherever a redirect leads.
            .redirect(Policy::none());
        if url.is_some_and(is_loopback) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|_| stopped("no HTTP client could be made", &["check the TLS set-up"]))?;
        let bot = Bot::with_client(token, client);
        let Some(url) = url else { return Ok(Self { bot }) };
        let wrong = || stopped("'api_url' is not an http address", &["write it like http://127.0.0.1:8081"]);
        let bot = bot.set_api_url(url.parse().map_err(|_| wrong())?);
        if bot.api_url().cannot_be_a_base() { Err(wrong()) } else { Ok(Self { bot }) }
    }

    /// One of teloxide's payloads, its answer raw.
    pub(crate) async fn ask<P: Payload + Serialize>(&self, payload: &P) -> Result<Value, Problem> {
        let body = serde_json::to_value(payload).map_err(|cause| Problem::NotSent(cause.to_string()))?;
        self.call(P::NAME, &body, PATIENCE).await
    }

    /// A request with a body of ours.
    pub(crate) async fn call(&self, method: &str, body: &Value, patience: Duration) -> Result<Value, Problem> {
        self.post(method, "application/json", body.to_string().into(), patience).await
    }

    /// A poll. Of its batch no update spoils another.
    pub(crate) async fn updates(&self, body: &Value, patience: Duration) -> Result<Vec<Value>, Problem> {
        let (status, body) = self.exchange("getUpdates", "application/json", body.to_string().into(), patience).await?;
        if let Some(updates) = crate::lenient::updates(&body) {
            return Ok(updates);
        }
        Err(self.read(status, &body).err().unwrap_or_else(|| Problem::Unsure("an answer without updates".into())))
    }

    /// A request with files, each in a field.
    pub(crate) async fn upload(
        &self,
        method: &str,
        fields: &Map<String, Value>,
        files: &[(&str, &PartFile)],
    ) -> Result<Value, Problem> {
        let (boundary, body) = form(fields, files);
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.post(method, &kind, body, UPLOAD_PATIENCE).await
    }

    async fn post(&self, method: &str, kind: &str, body: Bytes, patience: Duration) -> Result<Value, Problem> {
        let (status, body) = self.exchange(method, kind, body, patience).await?;
        self.read(status, &body)
    }

    /// Status and body of the answer.
    async fn exchange(
        &self,
        method: &str,
        kind: &str,
        body: Bytes,
        patience: Duration,
    ) -> Result<(u16, Bytes), Problem> {
        let mut url = self.bot.api_url();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(&format!("bot{}", self.bot.token())).push(method);
        }
        let request = self.bot.client().post(url).header("content-type", kind).body(body).timeout(patience);
        let answer = request.send().await.map_err(|cause| match cause {
            _ if cause.is_connect() || cause.is_builder() => Problem::NotSent(self.words(&cause.without_url())),
            _ if cause.is_timeout() => Problem::TimedOut,
            _ => Problem::Unsure(self.words(&cause.without_url())),
        })?;
        Ok((answer.status().as_u16(), self.whole(answer).await?))
    }

    /// The body of an answer; one that never ends is no answer.
    async fn whole(&self, answer: Response) -> Result<Bytes, Problem> {
        let too_large = || Problem::Unsure("the answer is larger than Telegram's are".into());
        if answer.content_length().is_some_and(|length| length > LARGEST_ANSWER) {
            return Err(too_large());
        }
        let (mut stream, mut body) = (answer.bytes_stream(), BytesMut::new());
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|cause| match cause.is_timeout() {
                true => Problem::TimedOut,
                false => Problem::Unsure(self.words(&cause.without_url())),
            })?;
            if (body.len() + chunk.len()) as u64 > LARGEST_ANSWER {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    fn read(&self, status: u16, body: &[u8]) -> Result<Value, Problem> {
        let Ok(mut answer) = serde_json::from_slice::<Value>(body) else {
            let words = format!("HTTP {status} without a readable answer");
            return Err(match status {
                // Somebody on the way answered: a proxy, and not the platform, which knows nothing of it.
                300..=499 if status != 413 && status != 429 => Problem::NotSent(words),
                400..=599 => Problem::Refused { code: status.into(), words, retry_after: None, moved: None },
                _ => Problem::Unsure(words),
            });
        };
        match answer["ok"].as_bool() {
            Some(true) => return Ok(answer["result"].take()),
            Some(false) => {}
            // JSON, but not the platform's.
            None if (300..=499).contains(&status) => return Err(Problem::NotSent(format!("HTTP {status}"))),
            None => return Err(Problem::Unsure("an answer without a result".into())),
        }
        let words = answer["description"].as_str().unwrap_or("no reason given");
        let waits = answer["parameters"]["retry_after"].as_u64().or_else(|| wait_in(words));
        Err(Problem::Refused {
            code: answer["error_code"].as_u64().unwrap_or(status.into()),
            words: self.redact(words),
            retry_after: waits.map(|wait| Seconds::from_seconds(u32::try_from(wait).unwrap_or(u32::MAX))),
            moved: answer["parameters"]["migrate_to_chat_id"].as_i64(),
        })
    }

    /// The bytes of a file by the path that `getFile` gave.
    pub(crate) fn download(&self, path: &str) -> ByteStream {
        let api = self.clone();
        let stream = self.bot.download_file_stream(path);
        Box::pin(stream.map(move |chunk| chunk.map_err(|cause| std::io::Error::other(api.words(&cause.without_url())))))
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
        words.replace(self.bot.token(), "(token)")
    }
}

/// A reason to stop that a person must remove.
pub(crate) fn stopped(why: &str, steps: &[&str]) -> Stopped {
    Stopped { why: format!("Telegram: {why}"), steps: steps.iter().map(|step| (*step).to_owned()).collect() }
}

fn is_token(token: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    token.split_once(':').is_some_and(|(id, secret)| {
        !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) && !secret.is_empty() && secret.bytes().all(legal)
    })
}

fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}

/// A wait that is told in words only: "retry after 41".
fn wait_in(words: &str) -> Option<u64> {
    let words = words.to_ascii_lowercase();
    let (_, rest) = words.split_once("retry after ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// A multipart form: its boundary and its bytes.
fn form(fields: &Map<String, Value>, files: &[(&str, &PartFile)]) -> (String, Bytes) {
    let boundary = format!("toolgate-{:032x}", u128::from(random()) << 64 | u128::from(random()));
    let mut body = Vec::with_capacity(files.iter().map(|(_, file)| file.bytes.len() + 1_024).sum());
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(head.as_bytes());
    }
    for (field, file) in files {
        let name: String = file.name.chars().map(|c| if c.is_control() || c == '"' { '_' } else { c }).collect();
        let kind = if is_media_type(&file.media_type) { &file.media_type } else { "application/octet-stream" };
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\ncontent-type: {kind}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&file.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (boundary, body.into())
}

fn is_media_type(text: &str) -> bool {
    text.contains('/') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/+-.; =_".contains(&b))
}

/// A number that nobody needs to foresee: for boundaries and for spreading retries.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Api {
        Api::new(&SecretString::from("7:SECRET"), Some("http://127.0.0.1:1/telegram/"))
            .unwrap_or_else(|_| panic!("fine"))
    }

    #[test]
    fn a_wait_is_found_in_words_and_in_parameters() {
        let wait = |body: &str| match api().read(429, body.as_bytes()) {
            Err(Problem::Refused { retry_after, .. }) => retry_after.map(Seconds::seconds),
            _ => None,
        };
        assert_eq!(
            wait(r#"{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":33}}"#),
            Some(33)
        );
        assert_eq!(wait(r#"{"ok":false,"description":"Too Many Requests: retry after 41"}"#), Some(41));
        assert_eq!(wait(r#"{"ok":false,"description":"no"}"#), None);
    }

    #[test]
    fn answers_that_are_no_json_are_read_by_their_status() {
        assert!(matches!(api().read(502, b"<html>"), Err(Problem::Refused { code: 502, .. })));
        assert!(matches!(api().read(200, b"<html>"), Err(Problem::Unsure(_))));
        assert!(matches!(api().read(404, b"<html>"), Err(Problem::NotSent(_))), "no reason to stop");
        assert!(matches!(api().read(302, b""), Err(Problem::NotSent(_))), "a redirect is not followed");
        for strange in ["null", "[]", "{}", r#"{"ok":"yes"}"#] {
            assert!(matches!(api().read(200, strange.as_bytes()), Err(Problem::Unsure(_))), "{strange}");
            assert!(matches!(api().read(400, strange.as_bytes()), Err(Problem::NotSent(_))), "{strange}");
        }
        assert!(
            matches!(api().read(413, b"<html>"), Err(Problem::Refused { code: 413, .. })),
            "no use in trying again"
        );
    }

    #[tokio::test]
    async fn a_redirect_leads_nowhere_and_tells_nobody_the_token() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (here, elsewhere) =
            tokio::join!(tokio::net::TcpListener::bind("127.0.0.1:0"), tokio::net::TcpListener::bind("127.0.0.1:0"));
        let (here, elsewhere) = (here.unwrap(), elsewhere.unwrap());
        let api = Api::new(&"7:SECRET".into(), Some(&format!("http://{}", here.local_addr().unwrap())))
            .unwrap_or_else(|_| panic!("fine"));
        let location = elsewhere.local_addr().unwrap();
        let answers = async {
            let (mut socket, _) = here.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4_096]).await.unwrap();
            let answer = format!(
                "HTTP/1.1 307 T\r\nlocation: http://{location}/x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            socket.write_all(answer.as_bytes()).await.unwrap();
        };
        let body = Value::Object(Map::new());
        tokio::select! {
            ((), answer) = futures_util::future::join(answers, api.call("getMe", &body, PATIENCE)) => {
                assert!(matches!(answer, Err(Problem::NotSent(_))), "{answer:?}");
            }
            _ = elsewhere.accept() => panic!("the redirect was followed"),
        }
    }

    #[tokio::test]
    async fn an_answer_that_never_ends_is_given_up() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let here = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", here.local_addr().unwrap());
        let api = Api::new(&"7:SECRET".into(), Some(&url)).unwrap_or_else(|_| panic!("fine"));
        for head in ["content-length: 99000000000\r\n", ""] {
            let answers = async {
                let (mut socket, _) = here.accept().await.unwrap();
                let _ = socket.read(&mut [0; 4_096]).await.unwrap();
                let answer = format!("HTTP/1.1 200 OK\r\n{head}connection: close\r\n\r\n");
                socket.write_all(answer.as_bytes()).await.unwrap();
                let more = vec![b' '; 1 << 20];
                while socket.write_all(&more).await.is_ok() {}
            };
            let body = Value::Object(Map::new());
            let ((), answer) = futures_util::future::join(answers, api.call("getMe", &body, PATIENCE)).await;
            assert!(matches!(&answer, Err(Problem::Unsure(words)) if words.contains("larger")), "{answer:?}");
        }
    }

    #[test]
    fn every_public_error_is_a_refusal_with_its_wait() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/telegram");
        let Ok(files) = folder.read_dir() else {
            eprintln!("the public payloads are not here: {} was not found", folder.display());
            return;
        };
        let mut seen = 0;
        for file in files.flatten() {
            let body = std::fs::read(file.path()).expect("readable");
            let payload: Value = serde_json::from_slice(&body).unwrap_or_default();
            if payload["ok"] != false {
                continue;
            }
            let Err(Problem::Refused { retry_after, moved, .. }) = api().read(400, &body) else {
                panic!("{}", file.path().display())
            };
            let told = &payload["parameters"];
            assert_eq!(retry_after.map(|wait| u64::from(wait.seconds())), told["retry_after"].as_u64());
            assert_eq!(moved, told["migrate_to_chat_id"].as_i64());
            seen += 1;
        }
        assert!(seen >= 5, "only {seen} errors were found");
    }

    #[tokio::test]
    async fn the_token_is_in_no_error() {
        let api = api();
        let Err(problem) = api.call("getMe", &Value::Null, PATIENCE).await else { panic!("nobody listens there") };
        assert!(matches!(problem, Problem::NotSent(_)));
        assert!(!format!("{problem:?}").contains("SECRET"));
        assert!(!format!("{:?}", api.read(404, br#"{"ok":false,"description":"/bot7:SECRET/x"}"#)).contains("SECRET"));
        let mut stream = api.download("a/b");
        let failure = stream.next().await.expect("an error").expect_err("nobody listens there");
        assert!(!format!("{failure:?} {failure}").contains("SECRET"));
    }

    #[test]
    fn what_is_no_token_or_address_stops_with_steps() {
        let new = |token: &str, url| Api::new(&SecretString::from(token), url).map(|_| ()).map_err(|s| s.why);
        assert!(new("nonsense", None).is_err() && new("7:a b", None).is_err() && new("7:a", Some("nonsense")).is_err());
        assert!(new(" 7:a_B-9\n", None).is_ok());
    }

    #[test]
    fn a_form_holds_its_fields_and_a_tame_file_name() {
        let fields = serde_json::json!({"chat_id": -5, "caption": "<b>x</b>"});
        let file = PartFile { name: "a\"\r\nb.txt".into(), media_type: "bad\r\ntype".into(), bytes: Bytes::from("x") };
        let (boundary, body) = form(fields.as_object().expect("an object"), &[("document", &file)]);
        let body = String::from_utf8(body.to_vec()).expect("text").replace(&boundary, "B");
        expect_test::expect![[r#"
            --B
            content-disposition: form-data; name="chat_id"

            -5
            --B
            content-disposition: form-data; name="caption"

            <b>x</b>
            --B
            content-disposition: form-data; name="document"; filename="a___b.txt"
            content-type: application/octet-stream

            x
            --B--
        "#]]
        .assert_eq(&body.replace("\r\n", "\n"));
    }
}
