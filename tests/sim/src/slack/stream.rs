//! Messages that grow: a stream is started, appended to and stopped.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::Asked;
use super::cast::{ChannelKind, Message};
use super::chat::{Content, MAX_MARKDOWN, bot_message, content, log_bot};
use super::error::ApiError;
use super::markdown::markdown;
use super::params::Params;
use super::transcript::Kind;
use super::update::wire;
use super::world::World;

/// The text of one call, from either of the two ways of giving it.
fn piece(asked: &Asked<'_>) -> Result<String, ApiError> {
    let mut text = asked.params.text("markdown_text").unwrap_or_default();
    for chunk in asked.params.json("chunks")?.iter().flat_map(|chunks| chunks.as_array().into_iter().flatten()) {
        text.push_str(chunk["text"].as_str().or(chunk["title"].as_str()).unwrap_or_default());
    }
    if text.chars().count() > MAX_MARKDOWN {
        return Err(ApiError::broken("msg_too_long"));
    }
    Ok(text)
}

/// `chat.startStream`
pub fn start(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let wanted = asked.params.need("channel")?;
    let text = piece(asked)?;
    let channel = world.destination(asked, &wanted)?;
    let root = world
        .root_of(asked, &channel)?
        .ok_or_else(|| ApiError::invalid_arguments("missing required field: thread_ts"))?;
    if world.channels[&channel].kind != ChannelKind::Im {
        let user =
            asked.params.text("recipient_user_id").ok_or_else(|| ApiError::broken("missing_recipient_user_id"))?;
        asked.params.text("recipient_team_id").ok_or_else(|| ApiError::broken("missing_recipient_team_id"))?;
        if !world.channels[&channel].members.contains(&user) {
            return Err(ApiError::new("user_not_in_channel"));
        }
    }
    let blocks = markdown_block(&text);
    let mut message = bot_message(world, asked, &channel, Content { text, blocks, ..Content::default() });
    (message.thread, message.streaming) = (Some(root), Some(Instant::now()));
    let ts = message.ts.clone();
    world.stats.sent += 1;
    world.keep(&channel, message);
    world.end_status(&channel, &ts);
    log_bot(world, &channel, &ts, Kind::Message, asked.params.payload());
    world.announce(&channel, &ts);
    Ok(json!({"channel": channel, "ts": ts}))
}

fn markdown_block(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!([{"type": "markdown", "text": text}]) }
}

impl World {
    /// Whether a message is a stream that still grows; one that stood still for too long has ended.
    pub fn is_streaming(&self, message: &Message) -> bool {
        let lasts = Duration::from_secs_f64(self.limits.stream_seconds.clamp(0.0, 1e9));
        message.streaming.is_some_and(|grew| grew.elapsed() < lasts)
    }
}

/// The stream of this bot that a request is about.
fn growing<'a>(world: &'a mut World, asked: &Asked<'_>) -> Result<(String, &'a mut Message), ApiError> {
    let wanted = asked.params.need("channel")?;
    let ts = asked.params.need("ts")?;
    let channel = world.destination(asked, &wanted)?;
    let grows = world.message(&channel, &ts).is_some_and(|message| world.is_streaming(message));
    let message = world
        .channels
        .get_mut(&channel)
        .and_then(|channel| channel.messages.get_mut(&ts))
        .ok_or_else(|| ApiError::new("message_not_found"))?;
    if message.bot.as_ref().is_none_or(|(_, app)| *app != asked.caller.app) {
        return Err(ApiError::broken("message_not_owned_by_app"));
    }
    if !grows {
        // That it has ended by itself, or that it was stopped already, a bot need not know.
        let blame = asked.method == "chat.appendStream" && message.streaming.is_none();
        let code = "message_not_in_streaming_state";
        return Err(if blame { ApiError::broken(code) } else { ApiError::new(code) });
    }
    Ok((channel, message))
}

/// `chat.appendStream`
pub fn append(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let text = piece(asked)?;
    if text.is_empty() {
        return Err(ApiError::broken("no_text"));
    }
    let (channel, message) = growing(world, asked)?;
    let before = message.text.clone();
    message.text.push_str(&text);
    message.blocks = markdown_block(&message.text);
    message.streaming = Some(Instant::now());
    let ts = message.ts.clone();
    let named = log_bot(world, &channel, &ts, Kind::Edit, asked.params.payload());
    // What is added notifies as what is posted does.
    let known = markdown(&before, &|id| world.name_of(id)).pings.len() as u64;
    world.stats.mentions += named.saturating_sub(known);
    Ok(json!({"channel": channel, "ts": ts}))
}

/// `chat.stopStream`
pub fn stop(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let text = piece(asked)?;
    let last = match asked.params.json("blocks")? {
        Some(blocks) => content(&Params::from_value(json!({"text": ".", "blocks": blocks})))?.blocks,
        None => Value::Null,
    };
    let metadata = asked.params.json("metadata")?.unwrap_or_default();
    let (channel, message) = growing(world, asked)?;
    message.text.push_str(&text);
    let mut blocks = markdown_block(&message.text).as_array().cloned().unwrap_or_default();
    blocks.extend(last.as_array().cloned().unwrap_or_default());
    (message.blocks, message.streaming) = (json!(blocks), None);
    if !metadata.is_null() {
        message.metadata = metadata;
    }
    let ts = message.ts.clone();
    log_bot(world, &channel, &ts, Kind::Edit, asked.params.payload());
    let json = wire(world, &channel, &ts);
    world.announce_change(&channel, &ts, json.clone());
    Ok(json!({"channel": channel, "ts": ts, "message": json}))
}
