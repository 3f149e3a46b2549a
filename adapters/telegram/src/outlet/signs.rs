//! Signs of life: typing, and an emoji on a message that waits its turn.

use std::time::Duration;

use contract::Address;
use teloxide::{
    payloads::{SendChatAction, SetMessageReaction, setters::*},
    types::{ChatAction, ChatId, MessageId, ReactionType},
};

use super::{place, with};
use crate::{Telegram, api::Problem};

/// What says on a message that it waits its turn.
const WAITS: &str = "👀";
const INDICATOR: Duration = Duration::from_secs(5);

impl Telegram {
    pub(super) async fn typing(&self, to: &Address) {
        let Ok(chat) = self.chat(to) else { return };
        let action = with(&SendChatAction::new(ChatId(chat), ChatAction::Typing), place(to, false));
        if let Err(cause) = self.api.call("sendChatAction", &action, INDICATOR).await {
            tracing::debug!(account = self.account, ?cause, "no typing indicator");
        }
    }

    /// Puts our sign of waiting on the message that is answered, or takes it away where we put one.
    pub(super) async fn sign(&self, to: &Address, is_waiting: bool) {
        let message: Option<i32> = to.reply_to.as_deref().and_then(|id| id.parse().ok());
        let (Ok(chat), Some(message)) = (self.chat(to), message) else { return };
        let place = (chat, message.into());
        match is_waiting {
            // Also when its answer is lost it may be there.
            true => crate::lock(&self.signed).insert(place),
            false if crate::lock(&self.signed).remove(place) => {}
            false => return,
        }
        let emoji = ReactionType::Emoji { emoji: WAITS.to_owned() };
        let reaction = SetMessageReaction::new(ChatId(chat), MessageId(message))
            .reaction(is_waiting.then_some(emoji).into_iter().collect::<Vec<_>>());
        match self.api.ask(&reaction).await {
            // Once more: it may have been taken away while it was on its way.
            Ok(_) if is_waiting => crate::lock(&self.signed).insert(place),
            Ok(_) => {}
            // Groups may forbid reactions.
            Err(Problem::Refused { words, .. }) => {
                crate::lock(&self.signed).remove(place);
                tracing::debug!(account = self.account, words, "no sign of waiting");
            }
            Err(cause) => tracing::debug!(account = self.account, ?cause, is_waiting, "no sign of waiting"),
        }
    }
}
