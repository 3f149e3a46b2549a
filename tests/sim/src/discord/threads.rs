//! Threads: opened by bots and people, joined, archived, gone.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::api::Answer;
use super::cast::{Channel, FORUM, NEWS, PRIVATE_THREAD, Standing, TEXT, THREAD};
use super::error::{ApiError, Form};
use super::request::{Asked, Body};
use super::world::{MOST_NAMES, World};
use super::{check, draft};

impl World {
    /// Opens a thread and tells of it; with `source` it hangs on that message and has its id.
    pub fn open_thread(&mut self, parent: u64, name: &str, owner: u64, source: Option<u64>) -> Option<u64> {
        if self.channels.len() >= MOST_NAMES {
            return None;
        }
        let above = self.channels.get(&parent)?;
        let (guild, conversation, news) = (above.guild, above.conversation.clone(), above.kind == NEWS);
        let id = match source {
            Some(id) => id,
            None => self.next_id(),
        };
        let members = BTreeSet::from_iter(self.bots.keys().copied().chain([owner]));
        self.channels.insert(
            id,
            Channel {
                id,
                kind: if news { 10 } else { THREAD },
                conversation,
                name: name.to_owned(),
                guild,
                parent: Some(parent),
                recipient: None,
                owner,
                standing: Standing::Open,
                archived: false,
                locked: false,
                members,
                messages: Default::default(),
                last_message: None,
            },
        );
        if let Some(message) = self.channels.get_mut(&parent).and_then(|channel| channel.messages.get_mut(&id)) {
            message.thread = Some(id);
            message.set("flags", json!(message.flags() | 1 << 5));
        }
        self.tell_thread("THREAD_CREATE", id, true);
        if source.is_some() {
            self.tell_message("MESSAGE_UPDATE", parent, id);
        }
        Some(id)
    }

    fn tell_thread(&mut self, name: &str, id: u64, new: bool) {
        let Some(thread) = self.channels.get(&id) else { return };
        let mut event = thread.json();
        if new {
            event["newly_created"] = json!(true);
        }
        let guild = thread.guild;
        self.tell(name, guild, event);
    }

    /// A thread of a channel by name or number.
    pub fn find_thread(&self, parent: u64, wanted: &str) -> Option<u64> {
        let number = wanted.parse::<u64>().ok();
        let inside = |channel: &&Channel| channel.parent == Some(parent) && channel.standing != Standing::Gone;
        let mut threads = self.channels.values().rev().filter(inside);
        threads.find(|thread| thread.name == wanted || Some(thread.id) == number).map(|thread| thread.id)
    }
}

fn thread_name(asked: &Asked<'_>) -> Result<String, ApiError> {
    let name = asked.field("name").as_str().unwrap_or_default().trim().to_owned();
    let mut form = Form::default();
    form.length("thread_name", "name", &name, 1, 100);
    let duration = asked.field("auto_archive_duration");
    if !duration.is_null() && !matches!(duration.as_u64(), Some(60 | 1_440 | 4_320 | 10_080)) {
        form.choice("auto_archive_duration", "(60, 1440, 4320, 10080)");
    }
    form.done().map(|()| name)
}

fn threadable(world: &World, channel: u64, bot: u64) -> Result<u8, ApiError> {
    world.visible(channel, bot)?;
    let known = world.channels.get(&channel).ok_or_else(ApiError::channel)?;
    match known.kind {
        _ if world.standing(channel) == Standing::Blocked => Err(ApiError::new(403, 50_013, "Missing Permissions")),
        kind @ (TEXT | NEWS | FORUM) => Ok(kind),
        _ => Err(ApiError::new(400, 50_024, "Cannot execute action on this channel type").as_rule("thread_place")),
    }
}

pub fn from_message(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message) = (asked.id(1)?, asked.id(3)?);
    threadable(world, channel, asked.bot)?;
    if world.seen(channel, message)?.thread.is_some() {
        return Err(ApiError::new(400, 160_004, "A thread has already been created for this message"));
    }
    let name = thread_name(asked)?;
    let id = world.open_thread(channel, &name, asked.bot, Some(message)).ok_or_else(ApiError::channel)?;
    Ok((201, world.channels.get(&id).map(Channel::json).unwrap_or_default()))
}

/// A thread without a message, or in a forum one with its first message.
pub fn create(world: &mut World, asked: &Asked<'_>) -> Answer {
    let channel = asked.id(1)?;
    let forum = threadable(world, channel, asked.bot)? == FORUM;
    let name = thread_name(asked)?;
    if !forum {
        let id = world.open_thread(channel, &name, asked.bot, None).ok_or_else(ApiError::channel)?;
        if asked.field("type") == PRIVATE_THREAD
            && let Some(thread) = world.channels.get_mut(&id)
        {
            (thread.kind, thread.members) = (PRIVATE_THREAD, BTreeSet::from([asked.bot]));
        }
        return Ok((201, world.channels.get(&id).map(Channel::json).unwrap_or_default()));
    }
    let first = Body { json: asked.field("message").clone(), ..asked.body.clone() };
    check::message(&first.json, &first.uploads, check::Where::Channel, &world.limits)?;
    let id = world.open_thread(channel, &name, asked.bot, None).ok_or_else(ApiError::channel)?;
    let asked = Asked { body: &first, ..*asked };
    let (mut message, pinged) = draft::new(world, draft::Place { channel: id, bot: asked.bot, private: None }, &asked)?;
    message.id = id;
    let posted = world.post(id, message, pinged, &asked);
    let mut out = world.channels.get(&id).map(Channel::json).unwrap_or_default();
    out["message"] = posted;
    Ok((201, out))
}

pub fn join(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.visible(id, asked.bot)?;
    let bot = asked.bot;
    match world.channels.get_mut(&id).filter(|channel| channel.is_thread()) {
        Some(thread) => thread.members.insert(bot),
        None => return Err(ApiError::new(400, 50_024, "Cannot execute action on this channel type")),
    };
    Ok((204, Value::Null))
}

/// Somebody who is in a thread.
pub fn member(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.visible(id, asked.bot)?;
    let user = asked.id(3)?;
    let Some(thread) = world.channels.get(&id).filter(|channel| channel.is_thread()) else {
        return Err(ApiError::new(400, 50_024, "Cannot execute action on this channel type"));
    };
    if !thread.members.contains(&user) {
        return Err(ApiError::unknown(10_007, "Member"));
    }
    let joined = super::ids::stamp(super::ids::made_ms(id));
    Ok((200, json!({"id": id.to_string(), "user_id": user.to_string(), "join_timestamp": joined, "flags": 0})))
}

pub fn leave(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    if let Some(thread) = world.channels.get_mut(&id) {
        thread.members.remove(&asked.bot);
    }
    Ok((204, Value::Null))
}

fn listed<'a>(world: &World, threads: impl Iterator<Item = &'a Channel>, bot: u64) -> Value {
    let threads: Vec<Value> = threads.filter(|one| world.visible(one.id, bot).is_ok()).map(Channel::json).collect();
    json!({"threads": threads, "members": []})
}

pub fn active(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = asked.id(1)?;
    if !world.guilds.contains_key(&guild) {
        return Err(ApiError::unknown(10_004, "Guild"));
    }
    let open = world.channels.values().filter(|one| one.guild == Some(guild) && one.is_thread() && !one.archived);
    Ok((200, listed(world, open, asked.bot)))
}

pub fn archived(world: &mut World, asked: &Asked<'_>) -> Answer {
    let parent = asked.id(1)?;
    world.visible(parent, asked.bot)?;
    let shut = world.channels.values().filter(|one| one.parent == Some(parent) && one.archived);
    let mut out = listed(world, shut, asked.bot);
    out["has_more"] = json!(false);
    Ok((200, out))
}

/// Takes a thread away with all that was written in it.
pub fn remove(world: &mut World, id: u64) {
    let Some(thread) = world.channels.remove(&id) else { return };
    if let Some(source) = thread.parent.and_then(|parent| world.channels.get_mut(&parent)?.messages.get_mut(&id)) {
        source.thread = None;
    }
    let event = json!({"id": id.to_string(), "guild_id": thread.guild.map(|id| id.to_string()), "parent_id": thread.parent.map(|id| id.to_string()), "type": thread.kind});
    world.tell("THREAD_DELETE", thread.guild, event);
}
