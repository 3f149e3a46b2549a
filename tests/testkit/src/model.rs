//! A language model whose words are the test's.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use contract::{Code, Failure};
use dispatch::model::{About, Answer, Asked, Draft, Model, Prompt, Said, Stopped, Usage};
use serde_json::Value;

/// Says what it was given, in order; keeps what it was asked.
pub struct Scripted {
    about: About,
    script: Mutex<Script>,
    asked: Mutex<Vec<Heard>>,
}

enum Script {
    InOrder(VecDeque<Act>),
    By(Box<dyn FnMut(&Heard) -> Act + Send>),
}

/// What a step of the model does.
#[derive(Debug, Clone, Default)]
pub struct Act {
    wait: Duration,
    drafts: Vec<String>,
    /// Between two drafts.
    pace: Duration,
    ends: Ends,
}

#[derive(Debug, Clone)]
enum Ends {
    Answer(Answer),
    Failure(Failure),
    Never,
}

impl Default for Ends {
    fn default() -> Self {
        Self::Answer(Answer::default())
    }
}

/// A prompt, as it was heard.
#[derive(Debug, Clone)]
pub struct Heard {
    pub system: String,
    pub tools: Value,
    pub messages: Vec<Said>,
}

/// It answers in these words.
pub fn says(text: &str) -> Act {
    Act::answer(Answer { text: text.to_owned(), ..Answer::default() })
}

/// It wishes these calls: tool and arguments as JSON text.
pub fn wants(calls: &[(&str, &str)]) -> Act {
    let calls = calls.iter().map(|(tool, args)| Asked { tool: (*tool).into(), args: (*args).into() }).collect();
    Act::answer(Answer { calls, ..Answer::default() })
}

/// It does not answer.
pub fn fails() -> Act {
    let failure = Failure::new(Code::ModelUnavailable, "the language model did not answer");
    Act { ends: Ends::Failure(failure), ..Act::default() }
}

/// It thinks until it is stopped.
pub fn never() -> Act {
    Act { ends: Ends::Never, ..Act::default() }
}

impl Act {
    pub fn answer(answer: Answer) -> Self {
        let usage = Usage { input: 100, output: 10, ..Usage::default() };
        let answer = if answer.usage == Usage::default() { Answer { usage, ..answer } } else { answer };
        Self { ends: Ends::Answer(answer), ..Self::default() }
    }

    /// With words beside its calls.
    #[must_use]
    pub fn saying(self, text: &str) -> Self {
        self.with(|answer| text.clone_into(&mut answer.text))
    }

    #[must_use]
    pub fn stopped(self, stopped: Stopped) -> Self {
        self.with(|answer| answer.stopped = stopped)
    }

    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        if let Ends::Answer(answer) = &mut self.ends {
            change(answer);
        }
        self
    }

    /// After a while.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Shows these texts before, one after the other.
    #[must_use]
    pub fn drafting(mut self, drafts: &[&str], pace: Duration) -> Self {
        self.drafts = drafts.iter().map(|draft| (*draft).to_owned()).collect();
        self.pace = pace;
        self
    }
}

impl Scripted {
    /// Says these in order, then that it is at its end.
    pub fn new(acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        Self::of(Script::InOrder(acts.into_iter().collect()), Self::usual())
    }

    /// Says what the closure makes of each prompt.
    pub fn by(say: impl FnMut(&Heard) -> Act + Send + 'static) -> Arc<Self> {
        Self::of(Script::By(Box::new(say)), Self::usual())
    }

    /// The same with a window of so many tokens, and eyes or none.
    pub fn about(about: About, say: impl FnMut(&Heard) -> Act + Send + 'static) -> Arc<Self> {
        Self::of(Script::By(Box::new(say)), about)
    }

    /// What it is where nothing else is said.
    pub fn usual() -> About {
        About { name: "scripted".into(), context_tokens: 32_768, output_tokens: 4_096, sees_images: false }
    }

    fn of(script: Script, about: About) -> Arc<Self> {
        Arc::new(Self { about, script: Mutex::new(script), asked: Mutex::default() })
    }

    /// Every prompt so far.
    pub fn asked(&self) -> Vec<Heard> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn next(&self, heard: &Heard) -> Act {
        match &mut *self.script.lock().unwrap_or_else(PoisonError::into_inner) {
            Script::InOrder(acts) => acts.pop_front().unwrap_or_else(|| says("(the script is at its end)")),
            Script::By(say) => say(heard),
        }
    }
}

#[async_trait]
impl Model for Scripted {
    async fn step(&self, prompt: &Prompt<'_>, draft: &dyn Draft) -> Result<Answer, Failure> {
        let heard =
            Heard { system: prompt.system.to_owned(), tools: prompt.tools.clone(), messages: prompt.messages.to_vec() };
        let act = self.next(&heard);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(heard);
        if !act.wait.is_zero() {
            tokio::time::sleep(act.wait).await;
        }
        for text in &act.drafts {
            draft.show(text);
            tokio::time::sleep(act.pace).await;
        }
        match act.ends {
            Ends::Answer(answer) => Ok(answer),
            Ends::Failure(failure) => Err(failure),
            Ends::Never => std::future::pending().await,
        }
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

impl Heard {
    /// The conversation, one entry per line.
    pub fn text(&self) -> String {
        self.messages.iter().map(|said| line(said) + "\n").collect()
    }

    /// The names of the tools, in their order.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.tools.as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }
}

fn line(said: &Said) -> String {
    match said {
        Said::Person { text, images } if images.is_empty() => format!("person: {text}"),
        Said::Person { text, images } => format!("person: {text} [{} images]", images.len()),
        Said::Model(answered) => {
            let calls: String =
                answered.calls.iter().map(|wish| format!(" [{} {} {}]", wish.id, wish.tool, wish.args)).collect();
            format!("model: {}{calls}", answered.text)
        }
        Said::Result { call, tool, content, failed } => {
            format!("{} {call} {tool}: {content}", if *failed { "failed" } else { "result" })
        }
    }
}
