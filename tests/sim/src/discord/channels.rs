//! Channels as a bot meets them: looked up, opened with a person, typed in.

use serde_json::{Value, json};

use super::api::Answer;
use super::cast::DIRECT;
use super::error::{ApiError, Form};
use super::request::{Asked, snowflake};
use super::transcript::{By, Entry, Kind};
use super::world::World;

pub fn get(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.visible(id, asked.bot)?;
    let channel = world.channels.get(&id).ok_or_else(ApiError::channel)?;
    Ok((200, world.channel_json(channel)))
}

/// Opens the direct conversation with a person, or finds it.
pub fn direct(world: &mut World, asked: &Asked<'_>) -> Answer {
    let wanted = snowflake(asked.field("recipient_id"));
    let Some(user) = wanted.and_then(|id| world.users.get(&id)).filter(|user| !user.bot).cloned() else {
        let mut form = Form::default();
        form.wrong("recipient", "recipient_id", "NUMBER_TYPE_COERCE", "Value is not a known user.");
        form.done()?;
        return Err(ApiError::unknown(10_013, "User"));
    };
    let name = format!("dm:{}", user.name);
    let id = world.names.get(&name).copied();
    let id = id.or_else(|| world.add_channel(&name, DIRECT, None, &name)).ok_or_else(ApiError::channel)?;
    let channel = world.channels.get(&id).ok_or_else(ApiError::channel)?;
    Ok((200, world.channel_json(channel)))
}

/// Changes a thread; other channels are not a bot's to change.
pub fn change(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.visible(id, asked.bot)?;
    let Some(thread) = world.channels.get_mut(&id).filter(|channel| channel.is_thread()) else {
        return Err(ApiError::new(403, 50_013, "Missing Permissions"));
    };
    if let Some(name) = asked.field("name").as_str() {
        let mut form = Form::default();
        form.length("thread_name", "name", name, 1, 100);
        form.done()?;
        thread.name = name.to_owned();
    }
    for (field, flag) in [("archived", &mut thread.archived), ("locked", &mut thread.locked)] {
        *flag = asked.field(field).as_bool().unwrap_or(*flag);
    }
    let (guild, event) = (thread.guild, thread.json());
    world.tell("THREAD_UPDATE", guild, event.clone());
    Ok((200, event))
}

/// Deletes a thread of the bot's own, or closes a direct conversation.
pub fn delete(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.visible(id, asked.bot)?;
    let channel = world.channels.get(&id).ok_or_else(ApiError::channel)?;
    let shown = world.channel_json(channel);
    if channel.is_direct() {
        return Ok((200, shown));
    }
    if !channel.is_thread() || channel.owner != asked.bot {
        return Err(ApiError::new(403, 50_013, "Missing Permissions"));
    }
    super::threads::remove(world, id);
    Ok((200, shown))
}

pub fn typing(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.writable(id, asked.bot)?;
    let Some(channel) = world.channels.get(&id) else { return Err(ApiError::channel()) };
    let mut entry = Entry::new(&channel.conversation, id.to_string(), By::Bot, Kind::Typing);
    entry.thread = world.thread_name(id);
    entry.payload = asked.body.json.clone();
    let guild = channel.guild;
    world.log(entry);
    let now = crate::transcript::now_ms() / 1_000;
    let mut event = json!({"channel_id": id.to_string(), "user_id": asked.bot.to_string(), "timestamp": now});
    if let Some(guild) = guild {
        event["guild_id"] = json!(guild.to_string());
        event["member"] = world.full_member(guild, asked.bot);
    }
    world.tell("TYPING_START", guild, event);
    Ok((204, Value::Null))
}
