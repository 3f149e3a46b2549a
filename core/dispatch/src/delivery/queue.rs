//! The conversations that have something to send, and at what pace.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use contract::{Address, Bucket, Platform};
use tokio::{sync::Semaphore, time::Instant};

use super::Job;

pub(super) type Conversation = (Platform, String, String);
type Account = (Platform, String);

pub(super) fn conversation(to: &Address) -> Conversation {
    (to.platform, to.account.clone(), to.conversation.clone())
}

/// Conversations that have something to send, each with a task of its own.
pub(crate) struct Deliveries {
    queues: Mutex<HashMap<Conversation, VecDeque<Job>>>,
    paces: Mutex<Paces>,
    /// Places for replies that hold files in memory.
    pub(super) fetched: Arc<Semaphore>,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            queues: Mutex::default(),
            paces: Mutex::default(),
            fetched: Arc::new(Semaphore::new(super::files::FETCHED_MAX)),
        }
    }
}

#[derive(Default)]
struct Paces {
    accounts: HashMap<Account, Tokens>,
    conversations: HashMap<Conversation, Tokens>,
}

/// A bucket's state: tokens as the time at which it is full again.
#[derive(Clone, Copy)]
struct Tokens {
    full_at: Instant,
    not_before: Instant,
}

impl Default for Tokens {
    fn default() -> Self {
        let now = Instant::now();
        Self { full_at: now, not_before: now }
    }
}

impl Tokens {
    /// Takes a token; when it may be used.
    pub(super) fn take(&mut self, bucket: Bucket, now: Instant) -> Instant {
        let room = bucket.every * bucket.burst.saturating_sub(1);
        let at = self.not_before.max(now).max(self.full_at.checked_sub(room).unwrap_or(now));
        self.full_at = self.full_at.max(at) + bucket.every;
        at
    }

    /// Whether a second message could go out at once behind this one; where one alone can, it is full.
    fn has_two(&self, bucket: Bucket, now: Instant) -> bool {
        let room = bucket.every * bucket.burst.saturating_sub(2);
        self.not_before.max(self.full_at.checked_sub(room).unwrap_or(now)) <= now
    }
}

/// Deliveries that wait for one conversation before its turns wait too.
const CROWDED: usize = 32;
/// Most conversations whose pace is remembered; a full bucket is no state worth keeping.
const PACES_MAX: usize = 10_000;

impl Deliveries {
    /// Whether nothing stands before a new delivery to the conversation.
    pub fn is_free(&self, to: &Address) -> bool {
        !self.lock().contains_key(&conversation(to))
    }

    /// Whether so much waits for the conversation that no more should be made for it.
    pub fn is_crowded(&self, to: &Address) -> bool {
        self.lock().get(&conversation(to)).is_some_and(|queue| queue.len() >= CROWDED)
    }

    pub fn waiting(&self) -> usize {
        self.lock().values().map(VecDeque::len).sum()
    }

    pub(super) fn next(&self, of: &Conversation) -> Option<Job> {
        let mut queues = self.lock();
        let next = queues.get_mut(of)?.pop_front();
        if next.is_none() {
            queues.remove(of);
        }
        next
    }

    /// When the next message to the address may go out.
    pub(super) fn place(&self, to: &Address, pace: contract::Pace) -> Instant {
        let now = Instant::now();
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        if paces.conversations.len() > PACES_MAX {
            paces.conversations.retain(|_, t| t.full_at > now || t.not_before > now);
        }
        let account = paces.accounts.entry((to.platform, to.account.clone())).or_default();
        let mut at = account.not_before.max(now);
        if let Some(bucket) = pace.account {
            at = at.max(account.take(bucket, now));
        }
        if let Some(bucket) = pace.conversation {
            at = at.max(paces.conversations.entry(conversation(to)).or_default().take(bucket, now));
        }
        at
    }

    /// Takes room for a message that may as well be left out; only while there is room for another one behind it.
    pub fn spare(&self, to: &Address, pace: contract::Pace) -> bool {
        let now = Instant::now();
        let has_two = |tokens: Option<&Tokens>, bucket: Option<Bucket>| {
            // Of whom nothing is remembered the bucket is full.
            tokens.is_none_or(|tokens| {
                tokens.not_before <= now && bucket.is_none_or(|bucket| tokens.has_two(bucket, now))
            })
        };
        let has_room = {
            let paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
            has_two(paces.accounts.get(&(to.platform, to.account.clone())), pace.account)
                && has_two(paces.conversations.get(&conversation(to)), pace.conversation)
        };
        if has_room {
            self.place(to, pace);
        }
        has_room
    }

    pub fn hold_account(&self, to: &Address, until: Instant) {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        let account = paces.accounts.entry((to.platform, to.account.clone())).or_default();
        account.not_before = account.not_before.max(until);
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Conversation, VecDeque<Job>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
