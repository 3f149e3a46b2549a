//! What was seen in each conversation, in order: the people's side and the bot's.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;

/// How many entries a conversation keeps; older ones are forgotten.
pub const KEPT: usize = 5_000;
/// How many are kept in all conversations together.
const KEPT_IN_ALL: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    User,
    Bot,
}

/// What happened; no platform has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Message,
    Edit,
    Delete,
    Typing,
    /// A text that is being written, which leaves no message.
    Draft,
    Reaction,
    /// What one person alone sees: an ephemeral message, the press of a button or its answer, the failure of a command.
    Private,
    /// A form that is shown to one person, and what that person fills in.
    Modal,
    /// What the client shows in the place of an answer: that the bot is thinking, or that it did not respond; empty when that ended.
    Status,
    /// Commands were registered.
    Menu,
}

/// A button or a select menu as it is seen; `id` is what a press names, next to its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Button {
    pub id: String,
    pub text: String,
    pub row: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `primary`, `secondary`, `success`, `danger`, `link`, or `select`, where the platform has such.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub style: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// What a select menu offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
}

/// One line of a select menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub text: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileSeen {
    pub name: String,
    pub mime: String,
    pub size: u64,
    pub id: String,
    /// Where a client fetches it, if the message says so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// One thing that happened in a conversation: `Id` is the platform's way to number, `Own` what this platform alone shows.
#[derive(Clone, Debug, Serialize)]
pub struct Entry<Id, Own> {
    /// Grows by one over all conversations; `after` refers to it.
    pub n: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub conversation: String,
    /// Where the platform says that it is.
    pub chat: Id,
    pub by: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Id>,
    /// What a person reads: markup is resolved.
    pub text: String,
    /// Who alone sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The name of the topic or thread, or what stands for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Id>,
    /// Everything that this platform alone shows.
    #[serde(flatten)]
    pub own: Own,
    /// How many people and roles it notifies.
    pub mentions: usize,
    pub buttons: Vec<Button>,
    pub files: Vec<FileSeen>,
    /// The request of a bot, or the event that a person caused.
    pub payload: Value,
}

impl<Id, Own: Default> Entry<Id, Own> {
    /// An entry with nothing in it yet; the transcript gives number and time.
    pub fn new(conversation: &str, chat: impl Into<Id>, by: By, kind: Kind) -> Self {
        Self {
            n: 0,
            at: 0,
            conversation: conversation.to_owned(),
            chat: chat.into(),
            by,
            user: None,
            kind,
            message: None,
            text: String::new(),
            to: None,
            thread: None,
            reply_to: None,
            mentions: 0,
            buttons: Vec::new(),
            files: Vec::new(),
            payload: Value::Null,
            own: Own::default(),
        }
    }
}

impl<Id, Own> Entry<Id, Own> {
    pub fn is_bot(&self) -> bool {
        self.by == By::Bot
    }
}

/// What a platform alone shows is read like everything else.
impl<Id, Own> Deref for Entry<Id, Own> {
    type Target = Own;

    fn deref(&self) -> &Own {
        &self.own
    }
}

impl<Id, Own> DerefMut for Entry<Id, Own> {
    fn deref_mut(&mut self) -> &mut Own {
        &mut self.own
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_millis() as u64).unwrap_or_default()
}

/// The entries of all conversations.
#[derive(Debug)]
pub struct Transcript<Id, Own> {
    last: u64,
    kept: BTreeMap<String, VecDeque<Entry<Id, Own>>>,
    /// The conversation of each entry, oldest first.
    order: VecDeque<String>,
}

impl<Id, Own> Default for Transcript<Id, Own> {
    fn default() -> Self {
        Self { last: 0, kept: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<Id: Clone, Own: Clone> Transcript<Id, Own> {
    pub fn add(&mut self, mut entry: Entry<Id, Own>) -> u64 {
        self.last += 1;
        entry.n = self.last;
        entry.at = now_ms();
        self.order.push_back(entry.conversation.clone());
        let entries = self.kept.entry(entry.conversation.clone()).or_default();
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
        self.forget();
        self.last
    }

    /// Drops the oldest entry of all when there are too many; it may be gone already.
    fn forget(&mut self) {
        if self.order.len() <= KEPT_IN_ALL {
            return;
        }
        let oldest = self.last - self.order.len() as u64 + 1;
        let Some(entries) = self.order.pop_front().and_then(|name| self.kept.get_mut(&name)) else { return };
        if entries.front().is_some_and(|entry| entry.n == oldest) {
            entries.pop_front();
        }
    }

    /// The number of the newest entry.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// What came after an entry, of one conversation or of all.
    pub fn after(&self, conversation: Option<&str>, n: u64) -> Vec<Entry<Id, Own>> {
        let newer = |entries: &VecDeque<Entry<Id, Own>>| -> Vec<Entry<Id, Own>> {
            let from = entries.partition_point(|entry| entry.n <= n);
            entries.range(from..).cloned().collect()
        };
        match conversation {
            Some(name) => self.kept.get(name).map(newer).unwrap_or_default(),
            None => {
                let mut all: Vec<Entry<Id, Own>> = self.kept.values().flat_map(newer).collect();
                all.sort_by_key(|entry| entry.n);
                all
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(conversation: &str) -> Entry<i64, ()> {
        Entry::new(conversation, 1, By::User, Kind::Message)
    }

    #[test]
    fn a_conversation_keeps_its_newest_entries_and_numbers_go_over_all() {
        let mut transcript = Transcript::default();
        transcript.add(entry("b"));
        for _ in 0..KEPT + 5 {
            transcript.add(entry("a"));
        }
        let kept = transcript.after(Some("a"), 0);
        assert_eq!((kept.len(), kept[0].n), (KEPT, 7));
        assert_eq!(transcript.after(None, 0).first().map(|entry| entry.n), Some(1));
        assert_eq!(transcript.after(Some("a"), 5_005).len(), 1);
        assert!(transcript.after(Some("nowhere"), 0).is_empty());
    }

    #[test]
    fn all_conversations_together_are_bounded_too() {
        let mut transcript = Transcript::default();
        for n in 0..KEPT_IN_ALL + 10 {
            transcript.add(entry(&(n % 50).to_string()));
        }
        let kept = transcript.after(None, 0);
        assert_eq!((kept.len(), kept[0].n), (KEPT_IN_ALL, 11));
    }
}
