//! What a bot changes afterwards: edits, deletions, reactions, answers to presses.

use serde_json::{Value, json};

use super::api::Asked;
use super::cast::{Author, Message, now};
use super::error::ApiError;
use super::markup;
use super::send::{announce, caption, chat, text};
use super::text::units;
use super::transcript::Kind;
use super::world::World;
use crate::transcript::now_ms;

/// How long a bot may delete what others wrote, in seconds.
const DELETE_WINDOW: i64 = 48 * 3_600;
/// How long a press waits for its answer, in milliseconds.
const PRESS_WINDOW: u64 = 15 * 60 * 1_000;

const UNCHANGED: &str = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";

type Answer = Result<Value, ApiError>;

pub fn message_text(world: &mut World, asked: &Asked<'_>) -> Answer {
    change(world, asked, |message| {
        if message.media.is_some() {
            return Err(ApiError::bad("there is no text in the message to edit"));
        }
        message.text = text(asked)?;
        message.markup = markup::check_inline(asked.params.json("reply_markup")?)?;
        Ok(())
    })
}

pub fn message_caption(world: &mut World, asked: &Asked<'_>) -> Answer {
    change(world, asked, |message| {
        if message.media.is_none() {
            return Err(ApiError::bad("there is no caption in the message to edit"));
        }
        message.text = caption(asked)?;
        message.markup = markup::check_inline(asked.params.json("reply_markup")?)?;
        Ok(())
    })
}

pub fn message_markup(world: &mut World, asked: &Asked<'_>) -> Answer {
    change(world, asked, |message| {
        message.markup = markup::check_inline(asked.params.json("reply_markup")?)?;
        Ok(())
    })
}

fn change(world: &mut World, asked: &Asked<'_>, apply: impl FnOnce(&mut Message) -> Result<(), ApiError>) -> Answer {
    let id = chat(world, asked)?;
    let number = number(asked)?;
    let message = world.chats.get_mut(&id).and_then(|chat| chat.messages.get_mut(&number));
    let message = message.ok_or_else(|| ApiError::bad("message to edit not found"))?;
    if message.author != Author::Bot(asked.bot) {
        return Err(ApiError::bad("message can't be edited"));
    }
    let mut changed = message.clone();
    apply(&mut changed)?;
    if changed.text == message.text && changed.markup == message.markup {
        return Err(ApiError::bad(UNCHANGED));
    }
    changed.edited = Some(now());
    *message = changed;
    announce(world, asked, id, number, Kind::Edit, Vec::new())
}

pub fn number(asked: &Asked<'_>) -> Result<i64, ApiError> {
    asked
        .params
        .int("message_id")
        .filter(|id| *id > 0)
        .ok_or_else(|| ApiError::broken("message_id", "message identifier is not specified"))
}

pub fn delete(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = chat(world, asked)?;
    let number = number(asked)?;
    let chat = world.chats.get_mut(&id).ok_or_else(|| ApiError::bad("chat not found"))?;
    let message = chat.messages.get(&number).ok_or_else(|| ApiError::bad("message to delete not found"))?;
    if now() - message.date > DELETE_WINDOW {
        return Err(ApiError::bad("message can't be deleted for everyone"));
    }
    let mut entry = asked.entry(chat, Kind::Delete);
    entry.message = Some(number);
    entry.thread = chat.thread_name(message.thread);
    chat.messages.remove(&number);
    world.log(entry);
    Ok(json!(true))
}

/// Ends the waiting of a button; a press can be answered once and for a while.
pub fn answer_press(world: &mut World, asked: &Asked<'_>) -> Answer {
    let text = asked.params.text("text").unwrap_or_default();
    if units(&text) > 200 {
        return Err(ApiError::broken("callback_text", "MESSAGE_TOO_LONG"));
    }
    let id = asked.params.text("callback_query_id").unwrap_or_default();
    let is_ours = world.presses.get(&id).is_some_and(|press| press.bot == asked.bot);
    let press = is_ours.then(|| world.presses.remove(&id)).flatten();
    let fresh = press.filter(|press| now_ms().saturating_sub(press.asked_ms) < PRESS_WINDOW);
    let Some(press) = fresh else {
        return Err(ApiError::bad("query is too old and response timeout expired or query ID is invalid"));
    };
    let Some(chat) = world.chats.get(&press.chat) else { return Ok(json!(true)) };
    let mut entry = asked.entry(chat, Kind::Private);
    entry.message = Some(press.message);
    entry.to = Some(press.user);
    entry.text = text;
    world.log(entry);
    Ok(json!(true))
}
