//! Drafts: a text that a private chat shows while it is being written. It leaves no message, goes with the bot's next one or
//! after a while, and may have a button by which its person stops it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::Asked;
use super::cast::ChatKind;
use super::error::ApiError;
use super::people::{Outcome, Press, Said, refused};
use super::send::{chat, draft_text};
use super::transcript::{Button, Kind};
use super::world::World;

/// How long a draft is shown.
const LASTS: Duration = Duration::from_secs(30);
/// The button of a draft, as people see it and as a press names it.
const STOP: &str = "Stop";

/// What a private chat shows of a bot that still writes.
#[derive(Clone, Debug)]
pub struct Draft {
    id: i64,
    bot: i64,
    can_stop: bool,
    until: Instant,
}

/// `sendMessageDraft`
pub fn show(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let id = chat(world, asked)?;
    let text = draft_text(asked)?;
    let draft = asked.params.int("draft_id").unwrap_or_default();
    if draft == 0 {
        return Err(ApiError::broken("draft_id", "draft_id must be non-zero"));
    }
    if asked.params.get("reply_markup").is_some() {
        return Err(ApiError::broken("draft_markup", "drafts have no buttons of a bot's own"));
    }
    let thread = asked.params.int("message_thread_id").filter(|thread| *thread != 0);
    let Some(chat) = world.chats.get_mut(&id).filter(|chat| chat.kind == ChatKind::Private) else {
        return Err(ApiError::broken("draft_chat", "drafts can be sent to private chats only"));
    };
    if thread.is_some_and(|thread| !chat.topics.contains_key(&thread)) {
        return Err(ApiError::bad("message thread not found"));
    }
    let can_stop = asked.params.flag("can_stop");
    chat.draft = Some(Draft { id: draft, bot: asked.bot, can_stop, until: Instant::now() + LASTS });
    let mut entry = asked.entry(chat, Kind::Draft);
    entry.message = Some(-draft);
    entry.thread = chat.thread_name(thread);
    entry.entities = text.entities_json();
    entry.mentions = text.pings();
    entry.text = text.text;
    if can_stop {
        entry.buttons = vec![Button { id: STOP.into(), text: STOP.into(), ..Button::default() }];
    }
    world.stats.mentions += entry.mentions as u64;
    world.log(entry);
    Ok(json!(true))
}

/// A person presses the button of a draft: it goes, and its bot is told.
pub fn stop(world: &mut World, id: i64, press: &Press) -> Outcome<Said> {
    let Some(chat) = world.chats.get_mut(&id) else { return refused(404, "no such conversation") };
    let shown = |draft: &Draft| draft.id == -press.message && draft.until > Instant::now();
    let Some(draft) = chat.draft.clone().filter(shown) else { return refused(404, "message: no such draft") };
    if !draft.can_stop || press.button != STOP {
        return refused(404, format!("button: the draft has no button '{}'", press.button));
    }
    chat.draft = None;
    let event = json!({"chat": chat.json(), "draft_id": draft.id});
    let wire = chat.wire;
    world.stats.received += 1;
    let update = world.tell("stopped_message_generation", event, Some(draft.bot));
    Ok(Said { message: None, chat: wire, update, interaction: None })
}
