//! Who and what there is: people, chats, messages, bots, each with its shape on the wire.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::hook::Hook;
use super::text::Formatted;
use super::world::{KEPT_MESSAGES, KEPT_UPDATES};
use crate::transcript::now_ms;

/// A person; the name that a test uses is the first name, and in small letters the user name.
#[derive(Clone, Debug)]
pub struct User {
    pub id: i64,
    pub name: String,
    pub language: Option<String>,
    pub is_bot: bool,
}

/// What kind of chat it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatKind {
    Private,
    Group,
    Supergroup,
    Channel,
}

/// Whether a bot still reaches a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Open,
    /// The person blocked the bot, or the group removed it.
    Shut,
    Gone,
    Upgraded(i64),
}

/// A chat with its topics and newest messages.
#[derive(Clone, Debug)]
pub struct Chat {
    pub id: i64,
    /// Its id as bots see it: a person's is the same in the private chats with several bots.
    pub wire: i64,
    /// The bot that a private chat is with; nothing for the first one.
    pub bot: Option<i64>,
    pub name: String,
    pub kind: ChatKind,
    pub title: String,
    pub forum: bool,
    pub standing: Standing,
    pub user: Option<i64>,
    pub members: BTreeSet<i64>,
    /// Whether members may write, not administrators alone.
    pub open: bool,
    /// Members who are more or less than that.
    pub roles: BTreeMap<i64, Role>,
    pub topics: BTreeMap<i64, String>,
    /// The reactions that its administrators chose; without a choice, every emoji.
    pub reactions: Option<Vec<String>>,
    /// What a bot is writing.
    pub draft: Option<super::draft::Draft>,
    pub messages: BTreeMap<i64, Message>,
    pub last_message: i64,
}

/// What the platform says somebody is in a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Creator,
    Administrator,
    Member,
    Left,
    Kicked,
}

impl Role {
    /// The membership of a person in this role.
    pub fn json(self, user: Value) -> Value {
        let mut out = json!({"user": user, "status": self});
        match self {
            Self::Creator => out["is_anonymous"] = json!(false),
            Self::Kicked => out["until_date"] = json!(0),
            Self::Administrator => RIGHTS.iter().for_each(|right| {
                out[right] = json!(matches!(*right, "can_manage_chat" | "can_delete_messages"));
            }),
            Self::Member | Self::Left => {}
        }
        out
    }

    pub fn leads(self) -> bool {
        matches!(self, Self::Creator | Self::Administrator)
    }
}

/// What an administrator may be allowed; clients insist on each being said.
const RIGHTS: [&str; 13] = [
    "can_be_edited",
    "is_anonymous",
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
    "can_send_welcome_messages",
];

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    User(i64),
    Bot(i64),
}

/// A message as it is kept.
#[derive(Clone, Debug)]
pub struct Message {
    pub id: i64,
    pub date: i64,
    pub author: Author,
    pub thread: Option<i64>,
    /// The text, or the caption when there is media.
    pub text: Formatted,
    pub media: Option<(&'static str, Value)>,
    pub reply_to: Option<i64>,
    pub markup: Option<Value>,
    pub edited: Option<i64>,
    /// What people and bots put on it, by their ids.
    pub reactions: BTreeMap<i64, String>,
    /// Further fields as they stand on the wire: albums, service messages, forwards.
    pub extra: Map<String, Value>,
}

/// A bot and what it has still to be told.
#[derive(Clone, Debug)]
pub struct Bot {
    pub id: i64,
    pub username: String,
    pub queue: VecDeque<(i64, Value)>,
    /// Updates that are delivered again although they were confirmed.
    pub again: Vec<Value>,
    /// The newest that were delivered.
    pub past: VecDeque<(i64, Value)>,
    pub next_update: i64,
    pub allowed: Option<Vec<String>>,
    pub webhook: Option<Hook>,
    pub commands: BTreeMap<(String, String), Value>,
    pub polls: u64,
}

/// Seconds since 1970.
pub fn now() -> i64 {
    (now_ms() / 1_000) as i64
}
/// Cuts a text as a client does that is given more than one message holds.
pub fn pages(text: &str, most: usize) -> Vec<&str> {
    let (mut out, mut start, mut held) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        if held + c.len_utf16() > most {
            out.push(&text[start..at]);
            (start, held) = (at, 0);
        }
        held += c.len_utf16();
    }
    out.push(&text[start..]);
    out
}

/// A topic as somebody names it: text as it is, a number as its digits.
pub fn topic_name(wanted: &Value) -> String {
    wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned)
}

impl User {
    pub fn username(&self) -> String {
        self.name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }

    pub fn json(&self) -> Value {
        let mut first = self.name.chars();
        let shown: String = first.next().into_iter().flat_map(char::to_uppercase).chain(first).collect();
        let mut out = json!({"id": self.id, "is_bot": self.is_bot, "first_name": shown, "username": self.username()});
        if let Some(language) = &self.language {
            out["language_code"] = json!(language);
        }
        out
    }
}

impl Chat {
    pub fn json(&self) -> Value {
        let kind = match self.kind {
            ChatKind::Private => {
                let name = super::world::person_of(&self.name);
                let user = User { id: self.wire, name: name.to_owned(), language: None, is_bot: false }.json();
                return json!({"id": self.wire, "first_name": user["first_name"], "username": user["username"], "type": "private"});
            }
            ChatKind::Group => "group",
            ChatKind::Supergroup => "supergroup",
            ChatKind::Channel => "channel",
        };
        let mut out = json!({"id": self.wire, "title": self.title, "type": kind});
        if self.forum {
            out["is_forum"] = json!(true);
        }
        out
    }

    /// Keeps a message under the next id and returns the id.
    pub fn add(&mut self, mut message: Message) -> i64 {
        self.last_message += 1;
        message.id = self.last_message;
        self.messages.insert(message.id, message);
        if self.messages.len() > KEPT_MESSAGES {
            self.messages.pop_first();
        }
        self.last_message
    }

    /// What somebody is here.
    pub fn role(&self, user: i64) -> Role {
        let plain = if self.members.contains(&user) { Role::Member } else { Role::Left };
        self.roles.get(&user).copied().unwrap_or(plain)
    }

    /// The number of a topic that is named by its name or number.
    pub fn topic(&self, wanted: &Value) -> Option<i64> {
        let name = topic_name(wanted);
        self.topics
            .iter()
            .find(|(number, topic)| **topic == name || number.to_string() == name)
            .map(|(number, _)| *number)
    }

    /// The topic's name, `General` for messages of a forum outside every topic.
    pub fn thread_name(&self, thread: Option<i64>) -> Option<String> {
        match thread {
            Some(id) => Some(self.topics.get(&id).cloned().unwrap_or_else(|| id.to_string())),
            None => self.forum.then(|| "General".to_owned()),
        }
    }
}

impl Bot {
    pub fn json(&self) -> Value {
        json!({"id": self.id, "is_bot": true, "first_name": "Toolgate", "username": self.username})
    }

    pub fn queue_event(&mut self, kind: &str, event: &Value, privacy: bool) -> Option<i64> {
        let asked = match &self.allowed {
            Some(kinds) => kinds.iter().any(|asked| asked == kind),
            None => !matches!(kind, "chat_member" | "message_reaction" | "message_reaction_count"),
        };
        if !asked || (privacy && !self.may_see(event)) {
            return None;
        }
        let id = self.next_update;
        self.next_update += 1;
        if self.queue.len() == KEPT_UPDATES {
            self.queue.pop_front();
        }
        self.queue.push_back((id, json!({"update_id": id, kind: event})));
        Some(id)
    }

    /// What privacy mode lets through: private chats, commands, mentions, replies to the bot, events without text.
    fn may_see(&self, event: &Value) -> bool {
        let grouped = event["chat"]["type"].as_str().is_some_and(|kind| kind.ends_with("group"));
        let text = event["text"].as_str().or_else(|| event["caption"].as_str());
        let (true, Some(text)) = (grouped, text) else { return true };
        let mentioned = text.contains(&format!("@{}", self.username));
        let addressed = text.starts_with('/') && !text.split_whitespace().next().unwrap_or_default().contains('@');
        mentioned || addressed || event["reply_to_message"]["from"]["id"] == json!(self.id)
    }
}
