//! Conversations and who is in them: found by name, made when they are first named, changed on demand.

use serde_json::{Map, Value, json};

use super::cast::{Author, Chat, ChatKind, Message, Role, Standing, User, now, topic_name};
use super::info::add_topic;
use super::people::{Conversation, NewKind, Outcome, Refused, Remove, State, refused};
use super::react;
use super::text::Formatted;
use super::world::World;

impl World {
    /// The chat of a conversation; one that is not known yet is made.
    pub fn place(&mut self, name: &str) -> Outcome<i64> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        if let Some(chat) = name.parse().ok().and_then(|id: i64| self.chats.get(&id)) {
            return Ok(chat.id);
        }
        if name.is_empty() || name == "dm:" {
            return refused(400, "conversation: a name is needed, such as general or dm:ann");
        }
        let kind = if name.starts_with("dm:") { ChatKind::Private } else { ChatKind::Supergroup };
        self.add_chat(name, kind, name).ok_or_else(|| Refused { status: 409, why: "too many conversations".into() })
    }

    pub fn person(&mut self, name: &str, language: Option<String>) -> Outcome<User> {
        if name.is_empty() {
            return refused(400, "user: a name is needed");
        }
        let Some(user) = self.user(name) else { return refused(409, "too many people") };
        if let Some(known) = self.users.get_mut(name).filter(|_| language.is_some()) {
            known.language = language;
        }
        Ok(self.users.get(name).cloned().unwrap_or(user))
    }

    pub fn conversation(&mut self, wanted: &Conversation) -> Outcome<i64> {
        let id = match (self.names.get(&wanted.name).copied(), wanted.kind) {
            (Some(id), _) => id,
            (None, None) => self.place(&wanted.name)?,
            (None, Some(kind)) => self.create(&wanted.name, kind, wanted.title.as_deref())?,
        };
        for (name, role) in &wanted.roles {
            let user = self.person(name, None)?.id;
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.members.insert(user);
                chat.roles.insert(user, *role);
            }
        }
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
        if let (Some(chat), Some(open)) = (self.chats.get_mut(&id), wanted.open) {
            chat.open = open;
        }
        if let (Some(chat), Some(reactions)) = (self.chats.get_mut(&id), &wanted.reactions) {
            chat.reactions = Some(reactions.iter().map(|emoji| react::plain(emoji).to_owned()).collect());
        }
        Ok(id)
    }

    pub fn create(&mut self, name: &str, kind: NewKind, title: Option<&str>) -> Outcome<i64> {
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

    pub fn tell_membership(&mut self, id: i64, state: State) {
        let (old, new) = if state == State::Open { (Role::Kicked, Role::Member) } else { (Role::Member, Role::Kicked) };
        let Some(chat) = self.chats.get(&id) else { return };
        let from = chat
            .members
            .first()
            .map(|id| self.author_json(Author::User(*id)))
            .unwrap_or(json!({"id": 1, "is_bot": false, "first_name": "Owner"}));
        let event = json!({"chat": chat.json(), "from": from, "date": now()});
        let privacy = self.privacy;
        let only = self.only(chat);
        for bot in self.bots.values_mut().filter(|bot| only.is_none_or(|only| only == bot.id)) {
            let (mut event, user) = (event.clone(), bot.json());
            event["old_chat_member"] = old.json(user.clone());
            event["new_chat_member"] = new.json(user);
            bot.queue_event("my_chat_member", &event, privacy);
        }
        self.stats.received += 1;
    }

    /// Gives a group a new id under the same name, and tells bots in both.
    pub fn upgrade(&mut self, old: i64) -> Outcome<i64> {
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
                reactions: Default::default(),
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
    pub fn thread(&mut self, id: i64, wanted: &Value, author: Author) -> Outcome<Option<i64>> {
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        if chat.kind != ChatKind::Supergroup {
            return refused(400, "thread: only groups with topics have threads");
        }
        chat.forum = true;
        let name = topic_name(wanted);
        if name == "General" || name == "1" {
            return Ok(None);
        }
        let known = chat.topic(wanted);
        if known.is_some() {
            return Ok(known);
        }
        let made = add_topic(chat, &name, author);
        self.deliver("message", id, made);
        Ok(Some(made))
    }

    /// Takes a message or a whole topic out of a conversation.
    pub fn remove(&mut self, remove: &Remove) -> Outcome<()> {
        let id = self.place(&remove.conversation)?;
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        if let Some(wanted) = &remove.thread {
            let Some(topic) = chat.topic(wanted) else { return refused(404, "thread: no such topic") };
            chat.topics.remove(&topic);
            chat.messages.retain(|_, message| message.thread != Some(topic));
        }
        match remove.message {
            Some(number) if chat.messages.remove(&number).is_none() => refused(404, "message: no such message"),
            None if remove.thread.is_none() => refused(400, "message or thread is needed"),
            _ => Ok(()),
        }
    }

    pub fn conversations(&self) -> Vec<Value> {
        let shown = |chat: &Chat| {
            let topics: Vec<Value> = chat.topics.iter().map(|(id, name)| json!({"id": id, "name": name})).collect();
            json!({"name": chat.name, "chat": chat.wire, "kind": chat.json()["type"], "title": chat.title, "forum": chat.forum, "topics": topics})
        };
        self.chats.values().filter(|chat| self.names.get(&chat.name) == Some(&chat.id)).map(shown).collect()
    }

    /// The first list of commands that is set, from the narrowest scope to the widest, each first in the person's language.
    pub fn menu(&self, conversation: &str, language: &str) -> Outcome<Value> {
        let Some(chat) = self.names.get(conversation).and_then(|id| self.chats.get(id)) else {
            return refused(404, "conversation: no such one");
        };
        let own = format!("chat:{}", chat.wire);
        let wide = if chat.kind == ChatKind::Private { "all_private_chats" } else { "all_group_chats" };
        let bot = self.bots.values().find(|bot| bot.username == self.username);
        let list = bot.and_then(|bot| {
            let keys = [own.as_str(), wide, "default"].into_iter().flat_map(|scope| [(scope, language), (scope, "")]);
            keys.into_iter().find_map(|(scope, language)| bot.commands.get(&(scope.to_owned(), language.to_owned())))
        });
        Ok(list.cloned().unwrap_or(json!([])))
    }
}
