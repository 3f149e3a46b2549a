//! The state of the platform: people, chats, messages, bots and what each bot has still to be told.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Value, json};

use super::Setup;
use super::cast::{Author, Bot, Chat, ChatKind, Message, Standing, User};
use super::fault::Faults;
use super::files::Files;
use super::limits::{Limits, Meter};
use super::transcript::{Entry, Transcript};

/// How many messages a chat keeps, how many updates a bot is owed at most, and how many chats and people there can be.
pub const KEPT_MESSAGES: usize = 5_000;
pub const KEPT_UPDATES: usize = 10_000;
pub const MOST_NAMES: usize = 10_000;

/// Below every id that a bot sees: private chats with other bots than the first.
const FAR: i64 = 1 << 52;

/// The person of a private conversation, `dm:NAME` or `dm:NAME@BOT`.
pub fn person_of(conversation: &str) -> &str {
    let name = conversation.strip_prefix("dm:").unwrap_or(conversation);
    name.split_once('@').map_or(name, |(person, _)| person)
}

/// A press that waits for its answer.
#[derive(Clone, Debug)]
pub struct Press {
    pub chat: i64,
    pub bot: i64,
    pub user: String,
    pub message: i64,
    pub asked_ms: u64,
}

/// What is counted of Telegram alone.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Counted {
    /// Updates that a webhook took, and failed deliveries to one.
    pub hooked: u64,
    pub hook_failures: u64,
}

pub type Stats = crate::stats::Stats<Counted>;

/// Everything there is, behind one lock; no method of it waits.
#[derive(Debug)]
pub struct World {
    pub username: String,
    /// The tokens that are good; with none every well-formed one is.
    pub tokens: Vec<String>,
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
    /// Grows when a webhook is set or removed.
    pub hooks: u64,
    pub serial: u64,
}

/// A number that depends on a name alone, so that ids stay the same over restarts.
fn digest(name: &str) -> i64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    ((hash ^ (hash >> 32)) % 900_000_000) as i64 + 100_000_000
}

impl World {
    pub fn new(setup: Setup) -> Self {
        Self {
            username: setup.username,
            tokens: setup.tokens,
            privacy: setup.privacy,
            limits: setup.limits,
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
            hooks: 0,
            serial: 0,
        }
    }

    /// The bot of a token, made at its first use; nothing when it is no token.
    pub fn bot(&mut self, token: &str) -> Option<&mut Bot> {
        let (id, secret) = token.split_once(':')?;
        let legal = !secret.is_empty() && secret.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
        let known = self.tokens.is_empty() || self.tokens.iter().any(|known| known == token);
        let id: i64 = id.parse().ok().filter(|id| *id > 0 && legal && known)?;
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
                self.tell(kind, event, None);
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
            self.users.insert(name.to_owned(), User { id, name: name.to_owned(), language: None, is_bot: false });
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
        } else if let Some(root) = message.thread.filter(|id| *id != message.id).and_then(|id| chat.messages.get(&id)) {
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

    /// The bot that all private chats are with which name none.
    pub fn is_first(&self, bot: i64) -> bool {
        self.bots.values().any(|known| known.id == bot && known.username == self.username)
    }

    /// The chat that a bot means by an id.
    pub fn meant(&self, bot: i64, wire: i64) -> Option<i64> {
        if wire < 0 || self.is_first(bot) {
            return self.chats.contains_key(&wire).then_some(wire);
        }
        self.chats.values().find(|chat| chat.wire == wire && chat.bot == Some(bot)).map(|chat| chat.id)
    }

    /// Which bot alone sees what happens in a chat; nothing when all do.
    pub fn only(&self, chat: &Chat) -> Option<i64> {
        if chat.kind != ChatKind::Private {
            return None;
        }
        chat.bot.or_else(|| self.bots.values().find(|bot| bot.username == self.username).map(|bot| bot.id))
    }

    /// Queues an event for the one bot that it is for, or for every bot, if it asked for its kind.
    pub fn tell(&mut self, kind: &'static str, event: Value, only: Option<i64>) -> Option<i64> {
        if self.bots.is_empty() {
            if self.early.len() == KEPT_UPDATES {
                self.early.pop_front();
            }
            self.early.push_back((kind, event));
            return None;
        }
        let privacy = self.privacy;
        let meant = self.bots.values_mut().filter(|bot| only.is_none_or(|only| only == bot.id));
        meant.filter_map(|bot| bot.queue_event(kind, &event, privacy)).last()
    }

    pub fn log(&mut self, entry: Entry) -> u64 {
        self.transcript.add(entry)
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
            ChatKind::Private => Some(self.user(person_of(name))?.id),
            _ => None,
        };
        let with = name.strip_prefix("dm:").and_then(|name| name.split_once('@')).map(|(_, bot)| bot);
        let bot = match with.filter(|bot| *bot != self.username) {
            Some(name) => Some(self.bots.values().find(|bot| bot.username == name)?.id),
            None => None,
        };
        let mut id = match (kind, user) {
            (_, Some(_)) if bot.is_some() => -FAR - self.chats.len() as i64,
            (_, Some(user)) => user,
            (ChatKind::Group, _) => -digest(name),
            _ => -1_000_000_000_000 - digest(name) - 1_000_000_000,
        };
        while self.chats.contains_key(&id) {
            id -= 1;
        }
        let chat = Chat {
            id,
            wire: user.unwrap_or(id),
            bot,
            name: name.to_owned(),
            kind,
            title: title.to_owned(),
            forum: false,
            standing: Standing::Open,
            user,
            members: user.into_iter().collect(),
            roles: BTreeMap::new(),
            topics: BTreeMap::new(),
            open: true,
            reactions: None,
            draft: None,
            messages: BTreeMap::new(),
            last_message: 0,
        };
        self.chats.insert(id, chat);
        self.names.insert(name.to_owned(), id);
        Some(id)
    }
}
