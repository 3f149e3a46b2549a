//! Who and what there is: workspaces, apps, people, conversations, messages, each with its shape on the wire.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::outbox::Outbox;
use crate::transcript::now_ms;

/// A workspace; several may belong to one organisation.
#[derive(Clone, Debug)]
pub struct Team {
    pub id: String,
    pub name: String,
    pub enterprise: Option<String>,
}

/// A person, or the user that a bot is.
#[derive(Clone, Debug)]
pub struct User {
    pub id: String,
    pub name: String,
    pub locale: Option<String>,
    /// Set for bots.
    pub bot: Option<String>,
    pub team: String,
    /// The account was taken away.
    pub deleted: bool,
}

/// An app in one workspace.
#[derive(Clone, Debug)]
pub struct Install {
    pub team: usize,
    /// The token it is reached with; the first app takes every token that nobody else has.
    pub token: Option<String>,
    pub bot_user: String,
    pub bot: String,
}

/// An app with its installs and what it has still to be told.
#[derive(Debug)]
pub struct App {
    pub id: String,
    pub name: String,
    pub installs: Vec<Install>,
    /// Installed for the whole organisation, with one token.
    pub org_wide: bool,
    pub app_token: Option<String>,
    pub signing_secret: String,
    /// Where events, commands and presses are posted; without it they go through sockets.
    pub hooks: Option<Hooks>,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// The slash commands that it registered; without a list, every name is one.
    pub commands: Option<BTreeSet<String>>,
    pub outbox: Outbox,
    pub sockets: Vec<Sock>,
    /// Whether a socket was ever open: before that, nothing counts as missed.
    pub began: bool,
    /// Views published as somebody's home.
    pub homes: BTreeMap<String, Value>,
    /// Millisecond stamps of this hour's events.
    pub events: (u64, u64),
}

/// The request URLs of an app.
#[derive(Clone, Debug)]
pub struct Hooks {
    pub events: String,
    pub commands: String,
    pub interactivity: String,
}

/// An open socket as the world sees it.
#[derive(Debug)]
pub struct Sock {
    pub id: u64,
    pub orders: VecDeque<Order>,
    /// It neither sends nor answers any more, without being closed.
    pub silent: bool,
    /// It was told that it will be closed; others are preferred.
    pub leaving: bool,
}

/// What is to be done with a socket.
#[derive(Clone, Debug)]
pub enum Order {
    /// A `disconnect` message with this reason; the connection is closed so many seconds later.
    Disconnect(String, f64),
    /// A close frame, with a code or without.
    Close(Option<u16>),
    /// The connection ends without a word.
    Cut,
    /// This text is sent as it is.
    Send(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    Channel,
    Private,
    Im,
    Mpim,
}

/// A conversation with its newest messages.
#[derive(Clone, Debug)]
pub struct Channel {
    pub id: String,
    pub name: String,
    pub kind: ChannelKind,
    pub title: String,
    pub team: usize,
    pub archived: bool,
    /// Ids of people and bots.
    pub members: BTreeSet<String>,
    /// Whose direct conversation it is, and with which app.
    pub im: Option<(String, usize)>,
    pub messages: BTreeMap<String, Message>,
    /// Names that the control side gave to threads.
    pub threads: BTreeMap<String, String>,
}

/// A message as it is kept.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub ts: String,
    pub user: String,
    /// The bot's id and its app, when a bot wrote it.
    pub bot: Option<(String, usize)>,
    pub text: String,
    pub blocks: Value,
    pub attachments: Value,
    pub thread: Option<String>,
    pub subtype: Option<&'static str>,
    pub edited: Option<(String, String)>,
    pub files: Vec<String>,
    pub metadata: Value,
    pub reactions: Vec<(String, Vec<String>)>,
    /// Who wrote in its thread, oldest first.
    pub replies: Vec<(String, String)>,
    /// When a stream grew last, while it may grow.
    pub streaming: Option<tokio::time::Instant>,
    /// Whether the assistant says what it is doing in the thread below.
    pub status: bool,
    /// Who alone sees it.
    pub only: Option<String>,
    /// Further fields as they stand on the wire.
    pub extra: Map<String, Value>,
}

/// Seconds since 1970.
pub fn now() -> u64 {
    now_ms() / 1_000
}

/// A number that depends on a name alone, so that ids stay the same over restarts.
fn digest(name: &str) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    hash ^ (hash >> 29)
}

/// An id as the platform writes it: a letter for the kind, then digits and capitals.
pub fn id(prefix: &str, name: &str) -> String {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut rest = digest(&format!("{prefix}{name}"));
    let mut out = format!("{prefix}0");
    for _ in 0..9 {
        out.push(char::from(DIGITS[(rest % 36) as usize]));
        rest /= 36;
    }
    out
}

/// A name as handles and channels are written.
pub fn handle(name: &str) -> String {
    name.to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect()
}

impl User {
    pub fn json(&self) -> Value {
        let mut first = self.name.chars();
        let shown: String = first.next().into_iter().flat_map(char::to_uppercase).chain(first).collect();
        let mut out = json!({
            "id": self.id, "team_id": self.team, "name": handle(&self.name), "deleted": self.deleted, "color": "9f69e7",
            "real_name": shown, "tz": "Europe/Amsterdam", "tz_label": "Central European Time", "tz_offset": 3600,
            "profile": {"real_name": shown, "real_name_normalized": shown, "display_name": self.name,
                "display_name_normalized": self.name, "status_text": "", "status_emoji": "", "avatar_hash": "g0", "team": self.team},
            "is_admin": false, "is_owner": false, "is_primary_owner": false, "is_restricted": false,
            "is_ultra_restricted": false, "is_bot": self.bot.is_some(), "is_app_user": false, "updated": 1_700_000_000,
        });
        if let Some(bot) = &self.bot {
            out["profile"]["bot_id"] = json!(bot);
        }
        out
    }
}

impl App {
    /// The install that belongs to a workspace.
    pub fn install(&self, team: usize) -> Option<&Install> {
        self.installs.iter().find(|install| install.team == team)
    }

    pub fn may(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }

    pub fn bot_profile(&self, bot: &str, team: &str) -> Value {
        json!({"id": bot, "app_id": self.id, "name": self.name, "deleted": false, "updated": 1_700_000_000, "team_id": team,
            "icons": {"image_36": "", "image_48": "", "image_72": ""}})
    }
}

impl ChannelKind {
    /// The word of events.
    pub fn event_word(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Private => "group",
            Self::Im => "im",
            Self::Mpim => "mpim",
        }
    }

    /// The scope that reading it takes, without its verb.
    pub fn scope_word(self) -> &'static str {
        match self {
            Self::Channel => "channels",
            Self::Private => "groups",
            Self::Im => "im",
            Self::Mpim => "mpim",
        }
    }
}

impl Channel {
    pub fn json(&self, team: &str, member: bool) -> Value {
        let is = |kind| self.kind == kind;
        let mut out = json!({"id": self.id, "created": 1_700_000_000, "is_archived": self.archived,
            "is_channel": is(ChannelKind::Channel), "is_group": is(ChannelKind::Private), "is_im": is(ChannelKind::Im), "is_mpim": is(ChannelKind::Mpim),
            "is_private": !is(ChannelKind::Channel), "context_team_id": team, "updated": 1_700_000_000_000_u64, "is_org_shared": false});
        let more = match &self.im {
            Some((user, _)) => json!({"user": user, "is_user_deleted": false, "priority": 0}),
            None => {
                json!({"name": handle(&self.title), "name_normalized": handle(&self.title), "is_general": self.name == "general",
                "is_shared": false, "is_ext_shared": false, "is_pending_ext_shared": false, "unlinked": 0, "pending_shared": [],
                "parent_conversation": null, "creator": "USLACKBOT", "shared_team_ids": [team], "pending_connected_team_ids": [],
                "is_member": member, "topic": {"value": "", "creator": "", "last_set": 0},
                "purpose": {"value": "", "creator": "", "last_set": 0}, "previous_names": [], "num_members": self.members.len()})
            }
        };
        if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
            out.extend(more);
        }
        out
    }

    /// The `ts` of a thread's root, named by it, by a reply in it or by the control side's name.
    pub fn root(&self, wanted: &str) -> Option<String> {
        if let Some(ts) = self.threads.get(wanted) {
            return Some(ts.clone());
        }
        let message = self.messages.get(wanted)?;
        Some(message.thread.clone().unwrap_or_else(|| message.ts.clone()))
    }

    /// How the transcript calls a thread.
    pub fn thread_name(&self, root: Option<&str>) -> Option<String> {
        let root = root?;
        let named = self.threads.iter().find(|(_, ts)| *ts == root).map(|(name, _)| name.clone());
        Some(named.unwrap_or_else(|| root.to_owned()))
    }
}
