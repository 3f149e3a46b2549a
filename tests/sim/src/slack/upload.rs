//! Files that bots send, in three steps, and files that they fetch.

use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use serde_json::{Value, json};

use super::api::Asked;
use super::chat::{bot_message, content, post_message};
use super::error::ApiError;
use super::params::Params;
use super::world::World;

/// What one file may have here; the platform takes a gigabyte, for which nobody's memory is meant.
pub const MAX_FILE: usize = 64 * 1024 * 1024;
/// The most that the platform takes.
const MOST: i64 = 1_000_000_000;

/// Bytes that were posted as they are or as the only file of a form.
pub async fn body(request: Request) -> Result<Bytes, String> {
    let form =
        request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/form-data"));
    if !form {
        return axum::body::to_bytes(Body::new(request.into_body()), MAX_FILE)
            .await
            .map_err(|_| "the file is too large".to_owned());
    }
    let mut form = Multipart::from_request(request, &()).await.map_err(|cause| cause.to_string())?;
    while let Some(part) = form.next_field().await.map_err(|cause| cause.to_string())? {
        if part.file_name().is_some() || matches!(part.name(), Some("file" | "filename" | "body")) {
            return part.bytes().await.map_err(|cause| cause.to_string());
        }
    }
    Err("no file in the form".to_owned())
}

/// `files.getUploadURLExternal`
pub fn address(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let name = asked.params.text("filename").ok_or_else(|| ApiError::broken("invalid_arguments"))?;
    let length =
        asked.params.int("length").filter(|length| *length > 0).ok_or_else(|| ApiError::broken("invalid_arguments"))?;
    if length > MOST {
        return Err(ApiError::broken("file_upload_size_restricted"));
    }
    let app = &world.apps[asked.caller.app];
    let user = app.installs[asked.caller.install].bot_user.clone();
    let file = world.files.add(&name, "application/octet-stream", Bytes::new(), Some(length.unsigned_abs()), &user);
    world.files.await_bytes(&file.id);
    Ok(json!({"upload_url": format!("{}/slack/upload/{}", world.url, file.id), "file_id": file.id}))
}

impl World {
    /// The bytes of an announced file; once, and as many as were announced.
    pub fn take_upload(&mut self, id: &str, bytes: Bytes) -> Result<(), (u16, String)> {
        let Some(announced) = self.files.awaited(id) else { return Err((404, "no such upload".into())) };
        if announced != bytes.len() as u64 {
            self.stats.violation(
                "upload_length",
                "upload",
                format!("{announced} bytes were announced, {} came", bytes.len()),
            );
            return Err((400, "the length differs from the announced one".into()));
        }
        self.files.fill(id, bytes);
        Ok(())
    }

    /// A file for whoever shows a good token of an app that may read it.
    pub fn download(&mut self, id: &str, token: Option<&str>) -> Result<(String, Bytes), u16> {
        *self.stats.requests.entry("download".to_owned()).or_default() += 1;
        let caller = self.caller(token).map_err(|_| {
            self.stats.violation("download_without_token", "download", id.to_owned());
            401_u16
        })?;
        let app = &self.apps[caller.app];
        if !app.may("files:read") {
            return Err(401);
        }
        let file = self.files.get(id).filter(|_| self.files.awaited(id).is_none()).ok_or(404_u16)?;
        Ok((file.mime.clone(), file.bytes.clone()))
    }
}

/// `files.completeUploadExternal`
pub fn complete(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let list = asked.params.json("files")?.and_then(|list| list.as_array().cloned()).filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| ApiError::invalid_arguments("missing required field: files"))?;
    let mut ids = Vec::new();
    for wanted in &list {
        let id = wanted["id"].as_str().ok_or_else(|| ApiError::invalid_arguments("files: each needs an id"))?;
        if world.files.awaited(id).is_some() {
            return Err(ApiError::broken("file_not_uploaded"));
        }
        let completed = world.files.change(id, |file| {
            if let Some(title) = wanted["title"].as_str() {
                file.title = title.to_owned();
            }
            file.mime = mime(&file.name, &file.bytes).to_owned();
        });
        completed.ok_or_else(|| ApiError::new("file_not_found"))?;
        ids.push(id.to_owned());
    }
    if asked.params.json("blocks").ok().flatten().is_some_and(|blocks| blocks.to_string().contains("\"markdown\"")) {
        return Err(ApiError::broken("internal_error"));
    }
    let places = asked
        .params
        .text("channels")
        .map(|list| list.split(',').map(str::to_owned).collect())
        .or(asked.params.text("channel_id").map(|one| vec![one]));
    for wanted in places.unwrap_or_default() {
        share(world, asked, &wanted, &ids)?;
    }
    let team = world.teams[0].id.clone();
    let files: Vec<Value> =
        ids.iter().filter_map(|id| world.files.get(id)).map(|file| file.json(&world.url, &team)).collect();
    Ok(json!({"files": files}))
}

fn share(world: &mut World, asked: &Asked<'_>, wanted: &str, ids: &[String]) -> Result<(), ApiError> {
    let channel = world.destination(asked, wanted)?;
    let root = world.root_of(asked, &channel)?;
    let comment = asked.params.text("initial_comment").unwrap_or_default();
    let said = match asked.params.json("blocks")? {
        Some(blocks) => content(&Params::from_value(json!({"text": comment, "blocks": blocks})))?,
        None => super::chat::Content { text: comment, ..Default::default() },
    };
    let mut message = bot_message(world, asked, &channel, said);
    message.thread = root;
    message.files = ids.to_vec();
    message.subtype = Some("file_share");
    for id in ids {
        world.files.share(id, &channel);
    }
    post_message(world, asked, &channel, message);
    Ok(())
}

/// What kind of file it is, by its first bytes and its name.
fn mime(name: &str, bytes: &[u8]) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        _ if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => "image/png",
        _ if bytes.starts_with(b"\xff\xd8\xff") => "image/jpeg",
        _ if bytes.starts_with(b"GIF8") => "image/gif",
        "json" => "application/json",
        "csv" => "text/csv",
        "html" => "text/html",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        _ if std::str::from_utf8(bytes).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}

/// `files.info`
pub fn info(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let id = asked.params.need("file")?;
    let team = world.teams[0].id.clone();
    let file = world
        .files
        .get(&id)
        .filter(|_| world.files.awaited(&id).is_none())
        .ok_or_else(|| ApiError::new("file_not_found"))?;
    Ok(json!({"file": file.json(&world.url, &team), "comments": [], "response_metadata": {"next_cursor": ""}}))
}

/// `files.delete`
pub fn delete(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let id = asked.params.need("file")?;
    if world.files.remove(&id) { Ok(json!({})) } else { Err(ApiError::new("file_not_found")) }
}
