//! What the operator says of a model.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use secrecy::SecretString;

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Chat-completions, as OpenAI, vLLM, llama.cpp, LM Studio and many others have it.
    Chat,
    Ollama,
    Anthropic,
    Gemini,
}

impl Api {
    /// As the configuration names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Ollama => "ollama",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Where its makers serve it.
    pub fn home(self) -> &'static str {
        match self {
            Self::Chat => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

type Reading = Pin<Box<dyn Future<Output = Result<SecretString, String>> + Send>>;

/// Reads the key of a model's server, anew for each request, so that a rotated one counts at once.
#[derive(Clone)]
pub struct Key(Arc<dyn Fn() -> Reading + Send + Sync>);

/// A key that `read` reads; its error says which reference cannot be read, and why.
pub fn key<F>(read: impl Fn() -> F + Send + Sync + 'static) -> Key
where
    F: Future<Output = Result<SecretString, String>> + Send + 'static,
{
    Key(Arc::new(move || Box::pin(read())))
}

impl Key {
    pub(crate) async fn read(&self) -> Result<SecretString, String> {
        (self.0)().await
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// What a million tokens cost, in the operator's currency.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Those of the prompt that came from the provider's cache.
    pub cached: f64,
}

/// One model.
#[derive(Debug, Clone)]
pub struct Settings {
    pub api: Api,
    pub name: String,
    /// Without a slash at its end.
    pub base_url: String,
    pub key: Option<Key>,
    pub context_tokens: u32,
    pub output_tokens: u32,
    /// Nothing: what the server takes by itself.
    pub temperature: Option<f64>,
    pub sees_images: bool,
    /// How long one step may take, repetitions included.
    pub timeout: Duration,
    /// How long nothing may come once an answer has begun. Comments and pings are nothing.
    pub idle: Duration,
    pub price: Price,
}

impl Settings {
    /// A model at its makers' server, with what is usual for it.
    pub fn new(api: Api, name: impl Into<String>) -> Self {
        let context_tokens = match api {
            Api::Chat | Api::Ollama => 32_768,
            Api::Anthropic | Api::Gemini => 128_000,
        };
        Self {
            api,
            name: name.into(),
            base_url: api.home().to_owned(),
            key: None,
            context_tokens,
            output_tokens: output_tokens(context_tokens),
            temperature: None,
            sees_images: false,
            timeout: Duration::from_secs(120),
            idle: Duration::from_secs(45),
            price: Price::default(),
        }
    }

    /// For operators: which model, where. No path and no user of the address.
    pub(crate) fn shown(&self) -> String {
        format!("{} '{}' at {}", self.api.name(), self.name, host(&self.base_url))
    }
}

/// Room for an answer where nobody says how much: a quarter of the window, at most 8,192.
pub fn output_tokens(context_tokens: u32) -> u32 {
    (context_tokens / 4).clamp(1, 8_192)
}

pub(crate) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_that_run_any_model_print_calls() {
        let prints = |api, url: &str| Settings { base_url: url.into(), ..Settings::new(api, "small") }.prints_calls();
        for api in [Api::Chat, Api::Ollama] {
            assert!(prints(api, "http://127.0.0.1:11434"));
            assert!(prints(api, "http://127.0.0.1:11434/v1"));
        }
        assert!(!prints(Api::Chat, "https://API.openai.com/v1"));
        assert!(!prints(Api::Anthropic, "http://127.0.0.1:11434"));
        assert!(!prints(Api::Gemini, "http://127.0.0.1:11434"));
    }
}
