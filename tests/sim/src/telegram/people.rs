//! The people's side as a test or the control routes call it: words and methods.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Telegram;
use super::cast::Role;
use super::fault::Fault;
use super::files::FileKind;
use super::limits::Limits;
use super::transcript::{Own, Transcript};
use super::world::{Counted, Stats, World};
pub use crate::refused::{Outcome, Refused, refused};

/// What a person writes; a text too long for one message becomes several. `thread` is a topic's name or number; naming one makes a group a forum.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Say {
    pub conversation: String,
    pub user: String,
    pub text: String,
    pub thread: Option<Value>,
    pub reply_to: Option<i64>,
    /// The part of the answered message that is quoted.
    pub quote: Option<String>,
    pub files: Vec<NewFile>,
    /// Puts the bot's name before the text, unless it stands there already.
    pub mention: bool,
    pub language_code: Option<String>,
    /// The conversation in whose name it is said: the same one for an administrator who stays unnamed, or a channel.
    pub sender_chat: Option<String>,
    /// The user is another bot.
    pub bot: bool,
}

impl Say {
    pub fn new(conversation: &str, user: &str, text: &str) -> Self {
        Self { conversation: conversation.into(), user: user.into(), text: text.into(), ..Self::default() }
    }
}

/// A file that a person sends; `size` claims another size than that of the content.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewFile {
    pub name: String,
    pub mime: Option<String>,
    pub base64: Option<String>,
    pub text: Option<String>,
    pub size: Option<u64>,
    /// As what it is sent; pictures are photos otherwise, everything else documents.
    pub kind: Option<FileKind>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Press {
    pub conversation: String,
    pub user: String,
    pub message: i64,
    /// The button's data or its text.
    pub button: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Edit {
    pub conversation: String,
    pub user: String,
    pub message: i64,
    pub text: String,
}

/// An emoji that a person puts on a message, or `custom:ID`; an empty one takes theirs away.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct React {
    pub conversation: String,
    pub user: String,
    pub message: i64,
    pub emoji: String,
}

/// What a person or a moderator removes; nobody is told, as on the platform.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remove {
    pub conversation: String,
    pub message: Option<i64>,
    /// A topic by name or number, with all that was written in it.
    pub thread: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// Any update; without `update_id` it gets the next one.
    pub event: Value,
}

/// What came of it: the message's number in its chat, or the press.
#[derive(Clone, Debug, Serialize)]
pub struct Said {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<i64>,
    pub chat: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewKind {
    Private,
    Group,
    Supergroup,
    Forum,
    Channel,
}

/// What becomes of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Open,
    /// The person blocks the bot, or the group removes it.
    Blocked,
    Kicked,
    Gone,
    /// A group becomes a supergroup with another id.
    Upgraded,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    pub name: String,
    pub kind: Option<NewKind>,
    pub title: Option<String>,
    pub state: Option<State>,
    /// What people are in a group, by name.
    pub roles: BTreeMap<String, Role>,
    /// Whether members of a group may write, not administrators alone.
    pub open: Option<bool>,
    /// The reactions that it takes: emoji, and `custom:ID` for those that somebody drew. Without a list, every emoji.
    pub reactions: Option<Vec<String>>,
}

impl Telegram {
    pub fn say(&self, say: Say) -> Outcome<Said> {
        self.write(|world| world.say(say))
    }

    /// Presses a button of a message; one that the message does not carry is refused.
    pub fn press(&self, press: &Press) -> Outcome<Said> {
        self.write(|world| world.press(press))
    }

    pub fn edit(&self, edit: &Edit) -> Outcome<Said> {
        self.write(|world| world.edit(edit))
    }

    /// Puts an emoji on a message, or takes it away.
    pub fn react(&self, react: &React) -> Outcome<Said> {
        self.write(|world| world.react(react))
    }

    /// Takes a message or a topic away.
    pub fn remove(&self, remove: &Remove) -> Outcome<()> {
        self.write(|world| world.remove(remove))
    }

    /// Hands any update to every bot as it is and returns its number.
    pub fn raw(&self, event: Value) -> Outcome<i64> {
        self.write(|world| world.raw(event))
    }

    /// Makes a conversation, or changes the state of one; returns its id.
    pub fn conversation(&self, wanted: &Conversation) -> Outcome<i64> {
        self.write(|world| world.conversation(wanted))
    }

    pub fn set_privacy(&self, privacy: bool) {
        self.write(|world| world.privacy = privacy);
    }

    /// Whether a token is one.
    pub fn knows(&self, token: &str) -> bool {
        self.write(|world| world.bot(token).is_some())
    }

    /// The content and type of a file by its path.
    pub fn file(&self, path: &str) -> Option<(String, Bytes)> {
        let world = self.lock();
        world.files.by_path(path).map(|file| (file.mime.clone(), file.bytes.clone()))
    }

    /// The commands that a person is offered in a conversation, found as the platform finds them.
    pub fn menu(&self, conversation: &str, language: &str) -> Outcome<Value> {
        self.lock().menu(conversation, language)
    }
}

impl crate::platform::World for World {
    type Id = i64;
    type Own = Own;
    type Counted = Counted;
    type Limits = Limits;
    type Fault = Fault;
    type Progress = (u64, u64, u64);

    fn progress(&self) -> (u64, u64, u64) {
        let queued = self.bots.values().map(|bot| bot.next_update as u64 + bot.again.len() as u64).sum();
        (queued, self.stats.received + self.stats.sent + self.cuts + self.hooks, self.transcript.last())
    }

    fn entries(&self) -> &Transcript {
        &self.transcript
    }

    fn counts(&self) -> Stats {
        Stats { unanswered: self.presses.len(), ..self.stats.clone() }
    }

    fn limits_mut(&mut self) -> &mut Limits {
        &mut self.limits
    }

    fn order(&mut self, fault: Fault) -> Outcome<()> {
        self.break_as_ordered(fault)
    }

    fn forget_faults(&mut self) {
        self.faults.clear();
        self.duplicates = 0;
    }

    fn forget_waits(&mut self) {
        self.meter.clear();
    }

    fn listed(&self) -> Vec<Value> {
        self.conversations()
    }

    fn stored(&self, id: &str) -> Option<(String, Bytes)> {
        self.files.by_id(id).map(|file| (file.mime.clone(), file.bytes.clone()))
    }
}
