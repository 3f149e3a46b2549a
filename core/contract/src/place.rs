//! Who speaks, from where, and where an answer goes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Where people (or programs) talk to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Discord,
    Telegram,
    Slack,
    Web,
    Api,
    Console,
    Mcp,
}

impl Platform {
    pub const ALL: [Self; 7] =
        [Self::Discord, Self::Telegram, Self::Slack, Self::Web, Self::Api, Self::Console, Self::Mcp];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discord => "discord",
            Self::Telegram => "telegram",
            Self::Slack => "slack",
            Self::Web => "web",
            Self::Api => "api",
            Self::Console => "console",
            Self::Mcp => "mcp",
        }
    }

    /// Whether a reply is fetched rather than sent: storing it delivers it.
    pub fn is_pull(self) -> bool {
        matches!(self, Self::Api | Self::Web | Self::Console | Self::Mcp)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Platform {
    type Err = UnknownPlatform;

    fn from_str(text: &str) -> Result<Self, UnknownPlatform> {
        Self::ALL.into_iter().find(|p| p.as_str() == text).ok_or_else(|| UnknownPlatform(text.to_owned()))
    }
}

/// No platform has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown platform '{0}': one of discord, telegram, slack, web, api, console, mcp")]
pub struct UnknownPlatform(pub String);

/// What caused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Said,
    Command,
    Button,
    Form,
    Api,
    Mcp,
    Schedule,
    Resume,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Command => "command",
            Self::Button => "button",
            Self::Form => "form",
            Self::Api => "api",
            Self::Mcp => "mcp",
            Self::Schedule => "schedule",
            Self::Resume => "resume",
        }
    }
}

/// A part of an address or receipt that only its adapter reads: message ids, tokens. At most [`Opaque::MAX`]
/// bytes, stored with the record, never printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Opaque(String);

impl Opaque {
    pub const MAX: usize = 4096;

    /// Nothing when the text is longer than [`Opaque::MAX`] bytes.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (text.len() <= Self::MAX).then_some(Self(text))
    }

    /// For the adapter that made it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opaque({} bytes)", self.0.len())
    }
}

/// Where a reply goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub platform: Platform,
    /// The bot identity, by its configuration key.
    pub account: String,
    /// Guild or workspace, where the platform has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The channel's or chat's platform id.
    pub conversation: String,
    /// Thread or topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The platform's id of the message that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// A conversation with one person.
    #[serde(default)]
    pub direct: bool,
    #[serde(default, skip_serializing_if = "Opaque::is_empty")]
    pub private: Opaque,
}

impl Address {
    pub fn new(platform: Platform, account: impl Into<String>, conversation: impl Into<String>) -> Self {
        Self {
            platform,
            account: account.into(),
            space: None,
            conversation: conversation.into(),
            thread: None,
            reply_to: None,
            direct: false,
            private: Opaque::default(),
        }
    }

    /// The conversation that people name as [`Address::written`] writes it.
    pub fn named(written: &str) -> Option<Self> {
        let (platform, rest) = written.split_once(':')?;
        let (account, rest) = rest.split_once('/')?;
        let (conversation, thread) = rest.split_once('/').map_or((rest, None), |(c, thread)| (c, Some(thread)));
        if account.is_empty() || conversation.is_empty() || thread == Some("") {
            return None;
        }
        let to = Self::new(platform.parse().ok()?, account, conversation);
        Some(Self { thread: thread.map(str::to_owned), ..to })
    }

    /// `telegram:main/-100123` or `telegram:main/-100123/5`: what people write to name a conversation.
    pub fn written(&self) -> String {
        let thread = self.thread.as_ref().map(|t| format!("/{t}")).unwrap_or_default();
        format!("{}:{}/{}{thread}", self.platform, self.account, self.conversation)
    }
}

/// Who spoke. `id` decides; `name` is untrusted text for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    pub id: String,
    #[serde(default)]
    pub name: String,
}

/// Who asks, from where, with which roles: what policy sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub platform: Platform,
    pub account: String,
    pub tenant: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    pub conversation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    pub sender: Sender,
    /// Ids of roles, as the platform gives them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    pub origin: Origin,
}
