//! The people's side as a test or the control routes call it: words and methods.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Slack;
use super::apps::NewApp;
use super::fault::Fault;
use super::limits::Limits;
use super::transcript::{Own, Transcript};
use super::world::{Counted, Stats, World};
pub use crate::refused::{Outcome, Refused, refused};
pub use crate::telegram::NewFile;

/// What a person writes. `thread` is a message's `ts`, or a name of the test's own: its first use makes the root, of which nobody is told.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Say {
    pub conversation: String,
    pub user: String,
    pub text: String,
    pub thread: Option<Value>,
    /// Answers in the thread of this message.
    pub reply_to: Option<String>,
    pub files: Vec<NewFile>,
    /// Puts the bot's name before the text, unless it stands there already.
    pub mention: bool,
    #[serde(alias = "language_code")]
    pub locale: Option<String>,
    /// The user is another bot.
    pub bot: bool,
    /// A reply in a thread that the channel sees too.
    pub broadcast: bool,
}

impl Say {
    pub fn new(conversation: &str, user: &str, text: &str) -> Self {
        Self { conversation: conversation.into(), user: user.into(), text: text.into(), ..Self::default() }
    }
}

/// A slash command: `args` as text, or as an object or list that is typed out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Command {
    pub conversation: String,
    pub user: String,
    pub name: String,
    pub args: Value,
    pub thread: Option<Value>,
    #[serde(alias = "language_code")]
    pub locale: Option<String>,
}

/// A press of a button or a choice in a menu, by action, value, `action=value` or text; `message` is a `ts` or a view's id.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Press {
    pub conversation: String,
    pub user: String,
    pub message: String,
    pub button: String,
}

/// A view that is sent off or closed; without `view`, the one that the person sees. Values are named by block, action or label.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Submit {
    pub conversation: String,
    pub user: String,
    #[serde(alias = "interaction")]
    pub view: Option<String>,
    pub values: Map<String, Value>,
    /// Closes it instead.
    pub close: bool,
}

/// A shortcut of an app, with a message or for all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shortcut {
    pub conversation: String,
    pub user: String,
    pub callback_id: String,
    pub message: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Edit {
    pub conversation: String,
    pub user: String,
    pub message: String,
    pub text: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remove {
    pub conversation: String,
    pub message: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct React {
    pub conversation: String,
    pub user: String,
    pub message: String,
    /// The name, with or without colons, or the character itself.
    pub emoji: String,
    /// Takes it away again.
    pub remove: bool,
}

/// Any event: with a `type` of an envelope it is sent as it is, else it is wrapped as events are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    pub event: Value,
    #[serde(default)]
    pub app: Option<String>,
}

/// A person opens the app's home, or a thread with the assistant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Open {
    pub conversation: String,
    pub user: String,
    pub what: OpenWhat,
    /// The channel that the person looks at.
    pub context: Option<String>,
    pub thread: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenWhat {
    #[default]
    Home,
    Messages,
    Assistant,
    /// The person looks at another channel.
    Context,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewKind {
    #[serde(alias = "group", alias = "supergroup", alias = "forum")]
    Channel,
    Private,
    #[serde(alias = "dm")]
    Im,
    Mpim,
}

/// What becomes of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Open,
    Archived,
    /// The bot is taken out.
    #[serde(alias = "kicked", alias = "blocked")]
    Left,
    /// The bot is put in again.
    Joined,
    Gone,
    Renamed,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    pub name: String,
    pub kind: Option<NewKind>,
    pub title: Option<String>,
    pub state: Option<State>,
    /// The workspace, by name; without one, the first.
    pub team: Option<String>,
    /// People who are in it, or are not: `member`, `left`, `deactivated`.
    pub roles: BTreeMap<String, Standing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    #[serde(alias = "creator", alias = "administrator")]
    Member,
    #[serde(alias = "kicked")]
    Left,
    /// Their account was taken away.
    Deactivated,
}

/// Where an app's events go; without a URL, through sockets again.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    pub url: Option<String>,
    pub commands_url: Option<String>,
    pub interactivity_url: Option<String>,
    pub signing_secret: Option<String>,
    pub app: Option<String>,
}

/// What came of it: the message's `ts` in its conversation, the event's id, the trigger of a command or press.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Said {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub chat: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<String>,
}

impl Slack {
    pub fn say(&self, say: Say) -> Outcome<Said> {
        self.write(|world| world.say(say))
    }

    pub fn command(&self, command: Command) -> Outcome<Said> {
        self.write(|world| world.command(command))
    }

    /// Presses a button of a message; one that the message does not carry is refused.
    pub fn press(&self, press: &Press) -> Outcome<Said> {
        self.write(|world| world.press(press))
    }

    pub fn submit(&self, submit: &Submit) -> Outcome<Said> {
        self.write(|world| world.submit(submit))
    }

    pub fn shortcut(&self, shortcut: &Shortcut) -> Outcome<Said> {
        self.write(|world| world.shortcut(shortcut))
    }

    pub fn edit(&self, edit: &Edit) -> Outcome<Said> {
        self.write(|world| world.edit(edit))
    }

    pub fn remove(&self, remove: &Remove) -> Outcome<()> {
        self.write(|world| world.remove(remove))
    }

    pub fn react(&self, react: &React) -> Outcome<Said> {
        self.write(|world| world.react(react))
    }

    pub fn open(&self, open: &Open) -> Outcome<Said> {
        self.write(|world| world.open(open))
    }

    /// Hands any event to an app, or to all of them; returns the event's or envelope's id.
    pub fn raw(&self, raw: Raw) -> Outcome<String> {
        let sent = self.write(|world| world.raw(raw));
        self.wake();
        sent
    }

    /// Makes a conversation, or changes the state of one; returns its id.
    pub fn conversation(&self, wanted: &Conversation) -> Outcome<String> {
        self.write(|world| world.conversation(wanted))
    }

    pub fn app(&self, app: NewApp) -> Outcome<Value> {
        self.write(|world| world.declare(app))
    }

    /// The slash commands that a person is offered in a conversation.
    pub fn menu(&self, conversation: &str) -> Outcome<Value> {
        self.lock().menu(conversation)
    }
}

impl crate::platform::World for World {
    type Id = String;
    type Own = Own;
    type Counted = Counted;
    type Limits = Limits;
    type Fault = Fault;
    type Progress = (u64, u64);

    fn progress(&self) -> (u64, u64) {
        (self.transcript.last(), self.serial)
    }

    fn entries(&self) -> &Transcript {
        &self.transcript
    }

    fn counts(&self) -> Stats {
        let unanswered = self.apps.iter().map(|app| app.outbox.unanswered()).sum();
        let open = self.apps.iter().map(|app| app.sockets.len()).sum();
        let own = Counted { open, ..self.stats.own.clone() };
        Stats { unanswered, own, ..self.stats.clone() }
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
        self.files.get(id).map(|file| (file.mime.clone(), file.bytes.clone()))
    }
}
