//! The people's side: they write, press, edit; somebody injects raw updates and orders faults.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Telegram;
use super::fault::{Fault, Kind as FaultKind};
use super::info::add_topic;
use super::limits::Limits;
use super::markup;
use super::send::seen;
use super::text::{Entity, Formatted, units};
use super::transcript::{By, Entry, Kind, now_ms};
use super::world::{
    Author, Chat, ChatKind, KEPT_UPDATES, Message, Press as Waiting, Standing, Stats, User, World, now,
};

/// Why the control side refuses something; `status` is that of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub status: u16,
    pub why: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}

pub type Outcome<T> = Result<T, Refused>;

fn refused<T>(status: u16, why: impl Into<String>) -> Outcome<T> {
    Err(Refused { status, why: why.into() })
}

/// What a person writes. `thread` is a topic's name or number; naming one makes a group a forum.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Say {
    pub conversation: String,
    pub user: String,
    pub text: String,
    pub thread: Option<Value>,
    pub reply_to: Option<i64>,
    pub files: Vec<NewFile>,
    /// Puts the bot's name before the text, unless it stands there already.
    pub mention: bool,
    pub language_code: Option<String>,
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

    /// Hands any update to every bot as it is and returns its number.
    pub fn raw(&self, event: Value) -> Outcome<i64> {
        self.write(|world| world.raw(event))
    }

    /// Makes a conversation, or changes the state of one; returns its id.
    pub fn conversation(&self, wanted: &Conversation) -> Outcome<i64> {
        self.write(|world| world.conversation(wanted))
    }

    pub fn fault(&self, fault: Fault) -> Outcome<()> {
        self.write(|world| world.order(fault))
    }

    /// Takes back every fault that still waits, and every wait of a rate limit.
    pub fn clear_faults(&self) {
        self.write(|world| {
            world.faults.clear();
            world.meter.clear();
            world.duplicates = 0;
        });
    }

    pub fn transcript(&self, conversation: Option<&str>, after: u64) -> Vec<Entry> {
        self.lock().transcript.after(conversation, after)
    }

    pub fn stats(&self) -> Stats {
        let world = self.lock();
        Stats { unanswered: world.presses.len(), ..world.stats.clone() }
    }

    pub fn limits(&self) -> Limits {
        self.lock().limits.clone()
    }

    pub fn set_limits(&self, limits: Limits) {
        self.write(|world| {
            world.limits = limits;
            world.meter.clear();
        });
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

    /// Waits until an entry after `after` fits, and returns it.
    pub async fn until(&self, conversation: &str, after: u64, fits: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let mut updates = self.updates();
        loop {
            if let Some(found) = self.transcript(Some(conversation), after).into_iter().find(|entry| fits(entry)) {
                return Some(found);
            }
            tokio::select! {
                changed = updates.changed() => changed.ok()?,
                () = self.stopped() => return None,
            }
        }
    }
}

impl World {
    /// Grows whenever somebody who waits has something to look at.
    pub fn progress(&self) -> (u64, u64, u64) {
        let queued = self.bots.values().map(|bot| bot.next_update as u64 + bot.again.len() as u64).sum();
        (queued, self.stats.received + self.stats.sent + self.cuts, self.transcript.last())
    }

    /// The chat of a conversation; one that is not known yet is made.
    fn place(&mut self, name: &str) -> Outcome<i64> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        if let Some(chat) = name.parse().ok().and_then(|id| self.chats.get(&id)) {
            return Ok(chat.id);
        }
        if name.is_empty() || name == "dm:" {
            return refused(400, "conversation: a name is needed, such as general or dm:ann");
        }
        let kind = if name.starts_with("dm:") { ChatKind::Private } else { ChatKind::Supergroup };
        self.add_chat(name, kind, name).ok_or_else(|| Refused { status: 409, why: "too many conversations".into() })
    }

    fn person(&mut self, name: &str, language: Option<String>) -> Outcome<User> {
        if name.is_empty() {
            return refused(400, "user: a name is needed");
        }
        let Some(user) = self.user(name) else { return refused(409, "too many people") };
        if language.is_some()
            && let Some(known) = self.users.get_mut(name)
        {
            known.language = language;
        }
        Ok(self.users.get(name).cloned().unwrap_or(user))
    }

    fn conversation(&mut self, wanted: &Conversation) -> Outcome<i64> {
        let id = match (self.names.get(&wanted.name).copied(), wanted.kind) {
            (Some(id), _) => id,
            (None, None) => self.place(&wanted.name)?,
            (None, Some(kind)) => self.create(&wanted.name, kind, wanted.title.as_deref())?,
        };
        match wanted.state {
            None => {}
            Some(State::Upgraded) => return self.upgrade(id),
            Some(state) => {
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.standing = match state {
                        State::Open | State::Upgraded => Standing::Open,
                        State::Blocked | State::Kicked => Standing::Shut,
                        State::Gone => Standing::Gone,
                    };
                }
                self.tell_membership(id, state);
            }
        }
        if let (Some(chat), Some(title)) = (self.chats.get_mut(&id), &wanted.title) {
            chat.title = title.clone();
        }
        Ok(id)
    }

    fn create(&mut self, name: &str, kind: NewKind, title: Option<&str>) -> Outcome<i64> {
        if name.is_empty() || (name.starts_with("dm:") != (kind == NewKind::Private)) {
            return refused(400, "name: private conversations are called dm:NAME, others are not");
        }
        let of = match kind {
            NewKind::Private => ChatKind::Private,
            NewKind::Group => ChatKind::Group,
            NewKind::Supergroup | NewKind::Forum => ChatKind::Supergroup,
            NewKind::Channel => ChatKind::Channel,
        };
        let Some(id) = self.add_chat(name, of, title.unwrap_or(name)) else {
            return refused(409, "too many conversations");
        };
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.forum = kind == NewKind::Forum;
        }
        Ok(id)
    }

    fn tell_membership(&mut self, id: i64, state: State) {
        let (old, new) = if state == State::Open { ("kicked", "member") } else { ("member", "kicked") };
        let Some(chat) = self.chats.get(&id) else { return };
        let from = chat
            .members
            .first()
            .map(|id| self.author_json(Author::User(*id)))
            .unwrap_or(json!({"id": 1, "is_bot": false, "first_name": "Owner"}));
        let event = json!({
            "chat": chat.json(), "from": from, "date": now(),
            "old_chat_member": {"status": old}, "new_chat_member": {"status": new, "until_date": 0},
        });
        let bots: Vec<Value> = self.bots.values().map(super::world::Bot::json).collect();
        for bot in bots {
            let mut event = event.clone();
            event["old_chat_member"]["user"] = bot.clone();
            event["new_chat_member"]["user"] = bot;
            self.tell("my_chat_member", event);
        }
    }

    /// Gives a group a new id under the same name, and tells bots in both.
    fn upgrade(&mut self, old: i64) -> Outcome<i64> {
        let Some(chat) = self.chats.get(&old).filter(|chat| chat.kind == ChatKind::Group).cloned() else {
            return refused(400, "state: only a group can be upgraded");
        };
        let new = self.create(&chat.name, NewKind::Supergroup, Some(&chat.title))?;
        let author = Author::User(chat.members.first().copied().unwrap_or(1));
        for (place, field, other) in [(old, "migrate_to_chat_id", new), (new, "migrate_from_chat_id", old)] {
            let mut extra = Map::new();
            extra.insert(field.into(), json!(other));
            let made = Message {
                id: 0,
                date: now(),
                author,
                thread: None,
                text: Formatted::default(),
                media: None,
                reply_to: None,
                markup: None,
                edited: None,
                extra,
            };
            if let Some(chat) = self.chats.get_mut(&place) {
                let id = chat.add(made);
                self.deliver("message", place, id);
            }
        }
        if let Some(chat) = self.chats.get_mut(&old) {
            chat.standing = Standing::Upgraded(new);
        }
        Ok(new)
    }

    /// Finds or opens a topic by name or number; `General` is outside every topic.
    fn thread(&mut self, id: i64, wanted: &Value, author: Author) -> Outcome<Option<i64>> {
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        if chat.kind != ChatKind::Supergroup {
            return refused(400, "thread: only groups with topics have threads");
        }
        chat.forum = true;
        let name = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
        if name == "General" || name == "1" {
            return Ok(None);
        }
        let known = chat
            .topics
            .iter()
            .find(|(number, topic)| **topic == name || number.to_string() == name)
            .map(|(number, _)| *number);
        if known.is_some() {
            return Ok(known);
        }
        let made = add_topic(chat, &name, author);
        self.deliver("message", id, made);
        Ok(Some(made))
    }

    fn deliver(&mut self, kind: &'static str, chat: i64, message: i64) -> (Option<i64>, Value) {
        let Some((chat, message)) = self.chats.get(&chat).and_then(|chat| Some((chat, chat.messages.get(&message)?)))
        else {
            return (None, Value::Null);
        };
        let event = self.message_json(chat, message);
        self.stats.received += 1;
        (self.tell(kind, event.clone()), event)
    }

    fn say(&mut self, say: Say) -> Outcome<Said> {
        let id = self.place(&say.conversation)?;
        let user = self.person(&say.user, say.language_code.clone())?;
        self.admit(id, &user)?;
        let author = Author::User(user.id);
        let mut thread = match &say.thread {
            Some(wanted) => self.thread(id, wanted, author)?,
            None => None,
        };
        if let Some(target) = say.reply_to {
            let target = self.chats.get(&id).and_then(|chat| chat.messages.get(&target));
            let Some(target) = target else { return refused(404, "reply_to: no such message") };
            thread = thread.or(target.thread);
        }
        let text = self.spoken(&say);
        let mut files = say.files.iter().map(|file| self.store(file)).collect::<Outcome<Vec<_>>>()?.into_iter();
        let album = (files.len() > 1).then(|| self.next_serial().to_string());
        if text.text.is_empty() && files.len() == 0 {
            return refused(400, "text: nothing to say");
        }
        let mut message = Message {
            id: 0,
            date: now(),
            author,
            thread,
            text,
            media: None,
            reply_to: say.reply_to,
            markup: None,
            edited: None,
            extra: Map::new(),
        };
        let Some(first) = files.next() else { return self.arrive(id, message, &user, None) };
        if let Some(album) = &album {
            message.extra.insert("media_group_id".into(), json!(album));
        }
        let rest = Message { text: Formatted::default(), reply_to: None, ..message.clone() };
        let said = self.arrive(id, message, &user, Some(first))?;
        for file in files {
            self.arrive(id, rest.clone(), &user, Some(file))?;
        }
        Ok(said)
    }

    fn admit(&mut self, id: i64, user: &User) -> Outcome<()> {
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        if chat.user.is_some_and(|owner| owner != user.id) {
            return refused(400, format!("user: {} is somebody else's private conversation", chat.name));
        }
        chat.members.insert(user.id);
        Ok(())
    }

    /// The text with the marks that a client of the platform sets.
    fn spoken(&self, say: &Say) -> Formatted {
        let handle = format!("@{}", self.username);
        let text = if say.mention && !say.text.contains(&handle) {
            format!("{handle} {}", say.text)
        } else {
            say.text.clone()
        };
        let mut done = Formatted::plain(text).settle();
        // A name too short to be found by itself is a mention all the same when it is the bot's.
        let at = done.text.find(&handle).map(|at| units(&done.text[..at]));
        if let Some(at) = at.filter(|at| {
            say.mention && !done.entities.iter().any(|entity| entity.kind == "mention" && entity.offset == *at)
        }) {
            done.entities.push(Entity::new("mention", at, units(&handle)));
        }
        done
    }

    fn store(&mut self, file: &NewFile) -> Outcome<super::files::File> {
        let bytes = match (&file.base64, &file.text) {
            (Some(code), _) => base64(code).ok_or_else(|| Refused { status: 400, why: "files: not base64".into() })?,
            (None, Some(text)) => text.clone().into_bytes(),
            (None, None) => Vec::new(),
        };
        let mime = file.mime.clone().unwrap_or_else(|| "application/octet-stream".into());
        let photo = mime.starts_with("image/") && super::files::File::is_picture(&bytes);
        Ok(self.files.add(&file.name, &mime, bytes.into(), file.size, photo))
    }

    fn arrive(
        &mut self,
        id: i64,
        mut message: Message,
        user: &User,
        file: Option<super::files::File>,
    ) -> Outcome<Said> {
        message.media = file.as_ref().map(super::files::File::media);
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        let kind = if chat.kind == ChatKind::Channel { "channel_post" } else { "message" };
        let number = chat.add(message);
        self.log_person(id, number, user, Kind::Message, kind, file.as_ref())
    }

    fn log_person(
        &mut self,
        id: i64,
        number: i64,
        user: &User,
        seen_as: Kind,
        kind: &'static str,
        file: Option<&super::files::File>,
    ) -> Outcome<Said> {
        let (update, payload) = self.deliver(kind, id, number);
        let Some((chat, message)) = self.chats.get(&id).and_then(|chat| Some((chat, chat.messages.get(&number)?)))
        else {
            return refused(404, "no such message");
        };
        let mut entry = person_entry(chat, user, seen_as);
        entry.message = Some(number);
        entry.text = message.text.text.clone();
        entry.entities = message.text.entities_json();
        entry.thread = chat.thread_name(message.thread);
        entry.reply_to = message.reply_to;
        entry.files = file.map(seen).into_iter().collect();
        entry.payload = payload;
        self.log(entry);
        Ok(Said { message: Some(number), chat: id, update, interaction: None })
    }

    fn edit(&mut self, edit: &Edit) -> Outcome<Said> {
        let id = self.place(&edit.conversation)?;
        let user = self.person(&edit.user, None)?;
        let Some(message) = self.chats.get_mut(&id).and_then(|chat| chat.messages.get_mut(&edit.message)) else {
            return refused(404, "message: no such message");
        };
        if message.author != Author::User(user.id) {
            return refused(400, "message: written by somebody else");
        }
        message.text = Formatted::plain(edit.text.clone()).settle();
        message.edited = Some(now());
        self.log_person(id, edit.message, &user, Kind::Edit, "edited_message", None)
    }

    fn press(&mut self, press: &Press) -> Outcome<Said> {
        let id = self.place(&press.conversation)?;
        let user = self.person(&press.user, None)?;
        let Some((chat, message)) =
            self.chats.get(&id).and_then(|chat| Some((chat, chat.messages.get(&press.message)?)))
        else {
            return refused(404, "message: no such message");
        };
        let buttons = markup::buttons(message.markup.as_ref());
        let by_id = buttons.iter().find(|button| button.id == press.button);
        let Some(button) = by_id.or_else(|| buttons.iter().find(|button| button.text == press.button)) else {
            return refused(404, format!("button: the message has no button '{}'", press.button));
        };
        if button.url.is_some() {
            return refused(400, "button: it opens a link, nobody is told");
        }
        let (data, event) = (button.id.clone(), self.message_json(chat, message));
        let mut entry = person_entry(chat, &user, Kind::Private);
        entry.message = Some(press.message);
        entry.text = button.text.clone();
        entry.thread = chat.thread_name(message.thread);
        let query = format!("{}{:06}", now_ms(), self.next_serial());
        let event =
            json!({"id": query, "from": user.json(), "message": event, "chat_instance": id.to_string(), "data": data});
        entry.payload = event.clone();
        self.log(entry);
        self.stats.received += 1;
        while self.presses.len() >= KEPT_UPDATES {
            self.presses.pop_first();
        }
        self.presses
            .insert(query.clone(), Waiting { chat: id, user: user.name, message: press.message, asked_ms: now_ms() });
        let update = self.tell("callback_query", event);
        Ok(Said { message: None, chat: id, update, interaction: Some(query) })
    }

    fn raw(&mut self, event: Value) -> Outcome<i64> {
        if !event.is_object() {
            return refused(400, "event: an update is an object");
        }
        if self.bots.is_empty() {
            return refused(409, "event: no bot has shown itself yet");
        }
        self.stats.received += 1;
        let mut last = 0;
        for bot in self.bots.values_mut() {
            let id = event["update_id"].as_i64().unwrap_or(bot.next_update);
            bot.next_update = bot.next_update.max(id.saturating_add(1));
            let mut update = event.clone();
            update["update_id"] = json!(id);
            if bot.queue.len() == KEPT_UPDATES {
                bot.queue.pop_front();
            }
            bot.queue.push_back((id, update));
            last = id;
        }
        Ok(last)
    }

    fn order(&mut self, fault: Fault) -> Outcome<()> {
        let chat = match &fault.conversation {
            Some(name) => Some(self.place(name)?),
            None => None,
        };
        match fault.kind {
            FaultKind::Duplicate => self.repeat(&fault),
            FaultKind::Disconnect | FaultKind::Close => {
                self.cuts += 1;
                if fault.count.is_some() || fault.seconds.is_some() {
                    self.faults.add(fault, chat);
                }
            }
            _ => self.faults.add(fault, chat),
        }
        Ok(())
    }

    fn repeat(&mut self, fault: &Fault) {
        if let Some(past) = fault.past {
            for bot in self.bots.values_mut() {
                let from = bot.past.len().saturating_sub(past);
                bot.again.extend(bot.past.range(from..).cloned());
            }
        }
        if fault.past.is_none() || fault.count.is_some() {
            self.duplicates += fault.count.unwrap_or(1);
        }
    }
}

fn person_entry(chat: &Chat, user: &User, kind: Kind) -> Entry {
    let mut entry = Entry::new(&chat.name, chat.id, By::User, kind);
    entry.user = Some(user.name.clone());
    entry
}

/// Reads base64, padded or not.
fn base64(code: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(code.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for c in code.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}
