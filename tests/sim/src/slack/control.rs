//! The control side: what people do over HTTP, and everything that was seen.
//!
//! The verbs and their answers are those of the other platforms; `message` is a `ts`. Beside them:
//!
//! | verb | body | answer |
//! |---|---|---|
//! | POST say | as elsewhere, `broadcast?`; a text that begins with a slash is refused: a client sends it as a command or not at all. With a blank before the slash it is a message | `message, chat, update` |
//! | POST command | `conversation, user, name, args?`; words behind a blank in `name` come before `args` | `chat, interaction` (the trigger) |
//! | POST press | `conversation, user, message` (`ts` or view), `button` (action, value, `action=value` or text) | `chat, interaction` |
//! | POST submit | `conversation, user, view?, values, close?` | `chat, interaction` (the view) |
//! | POST react | `conversation, user, message, emoji, remove?` | `chat, update` |
//! | POST shortcut | `conversation, user, callback_id, message?` | `chat, interaction` |
//! | POST open | `conversation, user, what: home, messages, assistant, context, context?, thread?` | `chat, message, update` |
//! | POST conversation | `name, kind?: channel, private, im, mpim, title?, team?, state?: open, archived, left, joined, renamed, gone, roles?: {NAME: member, left, deactivated}` | `chat` |
//! | POST app | `name, bot_tokens?, app_token?, signing_secret?, teams?, enterprise?, scopes?, commands?` | `app, signing_secret, installs` |
//! | POST events | `url?, commands_url?, interactivity_url?, signing_secret?, app?`; without a URL, sockets again | `signing_secret` once the URL proved itself |
//! | POST fault | `kind: rate_limit, error, drop, delay, duplicate, disconnect, close, cut, silence, refuse_markup, conflict`, `error?` names the answer, `reason?` that of a disconnect | |

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::people::{Command, Conversation, Edit, Events, Open, Press, Raw, React, Remove, Say, Shortcut, Submit};
use super::{NewApp, Slack};
use crate::verbs::{MenuWanted, common, done, read, reply, verb};

/// What people do, below `/control/slack`.
pub fn control(slack: Arc<Slack>) -> Router {
    common()
        .route("/say", verb(|it: &Slack, say: Say| it.say(say)))
        .route("/command", verb(|it: &Slack, command: Command| it.command(command)))
        .route("/press", verb(|it: &Slack, press: Press| it.press(&press)))
        .route("/submit", verb(|it: &Slack, submit: Submit| it.submit(&submit)))
        .route("/react", verb(|it: &Slack, react: React| it.react(&react)))
        .route("/shortcut", verb(|it: &Slack, shortcut: Shortcut| it.shortcut(&shortcut)))
        .route("/open", verb(|it: &Slack, open: Open| it.open(&open)))
        .route("/edit", verb(|it: &Slack, edit: Edit| it.edit(&edit)))
        .route("/remove", verb(|it: &Slack, wanted: Remove| done(it.remove(&wanted))))
        .route("/raw", verb(|it: &Slack, raw: Raw| it.raw(raw).map(|update| json!({"update": update}))))
        .route(
            "/conversation",
            verb(|it: &Slack, wanted: Conversation| it.conversation(&wanted).map(|chat| json!({"chat": chat}))),
        )
        .route("/app", verb(|it: &Slack, app: NewApp| it.app(app)))
        .route("/events", post(events))
        .route("/menu", get(menu))
        .with_state(slack)
}

async fn events(State(slack): State<Arc<Slack>>, body: Bytes) -> Response {
    match read::<Events>(&body) {
        Ok(events) => reply(slack.set_events(events).await.map(|secret| json!({"signing_secret": secret}))),
        Err(refused) => reply::<Value>(Err(refused)),
    }
}

async fn menu(State(slack): State<Arc<Slack>>, Query(wanted): Query<MenuWanted>) -> Response {
    reply(slack.menu(&wanted.conversation).map(|commands| json!({"commands": commands})))
}
