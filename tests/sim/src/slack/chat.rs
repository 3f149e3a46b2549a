//! Posting: messages for everybody and for one person.

use serde_json::{Map, Value, json};

use super::api::Asked;
use super::blocks;
use super::cast::{ChannelKind, Message};
use super::error::ApiError;
use super::params::Params;
use super::seen::Seen;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// Longer texts are cut.
pub const MAX_TEXT: usize = 40_000;
/// The most that Markdown may have.
pub const MAX_MARKDOWN: usize = 12_000;
const MAX_METADATA: usize = 8_000;

/// What a message says, whichever parameters it came in.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub text: String,
    pub blocks: Value,
    pub attachments: Value,
    pub metadata: Value,
}

impl World {
    /// The id of a conversation that is named by its id, its name, or a person.
    pub fn find_channel(&self, wanted: &str) -> Option<String> {
        if self.channels.contains_key(wanted) {
            return Some(wanted.to_owned());
        }
        let name = wanted.strip_prefix('#').unwrap_or(wanted);
        self.channels
            .values()
            .find(|channel| channel.kind == ChannelKind::Channel && channel.title == name)
            .map(|channel| channel.id.clone())
    }

    /// The conversation that a bot wants to write to; a person's id is the direct conversation with them.
    pub fn destination(&mut self, asked: &Asked<'_>, wanted: &str) -> Result<String, ApiError> {
        let id = match self.user_by_id(wanted).map(|user| user.name.clone()) {
            Some(name) => self.direct(asked.caller.app, &name)?,
            None => self.find_channel(wanted).ok_or_else(|| ApiError::new("channel_not_found"))?,
        };
        self.reached(asked, &id)?;
        Ok(id)
    }

    /// The direct conversation of an app with a person.
    pub fn direct(&mut self, app: usize, person: &str) -> Result<String, ApiError> {
        let name = if app == 0 { format!("dm:{person}") } else { format!("dm:{person}@{}", self.apps[app].name) };
        if let Some(id) = self.names.get(&name) {
            return Ok(id.clone());
        }
        let team = self.apps[app].installs[0].team;
        self.add_channel(&name, ChannelKind::Im, team).ok_or_else(|| ApiError::new("channel_not_found"))
    }

    /// Whether a bot may write there.
    fn reached(&self, asked: &Asked<'_>, id: &str) -> Result<(), ApiError> {
        let channel = &self.channels[id];
        let app = &self.apps[asked.caller.app];
        let Some(install) = app
            .install(channel.team)
            .filter(|install| app.org_wide || install.team == app.installs[asked.caller.install].team)
        else {
            return Err(ApiError::new("channel_not_found"));
        };
        let member = channel.members.contains(&install.bot_user);
        match channel.kind {
            ChannelKind::Channel if !member && !app.may("chat:write.public") => Err(ApiError::new("not_in_channel")),
            ChannelKind::Private | ChannelKind::Im | ChannelKind::Mpim if !member => {
                Err(ApiError::new("channel_not_found"))
            }
            _ if channel.archived => Err(ApiError::new("is_archived")),
            _ => Ok(()),
        }
    }

    /// The root of the thread that a parameter names.
    pub fn root_of(&self, asked: &Asked<'_>, channel: &str) -> Result<Option<String>, ApiError> {
        let Some(wanted) = asked.params.text("thread_ts") else { return Ok(None) };
        let legal = wanted.split_once('.').is_some_and(|(secs, rest)| {
            secs.len() == 10 && rest.len() == 6 && (secs.to_owned() + rest).bytes().all(|c| c.is_ascii_digit())
        });
        if !legal {
            return Err(ApiError::broken("invalid_thread_ts"));
        }
        let message = self.message(channel, &wanted).ok_or_else(|| ApiError::new("thread_not_found"))?;
        // A reply's own `ts` starts no thread inside the thread: the reply lands beside, where nobody looks.
        if message.thread.as_ref().is_some_and(|root| *root != wanted) {
            return Err(ApiError::broken("cannot_reply_to_message"));
        }
        Ok(Some(wanted))
    }
}

/// Reads what a message says and checks it against the limits.
pub fn content(params: &Params) -> Result<Content, ApiError> {
    let list = |name: &str| -> Result<Value, ApiError> {
        match params.json(name)? {
            None => Ok(Value::Null),
            Some(Value::Array(items)) if items.is_empty() => Ok(Value::Null),
            Some(list @ Value::Array(_)) => Ok(list),
            Some(_) => {
                Err(ApiError::broken(if name == "blocks" { "invalid_blocks_format" } else { "invalid_attachments" }))
            }
        }
    };
    let mut text = params.text("text").unwrap_or_default();
    let (mut blocks, attachments) = (list("blocks")?, list("attachments")?);
    if let Some(markdown) = params.text("markdown_text") {
        if !text.is_empty() || !blocks.is_null() {
            return Err(ApiError::broken("markdown_text_conflict"));
        }
        if markdown.chars().count() > MAX_MARKDOWN {
            return Err(ApiError::broken("msg_too_long"));
        }
        text.clone_from(&markdown);
        blocks = json!([{"type": "markdown", "text": markdown}]);
    }
    if text.trim().is_empty() && blocks.is_null() && attachments.is_null() {
        return Err(ApiError::broken("no_text"));
    }
    if text.chars().count() > MAX_TEXT {
        text = text.chars().take(MAX_TEXT).collect();
    }
    if let Some(list) = blocks.as_array_mut() {
        blocks::check_message(list)?;
    }
    if attachments.as_array().is_some_and(|list| list.len() > 100) {
        return Err(ApiError::broken("too_many_attachments"));
    }
    Ok(Content { text, blocks, attachments, metadata: metadata(params)? })
}

fn metadata(params: &Params) -> Result<Value, ApiError> {
    let Some(metadata) = params.json("metadata").map_err(|_| ApiError::broken("invalid_metadata_format"))? else {
        return Ok(Value::Null);
    };
    if metadata["event_type"].as_str().is_none_or(str::is_empty) || !metadata["event_payload"].is_object() {
        return Err(ApiError::broken("invalid_metadata_format"));
    }
    if metadata.to_string().len() > MAX_METADATA {
        return Err(ApiError::broken("metadata_too_large"));
    }
    Ok(metadata)
}

/// `chat.postMessage`
pub fn post(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let wanted = asked.params.text("channel").ok_or_else(|| ApiError::broken("channel_not_found"))?;
    let content = content(asked.params)?;
    let channel = world.destination(asked, &wanted)?;
    let root = world.root_of(asked, &channel)?;
    let broadcast = root.is_some() && asked.params.flag("reply_broadcast");
    let mut message = bot_message(world, asked, &channel, content);
    message.thread = root;
    message.subtype = message.subtype.or(broadcast.then_some("thread_broadcast"));
    let ts = message.ts.clone();
    let json = post_message(world, asked, &channel, message);
    Ok(json!({"channel": channel, "ts": ts, "message": json}))
}

/// The mark of a message whose text is shown as it stands, which is kept with it.
pub fn verbatim(params: &Params) -> Map<String, Value> {
    let plain = params.get("mrkdwn").is_some() && !params.flag("mrkdwn");
    plain.then(|| ("mrkdwn".to_owned(), json!(false))).into_iter().collect()
}

/// A new message of the bot that asks.
pub fn bot_message(world: &mut World, asked: &Asked<'_>, channel: &str, content: Content) -> Message {
    let team = world.channels[channel].team;
    let app = &world.apps[asked.caller.app];
    let install = app.install(team).unwrap_or(&app.installs[0]);
    let (user, bot) = (install.bot_user.clone(), install.bot.clone());
    let mut extra = verbatim(asked.params);
    let disguised = asked.params.text("username");
    if let Some(name) = &disguised {
        extra.insert("username".into(), json!(name));
    }
    Message {
        ts: world.next_ts(),
        user,
        bot: Some((bot, asked.caller.app)),
        text: content.text,
        blocks: content.blocks,
        attachments: content.attachments,
        metadata: content.metadata,
        subtype: disguised.map(|_| "bot_message"),
        extra,
        ..Message::default()
    }
}

/// Keeps a bot's message, tells everybody, and writes it down.
pub fn post_message(world: &mut World, asked: &Asked<'_>, channel: &str, message: Message) -> Value {
    let ts = message.ts.clone();
    world.stats.sent += 1;
    world.keep(channel, message);
    world.end_status(channel, &ts);
    log_bot(world, channel, &ts, Kind::Message, asked.params.payload());
    let json =
        world.found(channel, &ts).map(|(place, message)| world.message_json(&place, &message)).unwrap_or_default();
    world.announce(channel, &ts);
    json
}

/// Writes down a message of a bot as it is seen now; gives how many are named in it.
pub fn log_bot(world: &mut World, channel: &str, ts: &str, kind: Kind, payload: Value) -> u64 {
    let Some((place, message)) = world.found(channel, ts) else { return 0 };
    let seen = Seen::of(world, &message);
    let mut entry = Entry::new(&place.name, channel, By::Bot, kind);
    entry.message = Some(ts.to_owned());
    entry.user = message.bot.as_ref().map(|(_, app)| world.apps[*app].name.clone());
    entry.thread = place.thread_name(message.thread.as_deref());
    entry.files = world.files.seen(&message.files);
    entry.to = message.only.as_ref().map(|user| world.called(user));
    entry.payload = payload;
    seen.fill(&mut entry);
    if kind == Kind::Message {
        world.stats.mentions += entry.mentions as u64;
    }
    let named = entry.mentions as u64;
    world.log(entry);
    named
}

/// `chat.postEphemeral`
pub fn post_ephemeral(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let wanted = asked.params.text("channel").ok_or_else(|| ApiError::broken("channel_not_found"))?;
    let user = asked.params.text("user").ok_or_else(|| ApiError::broken("user_not_in_channel"))?;
    let content = content(asked.params)?;
    let channel = world.destination(asked, &wanted)?;
    if !world.channels[&channel].members.contains(&user) {
        return Err(ApiError::new("user_not_in_channel"));
    }
    let root = world.root_of(asked, &channel)?;
    let mut message = bot_message(world, asked, &channel, content);
    message.thread = root;
    let ts = ephemeral(world, &channel, &user, message, asked.params.payload());
    Ok(json!({"message_ts": ts}))
}

/// Shows a message to one person; histories do not know it.
pub fn ephemeral(world: &mut World, channel: &str, user: &str, mut message: Message, payload: Value) -> String {
    let ts = message.ts.clone();
    message.only = Some(user.to_owned());
    world.keep(channel, message);
    log_bot(world, channel, &ts, Kind::Private, payload);
    ts
}
