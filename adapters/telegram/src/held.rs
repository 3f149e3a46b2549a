//! Updates of a webhook that were answered and are not accepted yet, because more of them may come: the parts of an album,
//! the pieces of a long text. The platform holds back what a chat says next until it is answered, so they cannot be waited
//! for as a poll waits; they are noted durably instead.

use std::collections::{HashSet, VecDeque};

use contract::StoreDown;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{inbound, line::Line};

/// More are not kept waiting; the platform delivers them again.
const MOST: usize = 256;
/// How many of those that were accepted are recognised when they come again: alone they would be something new.
const MOST_JOINED: usize = 1_000;

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) updates: Vec<Value>,
    /// Ids of accepted ones.
    joined: VecDeque<i64>,
}

impl Held {
    pub(crate) async fn recall(line: &Line) -> Result<Self, StoreDown> {
        let saved = line.core.cursors.load(&line.telegram.cursor("held")).await?;
        Ok(saved.and_then(|saved| serde_json::from_slice(&saved).ok()).unwrap_or_default())
    }

    pub(crate) async fn save(&self, line: &Line) -> Result<(), StoreDown> {
        let noted = serde_json::to_vec(self).unwrap_or_default();
        line.core.cursors.save(&line.telegram.cursor("held"), &noted).await
    }

    pub(crate) fn knows(&self, update: &Value) -> bool {
        let id = &update["update_id"];
        self.updates.iter().any(|held| held["update_id"] == *id)
            || id.as_i64().is_some_and(|id| self.joined.contains(&id))
    }

    /// The chats of which something is held: what they say next waits its turn.
    pub(crate) fn chats(&self) -> HashSet<i64> {
        self.updates.iter().filter_map(inbound::chat).collect()
    }

    pub(crate) fn has_room(&self, for_more: usize) -> bool {
        self.updates.len() + for_more <= MOST
    }

    /// Lets go of those that were accepted; tells whether there were any.
    pub(crate) fn let_go(&mut self, accepted: &HashSet<i64>) -> bool {
        let before = self.updates.len();
        self.updates.retain(|update| !update["update_id"].as_i64().is_some_and(|id| accepted.contains(&id)));
        if self.updates.len() == before {
            return false;
        }
        self.joined.extend(accepted);
        let surplus = self.joined.len().saturating_sub(MOST_JOINED);
        self.joined.drain(..surplus);
        true
    }
}
