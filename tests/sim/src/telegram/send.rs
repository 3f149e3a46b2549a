//! What a bot posts: texts, files, albums, copies.

use serde_json::{Map, Value, json};

use super::api::Asked;
use super::cast::{Author, Chat, ChatKind, Message, Standing, now};
use super::error::ApiError;
use super::files::{File, FileKind, MAX_PHOTO, MAX_UPLOAD};
use super::text::{Formatted, explicit, is_blank, units};
use super::transcript::{By, Entry, FileSeen, Kind};
use super::world::World;
use super::{html, markdown, markup};

const MAX_TEXT: usize = 4_096;
const MAX_CAPTION: usize = 1_024;
const MAX_QUOTE: usize = 1_024;

type Answer = Result<Value, ApiError>;

pub fn message(world: &mut World, asked: &Asked<'_>) -> Answer {
    let chat = chat(world, asked)?;
    let text = text(asked)?;
    post(world, asked, chat, Content { text, ..Content::default() })
}

pub fn document(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "document", FileKind::Document)
}

pub fn photo(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "photo", FileKind::Photo)
}

pub fn video(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "video", FileKind::Video)
}

pub fn animation(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "animation", FileKind::Animation)
}

pub fn audio(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "audio", FileKind::Audio)
}

pub fn voice(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "voice", FileKind::Voice)
}

pub fn video_note(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "video_note", FileKind::VideoNote)
}

pub fn sticker(world: &mut World, asked: &Asked<'_>) -> Answer {
    file_message(world, asked, "sticker", FileKind::Sticker)
}

fn file_message(world: &mut World, asked: &Asked<'_>, field: &str, kind: FileKind) -> Answer {
    let chat = chat(world, asked)?;
    // A sticker and a round video show no text.
    let text = if kind.takes_caption() { caption(asked)? } else { Formatted::default() };
    let file = input_file(world, asked, field, asked.params.get(field), kind)?;
    post(world, asked, chat, Content { text, file: Some(file), ..Content::default() })
}

pub fn album(world: &mut World, asked: &Asked<'_>) -> Answer {
    let chat = chat(world, asked)?;
    let media = asked.params.json("media")?.unwrap_or_default();
    let items = media.as_array().cloned().unwrap_or_default();
    match items.len() {
        0 | 1 => return Err(ApiError::broken("album", "too few messages to send as an album")),
        2..=10 => {}
        _ => return Err(ApiError::broken("album", "too many messages to send as an album")),
    }
    let mut contents = Vec::new();
    let kinds = items.iter().map(|item| FileKind::of_album(item["type"].as_str().unwrap_or_default()));
    let kinds = kinds.collect::<Option<Vec<_>>>();
    let kinds =
        kinds.ok_or_else(|| ApiError::broken("album", "can't parse InputMedia: type of media is unsupported"))?;
    let is_alone = |kind: &FileKind| matches!(kind, FileKind::Document | FileKind::Audio);
    if kinds.iter().any(|kind| is_alone(kind) && *kind != kinds[0])
        || (is_alone(&kinds[0]) && kinds.iter().any(|kind| *kind != kinds[0]))
    {
        return Err(ApiError::broken("album", "document can't be mixed with other media types"));
    }
    for (item, kind) in items.iter().zip(kinds) {
        let mut values = item.as_object().cloned().unwrap_or_default();
        values.retain(|name, _| matches!(name.as_str(), "caption" | "parse_mode" | "caption_entities"));
        let own = super::params::Params { values, uploads: Vec::new() };
        let text = caption(&Asked { params: &own, ..*asked })?;
        let file = input_file(world, asked, "media", item.get("media"), kind)?;
        contents.push(Content { text, file: Some(file), ..Content::default() });
    }
    let group = world.next_serial().to_string();
    let mut sent = Vec::new();
    for mut content in contents {
        content.extra.insert("media_group_id".into(), json!(group));
        sent.push(post(world, asked, chat, content)?);
    }
    Ok(json!(sent))
}

pub fn copy(world: &mut World, asked: &Asked<'_>) -> Answer {
    let sent = again(world, asked, Map::new())?;
    Ok(json!({"message_id": sent["message_id"]}))
}

pub fn forward(world: &mut World, asked: &Asked<'_>) -> Answer {
    let mut extra = Map::new();
    extra
        .insert("forward_origin".into(), json!({"type": "hidden_user", "date": now(), "sender_user_name": "somebody"}));
    again(world, asked, extra)
}

fn again(world: &mut World, asked: &Asked<'_>, extra: Map<String, Value>) -> Answer {
    let to = chat(world, asked)?;
    let from = open_chat(world, asked.bot, asked.params.get("from_chat_id"))?;
    let id = asked.params.int("message_id").unwrap_or_default();
    let source = world.chats.get(&from).and_then(|chat| chat.messages.get(&id)).cloned();
    let source = source
        .ok_or_else(|| ApiError::bad(format!("message to {} not found", asked.method.trim_end_matches("Message"))))?;
    post(world, asked, to, Content { text: source.text, media: source.media, extra, ..Content::default() })
}

pub fn action(world: &mut World, asked: &Asked<'_>) -> Answer {
    const ACTIONS: [&str; 11] = [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ];
    let id = chat(world, asked)?;
    let action = asked.params.text("action").unwrap_or_default();
    if !ACTIONS.contains(&action.as_str()) {
        return Err(ApiError::broken("chat_action", "wrong parameter action in request"));
    }
    let Some(chat) = world.chats.get(&id) else { return Err(ApiError::bad("chat not found")) };
    let thread = asked.params.int("message_thread_id").filter(|thread| *thread != 1);
    if thread.is_some_and(|thread| !chat.topics.contains_key(&thread)) {
        return Err(ApiError::bad("message thread not found"));
    }
    let mut entry = asked.entry(chat, Kind::Typing);
    entry.thread = chat.thread_name(thread);
    entry.text = action;
    world.log(entry);
    Ok(json!(true))
}

/// What is to be posted, checked.
#[derive(Default)]
struct Content {
    text: Formatted,
    file: Option<File>,
    media: Option<(&'static str, Value)>,
    extra: Map<String, Value>,
}

fn post(world: &mut World, asked: &Asked<'_>, id: i64, content: Content) -> Answer {
    let markup = markup::check(asked.params.json("reply_markup")?)?;
    let Some(chat) = world.chats.get_mut(&id) else { return Err(ApiError::bad("chat not found")) };
    let (reply_to, root) = reply(chat, asked)?;
    let thread = thread(chat, asked)?.or(root);
    let media = content.file.as_ref().map(File::media).or(content.media);
    let message = Message {
        id: 0,
        date: now(),
        author: Author::Bot(asked.bot),
        thread,
        text: content.text,
        media,
        reply_to,
        markup,
        edited: None,
        reactions: Default::default(),
        extra: content.extra,
    };
    // What was being written is written now.
    chat.draft = None;
    let number = chat.add(message);
    let files = content.file.iter().map(seen).collect();
    announce(world, asked, id, number, Kind::Message, files)
}

/// Notes a new or changed message of the bot and returns it as the platform does.
pub fn announce(
    world: &mut World,
    asked: &Asked<'_>,
    id: i64,
    number: i64,
    kind: Kind,
    files: Vec<FileSeen>,
) -> Answer {
    let Some((chat, message)) = world.chats.get(&id).and_then(|chat| Some((chat, chat.messages.get(&number)?))) else {
        return Err(ApiError::bad("message not found"));
    };
    let json = world.message_json(chat, message);
    let mut entry = asked.entry(chat, kind);
    entry.message = Some(number);
    entry.text = message.text.text.clone();
    entry.entities = message.text.entities_json();
    entry.mentions = message.text.pings();
    entry.thread = chat.thread_name(message.thread);
    entry.reply_to = message.reply_to;
    entry.buttons = markup::buttons(message.markup.as_ref());
    entry.files = files;
    world.stats.mentions += entry.mentions as u64;
    world.stats.sent += u64::from(kind == Kind::Message);
    world.log(entry);
    Ok(json)
}

pub fn seen(file: &File) -> FileSeen {
    FileSeen {
        name: file.name.clone(),
        mime: file.mime.clone(),
        size: file.size,
        id: file.id.clone(),
        ..FileSeen::default()
    }
}

impl Asked<'_> {
    /// An entry of the transcript for what the bot does here.
    pub fn entry(&self, chat: &Chat, kind: Kind) -> Entry {
        let mut entry = Entry::new(&chat.name, chat.wire, By::Bot, kind);
        entry.bot = Some(self.bot);
        entry.payload = self.params.payload();
        entry
    }
}

/// The chat that a request names, when the bot still reaches it.
pub fn chat(world: &World, asked: &Asked<'_>) -> Result<i64, ApiError> {
    open_chat(world, asked.bot, asked.params.get("chat_id"))
}

fn open_chat(world: &World, bot: i64, value: Option<&Value>) -> Result<i64, ApiError> {
    let id = match value {
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) if !text.trim().is_empty() => text.trim().parse().ok(),
        _ => return Err(ApiError::broken("chat_id", "chat_id is empty")),
    };
    let Some(chat) = id.and_then(|id| world.chats.get(&world.meant(bot, id)?)) else {
        return match id.and_then(|id| world.user_by_id(id)) {
            Some(_) => Err(ApiError::forbidden("bot can't initiate conversation with a user")),
            None => Err(ApiError::bad("chat not found")),
        };
    };
    match (chat.standing, chat.kind) {
        (Standing::Open, _) => Ok(chat.id),
        (Standing::Gone, _) => Err(ApiError::bad("chat not found")),
        (Standing::Shut, ChatKind::Private) => Err(ApiError::forbidden("bot was blocked by the user")),
        (Standing::Shut, ChatKind::Group) => Err(ApiError::forbidden("bot was kicked from the group chat")),
        (Standing::Shut, ChatKind::Supergroup) => Err(ApiError::forbidden("bot was kicked from the supergroup chat")),
        (Standing::Shut, ChatKind::Channel) => Err(ApiError::forbidden("bot was kicked from the channel chat")),
        (Standing::Upgraded(to), _) => {
            let mut error = ApiError::bad("group chat was upgraded to a supergroup chat");
            error.parameters = Some(json!({"migrate_to_chat_id": to}));
            Err(error)
        }
    }
}

/// The topic that a request names; the general one has a number that must not be sent.
fn thread(chat: &Chat, asked: &Asked<'_>) -> Result<Option<i64>, ApiError> {
    match asked.params.int("message_thread_id") {
        None | Some(0) => Ok(None),
        Some(1) => Err(ApiError::broken("general_topic", "message thread not found")),
        Some(id) if chat.topics.contains_key(&id) => Ok(Some(id)),
        Some(_) => Err(ApiError::bad("message thread not found")),
    }
}

/// The message that is replied to, and its topic.
fn reply(chat: &Chat, asked: &Asked<'_>) -> Result<(Option<i64>, Option<i64>), ApiError> {
    let parameters = asked.params.json("reply_parameters")?;
    let (id, lenient) = match &parameters {
        Some(given) => {
            let id = given["message_id"].as_i64();
            let id = id.ok_or_else(|| {
                ApiError::broken(
                    "reply_parameters",
                    "can't parse reply parameters: Field \"message_id\" must be of type Number",
                )
            })?;
            (Some(id), given["allow_sending_without_reply"] == json!(true))
        }
        None => (asked.params.int("reply_to_message_id"), asked.params.flag("allow_sending_without_reply")),
    };
    let Some(id) = id else { return Ok((None, None)) };
    let quote = parameters.as_ref().and_then(|given| given["quote"].as_str()).unwrap_or_default();
    if units(quote) > MAX_QUOTE {
        return Err(ApiError::broken("quote_length", "QUOTE_TEXT_INVALID"));
    }
    match chat.messages.get(&id) {
        // An exact part of what is answered, or nothing is sent.
        Some(target) if !target.text.text.contains(quote) => Err(ApiError::broken("quote", "QUOTE_TEXT_INVALID")),
        Some(target) => Ok((Some(id), target.thread)),
        None if lenient => Ok((None, None)),
        None => Err(ApiError::bad("message to be replied not found")),
    }
}

/// The text of a message within its limits.
pub fn text(asked: &Asked<'_>) -> Result<Formatted, ApiError> {
    let done = formatted(asked, "text", "entities")?;
    if is_blank(&done.text) {
        return Err(ApiError::broken("empty_text", "message text is empty"));
    }
    if done.units() > MAX_TEXT {
        return Err(ApiError::broken("text_length", "message is too long"));
    }
    Ok(done)
}

/// The text of a draft within its limits; without one the client says that the bot thinks.
pub fn draft_text(asked: &Asked<'_>) -> Result<Formatted, ApiError> {
    if asked.params.text("text").is_none_or(|text| text.is_empty()) { Ok(Formatted::default()) } else { text(asked) }
}

/// The caption of a file within its limits; it may be empty.
pub fn caption(asked: &Asked<'_>) -> Result<Formatted, ApiError> {
    let done = formatted(asked, "caption", "caption_entities")?;
    if done.units() > MAX_CAPTION {
        return Err(ApiError::broken("caption_length", "message caption is too long"));
    }
    Ok(done)
}

fn formatted(asked: &Asked<'_>, field: &str, entities: &str) -> Result<Formatted, ApiError> {
    let text = asked.params.text(field).unwrap_or_default();
    let refuse = |why: String| ApiError::broken("entities", format!("can't parse entities: {why}"));
    let mode = asked.params.text("parse_mode").unwrap_or_default().to_ascii_lowercase();
    let done = match mode.as_str() {
        "" | "none" => {
            let marks = asked.params.json(entities)?.unwrap_or(json!([]));
            let entities = explicit(&text, &marks).map_err(refuse)?;
            Formatted { text, entities }
        }
        "html" => html::parse(&text).map_err(refuse)?,
        "markdownv2" => markdown::parse(&text).map_err(refuse)?,
        "markdown" => {
            return Err(ApiError::broken(
                "legacy_markdown",
                "legacy parse_mode Markdown is not supported here, use HTML",
            ));
        }
        _ => return Err(ApiError::broken("parse_mode", "unsupported parse_mode")),
    };
    Ok(done.settle())
}

/// The file of a request: uploaded, attached by name, or one that the platform already has.
fn input_file(
    world: &mut World,
    asked: &Asked<'_>,
    field: &str,
    value: Option<&Value>,
    kind: FileKind,
) -> Result<File, ApiError> {
    let photo = kind == FileKind::Photo;
    let named = value.and_then(Value::as_str).unwrap_or_default();
    let wanted = named.strip_prefix("attach://").unwrap_or(field);
    if let Some(upload) = asked.params.uploads.iter().find(|upload| upload.field == wanted) {
        if upload.bytes.is_empty() {
            return Err(ApiError::broken("empty_file", "file must be non-empty"));
        }
        if photo && upload.bytes.len() > MAX_PHOTO {
            return Err(ApiError::broken("photo_size", "file is too big for a photo"));
        }
        if upload.bytes.len() > MAX_UPLOAD {
            return Err(ApiError::new(413, "Request Entity Too Large").as_rule("upload_size"));
        }
        if photo && !File::is_picture(&upload.bytes) {
            return Err(ApiError::broken("photo", "IMAGE_PROCESS_FAILED"));
        }
        return Ok(world.files.add(&upload.name, &upload.mime, upload.bytes.clone(), None, kind));
    }
    match (named.is_empty(), world.files.by_id(named)) {
        (_, Some(file)) if file.kind == kind => Ok(file.clone()),
        (_, Some(file)) => {
            Err(ApiError::broken("file_kind", format!("can't use file of type {:?} as {kind:?}", file.kind)))
        }
        (true, None) => Err(ApiError::broken("file", format!("there is no {field} in the request"))),
        (false, None) if named.contains("://") => Err(ApiError::bad("failed to get HTTP URL content")),
        (false, None) => Err(ApiError::bad("wrong file identifier/HTTP URL specified")),
    }
}
