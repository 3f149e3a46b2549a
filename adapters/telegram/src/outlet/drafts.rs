//! Drafts: a private chat shows a text that grows and drops it by itself, so that the answer is a message of its own.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use contract::{Action, Address, DeliveryError, DeliveryKey, Part, Receipt, TurnId, Why};
use serde_json::{Map, Value, json};

use super::{Sent, place, words};
use crate::{Telegram, inbound::DIRECT_TOPIC};

/// Turns whose draft can be stopped by its button; older ones are stopped by words.
const MOST_TURNS: usize = 1_024;
/// Chats that are known to take no drafts.
const MOST_REFUSED: usize = 4_096;
/// After this time it is tried again.
const REFUSED_FOR: Duration = Duration::from_secs(3_600);

/// What is remembered of drafts.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    /// By chat and draft, the newest last.
    turns: VecDeque<((i64, i64), TurnId)>,
    refused: HashMap<i64, Instant>,
}

impl Drafts {
    fn shows(&mut self, chat: i64, turn: TurnId) {
        let key = (chat, id(turn));
        if self.turns.iter().rev().any(|(known, _)| *known == key) {
            return;
        }
        if self.turns.len() == MOST_TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back((key, turn));
    }

    /// The turn whose answer a draft is.
    pub(crate) fn turn(&self, chat: i64, draft: i64) -> Option<TurnId> {
        self.turns.iter().rev().find(|(key, _)| *key == (chat, draft)).map(|(_, turn)| *turn)
    }

    fn refuses(&mut self, chat: i64) {
        if self.refused.len() >= MOST_REFUSED {
            self.refused.retain(|_, since| since.elapsed() < REFUSED_FOR);
        }
        if self.refused.len() < MOST_REFUSED {
            self.refused.insert(chat, Instant::now());
        }
    }

    fn are_refused(&self, chat: i64) -> bool {
        self.refused.get(&chat).is_some_and(|since| since.elapsed() < REFUSED_FOR)
    }
}

/// The same in every life of the process, so that the text goes on growing where it was.
fn id(turn: TurnId) -> i64 {
    i64::try_from(turn.0.random() & 0x7fff_ffff).unwrap_or_default().max(1)
}

impl Telegram {
    /// Shows the part as a draft; nothing where it has to be a message.
    pub(super) async fn draft(&self, to: &Address, part: &Part, key: &DeliveryKey) -> Option<Sent> {
        let is_channels = to.thread.as_ref().is_some_and(|thread| thread.starts_with(DIRECT_TOPIC));
        let chat = self.chat(to).ok().filter(|_| to.direct && !is_channels && part.files.is_empty())?;
        if crate::lock(&self.drafts).are_refused(chat) {
            return None;
        }
        crate::lock(&self.drafts).shows(chat, key.turn);
        let (text, mode) = words(part);
        let mut body: Map<String, Value> = place(to, false);
        body.insert("chat_id".into(), json!(chat));
        body.insert("draft_id".into(), json!(id(key.turn)));
        body.insert("text".into(), json!(text));
        body.extend(mode.map(|mode| ("parse_mode".to_owned(), json!(mode))));
        // A draft has no buttons of ours, but one of Telegram's.
        if part.buttons.iter().any(|button| matches!(button.action, Action::Cancel(_))) {
            body.insert("can_stop".into(), json!(true));
        }
        let problem = match self.api.call("sendMessageDraft", &Value::Object(body), crate::api::PATIENCE).await {
            Ok(_) => return Some(Ok(Receipt::fleeting())),
            Err(problem) => problem,
        };
        match self.explain(problem, to) {
            // It leaves nothing behind: to send it again is no repeat.
            DeliveryError::Unsure(words) => Some(Err(DeliveryError::NotSent(words))),
            DeliveryError::Refused(why) => {
                tracing::debug!(account = self.account, chat, %why, "the chat takes no drafts");
                if why != Why::Markup {
                    crate::lock(&self.drafts).refuses(chat);
                }
                None
            }
            waits => Some(Err(waits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_known_by_chat_and_number_and_the_newest_are_remembered() {
        let mut drafts = Drafts::default();
        let turns: Vec<TurnId> = (0..MOST_TURNS + 1).map(|_| TurnId::new()).collect();
        turns.iter().for_each(|turn| drafts.shows(7, *turn));
        drafts.shows(7, turns[5]);
        assert_eq!(drafts.turns.len(), MOST_TURNS);
        assert_eq!(drafts.turn(7, id(turns[5])), Some(turns[5]));
        assert_eq!((drafts.turn(7, id(turns[0])), drafts.turn(8, id(turns[5]))), (None, None));
        assert!(turns.iter().all(|turn| (1..1 << 31).contains(&id(*turn))), "numbers that every client can hold");
    }

    #[test]
    fn chats_that_take_no_drafts_are_remembered_within_bounds() {
        let mut drafts = Drafts::default();
        (0..MOST_REFUSED as i64 + 9).for_each(|chat| drafts.refuses(chat));
        assert_eq!(drafts.refused.len(), MOST_REFUSED);
        assert!(drafts.are_refused(0) && !drafts.are_refused(-1));
    }
}
