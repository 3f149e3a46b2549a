//! Calls that wait for people.
//!
//! [`ask`] makes the approval durable and shows it; [`wait`] waits in place while siblings run; [`park`] takes a turn that
//! has nothing else left out of its lane, and puts it back at the front when somebody answered or nobody did in time;
//! [`decide`] is the one place where an answer is taken, whoever gives it by whatever means; [`card`] is what people see.

mod ask;
mod card;
mod decide;
mod park;
mod shown;
mod still;
mod wait;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use contract::{
    Caller, SessionKey, TurnId,
    records::{Approval, ApprovalId},
};
use tokio::sync::{Notify, watch};

pub(crate) use ask::{Asks, ask, people};
pub(crate) use card::listed;
pub(crate) use decide::{Answer, by_operator, by_person, concerns, typed};
pub(crate) use park::{before, found, keep_time, park, stop};
pub(crate) use still::Waits;
pub(crate) use wait::answered;

use crate::signals::same_person;

/// Most calls that wait for people at once; of one session so many.
pub(crate) const OPEN_MAX: usize = 1_000;
const OPEN_OF_SESSION_MAX: usize = 32;

/// The calls that wait here.
pub(crate) struct Book {
    open: Mutex<Open>,
    /// Something is due earlier than was known.
    sooner: Notify,
    /// Grows with every answer.
    answers: watch::Sender<u64>,
}

#[derive(Default)]
struct Open {
    of: HashMap<ApprovalId, Waiting>,
    due: BTreeSet<(u64, ApprovalId)>,
}

struct Waiting {
    turn: TurnId,
    session: SessionKey,
    caller: Caller,
    until_ms: u64,
}

impl Default for Book {
    fn default() -> Self {
        Self { open: Mutex::default(), sooner: Notify::new(), answers: watch::channel(0).0 }
    }
}

impl Book {
    /// Waits from now on; expires by itself.
    fn note(&self, approval: &Approval) {
        let mut open = self.lock();
        let waiting = Waiting {
            turn: approval.turn,
            session: approval.session.clone(),
            caller: approval.caller.clone(),
            until_ms: approval.until_ms,
        };
        open.of.insert(approval.id, waiting);
        open.due.insert((approval.until_ms, approval.id));
        drop(open);
        self.sooner.notify_one();
    }

    /// Waits no more.
    fn strike(&self, id: ApprovalId) {
        let mut open = self.lock();
        if let Some(waiting) = open.of.remove(&id) {
            open.due.remove(&(waiting.until_ms, id));
        }
        drop(open);
        self.answers.send_modify(|n| *n += 1);
    }

    /// Whether one more may be asked, with `beside` that are about to be.
    fn has_room(&self, session: &SessionKey, beside: usize) -> bool {
        let open = self.lock();
        let of_session = open.of.values().filter(|w| w.session == *session).count();
        open.of.len() + beside < OPEN_MAX && of_session + beside < OPEN_OF_SESSION_MAX
    }

    /// The next that expires.
    fn next(&self) -> Option<(u64, ApprovalId)> {
        self.lock().due.first().copied()
    }

    /// Of turns that this person asked for in the session.
    pub fn of_person(&self, session: &SessionKey, caller: &Caller) -> Vec<TurnId> {
        let open = self.lock();
        let theirs = open.of.values().filter(|w| w.session == *session && same_person(&w.caller, caller));
        theirs.map(|waiting| waiting.turn).collect()
    }

    /// Another process owns the partition: it keeps the time there.
    pub fn lost(&self, partition: u8) -> Vec<TurnId> {
        let mut open = self.lock();
        let theirs: Vec<_> = open.of.keys().filter(|id| id.partition() == partition).copied().collect();
        let gone = theirs.into_iter().filter_map(|id| {
            let waiting = open.of.remove(&id)?;
            open.due.remove(&(waiting.until_ms, id));
            Some(waiting.turn)
        });
        gone.collect()
    }

    fn answers(&self) -> watch::Receiver<u64> {
        self.answers.subscribe()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ids that a parked turn waits for.
fn ids(wait: &str) -> Vec<ApprovalId> {
    wait.split(' ').filter_map(|word| word.parse().ok()).collect()
}

type Inner = Arc<crate::gateway::Inner>;
