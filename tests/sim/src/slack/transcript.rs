//! What was seen in each conversation, in order: the people's side and the bot's.

use std::collections::{BTreeMap, VecDeque};
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Message,
    Edit,
    Delete,
    Typing,
    Reaction,
    /// What one person alone sees: an ephemeral message, or the failure of a command.
    Private,
    /// A view that was opened or changed for one person.
    Modal,
    /// What the assistant says that it is doing; empty when that ended.
    Status,
}

/// A button as it is seen; `id` is what a press names, next to its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Button {
    pub id: String,
    pub text: String,
    pub row: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An input of a view as it is seen; a submission names its block or its action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    pub block: String,
    pub action: String,
    pub label: String,
    pub kind: String,
    pub optional: bool,
    /// What stands in it from the start.
    pub value: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSeen {
    pub name: String,
    pub mime: String,
    pub size: u64,
    pub id: String,
}

/// One thing that happened in a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Grows by one over all conversations; `after` refers to it.
    pub n: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub conversation: String,
    pub chat: String,
    pub by: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What a person reads: markup is resolved.
    pub text: String,
    /// Who alone sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The root's `ts`, or the name that the control side gave the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Who is notified: ids of people and groups, `channel`, `here`, `everyone`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pings: Vec<String>,
    /// How many those are.
    pub mentions: usize,
    /// The inputs of a view.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    pub buttons: Vec<Button>,
    pub files: Vec<FileSeen>,
    /// The request of a bot, or the update that a person caused.
    pub payload: Value,
}

impl Entry {
    /// An entry with nothing in it yet; the transcript gives number and time.
    pub fn new(conversation: &str, chat: &str, by: By, kind: Kind) -> Self {
        Self {
            n: 0,
            at: 0,
            conversation: conversation.to_owned(),
            chat: chat.to_owned(),
            by,
            user: None,
            kind,
            message: None,
            text: String::new(),
            to: None,
            thread: None,
            reply_to: None,
            pings: Vec::new(),
            fields: Vec::new(),
            mentions: 0,
            buttons: Vec::new(),
            files: Vec::new(),
            payload: Value::Null,
        }
    }

    pub fn is_bot(&self) -> bool {
        self.by == By::Bot
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_millis() as u64).unwrap_or_default()
}

/// The entries of all conversations.
#[derive(Debug, Default)]
pub struct Transcript {
    last: u64,
    kept: BTreeMap<String, VecDeque<Entry>>,
    /// The conversation of each entry, oldest first.
    order: VecDeque<String>,
}

impl Transcript {
    pub fn add(&mut self, mut entry: Entry) -> u64 {
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
    pub fn after(&self, conversation: Option<&str>, n: u64) -> Vec<Entry> {
        let newer = |entries: &VecDeque<Entry>| -> Vec<Entry> {
            let from = entries.partition_point(|entry| entry.n <= n);
            entries.range(from..).cloned().collect()
        };
        match conversation {
            Some(name) => self.kept.get(name).map(newer).unwrap_or_default(),
            None => {
                let mut all: Vec<Entry> = self.kept.values().flat_map(newer).collect();
                all.sort_by_key(|entry| entry.n);
                all
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_keeps_its_newest_entries_and_numbers_go_over_all() {
        let mut transcript = Transcript::default();
        transcript.add(Entry::new("b", "2", By::User, Kind::Message));
        for _ in 0..KEPT + 5 {
            transcript.add(Entry::new("a", "1", By::User, Kind::Message));
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
            transcript.add(Entry::new(&(n % 50).to_string(), "1", By::User, Kind::Message));
        }
        let kept = transcript.after(None, 0);
        assert_eq!((kept.len(), kept[0].n), (KEPT_IN_ALL, 11));
    }
}
