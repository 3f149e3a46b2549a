//! The control side of this platform; its verbs are described where all of them are mounted.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Telegram;
use super::people::{Conversation, Edit, Press, Raw, React, Remove, Say, refused};
use crate::control::typed;
use crate::verbs::{MenuWanted, common, done, reply, verb};

/// What people do, below `/control/telegram`.
pub fn control(telegram: Arc<Telegram>) -> Router {
    common()
        .route("/say", verb(|it: &Telegram, say: Say| it.say(say)))
        .route("/command", verb(|it: &Telegram, command: Command| it.say(command.say())))
        .route("/press", verb(|it: &Telegram, press: Press| it.press(&press)))
        .route("/edit", verb(|it: &Telegram, edit: Edit| it.edit(&edit)))
        .route("/react", verb(|it: &Telegram, react: React| it.react(&react)))
        .route("/submit", axum::routing::post(submit))
        .route("/remove", verb(|it: &Telegram, wanted: Remove| done(it.remove(&wanted))))
        .route("/raw", verb(|it: &Telegram, raw: Raw| it.raw(raw.event).map(|update| json!({"update": update}))))
        .route(
            "/conversation",
            verb(|it: &Telegram, wanted: Conversation| it.conversation(&wanted).map(|chat| json!({"chat": chat}))),
        )
        .route(
            "/privacy",
            verb(|it: &Telegram, privacy: Privacy| {
                it.set_privacy(privacy.on);
                done(Ok(()))
            }),
        )
        .route("/menu", get(menu))
        .with_state(telegram)
}

/// A command as a person types it: name and arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    conversation: String,
    user: String,
    name: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    thread: Option<Value>,
}

impl Command {
    fn say(self) -> Say {
        let text = format!("/{} {}", self.name.trim_start_matches('/'), typed(&self.args));
        Say { thread: self.thread, ..Say::new(&self.conversation, &self.user, text.trim_end()) }
    }
}

#[derive(Deserialize)]
struct Privacy {
    on: bool,
}

async fn submit() -> Response {
    reply::<()>(refused(400, "Telegram has no forms: people type arguments or press buttons"))
}

async fn menu(State(telegram): State<Arc<Telegram>>, Query(wanted): Query<MenuWanted>) -> Response {
    reply(telegram.menu(&wanted.conversation, &wanted.language).map(|commands| json!({"commands": commands})))
}
