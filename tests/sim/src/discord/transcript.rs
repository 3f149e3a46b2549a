//! What was seen in each conversation, in order: the people's side and the bot's.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::Value;

use super::ids::now_ms;

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
    /// What one person alone sees: an ephemeral message, or the press of a button.
    Private,
    /// A form that is shown to one person, and what that person fills in.
    Modal,
    /// What the client shows in the place of an answer: that the bot is thinking, or that it did not respond.
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
    /// `primary`, `secondary`, `success`, `danger`, `link`, or `select`.
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSeen {
    pub name: String,
    pub mime: String,
    pub size: u64,
    pub id: String,
    /// Where a client fetches it.
    pub url: String,
}

/// Whom a message notifies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pinged {
    /// Names of people.
    pub users: Vec<String>,
    pub roles: Vec<String>,
    pub everyone: bool,
}

impl Pinged {
    pub fn count(&self) -> usize {
        self.users.len() + self.roles.len() + usize::from(self.everyone)
    }
}

/// One thing that happened in a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Grows by one over all conversations; `after` refers to it.
    pub n: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub conversation: String,
    /// The channel's or the thread's id.
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
    /// The thread's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The interaction that it is, or that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<String>,
    /// How many people and roles it notifies.
    pub mentions: usize,
    pub pings: Pinged,
    pub buttons: Vec<Button>,
    pub files: Vec<FileSeen>,
    /// The request of a bot, or the event that a person caused.
    pub payload: Value,
}

impl Entry {
    /// An entry with nothing in it yet; the transcript gives number and time.
    pub fn new(conversation: &str, chat: u64, by: By, kind: Kind) -> Self {
        Self {
            n: 0,
            at: 0,
            conversation: conversation.to_owned(),
            chat: chat.to_string(),
            by,
            user: None,
            kind,
            message: None,
            text: String::new(),
            to: None,
            thread: None,
            reply_to: None,
            interaction: None,
            mentions: 0,
            pings: Pinged::default(),
            buttons: Vec::new(),
            files: Vec::new(),
            payload: Value::Null,
        }
    }

    pub fn is_bot(&self) -> bool {
        self.by == By::Bot
    }
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
        transcript.add(Entry::new("b", 2, By::User, Kind::Message));
        for _ in 0..KEPT + 5 {
            transcript.add(Entry::new("a", 1, By::User, Kind::Message));
        }
        let kept = transcript.after(Some("a"), 0);
        assert_eq!((kept.len(), kept[0].n), (KEPT, 7));
        assert_eq!(transcript.after(None, 0).first().map(|entry| entry.n), Some(1));
        assert!(transcript.after(Some("nowhere"), 0).is_empty());
    }
}
