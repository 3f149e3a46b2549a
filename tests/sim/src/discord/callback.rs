//! The first answer to an interaction.

use serde_json::{Value, json};

use super::api::Answer;
use super::cast::Message;
use super::draft::{self, Place};
use super::error::{ApiError, Form};
use super::interactions::{AUTOCOMPLETE, COMMAND, COMPONENT, Interaction, MODAL};
use super::request::{Asked, Body};
use super::transcript::{By, Entry, Kind, Pinged};
use super::world::World;
use super::{check, components, messages};

const EPHEMERAL: u64 = 64;

pub fn answer(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    let known = world.interactions.get(&id).filter(|one| one.token == asked.word(2)).cloned();
    let Some(one) = known else { return Err(ApiError::interaction().as_rule("unknown_interaction")) };
    if one.answered.is_some() {
        let error = ApiError::new(400, 40_060, "Interaction has already been acknowledged.");
        return Err(error.as_rule("answered_twice"));
    }
    if world.late(&one) {
        world.end_interactions();
        return Err(ApiError::interaction().as_rule("interaction_late"));
    }
    let kind = asked.field("type").as_u64().unwrap_or_default();
    fitting(&one, kind)?;
    let inner = Body { json: asked.field("data").clone(), ..asked.body.clone() };
    let asked_data = Asked { bot: one.bot, body: &inner, ..*asked };
    let message = match kind {
        4 => Some(message(world, &one, &asked_data)?),
        5 => Some(think(world, &one, &inner.json)),
        6 => one.source,
        7 => Some(update(world, &one, &asked_data)?),
        8 => choices(world, &one, &inner.json)?,
        _ => modal(world, &one, asked)?,
    };
    if let Some(known) = world.interactions.get_mut(&id) {
        known.answered = Some(kind as u8);
        known.original = message;
    }
    world.moves += 1;
    if !matches!(asked.query("with_response"), Some("true" | "True" | "1")) {
        return Ok((204, Value::Null));
    }
    Ok((200, response(world, &one, kind, message)))
}

/// Whether an interaction can be answered so.
fn fitting(one: &Interaction, kind: u64) -> Result<(), ApiError> {
    let (fits, allowed) = match one.kind {
        COMMAND => (matches!(kind, 4 | 5 | 9), "(4, 5, 9)"),
        COMPONENT => (matches!(kind, 4..=7 | 9), "(4, 5, 6, 7, 9)"),
        AUTOCOMPLETE => (kind == 8, "(8,)"),
        MODAL if one.source.is_some() => (matches!(kind, 4..=7), "(4, 5, 6, 7)"),
        _ => (matches!(kind, 4 | 5), "(4, 5)"),
    };
    let mut form = Form::default();
    if !fits {
        form.choice("type", allowed);
    }
    form.done()
}

fn response(world: &World, one: &Interaction, kind: u64, message: Option<u64>) -> Value {
    let mut out = json!({"interaction": {
        "id": one.id.to_string(), "type": one.kind, "response_message_loading": kind == 5, "response_message_ephemeral": false,
    }});
    let shown = message.filter(|_| matches!(kind, 4 | 5 | 7)).map(|id| world.answer_message(one.channel, id, one.bot));
    if let Some(message) = shown {
        out["interaction"]["response_message_id"] = message["id"].clone();
        out["interaction"]["response_message_ephemeral"] =
            json!(message["flags"].as_u64().unwrap_or_default() & EPHEMERAL != 0);
        out["resource"] = json!({"type": kind, "message": message});
    }
    out
}

/// Marks a message as an answer to an interaction.
pub fn mark(world: &World, one: &Interaction, message: &mut Message) {
    message.interaction = Some(one.id);
    message.set("application_id", json!(one.bot.to_string()));
    message.set("webhook_id", json!(one.bot.to_string()));
    if one.kind == COMMAND {
        let user = world.author_json(one.user);
        message.set("type", json!(20));
        message.set("interaction", json!({"id": one.id.to_string(), "type": 2, "name": one.name, "user": user}));
    }
    message.set("interaction_metadata", about(world, one));
}

/// What a message says of the interaction that it answers, and of the one that opened its form.
fn about(world: &World, one: &Interaction) -> Value {
    let guild = world.channels.get(&one.channel).and_then(|channel| channel.guild);
    let owner = guild.map_or("0".to_owned(), |guild| guild.to_string());
    let user = world.author_json(one.user);
    let mut out = json!({
        "id": one.id.to_string(), "type": one.kind, "user": user, "authorizing_integration_owners": {"0": owner},
    });
    match one.kind {
        COMMAND => {
            out["name"] = json!(one.name);
            out["command_type"] = json!(1);
        }
        MODAL => {
            let opener = one.opener.and_then(|id| world.interactions.get(&id)).filter(|opener| opener.kind != MODAL);
            out["triggering_interaction_metadata"] = opener.map(|opener| about(world, opener)).unwrap_or_default();
        }
        _ => {}
    }
    if let Some(source) = one.source.filter(|_| one.kind == COMPONENT) {
        out["interacted_message_id"] = json!(source.to_string());
    }
    out
}

/// Whom an answer is shown to alone.
pub fn private(one: &Interaction, data: &Value) -> Option<u64> {
    data["flags"].as_u64().is_some_and(|flags| flags & EPHEMERAL != 0).then_some(one.user)
}

fn message(world: &mut World, one: &Interaction, asked: &Asked<'_>) -> Result<u64, ApiError> {
    let data = &asked.body.json;
    check::message(data, &asked.body.uploads, check::Where::Interaction, &world.limits)?;
    let place = Place { channel: one.channel, bot: one.bot, private: private(one, data) };
    let (mut message, pinged) = draft::new(world, place, asked)?;
    mark(world, one, &mut message);
    let id = message.id;
    world.post(one.channel, message, pinged, asked);
    Ok(id)
}

/// A place for an answer that comes later.
fn think(world: &mut World, one: &Interaction, data: &Value) -> u64 {
    let mut message = Message::new(world.next_id(), one.bot);
    message.bot = Some(one.bot);
    message.thinking = true;
    message.to = private(one, data);
    message.set("flags", json!(if message.to.is_some() { EPHEMERAL } else { 0 }));
    mark(world, one, &mut message);
    let id = message.id;
    world.keep(one.channel, message);
    world.tell_message("MESSAGE_CREATE", one.channel, id);
    let mut entry = world.bot_entry(one.channel, id, Kind::Status, Pinged::default());
    entry.text = format!("{} is thinking…", world.called(one.bot).unwrap_or_default());
    entry.payload = json!({"type": 5, "data": data});
    world.log(entry);
    id
}

fn update(world: &mut World, one: &Interaction, asked: &Asked<'_>) -> Result<u64, ApiError> {
    let source = one.source.ok_or_else(ApiError::message)?;
    messages::change(world, one.channel, source, asked)?;
    Ok(source)
}

fn choices(world: &mut World, one: &Interaction, data: &Value) -> Result<Option<u64>, ApiError> {
    let list = data["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut form = Form::default();
    if list.len() > 25 {
        form.wrong("choices", "data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    for (at, choice) in list.iter().enumerate() {
        let path = format!("data.choices.{at}");
        form.length("choice_name", &format!("{path}.name"), choice["name"].as_str().unwrap_or_default(), 1, 100);
        match &choice["value"] {
            Value::String(text) => form.length("choice_value", &format!("{path}.value"), text, 0, 100),
            Value::Number(_) => {}
            _ => form.required(&format!("{path}.value")),
        }
    }
    form.done()?;
    if let Some(known) = world.interactions.get_mut(&one.id) {
        known.choices = Some(json!(list));
    }
    Ok(None)
}

fn modal(world: &mut World, one: &Interaction, asked: &Asked<'_>) -> Result<Option<u64>, ApiError> {
    let data = asked.field("data");
    let mut form = Form::default();
    components::modal(&mut form, data);
    form.done()?;
    if let Some(known) = world.interactions.get_mut(&one.id) {
        let mut form = data.clone();
        form["components"] = draft::numbered(&data["components"]);
        known.modal = Some(form);
    }
    let Some(channel) = world.channels.get(&one.channel) else { return Ok(None) };
    let mut entry = Entry::new(&channel.conversation, one.channel.to_string(), By::Bot, Kind::Modal);
    entry.thread = world.thread_name(one.channel);
    entry.text = modal_text(data);
    entry.to = world.called(one.user).map(str::to_owned);
    entry.interaction = Some(one.id.to_string());
    entry.payload = data.clone();
    world.log(entry);
    Ok(None)
}

/// The title and the labels of a form, a line each.
fn modal_text(data: &Value) -> String {
    let mut lines = vec![data["title"].as_str().unwrap_or_default().to_owned()];
    for part in data["components"].as_array().into_iter().flatten() {
        let label = part["label"].as_str().or_else(|| part["components"][0]["label"].as_str());
        lines.extend(label.or_else(|| part["content"].as_str()).map(str::to_owned));
    }
    lines.join("\n")
}
