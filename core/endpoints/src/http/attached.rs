//! Files of the message that a request carries: fetched when the request is made, within a limit.

use base64::{Engine, engine::general_purpose::STANDARD};
use contract::{FileRef, Private, Problem, text};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tools::{Cx, Fault, ToolFailure, files};

use super::plan::Plan;

/// A file of the message, with its bytes.
pub struct Attached {
    /// Where it stands in the body.
    pub place: Vec<String>,
    /// One of several in one place.
    pub is_one_of_many: bool,
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Takes the files out of the arguments and fetches them.
pub async fn fetch(
    plan: &Plan,
    args: &mut Map<String, Value>,
    tool: &str,
    cx: &Cx<'_>,
) -> Result<Vec<Attached>, ToolFailure> {
    let mut out = Vec::new();
    let mut left = plan.limit;
    for name in &plan.files {
        let Some(said) = args.shift_remove(name) else { continue };
        let is_one_of_many = said.is_array();
        let said = match said {
            Value::Array(items) => items,
            other => vec![other],
        };
        for said in said.iter().filter(|said| !said.is_null()) {
            let refused = |expected: String| {
                let got = Some(text::one_line(&said.to_string(), 80));
                let problem = Problem { path: name.clone(), expected, got, hint: None };
                ToolFailure::input_refused(format!("'{tool}' cannot be called with this file"), vec![problem])
            };
            let file = said.as_str().and_then(|said| files::named(said, cx.host.files()));
            let file = file.ok_or_else(|| refused("a file that came with the message".to_owned()))?;
            let too_large = || refused(format!("files of {} at most", size(plan.limit)));
            if file.size.is_some_and(|size| size > left) {
                return Err(too_large());
            }
            let bytes = bytes(file, left, cx).await?.ok_or_else(too_large)?;
            left -= bytes.len() as u64;
            out.push(Attached {
                place: plan.place(name),
                is_one_of_many,
                name: text::one_line(&file.name, files::NAME_MAX),
                media_type: media_type(file),
                bytes,
            });
        }
    }
    Ok(out)
}

/// The bytes; nothing where there are more.
async fn bytes(file: &FileRef, most: u64, cx: &Cx<'_>) -> Result<Option<Vec<u8>>, ToolFailure> {
    let mut stream = cx.host.open(file).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            let say = "the file could not be fetched from the chat to its end";
            ToolFailure::new(Fault::Unavailable, say).cause(Private::new(error.to_string()))
        })?;
        if (bytes.len() + chunk.len()) as u64 > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

fn media_type(file: &FileRef) -> String {
    let is_fit = |kind: &&str| kind.contains('/') && kind.bytes().all(|b| matches!(b, b'!'..=b'~' | b' '));
    file.media_type.as_deref().filter(is_fit).unwrap_or("application/octet-stream").to_owned()
}

/// Puts the files into a body: their content in base64, or how they are shown.
pub fn put_all(files: &[Attached], body: &mut Map<String, Value>, as_what: impl Fn(&Attached) -> String) {
    for file in files {
        put(body, &file.place, file.is_one_of_many, as_what(file).into());
    }
}

fn put(map: &mut Map<String, Value>, place: &[String], is_one_of_many: bool, value: Value) {
    let Some((first, rest)) = place.split_first() else { return };
    if !rest.is_empty() {
        let slot = map.entry(first.clone()).or_insert_with(|| json!({}));
        if !slot.is_object() {
            *slot = json!({});
        }
        return slot.as_object_mut().map_or((), |inner| put(inner, rest, is_one_of_many, value));
    }
    if !is_one_of_many {
        map.insert(first.clone(), value);
        return;
    }
    match map.entry(first.clone()).or_insert_with(|| json!([])) {
        Value::Array(items) => items.push(value),
        other => *other = json!([value]),
    }
}

pub fn base64(file: &Attached) -> String {
    STANDARD.encode(&file.bytes)
}

/// As operators read it.
pub fn shown(file: &Attached) -> String {
    format!("<{}, {}, {}>", file.name, file.media_type, size(file.bytes.len() as u64))
}

/// So many bytes, in words.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes.div_ceil(1_024)),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}
