//! What an app may: its scopes, those that methods and events ask for, and how answers name them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::apps::{Caller, TokenKind};
use super::cast::{App, Channel};
use super::error::ApiError;
use super::world::World;

/// What an app is given that was declared without a list. `chat:write.public` is not there: bots write where they are members.
const USUAL: [&str; 24] = [
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:join",
    "channels:manage",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "mpim:write",
    "reactions:read",
    "reactions:write",
    "team:read",
    "users:read",
    "emoji:read",
    "pins:read",
];

/// The scopes of whoever asked and those that the method takes, as the headers of every answer tell them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes {
    pub given: String,
    pub accepted: String,
}

pub fn usual() -> BTreeSet<String> {
    USUAL.iter().map(|scope| (*scope).to_owned()).collect()
}

/// The scopes that let a method in: its own, and those that stand for it.
pub fn accepted(method: &str, scope: &str) -> Vec<String> {
    let more: Vec<String> = match scope.strip_prefix("channels:") {
        Some(verb @ ("read" | "history")) => ["groups", "im", "mpim"].map(|kind| format!("{kind}:{verb}")).into(),
        _ if scope == "im:write" => vec!["mpim:write".into(), "channels:manage".into()],
        // The newer of the two; the older is still taken.
        _ if method == "assistant.threads.setStatus" => vec!["assistant:write".into()],
        _ => Vec::new(),
    };
    Some(scope).filter(|scope| !scope.is_empty()).map(str::to_owned).into_iter().chain(more).collect()
}

/// The scope without which an app is not told an event of a conversation.
pub fn of_event(event: &Value, channel: &Channel) -> String {
    let kind = channel.kind.scope_word();
    match event["type"].as_str().unwrap_or_default() {
        "reaction_added" | "reaction_removed" => "reactions:read".into(),
        "message" => format!("{kind}:history"),
        _ => format!("{kind}:read"),
    }
}

impl App {
    /// Its scopes as the platform writes them in one line.
    pub fn given(&self) -> String {
        self.scopes.iter().map(String::as_str).collect::<Vec<_>>().join(",")
    }

    pub fn lacks(&self, needed: &str) -> ApiError {
        ApiError::new("missing_scope").with("needed", needed).with("provided", self.given())
    }
}

impl World {
    /// What the answer to a request says of scopes; nothing for a token that is none.
    pub fn scopes(&self, caller: Caller, accepted: &[String]) -> Scopes {
        let given = match caller.kind {
            TokenKind::Bot => self.apps[caller.app].given(),
            TokenKind::App => "connections:write".into(),
        };
        Scopes { given, accepted: accepted.join(",") }
    }
}
