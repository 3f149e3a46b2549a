//! Interactions: commands, presses, forms and completions that wait for a bot's answer.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::limits::seconds;
use super::transcript::{By, Entry, Kind as Seen};
use super::world::World;

/// Most interactions that are remembered.
const KEPT: usize = 10_000;

/// Kinds of interactions as the platform numbers them.
pub const COMMAND: u8 = 2;
pub const COMPONENT: u8 = 3;
pub const AUTOCOMPLETE: u8 = 4;
pub const MODAL: u8 = 5;

/// One interaction and what became of it.
#[derive(Clone, Debug)]
pub struct Interaction {
    pub id: u64,
    pub token: String,
    pub bot: u64,
    pub kind: u8,
    pub channel: u64,
    pub user: u64,
    pub made: Instant,
    /// The type of the first answer.
    pub answered: Option<u8>,
    /// It was not answered in time, which its person was told.
    pub dead: bool,
    /// The message that the first answer made, or changes.
    pub original: Option<u64>,
    /// The message with the button.
    pub source: Option<u64>,
    /// The command's name.
    pub name: String,
    /// What completion offered.
    pub choices: Option<Value>,
    /// The form that was shown.
    pub modal: Option<Value>,
    /// The interaction that opened the form which this one sends off.
    pub opener: Option<u64>,
}

/// What somebody did that a bot has to answer.
#[derive(Clone, Debug)]
pub struct Raised {
    pub kind: u8,
    pub bot: u64,
    pub channel: u64,
    pub user: u64,
    pub name: String,
    pub data: Value,
    pub source: Option<u64>,
    pub opener: Option<u64>,
}

impl World {
    pub fn by_token(&self, token: &str) -> Option<&Interaction> {
        self.interactions.values().rev().find(|one| one.token == token)
    }

    /// Makes an interaction and tells its bot; gives its id and the event.
    pub fn raise(&mut self, raised: Raised) -> (u64, Value) {
        self.end_interactions();
        while self.interactions.len() >= KEPT {
            self.interactions.pop_first();
        }
        let id = self.next_id();
        let token = format!("aW50ZXJhY3Rpb24{id}x{:08x}", self.next_serial());
        let event = self.interaction_event(id, &token, &raised);
        let interaction = Interaction {
            id,
            token,
            bot: raised.bot,
            kind: raised.kind,
            channel: raised.channel,
            user: raised.user,
            made: Instant::now(),
            answered: None,
            dead: false,
            original: None,
            source: raised.source,
            name: raised.name,
            choices: None,
            modal: None,
            opener: raised.opener,
        };
        self.interactions.insert(id, interaction);
        self.stats.received += 1;
        let guild = self.channels.get(&raised.channel).and_then(|channel| channel.guild);
        self.tell_bot(raised.bot, "INTERACTION_CREATE", guild, event.clone());
        (id, event)
    }

    fn interaction_event(&self, id: u64, token: &str, raised: &Raised) -> Value {
        let channel = self.channels.get(&raised.channel);
        let guild = channel.and_then(|channel| channel.guild).and_then(|id| self.guilds.get(&id));
        let locale = self.users.get(&raised.user).map_or("en-US", |user| user.locale.as_str());
        let owner = guild.map_or("0".to_owned(), |guild| guild.id.to_string());
        let mut event = json!({
            "id": id.to_string(), "application_id": raised.bot.to_string(), "type": raised.kind, "data": raised.data,
            "channel_id": raised.channel.to_string(), "token": token, "version": 1, "locale": locale, "entitlements": [],
            "authorizing_integration_owners": {"0": owner}, "context": u8::from(guild.is_none()), "attachment_size_limit": self.limits.upload_bytes,
            "app_permissions": guild.map_or(u64::from(u32::MAX), |guild| guild.permissions(raised.bot)).to_string(),
        });
        if let Some(channel) = channel {
            event["channel"] = self.channel_json(channel);
            if channel.guild.is_some() {
                let may = guild.map_or(0, |guild| guild.permissions(raised.user));
                event["channel"]["permissions"] = json!(may.to_string());
            }
            if let Some(message) = raised.source.and_then(|id| channel.messages.get(&id)) {
                event["message"] = self.message_json(channel, message, raised.bot);
            }
        }
        match guild {
            Some(guild) => {
                event["guild_id"] = json!(guild.id.to_string());
                event["guild_locale"] = json!("en-US");
                event["guild"] = json!({"id": guild.id.to_string(), "locale": "en-US", "features": []});
                let mut member = guild.member_json(raised.user);
                member["user"] = self.author_json(raised.user);
                member["permissions"] = json!(guild.permissions(raised.user).to_string());
                event["member"] = member;
            }
            None => event["user"] = self.author_json(raised.user),
        }
        event
    }

    /// Whether an interaction's time for its first answer is over.
    pub fn late(&self, one: &Interaction) -> bool {
        one.answered.is_none() && one.made.elapsed() >= seconds(self.limits.interaction_seconds)
    }

    /// Tells people of interactions that were not answered in time, and counts them.
    pub fn end_interactions(&mut self) {
        let late: Vec<Interaction> =
            self.interactions.values().filter(|one| !one.dead && self.late(one)).cloned().collect();
        for one in late {
            if let Some(known) = self.interactions.get_mut(&one.id) {
                known.dead = true;
            }
            self.stats.violation("interaction_unanswered", "INTERACTION_CREATE", format!("{} of {}", one.id, one.name));
            let Some(channel) = self.channels.get(&one.channel).filter(|_| one.kind != AUTOCOMPLETE) else { continue };
            let mut entry = Entry::new(&channel.conversation, one.channel.to_string(), By::Bot, Seen::Status);
            entry.thread = self.thread_name(one.channel);
            entry.text =
                if one.kind == COMMAND { "The application did not respond" } else { "This interaction failed" }
                    .to_owned();
            entry.to = self.called(one.user).map(str::to_owned);
            entry.interaction = Some(one.id.to_string());
            self.log(entry);
        }
    }
}
