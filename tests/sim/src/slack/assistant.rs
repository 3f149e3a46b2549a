//! What an assistant shows beside its messages: status, title, prompts.

use serde_json::{Value, json};

use super::api::Asked;
use super::error::ApiError;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// The most prompts that are suggested at once.
const MOST_PROMPTS: usize = 4;

/// The thread that a request is about.
fn thread(world: &mut World, asked: &Asked<'_>) -> Result<(String, String), ApiError> {
    let channel = asked.params.need("channel_id")?;
    let root = asked.params.need("thread_ts")?;
    let channel = world.destination(asked, &channel)?;
    if world.message(&channel, &root).is_none() {
        return Err(ApiError::new("invalid_thread_ts"));
    }
    Ok((channel, root))
}

fn log(world: &mut World, asked: &Asked<'_>, channel: &str, root: &str, text: String) {
    let place = &world.channels[channel];
    let mut entry = Entry::new(&place.name, channel, By::Bot, Kind::Status);
    entry.thread = place.thread_name(Some(root));
    entry.text = text;
    entry.payload = asked.params.payload();
    world.log(entry);
}

/// `assistant.threads.setStatus`; an empty status takes it away.
pub fn status(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let status = match asked.params.get("status") {
        Some(Value::String(status)) => status.clone(),
        _ => return Err(ApiError::invalid_arguments("missing required field: status")),
    };
    let (channel, root) = thread(world, asked)?;
    if let Some(message) = world.channels.get_mut(&channel).and_then(|channel| channel.messages.get_mut(&root)) {
        message.status = !status.is_empty();
    }
    log(world, asked, &channel, &root, status);
    Ok(json!({}))
}

/// `assistant.threads.setTitle`
pub fn title(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let title = asked.params.need("title")?;
    let (channel, root) = thread(world, asked)?;
    log(world, asked, &channel, &root, format!("title: {title}"));
    Ok(json!({}))
}

/// `assistant.threads.setSuggestedPrompts`
pub fn prompts(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let prompts = asked.params.json("prompts")?.and_then(|list| list.as_array().cloned()).unwrap_or_default();
    let complete = prompts.iter().all(|prompt| prompt["title"].is_string() && prompt["message"].is_string());
    if prompts.is_empty() || prompts.len() > MOST_PROMPTS || !complete {
        return Err(ApiError::invalid_arguments("prompts: one to four, each with title and message"));
    }
    let (channel, root) = thread(world, asked)?;
    let titles: Vec<&str> = prompts.iter().filter_map(|prompt| prompt["title"].as_str()).collect();
    log(world, asked, &channel, &root, format!("prompts: {}", titles.join(" · ")));
    Ok(json!({}))
}

impl World {
    /// A message of the app in a thread ends the status there.
    pub fn end_status(&mut self, channel: &str, ts: &str) {
        let Some(place) = self.channels.get_mut(channel) else { return };
        let Some(root) = place.messages.get(ts).and_then(|message| message.thread.clone()) else { return };
        let Some(message) = place.messages.get_mut(&root).filter(|message| message.status) else { return };
        message.status = false;
        let mut entry = Entry::new(&place.name, channel, By::Bot, Kind::Status);
        entry.thread = place.thread_name(Some(&root));
        self.log(entry);
    }
}
