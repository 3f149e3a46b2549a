//! Messages of bots: posted, edited, deleted, listed.

use serde_json::{Value, json};

use super::api::Answer;
use super::cast::{DIRECT, FORUM, Message, Standing};
use super::check;
use super::draft::{self, Place};
use super::error::ApiError;
use super::ids::made_ms;
use super::request::Asked;
use super::transcript::{By, Entry, Kind};
use super::world::World;
use crate::transcript::now_ms;

impl World {
    /// How a channel stands; a thread as its parent does, and one in a guild without the bot is hidden.
    pub fn standing(&self, channel: u64) -> Standing {
        let Some(known) = self.channels.get(&channel) else { return Standing::Gone };
        let own = known.standing;
        match known.parent.and_then(|parent| self.channels.get(&parent)) {
            Some(parent) if own == Standing::Open => parent.standing,
            _ => own,
        }
    }

    /// A channel that a bot may look into.
    pub fn visible(&self, channel: u64, bot: u64) -> Result<(), ApiError> {
        let guild = self.channels.get(&channel).and_then(|channel| channel.guild);
        let outside =
            guild.is_some_and(|id| self.guilds.get(&id).is_none_or(|guild| !guild.members.contains_key(&bot)));
        match self.standing(channel) {
            Standing::Gone => Err(ApiError::channel()),
            Standing::Hidden => Err(ApiError::new(403, 50_001, "Missing Access")),
            Standing::Open | Standing::Blocked if outside => Err(ApiError::new(403, 50_001, "Missing Access")),
            Standing::Open | Standing::Blocked => Ok(()),
        }
    }

    /// A channel that a bot may write in.
    pub fn writable(&self, channel: u64, bot: u64) -> Result<(), ApiError> {
        self.visible(channel, bot)?;
        let Some(known) = self.channels.get(&channel) else { return Err(ApiError::channel()) };
        if self.standing(channel) == Standing::Blocked {
            return Err(match known.kind {
                DIRECT => ApiError::new(403, 50_007, "Cannot send messages to this user"),
                _ => ApiError::new(403, 50_013, "Missing Permissions"),
            });
        }
        if known.kind == FORUM {
            return Err(ApiError::new(400, 50_008, "Cannot send messages in a non-text channel"));
        }
        if known.archived && known.locked {
            return Err(ApiError::new(400, 50_083, "Thread is archived"));
        }
        Ok(())
    }

    /// A message that everybody in the channel sees.
    pub fn seen(&self, channel: u64, message: u64) -> Result<&Message, ApiError> {
        let known = self.channels.get(&channel).and_then(|channel| channel.messages.get(&message));
        known.filter(|message| message.to.is_none()).ok_or_else(ApiError::message)
    }

    /// Keeps a bot's message, tells sessions of it and writes it down; the answer is its object.
    pub fn post(
        &mut self,
        channel: u64,
        message: Message,
        pinged: super::transcript::Pinged,
        asked: &Asked<'_>,
    ) -> Value {
        let (id, bot) = (message.id, message.bot.unwrap_or_default());
        self.stats.sent += 1;
        self.stats.mentions += pinged.count() as u64;
        let kind = if message.to.is_some() { Kind::Private } else { Kind::Message };
        self.keep(channel, message);
        self.tell_message("MESSAGE_CREATE", channel, id);
        self.log_bot(channel, id, kind, pinged, asked.body.json.clone());
        self.answer_message(channel, id, bot)
    }

    /// A message as an answer shows it to the bot that wrote it.
    pub fn answer_message(&self, channel: u64, message: u64, me: u64) -> Value {
        let Some(channel) = self.channels.get(&channel) else { return Value::Null };
        channel.messages.get(&message).map(|message| self.message_json(channel, message, me)).unwrap_or_default()
    }
}

pub fn create(world: &mut World, asked: &Asked<'_>) -> Answer {
    let channel = asked.id(1)?;
    world.writable(channel, asked.bot)?;
    check::message(&asked.body.json, &asked.body.uploads, check::Where::Channel, &world.limits)?;
    if let Some(known) = same_nonce(world, channel, asked) {
        return Ok((200, world.answer_message(channel, known, asked.bot)));
    }
    if asked.field("flags").as_u64().is_some_and(|flags| flags & 64 != 0) {
        world.stats.violation("ephemeral_flag", asked.method, "only answers to interactions can be ephemeral");
    }
    let (message, pinged) = draft::new(world, Place { channel, bot: asked.bot, private: None }, asked)?;
    if let Some(thread) = world.channels.get_mut(&channel).filter(|channel| channel.archived) {
        thread.archived = false;
        let (guild, event) = (thread.guild, thread.json());
        world.tell("THREAD_UPDATE", guild, event);
    }
    Ok((200, world.post(channel, message, pinged, asked)))
}

/// A message that the same bot posted lately with the same nonce, when that is to be looked at.
fn same_nonce(world: &World, channel: u64, asked: &Asked<'_>) -> Option<u64> {
    if asked.field("enforce_nonce") != &json!(true) || asked.field("nonce").is_null() {
        return None;
    }
    let since = now_ms().saturating_sub((world.limits.nonce_seconds * 1_000.0) as u64);
    let recent = world.channels.get(&channel)?.messages.values().rev();
    let mut recent = recent.take_while(|message| made_ms(message.id) >= since);
    let same =
        |message: &&Message| message.bot == Some(asked.bot) && message.body.get("nonce") == Some(asked.field("nonce"));
    recent.find(same).map(|message| message.id)
}

pub fn get(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message) = (asked.id(1)?, asked.id(3)?);
    world.visible(channel, asked.bot)?;
    world.seen(channel, message)?;
    Ok((200, shown(world, channel, message, asked.bot)))
}

/// A message as REST shows it: what the bot may not read is empty here too.
fn shown(world: &World, channel: u64, message: u64, bot: u64) -> Value {
    let mut out = world.answer_message(channel, message, bot);
    let Some(known) = world.channels.get(&channel) else { return out };
    let readable = known.messages.get(&message).is_some_and(|message| world.may_read(known, message, bot));
    if !world.setup.content && !readable {
        for (field, empty) in
            [("content", json!("")), ("embeds", json!([])), ("attachments", json!([])), ("components", json!([]))]
        {
            out[field] = empty;
        }
    }
    out
}

pub fn list(world: &mut World, asked: &Asked<'_>) -> Answer {
    let channel = asked.id(1)?;
    world.visible(channel, asked.bot)?;
    let limit = asked.query("limit").map_or(Ok(50), str::parse::<usize>);
    let Some(limit) = limit.ok().filter(|limit| (1..=100).contains(limit)) else {
        let mut form = super::error::Form::default();
        form.wrong("limit", "limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.");
        return form.done().map(|()| (200, Value::Null));
    };
    let Some(known) = world.channels.get(&channel) else { return Err(ApiError::channel()) };
    let all: Vec<u64> = known.messages.values().filter(|one| one.to.is_none()).map(|one| one.id).collect();
    let (after, before, around) = (asked.query_id("after"), asked.query_id("before"), asked.query_id("around"));
    let mut chosen: Vec<u64> = match (around, before, after) {
        (Some(around), ..) => {
            let at = all.partition_point(|id| *id < around);
            all[at.saturating_sub(limit / 2)..].iter().copied().take(limit).collect()
        }
        (_, Some(before), _) => {
            let end = all.partition_point(|id| *id < before);
            all[end.saturating_sub(limit)..end].to_vec()
        }
        // The oldest that are newer; like every page they come newest first.
        (_, _, Some(after)) => all.iter().copied().filter(|id| *id > after).take(limit).collect(),
        _ => all[all.len().saturating_sub(limit)..].to_vec(),
    };
    chosen.reverse();
    Ok((200, chosen.into_iter().map(|id| shown(world, channel, id, asked.bot)).collect()))
}

pub fn edit(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message) = (asked.id(1)?, asked.id(3)?);
    world.writable(channel, asked.bot)?;
    if world.seen(channel, message)?.bot != Some(asked.bot) {
        return Err(
            ApiError::new(403, 50_005, "Cannot edit a message authored by another user").as_rule("foreign_message")
        );
    }
    change(world, channel, message, asked)
}

/// Changes a bot's message as a request wants it; one that stood for an answer to come becomes that answer.
pub fn change(world: &mut World, channel: u64, id: u64, asked: &Asked<'_>) -> Answer {
    let body = &asked.body.json;
    check::message(body, &asked.body.uploads, check::Where::Edit, &world.limits)?;
    let known = world.channels.get(&channel).and_then(|channel| channel.messages.get(&id));
    let kind = match known {
        Some(message) if message.thinking && message.to.is_some() => Kind::Private,
        Some(message) if message.thinking => Kind::Message,
        _ => Kind::Edit,
    };
    let pinged = draft::edit(world, channel, id, body, &asked.body.uploads)?;
    if kind != Kind::Edit {
        world.stats.sent += 1;
        world.stats.mentions += pinged.count() as u64;
    }
    world.tell_message("MESSAGE_UPDATE", channel, id);
    world.log_bot(channel, id, kind, pinged, body.clone());
    Ok((200, world.answer_message(channel, id, asked.bot)))
}

pub fn delete(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message) = (asked.id(1)?, asked.id(3)?);
    world.visible(channel, asked.bot)?;
    let author = world.seen(channel, message)?.author;
    let direct = world.channels.get(&channel).is_some_and(super::cast::Channel::is_direct);
    if author != asked.bot && direct {
        return Err(ApiError::new(403, 50_003, "Cannot execute action on a DM channel"));
    }
    if author != asked.bot {
        return Err(ApiError::new(403, 50_013, "Missing Permissions"));
    }
    remove(world, channel, message, By::Bot, None);
    Ok((204, Value::Null))
}

/// Takes a message out, tells sessions of it and writes it down.
pub fn remove(world: &mut World, channel: u64, id: u64, by: By, user: Option<String>) {
    let Some(known) = world.channels.get_mut(&channel) else { return };
    let Some(gone) = known.messages.remove(&id) else { return };
    let (guild, conversation) = (known.guild, known.conversation.clone());
    let mut event = json!({"id": id.to_string(), "channel_id": channel.to_string()});
    if let Some(guild) = guild {
        event["guild_id"] = json!(guild.to_string());
    }
    if gone.to.is_none() {
        world.tell("MESSAGE_DELETE", guild, event.clone());
    }
    let mut entry = Entry::new(&conversation, channel.to_string(), by, Kind::Delete);
    entry.user = user;
    entry.message = Some(id.to_string());
    entry.thread = world.thread_name(channel);
    entry.to = gone.to.and_then(|to| world.called(to)).map(str::to_owned);
    entry.payload = event;
    world.log(entry);
}
