//! The state of the platform: workspaces, apps, people, conversations, and what was counted.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::apps::NewApp;
use super::cast::{App, Channel, ChannelKind, Message, Team, User, handle, id};
use super::fault::Faults;
use super::files::Files;
use super::limits::{Limits, Meter};
use super::replies::Replies;
use super::transcript::{Entry, Transcript};
use super::views::Views;
use crate::transcript::now_ms;

/// How many messages a conversation keeps, and how many conversations and people there can be.
pub const KEPT_MESSAGES: usize = 5_000;
pub const MOST_NAMES: usize = 10_000;

/// What is counted of Slack alone.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Counted {
    /// Deliveries that were acknowledged, sent once more, and given up.
    pub acknowledged: u64,
    pub redelivered: u64,
    pub lost: u64,
    /// Sockets that were opened so far, and those that are open.
    pub connections: u64,
    pub open: usize,
}

pub type Stats = crate::stats::Stats<Counted>;

/// Everything there is, behind one lock; no method of it waits.
#[derive(Debug)]
pub struct World {
    /// Where the simulators are reached, without a slash at the end.
    pub url: String,
    pub tokens: Vec<String>,
    pub limits: Limits,
    pub teams: Vec<Team>,
    pub apps: Vec<App>,
    pub users: BTreeMap<String, User>,
    pub channels: BTreeMap<String, Channel>,
    pub names: HashMap<String, String>,
    pub files: Files,
    pub views: Views,
    pub replies: Replies,
    /// Tickets of sockets that were asked for: the app and when.
    pub tickets: BTreeMap<String, (usize, tokio::time::Instant)>,
    pub transcript: Transcript,
    pub faults: Faults,
    pub meter: Meter,
    pub stats: Stats,
    pub duplicates: u64,
    pub serial: u64,
    last_micros: u64,
}

impl World {
    pub fn new(setup: super::Setup, url: &str) -> Self {
        let mut world = Self {
            url: url.to_owned(),
            tokens: setup.tokens,
            limits: setup.limits,
            teams: Vec::new(),
            apps: Vec::new(),
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            names: HashMap::new(),
            files: Files::default(),
            views: Views::default(),
            replies: Replies::default(),
            tickets: BTreeMap::new(),
            transcript: Transcript::default(),
            faults: Faults::default(),
            meter: Meter::default(),
            stats: Stats::default(),
            duplicates: 0,
            serial: 0,
            last_micros: 0,
        };
        world.team("sim", None);
        world.add_app(NewApp { name: setup.name, commands: setup.commands, ..NewApp::default() });
        for app in setup.apps {
            world.add_app(app);
        }
        world.add_channel("general", ChannelKind::Channel, 0);
        world
    }

    /// The number of a workspace, made at its first mention.
    pub fn team(&mut self, name: &str, enterprise: Option<String>) -> usize {
        let at = self.teams.iter().position(|team| team.name == name).unwrap_or_else(|| {
            self.teams.push(Team { id: id("T", name), name: name.to_owned(), enterprise: None });
            self.teams.len() - 1
        });
        if enterprise.is_some() {
            self.teams[at].enterprise = enterprise;
        }
        at
    }

    /// A person by name, known from now on; nothing when there are too many.
    pub fn user(&mut self, name: &str) -> Option<User> {
        if !self.users.contains_key(name) {
            if self.users.len() >= MOST_NAMES {
                return None;
            }
            let user = User {
                id: id("U", name),
                name: name.to_owned(),
                locale: None,
                bot: None,
                team: self.teams[0].id.clone(),
                deleted: false,
            };
            self.users.insert(name.to_owned(), user);
        }
        self.users.get(name).cloned()
    }

    pub fn user_by_id(&self, id: &str) -> Option<&User> {
        self.users.values().find(|user| user.id == id)
    }

    /// Whoever is called so, in the writing of handles.
    pub fn user_by_handle(&self, name: &str) -> Option<&User> {
        self.users.values().find(|user| handle(&user.name) == name || user.name == name)
    }

    /// The name of whoever has this id; the id itself for a stranger.
    pub fn called(&self, id: &str) -> String {
        self.user_by_id(id).map_or_else(|| id.to_owned(), |user| user.name.clone())
    }

    pub fn add_channel(&mut self, name: &str, kind: ChannelKind, team: usize) -> Option<String> {
        if self.channels.len() >= MOST_NAMES {
            return None;
        }
        let prefix = if kind == ChannelKind::Im {
            "D"
        } else if kind == ChannelKind::Channel {
            "C"
        } else {
            "G"
        };
        let mut members = std::collections::BTreeSet::new();
        let mut im = None;
        if kind == ChannelKind::Im {
            let (person, app) = self.im_of(name);
            let user = self.user(&person)?;
            members.insert(user.id.clone());
            im = Some((user.id, app));
            members
                .extend(self.apps.get(app).and_then(|app| app.install(team)).map(|install| install.bot_user.clone()));
        } else {
            let installs = self.apps.iter().flat_map(|app| &app.installs).filter(|install| install.team == team);
            members.extend(installs.map(|install| install.bot_user.clone()));
        }
        let id = id(prefix, name);
        let channel = Channel {
            id: id.clone(),
            name: name.to_owned(),
            kind,
            title: name.to_owned(),
            team,
            archived: false,
            members,
            im,
            messages: BTreeMap::new(),
            threads: BTreeMap::new(),
        };
        self.channels.insert(id.clone(), channel);
        self.names.insert(name.to_owned(), id.clone());
        Some(id)
    }

    /// Person and app of a direct conversation's name: `dm:NAME`, or `dm:NAME@APP` for another app than the first.
    fn im_of(&self, name: &str) -> (String, usize) {
        let name = name.strip_prefix("dm:").unwrap_or(name);
        let other = name
            .rsplit_once('@')
            .and_then(|(person, app)| Some((person.to_owned(), self.apps.iter().position(|known| known.name == app)?)));
        other.unwrap_or_else(|| (name.to_owned(), 0))
    }

    /// A time that no other message has.
    pub fn next_ts(&mut self) -> String {
        self.last_micros = (now_ms() * 1_000).max(self.last_micros + 1);
        format!("{}.{:06}", self.last_micros / 1_000_000, self.last_micros % 1_000_000)
    }

    /// A number that is used once.
    pub fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// An id that is used once, of the kind that the prefix names.
    pub fn next_id(&mut self, prefix: &str) -> String {
        let serial = self.next_serial();
        id(prefix, &format!("{serial} {}", now_ms()))
    }

    /// A number that identifies a message from anywhere, as clients and envelopes carry it.
    pub fn next_uuid(&mut self) -> String {
        let (serial, now) = (self.next_serial(), now_ms());
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{serial:012x}",
            now & 0xffff_ffff,
            serial & 0xffff,
            (now >> 32) & 0xfff,
            serial & 0xfff
        )
    }

    /// Keeps a message under its time, and counts it in its thread.
    pub fn keep(&mut self, channel: &str, message: Message) {
        let Some(channel) = self.channels.get_mut(channel) else { return };
        if let Some(root) =
            message.thread.as_ref().filter(|root| **root != message.ts).and_then(|root| channel.messages.get_mut(root))
        {
            root.replies.push((message.ts.clone(), message.user.clone()));
            root.thread = Some(root.ts.clone());
        }
        channel.messages.insert(message.ts.clone(), message);
        if channel.messages.len() > KEPT_MESSAGES {
            channel.messages.pop_first();
        }
    }

    pub fn message(&self, channel: &str, ts: &str) -> Option<&Message> {
        self.channels.get(channel)?.messages.get(ts)
    }

    /// The message as it stands on the wire.
    pub fn message_json(&self, channel: &Channel, message: &Message) -> Value {
        let team = &self.teams[channel.team].id;
        let mut out = json!({"type": "message"});
        if let Some(subtype) = message.subtype {
            out["subtype"] = json!(subtype);
        }
        if message.subtype != Some("bot_message") {
            out["user"] = json!(message.user);
        }
        out["text"] = json!(message.text);
        out["ts"] = json!(message.ts);
        if let Some((bot, app)) = &message.bot {
            out["bot_id"] = json!(bot);
            out["app_id"] = json!(self.apps[*app].id);
            out["bot_profile"] = self.apps[*app].bot_profile(bot, team);
        }
        out["team"] = json!(team);
        for (field, value) in [("blocks", &message.blocks), ("attachments", &message.attachments)] {
            if !value.is_null() {
                out[field] = value.clone();
            }
        }
        if let Some((user, ts)) = &message.edited {
            out["edited"] = json!({"user": user, "ts": ts});
        }
        if let Some(root) = &message.thread {
            out["thread_ts"] = json!(root);
            if let Some(root) = channel.messages.get(root).filter(|root| root.ts != message.ts) {
                out["parent_user_id"] = json!(root.user);
            }
        }
        if !message.files.is_empty() {
            out["files"] = message
                .files
                .iter()
                .filter_map(|id| self.files.get(id))
                .map(|file| file.json(&self.url, &team.clone()))
                .collect();
            out["upload"] = json!(false);
        }
        if self.is_streaming(message) {
            out["streaming_state"] = json!("in_progress");
        }
        for (field, value) in &message.extra {
            out[field] = value.clone();
        }
        out
    }

    /// The same as histories give it: with reactions, what is known of its thread, and metadata where it is asked for.
    pub fn history_json(&self, channel: &Channel, message: &Message, metadata: bool) -> Value {
        let mut out = self.message_json(channel, message);
        if !message.reactions.is_empty() {
            out["reactions"] = message
                .reactions
                .iter()
                .map(|(name, users)| json!({"name": name, "users": users, "count": users.len()}))
                .collect();
        }
        if let Some((latest, _)) = message.replies.last() {
            let mut users: Vec<&String> = Vec::new();
            message.replies.iter().map(|(_, user)| user).for_each(|user| {
                if !users.contains(&user) {
                    users.push(user)
                }
            });
            out["reply_count"] = json!(message.replies.len());
            out["reply_users_count"] = json!(users.len());
            out["latest_reply"] = json!(latest);
            out["reply_users"] = json!(users);
            out["is_locked"] = json!(false);
            out["subscribed"] = json!(true);
        }
        if metadata && !message.metadata.is_null() {
            out["metadata"] = message.metadata.clone();
        }
        out
    }

    pub fn log(&mut self, entry: Entry) -> u64 {
        self.transcript.add(entry)
    }
}
