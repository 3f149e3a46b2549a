//! What sessions are told: events by intent and shard, with the content of messages hidden where the bot may not read it.

use serde_json::{Value, json};

use super::cast::{Channel, Message};
use super::session::CONTENT;
use super::world::World;

const GUILDS: u64 = 1;
const GUILD_MEMBERS: u64 = 1 << 1;
const GUILD_MESSAGES: u64 = 1 << 9;
const GUILD_REACTIONS: u64 = 1 << 10;
const GUILD_TYPING: u64 = 1 << 11;
const DIRECT_MESSAGES: u64 = 1 << 12;
const DIRECT_REACTIONS: u64 = 1 << 13;
const DIRECT_TYPING: u64 = 1 << 14;

/// The intents one of which an event needs; zero needs none.
fn intents(name: &str, guild: bool) -> u64 {
    match name {
        "INTERACTION_CREATE" | "READY" | "RESUMED" => 0,
        "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" | "GUILD_MEMBER_REMOVE" => GUILD_MEMBERS,
        name if name.starts_with("MESSAGE_REACTION") => {
            if guild {
                GUILD_REACTIONS
            } else {
                DIRECT_REACTIONS
            }
        }
        name if name.starts_with("MESSAGE_") => {
            if guild {
                GUILD_MESSAGES
            } else {
                DIRECT_MESSAGES
            }
        }
        "TYPING_START" if guild => GUILD_TYPING,
        "TYPING_START" => DIRECT_TYPING,
        "CHANNEL_PINS_UPDATE" if !guild => DIRECT_MESSAGES,
        _ => GUILDS,
    }
}

/// The shard that a guild belongs to.
pub fn shard(guild: Option<u64>, of: u64) -> u64 {
    guild.map_or(0, |guild| (guild >> 22) % of.max(1))
}

impl World {
    /// The sessions that hear of an event of a guild, or of a direct conversation.
    fn listeners(&self, name: &str, guild: Option<u64>) -> Vec<String> {
        let needed = intents(name, guild.is_some());
        let hears = |intents: u64| needed == 0 || intents & needed != 0;
        let listening = self.sessions.values();
        let listening = listening
            .filter(|session| hears(session.intents) && shard(guild, session.shard.1) == session.shard.0)
            .filter(|session| guild.is_none_or(|guild| !self.hides_guild(guild, session.bot)));
        listening.map(|session| session.id.clone()).collect()
    }

    fn hides_guild(&self, guild: u64, bot: u64) -> bool {
        self.guilds.get(&guild).is_none_or(|guild| !guild.members.contains_key(&bot))
    }

    /// Puts an event into every session that hears of it; returns how many did.
    pub fn tell(&mut self, name: &str, guild: Option<u64>, data: Value) -> usize {
        let listeners = self.listeners(name, guild);
        let twice = self.twice(listeners.len());
        for session in &listeners {
            for _ in 0..=usize::from(twice) {
                self.push(session, name, data.clone());
            }
        }
        listeners.len()
    }

    /// Whether an event is to come twice, as somebody ordered.
    fn twice(&mut self, listeners: usize) -> bool {
        let twice = self.duplicates > 0 && listeners > 0;
        self.duplicates -= u64::from(twice);
        twice
    }

    /// Puts an event of one bot alone into its sessions.
    pub fn tell_bot(&mut self, bot: u64, name: &str, guild: Option<u64>, data: Value) -> usize {
        let mut listeners = self.listeners(name, guild);
        listeners.retain(|session| self.sessions.get(session).is_some_and(|session| session.bot == bot));
        let twice = self.twice(listeners.len());
        for session in &listeners {
            for _ in 0..=usize::from(twice) {
                self.push(session, name, data.clone());
            }
        }
        listeners.len()
    }

    /// A message that is new or has changed, as each session may see it; returns what one that may see all sees.
    pub fn tell_message(&mut self, name: &str, channel: u64, message: u64) -> Value {
        let Some(channel) = self.channels.get(&channel) else { return Value::Null };
        let Some(message) = channel.messages.get(&message) else { return Value::Null };
        let guild = channel.guild;
        let full = self.message_event(channel, message, 0);
        // What one person alone sees is no event for anybody.
        if message.to.is_some() || self.standing(channel.id) == super::cast::Standing::Hidden {
            return full;
        }
        let listeners = self.listeners(name, guild);
        let seen: Vec<(String, Value)> = listeners
            .into_iter()
            .filter_map(|id| {
                let session = self.sessions.get(&id)?;
                let mut event = self.message_event(channel, message, session.bot);
                if session.intents & CONTENT == 0 && !self.may_read(channel, message, session.bot) {
                    hide(&mut event);
                }
                Some((id, event))
            })
            .collect();
        let twice = self.twice(seen.len());
        for (session, event) in seen {
            for _ in 0..=usize::from(twice) {
                self.push(&session, name, event.clone());
            }
        }
        full
    }

    fn message_event(&self, channel: &Channel, message: &Message, me: u64) -> Value {
        let mut event = self.message_json(channel, message, me);
        event["channel_type"] = json!(channel.kind);
        if let Some(guild) = channel.guild.and_then(|id| self.guilds.get(&id)) {
            event["guild_id"] = json!(guild.id.to_string());
            if guild.members.contains_key(&message.author) && message.body.get("webhook_id").is_none() {
                event["member"] = guild.member_json(message.author);
            }
            // In the lists of those who are mentioned each brings its membership along.
            for user in event["mentions"].as_array_mut().into_iter().flatten() {
                if let Some(id) = user["id"].as_str().and_then(|id| id.parse().ok()) {
                    user["member"] = guild.member_json(id);
                }
            }
        }
        event
    }

    /// Without the intent a bot reads its own messages, direct ones, and those that mention it.
    pub fn may_read(&self, channel: &Channel, message: &Message, bot: u64) -> bool {
        let me = bot.to_string();
        let mentioned = message.body.get("mentions").and_then(Value::as_array);
        channel.is_direct()
            || message.author == bot
            || mentioned.is_some_and(|users| users.iter().any(|user| user["id"] == json!(me)))
    }

    /// READY and the guilds of a session that has just begun.
    pub fn greet(&mut self, session: &str) {
        let Some(known) = self.sessions.get(session) else { return };
        let (bot, shard_of, intents, id) = (known.bot, known.shard, known.intents, known.id.clone());
        let Some(me) = self.bots.get(&bot) else { return };
        let guilds: Vec<u64> =
            self.guilds.keys().copied().filter(|id| shard(Some(*id), shard_of.1) == shard_of.0).collect();
        let guilds: Vec<u64> = guilds.into_iter().filter(|id| !self.hides_guild(*id, bot)).collect();
        let away: Vec<Value> = guilds.iter().map(|id| json!({"id": id.to_string(), "unavailable": true})).collect();
        let ready = json!({
            "v": 10, "user": me.own_json(), "user_settings": {}, "guilds": away, "private_channels": [], "relationships": [], "presences": [],
            "session_id": id, "session_type": "normal", "resume_gateway_url": self.resume_address(), "shard": [shard_of.0, shard_of.1],
            "application": {"id": bot.to_string(), "flags": self.application_flags()}, "guild_join_requests": [], "geo_ordered_rtc_regions": [],
            "auth": {}, "_trace": ["sim"],
        });
        self.push(session, "READY", ready);
        if intents & GUILDS == 0 {
            return;
        }
        for guild in guilds {
            let event = self.guild_event(guild, bot);
            self.push(session, "GUILD_CREATE", event);
        }
    }

    pub fn gateway_address(&self) -> String {
        format!("{}/discord/gateway", self.url.replacen("http", "ws", 1))
    }

    /// Another path than the first one, so that its use can be seen.
    pub fn resume_address(&self) -> String {
        format!("{}/resume", self.gateway_address())
    }

    /// What is switched on for an application: each privileged intent in its limited form.
    pub fn application_flags(&self) -> u64 {
        let flag = |on: bool, bit: u32| if on { 1_u64 << bit } else { 0 };
        flag(self.setup.presences, 13) | flag(self.setup.members, 15) | flag(self.setup.content, 19) | 1 << 23
    }

    /// A guild with everything in it, as a session hears of it first.
    pub fn guild_event(&self, id: u64, bot: u64) -> Value {
        let Some(guild) = self.guilds.get(&id) else { return Value::Null };
        let mut out = guild.json();
        let seen = |channel: &&Channel| {
            channel.guild == Some(id)
                && !matches!(channel.standing, super::cast::Standing::Gone | super::cast::Standing::Hidden)
        };
        let channels = self.channels.values().filter(seen);
        let (threads, channels): (Vec<&Channel>, Vec<&Channel>) = channels.partition(|channel| channel.is_thread());
        let members: Vec<Value> = guild
            .members
            .keys()
            .take(250)
            .map(|user| {
                let mut member = guild.member_json(*user);
                member["user"] = self.author_json(*user);
                member
            })
            .collect();
        let mut set = |name: &str, value: Value| out[name] = value;
        set("joined_at", guild.member_json(bot)["joined_at"].take());
        set("large", json!(guild.members.len() > 250));
        set("unavailable", json!(false));
        set("member_count", json!(guild.members.len()));
        set("members", json!(members));
        set("channels", json!(channels.iter().map(|channel| channel.json()).collect::<Vec<_>>()));
        set(
            "threads",
            json!(threads.iter().filter(|thread| !thread.archived).map(|thread| thread.json()).collect::<Vec<_>>()),
        );
        for empty in ["voice_states", "presences", "stage_instances", "guild_scheduled_events", "soundboard_sounds"] {
            set(empty, json!([]));
        }
        out
    }

    /// Answers a request for the members of a guild.
    pub fn members(&mut self, connection: u64, data: &Value) {
        let Some(session) = self.connections.get(&connection).and_then(|connection| connection.session.clone()) else {
            return;
        };
        let guild = data["guild_id"].as_str().and_then(|id| id.parse().ok()).and_then(|id| self.guilds.get(&id));
        let Some(guild) = guild else { return };
        let query = data["query"].as_str().map(str::to_lowercase);
        let ids: Vec<u64> = match &data["user_ids"] {
            Value::Array(ids) => ids.iter().filter_map(|id| id.as_str()?.parse().ok()).collect(),
            Value::String(id) => id.parse().into_iter().collect(),
            _ => Vec::new(),
        };
        let wanted = |id: &u64| match &query {
            Some(query) => self.called(*id).is_some_and(|name| name.to_lowercase().starts_with(query.as_str())),
            None => ids.contains(id),
        };
        let members: Vec<Value> = guild
            .members
            .keys()
            .filter(|id| wanted(id))
            .map(|id| {
                let mut member = guild.member_json(*id);
                member["user"] = self.author_json(*id);
                member
            })
            .collect();
        let chunk = json!({
            "guild_id": guild.id.to_string(), "members": members, "chunk_index": 0, "chunk_count": 1, "not_found": [], "nonce": data["nonce"],
        });
        self.push(&session, "GUILD_MEMBERS_CHUNK", chunk);
    }
}

/// Takes out what needs the message content intent.
fn hide(event: &mut Value) {
    event["content"] = json!("");
    for field in ["attachments", "embeds", "components"] {
        event[field] = json!([]);
    }
    if let Some(fields) = event.as_object_mut() {
        fields.remove("poll");
        fields.remove("message_snapshots");
    }
    if event["referenced_message"].is_object() {
        let mut target = event["referenced_message"].take();
        hide(&mut target);
        event["referenced_message"] = target;
    }
}
