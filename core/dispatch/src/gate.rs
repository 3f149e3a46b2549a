//! Whose messages are heard, and how many of them: one gate for messages, commands, forms, buttons and reactions.

mod rate;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{Accepted, Address, Caller, Heard, Kind, Message, Platform, StoreDown};
use policies::Admission;
use tracing::{debug, warn};

use crate::{gateway::Inner, pairing};
use rate::{Rates, Taken};

/// Conversations in which bots spoke last are remembered up to this many.
const BOT_PLACES_MAX: usize = 10_000;

/// What the gate remembers of conversations and people.
#[derive(Default)]
pub(crate) struct Gate {
    /// Turns that bots caused since a person spoke.
    bots: Mutex<HashMap<Place, u32>>,
    rates: Rates,
}

/// A conversation with all of its threads: whoever opens a new one for each answer goes on in the same loop.
type Place = (Platform, String, String);

fn place(address: &Address) -> Place {
    (address.platform, address.account.clone(), address.conversation.clone())
}

/// What becomes of a message at the gate.
pub(crate) enum Admitted {
    Heard,
    NotHeard,
    /// It is no turn; the words are for the sender alone.
    Answered(String),
}

/// The one gate. `addressed`: it concerns something of ours whatever the platform says of it.
pub(crate) async fn admit(
    inner: &Arc<Inner>,
    message: &Message,
    caller: &Caller,
    addressed: bool,
) -> Result<Admitted, StoreDown> {
    let gating = inner.snapshot.load().policies.manner(caller).gating;
    if !message.from_bot {
        inner.gate.person_spoke(&message.address);
    }
    let unheard_kind = match message.kind {
        Kind::Edit { .. } => !gating.edits,
        _ => false,
    };
    if unheard_kind || (message.from_bot && !gating.bots) || !has_content(message) {
        return Ok(Admitted::NotHeard);
    }
    let direct = message.address.direct || message.heard == Heard::Direct;
    match gating.admission(direct, addressed || message.heard != Heard::Overheard) {
        Admission::NotHeard => return Ok(Admitted::NotHeard),
        Admission::Heard => {}
        Admission::IfPaired => match pairing::admit(inner, message, caller).await? {
            Admitted::Heard => {}
            otherwise => return Ok(otherwise),
        },
    }
    if message.from_bot && inner.gate.bots_said_enough(&message.address, gating.bot_turns) {
        return Ok(Admitted::NotHeard);
    }
    Ok(Admitted::Heard)
}

/// Whether the gate would hear what the caller says to us at this address. Nobody is counted, and no stranger is answered.
pub(crate) async fn would_hear(inner: &Inner, caller: &Caller, at: &Address) -> bool {
    hears(inner, caller, at).await.unwrap_or(false)
}

/// [`would_hear`], where it matters whether it is known.
pub(crate) async fn hears(inner: &Inner, caller: &Caller, at: &Address) -> Result<bool, StoreDown> {
    let gating = inner.snapshot.load().policies.manner(caller).gating;
    match gating.admission(at.direct, true) {
        Admission::Heard => Ok(true),
        Admission::NotHeard => Ok(false),
        Admission::IfPaired => pairing::is_let_in(inner, caller).await,
    }
}

fn has_content(message: &Message) -> bool {
    match &message.kind {
        Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. } => {
            text.chars().any(is_visible) || !message.files.is_empty()
        }
        Kind::Command { .. } | Kind::Form { .. } | Kind::Press { .. } | Kind::Reaction { .. } => true,
    }
}

/// White space, control characters and those of no width say nothing.
fn is_visible(c: char) -> bool {
    !(c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
}

/// A message that was counted as one of its sender's.
pub(crate) struct Counted(Option<rate::Taking>);

/// Counts a message; what becomes of it when its sender sends too many. Signals are never counted.
pub(crate) fn count(inner: &Inner, caller: &Caller) -> Result<Counted, Accepted> {
    // A program that fetches its answers is known by its token, and bounded where it connects.
    if caller.platform.is_pull() {
        return Ok(Counted(None));
    }
    let per_minute = inner.snapshot.load().policies.limits(caller).messages_per_minute;
    let taking = inner.gate.rates.taking(caller, per_minute);
    match inner.gate.rates.take(taking) {
        Taken::Yes { refused } => {
            if refused > 0 {
                debug!(sender = caller.sender.id, refused, "messages were not taken: too many in a minute");
            }
            Ok(Counted(Some(taking)))
        }
        Taken::Tell(wait) => {
            let wait = Duration::from_secs(wait.as_secs() + 1);
            Err(Accepted::Signal(format!("too many messages; try again in {}", contract::text::wait(wait))))
        }
        Taken::No => Err(Accepted::NotForUs),
    }
}

/// The message was not stored, and comes again, or had come before: both times it is one.
pub(crate) fn uncount(inner: &Inner, counted: Counted) {
    if let Some(taking) = counted.0 {
        inner.gate.rates.give_back(taking);
    }
}

impl Gate {
    /// A bot's message became a turn.
    pub fn bot_spoke(&self, address: &Address) {
        let mut bots = self.lock();
        let place = place(address);
        if bots.len() >= BOT_PLACES_MAX && !bots.contains_key(&place) {
            // The conversation with the least of a loop in it.
            let least = bots.iter().min_by_key(|(_, turns)| **turns).map(|(place, _)| place.clone());
            least.map(|place| bots.remove(&place));
        }
        *bots.entry(place).or_default() += 1;
    }

    fn person_spoke(&self, address: &Address) {
        let mut bots = self.lock();
        if !bots.is_empty() {
            bots.remove(&place(address));
        }
    }

    /// Whether bots have caused so many turns that a person has to speak first; said to operators once.
    fn bots_said_enough(&self, address: &Address, most: u32) -> bool {
        let mut bots = self.lock();
        let Some(turns) = bots.get_mut(&place(address)).filter(|turns| **turns >= most) else { return false };
        // The mark that it was said.
        if *turns != u32::MAX {
            *turns = u32::MAX;
            warn!(at = address.written(), most, "bots talk to each other here; none is heard until a person speaks");
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Place, u32>> {
        self.bots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_are_heard_so_often_until_a_person_speaks() {
        let gate = Gate::default();
        let here = Address::new(Platform::Slack, "main", "C1");
        let thread = Address { thread: Some("7".into()), ..here.clone() };
        for _ in 0..2 {
            assert!(!gate.bots_said_enough(&here, 2));
            gate.bot_spoke(&thread);
        }
        assert!(gate.bots_said_enough(&here, 2) && gate.bots_said_enough(&thread, 2));
        assert!(!gate.bots_said_enough(&Address::new(Platform::Slack, "other", "C1"), 2));
        gate.person_spoke(&here);
        assert!(!gate.bots_said_enough(&thread, 2));
    }

    #[test]
    fn what_is_remembered_of_bots_is_bounded() {
        let gate = Gate::default();
        let at = |n: usize| Address::new(Platform::Slack, "main", n.to_string());
        (0..3).for_each(|_| gate.bot_spoke(&at(0)));
        (1..BOT_PLACES_MAX + 50).for_each(|n| gate.bot_spoke(&at(n)));
        assert_eq!(gate.lock().len(), BOT_PLACES_MAX);
        assert!(gate.bots_said_enough(&at(0), 3));
    }
}
