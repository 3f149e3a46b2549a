//! What a bot asks and sets besides messages: itself, chats, members, commands, topics, files.

use serde_json::{Map, Value, json};

use super::api::Asked;
use super::cast::{Author, Chat, ChatKind, Message, Role, User, now};
use super::error::ApiError;
use super::react;
use super::send::chat;
use super::world::World;

type Answer = Result<Value, ApiError>;

pub fn me(world: &mut World, asked: &Asked<'_>) -> Answer {
    let privacy = world.privacy;
    let bot = world.bots.get(asked.token).ok_or_else(|| ApiError::new(401, "Unauthorized"))?;
    let mut out = bot.json();
    for (name, value) in [
        ("can_join_groups", true),
        ("can_read_all_group_messages", !privacy),
        ("supports_inline_queries", false),
        ("can_connect_to_business", false),
        ("has_main_web_app", false),
    ] {
        out[name] = json!(value);
    }
    Ok(out)
}

pub fn truth(_: &mut World, _: &Asked<'_>) -> Answer {
    Ok(json!(true))
}

pub fn file(world: &mut World, asked: &Asked<'_>) -> Answer {
    world.files.describe(&asked.params.text("file_id").unwrap_or_default())
}

pub fn chat_info(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = chat(world, asked)?;
    let mut out = world.chats.get(&id).map(Chat::json).unwrap_or_default();
    out["accent_color_id"] = json!(0);
    out["max_reaction_count"] = json!(react::MOST_KINDS);
    if let Some(reactions) = world.chats.get(&id).and_then(|chat| chat.reactions.as_ref()) {
        out["available_reactions"] = reactions.iter().map(|emoji| react::wire(emoji)).collect();
    }
    if let Some(chat) = world.chats.get(&id).filter(|chat| matches!(chat.kind, ChatKind::Group | ChatKind::Supergroup))
    {
        out["permissions"] = permissions(chat.open);
    }
    out["accepted_gift_types"] = json!({"unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false});
    Ok(out)
}

/// What members may do, each said as clients insist.
fn permissions(open: bool) -> Value {
    const OTHERS: [&str; 15] = [
        "can_send_audios",
        "can_send_documents",
        "can_send_photos",
        "can_send_videos",
        "can_send_video_notes",
        "can_send_voice_notes",
        "can_send_polls",
        "can_send_other_messages",
        "can_add_web_page_previews",
        "can_react_to_messages",
        "can_edit_tag",
        "can_change_info",
        "can_invite_users",
        "can_pin_messages",
        "can_manage_topics",
    ];
    let mut out = json!({"can_send_messages": open});
    OTHERS.iter().for_each(|other| out[other] = json!(open));
    out
}

pub fn member(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = chat(world, asked)?;
    let who = asked.params.int("user_id").unwrap_or_default();
    let Some(chat) = world.chats.get(&id) else { return Err(ApiError::bad("chat not found")) };
    if who == asked.bot {
        let role = if chat.kind == ChatKind::Private { Role::Member } else { Role::Administrator };
        return Ok(role.json(world.author_json(Author::Bot(who))));
    }
    let user = world.user_by_id(who).map(User::json).ok_or_else(|| ApiError::bad("invalid user_id specified"))?;
    Ok(chat.role(who).json(user))
}

pub fn administrators(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = chat(world, asked)?;
    let Some(chat) = world.chats.get(&id).filter(|chat| chat.kind != ChatKind::Private) else {
        return Err(ApiError::bad("there are no administrators in the private chat"));
    };
    let mut out = vec![Role::Administrator.json(world.author_json(Author::Bot(asked.bot)))];
    let leading = chat.roles.iter().filter(|(_, role)| role.leads());
    out.extend(leading.map(|(user, role)| role.json(world.author_json(Author::User(*user)))));
    Ok(json!(out))
}

pub fn topic(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = chat(world, asked)?;
    let name = asked.params.text("name").unwrap_or_default();
    if name.is_empty() || name.chars().count() > 128 {
        return Err(ApiError::broken("topic_name", "TOPIC_TITLE_EMPTY"));
    }
    let chat =
        world.chats.get_mut(&id).filter(|chat| chat.forum).ok_or_else(|| ApiError::bad("the chat is not a forum"))?;
    let thread = add_topic(chat, &name, Author::Bot(asked.bot));
    Ok(json!({"message_thread_id": thread, "name": name, "icon_color": 7_322_096}))
}

/// Opens a topic; its number is that of the message that says so.
pub fn add_topic(chat: &mut Chat, name: &str, author: Author) -> i64 {
    // Number one belongs to the general topic.
    chat.last_message = chat.last_message.max(1);
    let mut extra = Map::new();
    extra.insert("forum_topic_created".into(), json!({"name": name, "icon_color": 7_322_096}));
    let made = Message {
        id: 0,
        date: now(),
        author,
        thread: None,
        text: Default::default(),
        media: None,
        reply_to: None,
        markup: None,
        edited: None,
        reactions: Default::default(),
        extra,
    };
    let id = chat.add(made);
    if let Some(message) = chat.messages.get_mut(&id) {
        message.thread = Some(id);
    }
    chat.topics.insert(id, name.to_owned());
    id
}

pub fn set_commands(world: &mut World, asked: &Asked<'_>) -> Answer {
    let commands = asked.params.json("commands")?.unwrap_or_default();
    let list = commands
        .as_array()
        .ok_or_else(|| ApiError::broken("commands", "can't parse commands: expected an Array of BotCommand"))?;
    if list.len() > 100 {
        return Err(ApiError::broken("commands", "BOT_COMMANDS_TOO_MUCH"));
    }
    for command in list {
        let name = command["command"].as_str().unwrap_or_default();
        let name = name.strip_prefix('/').unwrap_or(name);
        if !(1..=32).contains(&name.len()) || !name.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
            return Err(ApiError::broken("command_name", "BOT_COMMAND_INVALID"));
        }
        let description = command["description"].as_str().unwrap_or_default();
        if !(1..=256).contains(&description.chars().count()) {
            return Err(ApiError::broken("command_description", "BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    let key = command_key(world, asked)?;
    if let Some(bot) = world.bots.get_mut(asked.token) {
        if bot.commands.len() >= 1_000 {
            return Err(ApiError::bad("too many command lists"));
        }
        bot.commands.insert(key, commands);
    }
    Ok(json!(true))
}

pub fn commands(world: &mut World, asked: &Asked<'_>) -> Answer {
    let key = command_key(world, asked)?;
    Ok(world.bots.get(asked.token).and_then(|bot| bot.commands.get(&key).cloned()).unwrap_or(json!([])))
}

pub fn delete_commands(world: &mut World, asked: &Asked<'_>) -> Answer {
    let key = command_key(world, asked)?;
    if let Some(bot) = world.bots.get_mut(asked.token) {
        bot.commands.remove(&key);
    }
    Ok(json!(true))
}

/// Scope and language of a list of commands, checked.
fn command_key(world: &World, asked: &Asked<'_>) -> Result<(String, String), ApiError> {
    let scope = asked.params.json("scope")?.unwrap_or(json!({"type": "default"}));
    let known = |field: &str| scope[field].as_i64().or_else(|| scope[field].as_str().and_then(|id| id.parse().ok()));
    let here = || match known("chat_id").filter(|id| world.chats.contains_key(id)) {
        Some(id) => Ok(id.to_string()),
        None => Err(ApiError::bad("chat not found")),
    };
    let kind = scope["type"].as_str().unwrap_or_default();
    let place = match kind {
        "default" | "all_private_chats" | "all_group_chats" | "all_chat_administrators" => kind.to_owned(),
        "chat" | "chat_administrators" => format!("{kind}:{}", here()?),
        "chat_member" => format!("{kind}:{}:{}", here()?, known("user_id").unwrap_or_default()),
        _ => return Err(ApiError::broken("command_scope", "can't parse BotCommandScope: Unsupported type specified")),
    };
    let language = asked.params.text("language_code").unwrap_or_default();
    if !language.is_empty() && (language.len() != 2 || !language.bytes().all(|c| c.is_ascii_lowercase())) {
        return Err(ApiError::broken("language_code", "invalid language code specified"));
    }
    Ok((place, language))
}
