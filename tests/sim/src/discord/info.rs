//! What a bot can look up: itself, its gateway, guilds, people and their roles.

use serde_json::{Value, json};

use super::api::Answer;
use super::cast::Guild;
use super::error::ApiError;
use super::request::Asked;
use super::world::World;

pub fn gateway(world: &mut World, _: &Asked<'_>) -> Answer {
    Ok((200, json!({"url": world.gateway_address()})))
}

pub fn gateway_bot(world: &mut World, asked: &Asked<'_>) -> Answer {
    let total = match world.limits.identifies_per_day {
        0 => 1_000_000,
        day => day,
    };
    let used = world.bots.get(&asked.bot).map_or(0, |bot| bot.identifies);
    let start = json!({
        "total": total, "remaining": total.saturating_sub(used), "reset_after": 86_400_000, "max_concurrency": world.limits.max_concurrency.max(1),
    });
    Ok((
        200,
        json!({"url": world.gateway_address(), "shards": world.limits.shards.max(1), "session_start_limit": start}),
    ))
}

pub fn me(world: &mut World, asked: &Asked<'_>) -> Answer {
    Ok((200, world.bots.get(&asked.bot).map(super::cast::Bot::own_json).unwrap_or_default()))
}

pub fn my_guilds(world: &mut World, asked: &Asked<'_>) -> Answer {
    let mine = world.guilds.values().filter(|guild| guild.members.contains_key(&asked.bot));
    let short = |guild: &Guild| json!({"id": guild.id.to_string(), "name": guild.name, "icon": null, "banner": null, "owner": false, "permissions": guild.permissions(asked.bot).to_string(), "features": []});
    Ok((200, mine.map(short).collect()))
}

pub fn user(world: &mut World, asked: &Asked<'_>) -> Answer {
    let id = asked.id(1)?;
    world.called(id).ok_or_else(|| ApiError::unknown(10_013, "User"))?;
    Ok((200, world.author_json(id)))
}

pub fn application(world: &mut World, asked: &Asked<'_>) -> Answer {
    let Some(bot) = world.bots.get(&asked.bot) else { return Err(ApiError::unauthorized()) };
    let mut owner = world.people.get("owner").map(|id| world.author_json(*id)).unwrap_or_default();
    owner["flags"] = json!(0);
    Ok((
        200,
        json!({
            "id": bot.id.to_string(), "name": bot.name, "icon": null, "description": "", "summary": "", "type": null, "rpc_origins": [],
            "bot_public": true, "bot_require_code_grant": false, "bot": bot.json(),
            "owner": owner, "verify_key": "0".repeat(64), "team": null, "flags": world.application_flags(), "flags_new": world.application_flags().to_string(), "hook": true,
            "approximate_guild_count": world.guilds.len(), "approximate_user_install_count": 0,
            "approximate_user_authorization_count": 0, "explicit_content_filter": 0, "eligible_oauth2_scopes": [], "redirect_uris": [], "tags": [],
            "interactions_endpoint_url": null, "role_connections_verification_url": null, "event_webhooks_url": null,
            "event_webhooks_status": 1, "event_webhooks_types": [], "integration_types_config": {"0": {}},
        }),
    ))
}

/// A guild that the bot is in.
fn known<'a>(world: &'a World, asked: &Asked<'_>) -> Result<&'a Guild, ApiError> {
    let id = asked.id(1)?;
    let guild = world.guilds.get(&id).ok_or_else(|| ApiError::unknown(10_004, "Guild"))?;
    guild.members.contains_key(&asked.bot).then_some(guild).ok_or_else(|| ApiError::new(403, 50_001, "Missing Access"))
}

pub fn guild(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = known(world, asked)?;
    let mut out = guild.json();
    if asked.query("with_counts") == Some("true") {
        out["approximate_member_count"] = json!(guild.members.len());
        out["approximate_presence_count"] = json!(guild.members.len());
    }
    Ok((200, out))
}

pub fn guild_channels(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = known(world, asked)?.id;
    let seen = world.channels.values().filter(|channel| channel.guild == Some(guild) && !channel.is_thread());
    let seen = seen.filter(|channel| world.visible(channel.id, asked.bot).is_ok());
    Ok((200, seen.map(|channel| channel.json()).collect()))
}

pub fn guild_roles(world: &mut World, asked: &Asked<'_>) -> Answer {
    Ok((200, json!(known(world, asked)?.roles_json())))
}

fn with_user(world: &World, guild: &Guild, user: u64) -> Value {
    let mut member = guild.member_json(user);
    member["user"] = world.author_json(user);
    member
}

pub fn members(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = known(world, asked)?;
    if !world.setup.members {
        return Err(ApiError::new(403, 50_001, "Missing Access"));
    }
    let limit = asked.query("limit").and_then(|limit| limit.parse().ok()).unwrap_or(1_usize).clamp(1, 1_000);
    let after = asked.query_id("after").unwrap_or_default();
    let newer = guild.members.keys().copied().filter(|id| *id > after).take(limit);
    Ok((200, newer.map(|id| with_user(world, guild, id)).collect()))
}

pub fn member(world: &mut World, asked: &Asked<'_>) -> Answer {
    let guild = known(world, asked)?;
    let user = if asked.word(3) == "@me" { asked.bot } else { asked.id(3)? };
    if !guild.members.contains_key(&user) {
        return Err(ApiError::unknown(10_007, "Member"));
    }
    Ok((200, with_user(world, guild, user)))
}
