//! The rules for the body of a message: lengths, counts, and what excludes what.

use std::collections::BTreeSet;

use serde_json::Value;

use super::components;
use super::error::{ApiError, Form};
use super::limits::Limits;
use super::request::{Upload, snowflake};

/// Where a message is written: an edit may leave everything out, an answer to an interaction may be private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Channel,
    Interaction,
    Edit,
}

const VOICE: u64 = 1 << 13;
pub const V2: u64 = 1 << 15;

/// Checks a message as a bot sends it.
pub fn message(body: &Value, uploads: &[Upload], at: Where, limits: &Limits) -> Result<(), ApiError> {
    let may_be_left_out = body.is_null() && at == Where::Edit;
    if !body.is_object() && !may_be_left_out {
        return Err(match body {
            Value::Null => empty(),
            _ => ApiError::new(400, 50_035, "Invalid Form Body").as_rule("body_type"),
        });
    }
    let mut form = Form::default();
    content(&mut form, body);
    embeds(&mut form, &body["embeds"]);
    allowed_mentions(&mut form, &body["allowed_mentions"]);
    nonce(&mut form, body);
    files(&mut form, body, uploads);
    let flags = body["flags"].as_u64().unwrap_or_default();
    components::message(&mut form, &body["components"], flags & V2 != 0);
    if flags & V2 != 0 {
        for field in ["content", "embeds", "sticker_ids", "poll"] {
            let given = body[field].as_str().is_some_and(|text| !text.is_empty())
                || body[field].as_array().is_some_and(|list| !list.is_empty());
            if given {
                form.wrong(
                    "components_v2",
                    field,
                    "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                    format!("The '{field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"),
                );
            }
        }
    }
    if flags & VOICE != 0 && at == Where::Channel && uploads.len() != 1 {
        form.wrong(
            "voice_message",
            "flags",
            "INVALID_VOICE_MESSAGE",
            "Voice messages must have a single audio attachment.",
        );
    }
    form.done()?;
    if let Some(large) = uploads.iter().find(|upload| upload.bytes.len() > limits.upload_bytes) {
        let error = ApiError::new(413, 40_005, "Request entity too large").as_rule("file_size");
        return Err(ApiError { message: format!("{} ({})", error.message, large.name), ..error });
    }
    if at != Where::Edit && nothing(body, uploads) {
        return Err(empty());
    }
    Ok(())
}

fn empty() -> ApiError {
    ApiError::new(400, 50_006, "Cannot send an empty message").as_rule("empty_message")
}

fn nothing(body: &Value, uploads: &[Upload]) -> bool {
    let list = |name: &str| body[name].as_array().is_some_and(|list| !list.is_empty());
    let text = body["content"].as_str().is_some_and(|text| !text.trim().is_empty());
    let forward = body["message_reference"]["type"].as_u64() == Some(1);
    let embeds = body["embeds"].as_array().is_some_and(|embeds| {
        embeds.iter().any(|embed| {
            embed.as_object().is_some_and(|embed| embed.keys().any(|field| field != "type" && field != "color"))
        })
    });
    !text
        && !embeds
        && !list("components")
        && !list("sticker_ids")
        && uploads.is_empty()
        && !forward
        && body["poll"].is_null()
}

fn content(form: &mut Form, body: &Value) {
    match &body["content"] {
        Value::Null => {}
        Value::String(text) => form.length("content_length", "content", text.trim(), 0, 2_000),
        Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            form.wrong("content_type", "content", "STRING_TYPE_CONVERT", "Could not interpret as string.");
        }
    }
}

fn embeds(form: &mut Form, embeds: &Value) {
    let Some(list) = embeds.as_array() else {
        if !embeds.is_null() {
            form.wrong("embeds_type", "embeds", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
        }
        return;
    };
    if list.len() > 10 {
        form.wrong("embed_count", "embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
    }
    let mut sum = 0;
    for (at, embed) in list.iter().enumerate() {
        let path = format!("embeds.{at}");
        if !embed.is_object() {
            form.wrong("embed_type", &path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType");
            continue;
        }
        sum += embed_texts(form, &path, embed);
        embed_values(form, &path, embed);
    }
    if sum > 6_000 {
        form.wrong("embed_total", "embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
    }
}

/// Checks the texts of an embed and gives their length in sum.
fn embed_texts(form: &mut Form, path: &str, embed: &Value) -> usize {
    let texts = [
        ("title", &embed["title"], 256, "embed_title"),
        ("description", &embed["description"], 4_096, "embed_description"),
        ("footer.text", &embed["footer"]["text"], 2_048, "embed_footer"),
        ("author.name", &embed["author"]["name"], 256, "embed_author"),
    ];
    let mut sum = 0;
    for (name, value, most, rule) in texts {
        let Some(text) = value.as_str() else { continue };
        form.length(rule, &format!("{path}.{name}"), text.trim(), 0, most);
        sum += text.trim().chars().count();
    }
    let fields = embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    if fields.len() > 25 {
        form.wrong("embed_fields", &format!("{path}.fields"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    for (at, field) in fields.iter().enumerate() {
        for (name, most, rule) in [("name", 256, "embed_field_name"), ("value", 1_024, "embed_field_value")] {
            let text = field[name].as_str().unwrap_or_default().trim();
            form.length(rule, &format!("{path}.fields.{at}.{name}"), text, 1, most);
            sum += text.chars().count();
        }
    }
    sum
}

fn embed_values(form: &mut Form, path: &str, embed: &Value) {
    if embed["color"].as_i64().is_some_and(|color| !(0..=0xff_ffff).contains(&color)) {
        form.wrong(
            "embed_color",
            &format!("{path}.color"),
            "NUMBER_TYPE_MAX",
            "int value should be less than or equal to 16777215.",
        );
    }
    let links = [
        ("url", &embed["url"]),
        ("image.url", &embed["image"]["url"]),
        ("thumbnail.url", &embed["thumbnail"]["url"]),
        ("author.url", &embed["author"]["url"]),
        ("author.icon_url", &embed["author"]["icon_url"]),
        ("footer.icon_url", &embed["footer"]["icon_url"]),
    ];
    for (name, value) in links {
        let Some(link) = value.as_str() else { continue };
        let good = ["http://", "https://", "attachment://"].iter().any(|scheme| link.starts_with(scheme));
        if !good {
            let say = format!(
                "Scheme \"{}\" is not supported. Scheme must be one of ('http', 'https').",
                link.split(':').next().unwrap_or_default()
            );
            form.wrong("embed_url", &format!("{path}.{name}"), "URL_TYPE_INVALID_SCHEME", say);
        }
        form.length("embed_url", &format!("{path}.{name}"), link, 0, 2_048);
    }
    let stamp = embed["timestamp"].as_str();
    if stamp.is_some_and(|stamp| stamp.len() < 10 || stamp.as_bytes().get(4) != Some(&b'-')) {
        form.wrong(
            "embed_timestamp",
            &format!("{path}.timestamp"),
            "DATE_TIME_TYPE_PARSE",
            "Could not parse. Should be ISO8601.",
        );
    }
}

fn allowed_mentions(form: &mut Form, allowed: &Value) {
    if allowed.is_null() {
        return;
    }
    let parse = allowed["parse"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (at, kind) in parse.iter().enumerate() {
        if !matches!(kind.as_str(), Some("users" | "roles" | "everyone")) {
            form.choice(&format!("allowed_mentions.parse.{at}"), "('users', 'roles', 'everyone')");
        }
    }
    for field in ["users", "roles"] {
        let listed = allowed[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let path = format!("allowed_mentions.{field}");
        if listed.len() > 100 {
            form.wrong("allowed_mentions", &path, "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.");
        }
        if !listed.is_empty() && parse.iter().any(|kind| kind == field) {
            let say = format!("parse:[\"{field}\"] and {field}: [ids...] are mutually exclusive.");
            form.wrong("allowed_mentions", "allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", say);
        }
        for (at, id) in listed.iter().enumerate().filter(|(_, id)| snowflake(id).is_none()) {
            form.wrong(
                "snowflake",
                &format!("{path}.{at}"),
                "NUMBER_TYPE_COERCE",
                format!("Value {id} is not snowflake."),
            );
        }
    }
}

fn nonce(form: &mut Form, body: &Value) {
    match &body["nonce"] {
        Value::String(nonce) => form.length("nonce_length", "nonce", nonce, 0, 25),
        Value::Null | Value::Number(_) => {}
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            form.wrong("nonce_type", "nonce", "NONCE_TYPE_INVALID", "Nonce must be a string or an integer.");
        }
    }
}

fn files(form: &mut Form, body: &Value, uploads: &[Upload]) {
    let described = body["attachments"].as_array().map(Vec::as_slice).unwrap_or_default();
    if uploads.len() > 10 || described.len() > 10 {
        form.wrong("file_count", "attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
    }
    let mut seen = BTreeSet::new();
    for (at, one) in described.iter().enumerate() {
        let id = snowflake(&one["id"]);
        let path = format!("attachments.{at}");
        match id {
            None => form.required(&format!("{path}.id")),
            // A small number stands for a file of this request, a large one for a file of the message.
            Some(id) if id < 1_000 && !uploads.iter().any(|upload| upload.number == id.to_string()) => {
                form.wrong(
                    "attachment",
                    &format!("{path}.id"),
                    "BASE_TYPE_UNKNOWN",
                    format!("There is no files[{id}]."),
                );
            }
            Some(id) if !seen.insert(id) => {
                form.wrong(
                    "attachment",
                    &format!("{path}.id"),
                    "SET_TYPE_ALREADY_CONTAINS_VALUE",
                    "The set already contains this value",
                );
            }
            Some(_) => {}
        }
        if let Some(text) = one["description"].as_str() {
            form.length("attachment_description", &format!("{path}.description"), text, 0, 1_024);
        }
    }
}
