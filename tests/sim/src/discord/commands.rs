//! Commands that bots register, everywhere or in one guild.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::Answer;
use super::command_check;
use super::error::{ApiError, Form};
use super::request::{Asked, snowflake};
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// Most commands of each kind: typed, of a person, of a message.
const MOST: [(u8, usize); 3] = [(1, 100), (2, 15), (3, 15)];

type Key = (Option<u64>, u8, String);

/// Whose commands are meant, and of which guild.
fn scope(world: &World, asked: &Asked<'_>) -> Result<Option<u64>, ApiError> {
    if asked.id(1)? != asked.bot {
        return Err(ApiError::new(403, 20_012, "You are not authorized to perform this action on this application")
            .as_rule("foreign_application"));
    }
    if asked.word(2) != "guilds" {
        return Ok(None);
    }
    let guild = asked.id(3)?;
    match world.guilds.get(&guild).filter(|guild| guild.members.contains_key(&asked.bot)) {
        Some(_) => Ok(Some(guild)),
        None => Err(ApiError::new(403, 50_001, "Missing Access")),
    }
}

fn of(world: &World, bot: u64, guild: Option<u64>) -> impl Iterator<Item = &Value> {
    world
        .bots
        .get(&bot)
        .into_iter()
        .flat_map(move |bot| bot.commands.iter().filter(move |((at, ..), _)| *at == guild).map(|(_, command)| command))
}

/// The key of the command that a path names.
fn named(world: &World, asked: &Asked<'_>, guild: Option<u64>) -> Result<Key, ApiError> {
    let wanted = asked.path.last().copied().unwrap_or_default();
    let commands = world.bots.get(&asked.bot).map(|bot| &bot.commands);
    let found = commands.into_iter().flatten().find(|((at, ..), command)| *at == guild && command["id"] == wanted);
    found.map(|(key, _)| key.clone()).ok_or_else(|| ApiError::unknown(10_063, "application command"))
}

pub fn list(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = scope(world, asked)?;
    Ok((200, of(world, asked.bot, guild).cloned().collect()))
}

pub fn get(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = scope(world, asked)?;
    let key = named(world, asked, guild)?;
    Ok((200, world.bots.get(&asked.bot).and_then(|bot| bot.commands.get(&key)).cloned().unwrap_or_default()))
}

fn key(guild: Option<u64>, command: &Value) -> Key {
    let kind = command["type"].as_u64().unwrap_or(1) as u8;
    (guild, kind, command["name"].as_str().unwrap_or_default().to_owned())
}

/// A command as it is kept and comes back.
fn kept(world: &mut World, bot: u64, guild: Option<u64>, wanted: &Value, id: Option<u64>) -> Value {
    let id = id.unwrap_or_else(|| world.next_id());
    let mut out = json!({
        "id": id.to_string(), "application_id": bot.to_string(), "version": world.next_id().to_string(), "default_member_permissions": null,
        "type": 1, "name": "", "name_localizations": null, "description": "", "description_localizations": null, "dm_permission": true,
        "contexts": null, "integration_types": [0], "nsfw": false,
    });
    if let Some(guild) = guild {
        out["guild_id"] = json!(guild.to_string());
    }
    for (field, value) in wanted.as_object().into_iter().flatten() {
        let own = matches!(field.as_str(), "id" | "application_id" | "version" | "guild_id");
        let default = value.is_null() && field == "type";
        if !own && !default {
            out[field] = value.clone();
        }
    }
    if let Some(fields) = out.as_object_mut().filter(|fields| fields.get("options") == Some(&json!([]))) {
        fields.remove("options");
    }
    out
}

/// Counts commands that are new; too many in a day are refused.
fn count_new(world: &mut World, bot: u64, new: u32) -> Result<(), ApiError> {
    let day = world.limits.commands_per_day;
    let Some(known) = world.bots.get_mut(&bot) else { return Ok(()) };
    if day > 0 && known.creations + new > day {
        return Err(ApiError::new(
            400,
            30_034,
            "Max number of daily application command creates has been reached (200)",
        )
        .as_rule("command_creates"));
    }
    known.creations += new;
    Ok(())
}

fn too_many(commands: &BTreeMap<Key, Value>, guild: Option<u64>) -> Result<(), ApiError> {
    for (kind, most) in MOST {
        if commands.keys().filter(|(at, of, _)| *at == guild && *of == kind).count() > most {
            let say = format!("Maximum number of application commands reached ({most}).");
            return Err(ApiError::new(400, 30_032, say).as_rule("command_count"));
        }
    }
    Ok(())
}

pub fn create(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = scope(world, asked)?;
    let wanted = &asked.body.json;
    let mut form = Form::default();
    command_check::command(&mut form, "", wanted);
    form.done()?;
    let key = key(guild, wanted);
    let old = world.bots.get(&asked.bot).and_then(|bot| bot.commands.get(&key)).cloned();
    if old.is_none() {
        count_new(world, asked.bot, 1)?;
    }
    let command = kept(world, asked.bot, guild, wanted, old.as_ref().and_then(|old| snowflake(&old["id"])));
    let Some(bot) = world.bots.get_mut(&asked.bot) else { return Err(ApiError::unauthorized()) };
    let mut commands = bot.commands.clone();
    commands.insert(key, command.clone());
    too_many(&commands, guild)?;
    bot.commands = commands;
    log(world, asked);
    Ok((if old.is_some() { 200 } else { 201 }, command))
}

pub fn replace(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = scope(world, asked)?;
    let Some(wanted) = asked.body.json.as_array() else {
        return Err(ApiError::new(400, 50_035, "Invalid Form Body").as_rule("commands_type"));
    };
    let mut form = Form::default();
    let mut names = std::collections::BTreeSet::new();
    for (at, command) in wanted.iter().enumerate() {
        command_check::command(&mut form, &at.to_string(), command);
        if !names.insert(key(guild, command)) {
            form.wrong(
                "command_unique",
                &at.to_string(),
                "APPLICATION_COMMANDS_DUPLICATE_NAME",
                "Application command names must be unique",
            );
        }
    }
    form.done()?;
    let Some(old) = world.bots.get(&asked.bot).map(|bot| bot.commands.clone()) else {
        return Err(ApiError::unauthorized());
    };
    let new = wanted.iter().filter(|command| !old.contains_key(&key(guild, command))).count() as u32;
    count_new(world, asked.bot, new)?;
    let mut commands: BTreeMap<Key, Value> =
        old.iter().filter(|((at, ..), _)| *at != guild).map(|(key, command)| (key.clone(), command.clone())).collect();
    for command in wanted {
        let key = key(guild, command);
        let id = old.get(&key).and_then(|old| snowflake(&old["id"]));
        let command = kept(world, asked.bot, guild, command, id);
        commands.insert(key, command);
    }
    too_many(&commands, guild)?;
    if let Some(bot) = world.bots.get_mut(&asked.bot) {
        bot.commands = commands;
    }
    log(world, asked);
    Ok((200, of(world, asked.bot, guild).cloned().collect()))
}

pub fn change(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = scope(world, asked)?;
    let old = named(world, asked, guild)?;
    let Some(mut command) = world.bots.get(&asked.bot).and_then(|bot| bot.commands.get(&old)).cloned() else {
        return Err(ApiError::unknown(10_063, "application command"));
    };
    for (field, value) in asked.body.json.as_object().into_iter().flatten() {
        command[field] = value.clone();
    }
    let mut form = Form::default();
    command_check::command(&mut form, "", &command);
    form.done()?;
    let id = snowflake(&command["id"]);
    let command = kept(world, asked.bot, guild, &command, id);
    if let Some(bot) = world.bots.get_mut(&asked.bot) {
        bot.commands.remove(&old);
        bot.commands.insert(key(guild, &command), command.clone());
    }
    log(world, asked);
    Ok((200, command))
}

pub fn delete(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = scope(world, asked)?;
    let key = named(world, asked, guild)?;
    if let Some(bot) = world.bots.get_mut(&asked.bot) {
        bot.commands.remove(&key);
    }
    log(world, asked);
    Ok((204, Value::Null))
}

/// Writes down that the menu has changed.
fn log(world: &mut World, asked: &Asked<'_>) {
    let Some(channel) = world.names.get("general").copied() else { return };
    let mut entry = Entry::new("general", channel.to_string(), By::Bot, Kind::Menu);
    let names: Vec<String> = world
        .bots
        .get(&asked.bot)
        .into_iter()
        .flat_map(|bot| bot.commands.keys())
        .map(|(_, _, name)| format!("/{name}"))
        .collect();
    entry.text = names.join(" ");
    entry.payload = asked.body.json.clone();
    world.log(entry);
}

impl World {
    /// The commands that a person is offered in a channel; those of the guild come first.
    pub fn offered(&self, channel: u64) -> Vec<(u64, Value)> {
        let Some(known) = self.channels.get(&channel) else { return Vec::new() };
        let mut out = Vec::new();
        for bot in self.bots.values().filter(|bot| self.visible(channel, bot.id).is_ok()) {
            for ((guild, kind, _), command) in bot.commands.iter().rev() {
                let here = match (guild, known.guild) {
                    (Some(of), at) => at == Some(*of),
                    (None, Some(_)) => allowed(command, 0),
                    (None, None) => command["dm_permission"] != json!(false) && allowed(command, 1),
                };
                if here && *kind == 1 {
                    out.push((bot.id, command.clone()));
                }
            }
        }
        out
    }
}

/// Whether a command is for a kind of place: 0 guilds, 1 direct conversations with the bot.
fn allowed(command: &Value, place: u64) -> bool {
    command["contexts"].as_array().is_none_or(|contexts| contexts.iter().any(|one| one.as_u64() == Some(place)))
}
