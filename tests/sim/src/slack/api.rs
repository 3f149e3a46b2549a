//! The method table and the way of one request through faults, limits and its method.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::apps::{Caller, TokenKind};
use super::error::ApiError;
use super::fault::{Fault, Kind, Target, When};
use super::limits::{Scope, Tier};
use super::params::Params;
use super::scopes::{self, Scopes};
use super::world::World;
use super::{Slack, assistant, chat, info, places, reactions, stream, update, upload, views};

/// One request as its method sees it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub caller: Caller,
    pub method: &'static str,
    pub params: &'a Params,
}

type Run = fn(&mut World, &Asked<'_>) -> Result<Value, ApiError>;

struct Method {
    name: &'static str,
    tier: Tier,
    /// What the app must be allowed; nothing for what every app may.
    scope: &'static str,
    run: Run,
}

const fn method(name: &'static str, tier: Tier, scope: &'static str, run: Run) -> Method {
    Method { name, tier, scope, run }
}

const METHODS: [Method; 40] = [
    method("api.test", Tier::Four, "", info::api_test),
    method("auth.test", Tier::Special, "", info::auth_test),
    method("apps.connections.open", Tier::One, "connections:write", info::connections_open),
    method("team.info", Tier::Three, "team:read", info::team),
    method("bots.info", Tier::Three, "users:read", info::bot),
    method("users.info", Tier::Four, "users:read", info::user),
    method("users.list", Tier::Two, "users:read", info::users),
    method("users.conversations", Tier::Three, "channels:read", places::list_own),
    method("conversations.info", Tier::Three, "channels:read", places::about),
    method("conversations.list", Tier::Two, "channels:read", places::list),
    method("conversations.members", Tier::Four, "channels:read", places::members),
    method("conversations.history", Tier::Three, "channels:history", places::history),
    method("conversations.replies", Tier::Three, "channels:history", places::replies),
    method("conversations.open", Tier::Three, "im:write", places::open),
    method("conversations.join", Tier::Three, "channels:join", places::join),
    method("conversations.leave", Tier::Three, "channels:manage", places::leave),
    method("chat.postMessage", Tier::Post, "chat:write", chat::post),
    method("chat.postEphemeral", Tier::Four, "chat:write", chat::post_ephemeral),
    method("chat.update", Tier::Three, "chat:write", update::update),
    method("chat.delete", Tier::Three, "chat:write", update::delete),
    method("chat.getPermalink", Tier::Special, "", update::permalink),
    method("chat.startStream", Tier::Two, "chat:write", stream::start),
    method("chat.appendStream", Tier::Four, "chat:write", stream::append),
    method("chat.stopStream", Tier::Two, "chat:write", stream::stop),
    method("reactions.add", Tier::Three, "reactions:write", reactions::add),
    method("reactions.remove", Tier::Two, "reactions:write", reactions::remove),
    method("reactions.get", Tier::Three, "reactions:read", reactions::get),
    method("views.open", Tier::Four, "", views::open),
    method("views.push", Tier::Four, "", views::push),
    method("views.update", Tier::Four, "", views::update),
    method("views.publish", Tier::Four, "", views::publish),
    method("files.getUploadURLExternal", Tier::Four, "files:write", upload::address),
    method("files.completeUploadExternal", Tier::Four, "files:write", upload::complete),
    method("files.info", Tier::Four, "files:read", upload::info),
    method("files.delete", Tier::Three, "files:write", upload::delete),
    method("assistant.threads.setStatus", Tier::Special, "chat:write", assistant::status),
    method("assistant.threads.setTitle", Tier::Special, "assistant:write", assistant::title),
    method("assistant.threads.setSuggestedPrompts", Tier::Special, "assistant:write", assistant::prompts),
    method("files.upload", Tier::Two, "files:write", info::method_deprecated),
    method("rtm.connect", Tier::One, "", info::not_allowed_token),
];

/// What a request is answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Seconds to wait.
    pub wait: Option<u64>,
    /// For every token that is good.
    pub scopes: Option<Scopes>,
    pub body: Value,
}

/// How a request ends.
#[derive(Debug)]
pub enum Ending {
    Answer(Answer),
    /// The connection is to be closed without a word.
    Cut,
}

impl From<ApiError> for Answer {
    fn from(error: ApiError) -> Self {
        Self { status: error.status, wait: error.retry_after, scopes: None, body: error.json() }
    }
}

impl From<Answer> for Ending {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl Slack {
    /// Answers one request of a bot.
    pub async fn request(&self, method: &str, params: Result<Params, ApiError>) -> Ending {
        let arrived = Instant::now();
        let params = match params {
            Ok(params) => params,
            Err(error) => return Answer::from(self.write(|world| refuse(world, method, error))).into(),
        };
        let mut scopes = None;
        let (caller, method) = match self.write(|world| identify(world, method, &params, &mut scopes)) {
            Ok(known) => known,
            Err(error) => return Answer { scopes, ..error.into() }.into(),
        };
        let asked = Asked { caller, method: method.name, params: &params };
        let chat = self.write(|world| concerned(world, &params));
        let target = Target { method: method.name, chat: chat.as_deref(), marked: marked(&params) };
        if let Some(delay) = self.write(|world| world.faults.hit(&[Kind::Delay], target)) {
            self.pause(Duration::from_secs_f64(delay.seconds.unwrap_or(1.0).clamp(0.0, 3_600.0))).await;
        }
        let dropped = self.write(|world| world.faults.hit(&[Kind::Drop], target)).map(|fault| fault.when);
        if dropped == Some(When::Before) {
            return Ending::Cut;
        }
        let scope = scope(&asked, method.tier, chat.as_deref());
        let answer = match self.write(|world| guarded(world, &asked, method, target, &scope, arrived)) {
            Ok(body) => Answer { status: 200, wait: None, scopes, body: decorated(body, &params) },
            Err(error) => Answer { scopes, ..error.into() },
        };
        if dropped.is_some() { Ending::Cut } else { answer.into() }
    }
}

/// Who asks, for which method; `scopes` is what the answer says of them, whether it is granted or not.
fn identify(
    world: &mut World,
    method: &str,
    params: &Params,
    scopes: &mut Option<Scopes>,
) -> Result<(Caller, &'static Method), ApiError> {
    let Some(known) = METHODS.iter().find(|known| known.name == method) else {
        return Err(refuse(world, method, ApiError::broken("unknown_method").with("req_method", method)));
    };
    *world.stats.requests.entry(known.name.to_owned()).or_default() += 1;
    let open = known.name == "api.test";
    let caller = match world.caller(params.token.as_deref()) {
        Ok(caller) => caller,
        Err(_) if open => Caller { app: 0, install: 0, kind: TokenKind::Bot },
        Err(error) => return Err(refuse(world, method, error)),
    };
    let wanted = if known.name == "apps.connections.open" { TokenKind::App } else { TokenKind::Bot };
    if caller.kind != wanted && !open {
        return Err(refuse(world, method, ApiError::broken("not_allowed_token_type")));
    }
    let accepted = scopes::accepted(known.name, known.scope);
    *scopes = Some(world.scopes(caller, &accepted));
    let app = &world.apps[caller.app];
    if wanted == TokenKind::Bot && !accepted.is_empty() && !accepted.iter().any(|scope| app.may(scope)) {
        let error = app.lacks(known.scope);
        return Err(refuse(world, method, error));
    }
    Ok((caller, known))
}

/// The conversation that a request is about.
fn concerned(world: &World, params: &Params) -> Option<String> {
    let wanted = params.text("channel").or_else(|| params.text("channel_id"))?;
    Some(world.find_channel(&wanted).unwrap_or(wanted))
}

fn scope(asked: &Asked<'_>, tier: Tier, chat: Option<&str>) -> Scope {
    let place = chat.filter(|_| tier == Tier::Post).map(str::to_owned);
    (asked.caller.app, asked.caller.install, asked.method, place)
}

fn marked(params: &Params) -> bool {
    ["blocks", "attachments", "markdown_text"].iter().any(|name| params.text(name).is_some_and(|value| value != "[]"))
}

/// The success with what the platform says beside it.
fn decorated(mut answer: Value, params: &Params) -> Value {
    let mut out = json!({"ok": true});
    if let (Value::Object(out), Value::Object(answer)) = (&mut out, &mut answer) {
        out.append(answer);
    }
    if let Some(warning) = params.warning {
        out["warning"] = json!(warning);
        out["response_metadata"]["warnings"] = json!([warning]);
    }
    out
}

/// Runs a method behind the ordered faults and the limits, and counts what broke a rule.
fn guarded(
    world: &mut World,
    asked: &Asked<'_>,
    method: &Method,
    target: Target<'_>,
    scope: &Scope,
    arrived: Instant,
) -> Result<Value, ApiError> {
    let limits = world.limits.clone();
    let result = world
        .meter
        .check(&limits, scope, method.tier, arrived)
        .and_then(|()| ordered(world, target, scope).map_or(Ok(()), Err))
        .and_then(|()| (method.run)(world, asked));
    result.map_err(|error| refuse(world, method.name, error))
}

/// The error that somebody ordered for this request.
fn ordered(world: &mut World, target: Target<'_>, scope: &Scope) -> Option<ApiError> {
    let fault = world.faults.hit(&[Kind::RateLimit, Kind::Error, Kind::RefuseMarkup], target)?;
    Some(match fault.kind {
        Kind::RateLimit => world.meter.hold(scope, fault.seconds.unwrap_or(1.0)),
        Kind::RefuseMarkup => {
            ApiError::new("invalid_blocks").reasons(&["unsupported type: refused [json-pointer:/blocks/0/type]".into()])
        }
        _ => failure(fault),
    })
}

fn failure(fault: Fault) -> ApiError {
    let status = fault.status.filter(|status| (400..600).contains(status));
    let name = match status {
        Some(503) => "service_unavailable",
        Some(_) => "internal_error",
        None => "fatal_error",
    };
    ApiError { status: status.unwrap_or(200), ..ApiError::new(fault.error.unwrap_or_else(|| name.into())) }
}

fn refuse(world: &mut World, method: &str, error: ApiError) -> ApiError {
    if let Some(rule) = error.rule {
        world.stats.violation(rule, method, error.detail());
    }
    error
}

#[cfg(test)]
mod tests;
