//! Schedules as operators and clients of the HTTP interface see and change them.

use std::sync::Arc;

use contract::{
    Address, Caller, Failure, Platform, StoreDown, TurnId,
    records::{Missed, Schedule, ScheduleId, ScheduleQuery},
};

use super::make;
use crate::gateway::Gateway;

/// A schedule that is wished.
#[derive(Debug, Clone)]
pub struct NewSchedule {
    /// On whose behalf, in the place where they are.
    pub owner: Caller,
    /// Whether that place is a conversation with them alone.
    pub direct: bool,
    /// The owner's language as a platform says it.
    pub locale: Option<String>,
    /// May be empty.
    pub name: String,
    /// A command, or words for a model.
    pub say: String,
    /// As people write it: five fields of cron, `every day at 8:00`, `every 15 minutes`, `at 2026-12-01 09:00`.
    pub when: String,
    /// The name of a time zone; UTC where nothing is said.
    pub zone: Option<String>,
    pub missed: Missed,
    /// Where the answers go; where the owner is, if nothing is said.
    pub to: Option<Address>,
    /// An operator makes it: the destination need not be one that the owner may write to. What may run is decided by
    /// both places' rules all the same.
    pub by_operator: bool,
}

/// What becomes of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleSet {
    /// Why it rests.
    Pause(String),
    Resume,
}

/// A client of the HTTP interface, as the configuration has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpClient {
    pub platform: Platform,
    /// The account of what it says.
    pub name: String,
    pub tenant: String,
}

impl Gateway {
    /// Says who asks through the HTTP interface; schedules of nobody else run for such a client. To be called before
    /// [`Gateway::start`].
    pub fn clients_are(&self, clients: Vec<HttpClient>) {
        self.inner.clients.store(Arc::new(clients));
    }

    pub async fn schedules(&self, query: &ScheduleQuery) -> Result<Vec<Schedule>, StoreDown> {
        self.inner.stores.schedules.schedules(query).await
    }

    pub async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, StoreDown> {
        self.inner.stores.schedules.schedule(id).await
    }

    /// Makes one. What is wrong with the wish is said as of arguments: `when`, `zone`, `say`, `name`.
    pub async fn schedule_add(&self, new: NewSchedule) -> Result<Schedule, Failure> {
        make::add(&self.inner, ScheduleId::made_by(TurnId::new(), 0), new).await
    }

    /// Nothing when it is not known.
    pub async fn schedule_set(&self, id: ScheduleId, set: ScheduleSet) -> Result<Option<Schedule>, Failure> {
        make::set(&self.inner, id, set).await
    }

    /// Whether it was there. A run that is under way goes on; one that waits is refused.
    pub async fn schedule_remove(&self, id: ScheduleId) -> Result<bool, StoreDown> {
        self.inner.stores.schedules.remove(id).await
    }

    /// Runs it now, also while it rests; when it is due stays as it is. The run's turn, or nothing when the schedule is
    /// not known.
    pub async fn schedule_run_now(&self, id: ScheduleId) -> Result<Option<TurnId>, Failure> {
        make::run_now(&self.inner, id, TurnId::new()).await
    }
}
