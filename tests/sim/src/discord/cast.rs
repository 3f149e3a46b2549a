//! Who and what there is: people, bots, guilds, roles, channels and messages, and how each stands on the wire.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::ids::{digest, made_ms, stamp};

/// What everybody may do in a guild: see, write, react, attach, use commands, write in threads.
pub const EVERYBODY: u64 = 1 << 6 | 1 << 10 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 31 | 1 << 35 | 1 << 38;
pub const ADMINISTRATOR: u64 = 1 << 3;

/// Kinds of channels as the platform numbers them.
pub const TEXT: u8 = 0;
pub const DIRECT: u8 = 1;
pub const NEWS: u8 = 5;
pub const THREAD: u8 = 11;
/// A thread of those who were invited.
pub const PRIVATE_THREAD: u8 = 12;
pub const FORUM: u8 = 15;

#[derive(Clone, Debug)]
pub struct User {
    pub id: u64,
    pub name: String,
    pub locale: String,
    pub bot: bool,
}

impl User {
    pub fn json(&self) -> Value {
        json!({
            "id": self.id.to_string(), "username": self.name.to_lowercase(), "discriminator": "0", "avatar": null,
            "global_name": self.name, "bot": self.bot, "system": false, "public_flags": 0, "flags": 0, "banner": null, "accent_color": null, "primary_guild": null,
        })
    }
}

/// An application and its bot, whose ids are the same.
#[derive(Debug)]
pub struct Bot {
    pub id: u64,
    pub name: String,
    /// Registered commands by guild (none: everywhere) and name with kind.
    pub commands: BTreeMap<(Option<u64>, u8, String), Value>,
    /// Commands created today.
    pub creations: u32,
    pub identifies: u32,
}

impl Bot {
    pub fn json(&self) -> Value {
        json!({
            "id": self.id.to_string(), "username": self.name, "discriminator": "0000", "avatar": null, "global_name": null,
            "bot": true, "system": false, "public_flags": 0, "flags": 0, "banner": null, "accent_color": null, "primary_guild": null,
        })
    }

    /// The bot's own user, as it alone sees it.
    pub fn own_json(&self) -> Value {
        let mut out = self.json();
        for (name, value) in [
            ("mfa_enabled", json!(true)),
            ("verified", json!(true)),
            ("email", Value::Null),
            ("locale", json!("en-US")),
        ] {
            out[name] = value;
        }
        out
    }
}

#[derive(Clone, Debug)]
pub struct Role {
    pub id: u64,
    pub name: String,
    pub permissions: u64,
}

#[derive(Clone, Debug)]
pub struct Guild {
    pub id: u64,
    pub name: String,
    pub owner: u64,
    /// The first is everybody's and has the guild's id.
    pub roles: Vec<Role>,
    /// Who is in it, and with which roles.
    pub members: BTreeMap<u64, BTreeSet<u64>>,
    /// The platform does not reach it for a while.
    pub away: bool,
}

impl Guild {
    pub fn new(name: &str) -> Self {
        let id = digest(&format!("guild:{name}"));
        let everyone = Role { id, name: "@everyone".into(), permissions: EVERYBODY };
        Self {
            id,
            name: name.into(),
            owner: digest("user:owner"),
            roles: vec![everyone],
            members: BTreeMap::new(),
            away: false,
        }
    }

    pub fn permissions(&self, user: u64) -> u64 {
        let held = self.members.get(&user);
        let mine = |role: &&Role| role.id == self.id || held.is_some_and(|held| held.contains(&role.id));
        let sum = self.roles.iter().filter(mine).fold(0, |sum, role| sum | role.permissions);
        if sum & ADMINISTRATOR != 0 || user == self.owner { (1 << 50) - 1 } else { sum }
    }

    pub fn role_json(&self, at: usize, role: &Role) -> Value {
        json!({
            "id": role.id.to_string(), "name": role.name, "color": 0, "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
            "hoist": false, "icon": null, "unicode_emoji": null, "position": at, "permissions": role.permissions.to_string(),
            "managed": false, "mentionable": true, "flags": 0,
        })
    }

    pub fn roles_json(&self) -> Vec<Value> {
        self.roles.iter().enumerate().map(|(at, role)| self.role_json(at, role)).collect()
    }

    /// A member without its user, as it stands in messages.
    pub fn member_json(&self, user: u64) -> Value {
        let roles: Vec<String> = self.members.get(&user).into_iter().flatten().map(u64::to_string).collect();
        json!({
            "nick": null, "avatar": null, "banner": null, "roles": roles, "joined_at": stamp(made_ms(self.id)), "premium_since": null,
            "deaf": false, "mute": false, "flags": 0, "pending": false, "communication_disabled_until": null,
        })
    }

    pub fn json(&self) -> Value {
        json!({
            "id": self.id.to_string(), "name": self.name, "icon": null, "splash": null, "discovery_splash": null, "banner": null,
            "owner_id": self.owner.to_string(), "afk_channel_id": null, "afk_timeout": 300, "widget_enabled": false, "widget_channel_id": null,
            "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "roles": self.roles_json(),
            "emojis": [], "stickers": [], "features": [], "mfa_level": 0, "application_id": null, "system_channel_id": null,
            "system_channel_flags": 0, "rules_channel_id": null, "public_updates_channel_id": null, "safety_alerts_channel_id": null,
            "max_presences": null, "max_members": 500_000, "max_video_channel_users": 25, "max_stage_video_channel_users": 50,
            "vanity_url_code": null, "description": null, "premium_tier": 0, "premium_subscription_count": 0,
            "preferred_locale": "en-US", "nsfw_level": 0, "premium_progress_bar_enabled": false, "incidents_data": null,
        })
    }
}

/// Whether a bot may write in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    #[default]
    Open,
    /// It sees the channel but may not write; in a direct conversation the person refuses its messages.
    Blocked,
    /// It does not see the channel.
    Hidden,
    Gone,
}

#[derive(Clone, Debug)]
pub struct Channel {
    pub id: u64,
    pub kind: u8,
    /// What the control side calls it; a thread goes by its parent's.
    pub conversation: String,
    pub name: String,
    pub guild: Option<u64>,
    pub parent: Option<u64>,
    /// The person of a direct conversation.
    pub recipient: Option<u64>,
    pub owner: u64,
    pub standing: Standing,
    pub archived: bool,
    pub locked: bool,
    /// Who is in a thread.
    pub members: BTreeSet<u64>,
    pub messages: BTreeMap<u64, Message>,
    pub last_message: Option<u64>,
}

impl Channel {
    pub fn is_thread(&self) -> bool {
        self.parent.is_some()
    }

    pub fn is_direct(&self) -> bool {
        self.kind == DIRECT
    }

    /// The channel that decides who may do what: a thread's parent.
    pub fn root(&self) -> u64 {
        self.parent.unwrap_or(self.id)
    }

    fn common(&self) -> Value {
        let last = self.last_message.map(|id| id.to_string());
        json!({"id": self.id.to_string(), "type": self.kind, "last_message_id": last, "flags": 0})
    }

    pub fn direct_json(&self, recipient: Value) -> Value {
        let mut out = self.common();
        out["recipients"] = json!([recipient]);
        out
    }

    /// A channel or a thread of a guild.
    pub fn json(&self) -> Value {
        let mut out = self.common();
        let mut set = |name: &str, value: Value| out[name] = value;
        set("guild_id", json!(self.guild.map(|id| id.to_string())));
        set("name", json!(self.name));
        set("parent_id", json!(self.parent.map(|id| id.to_string())));
        set("rate_limit_per_user", json!(0));
        if self.is_thread() {
            let made = stamp(made_ms(self.id));
            set("owner_id", json!(self.owner.to_string()));
            set("message_count", json!(self.messages.len()));
            set("total_message_sent", json!(self.messages.len()));
            set("member_count", json!(self.members.len()));
            set(
                "thread_metadata",
                json!({"archived": self.archived, "auto_archive_duration": 1440, "archive_timestamp": made, "locked": self.locked, "create_timestamp": made}),
            );
            return out;
        }
        set("position", json!(0));
        set("permission_overwrites", json!([]));
        set("nsfw", json!(false));
        set("topic", Value::Null);
        set("last_pin_timestamp", Value::Null);
        if self.kind == FORUM {
            set("available_tags", json!([]));
            set("default_reaction_emoji", Value::Null);
            set("default_sort_order", Value::Null);
            set("default_forum_layout", json!(0));
        }
        out
    }
}

/// A reaction with those who gave it.
#[derive(Clone, Debug)]
pub struct Reaction {
    pub emoji: Value,
    pub users: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub id: u64,
    pub author: u64,
    /// The bot that wrote it.
    pub bot: Option<u64>,
    /// Who alone sees it.
    pub to: Option<u64>,
    /// It stands for an answer that is still to come.
    pub thinking: bool,
    /// The interaction that it answers.
    pub interaction: Option<u64>,
    /// The fields of the wire that are the message's own.
    pub body: Map<String, Value>,
    pub reactions: Vec<Reaction>,
    pub thread: Option<u64>,
}

impl Message {
    pub fn new(id: u64, author: u64) -> Self {
        let Value::Object(body) = json!({
            "type": 0, "content": "", "timestamp": stamp(made_ms(id)), "edited_timestamp": null, "tts": false, "mention_everyone": false,
            "mentions": [], "mention_roles": [], "attachments": [], "embeds": [], "components": [], "pinned": false, "flags": 0,
        }) else {
            unreachable!("an object is written above")
        };
        Self {
            id,
            author,
            bot: None,
            to: None,
            thinking: false,
            interaction: None,
            body,
            reactions: Vec::new(),
            thread: None,
        }
    }

    pub fn set(&mut self, field: &str, value: Value) {
        self.body.insert(field.to_owned(), value);
    }

    pub fn content(&self) -> &str {
        self.body.get("content").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn flags(&self) -> u64 {
        self.body.get("flags").and_then(Value::as_u64).unwrap_or_default()
    }

    /// The message that it replies to, where it is one of this platform's replies.
    pub fn reply_to(&self) -> Option<u64> {
        if self.body.get("type") != Some(&json!(19)) {
            return None;
        }
        self.body.get("message_reference")?.get("message_id")?.as_str()?.parse().ok()
    }

    pub fn reactions_json(&self, me: u64) -> Vec<Value> {
        self.reactions
            .iter()
            .map(|reaction| {
                let (count, mine) = (reaction.users.len(), reaction.users.contains(&me));
                json!({"emoji": reaction.emoji, "count": count, "count_details": {"burst": 0, "normal": count}, "me": mine, "me_burst": false, "burst_colors": []})
            })
            .collect()
    }
}
