//! What people do: write, edit, press; and what somebody injects or breaks on purpose.

use serde_json::{Map, Value, json};

use super::cast::{Author, Chat, ChatKind, Message, User, now, pages};
use super::fault::{Fault, Kind as FaultKind};
use super::files::{File, FileKind};
use super::markup;
use super::people::{Edit, NewFile, Outcome, Press, Said, Say, refused};
use super::send::seen;
use super::text::{Entity, Formatted, units};
use super::transcript::{By, Entry, Kind};
use super::world::{KEPT_UPDATES, Press as Waiting, World};
use crate::files::content;
use crate::transcript::now_ms;

impl World {
    pub fn deliver(&mut self, kind: &'static str, chat: i64, message: i64) -> (Option<i64>, Value) {
        let Some((chat, message)) = self.chats.get(&chat).and_then(|chat| Some((chat, chat.messages.get(&message)?)))
        else {
            return (None, Value::Null);
        };
        let event = self.message_json(chat, message);
        self.stats.received += 1;
        let only = self.only(chat);
        (self.tell(kind, event.clone(), only), event)
    }

    pub fn say(&mut self, say: Say) -> Outcome<Said> {
        let id = self.place(&say.conversation)?;
        let user = self.person(&say.user, say.language_code.clone())?;
        if let Some(known) = self.users.get_mut(&user.name) {
            known.is_bot = say.bot;
        }
        self.admit(id, &user)?;
        let author = Author::User(user.id);
        let (thread, extra) = self.around(id, &say, author)?;
        let message = |text| Message {
            id: 0,
            date: now(),
            author,
            thread,
            text,
            media: None,
            reply_to: say.reply_to,
            markup: None,
            edited: None,
            reactions: Default::default(),
            extra: extra.clone(),
        };
        if !say.files.is_empty() {
            let first = message(self.spoken(&say.text, say.mention));
            return self.send_files(id, &user, first, &say.files);
        }
        let mut said = refused(400, "text: nothing to say");
        for (number, page) in pages(&say.text, 4_096).into_iter().enumerate() {
            let text = self.spoken(page, say.mention && number == 0);
            if !text.text.is_empty() {
                let arrived = self.arrive(id, message(text), &user, None)?;
                said = said.or(Ok(arrived));
            }
        }
        said
    }

    /// The topic of what is said, and what else its message carries.
    fn around(&mut self, id: i64, say: &Say, author: Author) -> Outcome<(Option<i64>, Map<String, Value>)> {
        let mut thread = match &say.thread {
            Some(wanted) => self.thread(id, wanted, author)?,
            None => None,
        };
        let mut extra = Map::new();
        if let Some(target) = say.reply_to {
            let target = self.chats.get(&id).and_then(|chat| chat.messages.get(&target));
            let Some(target) = target else { return refused(404, "reply_to: no such message") };
            thread = thread.or(target.thread);
            if let Some(quoted) = &say.quote {
                let Some(at) = target.text.text.find(quoted) else { return refused(400, "quote: not in the message") };
                let position = units(&target.text.text[..at]);
                extra.insert("quote".into(), json!({"text": quoted, "position": position, "is_manual": true}));
            }
        }
        if let Some(name) = &say.sender_chat {
            extra.extend(self.unnamed(id, name)?);
        }
        Ok((thread, extra))
    }

    /// One message per file; several are an album, whose first carries the text.
    fn send_files(&mut self, id: i64, user: &User, mut message: Message, files: &[NewFile]) -> Outcome<Said> {
        let files = files.iter().map(|file| self.store(file)).collect::<Outcome<Vec<_>>>()?;
        if files.len() > 1 {
            message.extra.insert("media_group_id".into(), json!(self.next_serial().to_string()));
        }
        let rest = Message { text: Formatted::default(), reply_to: None, ..message.clone() };
        let mut said = refused(400, "files: none");
        for file in files {
            let next = if said.is_err() { message.clone() } else { rest.clone() };
            let arrived = self.arrive(id, next, user, Some(file))?;
            said = said.or(Ok(arrived));
        }
        said
    }

    /// Who is shown in place of a person: a chat, and the account that the platform has for such cases.
    fn unnamed(&mut self, here: i64, name: &str) -> Outcome<Map<String, Value>> {
        let chat = self.place(name)?;
        let (id, first_name, username) = match chat == here {
            true => (1_087_968_824, "Group", "GroupAnonymousBot"),
            false => (136_817_688, "Channel", "Channel_Bot"),
        };
        let Some(chat) = self.chats.get(&chat).filter(|chat| chat.kind != ChatKind::Private) else {
            return refused(400, "sender_chat: a person speaks in their own name");
        };
        let stand_in = json!({"id": id, "is_bot": true, "first_name": first_name, "username": username});
        Ok([("from".to_owned(), stand_in), ("sender_chat".to_owned(), chat.json())].into_iter().collect())
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
    fn spoken(&self, text: &str, mention: bool) -> Formatted {
        let handle = format!("@{}", self.username);
        let text = if mention && !text.contains(&handle) { format!("{handle} {text}") } else { text.to_owned() };
        let mut done = Formatted::plain(text).settle();
        // A name too short to be found by itself is a mention all the same when it is the bot's.
        let at = done.text.find(&handle).map(|at| units(&done.text[..at]));
        if let Some(at) = at.filter(|at| {
            mention && !done.entities.iter().any(|entity| entity.kind == "mention" && entity.offset == *at)
        }) {
            done.entities.push(Entity::new("mention", at, units(&handle)));
        }
        done
    }

    fn store(&mut self, file: &NewFile) -> Outcome<File> {
        let bytes = content(file.base64.as_deref(), file.text.as_deref())?;
        let mime = file.mime.clone().unwrap_or_else(|| "application/octet-stream".into());
        let is_photo = mime.starts_with("image/") && File::is_picture(&bytes);
        let kind = file.kind.unwrap_or(if is_photo { FileKind::Photo } else { FileKind::Document });
        Ok(self.files.add(&file.name, &mime, bytes.into(), file.size, kind))
    }

    fn arrive(&mut self, id: i64, mut message: Message, user: &User, file: Option<File>) -> Outcome<Said> {
        message.media = file.as_ref().map(File::media);
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
        file: Option<&File>,
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
        let chat = chat.wire;
        self.log(entry);
        Ok(Said { message: Some(number), chat, update, interaction: None })
    }

    pub fn edit(&mut self, edit: &Edit) -> Outcome<Said> {
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

    pub fn press(&mut self, press: &Press) -> Outcome<Said> {
        let id = self.place(&press.conversation)?;
        let user = self.person(&press.user, None)?;
        if press.message < 0 {
            return super::draft::stop(self, id, press);
        }
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
        let Author::Bot(bot) = message.author else { return refused(400, "button: no bot put it there") };
        let (data, event, chat_seen) = (button.id.clone(), self.message_json(chat, message), chat.wire);
        let mut entry = person_entry(chat, &user, Kind::Private);
        entry.message = Some(press.message);
        entry.text = button.text.clone();
        entry.thread = chat.thread_name(message.thread);
        let query = format!("{}{:06}", now_ms(), self.next_serial());
        let event = json!({"id": query, "from": user.json(), "message": event, "chat_instance": chat_seen.to_string(), "data": data});
        entry.payload = event.clone();
        self.log(entry);
        self.stats.received += 1;
        while self.presses.len() >= KEPT_UPDATES {
            self.presses.pop_first();
        }
        self.presses.insert(
            query.clone(),
            Waiting { chat: id, bot, user: user.name, message: press.message, asked_ms: now_ms() },
        );
        let update = self.tell("callback_query", event, Some(bot));
        Ok(Said { message: None, chat: chat_seen, update, interaction: Some(query) })
    }

    pub fn raw(&mut self, event: Value) -> Outcome<i64> {
        if !event.is_object() {
            return refused(400, "event: an update is an object");
        }
        if self.bots.is_empty() {
            return refused(409, "event: no bot has shown itself yet");
        }
        if event["update_id"].as_i64().is_some_and(|id| !(0..1 << 53).contains(&id)) {
            return refused(400, "event: update_id is out of range");
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

    pub fn break_as_ordered(&mut self, fault: Fault) -> Outcome<()> {
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
                bot.again.extend(bot.past.range(from..).map(|(_, update)| update.clone()));
            }
        }
        if fault.past.is_none() || fault.count.is_some() {
            self.duplicates += fault.count.unwrap_or(1);
        }
    }
}

pub fn person_entry(chat: &Chat, user: &User, kind: Kind) -> Entry {
    let mut entry = Entry::new(&chat.name, chat.wire, By::User, kind);
    entry.user = Some(user.name.clone());
    entry
}
