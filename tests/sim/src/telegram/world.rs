//! The state of the platform: people, chats, messages, bots and what each bot has still to be told.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::{Map, Value, json};

use super::fault::Faults;
use super::files::Files;
use super::limits::{Limits, Meter};
use super::text::Formatted;
use super::transcript::{Entry, Transcript, now_ms};

/// How many messages a chat keeps, how many updates a bot is owed at most, and how many chats and people there can be.
pub const KEPT_MESSAGES: usize = 5_000;
pub const KEPT_UPDATES: usize = 10_000;
pub const MOST_NAMES: usize = 10_000;

#[derive(Clone, Debug)]
pub struct User {
    pub id: i64,
    pub name: String,
    pub language: Option<String>,
}

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

#[derive(Clone, Debug)]
pub struct Chat {
    pub id: i64,
    pub name: String,
    pub kind: ChatKind,
    pub title: String,
    pub forum: bool,
    pub standing: Standing,
    pub user: Option<i64>,
    pub members: BTreeSet<i64>,
    pub topics: BTreeMap<i64, String>,
    pub messages: BTreeMap<i64, Message>,
    pub last_message: i64,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    User(i64),
    Bot(i64),
}

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
    /// Further fields as they stand on the wire: albums, service messages, forwards.
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug)]
pub struct Bot {
    pub id: i64,
    pub username: String,
    pub queue: VecDeque<(i64, Value)>,
    /// Updates that are delivered again although they were confirmed.
    pub again: Vec<Value>,
    pub past: VecDeque<Value>,
    pub next_update: i64,
    pub allowed: Option<Vec<String>>,
    pub webhook: Option<String>,
    pub commands: BTreeMap<(String, String), Value>,
    pub polls: u64,
}

/// A press that waits for its answer.
#[derive(Clone, Debug)]
pub struct Press {
    pub chat: i64,
    pub user: String,
    pub message: i64,
    pub asked_ms: u64,
}

/// A request that broke a documented rule.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Violation {
    pub rule: &'static str,
    pub method: String,
    pub detail: String,
}

/// What was counted so far.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// Requests per method, as the documentation writes it.
    pub requests: BTreeMap<String, u64>,
    /// Updates that people caused.
    pub received: u64,
    /// Messages that a bot posted.
    pub sent: u64,
    /// How often a bot notified somebody by name.
    pub mentions: u64,
    /// Presses that no bot has answered yet.
    pub unanswered: usize,
    pub violation_count: u64,
    /// The newest thousand.
    pub violations: VecDeque<Violation>,
}

#[derive(Debug)]
pub struct World {
    pub username: String,
    pub privacy: bool,
    pub limits: Limits,
    pub bots: BTreeMap<String, Bot>,
    pub users: BTreeMap<String, User>,
    pub chats: BTreeMap<i64, Chat>,
    pub names: HashMap<String, i64>,
    pub files: Files,
    pub presses: BTreeMap<String, Press>,
    pub transcript: Transcript,
    pub faults: Faults,
    pub meter: Meter,
    pub stats: Stats,
    /// Updates from before the first bot came.
    pub early: VecDeque<(&'static str, Value)>,
    pub duplicates: u64,
    /// Grows when open polls are cut.
    pub cuts: u64,
    pub serial: u64,
}

/// Seconds since 1970.
pub fn now() -> i64 {
    (now_ms() / 1_000) as i64
}

/// A number that depends on a name alone, so that ids stay the same over restarts.
fn digest(name: &str) -> i64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    ((hash ^ (hash >> 32)) % 900_000_000) as i64 + 100_000_000
}

impl World {
    pub fn new(username: String, privacy: bool, limits: Limits) -> Self {
        Self {
            username,
            privacy,
            limits,
            bots: BTreeMap::new(),
            users: BTreeMap::new(),
            chats: BTreeMap::new(),
            names: HashMap::new(),
            files: Files::default(),
            presses: BTreeMap::new(),
            transcript: Transcript::default(),
            faults: Faults::default(),
            meter: Meter::default(),
            stats: Stats::default(),
            early: VecDeque::new(),
            duplicates: 0,
            cuts: 0,
            serial: 0,
        }
    }

    /// The bot of a token, made at its first use; nothing when it is no token.
    pub fn bot(&mut self, token: &str) -> Option<&mut Bot> {
        let (id, secret) = token.split_once(':')?;
        let legal = !secret.is_empty() && secret.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
        let id: i64 = id.parse().ok().filter(|id| *id > 0 && legal)?;
        if !self.bots.contains_key(token) {
            if self.bots.len() >= 100 {
                return None;
            }
            let username = if self.bots.is_empty() { self.username.clone() } else { format!("bot_{id}_bot") };
            let bot = Bot {
                id,
                username,
                queue: VecDeque::new(),
                again: Vec::new(),
                past: VecDeque::new(),
                next_update: 100_000_001,
                allowed: None,
                webhook: None,
                commands: BTreeMap::new(),
                polls: 0,
            };
            self.bots.insert(token.to_owned(), bot);
            for (kind, event) in std::mem::take(&mut self.early) {
                self.tell(kind, event);
            }
        }
        self.bots.get_mut(token)
    }

    /// A person by name, known from now on; nothing when there are too many.
    pub fn user(&mut self, name: &str) -> Option<User> {
        if !self.users.contains_key(name) {
            if self.users.len() >= MOST_NAMES {
                return None;
            }
            let mut id = digest(name);
            while self.users.values().any(|user| user.id == id) {
                id += 1;
            }
            self.users.insert(name.to_owned(), User { id, name: name.to_owned(), language: None });
        }
        self.users.get(name).cloned()
    }

    pub fn user_by_id(&self, id: i64) -> Option<&User> {
        self.users.values().find(|user| user.id == id)
    }

    pub fn author_json(&self, author: Author) -> Value {
        match author {
            Author::User(id) => self
                .user_by_id(id)
                .map(User::json)
                .unwrap_or(json!({"id": id, "is_bot": false, "first_name": "Deleted Account"})),
            Author::Bot(id) => self.bots.values().find(|bot| bot.id == id).map(Bot::json).unwrap_or_default(),
        }
    }

    /// The message as it stands on the wire, with what it replies to.
    pub fn message_json(&self, chat: &Chat, message: &Message) -> Value {
        let mut out = self.bare_message(chat, message);
        if let Some(target) = message.reply_to.and_then(|id| chat.messages.get(&id)) {
            out["reply_to_message"] = self.bare_message(chat, target);
        } else if let Some(root) = message.thread.and_then(|id| chat.messages.get(&id)) {
            // In a topic every message that replies to nothing else replies to the message that made the topic.
            out["reply_to_message"] = self.bare_message(chat, root);
        }
        out
    }

    fn bare_message(&self, chat: &Chat, message: &Message) -> Value {
        let mut out = json!({"message_id": message.id});
        if chat.kind == ChatKind::Channel {
            out["sender_chat"] = chat.json();
        } else {
            out["from"] = self.author_json(message.author);
        }
        out["chat"] = chat.json();
        out["date"] = json!(message.date);
        if let Some(edited) = message.edited {
            out["edit_date"] = json!(edited);
        }
        if let Some(thread) = message.thread {
            out["message_thread_id"] = json!(thread);
            out["is_topic_message"] = json!(true);
        }
        let (text, entities) =
            if message.media.is_some() { ("caption", "caption_entities") } else { ("text", "entities") };
        if let Some((field, media)) = &message.media {
            out[*field] = media.clone();
        }
        if !message.text.text.is_empty() {
            out[text] = json!(message.text.text);
            if !message.text.entities.is_empty() {
                out[entities] = json!(message.text.entities_json());
            }
        }
        if let Some(markup) = message.markup.as_ref().filter(|markup| markup.get("inline_keyboard").is_some()) {
            out["reply_markup"] = markup.clone();
        }
        for (field, value) in &message.extra {
            out[field] = value.clone();
        }
        out
    }

    /// Queues an event for every bot that asked for its kind.
    pub fn tell(&mut self, kind: &'static str, event: Value) -> Option<i64> {
        if self.bots.is_empty() {
            if self.early.len() == KEPT_UPDATES {
                self.early.pop_front();
            }
            self.early.push_back((kind, event));
            return None;
        }
        let privacy = self.privacy;
        self.bots.values_mut().filter_map(|bot| bot.queue_event(kind, &event, privacy)).last()
    }

    pub fn log(&mut self, entry: Entry) -> u64 {
        self.transcript.add(entry)
    }

    pub fn violation(&mut self, rule: &'static str, method: &str, detail: impl Into<String>) {
        self.stats.violation_count += 1;
        if self.stats.violations.len() == 1_000 {
            self.stats.violations.pop_front();
        }
        self.stats.violations.push_back(Violation { rule, method: method.to_owned(), detail: detail.into() });
    }

    /// A number that is used once.
    pub fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub fn add_chat(&mut self, name: &str, kind: ChatKind, title: &str) -> Option<i64> {
        if self.chats.len() >= MOST_NAMES {
            return None;
        }
        let user = match kind {
            ChatKind::Private => Some(self.user(name.strip_prefix("dm:").unwrap_or(name))?.id),
            _ => None,
        };
        let mut id = match (kind, user) {
            (_, Some(user)) => user,
            (ChatKind::Group, _) => -digest(name),
            _ => -1_000_000_000_000 - digest(name) - 1_000_000_000,
        };
        while self.chats.contains_key(&id) {
            id -= 1;
        }
        let chat = Chat {
            id,
            name: name.to_owned(),
            kind,
            title: title.to_owned(),
            forum: false,
            standing: Standing::Open,
            user,
            members: user.into_iter().collect(),
            topics: BTreeMap::new(),
            messages: BTreeMap::new(),
            last_message: 0,
        };
        self.chats.insert(id, chat);
        self.names.insert(name.to_owned(), id);
        Some(id)
    }
}

impl User {
    pub fn username(&self) -> String {
        self.name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }

    pub fn json(&self) -> Value {
        let mut first = self.name.chars();
        let shown: String = first.next().into_iter().flat_map(char::to_uppercase).chain(first).collect();
        let mut out = json!({"id": self.id, "is_bot": false, "first_name": shown, "username": self.username()});
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
                let name = self.name.strip_prefix("dm:").unwrap_or(&self.name);
                let user = User { id: self.id, name: name.to_owned(), language: None }.json();
                return json!({"id": self.id, "first_name": user["first_name"], "username": user["username"], "type": "private"});
            }
            ChatKind::Group => "group",
            ChatKind::Supergroup => "supergroup",
            ChatKind::Channel => "channel",
        };
        let mut out = json!({"id": self.id, "title": self.title, "type": kind});
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

    fn queue_event(&mut self, kind: &str, event: &Value, privacy: bool) -> Option<i64> {
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
