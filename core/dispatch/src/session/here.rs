//! Where a turn stands: whose memory it has, and what its session holds.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use contract::{
    Address, Caller, MemoryKey, SessionKey, TurnId,
    records::{Item, ItemStep, Person, Record, ScheduleId, Session, SessionId, Visit},
};
use policies::{Compiled, Rights, Sessions};
use tokio_util::sync::CancellationToken;

use super::window;
use crate::{gateway::Inner, snapshot::Snapshot};

/// Read once, when the turn begins: what changes meanwhile holds from the next turn on.
pub(crate) struct Here {
    pub visit: Visit,
    /// Nothing while nothing was said at this place.
    pub session: Option<Session>,
    /// The tools that the session uses alone; narrows whatever policy allows.
    pub mounted: Option<Rights>,
    /// The turns that are to be summed up when this one is over.
    falls_out: Mutex<Option<TurnId>>,
    /// What a model did in this turn so far.
    story: Mutex<Vec<ItemStep>>,
}

impl Here {
    /// Waits while the store is away: what the turn comes to could not be stored either.
    pub async fn of(inner: &Inner, record: &Record, snapshot: &Snapshot, cancel: &CancellationToken) -> Self {
        let visit = visit_of(&snapshot.policies, record);
        let session = tokio::select! {
            session = current(inner, &visit) => session,
            () = cancel.cancelled() => None,
            () = inner.kill.cancelled() => None,
        };
        let names = session.as_ref().and_then(|session| session.mounted.as_deref());
        inner.mounts.know(&visit.place, names);
        let mounted = names.map(|names| mounted_rights(&snapshot.tools, names));
        Self { visit, session, mounted, falls_out: Mutex::default(), story: Mutex::default() }
    }

    /// A call by itself, which has no memory.
    pub fn nowhere(caller: &Caller, turn: TurnId) -> Self {
        let place = MemoryKey::of(&SessionKey::of(&address_of(caller)), None);
        let visit = Visit { place, person: Person::of(caller), tenant: caller.tenant.clone(), turn };
        Self { visit, session: None, mounted: None, falls_out: Mutex::default(), story: Mutex::default() }
    }

    /// A model's step, as it was told how its calls ended.
    pub fn did(&self, step: ItemStep) {
        self.story.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    pub fn story(&self) -> Vec<ItemStep> {
        std::mem::take(&mut *self.story.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn session_id(&self) -> Option<SessionId> {
        self.session.as_ref().map(|session| session.id)
    }

    /// What was read of the session: it may have grown beyond what is told.
    pub fn looked_at(&self, items: &[Item], budget: usize) {
        let to = window::to_sum_up(items, budget);
        *self.falls_out.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }

    /// The newest turn that is to be summed up, once.
    pub fn falls_out(&self) -> Option<TurnId> {
        self.falls_out.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

async fn current(inner: &Inner, visit: &Visit) -> Option<Session> {
    let mut wait = Duration::from_millis(50);
    loop {
        match inner.stores.sessions.current(visit).await {
            Ok(session) => return session,
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait = (wait * 2).min(Duration::from_secs(1));
    }
}

/// [`visit`] of a turn. A schedule remembers its own runs, not what is said where its answers go.
pub(crate) fn visit_of(policies: &Compiled, record: &Record) -> Visit {
    let visit = visit(policies, &record.caller, &record.message.address, record.id);
    match ScheduleId::of_session(&record.session) {
        Some(_) => Visit { place: MemoryKey::of(&record.session, None), ..visit },
        None => visit,
    }
}

/// Whose turn it is and where: each person has a memory of their own where policy says so.
pub(crate) fn visit(policies: &Compiled, caller: &Caller, address: &Address, turn: TurnId) -> Visit {
    let person = (policies.manner(caller).sessions == Sessions::Person).then_some(&*caller.sender.id);
    let place = MemoryKey::of(&SessionKey::of(address), person);
    Visit { place, person: Person::of(caller), tenant: caller.tenant.clone(), turn }
}

pub(crate) fn address_of(caller: &Caller) -> Address {
    let mut address = Address::new(caller.platform, &caller.account, &caller.conversation);
    address.space.clone_from(&caller.space);
    address.thread.clone_from(&caller.thread);
    address
}

/// What is known in memory of what the caller's session has mounted, for what is shown while a platform waits.
pub(crate) fn known_mount(inner: &Inner, snapshot: &Snapshot, caller: &Caller) -> Option<Rights> {
    if inner.mounts.is_empty() {
        return None;
    }
    let place = visit(&snapshot.policies, caller, &address_of(caller), TurnId(ulid::Ulid::nil())).place;
    inner.mounts.of(&place).map(|names| mounted_rights(&snapshot.tools, &names))
}

/// The tools that names of tools and toolsets stand for.
pub(crate) fn mounted_rights(tools: &tools::Snapshot, names: &[String]) -> Rights {
    let is_mounted = |tool: &tools::Tool| names.iter().any(|name| *name == *tool.name || *name == *tool.spec.toolset);
    Rights::to(tools.tools().iter().filter(|tool| is_mounted(tool)).map(|tool| &*tool.name))
}
