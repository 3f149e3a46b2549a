//! How many messages a person may send: a bucket of tokens for each person and account.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use contract::Caller;
use tokio::time::Instant;

/// Most people whose buckets are remembered; a full bucket is no state worth keeping.
const PEOPLE_MAX: usize = 10_000;
/// Full buckets are looked for no oftener than this.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

const MINUTE: Duration = Duration::from_secs(60);

/// Whether a message is taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// After so many that were not.
    Yes { refused: u32 },
    /// No; it is to be said that the next one is taken after this time.
    Tell(Duration),
    /// No, and it was said already.
    No,
}

/// A token of somebody's bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taking {
    person: u64,
    every: Duration,
}

#[derive(Default)]
pub(super) struct Rates {
    people: Mutex<People>,
    /// People are known by a hash under a key of this process: finding one makes no text.
    hasher: RandomState,
}

#[derive(Default)]
struct People {
    buckets: HashMap<u64, Tokens>,
    swept: Option<Instant>,
}

/// A bucket's state: tokens as the time at which it is full again.
struct Tokens {
    full_at: Instant,
    refused: u32,
}

impl Rates {
    /// Of the bucket of a person at an account, which holds `per_minute` and refills in a minute.
    pub fn taking(&self, who: &Caller, per_minute: u32) -> Taking {
        let person = self.hasher.hash_one((who.platform, &who.account, &who.sender.id));
        Taking { person, every: MINUTE / per_minute.max(1) }
    }

    pub fn take(&self, Taking { person, every }: Taking) -> Taken {
        let now = Instant::now();
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        people.make_room(person, now);
        let tokens = people.buckets.entry(person).or_insert(Tokens { full_at: now, refused: 0 });
        let full_at = tokens.full_at.max(now);
        let wait = (full_at + every).saturating_duration_since(now + MINUTE);
        if wait.is_zero() {
            tokens.full_at = full_at + every;
            return Taken::Yes { refused: std::mem::take(&mut tokens.refused) };
        }
        tokens.refused = tokens.refused.saturating_add(1);
        if tokens.refused == 1 { Taken::Tell(wait) } else { Taken::No }
    }

    /// What a token was taken for was no message of its own after all.
    pub fn give_back(&self, Taking { person, every }: Taking) {
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = people.buckets.get_mut(&person) {
            tokens.full_at = tokens.full_at.checked_sub(every).unwrap_or(tokens.full_at);
        }
    }
}

impl People {
    fn make_room(&mut self, person: u64, now: Instant) {
        if self.buckets.len() < PEOPLE_MAX || self.buckets.contains_key(&person) {
            return;
        }
        if self.swept.is_none_or(|at| now - at >= SWEEP_EVERY) {
            self.swept = Some(now);
            self.buckets.retain(|_, tokens| tokens.full_at > now);
        }
        if self.buckets.len() >= PEOPLE_MAX
            && let Some(any) = self.buckets.keys().next().copied()
        {
            self.buckets.remove(&any);
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::{Origin, Platform, Sender};

    use super::*;

    fn caller(account: &str, id: &str) -> Caller {
        Caller {
            platform: Platform::Slack,
            account: account.into(),
            tenant: "default".into(),
            space: None,
            conversation: "c".into(),
            thread: None,
            sender: Sender { id: id.into(), name: "the same name".into() },
            roles: Vec::new(),
            origin: Origin::Said,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_is_told_once_and_heard_again_when_the_bucket_refills() {
        let rates = Rates::default();
        let ada = caller("main", "ada");
        for _ in 0..3 {
            assert_eq!(rates.take(rates.taking(&ada, 3)), Taken::Yes { refused: 0 });
        }
        rates.give_back(rates.taking(&ada, 3));
        assert_eq!(rates.take(rates.taking(&ada, 3)), Taken::Yes { refused: 0 }, "given back");
        assert_eq!(rates.take(rates.taking(&ada, 3)), Taken::Tell(Duration::from_secs(20)));
        assert_eq!(rates.take(rates.taking(&ada, 3)), Taken::No);
        assert_eq!(rates.take(rates.taking(&caller("main", "bob"), 3)), Taken::Yes { refused: 0 });
        assert_eq!(rates.take(rates.taking(&caller("second", "ada"), 3)), Taken::Yes { refused: 0 });
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(rates.take(rates.taking(&ada, 3)), Taken::Yes { refused: 2 });
        assert_eq!(rates.take(rates.taking(&ada, 3)), Taken::Tell(Duration::from_secs(20)));
    }

    #[tokio::test(start_paused = true)]
    async fn people_are_remembered_up_to_a_bound() {
        let rates = Rates::default();
        for n in 0..PEOPLE_MAX + 100 {
            assert_eq!(rates.take(rates.taking(&caller("main", &n.to_string()), 3)), Taken::Yes { refused: 0 });
        }
        assert!(rates.people.lock().unwrap().buckets.len() <= PEOPLE_MAX);
    }
}
