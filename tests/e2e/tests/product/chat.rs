//! People in a conversation, and what they get to read.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::Value;
use sim::{
    Telegram,
    telegram::{Entry, Press, Say, transcript::Kind},
};

use crate::{
    gateway::Gateway,
    world::{PATIENCE, eventually},
};

/// What a repeat begins with.
const MARK: &str = "(you may have received this already)";
/// What a message begins with that shows that something is under way.
const PROGRESS: &str = "Working on it";

/// A conversation.
#[derive(Clone)]
pub struct Chat {
    pub telegram: Arc<Telegram>,
    pub name: String,
}

/// A message of a person, to be answered.
pub struct Asked {
    chat: Chat,
    pub message: i64,
    pub text: String,
    after: u64,
}

/// A message of the bot as it stands now, with all edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub message: i64,
    pub text: String,
    pub reply_to: Option<i64>,
    pub thread: Option<String>,
    pub buttons: Vec<String>,
}

impl Chat {
    pub fn new(telegram: Arc<Telegram>, name: &str) -> Self {
        Self { telegram, name: name.to_owned() }
    }

    fn person(&self) -> String {
        self.name.strip_prefix("dm:").unwrap_or("ann").to_owned()
    }

    pub fn says(&self, text: &str) -> Asked {
        self.say(Say::new(&self.name, &self.person(), text))
    }

    pub fn says_in(&self, thread: &str, text: &str) -> Asked {
        self.say(Say { thread: Some(Value::from(thread)), ..Say::new(&self.name, &self.person(), text) })
    }

    fn say(&self, say: Say) -> Asked {
        let (after, text) = (self.telegram.transcript(None, 0).last().map_or(0, |e| e.n), say.text.clone());
        let said = self.telegram.say(say).expect("it can be said");
        let message = said.message.expect("a message has a number");
        Asked { chat: self.clone(), message, text, after }
    }

    /// Presses a button of a message.
    pub fn presses(&self, message: i64, button: &str) {
        let press = Press { conversation: self.name.clone(), user: self.person(), message, button: button.to_owned() };
        self.telegram.press(&press).expect("the button is there");
    }

    /// All that the bot wrote after an entry, as it stands now.
    pub fn seen_after(&self, after: u64) -> Vec<Seen> {
        let mut seen: BTreeMap<i64, Seen> = BTreeMap::new();
        for entry in self.telegram.transcript(Some(&self.name), after).into_iter().filter(Entry::is_bot) {
            let Some(message) = entry.message else { continue };
            match entry.kind {
                Kind::Message => drop(seen.insert(message, shown(message, entry))),
                Kind::Edit => {
                    if let Some(old) = seen.get_mut(&message) {
                        (old.text, old.buttons) = (entry.text.clone(), shown(message, entry).buttons);
                    }
                }
                Kind::Delete => drop(seen.remove(&message)),
                _ => {}
            }
        }
        seen.into_values().collect()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen_after(0)
    }
}

fn shown(message: i64, entry: Entry) -> Seen {
    let buttons = entry.buttons.into_iter().map(|button| button.text).collect();
    Seen { message, text: entry.text, reply_to: entry.reply_to, thread: entry.thread, buttons }
}

impl Asked {
    /// What the bot wrote in answer, as it stands now. In a direct conversation all that came after the question.
    fn seen(&self) -> Vec<Seen> {
        let is_direct = self.chat.name.starts_with("dm:");
        let mut seen = self.chat.seen_after(self.after);
        seen.retain(|seen| is_direct || seen.reply_to == Some(self.message));
        seen
    }

    /// Answers and their repeats; what only shows that something is under way is none.
    pub fn answers(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| !seen.text.starts_with(PROGRESS)).collect()
    }

    /// Waits for the message that shows that something is under way.
    pub async fn progress(&self) -> Seen {
        let shown = || self.seen().into_iter().find(|seen| seen.text.starts_with(PROGRESS));
        eventually(&format!("'{}' shows progress", self.text), async || shown().is_some()).await;
        shown().expect("it was waited for")
    }

    /// Waits for the answer.
    pub async fn answer(&self) -> Seen {
        self.answer_with("").await
    }

    /// Waits for an answer that has these words.
    pub async fn answer_with(&self, words: &str) -> Seen {
        let found = || self.answers().into_iter().find(|seen| seen.text.contains(words));
        let new = self.chat.telegram.until(&self.chat.name, self.after, |_| found().is_some());
        if tokio::time::timeout(PATIENCE, new).await.is_err() {
            panic!("'{}' was not answered with '{words}': {:#?}", self.text, self.seen());
        }
        found().expect("it was waited for")
    }

    /// Waits until all is quiet, then checks that it was answered once; or twice, the second time with the mark.
    pub async fn answered_once(&self, gateway: &Gateway) -> Seen {
        self.answer().await;
        self.quiet(gateway).await;
        self.check_once()
    }

    /// [`Asked::answered_once`], without any repeat.
    pub async fn answered_once_unmarked(&self, gateway: &Gateway) -> Seen {
        let first = self.answered_once(gateway).await;
        assert_eq!(self.answers(), std::slice::from_ref(&first), "'{}' was not repeated", self.text);
        first
    }

    /// Waits until the gateway has nothing to do and the chat does not change.
    pub async fn quiet(&self, gateway: &Gateway) {
        let telegram = &self.chat.telegram;
        let last = || telegram.transcript(None, 0).last().map_or(0, |entry| entry.n);
        loop {
            gateway.idles().await;
            let before = last();
            tokio::time::sleep(Duration::from_millis(250)).await;
            if last() == before {
                return;
            }
        }
    }

    /// One answer; or two, of which the second says that it may be a repeat. Progress that was shown is gone.
    pub fn check_once(&self) -> Seen {
        let answers = self.answers();
        let told = || format!("'{}': {answers:#?}", self.text);
        let first = answers.first().unwrap_or_else(|| panic!("{} was not answered", told()));
        let repeats = &answers[1..];
        assert!(repeats.len() <= 1, "answered too often: {}", told());
        assert!(repeats.iter().all(|seen| seen.text.starts_with(MARK)), "repeated without the mark: {}", told());
        first.clone()
    }
}

impl Seen {
    pub fn is_marked(&self) -> bool {
        self.text.starts_with(MARK)
    }

    /// The reference that stands at its end.
    pub fn reference(&self) -> String {
        let word = self.text.split_whitespace().rfind(|word| word.len() == 26);
        word.unwrap_or_else(|| panic!("there is no reference in '{}'", self.text)).to_owned()
    }
}
