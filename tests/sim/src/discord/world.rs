//! The state of the platform: people, guilds, channels, bots, their sessions and what each session has still to be told.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::Setup;
use super::cast::{Bot, Channel, DIRECT, Guild, Message, Standing, TEXT, User};
use super::fault::Faults;
use super::files::Files;
use super::ids::{digest, snowflake};
use super::interactions::Interaction;
use super::limits::{Limits, Meter};
use super::session::{Connection, Session};
use super::transcript::{Entry, Transcript};
use crate::transcript::now_ms;

/// How many messages a channel keeps, and how many names, bots and sessions there can be.
pub const KEPT_MESSAGES: usize = 5_000;
pub const MOST_NAMES: usize = 10_000;
pub const MOST_BOTS: usize = 100;

/// What is counted of Discord alone.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Counted {
    /// What happened at the socket: connections (at the first address and at that for resuming), identifies, resumes, and how they ended.
    pub gateway: BTreeMap<&'static str, u64>,
}

pub type Stats = crate::stats::Stats<Counted>;

/// Everything there is, behind one lock; no method of it waits.
#[derive(Debug)]
pub struct World {
    /// `http://ADDRESS`.
    pub url: String,
    pub setup: Setup,
    pub limits: Limits,
    pub bots: BTreeMap<u64, Bot>,
    pub users: BTreeMap<u64, User>,
    pub people: HashMap<String, u64>,
    pub guilds: BTreeMap<u64, Guild>,
    pub channels: BTreeMap<u64, Channel>,
    pub names: HashMap<String, u64>,
    pub connections: BTreeMap<u64, Connection>,
    pub sessions: BTreeMap<String, Session>,
    pub interactions: BTreeMap<u64, Interaction>,
    pub files: Files,
    pub transcript: Transcript,
    pub faults: Faults,
    pub meter: Meter,
    pub stats: Stats,
    /// Events that are to be delivered twice.
    pub duplicates: u64,
    pub serial: u64,
    pub last_id: u64,
    /// Grows whenever somebody who waits has something to look at.
    pub moves: u64,
}

impl World {
    pub fn new(setup: Setup, url: &str) -> Self {
        let guild = Guild::new(&setup.guild);
        let mut world = Self {
            url: url.to_owned(),
            limits: setup.limits.clone(),
            setup,
            bots: BTreeMap::new(),
            users: BTreeMap::new(),
            people: HashMap::new(),
            guilds: BTreeMap::new(),
            channels: BTreeMap::new(),
            names: HashMap::new(),
            connections: BTreeMap::new(),
            sessions: BTreeMap::new(),
            interactions: BTreeMap::new(),
            files: Files::default(),
            transcript: Transcript::default(),
            faults: Faults::default(),
            meter: Meter::default(),
            stats: Stats::default(),
            duplicates: 0,
            serial: 0,
            last_id: 0,
            moves: 0,
        };
        let id = guild.id;
        world.guilds.insert(id, guild);
        world.user("owner");
        world.join(id, digest("user:owner"));
        world.add_channel("general", TEXT, Some(id), "general");
        world
    }

    /// The guild that everything is in unless another is named.
    pub fn home(&self) -> u64 {
        digest(&format!("guild:{}", self.setup.guild))
    }

    /// The bot of a token, made at its first use; nothing when it is no token.
    pub fn bot(&mut self, token: &str) -> Option<u64> {
        let parts: Vec<&str> = token.split('.').collect();
        let legal = |part: &&str| {
            !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'='))
        };
        let known = self.setup.tokens.is_empty() || self.setup.tokens.iter().any(|known| known == token);
        if parts.len() != 3 || !parts.iter().all(legal) || !known {
            return None;
        }
        let id = crate::files::base64(parts[0])
            .and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok())
            .filter(|id| *id > 0)
            .unwrap_or_else(|| digest(&format!("bot:{}", parts[0])));
        if !self.bots.contains_key(&id) {
            if self.bots.len() >= MOST_BOTS {
                return None;
            }
            let name = if self.bots.is_empty() { self.setup.username.clone() } else { format!("bot{}", id % 100_000) };
            self.bots.insert(id, Bot { id, name, commands: BTreeMap::new(), creations: 0, identifies: 0 });
            for guild in self.guilds.values_mut() {
                guild.members.entry(id).or_default();
            }
        }
        Some(id)
    }

    /// A person by name, known from now on; nothing when there are too many.
    pub fn user(&mut self, name: &str) -> Option<User> {
        if let Some(id) = self.people.get(name) {
            return self.users.get(id).cloned();
        }
        if self.users.len() >= MOST_NAMES {
            return None;
        }
        let mut id = digest(&format!("user:{name}"));
        while self.users.contains_key(&id) {
            id += 1;
        }
        let user = User { id, name: name.to_owned(), locale: "en-US".into(), bot: false };
        self.people.insert(name.to_owned(), id);
        self.users.insert(id, user.clone());
        Some(user)
    }

    pub fn author_json(&self, id: u64) -> Value {
        let bot = || self.bots.get(&id).map(Bot::json);
        self.users.get(&id).map(User::json).or_else(bot).unwrap_or_else(|| {
            json!({"id": id.to_string(), "username": "Deleted User", "discriminator": "0000", "avatar": null, "global_name": null, "bot": false})
        })
    }

    /// What somebody is called.
    pub fn called(&self, id: u64) -> Option<&str> {
        let bot = || self.bots.get(&id).map(|bot| bot.name.as_str());
        self.users.get(&id).map(|user| user.name.as_str()).or_else(bot)
    }

    /// The message as it stands on the wire, with what it replies to.
    pub fn message_json(&self, channel: &Channel, message: &Message, me: u64) -> Value {
        let mut out = self.bare_message(channel, message, me);
        if let Some(target) = message.reply_to() {
            let target = channel.messages.get(&target).map(|target| self.bare_message(channel, target, me));
            out["referenced_message"] = target.unwrap_or(Value::Null);
        }
        out
    }

    fn bare_message(&self, channel: &Channel, message: &Message, me: u64) -> Value {
        let mut out = json!({"id": message.id.to_string(), "channel_id": channel.id.to_string()});
        out["author"] = self.author_json(message.author);
        for (field, value) in &message.body {
            out[field] = value.clone();
        }
        if message.thinking {
            out["flags"] = json!(message.flags() | 1 << 7);
        }
        if !message.reactions.is_empty() {
            out["reactions"] = json!(message.reactions_json(me));
        }
        if let Some(thread) = message.thread.and_then(|id| self.channels.get(&id)) {
            out["thread"] = thread.json();
        }
        out
    }

    pub fn channel_json(&self, channel: &Channel) -> Value {
        match channel.recipient {
            Some(user) => channel.direct_json(self.author_json(user)),
            None => channel.json(),
        }
    }

    pub fn log(&mut self, entry: Entry) -> u64 {
        self.moves += 1;
        self.transcript.add(entry)
    }

    pub fn count(&mut self, what: &'static str) {
        *self.stats.gateway.entry(what).or_default() += 1;
    }

    /// A number that is used once.
    pub fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// A snowflake greater than all before it.
    pub fn next_id(&mut self) -> u64 {
        self.last_id = (self.last_id + 1).max(snowflake(now_ms()));
        self.last_id
    }

    pub fn add_channel(&mut self, conversation: &str, kind: u8, guild: Option<u64>, name: &str) -> Option<u64> {
        if self.channels.len() >= MOST_NAMES {
            return None;
        }
        let recipient = match kind {
            DIRECT => Some(self.user(conversation.strip_prefix("dm:").unwrap_or(conversation))?.id),
            _ => None,
        };
        let mut id = digest(&format!("channel:{conversation}"));
        while self.channels.contains_key(&id) {
            id += 1;
        }
        self.channels.insert(
            id,
            Channel {
                id,
                kind,
                conversation: conversation.to_owned(),
                name: name.to_owned(),
                guild,
                parent: None,
                recipient,
                owner: digest("user:owner"),
                standing: Standing::Open,
                archived: false,
                locked: false,
                members: Default::default(),
                messages: BTreeMap::new(),
                last_message: None,
            },
        );
        self.names.insert(conversation.to_owned(), id);
        Some(id)
    }

    /// Makes a person a member of a guild and says so to the bots.
    pub fn join(&mut self, guild: u64, user: u64) {
        let Some(known) = self.guilds.get_mut(&guild) else { return };
        if known.members.contains_key(&user) {
            return;
        }
        known.members.insert(user, Default::default());
        let data = self.full_member(guild, user);
        self.tell("GUILD_MEMBER_ADD", Some(guild), data);
    }

    /// A member with its user and its guild.
    pub fn full_member(&self, guild: u64, user: u64) -> Value {
        let mut out = self.guilds.get(&guild).map(|guild| guild.member_json(user)).unwrap_or_default();
        out["user"] = self.author_json(user);
        out["guild_id"] = json!(guild.to_string());
        out
    }

    /// Keeps a message and drops the channel's oldest when it has too many.
    pub fn keep(&mut self, channel: u64, message: Message) {
        let Some(channel) = self.channels.get_mut(&channel) else { return };
        channel.last_message = Some(message.id);
        channel.messages.insert(message.id, message);
        if channel.messages.len() > KEPT_MESSAGES {
            channel.messages.pop_first();
        }
    }
}
