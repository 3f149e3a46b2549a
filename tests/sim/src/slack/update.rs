//! Changing and deleting what a bot posted, and links to messages.

use serde_json::{Value, json};

use super::api::Asked;
use super::cast::now;
use super::chat::{content, log_bot};
use super::error::ApiError;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// Longer texts are refused in updates.
const MAX_TEXT: usize = 4_000;

/// A message that the bot itself wrote.
fn own(world: &mut World, asked: &Asked<'_>, refusal: &'static str) -> Result<(String, String), ApiError> {
    let wanted = asked.params.text("channel").ok_or_else(|| ApiError::broken("channel_not_found"))?;
    let ts = asked.params.text("ts").ok_or_else(|| ApiError::broken("message_not_found"))?;
    let channel = world.destination(asked, &wanted)?;
    let message = world
        .message(&channel, &ts)
        .filter(|message| message.only.is_none())
        .ok_or_else(|| ApiError::new("message_not_found"))?;
    let own = message.bot.as_ref().is_some_and(|(_, app)| *app == asked.caller.app);
    if own { Ok((channel, ts)) } else { Err(ApiError::broken(refusal)) }
}

/// `chat.update`
pub fn update(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let content = content(asked.params)?;
    if content.text.chars().count() > MAX_TEXT {
        return Err(ApiError::broken("msg_too_long"));
    }
    let (channel, ts) = own(world, asked, "cant_update_message")?;
    let window = world.limits.edit_seconds;
    let age = now().saturating_sub(ts.split('.').next().and_then(|secs| secs.parse().ok()).unwrap_or_default());
    if window > 0.0 && age as f64 > window {
        return Err(ApiError::new("edit_window_closed"));
    }
    if world.message(&channel, &ts).is_some_and(|message| world.is_streaming(message)) {
        return Err(ApiError::broken("streaming_state_conflict"));
    }
    let previous = wire(world, &channel, &ts);
    let stamp = world.next_ts();
    let Some(message) = world.channels.get_mut(&channel).and_then(|channel| channel.messages.get_mut(&ts)) else {
        return Err(ApiError::new("message_not_found"));
    };
    // What is not sent stays as it was; an empty list takes it away.
    message.text = content.text;
    if asked.params.get("blocks").is_some() || !content.blocks.is_null() {
        message.blocks = content.blocks;
    }
    if asked.params.get("attachments").is_some() {
        message.attachments = content.attachments;
    }
    if !content.metadata.is_null() {
        message.metadata = content.metadata;
    }
    message.edited = Some((message.user.clone(), stamp));
    log_bot(world, &channel, &ts, Kind::Edit, asked.params.payload());
    world.announce_change(&channel, &ts, previous);
    let (json, text) = (wire(world, &channel, &ts), world.message(&channel, &ts).map(|message| message.text.clone()));
    Ok(json!({"channel": channel, "ts": ts, "text": text, "message": json}))
}

/// The message as it stands on the wire now.
pub fn wire(world: &World, channel: &str, ts: &str) -> Value {
    world.found(channel, ts).map(|(place, message)| world.message_json(&place, &message)).unwrap_or_default()
}

/// `chat.delete`
pub fn delete(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let (channel, ts) = own(world, asked, "cant_delete_message")?;
    let place = &world.channels[&channel];
    let mut entry = Entry::new(&place.name, &channel, By::Bot, Kind::Delete);
    entry.thread = place.thread_name(place.messages.get(&ts).and_then(|message| message.thread.as_deref()));
    entry.message = Some(ts.clone());
    entry.payload = asked.params.payload();
    world.log(entry);
    world.forget(&channel, &ts);
    Ok(json!({"channel": channel, "ts": ts}))
}

impl World {
    /// Takes a message away and tells everybody; returns the event.
    pub fn forget(&mut self, channel: &str, ts: &str) -> Value {
        let previous = wire(self, channel, ts);
        if let Some(place) = self.channels.get_mut(channel) {
            let root = place.messages.remove(ts).and_then(|message| message.thread);
            if let Some(root) = root.and_then(|root| place.messages.get_mut(&root)) {
                root.replies.retain(|(reply, _)| reply != ts);
            }
        }
        self.announce_removal(channel, ts, previous)
    }
}

/// `chat.getPermalink`
pub fn permalink(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let wanted = asked.params.need("channel")?;
    let ts = asked.params.need("message_ts")?;
    let channel = world.find_channel(&wanted).ok_or_else(|| ApiError::new("channel_not_found"))?;
    let message = world.message(&channel, &ts).ok_or_else(|| ApiError::new("message_not_found"))?;
    let thread = message.thread.as_ref().map(|root| format!("?thread_ts={root}&cid={channel}")).unwrap_or_default();
    Ok(
        json!({"channel": channel, "permalink": format!("{}/slack/archives/{channel}/p{}{thread}", world.url, ts.replace('.', ""))}),
    )
}
