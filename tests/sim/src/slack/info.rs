//! Methods that tell who somebody is, and the one that opens sockets.

use serde_json::{Value, json};

use super::api::Asked;
use super::error::ApiError;
use super::world::World;

type Answer = Result<Value, ApiError>;

pub fn api_test(_: &mut World, asked: &Asked<'_>) -> Answer {
    match asked.params.text("error") {
        Some(error) => Err(ApiError::new(error).with("args", asked.params.payload())),
        None => Ok(json!({"args": asked.params.payload()})),
    }
}

pub fn auth_test(world: &mut World, asked: &Asked<'_>) -> Answer {
    let app = &world.apps[asked.caller.app];
    let install = &app.installs[asked.caller.install];
    let team = &world.teams[install.team];
    let mut out = json!({"url": format!("{}/", world.url), "team": team.name, "user": app.name, "team_id": team.id,
        "user_id": install.bot_user, "bot_id": install.bot, "is_enterprise_install": app.org_wide});
    if let Some(enterprise) = &team.enterprise {
        out["enterprise_id"] = json!(enterprise);
    }
    Ok(out)
}

pub fn connections_open(world: &mut World, asked: &Asked<'_>) -> Answer {
    if world.apps[asked.caller.app].hooks.is_some() {
        return Err(ApiError::new("forbidden_team"));
    }
    Ok(json!({"url": world.ticket(asked.caller.app)}))
}

pub fn team(world: &mut World, asked: &Asked<'_>) -> Answer {
    let install = &world.apps[asked.caller.app].installs[asked.caller.install];
    let wanted = asked.params.text("team");
    let team = match &wanted {
        Some(id) => world.teams.iter().find(|team| team.id == *id).ok_or_else(|| ApiError::new("team_not_found"))?,
        None => &world.teams[install.team],
    };
    let mut out = json!({"id": team.id, "name": team.name, "domain": team.name, "email_domain": "", "url": format!("{}/", world.url),
        "icon": {"image_default": true}});
    if let Some(enterprise) = &team.enterprise {
        out["enterprise_id"] = json!(enterprise);
        out["enterprise_name"] = json!("Org");
    }
    Ok(json!({"team": out}))
}

pub fn bot(world: &mut World, asked: &Asked<'_>) -> Answer {
    let wanted = asked.params.need("bot")?;
    let found = world
        .apps
        .iter()
        .flat_map(|app| app.installs.iter().map(move |install| (app, install)))
        .find(|(_, install)| install.bot == wanted);
    if let Some((app, install)) = found {
        return Ok(
            json!({"bot": {"id": install.bot, "deleted": false, "name": app.name, "updated": 1_700_000_000, "app_id": app.id, "user_id": install.bot_user,
            "icons": {"image_36": "", "image_48": "", "image_72": ""}}}),
        );
    }
    let user = world
        .users
        .values()
        .find(|user| user.bot.as_ref() == Some(&wanted))
        .ok_or_else(|| ApiError::new("bot_not_found"))?;
    Ok(
        json!({"bot": {"id": wanted, "deleted": false, "name": user.name, "updated": 1_700_000_000, "user_id": user.id, "icons": {"image_36": ""}}}),
    )
}

pub fn user(world: &mut World, asked: &Asked<'_>) -> Answer {
    let wanted = asked.params.text("user").ok_or_else(|| ApiError::broken("user_not_found"))?;
    let user = world.user_by_id(&wanted).ok_or_else(|| ApiError::new("user_not_found"))?;
    let mut out = user.json();
    if asked.params.flag("include_locale") {
        out["locale"] = json!(user.locale.as_deref().unwrap_or("en-US"));
    }
    Ok(json!({"user": out}))
}

pub fn users(world: &mut World, asked: &Asked<'_>) -> Answer {
    let all: Vec<Value> = world.users.values().map(|user| user.json()).collect();
    let (page, cursor) = paged(all, asked, 1_000)?;
    Ok(json!({"members": page, "cache_ts": 1_700_000_000, "response_metadata": {"next_cursor": cursor}}))
}

pub fn method_deprecated(_: &mut World, _: &Asked<'_>) -> Answer {
    Err(ApiError::broken("method_deprecated"))
}

pub fn not_allowed_token(_: &mut World, _: &Asked<'_>) -> Answer {
    Err(ApiError::broken("not_allowed_token_type"))
}

/// One page of a list and the cursor of the next.
pub fn paged(all: Vec<Value>, asked: &Asked<'_>, most: usize) -> Result<(Vec<Value>, String), ApiError> {
    let limit = asked.params.int("limit").unwrap_or(100);
    let limit = usize::try_from(limit)
        .ok()
        .filter(|limit| (1..=most.max(1_000)).contains(limit))
        .ok_or_else(|| ApiError::broken("invalid_limit"))?
        .min(most.max(1));
    let start = match asked.params.text("cursor") {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix("next:")
            .and_then(|at| at.trim_end_matches('=').parse().ok())
            .ok_or_else(|| ApiError::broken("invalid_cursor"))?,
    };
    let total = all.len();
    let page: Vec<Value> = all.into_iter().skip(start).take(limit).collect();
    let cursor = if start.saturating_add(limit) < total { format!("next:{}=", start + limit) } else { String::new() };
    Ok((page, cursor))
}
