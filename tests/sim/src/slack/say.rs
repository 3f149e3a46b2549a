//! What people write, change and take away.

use serde_json::{Map, Value, json};

use super::cast::{Message, User, handle};
use super::compose::compose;
use super::files::File;
use super::people::{Edit, NewFile, Outcome, Refused, Remove, Said, Say, refused};
use super::text::mrkdwn;
use super::transcript::{By, Entry, Kind};
use super::update::wire;
use super::world::World;
use crate::files::content;

/// What a person can type into one message; longer texts become several.
const PAGE: usize = 12_000;

impl World {
    pub fn say(&mut self, say: Say) -> Outcome<Said> {
        let channel = self.place(&say.conversation)?;
        let user = self.person(&say.user, say.locale.clone())?;
        self.admit(&channel, &user)?;
        let user = if say.bot { self.make_bot(&user) } else { user };
        let thread = match (&say.thread, &say.reply_to) {
            (Some(wanted), _) => Some(self.thread(&channel, wanted, &user)?),
            (None, Some(target)) => {
                let root = self.channels[&channel].root(target);
                Some(root.ok_or_else(|| Refused { status: 404, why: "reply_to: no such message".into() })?)
            }
            (None, None) => None,
        };
        if let Some(why) = self.commanding(&channel, &say) {
            return refused(400, format!("text: {why}"));
        }
        let files = say.files.iter().map(|file| self.store(file, &user)).collect::<Outcome<Vec<_>>>()?;
        if files.is_empty() && say.text.is_empty() && !say.mention {
            return refused(400, "text: nothing to say");
        }
        let mut said = refused(400, "text: nothing to say");
        let pages: Vec<String> = pages(&say.text).into_iter().map(str::to_owned).collect();
        for (number, page) in pages.iter().enumerate() {
            let first = number == 0;
            let page = if first && say.mention { self.mentioning(&channel, page) } else { page.clone() };
            let mut message = self.written(&user, &page, &channel);
            message.thread.clone_from(&thread);
            if first && !files.is_empty() {
                message.files = files.iter().map(|file| file.id.clone()).collect();
                message.subtype = Some("file_share");
            } else if say.broadcast && thread.is_some() {
                message.subtype = Some("thread_broadcast");
            }
            let arrived = self.arrive(&channel, message, &user);
            said = said.or(Ok(arrived));
        }
        said
    }

    /// How the bot is named in a conversation.
    fn bots_handle(&self, channel: &str) -> String {
        let app = &self.apps[self.channels[channel].im.as_ref().map_or(0, |(_, app)| *app)];
        let name = app
            .install(self.channels[channel].team)
            .and_then(|install| self.user_by_id(&install.bot_user))
            .map_or_else(|| app.name.clone(), |user| user.name.clone());
        format!("@{}", handle(&name))
    }

    pub fn names_bot(&self, channel: &str, text: &str) -> bool {
        text.contains(&self.bots_handle(channel))
    }

    /// The text with the bot's name before it, as a person types it.
    fn mentioning(&self, channel: &str, text: &str) -> String {
        let named = self.names_bot(channel, text);
        if named { text.to_owned() } else { format!("{} {text}", self.bots_handle(channel)).trim_end().to_owned() }
    }

    /// A message of a person with the marks that a client sets.
    fn written(&mut self, user: &User, text: &str, _channel: &str) -> Message {
        let (text, blocks) = compose(self, text);
        let mut extra = Map::new();
        if user.bot.is_none() {
            extra.insert("client_msg_id".into(), json!(self.next_uuid()));
        } else {
            extra.insert("username".into(), json!(user.name));
            extra.insert("bot_id".into(), json!(user.bot));
        }
        let subtype = user.bot.as_ref().map(|_| "bot_message");
        let blocks = if text.is_empty() || user.bot.is_some() {
            Value::Null
        } else {
            json!([{"type": "rich_text", "block_id": self.next_id("b"), "elements": blocks}])
        };
        Message { ts: self.next_ts(), user: user.id.clone(), text, blocks, subtype, extra, ..Message::default() }
    }

    /// Somebody else's bot; from now on the person is one.
    fn make_bot(&mut self, user: &User) -> User {
        let bot = super::cast::id("B", &user.name);
        if let Some(known) = self.users.get_mut(&user.name) {
            known.bot = Some(bot.clone());
        }
        User { bot: Some(bot), ..user.clone() }
    }

    fn arrive(&mut self, channel: &str, message: Message, user: &User) -> Said {
        let ts = message.ts.clone();
        for file in &message.files {
            self.files.share(file, channel);
        }
        self.keep(channel, message);
        self.stats.received += 1;
        let (update, payload) = self.announce(channel, &ts);
        self.log_person(channel, &ts, user, Kind::Message, payload);
        Said { message: Some(ts), chat: channel.to_owned(), update, interaction: None }
    }

    fn log_person(&mut self, channel: &str, ts: &str, user: &User, kind: Kind, payload: Value) {
        let Some((place, message)) = self.found(channel, ts) else { return };
        let mut entry = Entry::new(&place.name, channel, By::User, kind);
        let read = mrkdwn(&message.text, false, &|id| self.name_of(id));
        entry.user = Some(user.name.clone());
        entry.message = Some(ts.to_owned());
        entry.text = read.text;
        entry.mentions = read.pings.len();
        entry.pings = read.pings;
        entry.thread = place.thread_name(message.thread.as_deref());
        entry.files = self.files.seen(&message.files);
        entry.payload = payload;
        self.log(entry);
    }

    fn store(&mut self, file: &NewFile, user: &User) -> Outcome<File> {
        let bytes = content(file.base64.as_deref(), file.text.as_deref())?;
        let mime = file.mime.clone().unwrap_or_else(|| "application/octet-stream".into());
        Ok(self.files.add(&file.name, &mime, bytes.into(), file.size, &user.id))
    }

    pub fn edit(&mut self, edit: &Edit) -> Outcome<Said> {
        let channel = self.place(&edit.conversation)?;
        let user = self.person(&edit.user, None)?;
        let Some(message) = self.message(&channel, &edit.message) else {
            return refused(404, "message: no such message");
        };
        if message.user != user.id {
            return refused(400, "message: written by somebody else");
        }
        let previous = wire(self, &channel, &edit.message);
        let fresh = self.written(&user, &edit.text, &channel);
        if let Some(message) =
            self.channels.get_mut(&channel).and_then(|channel| channel.messages.get_mut(&edit.message))
        {
            (message.text, message.blocks) = (fresh.text, fresh.blocks);
            message.edited = Some((user.id.clone(), fresh.ts));
        }
        self.stats.received += 1;
        let (update, payload) = self.announce_change(&channel, &edit.message, previous);
        self.log_person(&channel, &edit.message, &user, Kind::Edit, payload);
        Ok(Said { message: Some(edit.message.clone()), chat: channel, update, interaction: None })
    }

    pub fn remove(&mut self, remove: &Remove) -> Outcome<()> {
        let channel = self.place(&remove.conversation)?;
        let Some((place, message)) = self.found(&channel, &remove.message) else {
            return refused(404, "message: no such message");
        };
        let mut entry = Entry::new(&place.name, &channel, By::User, Kind::Delete);
        entry.user = Some(self.called(&message.user));
        entry.message = Some(remove.message.clone());
        entry.thread = place.thread_name(message.thread.as_deref());
        self.stats.received += 1;
        entry.payload = self.forget(&channel, &remove.message);
        self.log(entry);
        Ok(())
    }
}

/// Cuts a text as a client does that is given more than one message holds.
fn pages(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut held) = (Vec::new(), 0, 0);
    for (at, _) in text.char_indices() {
        if held == PAGE {
            out.push(&text[start..at]);
            (start, held) = (at, 0);
        }
        held += 1;
    }
    out.push(&text[start..]);
    out
}
