//! What a turn remembers of its conversation.

use contract::records::{Item, Record};

use crate::gateway::Inner;

/// Most earlier turns that a turn reads.
const ITEMS_READ: usize = 60;

/// What a model is told of earlier turns.
#[derive(Debug, Default)]
pub struct Memory {
    /// Of what is too long ago to be told word by word.
    pub summary: Option<String>,
    /// The newest turns, oldest first.
    pub items: Vec<Item>,
    /// What a person asked to keep.
    pub facts: Vec<String>,
}

/// What is remembered where this turn was asked. A store that is away costs the memory, not the turn.
pub(crate) async fn recall(inner: &Inner, record: &Record) -> Memory {
    let items = inner.stores.sessions.items(&record.session, ITEMS_READ).await.unwrap_or_default();
    Memory { items, ..Memory::default() }
}
