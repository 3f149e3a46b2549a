//! The control side of this platform; the verbs and shapes are those of the others.
//!
//! | verb | body or query | answer |
//! |---|---|---|
//! | POST say | `conversation, user, text, thread?, reply_to?, files?, mention?, language_code?, bot?, webhook?, stickers?, forward?, voice?, system?` | `message, chat` |
//! | POST command | `conversation, user, name` (with sub-commands behind blanks)`, args?` (by option)`, thread?, language_code?` | `interaction, chat` |
//! | POST autocomplete | `conversation, user, name, field, typed, args?` | `interaction, choices` |
//! | POST press | `conversation, user, message, button` (id or text)`, values?` (of a menu) | `interaction, chat` |
//! | POST submit | `conversation, user, interaction?, values` (by the field's id or label) | `interaction, chat` |
//! | POST edit, react, typing, remove | as their names say | |
//! | POST raw | `event`: `{t, d}` for sessions, or a frame with an `op` | `update` |
//! | POST conversation | `name, kind?: private, text, announcement, forum, title?, state?: open, blocked, kicked, gone, archived, locked, removed, outage, guild?, thread?, roles?` | `chat` |
//! | POST fault | `kind, count?, seconds?, status?, code?, description?, method?, when?, conversation?, past?, global?, shared?, resumable?, body?`; DELETE takes all back | |
//! | POST intents | `content?, members?, presences?`: what is switched on in the portal; `privacy` with `on` is the first, turned round | |
//! | GET, POST limits · GET transcript, transcript/events, conversations, menu, file, stats | as on the other platforms | |

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;

use super::Discord;
use super::people::{Command, Conversation, Edit, Intents, Press, Raw, React, Remove, Say, Submit, Typed, Typing};
use crate::verbs::{MenuWanted, common, done, read, reply, verb};

/// What people do, below `/control/discord`.
pub fn control(discord: Arc<Discord>) -> Router {
    common()
        .route("/say", verb(|it: &Discord, say: Say| it.say(say)))
        .route("/command", verb(|it: &Discord, command: Command| it.command(&command)))
        .route("/autocomplete", post(autocomplete))
        .route("/press", verb(|it: &Discord, press: Press| it.press(&press)))
        .route("/submit", verb(|it: &Discord, submit: Submit| it.submit(&submit)))
        .route("/edit", verb(|it: &Discord, edit: Edit| it.edit(&edit)))
        .route("/react", verb(|it: &Discord, react: React| done(it.react(&react))))
        .route("/typing", verb(|it: &Discord, typing: Typing| done(it.typing(&typing))))
        .route("/remove", verb(|it: &Discord, wanted: Remove| done(it.remove(&wanted))))
        .route("/raw", verb(|it: &Discord, raw: Raw| it.raw(raw.event).map(|update| json!({"update": update}))))
        .route(
            "/conversation",
            verb(|it: &Discord, wanted: Conversation| it.conversation(&wanted).map(|chat| json!({"chat": chat}))),
        )
        .route(
            "/intents",
            verb(|it: &Discord, wanted: Intents| {
                it.set_intents(wanted);
                done(Ok(()))
            }),
        )
        .route(
            "/privacy",
            verb(|it: &Discord, privacy: Privacy| {
                it.set_intents(privacy.intents());
                done(Ok(()))
            }),
        )
        .route("/menu", get(menu))
        .with_state(discord)
}

/// Privacy is that bots do not read what is not meant for them.
#[derive(Deserialize)]
struct Privacy {
    on: bool,
}

impl Privacy {
    fn intents(&self) -> Intents {
        Intents { content: Some(!self.on), ..Intents::default() }
    }
}

async fn autocomplete(State(discord): State<Arc<Discord>>, body: Bytes) -> Response {
    match read::<Typed>(&body) {
        Ok(typed) => reply(discord.autocomplete(&typed).await),
        Err(refused) => reply::<()>(Err(refused)),
    }
}

async fn menu(State(discord): State<Arc<Discord>>, Query(wanted): Query<MenuWanted>) -> Response {
    reply(discord.menu(&wanted.conversation).map(|commands| json!({"commands": commands})))
}
