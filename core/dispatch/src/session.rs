//! The session of a turn: what it remembers, what a person asked to keep, and which tools are mounted in it.
//!
//! [`here`] is where a turn stands, read once when it begins; [`window`] which earlier turns a model is told, and [`notes`]
//! what becomes of those that fall out; [`mounts`] what of it is known while a platform waits; [`desk`] what people type.

mod desk;
mod facade;
mod here;
mod item;
mod mounts;
mod notes;
mod window;

use contract::{
    Before,
    records::{Fact, Item},
};

use crate::{call::TurnCx, gateway::Inner};

pub(crate) use desk::answer;
pub use facade::{NotMounted, session_of};
pub(crate) use here::{Here, address_of, known_mount, visit_of};
pub(crate) use item::remembered;
pub(crate) use mounts::Mounts;
pub(crate) use notes::{Noting, after, kept, told};

/// Most earlier turns that a turn reads, however many its session has.
const ITEMS_READ: usize = 60;

/// What a model is told of earlier turns.
#[derive(Debug, Default)]
pub struct Memory {
    /// How the program that tells the conversation wishes to be answered.
    pub wishes: Option<String>,
    /// Of what is too long ago to be told word by word. Made by a model or out of what people said: data, not instructions.
    pub summary: Option<String>,
    /// The newest turns, oldest first.
    pub items: Vec<Item>,
    /// What the one who asks wanted to be kept.
    pub facts: Vec<String>,
    /// Names of tools and toolsets, where the session uses these alone.
    pub mounted: Option<Vec<String>>,
}

/// What is remembered where this turn was asked, earlier turns in at most `budget` tokens. A store that is away costs the
/// memory, not the turn.
pub(crate) async fn recall(cx: &TurnCx, budget: usize) -> Memory {
    let (items, facts) = tokio::join!(items(cx, budget), facts(&cx.inner, cx));
    let session = cx.here.session.as_ref();
    Memory {
        wishes: None,
        summary: session.and_then(|session| session.summary.clone()),
        items,
        facts,
        mounted: session.and_then(|session| session.mounted.clone()),
    }
}

/// What a program tells of earlier turns, in at most `budget` tokens: nothing else is remembered for it.
pub(crate) fn retold(before: &Before, budget: usize) -> Memory {
    let exchanges = before.exchanges.iter().rev().take(ITEMS_READ).rev();
    let items = exchanges.map(|exchange| Item {
        asked: exchange.asked.clone(),
        answered: exchange.answered.clone(),
        ..Item::default()
    });
    let items = window::fitting(items.map(item::mended).collect(), budget);
    let wishes = (!before.wishes.trim().is_empty()).then(|| before.wishes.clone());
    Memory { wishes, items, ..Memory::default() }
}

/// Turns that the summary covers are not told a second time, so that the beginning of what is told stays the same from turn
/// to turn.
async fn items(cx: &TurnCx, budget: usize) -> Vec<Item> {
    let Some(session) = &cx.here.session else { return Vec::new() };
    let stored = cx.inner.stores.sessions.items(session, session.summarised_to, ITEMS_READ).await;
    let mut items = stored.unwrap_or_default();
    items.retain(|item| item.turn != cx.id);
    let items: Vec<Item> = items.into_iter().map(item::mended).collect();
    cx.here.looked_at(&items, budget);
    window::fitting(items, budget)
}

async fn facts(inner: &Inner, cx: &TurnCx) -> Vec<String> {
    let facts = inner.stores.people.facts(&cx.here.visit.person).await.unwrap_or_default();
    facts.into_iter().map(|Fact { text, .. }| text).collect()
}
