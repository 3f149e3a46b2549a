//! The seam to language models: what one is asked in a step of a turn, and what it answers. No provider, no HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Failure;
/// What a step took.
pub use contract::Usage;
use serde_json::Value;
use tokio::time::Instant;

/// A language model. Dropping the future of a step ends its request.
#[async_trait]
pub trait Model: Send + Sync {
    /// One step: text, calls, or both. A failure is of the Execution layer and says in public words what did not answer;
    /// which server and why is its cause.
    async fn step(&self, prompt: &Prompt<'_>, draft: &dyn Draft) -> Result<Answer, Failure>;

    fn about(&self) -> About;
}

/// What a model can take.
#[derive(Debug, Clone)]
pub struct About {
    /// As the operator named it; shown in trees.
    pub name: Arc<str>,
    /// The window, in tokens.
    pub context_tokens: u32,
    /// Room for one answer, in tokens.
    pub output_tokens: u32,
    pub sees_images: bool,
}

/// What a step is asked with.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The same for every step of a turn, and as far as possible of a session: caches of providers depend on it.
    pub system: &'a str,
    /// `[{name, description, parameters}]`, each name once, in a stable order.
    pub tools: &'a Value,
    /// Begins with a person's; each call of a model's entry is followed by exactly one result, in the order of the calls.
    pub messages: &'a [Said],
    pub deadline: Instant,
}

/// An entry of the conversation as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Person { text: String, images: Vec<Image> },
    Model(Answered),
    Result { call: String, tool: String, content: String, failed: bool },
}

/// A picture that a person sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    pub media_type: String,
    pub bytes: bytes::Bytes,
}

/// What a model said in an earlier step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answered {
    pub text: String,
    pub calls: Vec<Wish>,
    /// What its provider wants back unchanged (a signature of its thinking); read by nobody else.
    pub carried: Option<Value>,
}

/// A call that a model wishes. Its id is ours (made of the call's path), never the provider's.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    pub id: String,
    pub tool: String,
    pub args: Value,
}

/// What came of a step.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub text: String,
    /// In the order in which the model gave them; arguments are text as it came, read by [`tools::args::parse_json`].
    pub calls: Vec<Asked>,
    pub carried: Option<Value>,
    pub stopped: Stopped,
    pub usage: Usage,
    /// The model that answered, where several may.
    pub model: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub tool: String,
    /// JSON, perhaps cut off.
    pub args: String,
}

/// Why a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stopped {
    /// It was finished.
    #[default]
    Done,
    /// It reached the most that it may say: the end is missing, and calls may be cut.
    Length,
    /// The provider held it back.
    Filtered,
}

/// Shows an answer in the making.
pub trait Draft: Send + Sync {
    /// The whole text so far. Never waits.
    fn show(&self, text: &str);
}
