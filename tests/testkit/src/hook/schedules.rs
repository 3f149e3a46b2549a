//! The schedules of hooked stores.

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{Put, Schedule, ScheduleId, ScheduleQuery, Schedules},
};

use super::Hooked;

#[async_trait]
impl Schedules for Hooked {
    async fn put(&self, schedule: &Schedule) -> Result<Put, StoreDown> {
        self.pass("put schedule", self.stores.schedules.put(schedule)).await
    }

    async fn remove(&self, id: ScheduleId) -> Result<bool, StoreDown> {
        self.pass("remove schedule", self.stores.schedules.remove(id)).await
    }

    async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, StoreDown> {
        self.pass("schedule", self.stores.schedules.schedule(id)).await
    }

    async fn schedules(&self, query: &ScheduleQuery) -> Result<Vec<Schedule>, StoreDown> {
        self.pass("schedules", self.stores.schedules.schedules(query)).await
    }

    async fn due(&self, most: usize) -> Result<Vec<Schedule>, StoreDown> {
        self.pass("due", self.stores.schedules.due(most)).await
    }
}
