//! What each API calls things: a request's body, and what an event says. Pure.

use std::sync::atomic::{AtomicU8, Ordering};

use base64::Engine;
use dispatch::model::{Image, Prompt, Stopped};
use serde_json::Value;

use crate::{
    gathered::Gathered,
    settings::{Api, Settings, host},
    trouble::{Kind, Trouble, is_overflow},
};

mod anthropic;
mod chat;
mod gemini;
mod ollama;

/// What a server has said it does not take; what it is not sent any more.
#[derive(Debug, Default)]
pub(crate) struct Spared(AtomicU8);

/// Parts of a request that a server may not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Temperature = 1,
    /// `stream_options`, with which the usage is told.
    Usage = 2,
    /// `max_tokens`; newer models want `max_completion_tokens`.
    MaxTokens = 4,
}

impl Spared {
    pub fn has(&self, part: Part) -> bool {
        self.0.load(Ordering::Relaxed) & part as u8 != 0
    }

    /// What an error says is not known; true when that is news.
    pub fn learn(&self, error: &str) -> bool {
        let about = [
            "unsupported",
            "not supported",
            "unknown",
            "unrecognized",
            "not permitted",
            "not allowed",
            "does not support",
        ];
        let error = error.to_lowercase();
        if !about.iter().any(|words| error.contains(words)) {
            return false;
        }
        let part = match () {
            () if error.contains("max_completion_tokens") || error.contains("max_tokens") => Part::MaxTokens,
            () if error.contains("stream_options") => Part::Usage,
            () if error.contains("temperature") => Part::Temperature,
            () => return false,
        };
        self.0.fetch_or(part as u8, Ordering::Relaxed) & part as u8 == 0
    }
}

impl Settings {
    /// What is spoken: Ollama has chat-completions too, below `/v1`.
    pub(crate) fn speaks(&self) -> Api {
        match self.api {
            Api::Ollama if self.base_url.ends_with("/v1") => Api::Chat,
            api => api,
        }
    }

    /// Whether calls may stand in the text: a quirk of servers that run any model. Where a model's makers serve it they
    /// never do, and what looks like one there is a quote.
    pub(crate) fn prints_calls(&self) -> bool {
        match self.speaks() {
            Api::Chat => !host(&self.base_url).eq_ignore_ascii_case(host(Api::Chat.home())),
            Api::Ollama => true,
            Api::Anthropic | Api::Gemini => false,
        }
    }

    /// Where a step is asked for.
    pub(crate) fn url(&self) -> String {
        let base = self.base_url.trim_end_matches('/');
        match self.speaks() {
            Api::Chat if base.ends_with("/chat/completions") => base.to_owned(),
            Api::Chat => format!("{}/chat/completions", with_version(base, "v1")),
            Api::Ollama => format!("{base}/api/chat"),
            Api::Anthropic => format!("{}/messages", with_version(base, "v1")),
            Api::Gemini => {
                let name = self.name.strip_prefix("models/").unwrap_or(&self.name);
                format!("{}/models/{name}:streamGenerateContent?alt=sse", with_version(base, "v1beta"))
            }
        }
    }
}

/// Where nothing but a host is said, the API's version follows.
fn with_version(base: &str, version: &str) -> String {
    let path = base.split_once("://").map_or(base, |(_, rest)| rest);
    if path.contains('/') { base.to_owned() } else { format!("{base}/{version}") }
}

pub(crate) fn body(prompt: &Prompt<'_>, settings: &Settings, spared: &Spared) -> Value {
    match settings.speaks() {
        Api::Chat => chat::body(prompt, settings, spared),
        Api::Ollama => ollama::body(prompt, settings),
        Api::Anthropic => anthropic::body(prompt, settings),
        Api::Gemini => gemini::body(prompt, settings),
    }
}

/// Adds what an event says.
pub(crate) fn read(api: Api, event: &Value, into: &mut Gathered) -> Result<(), Trouble> {
    match api {
        Api::Chat => chat::read(event, into),
        Api::Ollama => ollama::read(event, into),
        Api::Anthropic => anthropic::read(event, into),
        Api::Gemini => gemini::read(event, into),
    }
}

/// An error in the stream.
fn failed(error: &Value) -> Trouble {
    let text = match error {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let lower = text.to_lowercase();
    let kind = match () {
        () if is_overflow(&text) => Kind::Overflow,
        () if ["rate_limit", "rate limit", "resource_exhausted", "too many requests"]
            .iter()
            .any(|w| lower.contains(w)) =>
        {
            Kind::Busy
        }
        () => Kind::Failed,
    };
    Trouble::new(kind, "an error in the stream").said(contract::text::one_line(&text, 300))
}

fn base64(image: &Image) -> String {
    base64::engine::general_purpose::STANDARD.encode(&image.bytes)
}

/// Arguments as the API's own kind of value: an object. What could not be read before is told as what it was.
fn object(args: &Value) -> Value {
    match args {
        Value::Object(_) => args.clone(),
        Value::Null => serde_json::json!({}),
        other => serde_json::json!({ "unreadable": other }),
    }
}

fn count(value: &Value) -> Option<u64> {
    // Some servers write them as floats.
    value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
}

/// A reason to stop in anybody's words.
fn stopped(reason: &str) -> Stopped {
    match reason.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "model_context_window_exceeded" => Stopped::Length,
        "content_filter" | "refusal" | "safety" | "recitation" | "prohibited_content" | "blocklist" | "spii"
        | "image_safety" | "language" => Stopped::Filtered,
        _ => Stopped::Done,
    }
}
