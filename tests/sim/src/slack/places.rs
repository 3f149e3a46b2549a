//! Conversations as bots ask about them: what there is, who is in it, and what was written.

use serde_json::{Value, json};

use super::api::Asked;
use super::cast::{Channel, ChannelKind, Message};
use super::error::ApiError;
use super::info::paged;
use super::world::World;

type Answer = Result<Value, ApiError>;

/// The user of the bot that asks, in a workspace.
fn bot(world: &World, asked: &Asked<'_>, team: usize) -> Option<String> {
    world.apps[asked.caller.app].install(team).map(|install| install.bot_user.clone())
}

/// A conversation that a bot may know of.
fn visible(world: &World, asked: &Asked<'_>) -> Result<String, ApiError> {
    let wanted = asked.params.text("channel").ok_or_else(|| ApiError::broken("channel_not_found"))?;
    let channel = world.channels.get(&wanted).ok_or_else(|| ApiError::new("channel_not_found"))?;
    let member = bot(world, asked, channel.team).is_some_and(|bot| channel.members.contains(&bot));
    if !member && channel.kind != ChannelKind::Channel {
        return Err(ApiError::new("channel_not_found"));
    }
    Ok(wanted)
}

fn allowed(world: &World, asked: &Asked<'_>, channel: &Channel, verb: &str) -> Result<(), ApiError> {
    let app = &world.apps[asked.caller.app];
    let needed = format!("{}:{verb}", channel.kind.scope_word());
    if app.may(&needed) { Ok(()) } else { Err(app.lacks(&needed)) }
}

fn described(world: &World, asked: &Asked<'_>, channel: &Channel) -> Value {
    let member = bot(world, asked, channel.team).is_some_and(|bot| channel.members.contains(&bot));
    channel.json(&world.teams[channel.team].id, member)
}

/// `conversations.info`
pub fn about(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = visible(world, asked)?;
    allowed(world, asked, &world.channels[&id], "read")?;
    Ok(json!({"channel": described(world, asked, &world.channels[&id])}))
}

/// `conversations.list`
pub fn list(world: &mut World, asked: &Asked<'_>) -> Answer {
    listed(world, asked, false)
}

/// `users.conversations`: only where the bot is.
pub fn list_own(world: &mut World, asked: &Asked<'_>) -> Answer {
    listed(world, asked, true)
}

fn listed(world: &World, asked: &Asked<'_>, own: bool) -> Answer {
    let types = asked.params.text("types").unwrap_or_else(|| "public_channel".into());
    let mut kinds = Vec::new();
    for word in types.split(',').map(str::trim) {
        kinds.push(match word {
            "public_channel" => ChannelKind::Channel,
            "private_channel" => ChannelKind::Private,
            "im" => ChannelKind::Im,
            "mpim" => ChannelKind::Mpim,
            _ => return Err(ApiError::broken("invalid_types")),
        });
    }
    let app = &world.apps[asked.caller.app];
    let team = app.installs[asked.caller.install].team;
    let fits = |channel: &&Channel| {
        let member = bot(world, asked, channel.team).is_some_and(|bot| channel.members.contains(&bot));
        let here = app.org_wide && app.install(channel.team).is_some() || channel.team == team;
        let open = !(asked.params.flag("exclude_archived") && channel.archived);
        here && open && kinds.contains(&channel.kind) && (member || !own && channel.kind == ChannelKind::Channel)
    };
    let all = world.channels.values().filter(fits).map(|channel| described(world, asked, channel)).collect();
    let (page, cursor) = paged(all, asked, 1_000)?;
    Ok(json!({"channels": page, "response_metadata": {"next_cursor": cursor}}))
}

/// `conversations.members`
pub fn members(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = visible(world, asked)?;
    let all = world.channels[&id].members.iter().map(|user| json!(user)).collect();
    let (page, cursor) = paged(all, asked, 1_000)?;
    Ok(json!({"members": page, "response_metadata": {"next_cursor": cursor}}))
}

/// The conversation whose messages are asked for; the bot must be in it.
fn readable(world: &World, asked: &Asked<'_>) -> Result<String, ApiError> {
    let id = visible(world, asked)?;
    let channel = &world.channels[&id];
    allowed(world, asked, channel, "history")?;
    if bot(world, asked, channel.team).is_some_and(|bot| channel.members.contains(&bot)) {
        Ok(id)
    } else {
        Err(ApiError::new("not_in_channel"))
    }
}

/// Whether a message lies in the span of time that is asked for.
fn within(asked: &Asked<'_>, ts: &str) -> bool {
    let inclusive = asked.params.flag("inclusive");
    let bound = |name: &str| {
        asked
            .params
            .text(name)
            .filter(|ts| ts != "0")
            .map(|ts| if ts.contains('.') { ts } else { format!("{ts}.000000") })
    };
    let after = bound("oldest").is_none_or(|oldest| ts > oldest.as_str() || inclusive && ts == oldest);
    let before = bound("latest").is_none_or(|latest| ts < latest.as_str() || inclusive && ts == latest);
    after && before
}

fn answer(world: &World, asked: &Asked<'_>, channel: &Channel, found: &[&Message]) -> Answer {
    let metadata = asked.params.flag("include_all_metadata");
    let all = found.iter().map(|message| world.history_json(channel, message, metadata)).collect();
    let (page, cursor) = paged(all, asked, world.limits.history_page)?;
    let mut out = json!({"messages": page, "has_more": !cursor.is_empty()});
    if !cursor.is_empty() {
        out["response_metadata"] = json!({"next_cursor": cursor});
    }
    Ok(out)
}

/// `conversations.history`: newest first, without what was written in threads alone.
pub fn history(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = readable(world, asked)?;
    let channel = &world.channels[&id];
    let top = |message: &&Message| {
        let beside = message.thread.as_ref().is_some_and(|root| *root != message.ts)
            && message.subtype != Some("thread_broadcast");
        message.only.is_none() && !beside && within(asked, &message.ts)
    };
    let found: Vec<&Message> = channel.messages.values().rev().filter(top).collect();
    let mut out = answer(world, asked, channel, &found)?;
    out["pin_count"] = json!(0);
    Ok(out)
}

/// `conversations.replies`: the root, then its thread, oldest first.
pub fn replies(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = readable(world, asked)?;
    let wanted = asked.params.need("ts")?;
    let channel = &world.channels[&id];
    let root = channel
        .messages
        .get(&wanted)
        .filter(|message| message.only.is_none())
        .ok_or_else(|| ApiError::new("thread_not_found"))?;
    let inside = channel.messages.range(wanted.clone()..).map(|(_, message)| message);
    let thread = inside
        .filter(|message| message.ts != wanted && message.thread.as_ref() == Some(&wanted) && message.only.is_none());
    let found: Vec<&Message> =
        std::iter::once(root).chain(thread.filter(|message| within(asked, &message.ts))).collect();
    answer(world, asked, channel, &found)
}

/// `conversations.open`: the direct conversation with one person, or that of several.
pub fn open(world: &mut World, asked: &Asked<'_>) -> Answer {
    if let Some(id) = asked.params.text("channel") {
        let channel =
            world.channels.get(&id).filter(|channel| matches!(channel.kind, ChannelKind::Im | ChannelKind::Mpim));
        return channel
            .map(|channel| json!({"channel": {"id": channel.id}, "no_op": true, "already_open": true}))
            .ok_or_else(|| ApiError::new("channel_not_found"));
    }
    let users = asked.params.text("users").ok_or_else(|| ApiError::broken("users_list_not_supplied"))?;
    let mut names = Vec::new();
    for id in users.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        names.push(world.user_by_id(id).map(|user| user.name.clone()).ok_or_else(|| ApiError::new("user_not_found"))?);
    }
    let id = match names.as_slice() {
        [] => return Err(ApiError::broken("not_enough_users")),
        [name] => world.direct(asked.caller.app, name)?,
        many if many.len() > 8 => return Err(ApiError::broken("too_many_users")),
        many => several(world, asked, many)?,
    };
    let full = asked.params.flag("return_im");
    let channel = &world.channels[&id];
    Ok(json!({"channel": if full { described(world, asked, channel) } else { json!({"id": id}) }}))
}

fn several(world: &mut World, asked: &Asked<'_>, names: &[String]) -> Result<String, ApiError> {
    let mut sorted = names.to_vec();
    sorted.sort();
    let name = format!("mpdm-{}", sorted.join("--"));
    let team = world.apps[asked.caller.app].installs[asked.caller.install].team;
    let known = world.names.get(&name).cloned();
    let id = known
        .or_else(|| world.add_channel(&name, ChannelKind::Mpim, team))
        .ok_or_else(|| ApiError::new("channel_not_found"))?;
    let users: Vec<String> = sorted.iter().filter_map(|name| world.user(name)).map(|user| user.id).collect();
    world.channels.get_mut(&id).into_iter().for_each(|channel| channel.members.extend(users.clone()));
    Ok(id)
}

/// `conversations.join`
pub fn join(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = visible(world, asked)?;
    let channel = &world.channels[&id];
    if channel.kind != ChannelKind::Channel {
        return Err(ApiError::new("method_not_supported_for_channel_type"));
    }
    if channel.archived {
        return Err(ApiError::new("is_archived"));
    }
    let user = bot(world, asked, channel.team).ok_or_else(|| ApiError::new("channel_not_found"))?;
    let team = world.teams[channel.team].id.clone();
    let fresh = world.channels.get_mut(&id).is_some_and(|channel| channel.members.insert(user.clone()));
    if fresh {
        let stamp = world.next_ts();
        world.tell_all(&id, &json!({"type": "member_joined_channel", "user": user, "channel": id, "channel_type": "C", "team": team, "event_ts": stamp}));
    }
    Ok(json!({"channel": described(world, asked, &world.channels[&id])}))
}

/// `conversations.leave`
pub fn leave(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = visible(world, asked)?;
    let user = bot(world, asked, world.channels[&id].team).unwrap_or_default();
    let left = world.channels.get_mut(&id).is_some_and(|channel| channel.members.remove(&user));
    Ok(if left { json!({}) } else { json!({"not_in_channel": true}) })
}
