//! What this process has in hand: turns that run, and what conversations were told already.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use contract::{
    Address, CallId, Caller, Message, Receipt, SessionKey, TurnId,
    records::{Record, TurnLine},
};
use tokio_util::sync::CancellationToken;

use crate::{call::TurnCx, signals::same_person};

/// Conversations that are told once are remembered up to this many.
const TOLD_MAX: usize = 10_000;

/// Most characters of what was asked, as lists show it.
pub(crate) const ASKED_MAX: usize = 60;

/// The turns that run in this process.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<TurnId, RunningTurn>>);

struct RunningTurn {
    cancel: CancellationToken,
    place: SessionKey,
    caller: Caller,
    asked: String,
    /// The messages that a person may point at when they mean this turn.
    messages: Asked,
    since: Instant,
    /// Nothing before it is taken up.
    turn: Weak<TurnCx>,
}

/// By which of the platform's ids a person points at a turn.
#[derive(Default)]
pub(crate) struct Asked {
    reply_to: Option<String>,
    key: String,
    /// The message that shows its progress.
    shown: Option<String>,
}

impl Asked {
    pub fn of(message: &Message) -> Self {
        Self { reply_to: message.address.reply_to.clone(), key: message.key.clone(), shown: None }
    }

    /// Whether the message with this id asked for it or shows it; a key ends in the platform's id.
    pub fn is(&self, id: &str) -> bool {
        self.reply_to.as_deref() == Some(id)
            || self.shown.as_deref() == Some(id)
            || self.key.rsplit_once(':').is_some_and(|(_, last)| last == id)
    }
}

/// Leaves the list when it is dropped.
pub(crate) struct Entered<'a>(&'a Running, TurnId);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

impl Running {
    /// From here on it can be stopped by `cancel`.
    pub fn enter(&self, record: &Record, cancel: CancellationToken) -> Entered<'_> {
        let place = SessionKey::of(&record.message.address);
        let draft = record.deliveries.iter().find(|d| d.n == 0).and_then(|d| d.draft.as_ref());
        let shown = draft.map(|receipt| receipt.message.clone());
        let messages = Asked { shown, ..Asked::of(&record.message) };
        self.insert(record.id, place, &record.caller, &crate::turn::asked(record), messages, cancel)
    }

    pub fn enter_as(
        &self,
        id: TurnId,
        place: SessionKey,
        caller: &Caller,
        asked: &str,
        cancel: CancellationToken,
    ) -> Entered<'_> {
        self.insert(id, place, caller, asked, Asked::default(), cancel)
    }

    fn insert(
        &self,
        id: TurnId,
        place: SessionKey,
        caller: &Caller,
        asked: &str,
        messages: Asked,
        cancel: CancellationToken,
    ) -> Entered<'_> {
        let asked = contract::text::one_line(asked, ASKED_MAX);
        let turn = RunningTurn {
            cancel,
            place,
            caller: caller.clone(),
            asked,
            messages,
            since: Instant::now(),
            turn: Weak::new(),
        };
        self.lock().insert(id, turn);
        Entered(self, id)
    }

    pub fn holds(&self, turn: TurnId) -> bool {
        self.lock().contains_key(&turn)
    }

    /// What was asked, of one that runs here.
    pub fn asked(&self, turn: TurnId) -> Option<String> {
        self.lock().get(&turn).map(|running| running.asked.clone())
    }

    /// Whether it runs here.
    pub fn cancel(&self, turn: TurnId) -> bool {
        let running = self.lock();
        let found = running.get(&turn);
        found.inspect(|running| running.cancel.cancel()).is_some()
    }

    /// From here on its calls can be stopped one by one.
    pub fn taken_up(&self, turn: &Arc<TurnCx>) {
        if let Some(running) = self.lock().get_mut(&turn.id) {
            running.turn = Arc::downgrade(turn);
        }
    }

    /// Whether the call runs here.
    pub fn stop_call(&self, turn: TurnId, call: CallId) -> bool {
        let of = self.lock().get(&turn).and_then(|running| running.turn.upgrade());
        of.is_some_and(|turn| turn.progress.stop_call(call))
    }

    pub fn of_person(&self, place: &SessionKey, caller: &Caller) -> Vec<TurnId> {
        let running = self.lock();
        let theirs = running.iter().filter(|(_, t)| t.place == *place && t.caller.sender.id == caller.sender.id);
        theirs.map(|(id, _)| *id).collect()
    }

    /// This message shows the turn's progress.
    pub fn shows(&self, turn: TurnId, receipt: &Receipt) {
        if let Some(running) = self.lock().get_mut(&turn) {
            running.messages.shown = Some(receipt.message.clone());
        }
    }

    /// The person's turn in a conversation, whatever the thread, that a message of this id stands for.
    pub fn asked_by(&self, place: &Address, caller: &Caller, message: &str) -> Option<TurnId> {
        let running = self.lock();
        let theirs = running.iter().find(|(_, turn)| {
            turn.caller.conversation == place.conversation
                && same_person(&turn.caller, caller)
                && turn.messages.is(message)
        });
        theirs.map(|(id, _)| *id)
    }

    /// Other turns of the place: id, what was asked, for how many seconds.
    pub fn of_session(&self, place: &SessionKey, but: TurnId) -> Vec<(TurnId, String, u64)> {
        let running = self.lock();
        let here = running.iter().filter(|(id, t)| t.place == *place && **id != but);
        here.map(|(id, t)| (*id, t.asked.clone(), t.since.elapsed().as_secs())).collect()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }

    pub fn lines(&self) -> Vec<TurnLine> {
        let now = crate::turn::now_us();
        let line = |(id, turn): (&TurnId, &RunningTurn)| {
            let took = u64::try_from(turn.since.elapsed().as_micros()).unwrap_or(u64::MAX);
            TurnLine {
                turn: *id,
                state: contract::State::Running,
                code: None,
                platform: turn.caller.platform,
                tenant: turn.caller.tenant.clone(),
                session: turn.place.clone(),
                sender: turn.caller.sender.id.clone(),
                asked: turn.asked.clone(),
                calls: 0,
                started_us: now.saturating_sub(took),
                duration_us: took,
            }
        };
        let mut lines: Vec<_> = self.lock().iter().map(line).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.turn));
        lines
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TurnId, RunningTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What conversations were told already, so that they are told once.
#[derive(Default)]
pub(crate) struct Told(Mutex<Tellings>);

#[derive(Default)]
struct Tellings {
    store_down: std::collections::HashSet<SessionKey>,
    busy: HashMap<SessionKey, (Option<Instant>, u32)>,
}

/// At most one "busy" in this time and conversation.
const BUSY_EVERY: Duration = Duration::from_secs(5);

/// When a message that was not taken is told of.
pub(crate) enum Busy {
    /// Now, with those before it: how many.
    Now(u32),
    /// With those that come until then.
    After(Duration),
    /// Somebody tells of it already.
    Counted,
}

impl Told {
    /// True for the first time since the store went away.
    pub fn store_down(&self, session: &SessionKey) -> bool {
        let mut told = self.lock();
        told.store_down.len() < TOLD_MAX && told.store_down.insert(session.clone())
    }

    pub fn store_is_back(&self) {
        let mut told = self.lock();
        if !told.store_down.is_empty() {
            told.store_down.clear();
        }
    }

    /// Counts a message that was not taken, and says when to tell of it.
    pub fn busy(&self, session: &SessionKey) -> Busy {
        let mut told = self.lock();
        if told.busy.len() > TOLD_MAX {
            told.busy.clear();
        }
        let (last, count) = told.busy.entry(session.clone()).or_insert((None, 0));
        *count += 1;
        let since = last.map(|at| at.elapsed()).filter(|since| *since < BUSY_EVERY);
        match (since, *count) {
            (None, _) => {
                *last = Some(Instant::now());
                Busy::Now(std::mem::take(count))
            }
            (Some(since), 1) => Busy::After(BUSY_EVERY.saturating_sub(since)),
            (Some(_), _) => Busy::Counted,
        }
    }

    /// Messages that nobody was told of yet.
    pub fn busy_since(&self, session: &SessionKey) -> u32 {
        let mut told = self.lock();
        let Some((last, count)) = told.busy.get_mut(session) else { return 0 };
        *last = Some(Instant::now());
        std::mem::take(count)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tellings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
