//! Calls that wait for people.
//!
//! [`ask`] makes the approval durable and shows it; [`wait`] waits in place while siblings run; [`park`] takes a turn that
//! has nothing else left out of its lane, and puts it back at the front when somebody answered or nobody did in time;
//! [`decide`] is the one place where an answer is taken, whoever gives it by whatever means; [`card`] is what people see.

mod ask;
mod card;
mod decide;
mod facade;
mod park;
mod reasons;
mod shown;
mod still;
mod wait;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use contract::{
    Caller, SessionKey, State, TurnId,
    records::{Approval, ApprovalId, TurnLine},
};
use tokio::sync::{Notify, watch};

pub(crate) use ask::{Asks, ask, people};
pub(crate) use card::listed;
pub(crate) use decide::{Answer, by_operator, by_person, concerns, typed};
pub(crate) use park::{before, found, keep_time, park, stop, wake, withdraw_below};
pub(crate) use reasons::{Reasons, asked as reason_asked, said as reason_said};
pub(crate) use still::Waits;
pub(crate) use wait::answered;

use crate::signals::same_person;

/// Most calls that wait for people at once; of one account, of one person in it, of one session so many.
pub(crate) const OPEN_MAX: usize = 1_000;
const OPEN_OF_ACCOUNT_MAX: usize = 500;
const OPEN_OF_PERSON_MAX: usize = 50;
const OPEN_OF_SESSION_MAX: usize = 32;
/// How soon one that could not be ended is tried again: twice as late each time, up to the longest.
const AGAIN_MS: u64 = 1_000;
const AGAIN_MAX_MS: u64 = 60_000;

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
    /// What whoever asked for the turn said.
    asked: String,
    /// When it is looked at: when it expires, later where that could not be written.
    due_ms: u64,
    tries: u32,
}

/// Why nobody can be asked about one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// So many of theirs wait.
    Person(usize),
    Others,
}

impl Default for Book {
    fn default() -> Self {
        Self { open: Mutex::default(), sooner: Notify::new(), answers: watch::channel(0).0 }
    }
}

impl Book {
    /// Waits from now on; expires by itself. `asked`: what whoever asked for its turn said.
    fn note(&self, approval: &Approval, asked: String) {
        let mut open = self.lock();
        let waiting = Waiting {
            turn: approval.turn,
            session: approval.session.clone(),
            caller: approval.caller.clone(),
            asked,
            due_ms: approval.until_ms,
            tries: 0,
        };
        if let Some(before) = open.of.insert(approval.id, waiting) {
            open.due.remove(&(before.due_ms, approval.id));
        }
        open.due.insert((approval.until_ms, approval.id));
        drop(open);
        self.sooner.notify_one();
    }

    /// A turn that waits for a job is found and listed like one that waits for people; nothing expires by itself.
    pub fn note_job(&self, id: ApprovalId, (turn, session): (TurnId, &SessionKey), caller: &Caller, asked: String) {
        let (session, caller) = (session.clone(), caller.clone());
        self.lock().of.insert(id, Waiting { turn, session, caller, asked, due_ms: u64::MAX, tries: 0 });
    }

    /// A job is not waited for any more; an approval of the same call may still be.
    pub fn strike_job(&self, id: ApprovalId) {
        let mut open = self.lock();
        if open.of.get(&id).is_some_and(|waiting| waiting.due_ms == u64::MAX) {
            open.of.remove(&id);
        }
    }

    /// Waits no more.
    fn strike(&self, id: ApprovalId) {
        let mut open = self.lock();
        if let Some(waiting) = open.of.remove(&id) {
            open.due.remove(&(waiting.due_ms, id));
        }
        drop(open);
        self.answers.send_modify(|n| *n += 1);
    }

    /// Whether one more may be asked, with `beside` that are about to be.
    fn has_room(&self, session: &SessionKey, caller: &Caller, beside: usize) -> Result<(), Full> {
        let open = self.lock();
        let of = |theirs: &dyn Fn(&Waiting) -> bool| open.of.values().filter(|w| theirs(w)).count() + beside;
        let of_person = of(&|w| same_person(&w.caller, caller));
        let of_account = of(&|w| (w.caller.platform, &w.caller.account) == (caller.platform, &caller.account));
        if of_person >= OPEN_OF_PERSON_MAX {
            return Err(Full::Person(of_person));
        }
        let is_full = open.of.len() + beside >= OPEN_MAX
            || of_account >= OPEN_OF_ACCOUNT_MAX
            || of(&|w| w.session == *session) >= OPEN_OF_SESSION_MAX;
        if is_full { Err(Full::Others) } else { Ok(()) }
    }

    /// It could not be ended: it is looked at again later, and holds none of the others meanwhile. How often it was tried.
    fn later(&self, id: ApprovalId, now_ms: u64) -> u32 {
        let mut open = self.lock();
        let Some(waiting) = open.of.get_mut(&id) else { return 0 };
        waiting.tries += 1;
        let (was_ms, tries) = (waiting.due_ms, waiting.tries);
        let wait = (AGAIN_MS << (tries - 1).min(16)).min(AGAIN_MAX_MS);
        waiting.due_ms = now_ms.saturating_add(wait);
        let due = (waiting.due_ms, id);
        open.due.remove(&(was_ms, id));
        open.due.insert(due);
        tries
    }

    /// Whose turn it is, and in which session.
    fn turn_of(&self, id: ApprovalId) -> Option<(TurnId, SessionKey)> {
        self.lock().of.get(&id).map(|waiting| (waiting.turn, waiting.session.clone()))
    }

    /// The next that is due.
    fn next(&self) -> Option<(u64, ApprovalId)> {
        self.lock().due.first().copied()
    }

    /// Of turns that this person asked for in the session.
    pub fn of_person(&self, session: &SessionKey, caller: &Caller) -> Vec<TurnId> {
        let open = self.lock();
        let theirs = open.of.values().filter(|w| w.session == *session && same_person(&w.caller, caller));
        theirs.map(|waiting| waiting.turn).collect()
    }

    /// Whether calls of the turn wait.
    pub fn holds(&self, turn: TurnId) -> bool {
        self.lock().of.values().any(|waiting| waiting.turn == turn)
    }

    /// The turns that wait, as they are listed beside those that run.
    pub fn lines(&self, now_us: u64) -> Vec<TurnLine> {
        let open = self.lock();
        let mut lines: HashMap<TurnId, TurnLine> = HashMap::new();
        for waiting in open.of.values() {
            let started_us = waiting.turn.at_ms() * 1_000;
            lines.entry(waiting.turn).or_insert_with(|| TurnLine {
                turn: waiting.turn,
                state: State::Parked,
                code: None,
                platform: waiting.caller.platform,
                tenant: waiting.caller.tenant.clone(),
                session: waiting.session.clone(),
                sender: waiting.caller.sender.id.clone(),
                asked: waiting.asked.clone(),
                calls: 0,
                started_us,
                duration_us: now_us.saturating_sub(started_us),
            });
        }
        lines.into_values().collect()
    }

    /// Another process owns the partition: it keeps the time there.
    pub fn lost(&self, partition: u8) -> Vec<TurnId> {
        let mut open = self.lock();
        let theirs: Vec<_> = open.of.keys().filter(|id| id.partition() == partition).copied().collect();
        let gone = theirs.into_iter().filter_map(|id| {
            let waiting = open.of.remove(&id)?;
            open.due.remove(&(waiting.due_ms, id));
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

/// The approvals that a turn waits for, where it is parked.
pub(crate) fn waits_for(record: &contract::records::Record) -> Vec<ApprovalId> {
    record.parked.as_ref().map_or_else(Vec::new, |parked| ids(&parked.wait))
}

/// The ids that a parked turn waits for.
fn ids(wait: &str) -> Vec<ApprovalId> {
    wait.split(' ').filter_map(|word| word.parse().ok()).collect()
}

type Inner = Arc<crate::gateway::Inner>;
