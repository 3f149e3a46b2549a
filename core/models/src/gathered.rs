//! An answer as it grows.

use dispatch::model::{Answer, Draft, Prompt, Stopped};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::{
    calls::Calls,
    history, printed,
    settings::Settings,
    text,
    trouble::{Kind, Trouble},
    usage::{Counted, tokens},
};

/// A draft is shown at most this often: what it costs grows with its length.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// A longer draft is not shown on: no chat takes it, and to look through it again and again would cost too much.
const MOST_SHOWN: usize = 256 << 10;
/// What a provider wants back is stored with the turn.
const MOST_CARRIED: usize = 64 << 10;

/// What came of a stream so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub text: String,
    /// What was thought, where the provider wants it back.
    pub thought: String,
    /// Characters of thinking that are kept nowhere else.
    pub unseen: usize,
    pub calls: Calls,
    pub counted: Counted,
    /// Blocks that the provider wants back, besides those of calls.
    pub blocks: Vec<Value>,
    /// Why it ended, once that is said.
    pub stopped: Option<Stopped>,
    /// Nothing more comes.
    pub is_over: bool,
}

impl Gathered {
    /// Whether the answer is whole: its end was said.
    pub fn is_whole(&self) -> bool {
        self.stopped.is_some() || self.is_over
    }

    /// How much has come: grows with everything that is no sign of life alone.
    pub fn size(&self) -> usize {
        self.text.len() + self.thought.len() + self.unseen + self.calls.size()
    }

    /// The answer, or that there is none.
    pub fn answer(mut self, prompt: &Prompt<'_>, settings: &Settings) -> Result<Answer, Trouble> {
        let stopped = self.stopped.unwrap_or_default();
        let unread = (self.unseen + self.calls.size()) as u64;
        let written = tokens(&self.text) + tokens(&self.thought) + unread.div_ceil(4);
        let usage = self.counted.usage(prompt, written, &settings.price);
        let said = text::without_thinking(&self.text, true).into_owned();
        if self.calls.left_out > 0 {
            tracing::warn!(
                model = settings.name,
                calls = self.calls.left_out,
                "a model wished for too many calls at once"
            );
        }
        let carried = self.carried(settings);
        let names: Vec<_> = history::tools(prompt).iter().filter_map(|tool| tool["name"].as_str()).collect();
        let (said, calls) = match self.calls.is_empty() {
            true if settings.prints_calls() => printed::printed(&said, &names),
            true => (said, Vec::new()),
            false => (said, std::mem::take(&mut self.calls).asked()),
        };
        let text = said.trim().to_owned();
        if text.is_empty() && calls.is_empty() && stopped == Stopped::Done {
            return Err(Trouble::new(Kind::Empty, "neither text nor calls came"));
        }
        Ok(Answer { text, calls, carried, stopped, usage, model: settings.name.clone() })
    }

    /// Only with calls: the provider wants it back until their results are answered.
    fn carried(&self, settings: &Settings) -> Option<Value> {
        if self.calls.is_empty() {
            return None;
        }
        let extras = self.calls.extras();
        if extras.is_none() && self.blocks.is_empty() && self.thought.is_empty() {
            return None;
        }
        let carried = json!({
            "of": settings.name,
            "calls": extras.unwrap_or_default(),
            "blocks": self.blocks,
            "thought": self.thought,
        });
        (carried.to_string().len() <= MOST_CARRIED).then_some(carried)
    }
}

/// What a provider wants back, if this model said it.
pub(crate) fn carried<'a>(carried: Option<&'a Value>, settings: &Settings) -> Option<&'a Value> {
    carried.filter(|carried| carried["of"].as_str() == Some(settings.name.as_str()))
}

/// Shows a draft now and then.
pub(crate) struct Showing<'a> {
    draft: &'a dyn Draft,
    /// Calls may stand in the text.
    may_call: bool,
    last: Option<Instant>,
    /// The length of the text at the last look.
    looked: usize,
    shown: usize,
}

impl<'a> Showing<'a> {
    pub fn new(draft: &'a dyn Draft, may_call: bool) -> Self {
        Self { draft, may_call, last: None, looked: 0, shown: 0 }
    }

    /// The first words at once, then what came in the meantime; `holds_back` while it may all be thinking.
    pub fn look(&mut self, text: &str, holds_back: impl Fn(&str) -> bool) {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= SHOW_EVERY);
        if !is_due || text.len() == self.looked || text.len() > MOST_SHOWN || holds_back(text) {
            return;
        }
        self.looked = text.len();
        let visible = text::visible(text, self.may_call);
        let visible = visible.trim();
        if !visible.is_empty() && visible.len() != self.shown {
            self.last = Some(Instant::now());
            self.shown = visible.len();
            self.draft.show(visible);
        }
    }
}
