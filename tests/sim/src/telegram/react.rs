//! Emoji on messages: those that there are, and what people and bots put on.

use serde_json::{Value, json};

use super::api::Asked;
use super::cast::{Chat, Message, now};
use super::error::ApiError;
use super::inbound::person_entry;
use super::people::{Outcome, React, Said, refused};
use super::send::chat;
use super::transcript::Kind;
use super::world::World;

/// Most people whose emoji a message keeps, and most kinds of them.
const MOST: usize = 1_000;
pub const MOST_KINDS: usize = 11;

/// The emoji that the platform offers as reactions; none has a variation selector at its end.
#[rustfmt::skip]
const EMOJI: [&str; 73] = [
    "❤", "👍", "👎", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩",
    "🙏", "👌", "🕊", "🤡", "🥱", "🥴", "😍", "🐳", "❤‍🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆",
    "💔", "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨‍💻", "👀", "🎃", "🙈",
    "😇", "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄",
    "😘", "💊", "🙊", "😎", "👾", "🤷‍♂", "🤷", "🤷‍♀", "😡",
];

/// What stands before the id of an emoji that somebody drew.
const CUSTOM: &str = "custom:";

/// A reaction in its plainest writing: an emoji without a variation selector at its end, or `custom:ID`.
pub fn plain(emoji: &str) -> &str {
    emoji.trim_end_matches('\u{fe0f}')
}

/// Whether there is such a reaction anywhere.
pub fn is_one(emoji: &str) -> bool {
    match emoji.strip_prefix(CUSTOM) {
        Some(id) => !id.is_empty() && id.bytes().all(|c| c.is_ascii_digit()),
        None => EMOJI.contains(&emoji),
    }
}

/// A reaction as updates carry it.
pub fn wire(emoji: &str) -> Value {
    match emoji.strip_prefix(CUSTOM) {
        Some(id) => json!({"type": "custom_emoji", "custom_emoji_id": id}),
        None => json!({"type": "emoji", "emoji": emoji}),
    }
}

/// Whether a chat takes a reaction on a message: those that its administrators chose, else every emoji; a custom one also
/// where it stands already.
fn taken(chat: &Chat, message: &Message, emoji: &str) -> bool {
    let there = || message.reactions.values().any(|known| known == emoji);
    match &chat.reactions {
        Some(allowed) if allowed.iter().any(|known| known == emoji) => true,
        _ if emoji.starts_with(CUSTOM) => there(),
        Some(_) => false,
        None => true,
    }
}

impl World {
    /// In groups the platform tells only bots that administrate them; here all of them do.
    pub fn react(&mut self, react: &React) -> Outcome<Said> {
        let id = self.place(&react.conversation)?;
        let user = self.person(&react.user, None)?;
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        let Some(message) = chat.messages.get(&react.message) else { return refused(404, "message: no such message") };
        let thread = chat.thread_name(message.thread);
        let emoji = plain(&react.emoji);
        if !emoji.is_empty() {
            offered(chat, message, emoji, user.id)?;
        }
        let Some(message) = chat.messages.get_mut(&react.message) else { return refused(404, "no such message") };
        let list = |emoji: Option<&String>| -> Value { emoji.map_or(json!([]), |emoji| json!([wire(emoji)])) };
        let old = list(message.reactions.get(&user.id));
        match emoji.is_empty() {
            true => drop(message.reactions.remove(&user.id)),
            false => drop(message.reactions.insert(user.id, emoji.to_owned())),
        }
        let new = list(message.reactions.get(&user.id));
        let Some(chat) = self.chats.get(&id) else { return refused(404, "no such conversation") };
        let event = json!({"chat": chat.json(), "message_id": react.message, "user": user.json(), "date": now(),
            "old_reaction": old, "new_reaction": new});
        let mut entry = person_entry(chat, &user, Kind::Reaction);
        entry.message = Some(react.message);
        entry.thread = thread;
        entry.text = react.emoji.clone();
        entry.payload = event.clone();
        let (only, wire) = (self.only(chat), chat.wire);
        self.log(entry);
        self.stats.received += 1;
        let update = self.tell("message_reaction", event, only);
        Ok(Said { message: Some(react.message), chat: wire, update, interaction: None })
    }
}

/// What a client lets a person choose.
fn offered(chat: &Chat, message: &Message, emoji: &str, user: i64) -> Outcome<()> {
    if !is_one(emoji) {
        return refused(400, format!("emoji: '{emoji}' is none of the platform's reactions"));
    }
    if !taken(chat, message, emoji) {
        return refused(400, format!("emoji: the conversation does not take '{emoji}'"));
    }
    let others = || message.reactions.iter().filter(|(who, _)| **who != user).map(|(_, emoji)| emoji.as_str());
    let kinds: std::collections::BTreeSet<&str> = others().collect();
    match () {
        () if !kinds.contains(emoji) && kinds.len() >= MOST_KINDS => refused(409, "too many kinds of emoji"),
        () if others().count() >= MOST => refused(409, "too many people reacted"),
        () => Ok(()),
    }
}

/// `setMessageReaction`: a bot puts on one, which takes the place of the one before.
pub fn set(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let id = chat(world, asked)?;
    let number = super::edit::number(asked)?;
    let given = asked.params.json("reaction")?.unwrap_or(json!([]));
    let kinds = given.as_array().cloned().unwrap_or_default();
    if kinds.len() > 1 {
        return Err(ApiError::broken("reactions", "REACTIONS_TOO_MANY"));
    }
    let invalid = || ApiError::broken("reaction", "REACTION_INVALID");
    let wanted = kinds.first().map(|kind| wanted(kind).ok_or_else(invalid)).transpose()?;
    let chat = world.chats.get_mut(&id).ok_or_else(|| ApiError::bad("chat not found"))?;
    let message = chat.messages.get(&number).ok_or_else(|| ApiError::bad("message to react not found"))?;
    // What a chat takes is its administrators' choice, which a bot need not know.
    if wanted.as_ref().is_some_and(|emoji| !taken(chat, message, emoji)) {
        return Err(ApiError::bad("REACTION_INVALID"));
    }
    let mut entry = asked.entry(chat, Kind::Reaction);
    entry.message = Some(number);
    entry.thread = chat.thread_name(message.thread);
    entry.text = kinds.first().and_then(|kind| kind["emoji"].as_str()).unwrap_or_default().to_owned();
    if let Some(message) = chat.messages.get_mut(&number) {
        message.reactions.remove(&asked.bot);
        message.reactions.extend(wanted.map(|emoji| (asked.bot, emoji)));
    }
    world.log(entry);
    Ok(json!(true))
}

/// The reaction that a request names, if there is such a one; stars are not for bots.
fn wanted(kind: &Value) -> Option<String> {
    let named = match kind["type"].as_str()? {
        "emoji" => plain(kind["emoji"].as_str()?).to_owned(),
        "custom_emoji" => format!("{CUSTOM}{}", kind["custom_emoji_id"].as_str()?),
        _ => return None,
    };
    Some(named).filter(|emoji| is_one(emoji))
}
