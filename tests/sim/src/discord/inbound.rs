//! What people do with messages: write, edit, react; and what somebody injects or breaks on purpose.

use serde_json::{Value, json};

use super::cast::{FORUM, Message, User};
use super::draft::{keep_file, snapshot};
use super::fault::{Fault, Kind as FaultKind};
use super::files::mime;
use super::ids::stamp;
use super::mentions;
use super::people::{Edit, NewFile, Outcome, React, Refused, Said, Say, Typing, refused};
use super::places::word;
use super::reactions;
use super::session::Order;
use super::show;
use super::transcript::{By, Entry, Kind};
use super::world::World;
use crate::files::content;
use crate::transcript::now_ms;

/// A person writes at most this many characters at once.
const PAGE: usize = 2_000;

/// Cuts a text into pages at line ends or blanks where there are any.
fn pages(text: &str, most: usize) -> Vec<&str> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some((limit, _)) = rest.char_indices().nth(most) {
        let head = &rest[..limit];
        let at = head.rfind('\n').or_else(|| head.rfind(' ')).filter(|at| *at > 0).map_or(limit, |at| at + 1);
        out.push(&rest[..at]);
        rest = &rest[at..];
    }
    out.push(rest);
    out
}

impl World {
    /// The mention of the bot that shows itself first.
    fn bot_mention(&self) -> Option<(u64, String)> {
        let bot =
            self.bots.values().find(|bot| bot.name == self.setup.username).or_else(|| self.bots.values().next())?;
        Some((bot.id, format!("<@{}>", bot.id)))
    }

    /// The text as the client sends it: `@name` of the bot becomes its mention.
    fn spoken(&self, text: &str, mention: bool) -> String {
        let Some((_, tag)) = self.bot_mention() else { return text.to_owned() };
        let text = text.replace(&format!("@{}", self.setup.username), &tag);
        if mention && !text.contains(&tag) { format!("{tag} {text}") } else { text }
    }

    pub fn say(&mut self, say: Say) -> Outcome<Said> {
        let top = self.place(&say.conversation)?;
        let user = self.person(&say.user, say.language_code.as_deref())?;
        if let Some(known) = self.users.get_mut(&user.id) {
            known.bot = say.bot;
        }
        self.admit(top, &user)?;
        let mut channel = top;
        if let Some(wanted) = &say.thread {
            channel = self.thread(top, wanted, user.id)?;
        } else if self.channels.get(&top).is_some_and(|channel| channel.kind == FORUM) {
            return refused(400, "thread: in a forum every message is in one");
        }
        let mut reply = None;
        if let Some(target) = &say.reply_to {
            let (place, id) = self.locate(top, target)?;
            (channel, reply) = (place, Some(id));
        }
        let text = self.spoken(&say.text, say.mention);
        let texts: Vec<&str> = pages(&text, PAGE);
        let mut said = None;
        for (number, page) in texts.iter().enumerate() {
            let first = number == 0;
            let more = first
                && (!say.files.is_empty() || !say.stickers.is_empty() || say.forward.is_some() || say.system.is_some());
            if page.trim().is_empty() && !more {
                continue;
            }
            let mut message = Message::new(self.next_id(), user.id);
            message.set("content", json!(page.trim()));
            if first {
                self.dress(&mut message, channel, &say, reply)?;
            }
            self.name_mentions(&mut message, channel);
            let arrived = self.arrive(channel, message, &user);
            said = said.or(Some(arrived));
        }
        said.ok_or_else(|| Refused { status: 400, why: "text: nothing to say".into() })
    }

    /// Puts on a message what else it carries.
    fn dress(&mut self, message: &mut Message, channel: u64, say: &Say, reply: Option<u64>) -> Outcome<()> {
        if let Some(id) = reply {
            let guild = self.channels.get(&channel).and_then(|channel| channel.guild);
            message.set("type", json!(19));
            let mut reference = json!({"type": 0, "channel_id": channel.to_string(), "message_id": id.to_string()});
            if let Some(guild) = guild {
                reference["guild_id"] = json!(guild.to_string());
            }
            message.set("message_reference", reference);
        }
        let files = say.files.iter().map(|file| self.store(channel, file)).collect::<Outcome<Vec<_>>>()?;
        if !files.is_empty() {
            message.set("attachments", json!(files));
        }
        if !say.stickers.is_empty() {
            let stickers = say.stickers.iter().zip(1_u64..);
            let items: Vec<Value> =
                stickers.map(|(name, n)| json!({"id": (749_000_000_000_000_000 + n).to_string(), "name": name, "format_type": 1})).collect();
            message.set("sticker_items", json!(items));
        }
        if say.webhook {
            let user = json!({"id": message.author.to_string(), "username": say.user, "discriminator": "0000", "avatar": null, "bot": true});
            message.set("webhook_id", json!(message.author.to_string()));
            message.set("author", user);
        }
        if let Some(kind) = say.system {
            message.set("type", json!(kind));
        }
        if say.voice {
            message.set("flags", json!(1 << 13));
        }
        if let Some(forward) = &say.forward {
            self.forward(message, channel, forward);
        }
        Ok(())
    }

    fn forward(&self, message: &mut Message, channel: u64, forward: &str) {
        let id: Option<u64> = forward.parse().ok();
        let found =
            id.and_then(|id| self.channels.values().find_map(|channel| Some((channel.id, channel.messages.get(&id)?))));
        let (from, id, shot) = match found {
            Some((from, source)) => (from, source.id, snapshot(source)),
            None => {
                let mut source = Message::new(message.id, message.author);
                source.set("content", json!(forward));
                (channel, message.id, snapshot(&source))
            }
        };
        message.set("flags", json!(message.flags() | 1 << 14));
        message
            .set("message_reference", json!({"type": 1, "channel_id": from.to_string(), "message_id": id.to_string()}));
        message.set("message_snapshots", json!([{"message": shot}]));
    }

    /// Sets whom a person's message mentions; a reply mentions its target, as the client does unless it is told not to.
    fn name_mentions(&self, message: &mut Message, channel: u64) {
        let named = mentions::find(message.content());
        let known = self.channels.get(&channel);
        let target = message.reply_to().and_then(|id| known?.messages.get(&id)).map(|target| target.author);
        let users: Vec<Value> = named
            .users
            .iter()
            .copied()
            .chain(target.filter(|id| !named.users.contains(id)))
            .filter(|id| self.called(*id).is_some())
            .map(|id| self.author_json(id))
            .collect();
        message.set("mentions", json!(users));
        message.set("mention_roles", json!(named.roles.iter().map(u64::to_string).collect::<Vec<_>>()));
        message.set("mention_everyone", json!(named.everyone && known.is_some_and(|channel| channel.guild.is_some())));
    }

    /// Keeps a file that a person sends and gives its object.
    pub fn store(&mut self, channel: u64, file: &NewFile) -> Outcome<Value> {
        let bytes = content(file.base64.as_deref(), file.text.as_deref())?;
        let kind = file.mime.clone().unwrap_or_else(|| mime(&file.name).to_owned());
        Ok(keep_file(self, channel, file.name.clone(), kind, bytes.into(), file.size, None))
    }

    fn arrive(&mut self, channel: u64, message: Message, user: &User) -> Said {
        let id = message.id;
        if let Some(thread) = self.channels.get_mut(&channel).filter(|channel| channel.is_thread()) {
            thread.members.insert(user.id);
            if std::mem::take(&mut thread.archived) {
                let (guild, event) = (thread.guild, thread.json());
                self.tell("THREAD_UPDATE", guild, event);
            }
        }
        self.keep(channel, message);
        self.stats.received += 1;
        let payload = self.tell_message("MESSAGE_CREATE", channel, id);
        self.log_person(channel, id, user, Kind::Message, payload)
    }

    fn log_person(&mut self, channel: u64, id: u64, user: &User, kind: Kind, payload: Value) -> Said {
        let Some(known) = self.channels.get(&channel) else { return Said::default() };
        let mut entry = Entry::new(&known.conversation, channel.to_string(), By::User, kind);
        entry.user = Some(user.name.clone());
        entry.thread = self.thread_name(channel);
        entry.message = Some(id.to_string());
        if let Some(message) = known.messages.get(&id) {
            entry.text = self.readable(message);
            entry.reply_to = message.reply_to().map(|id| id.to_string());
            entry.files = show::files(message);
        }
        entry.payload = payload;
        self.log(entry);
        Said { message: Some(id.to_string()), chat: channel.to_string(), interaction: None }
    }

    pub fn edit(&mut self, edit: &Edit) -> Outcome<Said> {
        let top = self.place(&edit.conversation)?;
        let user = self.person(&edit.user, None)?;
        let (channel, id) = self.locate(top, &edit.message)?;
        let text = self.spoken(&edit.text, false);
        let Some(mut message) = self.channels.get(&channel).and_then(|channel| channel.messages.get(&id)).cloned()
        else {
            return refused(404, "message: no such message");
        };
        if message.author != user.id {
            return refused(400, "message: written by somebody else");
        }
        message.set("content", json!(text));
        message.set("edited_timestamp", json!(stamp(now_ms())));
        self.name_mentions(&mut message, channel);
        if let Some(known) = self.channels.get_mut(&channel) {
            known.messages.insert(id, message);
        }
        self.stats.received += 1;
        let payload = self.tell_message("MESSAGE_UPDATE", channel, id);
        Ok(self.log_person(channel, id, &user, Kind::Edit, payload))
    }

    pub fn person_reacts(&mut self, react: &React) -> Outcome<()> {
        let top = self.place(&react.conversation)?;
        let user = self.person(&react.user, None)?;
        self.admit(top, &user)?;
        let (channel, id) = self.locate(top, &react.message)?;
        let Some(emoji) = reactions::emoji(&react.emoji) else { return refused(400, "emoji: no such one") };
        let text = if react.remove { "" } else { react.emoji.as_str() };
        if react.remove {
            self.unreact(channel, id, &emoji, user.id)?;
        } else if !self.react(channel, id, &emoji, user.id)? {
            return Ok(());
        }
        self.stats.received += 1;
        let payload = json!({"emoji": emoji, "removed": react.remove});
        self.log_reaction(channel, id, text, By::User, Some(user.name), payload);
        Ok(())
    }

    pub fn person_types(&mut self, typing: &Typing) -> Outcome<()> {
        let mut channel = self.place(&typing.conversation)?;
        let user = self.person(&typing.user, None)?;
        self.admit(channel, &user)?;
        if let Some(thread) = &typing.thread {
            let Some(found) = self.find_thread(channel, &word(thread)) else {
                return refused(404, "thread: no such thread");
            };
            channel = found;
        }
        let guild = self.channels.get(&channel).and_then(|channel| channel.guild);
        let mut event =
            json!({"channel_id": channel.to_string(), "user_id": user.id.to_string(), "timestamp": now_ms() / 1_000});
        if let Some(guild) = guild {
            event["guild_id"] = json!(guild.to_string());
            event["member"] = self.full_member(guild, user.id);
        }
        self.tell("TYPING_START", guild, event);
        Ok(())
    }

    pub fn raw(&mut self, event: Value) -> Outcome<u64> {
        if !event.is_object() {
            return refused(400, "event: a frame is an object");
        }
        if event["op"].as_u64().is_some_and(|op| op != 0) {
            for connection in self.connections.values_mut() {
                connection.orders.push_back(Order::Send(event.clone()));
            }
            self.moves += 1;
            return Ok(0);
        }
        let Some(name) = event["t"].as_str().map(str::to_owned) else {
            return refused(400, "event: t is the event's name");
        };
        let sessions: Vec<String> = self.sessions.keys().cloned().collect();
        if sessions.is_empty() {
            return refused(409, "event: no bot has shown itself yet");
        }
        self.stats.received += 1;
        for session in &sessions {
            self.push(session, &name, event["d"].clone());
        }
        Ok(sessions.iter().filter_map(|id| self.sessions.get(id)).map(|session| session.seq).max().unwrap_or_default())
    }

    pub fn break_as_ordered(&mut self, fault: Fault) -> Outcome<()> {
        let channel = match &fault.conversation {
            Some(name) => Some(self.place(name)?),
            None => None,
        };
        match fault.kind {
            FaultKind::Duplicate => self.repeat(&fault),
            kind if kind.is_socket() && fault.method.is_none() => {
                let open: Vec<u64> = self.connections.keys().copied().collect();
                open.into_iter().for_each(|id| self.strike(id, &fault));
                if fault.count.is_some() || fault.seconds.is_some() {
                    self.faults.add(fault, channel);
                }
            }
            _ => self.faults.add(fault, channel),
        }
        Ok(())
    }

    fn repeat(&mut self, fault: &Fault) {
        if let Some(past) = fault.past {
            let sessions: Vec<String> = self.sessions.keys().cloned().collect();
            for id in sessions {
                let Some(session) = self.sessions.get(&id) else { continue };
                let from = session.kept.len().saturating_sub(past);
                let again: Vec<Value> = session.kept.range(from..).map(|(_, event)| event.clone()).collect();
                for mut event in again {
                    let name = event["t"].as_str().unwrap_or_default().to_owned();
                    self.push(&id, &name, event["d"].take());
                }
            }
        }
        if fault.past.is_none() || fault.count.is_some() {
            self.duplicates += fault.count.unwrap_or(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_blanks_and_lose_nothing() {
        let text = "word ".repeat(1_000);
        let parts = pages(&text, PAGE);
        assert!(parts.iter().all(|part| part.chars().count() <= PAGE) && parts.len() == 3);
        assert_eq!(parts.concat(), text);
        assert_eq!(pages("", PAGE), [""]);
    }
}
