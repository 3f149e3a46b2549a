//! What a shard remembers over restarts: its session, how far its events were taken in, and the newest message of each channel.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Mutex,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

use crate::lock;

/// Channels whose newest message is remembered; those that were quiet longest go first.
const MOST_SEEN: usize = 1_000;
/// Room for more, so that not each message has to look for the oldest.
const SLACK: usize = 100;

/// An event on its way into the inbox.
#[derive(Debug)]
pub(crate) struct Event {
    /// The session that it came in, and its number there.
    at: (u64, u64),
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// A session as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) id: String,
    #[serde(default)]
    pub(super) url: Option<String>,
    pub(super) seq: u64,
}

/// The session beside what makes it ours.
#[derive(Serialize, Deserialize)]
struct Note {
    bot: String,
    total: u32,
    session: Saved,
}

/// The newest message of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) message: u64,
    pub(crate) direct: bool,
}

/// One shard's.
#[derive(Default)]
pub(crate) struct Memory {
    begun: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    epoch: u64,
    session: Option<Saved>,
    /// Events that are not taken in yet.
    open: BTreeSet<(u64, u64)>,
    seen: HashMap<String, Seen>,
    /// What was newest when the session began, of channels that were not looked at since: what came between is to be caught
    /// up, whatever came first.
    before: HashMap<String, Seen>,
    is_seen_changed: bool,
}

impl Memory {
    /// A session began.
    pub(super) fn begin(&self, session: Saved) {
        let mut state = lock(&self.state);
        state.epoch += 1;
        state.session = Some(session);
        state.before = state.seen.clone();
        drop(state);
        self.begun.notify_one();
    }

    /// Returns when a session has begun since it was last asked: until it is stored, a death would lose what comes.
    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// The session cannot be resumed.
    pub(super) fn forget(&self) {
        lock(&self.state).session = None;
    }

    /// The session is resumed where new ones are begun.
    pub(super) fn go_to_the_front(&self) {
        if let Some(session) = &mut lock(&self.state).session {
            session.url = None;
        }
    }

    /// As far as events were received: what this process has not taken in yet it still will.
    pub(super) fn received(&self) -> Option<Saved> {
        lock(&self.state).session.clone()
    }

    /// An event on its way; it counts as received with [`Memory::count`].
    pub(super) fn event(&self, seq: u64, name: String, data: Value) -> Event {
        Event { at: (lock(&self.state).epoch, seq), name, data }
    }

    /// The event is on its way; until it is taken in, a restart gets it again.
    pub(super) fn count(&self, at: (u64, u64)) {
        let mut state = lock(&self.state);
        state.open.insert(at);
        reach(&mut state, at.1);
    }

    /// An event that carries nothing for us.
    pub(super) fn pass(&self, seq: u64) {
        reach(&mut lock(&self.state), seq);
    }

    pub(crate) fn done(&self, event: &Event) {
        lock(&self.state).open.remove(&event.at);
    }

    /// As far as all events were taken in; nothing while some of an earlier session are open.
    fn taken(&self) -> Option<Saved> {
        let state = lock(&self.state);
        let session = state.session.clone()?;
        match state.open.first() {
            None => Some(session),
            Some((epoch, seq)) if *epoch == state.epoch => Some(Saved { seq: seq - 1, ..session }),
            Some(_) => None,
        }
    }

    /// The session as it is to be stored, if it can be resumed from there.
    pub(super) fn note(&self, bot: &str, total: u32) -> Option<Vec<u8>> {
        let note = Note { bot: bot.to_owned(), total, session: self.taken()? };
        serde_json::to_vec(&note).ok()
    }

    /// Takes a stored session up again, if it is this bot's and of as many shards.
    pub(super) fn recall(&self, note: &[u8], bot: &str, total: u32) {
        let note = serde_json::from_slice::<Note>(note).ok().filter(|note| note.bot == bot && note.total == total);
        lock(&self.state).session = note.map(|note| note.session);
    }

    pub(super) fn recall_seen(&self, note: &[u8]) {
        lock(&self.state).seen = serde_json::from_slice(note).unwrap_or_default();
    }

    /// The newest messages as they are to be stored, if that changed since it was asked last.
    pub(super) fn seen_note(&self) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        std::mem::take(&mut state.is_seen_changed).then(|| serde_json::to_vec(&state.seen).unwrap_or_default())
    }

    /// They could not be stored.
    pub(super) fn seen_not_stored(&self) {
        lock(&self.state).is_seen_changed = true;
    }

    /// A message was taken in.
    pub(crate) fn see(&self, channel: &str, message: &str, direct: bool) {
        let Ok(message) = message.parse() else { return };
        let mut state = lock(&self.state);
        state.is_seen_changed = true;
        match state.seen.get_mut(channel) {
            Some(seen) => seen.message = seen.message.max(message),
            None => drop(state.seen.insert(channel.to_owned(), Seen { message, direct })),
        }
        if state.seen.len() > MOST_SEEN + SLACK {
            let mut newest: Vec<u64> = state.seen.values().map(|seen| seen.message).collect();
            newest.sort_unstable_by(|a, b| b.cmp(a));
            let least = newest[MOST_SEEN - 1];
            state.seen.retain(|_, seen| seen.message >= least);
        }
    }

    /// The message after which something may have been missed in a channel.
    pub(crate) fn missed_since(&self, channel: &str) -> Option<Seen> {
        let mut state = lock(&self.state);
        state.before.remove(channel).or_else(|| state.seen.get(channel).copied())
    }

    /// Conversations with one person, the most recent first.
    pub(crate) fn missed_directly(&self, most: usize) -> Vec<(String, Seen)> {
        let state = lock(&self.state);
        let mut direct: Vec<_> =
            state.before.iter().filter(|(_, seen)| seen.direct).map(|(c, s)| (c.clone(), *s)).collect();
        direct.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.message));
        direct.truncate(most);
        direct
    }
}

impl Event {
    pub(super) fn at(&self) -> (u64, u64) {
        self.at
    }
}

fn reach(state: &mut State, seq: u64) {
    if let Some(session) = &mut state.session {
        session.seq = session.seq.max(seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(id: &str, seq: u64) -> Saved {
        Saved { id: id.into(), url: None, seq }
    }

    fn receive(memory: &Memory, seq: u64) -> Event {
        let event = memory.event(seq, "MESSAGE_CREATE".into(), Value::Null);
        memory.count(event.at());
        event
    }

    #[test]
    fn a_session_is_stored_as_far_as_all_of_it_was_taken_in() {
        let memory = Memory::default();
        memory.begin(saved("a", 1));
        let (two, three) = (receive(&memory, 2), receive(&memory, 3));
        memory.pass(4);
        assert_eq!(memory.received(), Some(saved("a", 4)));
        assert_eq!(memory.taken(), Some(saved("a", 1)));
        memory.done(&three);
        assert_eq!(memory.taken(), Some(saved("a", 1)), "the second is open");
        memory.done(&two);
        assert_eq!(memory.taken(), Some(saved("a", 4)));
    }

    #[test]
    fn a_new_session_is_not_stored_while_the_old_one_s_events_are_open() {
        let memory = Memory::default();
        memory.begin(saved("a", 1));
        let old = receive(&memory, 2);
        memory.begin(saved("b", 1));
        assert_eq!(memory.taken(), None);
        memory.done(&old);
        assert_eq!(memory.taken(), Some(saved("b", 1)));
        let note = memory.note("777", 1).expect("a note");
        for (bot, total, expected) in [("777", 1, Some(saved("b", 1))), ("778", 1, None), ("777", 2, None)] {
            let other = Memory::default();
            other.recall(&note, bot, total);
            assert_eq!(other.received(), expected);
        }
    }

    #[test]
    fn the_newest_message_of_the_busiest_channels_is_remembered() {
        let memory = Memory::default();
        (0..5_000_u64).for_each(|n| memory.see(&n.to_string(), &(n + 1).to_string(), n % 2 == 0));
        memory.see("4999", "7", false);
        memory.see("4998", "no number", false);
        assert_eq!(memory.missed_since("4999"), Some(Seen { message: 5_000, direct: false }), "it never goes back");
        memory.begin(saved("a", 1));
        memory.see("4999", "6000", false);
        let since = |channel| memory.missed_since(channel).map(|seen| seen.message);
        assert_eq!((since("4999"), since("4999")), (Some(5_000), Some(6_000)), "once from before the session began");
        assert_eq!(memory.missed_since("0"), None);
        assert_eq!(
            memory.missed_directly(2).into_iter().map(|(channel, _)| channel).collect::<Vec<_>>(),
            ["4998", "4996"]
        );
        let note = memory.seen_note().expect("changed");
        assert_eq!(memory.seen_note(), None);
        let other = Memory::default();
        other.recall_seen(&note);
        assert_eq!(other.missed_since("4998"), memory.missed_since("4998"));
    }
}
