//! What is remembered while the process lives, each with its bound: forgetting it costs a little comfort.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Mutex,
    time::{Duration, Instant},
};

use contract::{DeliveryKey, Digest, TurnId};

use crate::lock;

const MOST: usize = 10_000;
/// What an interaction's answer address takes.
const MOST_RESPONSES: u32 = 5;
/// How long it takes them: half an hour, less what clocks differ and a request takes.
const RESPONDS_FOR: u64 = 29 * 60 * 1_000;

/// Small facts about messages and addresses.
#[derive(Default)]
pub(crate) struct Memory {
    /// Messages that carry our mark of waiting.
    waiting: Mutex<Recent<(String, String), ()>>,
    /// Threads with an assistant, which show a status.
    assistants: Mutex<Recent<(String, String), bool>>,
    /// How often an answer address was used.
    responses: Mutex<Recent<Digest, u32>>,
    /// What was sent to one person alone.
    private: Mutex<Recent<(TurnId, u32, u32), ()>>,
    /// Who was told to wait last, and when.
    told_to_wait: Mutex<Option<(String, Instant)>>,
}

impl Memory {
    pub(crate) fn marked(&self, channel: &str, message: &str) {
        lock(&self.waiting).put((channel.into(), message.into()), ());
    }

    /// Whether the message carried the mark; it is taken off.
    pub(crate) fn unmark(&self, channel: &str, message: &str) -> bool {
        lock(&self.waiting).take(&(channel.into(), message.into())).is_some()
    }

    /// Whether the thread has an assistant: as learned, else unknown.
    pub(crate) fn is_assistant(&self, channel: &str, thread: &str) -> Option<bool> {
        lock(&self.assistants).get(&(channel.into(), thread.into())).copied()
    }

    pub(crate) fn assistant(&self, channel: &str, thread: &str, is_one: bool) {
        lock(&self.assistants).put((channel.into(), thread.into()), is_one);
    }

    /// Takes one use of an answer address; false when it has none left.
    pub(crate) fn may_respond(&self, url: &str, at_ms: u64) -> bool {
        if crate::now_ms().saturating_sub(at_ms) > RESPONDS_FOR {
            return false;
        }
        let key = Digest::of(url.as_bytes());
        let mut responses = lock(&self.responses);
        let used = responses.get(&key).copied().unwrap_or(0);
        if used < MOST_RESPONSES {
            responses.put(key, used + 1);
        }
        used < MOST_RESPONSES
    }

    /// The address takes nothing more.
    pub(crate) fn no_response(&self, url: &str) {
        lock(&self.responses).put(Digest::of(url.as_bytes()), MOST_RESPONSES);
    }

    pub(crate) fn private(&self, key: &DeliveryKey) {
        lock(&self.private).put((key.turn, key.n, key.part), ());
    }

    /// Whether this was sent to one person alone, as far as is known.
    pub(crate) fn is_private(&self, key: &DeliveryKey) -> bool {
        lock(&self.private).get(&(key.turn, key.n, key.part)).is_some()
    }

    /// Whether another conversation was told to wait within this time; remembers this one.
    pub(crate) fn another_waits(&self, conversation: &str, within: Duration) -> bool {
        let now = Instant::now();
        let last = lock(&self.told_to_wait).replace((conversation.to_owned(), now));
        last.is_some_and(|(other, at)| other != conversation && now - at < within)
    }
}

/// The newest entries of a map.
pub(crate) struct Recent<K, V> {
    map: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { map: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Eq + Hash + Clone, V> Recent<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        // Keys that were taken leave their place behind.
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.map.remove(&oldest);
            }
        }
    }

    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        self.map.remove(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_address_is_used_five_times_within_half_an_hour() {
        let memory = Memory::default();
        let now = crate::now_ms();
        let uses = (0..9).filter(|_| memory.may_respond("https://hooks.slack.com/a", now)).count();
        assert_eq!(uses, 5);
        assert!(memory.may_respond("https://hooks.slack.com/b", now));
        assert!(!memory.may_respond("https://hooks.slack.com/c", now - RESPONDS_FOR - 1_000));
        memory.no_response("https://hooks.slack.com/d");
        assert!(!memory.may_respond("https://hooks.slack.com/d", now));
    }

    #[test]
    fn the_newest_are_remembered() {
        let memory = Memory::default();
        (0..MOST + 10).for_each(|n| memory.marked("C", &n.to_string()));
        assert!(!memory.unmark("C", "3") && memory.unmark("C", "10") && !memory.unmark("C", "10"));
        assert_eq!(lock(&memory.waiting).order.len(), MOST);
    }
}
