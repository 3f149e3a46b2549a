//! Conversations and who is in them: found by name, made when they are first named, changed on demand.

use serde_json::{Value, json};

use super::cast::{ADMINISTRATOR, Channel, DIRECT, FORUM, Guild, NEWS, Role, Standing, TEXT, User};
use super::ids::digest;
use super::people::{Conversation, NewKind, Outcome, Refused, State, refused};
use super::request::snowflake;
use super::transcript::By;
use super::world::World;

/// A number or a name as a test writes it.
pub fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl World {
    /// The channel of a conversation; one that is not known yet is made.
    pub fn place(&mut self, name: &str) -> Outcome<u64> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        if let Some(channel) = name.parse().ok().and_then(|id| self.channels.get(&id)) {
            return Ok(channel.id);
        }
        let kind = if name.starts_with("dm:") { NewKind::Private } else { NewKind::Text };
        let home = self.home();
        self.create_channel(name, kind, name, home)
    }

    fn create_channel(&mut self, name: &str, kind: NewKind, title: &str, guild: u64) -> Outcome<u64> {
        if name.is_empty() || name == "dm:" {
            return refused(400, "conversation: a name is needed, such as general or dm:ann");
        }
        if name.starts_with("dm:") != (kind == NewKind::Private) {
            return refused(400, "name: private conversations are called dm:NAME, others are not");
        }
        let (kind, guild) = match kind {
            NewKind::Private => (DIRECT, None),
            NewKind::Text => (TEXT, Some(guild)),
            NewKind::Announcement => (NEWS, Some(guild)),
            NewKind::Forum => (FORUM, Some(guild)),
        };
        let Some(id) = self.add_channel(name, kind, guild, title) else {
            return refused(409, "too many conversations");
        };
        if let Some(channel) = self.channels.get(&id).filter(|_| guild.is_some()) {
            let event = channel.json();
            self.tell("CHANNEL_CREATE", guild, event);
        }
        Ok(id)
    }

    pub fn person(&mut self, name: &str, language: Option<&str>) -> Outcome<User> {
        if name.is_empty() {
            return refused(400, "user: a name is needed");
        }
        let Some(user) = self.user(name) else { return refused(409, "too many people") };
        if let (Some(known), Some(language)) = (self.users.get_mut(&user.id), language) {
            known.locale = language.to_owned();
        }
        Ok(user)
    }

    /// Lets a person into a channel, whose guild they join.
    pub fn admit(&mut self, channel: u64, user: &User) -> Outcome<()> {
        let Some(known) = self.channels.get(&channel) else { return refused(404, "no such conversation") };
        if known.recipient.is_some_and(|owner| owner != user.id) {
            return refused(400, format!("user: {} is somebody else's private conversation", known.conversation));
        }
        if known.standing == Standing::Gone {
            return refused(404, "conversation: it is gone");
        }
        if let Some(guild) = known.guild {
            self.join(guild, user.id);
        }
        Ok(())
    }

    /// Finds or opens a thread by name or number.
    pub fn thread(&mut self, channel: u64, wanted: &Value, owner: u64) -> Outcome<u64> {
        let wanted = word(wanted);
        if let Some(known) = self.find_thread(channel, &wanted) {
            return Ok(known);
        }
        if self.channels.get(&channel).is_none_or(|channel| channel.guild.is_none() || channel.is_thread()) {
            return refused(400, "thread: only channels of a guild have threads");
        }
        self.open_thread(channel, &wanted, owner, None)
            .ok_or_else(|| Refused { status: 409, why: "too many threads".into() })
    }

    /// Finds a message of a conversation, in its channel or in one of its threads.
    pub fn locate(&self, channel: u64, message: &Value) -> Outcome<(u64, u64)> {
        let id = snowflake(message).unwrap_or_default();
        let within = self.channels.values().filter(|one| one.id == channel || one.parent == Some(channel));
        let mut within = within.filter(|one| one.messages.contains_key(&id));
        match within.next() {
            Some(found) => Ok((found.id, id)),
            None => refused(404, "message: no such message"),
        }
    }

    pub fn conversation(&mut self, wanted: &Conversation) -> Outcome<String> {
        let guild = match &wanted.guild {
            Some(name) => self.guild(name)?,
            None => self.home(),
        };
        let id = match (self.names.get(&wanted.name).copied(), wanted.kind) {
            (Some(id), _) => id,
            (None, None) if wanted.guild.is_none() => self.place(&wanted.name)?,
            (None, kind) => {
                let title = wanted.title.as_deref().unwrap_or(&wanted.name);
                self.create_channel(&wanted.name, kind.unwrap_or(NewKind::Text), title, guild)?
            }
        };
        for (name, role) in &wanted.roles {
            self.give_roles(id, name, role)?;
        }
        let target = match &wanted.thread {
            Some(thread) => self
                .find_thread(id, &word(thread))
                .ok_or_else(|| Refused { status: 404, why: "thread: no such thread".into() })?,
            None => id,
        };
        if let Some(state) = wanted.state {
            self.set_state(target, state);
        }
        if let (Some(channel), Some(title)) = (self.channels.get_mut(&id), &wanted.title) {
            channel.name = title.clone();
        }
        Ok(id.to_string())
    }

    /// A guild by name, made with every bot in it when it is not known yet.
    fn guild(&mut self, name: &str) -> Outcome<u64> {
        let id = digest(&format!("guild:{name}"));
        if self.guilds.contains_key(&id) {
            return Ok(id);
        }
        if self.guilds.len() >= 1_000 {
            return refused(409, "too many guilds");
        }
        let mut guild = Guild::new(name);
        guild.members.extend(self.bots.keys().map(|bot| (*bot, Default::default())));
        guild.members.insert(guild.owner, Default::default());
        self.guilds.insert(id, guild);
        let bots: Vec<u64> = self.bots.keys().copied().collect();
        for bot in bots {
            let event = self.guild_event(id, bot);
            self.tell_bot(bot, "GUILD_CREATE", Some(id), event);
        }
        Ok(id)
    }

    fn give_roles(&mut self, channel: u64, name: &str, wanted: &Value) -> Outcome<()> {
        let user = self.person(name, None)?;
        self.admit(channel, &user)?;
        let Some(guild) = self.channels.get(&channel).and_then(|channel| channel.guild) else {
            return refused(400, "roles: a direct conversation has none");
        };
        let names: Vec<String> = match wanted {
            Value::Array(names) => names.iter().map(word).collect(),
            one => vec![word(one)],
        };
        let Some(guild) = self.guilds.get_mut(&guild) else { return refused(404, "no such guild") };
        let held = guild.members.entry(user.id).or_default();
        held.clear();
        for role in names.iter().filter(|role| !matches!(role.as_str(), "" | "member")) {
            if role == "owner" {
                guild.owner = user.id;
                continue;
            }
            let id = digest(&format!("role:{}:{role}", guild.id));
            if !guild.roles.iter().any(|known| known.id == id) {
                let permissions = if role == "administrator" { ADMINISTRATOR } else { 0 };
                guild.roles.push(Role { id, name: role.clone(), permissions });
            }
            held.insert(id);
        }
        let id = guild.id;
        let data = self.full_member(id, user.id);
        self.tell("GUILD_MEMBER_UPDATE", Some(id), data);
        Ok(())
    }

    /// Takes every bot out of a guild, or lets all in; an outage only says so.
    fn set_guild(&mut self, id: u64, state: State) {
        let gone = json!({"id": id.to_string(), "unavailable": true});
        match state {
            State::Outage => {
                self.tell("GUILD_DELETE", Some(id), gone);
            }
            State::Removed => {
                self.tell("GUILD_DELETE", Some(id), json!({"id": id.to_string()}));
                if let Some(guild) = self.guilds.get_mut(&id) {
                    guild.members.retain(|user, _| !self.bots.contains_key(user));
                }
            }
            State::Open | State::Blocked | State::Kicked | State::Gone | State::Archived | State::Locked => {
                let bots: Vec<u64> = self.bots.keys().copied().collect();
                for bot in bots {
                    if let Some(guild) = self.guilds.get_mut(&id) {
                        guild.members.entry(bot).or_default();
                    }
                    let event = self.guild_event(id, bot);
                    self.tell_bot(bot, "GUILD_CREATE", Some(id), event);
                }
            }
        }
    }

    fn set_state(&mut self, id: u64, state: State) {
        let of = self.channels.get(&id).and_then(|channel| channel.guild);
        let away = |guild: &Guild| guild.away || self.bots.keys().any(|bot| !guild.members.contains_key(bot));
        let back = state == State::Open && of.and_then(|of| self.guilds.get(&of)).is_some_and(away);
        if let Some(of) = of.filter(|_| back || matches!(state, State::Removed | State::Outage)) {
            if let Some(guild) = self.guilds.get_mut(&of) {
                guild.away = state == State::Outage;
            }
            return self.set_guild(of, state);
        }
        let Some(channel) = self.channels.get_mut(&id) else { return };
        let (guild, before) = (channel.guild, channel.standing);
        match state {
            State::Open => {
                (channel.standing, channel.archived, channel.locked) = (Standing::Open, false, false);
            }
            State::Blocked => channel.standing = Standing::Blocked,
            State::Kicked => channel.standing = Standing::Hidden,
            State::Gone => channel.standing = Standing::Gone,
            State::Archived => channel.archived = true,
            State::Locked => (channel.archived, channel.locked) = (true, true),
            // Of a guild, which a direct conversation has not.
            State::Removed | State::Outage => return,
        }
        let (thread, event) = (channel.is_thread(), channel.json());
        let gone = |standing| matches!(standing, Standing::Gone | Standing::Hidden);
        let name = match (state, thread) {
            (State::Gone, true) => "THREAD_DELETE",
            (State::Gone | State::Kicked, false) => "CHANNEL_DELETE",
            (State::Open, false) if gone(before) => "CHANNEL_CREATE",
            (_, true) => "THREAD_UPDATE",
            (_, false) => "CHANNEL_UPDATE",
        };
        if guild.is_some() {
            self.tell(name, guild, event);
        }
    }

    /// Takes a message or a whole thread out of a conversation.
    pub fn person_removes(&mut self, wanted: &super::people::Remove) -> Outcome<()> {
        let id = self.place(&wanted.conversation)?;
        if let Some(thread) = &wanted.thread {
            let Some(thread) = self.find_thread(id, &word(thread)) else {
                return refused(404, "thread: no such thread");
            };
            super::threads::remove(self, thread);
        }
        match &wanted.message {
            Some(message) => {
                let (channel, message) = self.locate(id, message)?;
                super::messages::remove(self, channel, message, By::User, None);
                self.stats.received += 1;
                Ok(())
            }
            None if wanted.thread.is_none() => refused(400, "message or thread is needed"),
            None => Ok(()),
        }
    }

    pub fn conversations(&self) -> Vec<Value> {
        let kind = |channel: &Channel| match channel.kind {
            DIRECT => "private",
            NEWS => "announcement",
            FORUM => "forum",
            _ => "text",
        };
        let threads = |id: u64| -> Vec<Value> {
            let inside = self.channels.values().filter(|one| one.parent == Some(id) && one.standing != Standing::Gone);
            inside.map(|one| json!({"id": one.id.to_string(), "name": one.name, "archived": one.archived})).collect()
        };
        let shown = |channel: &Channel| {
            json!({
                "name": channel.conversation, "chat": channel.id.to_string(), "kind": kind(channel), "title": channel.name, "forum": channel.kind == FORUM,
                "topics": threads(channel.id),
            })
        };
        let own = self.channels.values().filter(|one| !one.is_thread() && one.standing != Standing::Gone);
        own.map(shown).collect()
    }

    pub fn menu(&self, conversation: &str) -> Outcome<Value> {
        let Some(channel) = self.names.get(conversation).copied() else {
            return refused(404, "conversation: no such one");
        };
        Ok(self.offered(channel).into_iter().map(|(_, command)| command).collect())
    }
}
