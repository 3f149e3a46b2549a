//! Reactions of bots and people.

use serde_json::{Value, json};

use super::api::Asked;
use super::error::ApiError;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// The most kinds of reactions on one message.
const MOST: usize = 23;

/// Names and characters of the emoji that tests use; a name that is not here is shown between colons.
const KNOWN: [(&str, &str); 16] = [
    ("eyes", "👀"),
    ("+1", "👍"),
    ("thumbsup", "👍"),
    ("-1", "👎"),
    ("heart", "❤️"),
    ("tada", "🎉"),
    ("fire", "🔥"),
    ("white_check_mark", "✅"),
    ("x", "❌"),
    ("warning", "⚠️"),
    ("hourglass_flowing_sand", "⏳"),
    ("hourglass", "⌛"),
    ("thinking_face", "🤔"),
    ("wave", "👋"),
    ("rocket", "🚀"),
    ("smile", "😄"),
];

/// The name of an emoji that is given by name or character.
pub fn name_of(emoji: &str) -> String {
    let bare = emoji.trim_matches(':');
    KNOWN
        .iter()
        .find(|(_, shown)| *shown == emoji || shown.trim_end_matches('\u{fe0f}') == emoji)
        .map_or(bare, |(name, _)| name)
        .to_owned()
}

/// The character that a name is shown as.
pub fn shown(name: &str) -> String {
    KNOWN.iter().find(|(known, _)| *known == name).map_or_else(|| format!(":{name}:"), |(_, shown)| (*shown).to_owned())
}

impl World {
    /// Sets or takes a reaction; returns the event.
    pub fn set_reaction(
        &mut self,
        channel: &str,
        ts: &str,
        user: &str,
        name: &str,
        on: bool,
    ) -> Result<Value, ApiError> {
        let stamp = self.next_ts();
        let message = self
            .channels
            .get_mut(channel)
            .and_then(|channel| channel.messages.get_mut(ts))
            .filter(|message| message.only.is_none())
            .ok_or_else(|| ApiError::new("message_not_found"))?;
        let at = message.reactions.iter().position(|(known, _)| known == name);
        let has = at.is_some_and(|at| message.reactions[at].1.iter().any(|known| known == user));
        match (on, at) {
            (true, _) if has => return Err(ApiError::new("already_reacted")),
            (true, Some(at)) => message.reactions[at].1.push(user.to_owned()),
            (true, None) if message.reactions.len() >= MOST => return Err(ApiError::new("too_many_emoji")),
            (true, None) => message.reactions.push((name.to_owned(), vec![user.to_owned()])),
            (false, Some(at)) if has => {
                message.reactions[at].1.retain(|known| known != user);
                if message.reactions[at].1.is_empty() {
                    message.reactions.remove(at);
                }
            }
            (false, _) => return Err(ApiError::new("no_reaction")),
        }
        let word = if on { "reaction_added" } else { "reaction_removed" };
        Ok(
            json!({"type": word, "user": user, "reaction": name, "item": {"type": "message", "channel": channel, "ts": ts}, "item_user": message.user, "event_ts": stamp}),
        )
    }
}

fn change(world: &mut World, asked: &Asked<'_>, on: bool) -> Result<Value, ApiError> {
    let wanted = asked.params.text("channel").ok_or_else(|| ApiError::broken("no_item_specified"))?;
    let ts = asked.params.text("timestamp").ok_or_else(|| ApiError::broken("no_item_specified"))?;
    let name = asked.params.text("name").ok_or_else(|| ApiError::broken("invalid_name"))?;
    let bare = name.trim_matches(':');
    if bare.is_empty() || !bare.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_+-':".contains(&c)) {
        return Err(ApiError::broken("invalid_name"));
    }
    let channel = world.destination(asked, &wanted)?;
    let team = world.channels[&channel].team;
    let bot = world.apps[asked.caller.app].install(team).map(|install| install.bot_user.clone()).unwrap_or_default();
    let event = world.set_reaction(&channel, &ts, &bot, bare, on)?;
    let place = &world.channels[&channel];
    let mut entry = Entry::new(&place.name, &channel, By::Bot, Kind::Reaction);
    entry.thread = place.thread_name(place.messages.get(&ts).and_then(|message| message.thread.as_deref()));
    entry.message = Some(ts);
    entry.text = if on { shown(bare) } else { String::new() };
    entry.payload = asked.params.payload();
    world.log(entry);
    world.tell_all(&channel, &event);
    Ok(json!({}))
}

/// `reactions.add`
pub fn add(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    change(world, asked, true)
}

/// `reactions.remove`
pub fn remove(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    change(world, asked, false)
}

/// `reactions.get`
pub fn get(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let wanted = asked.params.need("channel")?;
    let ts = asked.params.need("timestamp")?;
    let channel = world.destination(asked, &wanted)?;
    let place = &world.channels[&channel];
    let message = place.messages.get(&ts).ok_or_else(|| ApiError::new("message_not_found"))?;
    Ok(json!({"type": "message", "channel": channel, "message": world.history_json(place, message, false)}))
}
