//! Later answers to an interaction, by its token.

use super::api::Answer;
use super::draft::{self, Place};
use super::error::ApiError;
use super::interactions::Interaction;
use super::limits::seconds;
use super::request::Asked;
use super::transcript::By;
use super::world::World;
use super::{callback, check, messages};
use serde_json::Value;

/// The interaction of an address, as long as its token holds.
fn known(world: &World, asked: &Asked<'_>) -> Result<Interaction, ApiError> {
    let bot = asked.id(1)?;
    let one = world.by_token(asked.word(2)).filter(|one| one.bot == bot);
    let Some(one) = one else { return Err(ApiError::unknown(10_015, "Webhook").as_rule("unknown_webhook")) };
    if one.made.elapsed() >= seconds(world.limits.token_seconds) {
        return Err(ApiError::new(401, 50_027, "Invalid Webhook Token").as_rule("interaction_token_expired"));
    }
    if one.answered.is_none() {
        return Err(ApiError::unknown(10_015, "Webhook").as_rule("follow_before_answer"));
    }
    Ok(one.clone())
}

/// The message that an address names; it has to be one of the interaction's.
fn named(world: &World, one: &Interaction, asked: &Asked<'_>) -> Result<u64, ApiError> {
    let id = match asked.word(4) {
        "@original" => one.original.ok_or_else(ApiError::message)?,
        _ => asked.id(4)?,
    };
    let message = world.channels.get(&one.channel).and_then(|channel| channel.messages.get(&id));
    let own = message.is_some_and(|message| message.interaction == Some(one.id) || Some(id) == one.source);
    own.then_some(id).ok_or_else(ApiError::message)
}

pub fn follow(world: &mut World, asked: &Asked<'_>) -> Answer {
    let one = known(world, asked)?;
    let asked = Asked { bot: one.bot, ..*asked };
    check::message(&asked.body.json, &asked.body.uploads, check::Where::Interaction, &world.limits)?;
    // The first message after a deferral takes the place that was kept for it.
    let waiting = one.original.filter(|id| {
        let message = world.channels.get(&one.channel).and_then(|channel| channel.messages.get(id));
        message.is_some_and(|message| message.thinking)
    });
    if let Some(id) = waiting {
        return messages::change(world, one.channel, id, &asked);
    }
    let place = Place { channel: one.channel, bot: one.bot, private: callback::private(&one, &asked.body.json) };
    let (mut message, pinged) = draft::new(world, place, &asked)?;
    callback::mark(world, &one, &mut message);
    Ok((200, world.post(one.channel, message, pinged, &asked)))
}

pub fn get(world: &mut World, asked: &Asked<'_>) -> Answer {
    let one = known(world, asked)?;
    let id = named(world, &one, asked)?;
    Ok((200, world.answer_message(one.channel, id, one.bot)))
}

pub fn edit(world: &mut World, asked: &Asked<'_>) -> Answer {
    let one = known(world, asked)?;
    let id = named(world, &one, asked)?;
    messages::change(world, one.channel, id, &Asked { bot: one.bot, ..*asked })
}

pub fn delete(world: &mut World, asked: &Asked<'_>) -> Answer {
    let one = known(world, asked)?;
    let id = named(world, &one, asked)?;
    messages::remove(world, one.channel, id, By::Bot, None);
    Ok((204, Value::Null))
}
