//! Reactions of bots and of people.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::api::Answer;
use super::cast::Reaction;
use super::error::ApiError;
use super::request::Asked;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// Most different reactions of one message.
const MOST: usize = 20;

/// An emoji as a path or a person names it: a sign, or `name:id` of one's own.
pub fn emoji(text: &str) -> Option<Value> {
    if let Some((name, id)) = text.rsplit_once(':') {
        let id: u64 = id.parse().ok()?;
        return Some(json!({"id": id.to_string(), "name": name.trim_start_matches("a:")}));
    }
    let signs = !text.is_empty()
        && text.chars().count() <= 16
        && !text.chars().any(|c| c.is_ascii_alphabetic() || c.is_whitespace());
    signs.then(|| json!({"id": null, "name": text}))
}

fn wanted(asked: &Asked<'_>) -> Result<Value, ApiError> {
    emoji(asked.word(5)).ok_or_else(|| ApiError::new(400, 10_014, "Unknown Emoji").as_rule("emoji"))
}

impl World {
    /// Adds somebody's reaction; nothing happens when it is there already.
    pub fn react(&mut self, channel: u64, message: u64, emoji: &Value, user: u64) -> Result<bool, ApiError> {
        self.seen(channel, message)?;
        let Some(known) = self.channels.get_mut(&channel).and_then(|channel| channel.messages.get_mut(&message)) else {
            return Err(ApiError::message());
        };
        let author = known.author;
        let kinds = known.reactions.len();
        match known.reactions.iter_mut().find(|reaction| reaction.emoji == *emoji) {
            Some(reaction) => {
                if !reaction.users.insert(user) {
                    return Ok(false);
                }
            }
            None if kinds >= MOST => {
                return Err(ApiError::new(400, 30_010, "Maximum number of reactions reached (20)").as_rule("reactions"));
            }
            None => known.reactions.push(Reaction { emoji: emoji.clone(), users: BTreeSet::from([user]) }),
        }
        self.tell_reaction("MESSAGE_REACTION_ADD", channel, message, emoji, user, Some(author));
        Ok(true)
    }

    /// Takes somebody's reaction back.
    pub fn unreact(&mut self, channel: u64, message: u64, emoji: &Value, user: u64) -> Result<(), ApiError> {
        self.seen(channel, message)?;
        let Some(known) = self.channels.get_mut(&channel).and_then(|channel| channel.messages.get_mut(&message)) else {
            return Err(ApiError::message());
        };
        let found = known.reactions.iter_mut().find(|reaction| reaction.emoji == *emoji);
        if !found.is_some_and(|reaction| reaction.users.remove(&user)) {
            return Err(ApiError::unknown(10_014, "Emoji"));
        }
        known.reactions.retain(|reaction| !reaction.users.is_empty());
        self.tell_reaction("MESSAGE_REACTION_REMOVE", channel, message, emoji, user, None);
        Ok(())
    }

    fn tell_reaction(&mut self, name: &str, channel: u64, message: u64, emoji: &Value, user: u64, author: Option<u64>) {
        let guild = self.channels.get(&channel).and_then(|channel| channel.guild);
        let mut event = json!({
            "user_id": user.to_string(), "channel_id": channel.to_string(), "message_id": message.to_string(), "emoji": emoji, "burst": false, "type": 0,
        });
        if let Some(guild) = guild {
            event["guild_id"] = json!(guild.to_string());
        }
        if let Some(author) = author {
            event["message_author_id"] = json!(author.to_string());
            event["burst_colors"] = json!([]);
            if let Some(guild) = guild {
                event["member"] = self.full_member(guild, user);
            }
        }
        self.tell(name, guild, event);
    }

    /// Writes a reaction down; one that was taken back has an empty text.
    pub fn log_reaction(
        &mut self,
        channel: u64,
        message: u64,
        text: &str,
        by: By,
        user: Option<String>,
        payload: Value,
    ) {
        let Some(known) = self.channels.get(&channel) else { return };
        let mut entry = Entry::new(&known.conversation, channel.to_string(), by, Kind::Reaction);
        entry.thread = self.thread_name(channel);
        entry.user = user;
        entry.message = Some(message.to_string());
        entry.text = text.to_owned();
        entry.payload = payload;
        self.log(entry);
    }
}

pub fn add(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message, emoji) = (asked.id(1)?, asked.id(3)?, wanted(asked)?);
    world.writable(channel, asked.bot)?;
    if world.react(channel, message, &emoji, asked.bot)? {
        let text = emoji["name"].as_str().unwrap_or_default().to_owned();
        world.log_reaction(channel, message, &text, By::Bot, None, json!({"emoji": emoji}));
    }
    Ok((204, Value::Null))
}

pub fn take_own(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message, emoji) = (asked.id(1)?, asked.id(3)?, wanted(asked)?);
    world.visible(channel, asked.bot)?;
    world.unreact(channel, message, &emoji, asked.bot)?;
    world.log_reaction(channel, message, "", By::Bot, None, json!({"emoji": emoji, "removed": true}));
    Ok((204, Value::Null))
}

/// Somebody else's reaction, for which a bot has to manage messages.
pub fn take(world: &mut World, asked: &Asked<'_>) -> Answer {
    world.visible(asked.id(1)?, asked.bot)?;
    Err(ApiError::new(403, 50_013, "Missing Permissions"))
}

pub fn clear(world: &mut World, asked: &Asked<'_>) -> Answer {
    take(world, asked)
}

pub fn list(world: &mut World, asked: &Asked<'_>) -> Answer {
    let (channel, message, emoji) = (asked.id(1)?, asked.id(3)?, wanted(asked)?);
    world.visible(channel, asked.bot)?;
    let reactions = &world.seen(channel, message)?.reactions;
    let users = reactions.iter().find(|reaction| reaction.emoji == emoji).map(|reaction| reaction.users.clone());
    Ok((200, users.unwrap_or_default().into_iter().map(|id| world.author_json(id)).collect()))
}
