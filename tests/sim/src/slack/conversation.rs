//! Conversations and people as the control side names them, and what becomes of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::apps::NewApp;
use super::cast::{ChannelKind, Message, Order, User};
use super::fault::{Fault, Kind as FaultKind};
use super::outbox::What;
use super::people::{Conversation, NewKind, Open, OpenWhat, Outcome, Raw, Said, Standing, State, refused};
use super::world::World;

impl World {
    /// The id of a conversation by its name or id; `dm:NAME` is a direct one, any other name a channel, each made at first mention.
    pub fn place(&mut self, name: &str) -> Outcome<String> {
        if name.is_empty() {
            return refused(400, "conversation: it needs a name");
        }
        if let Some(id) = self.names.get(name).or_else(|| self.channels.get_key_value(name).map(|(id, _)| id)) {
            return Ok(id.clone());
        }
        let kind = if name.starts_with("dm:") { ChannelKind::Im } else { ChannelKind::Channel };
        self.add_channel(name, kind, 0).map_or_else(|| refused(400, "conversation: there are too many"), Ok)
    }

    pub fn person(&mut self, name: &str, locale: Option<String>) -> Outcome<User> {
        if name.is_empty() {
            return refused(400, "user: it needs a name");
        }
        let Some(mut user) = self.user(name) else { return refused(400, "user: there are too many") };
        if let (Some(locale), Some(known)) = (locale, self.users.get_mut(name)) {
            known.locale = Some(locale);
            user = known.clone();
        }
        Ok(user)
    }

    /// Lets a person into a conversation; a direct one is its owner's alone.
    pub fn admit(&mut self, channel: &str, user: &User) -> Outcome<()> {
        let Some(place) = self.channels.get_mut(channel) else { return refused(404, "no such conversation") };
        if place.im.as_ref().is_some_and(|(owner, _)| *owner != user.id) && user.bot.is_none() {
            return refused(400, format!("user: {} is somebody else's direct conversation", place.name));
        }
        if place.archived {
            return refused(400, format!("conversation: {} is archived", place.name));
        }
        place.members.insert(user.id.clone());
        Ok(())
    }

    /// The root of a thread by `ts` or name; a new name makes a root that nobody is told of.
    pub fn thread(&mut self, channel: &str, wanted: &Value, user: &User) -> Outcome<String> {
        let wanted = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
        if let Some(root) = self.channels[channel].root(&wanted) {
            return Ok(root);
        }
        let ts = self.next_ts();
        let root = Message { ts: ts.clone(), user: user.id.clone(), text: wanted.clone(), ..Message::default() };
        self.keep(channel, root);
        if let Some(place) = self.channels.get_mut(channel) {
            place.threads.insert(wanted, ts.clone());
        }
        Ok(ts)
    }

    pub fn conversation(&mut self, wanted: &Conversation) -> Outcome<String> {
        let kind = match wanted.kind {
            Some(NewKind::Im) => ChannelKind::Im,
            Some(NewKind::Private) if !wanted.name.starts_with("dm:") => ChannelKind::Private,
            Some(NewKind::Mpim) => ChannelKind::Mpim,
            Some(NewKind::Channel) | Some(NewKind::Private) | None => ChannelKind::Channel,
        };
        let direct = wanted.name.starts_with("dm:");
        if direct && matches!(wanted.kind, Some(NewKind::Channel | NewKind::Mpim)) || kind == ChannelKind::Im && !direct
        {
            return refused(400, "kind: direct conversations are called dm:NAME, and no others");
        }
        let id = match self.names.get(&wanted.name).cloned() {
            Some(id) => id,
            None if direct || wanted.name.is_empty() => self.place(&wanted.name)?,
            None => {
                let team = wanted.team.as_ref().map_or(0, |team| self.team(team, None));
                let Some(id) = self.add_channel(&wanted.name, kind, team) else {
                    return refused(400, "conversation: there are too many");
                };
                id
            }
        };
        if let (Some(title), Some(place)) = (&wanted.title, self.channels.get_mut(&id)) {
            place.title.clone_from(title);
        }
        for (name, standing) in &wanted.roles {
            self.stand(&id, name, *standing)?;
        }
        if let Some(state) = wanted.state {
            self.become_state(&id, state);
        }
        Ok(id)
    }

    fn stand(&mut self, id: &str, name: &str, standing: Standing) -> Outcome<()> {
        let user = self.person(name, None)?;
        let Some(place) = self.channels.get_mut(id) else { return Ok(()) };
        let (changed, word) = match standing {
            Standing::Member => (place.members.insert(user.id.clone()), "member_joined_channel"),
            Standing::Left => (place.members.remove(&user.id), "member_left_channel"),
            // They stay in the lists of what they were in.
            Standing::Deactivated => {
                self.users.entry(name.to_owned()).and_modify(|user| user.deleted = true);
                return Ok(());
            }
        };
        if changed {
            let team = self.teams[self.channels[id].team].id.clone();
            let stamp = self.next_ts();
            let event = json!({"type": word, "user": user.id, "channel": id, "channel_type": "C", "team": team, "event_ts": stamp});
            self.tell_all(id, &event);
        }
        Ok(())
    }

    fn become_state(&mut self, id: &str, state: State) {
        let bots: BTreeSet<String> =
            self.apps.iter().flat_map(|app| &app.installs).map(|install| install.bot_user.clone()).collect();
        let stamp = self.next_ts();
        let Some(place) = self.channels.get_mut(id) else { return };
        let actor =
            place.members.iter().find(|user| !bots.contains(*user)).cloned().unwrap_or_else(|| "USLACKBOT".into());
        let team = place.team;
        match state {
            State::Archived => {
                place.archived = true;
                self.tell_all(id, &json!({"type": "channel_archive", "channel": id, "user": actor, "event_ts": stamp}));
            }
            State::Open if place.archived => {
                place.archived = false;
                self.tell_all(
                    id,
                    &json!({"type": "channel_unarchive", "channel": id, "user": actor, "event_ts": stamp}),
                );
            }
            State::Renamed => {
                let event = json!({"type": "channel_rename", "channel": {"id": id, "name": place.title, "created": 1_700_000_000}, "event_ts": stamp});
                self.tell_all(id, &event);
            }
            State::Left => {
                place.members.retain(|user| !bots.contains(user));
                let event = json!({"type": "channel_left", "channel": id, "actor_id": actor, "event_ts": stamp});
                (0..self.apps.len()).for_each(|app| {
                    self.tell(app, team, event.clone());
                });
            }
            State::Open | State::Joined => {
                let here: Vec<String> = self
                    .apps
                    .iter()
                    .filter_map(|app| app.install(team))
                    .map(|install| install.bot_user.clone())
                    .collect();
                let Some(place) = self.channels.get_mut(id) else { return };
                let fresh: Vec<String> = here.into_iter().filter(|bot| place.members.insert(bot.clone())).collect();
                for bot in fresh {
                    let event = json!({"type": "member_joined_channel", "user": bot, "channel": id, "channel_type": "C", "team": self.teams[team].id, "inviter": actor, "event_ts": stamp});
                    self.tell_all(id, &event);
                }
            }
            State::Gone => {
                let name = place.name.clone();
                self.tell_all(
                    id,
                    &json!({"type": "channel_deleted", "channel": id, "actor_id": actor, "event_ts": stamp}),
                );
                self.channels.remove(id);
                self.names.remove(&name);
            }
        }
    }

    pub fn raw(&mut self, raw: Raw) -> Outcome<String> {
        if !raw.event.is_object() {
            return refused(400, "event: an event is an object");
        }
        let Some(only) = self.app_named(raw.app.as_deref()) else { return refused(404, "app: no such app") };
        self.stats.received += 1;
        let kind = raw.event["type"].as_str().unwrap_or_default();
        if raw.event.get("envelope_id").is_some() || matches!(kind, "hello" | "disconnect") {
            self.order_sockets(Some(only), Some(0), &Order::Send(raw.event.to_string()));
            return Ok(raw.event["envelope_id"].as_str().unwrap_or_default().to_owned());
        }
        let what = match kind {
            "block_actions" | "view_submission" | "view_closed" | "shortcut" | "message_action"
            | "block_suggestion" => What::Interactive,
            _ if raw.event.get("command").is_some() => What::Command,
            _ => What::Event,
        };
        if what == What::Event && raw.event.get("event").is_none() && kind != "app_rate_limited" {
            let team = self.apps[only].installs[0].team;
            return Ok(self.tell(only, team, raw.event).unwrap_or_default());
        }
        Ok(self.deliver(only, what, raw.event, None))
    }

    pub fn open(&mut self, open: &Open) -> Outcome<Said> {
        let channel = self.place(&open.conversation)?;
        let user = self.person(&open.user, None)?;
        self.admit(&channel, &user)?;
        let Some((_, app)) = self.channels[&channel].im.clone() else {
            return refused(400, "conversation: only a direct one is opened so");
        };
        let team = self.channels[&channel].team;
        let stamp = self.next_ts();
        let mut said = Said { chat: channel.clone(), ..Said::default() };
        let event = match open.what {
            OpenWhat::Home | OpenWhat::Messages => {
                let tab = if open.what == OpenWhat::Home { "home" } else { "messages" };
                json!({"type": "app_home_opened", "user": user.id, "channel": channel, "tab": tab, "event_ts": stamp})
            }
            OpenWhat::Assistant | OpenWhat::Context => {
                let root = match &open.thread {
                    Some(root) => root.clone(),
                    None => self.assistant_thread(&channel, app),
                };
                let context = match &open.context {
                    Some(name) => {
                        let id = self.place(name)?;
                        json!({"channel_id": id, "team_id": self.teams[team].id, "enterprise_id": self.teams[team].enterprise})
                    }
                    None => json!({}),
                };
                let word = if open.what == OpenWhat::Assistant {
                    "assistant_thread_started"
                } else {
                    "assistant_thread_context_changed"
                };
                said.message = Some(root.clone());
                json!({"type": word, "assistant_thread": {"user_id": user.id, "context": context, "channel_id": channel, "thread_ts": root}, "event_ts": stamp})
            }
        };
        self.stats.received += 1;
        said.update = self.tell(app, team, event);
        Ok(said)
    }

    /// A new thread with the assistant: its root is the app's.
    fn assistant_thread(&mut self, channel: &str, app: usize) -> String {
        let install = &self.apps[app].installs[0];
        let root = Message {
            user: install.bot_user.clone(),
            bot: Some((install.bot.clone(), app)),
            text: "New Assistant Thread".into(),
            ..Message::default()
        };
        let ts = self.next_ts();
        self.keep(channel, Message { ts: ts.clone(), thread: Some(ts.clone()), ..root });
        ts
    }

    /// Declares an app, or changes one, and says how it is reached.
    pub fn declare(&mut self, new: NewApp) -> Outcome<Value> {
        if new.name.is_empty() {
            return refused(400, "name: it needs one");
        }
        if let Some(wrong) = new.commands.iter().flatten().find(|name| !super::slash::is_name(name)) {
            return refused(400, format!("commands: '{wrong}' is no name of a command"));
        }
        let at = self.add_app(new);
        let app = &self.apps[at];
        let installs: Vec<Value> = app.installs.iter().map(|install| json!({"team": self.teams[install.team].id, "bot_user": install.bot_user, "bot": install.bot})).collect();
        Ok(json!({"app": app.id, "signing_secret": app.signing_secret, "installs": installs}))
    }

    pub fn break_as_ordered(&mut self, fault: Fault) -> Outcome<()> {
        let chat = match &fault.conversation {
            Some(name) => Some(self.place(name)?),
            None => None,
        };
        let app = match &fault.app {
            Some(name) => Some(self.app_named(Some(name)).map_or_else(|| refused(404, "app: no such app"), Ok)?),
            None => None,
        };
        match fault.kind {
            FaultKind::Duplicate => {
                if let Some(past) = fault.past {
                    self.repeat(past);
                }
                if fault.past.is_none() || fault.count.is_some() {
                    self.duplicates += fault.count.unwrap_or(1);
                }
            }
            FaultKind::Disconnect => {
                let reason = fault.reason.unwrap_or_else(|| "refresh_requested".into());
                let grace = fault.seconds.unwrap_or(if reason == "warning" { self.limits.grace_seconds } else { 0.0 });
                self.order_sockets(app, fault.socket, &Order::Disconnect(reason, grace));
            }
            FaultKind::Close => self.order_sockets(app, fault.socket, &Order::Close(fault.status)),
            FaultKind::Cut => self.order_sockets(app, fault.socket, &Order::Cut),
            FaultKind::Silence => self.silence(app, fault.socket),
            _ => self.faults.add(fault, chat),
        }
        Ok(())
    }

    /// All conversations with their named threads.
    pub fn conversations(&self) -> Vec<Value> {
        let one = |channel: &super::cast::Channel| {
            let threads: Vec<Value> =
                channel.threads.iter().map(|(name, ts)| json!({"id": ts, "name": name})).collect();
            json!({"name": channel.name, "chat": channel.id, "kind": channel.kind.event_word(), "title": channel.title, "team": self.teams[channel.team].name,
                "archived": channel.archived, "forum": false, "topics": threads})
        };
        let mut all: Vec<&super::cast::Channel> = self.channels.values().collect();
        all.sort_by_key(|channel| (channel.name != "general", channel.name.clone()));
        all.into_iter().map(one).collect()
    }

    pub fn menu(&self, conversation: &str) -> Outcome<Value> {
        let Some(channel) = self.names.get(conversation).and_then(|id| self.channels.get(id)) else {
            return refused(404, "no such conversation");
        };
        let commands = self.registered(channel).map(|(app, name)| json!({"command": name, "app": app.name}));
        Ok(commands.collect())
    }
}
