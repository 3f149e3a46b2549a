//! The people's side as a test or the control routes call it: words and methods.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Discord;
use super::fault::Fault;
use super::limits::{Limits, seconds};
use super::transcript::{Own, Transcript};
use super::world::{Counted, Stats, World};
pub use crate::refused::{Outcome, Refused, refused};

/// What a person writes; a text too long for one message becomes several. `thread` is a thread's name or number.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Say {
    pub conversation: String,
    pub user: String,
    pub text: String,
    pub thread: Option<Value>,
    pub reply_to: Option<Value>,
    pub files: Vec<NewFile>,
    /// Puts the bot's mention before the text, unless it stands there already.
    pub mention: bool,
    /// The person's language, as the client reports it with interactions.
    pub language_code: Option<String>,
    /// The user is another bot.
    pub bot: bool,
    /// The user is a webhook.
    pub webhook: bool,
    /// Names of stickers.
    pub stickers: Vec<String>,
    /// The number of a message that is forwarded, or a text that stood elsewhere.
    pub forward: Option<String>,
    /// The message is a voice note.
    pub voice: bool,
    /// The message is one of the platform's own of this type, such as 7 for a person who joins.
    pub system: Option<u64>,
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
}

/// A command with its options; sub-commands stand in the name behind a blank.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Command {
    pub conversation: String,
    pub user: String,
    pub name: String,
    pub args: Value,
    pub thread: Option<Value>,
    pub language_code: Option<String>,
}

/// What a person has typed into one option so far.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Typed {
    pub conversation: String,
    pub user: String,
    pub name: String,
    pub field: String,
    pub typed: Value,
    /// Other options that are filled in already.
    pub args: Value,
    pub thread: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Press {
    pub conversation: String,
    pub user: String,
    pub message: Value,
    /// The button's id or its text.
    pub button: String,
    /// What is chosen of a menu.
    pub values: Vec<String>,
    pub language_code: Option<String>,
}

/// A form that a person sends off.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Submit {
    pub conversation: String,
    pub user: String,
    /// The interaction that the form answered; without it the newest form of the person there.
    #[serde(alias = "view")]
    pub interaction: Option<Value>,
    /// By the field's id or its label.
    pub values: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Edit {
    pub conversation: String,
    pub user: String,
    pub message: Value,
    pub text: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct React {
    pub conversation: String,
    pub user: String,
    pub message: Value,
    pub emoji: String,
    /// The reaction is taken back.
    pub remove: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Typing {
    pub conversation: String,
    pub user: String,
    pub thread: Option<Value>,
}

/// What a person or a moderator removes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remove {
    pub conversation: String,
    pub message: Option<Value>,
    /// A thread by name or number, with all that was written in it.
    pub thread: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// `{"t": NAME, "d": DATA}` for every session, or a frame with an `op` for every connection.
    pub event: Value,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Said {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub chat: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewKind {
    Private,
    #[serde(alias = "group", alias = "supergroup", alias = "channel")]
    Text,
    #[serde(alias = "news")]
    Announcement,
    Forum,
}

/// What becomes of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Open,
    /// The bot may not write there; in a direct conversation the person refuses its messages.
    Blocked,
    /// The bot does not see the channel any more.
    Kicked,
    Gone,
    /// A thread is archived; with `locked` it stays so.
    Archived,
    Locked,
    /// The bots are taken out of the guild that the conversation is in; `open` lets them in again.
    Removed,
    /// The platform does not reach the guild for a while; `open` ends that.
    Outage,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    pub name: String,
    pub kind: Option<NewKind>,
    pub title: Option<String>,
    pub state: Option<State>,
    /// Another guild by name; it is made, and bots are members of it.
    pub guild: Option<String>,
    /// The thread that `state` is about.
    pub thread: Option<Value>,
    /// Roles of people by name; `administrator` and `owner` may everything.
    pub roles: BTreeMap<String, Value>,
}

/// What is switched on for the bots in the developers' portal.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Intents {
    pub content: Option<bool>,
    pub members: Option<bool>,
    pub presences: Option<bool>,
}

impl Discord {
    pub fn say(&self, say: Say) -> Outcome<Said> {
        self.write(|world| world.say(say))
    }

    /// Invokes a command; one that no bot has registered there is refused, as are arguments that a client would not send.
    pub fn command(&self, command: &Command) -> Outcome<Said> {
        self.write(|world| world.command(command))
    }

    /// Asks a bot to complete what was typed; its choices, or nothing when it did not answer in time.
    pub async fn autocomplete(&self, typed: &Typed) -> Outcome<Value> {
        let mut updates = self.updates();
        let id = self.write(|world| world.complete(typed))?;
        let patience = seconds(self.limits().interaction_seconds);
        let answer = async {
            loop {
                updates.borrow_and_update();
                let choices = self.lock().interactions.get(&id).and_then(|one| one.choices.clone());
                if choices.is_some() || updates.changed().await.is_err() {
                    return choices;
                }
            }
        };
        let choices = tokio::time::timeout(patience, answer).await.unwrap_or_default();
        Ok(serde_json::json!({"interaction": id.to_string(), "choices": choices}))
    }

    /// Presses a button, or chooses of a menu; what the message does not carry is refused.
    pub fn press(&self, press: &Press) -> Outcome<Said> {
        self.write(|world| world.press(press))
    }

    pub fn submit(&self, submit: &Submit) -> Outcome<Said> {
        self.write(|world| world.submit(submit))
    }

    pub fn edit(&self, edit: &Edit) -> Outcome<Said> {
        self.write(|world| world.edit(edit))
    }

    pub fn react(&self, react: &React) -> Outcome<()> {
        self.write(|world| world.person_reacts(react))
    }

    pub fn typing(&self, typing: &Typing) -> Outcome<()> {
        self.write(|world| world.person_types(typing))
    }

    pub fn remove(&self, remove: &Remove) -> Outcome<()> {
        self.write(|world| world.person_removes(remove))
    }

    /// Hands any event to every session, or any frame to every connection.
    pub fn raw(&self, event: Value) -> Outcome<u64> {
        self.write(|world| world.raw(event))
    }

    /// Makes a conversation, or changes the state of one; returns its id.
    pub fn conversation(&self, wanted: &Conversation) -> Outcome<String> {
        self.write(|world| world.conversation(wanted))
    }

    /// Switches privileged intents on or off; sessions that are open keep what they have.
    pub fn set_intents(&self, intents: Intents) {
        self.write(|world| {
            let setup = &mut world.setup;
            setup.content = intents.content.unwrap_or(setup.content);
            setup.members = intents.members.unwrap_or(setup.members);
            setup.presences = intents.presences.unwrap_or(setup.presences);
        });
    }

    /// The content and type of a file by its address.
    pub fn file_at(&self, id: u64, expires: &str, signature: &str) -> Option<(String, Bytes)> {
        let world = self.lock();
        world.files.at(id, expires, signature).map(|file| (file.mime.clone(), file.bytes.clone()))
    }

    /// The commands that a person is offered in a conversation.
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
    type Progress = u64;

    /// Interactions end by themselves.
    const LOOKS_AGAIN: Option<Duration> = Some(Duration::from_millis(250));

    fn progress(&self) -> u64 {
        self.moves
    }

    fn sweep(&mut self) {
        self.end_interactions();
    }

    fn entries(&self) -> &Transcript {
        &self.transcript
    }

    fn counts(&self) -> Stats {
        let unanswered = self.interactions.values().filter(|one| one.answered.is_none() && !one.dead).count();
        Stats { unanswered, ..self.stats.clone() }
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
        self.files.get(id.parse().ok()?).map(|file| (file.mime.clone(), file.bytes.clone()))
    }
}
