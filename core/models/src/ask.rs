//! One request to a model's server, and its answer as it streams in.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use contract::{Private, text};
use dispatch::model::{Answer, Draft, Prompt};
use reqwest::{
    Client, RequestBuilder, Response,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    frames::{Frame, Frames},
    gathered::{Gathered, Showing},
    history,
    settings::{Api, Settings},
    text::has_lone_end,
    trouble::{Kind, Trouble, is_overflow},
    wire::{self, Spared},
};

/// How long is waited for the rest when an answer has said why it ended: its usage, or that it is over.
const LINGER: Duration = Duration::from_secs(1);
/// How long is read on when it is over, so that the connection can be used again.
const AFTERWARDS: Duration = Duration::from_millis(50);
/// Most bytes that are read of an error.
const MOST_OF_ERROR: usize = 16 << 10;
/// Most characters of it that are kept.
const SAID: usize = 300;
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// What is the same for all requests to one model.
pub(crate) struct Asking {
    pub client: Client,
    pub settings: Settings,
    pub spared: Spared,
    /// The server's template opens the thinking: nothing of an answer is shown before its end. Seen once, remembered.
    pub opens_thinking: AtomicBool,
}

/// Asks once. Ends at `until` whatever happens.
pub(crate) async fn ask(
    asking: &Asking,
    prompt: &Prompt<'_>,
    draft: &dyn Draft,
    until: Instant,
) -> Result<Answer, Trouble> {
    let whole = async {
        let key = read_key(&asking.settings).await?;
        let request = request(asking, prompt, key.as_ref())?;
        let response = request.send().await.map_err(|error| not_sent(error, key.as_ref()))?;
        if !response.status().is_success() {
            return Err(refused(asking, response, key.as_ref()).await);
        }
        let gathered = gather(asking, prompt, draft, response, key.as_ref()).await?;
        gathered.answer(prompt, &asking.settings)
    };
    timeout_at(until, whole).await.unwrap_or_else(|_| Err(Trouble::new(Kind::Slow, "no answer in time")))
}

async fn read_key(settings: &Settings) -> Result<Option<SecretString>, Trouble> {
    match &settings.key {
        Some(key) => key.read().await.map(Some).map_err(|why| Trouble::new(Kind::Refused, why)),
        None => Ok(None),
    }
}

fn request(asking: &Asking, prompt: &Prompt<'_>, key: Option<&SecretString>) -> Result<RequestBuilder, Trouble> {
    let settings = &asking.settings;
    let body = wire::body(prompt, settings, &asking.spared);
    let mut request = asking.client.post(settings.url()).json(&body);
    if settings.speaks() == Api::Anthropic {
        request = request.header("anthropic-version", "2023-06-01");
    }
    let Some(key) = key else { return Ok(request) };
    let (name, value) = match settings.speaks() {
        Api::Chat | Api::Ollama => (AUTHORIZATION.as_str(), format!("Bearer {}", key.expose_secret())),
        Api::Anthropic => ("x-api-key", key.expose_secret().to_owned()),
        Api::Gemini => ("x-goog-api-key", key.expose_secret().to_owned()),
    };
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| Trouble::new(Kind::Refused, "the key has characters that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(request.header(name, value))
}

fn not_sent(error: reqwest::Error, key: Option<&SecretString>) -> Trouble {
    let error = error.without_url();
    let said = clean(Private::chain(&error).for_operator(), key);
    match error.is_connect() || error.is_builder() {
        true => Trouble::new(Kind::Unreachable, "no connection").said(said),
        false => Trouble::new(Kind::Broke, "the connection broke before an answer came").said(said),
    }
}

async fn refused(asking: &Asking, response: Response, key: Option<&SecretString>) -> Trouble {
    let code = response.status().as_u16();
    let wait = retry_after(response.headers());
    let body = start_of(response).await;
    let said = clean(&body, key);
    let settings = &asking.settings;
    let refused = |why: &str| Trouble::new(Kind::Refused, format!("{code}, {why}"));
    let trouble = match code {
        401 | 403 => refused(match settings.key {
            Some(_) => "it does not accept the key",
            None => "it wants a key: set 'api_key'",
        }),
        404 if settings.speaks() == Api::Ollama => {
            refused(&format!("it has no such model: run `ollama pull {}` there", settings.name))
        }
        404 => refused("there is no such model or no such address: look at 'name' and 'base_url'"),
        // More of the same will not be answered before somebody pays.
        429 if body.contains("insufficient_quota") => refused("the quota is used up"),
        429 => Trouble::new(Kind::Busy, "429, it is asked too often"),
        413 => Trouble::new(Kind::Overflow, "413, the request is too large"),
        _ if is_overflow(&body) => Trouble::new(Kind::Overflow, format!("{code}, the prompt does not fit")),
        400 | 422 if asking.spared.learn(&body) => Trouble::new(Kind::Learned, format!("{code}, a part is not taken")),
        300..=399 => refused("a redirect, which is not followed: look at 'base_url'"),
        408 | 425 | 500..=599 => Trouble::new(Kind::Failed, format!("{code}, it failed on its own side")),
        _ => refused("it does not take the request"),
    };
    Trouble { retry_after: wait, ..trouble }.said(said)
}

async fn gather(
    asking: &Asking,
    prompt: &Prompt<'_>,
    draft: &dyn Draft,
    mut response: Response,
    key: Option<&SecretString>,
) -> Result<Gathered, Trouble> {
    let api = asking.settings.speaks();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("nothing").to_owned();
    let (mut frames, mut out, mut gathered) = (Frames::default(), Vec::new(), Gathered::default());
    let may_call = asking.settings.prints_calls() && !history::tools(prompt).is_empty();
    let mut showing = Showing::new(draft, may_call);
    let mut patience = Patience { idle: asking.settings.idle, until: None, stage: Stage::Waiting };
    let mut size = 0;
    let mut ended = false;
    while !ended {
        let next = match patience.until {
            Some(at) => timeout_at(at, response.chunk()).await,
            None => Ok(response.chunk().await),
        };
        match next {
            Ok(Ok(Some(bytes))) => frames.feed(&bytes, &mut out)?,
            Ok(Ok(None)) => {
                frames.end(&mut out);
                ended = true;
            }
            Err(_) | Ok(Err(_)) if gathered.is_whole() => break,
            Ok(Err(error)) => return Err(broke(&error.without_url(), key)),
            Err(_) => {
                let idle = text::wait(asking.settings.idle);
                return Err(Trouble::new(Kind::Slow, format!("nothing more came for {idle}")));
            }
        }
        for frame in out.drain(..) {
            match frame {
                Frame::Done => gathered.is_over = true,
                Frame::Json(event) => {
                    wire::read(api, &event, &mut gathered).map_err(|trouble| cleaned(trouble, key))?
                }
            }
        }
        patience.goes_on(&gathered, gathered.size() > size);
        size = gathered.size();
        let opens_thinking = asking.opens_thinking.load(Ordering::Relaxed);
        showing.look(&gathered.text, |text| opens_thinking && !has_lone_end(text));
    }
    if has_lone_end(&gathered.text) {
        asking.opens_thinking.store(true, Ordering::Relaxed);
    }
    match gathered.is_whole() {
        true => Ok(gathered),
        false if gathered.size() == 0 => {
            Err(Trouble::new(Kind::Broke, format!("the answer ended before it began ({})", text::one_line(&kind, 60))))
        }
        false => Err(Trouble::new(Kind::Broke, "the answer ended in the middle")),
    }
}

fn broke(error: &reqwest::Error, key: Option<&SecretString>) -> Trouble {
    Trouble::new(Kind::Broke, "the stream broke").said(clean(Private::chain(error).for_operator(), key))
}

fn cleaned(trouble: Trouble, key: Option<&SecretString>) -> Trouble {
    let said = clean(&trouble.said, key);
    trouble.said(said)
}

/// How long is waited for what comes next. What is no data does not count: no comment and no ping makes it longer.
struct Patience {
    idle: Duration,
    /// Nothing: the request's own end counts alone.
    until: Option<Instant>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A prompt is read and thought about for as long as the step may take.
    Waiting,
    Growing,
    Stopped,
    Over,
}

impl Patience {
    fn goes_on(&mut self, gathered: &Gathered, has_grown: bool) {
        let now = Instant::now();
        let stage = match () {
            () if gathered.is_over => Stage::Over,
            () if gathered.stopped.is_some() => Stage::Stopped,
            () if has_grown => Stage::Growing,
            () => return,
        };
        if stage == self.stage && stage != Stage::Growing {
            return;
        }
        self.stage = stage;
        self.until = Some(match stage {
            Stage::Waiting | Stage::Growing => now + self.idle,
            Stage::Stopped => now + LINGER,
            Stage::Over => now + AFTERWARDS,
        });
    }
}

/// The beginning of an error's body; whatever comes within a second.
async fn start_of(mut response: Response) -> String {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk[..chunk.len().min(MOST_OF_ERROR - body.len())]);
            if body.len() >= MOST_OF_ERROR {
                break;
            }
        }
    };
    // The status is what counts: a body that drips must not turn it into something else.
    let _ = timeout(Duration::from_secs(1), read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// A line for operators: without the key, and without what looks like one, since servers repeat parts of it.
fn clean(said: &str, key: Option<&SecretString>) -> String {
    let said = match key.map(ExposeSecret::expose_secret).filter(|key| key.len() >= 4) {
        Some(key) => said.replace(key, "…"),
        None => said.to_owned(),
    };
    let said = text::one_line(&said, 4 * SAID);
    let looks_like_a_key = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).starts_with("sk-");
    let words = said.split(' ').map(|word| if looks_like_a_key(word) { "…" } else { word });
    text::cut(&words.collect::<Vec<_>>().join(" "), SAID)
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => {
            Duration::from_secs_f64(seconds.min(LONGEST_WAIT.as_secs_f64()))
        }
        Ok(_) => return None,
        Err(_) => {
            let dates = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
            let at = dates.parse_timestamp(text).ok()?;
            Duration::try_from(at.duration_since(jiff::Timestamp::now())).unwrap_or(Duration::ZERO)
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let wait = |text: &str| retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(wait("3"), Some(Duration::from_secs(3)));
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(wait("Fri, 31 Dec 9998 23:59:59 GMT").is_some_and(|wait| wait == LONGEST_WAIT));
        for bad in ["-1", "soon", "NaN", ""] {
            assert_eq!(wait(bad), None, "{bad}");
        }
    }

    #[test]
    fn nothing_that_is_kept_has_a_key_in_it() {
        let key = SecretString::from("hunter2-and-more");
        let said = clean("wrong key: hunter2-and-more. Incorrect API key provided: sk-proj-ab****yz.", Some(&key));
        assert_eq!(said, "wrong key: …. Incorrect API key provided: …");
    }
}
