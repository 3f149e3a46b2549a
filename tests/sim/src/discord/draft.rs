//! From the body of a request to a message: text, reference, files, and whom it notifies.

use bytes::Bytes;
use serde_json::{Value, json};

use super::cast::Message;
use super::error::{ApiError, Form};
use super::files::{File, mime};
use super::ids::stamp;
use super::mentions;
use super::request::{Asked, Upload, snowflake};
use super::transcript::Pinged;
use super::world::World;
use crate::transcript::now_ms;

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub channel: u64,
    pub bot: u64,
    /// Who alone is to see it.
    pub private: Option<u64>,
}

/// Flags that a bot can set.
const SETTABLE: u64 = 1 << 2 | 1 << 12 | 1 << 13 | 1 << 15;

/// A new message; the body has been checked already.
pub fn new(world: &mut World, place: Place, asked: &Asked<'_>) -> Result<(Message, Pinged), ApiError> {
    let body = &asked.body.json;
    let mut message = Message::new(world.next_id(), place.bot);
    message.bot = Some(place.bot);
    message.to = place.private;
    message.set("content", json!(body["content"].as_str().unwrap_or_default().trim()));
    message.set("tts", json!(body["tts"].as_bool().unwrap_or_default()));
    message.set("embeds", embeds(&body["embeds"]));
    message.set("components", numbered(&body["components"]));
    let private = if place.private.is_some() { 64 } else { 0 };
    message.set("flags", json!(body["flags"].as_u64().unwrap_or_default() & SETTABLE | private));
    if !body["nonce"].is_null() {
        message.set("nonce", body["nonce"].clone());
    }
    if let Some(stickers) = body["sticker_ids"].as_array().filter(|stickers| !stickers.is_empty()) {
        let items: Vec<Value> =
            stickers.iter().map(|id| json!({"id": id, "name": "sticker", "format_type": 1})).collect();
        message.set("sticker_items", json!(items));
    }
    refer(world, place, &mut message, &body["message_reference"])?;
    let files = store(world, place.channel, &asked.body.uploads, &body["attachments"])?;
    message.set("attachments", json!(files));
    let pinged = mentions::apply(world, place.channel, &mut message, &body["allowed_mentions"]);
    Ok((message, pinged))
}

/// Embeds as they come back: each says of which kind it is.
fn embeds(wanted: &Value) -> Value {
    let mut out = wanted.as_array().cloned().unwrap_or_default();
    for embed in &mut out {
        if embed["type"].is_null() {
            embed["type"] = json!("rich");
        }
        if let Some(fields) = embed.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        for field in embed.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
            if !field["inline"].is_boolean() {
                field["inline"] = json!(false);
            }
        }
    }
    Value::Array(out)
}

/// Components as they come back: each has a number.
pub fn numbered(wanted: &Value) -> Value {
    fn number(part: &mut Value, next: &mut u64) {
        if part.is_object() && part["type"].is_u64() {
            if part["id"].as_u64().is_none_or(|id| id == 0) {
                part["id"] = json!(*next);
            }
            *next += 1;
        }
        for inner in ["components", "accessory", "component"] {
            match part.get_mut(inner) {
                Some(Value::Array(parts)) => parts.iter_mut().for_each(|part| number(part, next)),
                Some(one @ Value::Object(_)) => number(one, next),
                _ => {}
            }
        }
    }
    let mut out = json!({"components": wanted.as_array().cloned().unwrap_or_default()});
    number(&mut out, &mut 1);
    out["components"].take()
}

/// Ties a message to the one that it replies to or forwards.
fn refer(world: &World, place: Place, message: &mut Message, wanted: &Value) -> Result<(), ApiError> {
    let Some(target) = snowflake(&wanted["message_id"]) else { return Ok(()) };
    let from = snowflake(&wanted["channel_id"]).unwrap_or(place.channel);
    let found = world.channels.get(&from).and_then(|channel| Some((channel, channel.messages.get(&target)?)));
    let forward = wanted["type"] == json!(1);
    let Some((channel, source)) = found.filter(|(_, source)| source.to.is_none() && (forward || from == place.channel))
    else {
        if wanted["fail_if_not_exists"] == json!(false) {
            return Ok(());
        }
        let mut form = Form::default();
        form.wrong("reply_target", "message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
        // The target may have gone a moment ago, which the bot could not know.
        return form.done().map_err(|error| ApiError { rule: None, ..error });
    };
    let kind = u64::from(forward);
    let mut reference = json!({"type": kind, "channel_id": from.to_string(), "message_id": target.to_string()});
    if let Some(guild) = channel.guild {
        reference["guild_id"] = json!(guild.to_string());
    }
    message.set("message_reference", reference);
    if forward {
        message.set("flags", json!(message.flags() | 1 << 14));
        message.set("message_snapshots", json!([{"message": snapshot(source)}]));
    } else {
        message.set("type", json!(19));
    }
    Ok(())
}

/// What of a message a forward carries along.
pub fn snapshot(source: &Message) -> Value {
    let mut out = json!({});
    for field in [
        "type",
        "content",
        "timestamp",
        "edited_timestamp",
        "mentions",
        "mention_roles",
        "attachments",
        "embeds",
        "components",
        "flags",
    ] {
        out[field] = source.body.get(field).cloned().unwrap_or_default();
    }
    out
}

/// Keeps the files of a request and gives their objects.
fn store(world: &mut World, channel: u64, uploads: &[Upload], described: &Value) -> Result<Vec<Value>, ApiError> {
    let described = described.as_array().map(Vec::as_slice).unwrap_or_default();
    let about = |number: &str| {
        described.iter().find(|one| {
            one["id"].as_str() == Some(number) || one["id"].as_u64().map(|id| id.to_string()).as_deref() == Some(number)
        })
    };
    let mut out = Vec::new();
    for upload in uploads {
        let about = about(&upload.number);
        let name = about.and_then(|one| one["filename"].as_str()).unwrap_or(&upload.name).to_owned();
        let description = about.and_then(|one| one["description"].as_str()).map(str::to_owned);
        let kind = upload.mime.clone().filter(|mime| mime != "application/octet-stream");
        let kind = kind.unwrap_or_else(|| mime(&name).to_owned());
        out.push(keep_file(world, channel, name, kind, upload.bytes.clone(), None, description));
    }
    Ok(out)
}

/// Keeps one file and gives its object.
pub fn keep_file(
    world: &mut World,
    channel: u64,
    name: String,
    mime: String,
    bytes: Bytes,
    size: Option<u64>,
    description: Option<String>,
) -> Value {
    let size = size.unwrap_or(bytes.len() as u64);
    let file = File { id: world.next_id(), channel, name, mime, size, bytes, description };
    let out = file.json(&world.url);
    world.files.add(file);
    out
}

/// Changes the fields of a message that a body names, and says whom the new text would notify.
pub fn edit(world: &mut World, channel: u64, id: u64, body: &Value, uploads: &[Upload]) -> Result<Pinged, ApiError> {
    let known = world.channels.get(&channel).and_then(|channel| channel.messages.get(&id));
    let Some(mut message) = known.cloned() else { return Err(ApiError::message()) };
    let given = |name: &str| body.get(name).is_some();
    if given("content") {
        message.set("content", json!(body["content"].as_str().unwrap_or_default().trim()));
    }
    if given("embeds") {
        message.set("embeds", embeds(&body["embeds"]));
    }
    if given("components") {
        message.set("components", numbered(&body["components"]));
    }
    if let Some(flags) = body["flags"].as_u64() {
        message.set("flags", json!(message.flags() & !4 & !(1 << 15) | flags & (4 | 1 << 15)));
    }
    if given("attachments") || !uploads.is_empty() {
        let kept = message.body.get("attachments").and_then(Value::as_array).cloned().unwrap_or_default();
        let listed = body["attachments"].as_array();
        let stays = |file: &Value| {
            listed.is_none_or(|listed| listed.iter().any(|one| snowflake(&one["id"]) == snowflake(&file["id"])))
        };
        let mut files: Vec<Value> = kept.into_iter().filter(stays).collect();
        files.extend(store(world, channel, uploads, &body["attachments"])?);
        message.set("attachments", json!(files));
    }
    if empty(&message) {
        return Err(ApiError::new(400, 50_006, "Cannot send an empty message").as_rule("empty_message"));
    }
    let pinged = match given("content") {
        true => mentions::apply(world, channel, &mut message, &body["allowed_mentions"]),
        false => Pinged::default(),
    };
    if !message.thinking {
        message.set("edited_timestamp", json!(stamp(now_ms())));
    }
    message.thinking = false;
    if let Some(channel) = world.channels.get_mut(&channel) {
        channel.messages.insert(id, message);
    }
    Ok(pinged)
}

/// Whether a message has nothing to show.
fn empty(message: &Message) -> bool {
    let none = |field: &str| message.body.get(field).and_then(Value::as_array).is_none_or(Vec::is_empty);
    message.content().is_empty()
        && ["embeds", "components", "attachments", "sticker_items", "message_snapshots"].into_iter().all(none)
}
