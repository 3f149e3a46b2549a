//! Schedules in Redis: few, so all of them are on one slot, where they can be counted.

use async_trait::async_trait;
use contract::{
    Digest, StoreDown,
    records::{
        Person, Put, SCHEDULES_PER_PERSON, SCHEDULES_PER_TENANT, Schedule, ScheduleId, ScheduleQuery, Schedules,
    },
};
use redis::cmd;

use super::Redis;
use crate::{
    pack::{pack, unpack},
    record::hex,
};

#[async_trait]
impl Schedules for Redis {
    async fn put(&self, schedule: &Schedule) -> Result<Put, StoreDown> {
        let mut put = self.scripts.schedule.prepare_invoke();
        for key in ["all", "versions", "next", "made"] {
            put.key(self.keys.schedules(key));
        }
        put.key(self.keys.schedules(&owner(&Person::of(&schedule.owner))))
            .key(self.keys.schedules(&tenant(&schedule.owner.tenant)))
            .arg(schedule.id.to_string())
            .arg(schedule.version)
            .arg(pack(schedule)?)
            .arg(schedule.next_ms.map(|next| next.to_string()).unwrap_or_default())
            .arg(schedule.made_ms)
            .arg(SCHEDULES_PER_PERSON)
            .arg(SCHEDULES_PER_TENANT);
        let done: u8 = self.link.script(&put).await?;
        Ok(match done {
            0 => Put::Late,
            2 => Put::TooMany { of_tenant: false },
            3 => Put::TooMany { of_tenant: true },
            _ => Put::Made,
        })
    }

    async fn remove(&self, id: ScheduleId) -> Result<bool, StoreDown> {
        // Whose it is never changes; where that cannot be read, the sets keep a name that nothing has.
        let known = self.schedule(id).await.ok().flatten();
        let id = id.to_string();
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("HDEL").arg(self.keys.schedules("versions")).arg(&id);
        pipe.cmd("HDEL").arg(self.keys.schedules("all")).arg(&id).ignore();
        pipe.cmd("ZREM").arg(self.keys.schedules("next")).arg(&id).ignore();
        pipe.cmd("ZREM").arg(self.keys.schedules("made")).arg(&id).ignore();
        if let Some(schedule) = known {
            for set in [owner(&Person::of(&schedule.owner)), tenant(&schedule.owner.tenant)] {
                pipe.cmd("SREM").arg(self.keys.schedules(&set)).arg(&id).ignore();
            }
        }
        let (removed,): (u64,) = self.link.pipe(&pipe).await?;
        Ok(removed > 0)
    }

    async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, StoreDown> {
        let packed: Option<Vec<u8>> =
            self.link.ask(cmd("HGET").arg(self.keys.schedules("all")).arg(id.to_string())).await?;
        Ok(packed.map(|packed| unpack("schedule", &packed)).transpose()?)
    }

    async fn schedules(&self, query: &ScheduleQuery) -> Result<Vec<Schedule>, StoreDown> {
        let most = if query.most == 0 { SCHEDULES_PER_TENANT } else { query.most };
        let set = match (&query.owner, &query.tenant) {
            (Some(person), _) => Some(owner(person)),
            (None, Some(name)) => Some(tenant(name)),
            (None, None) => None,
        };
        let ids: Vec<String> = match set {
            Some(set) => self.link.ask(cmd("SMEMBERS").arg(self.keys.schedules(&set))).await?,
            None => self.link.ask(cmd("ZRANGE").arg(self.keys.schedules("made")).arg(0).arg(most - 1)).await?,
        };
        let mut found = self.all_of(&ids).await?;
        found.retain(|schedule| query.tenant.as_ref().is_none_or(|tenant| *tenant == schedule.owner.tenant));
        found.sort_by_key(|schedule| (schedule.made_ms, schedule.id.to_string()));
        found.truncate(most);
        Ok(found)
    }

    async fn due(&self, most: usize) -> Result<Vec<Schedule>, StoreDown> {
        let last = most.saturating_sub(1);
        let next = cmd("ZRANGE").arg(self.keys.schedules("next")).arg(0).arg(last).clone();
        let ids: Vec<String> = self.link.ask(&next).await?;
        self.all_of(&ids).await
    }
}

impl Redis {
    async fn all_of(&self, ids: &[String]) -> Result<Vec<Schedule>, StoreDown> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let packed: Vec<Option<Vec<u8>>> = self.link.ask(cmd("HMGET").arg(self.keys.schedules("all")).arg(ids)).await?;
        Ok(packed.iter().flatten().filter_map(|packed| crate::readable(unpack("schedule", packed))).collect())
    }

    /// Of a person who is forgotten; how many.
    pub(super) async fn forget_schedules(&self, person: &Person) -> Result<u64, StoreDown> {
        let mut removed = 0;
        for schedule in
            self.schedules(&ScheduleQuery { owner: Some(person.clone()), ..ScheduleQuery::default() }).await?
        {
            removed += u64::from(self.remove(schedule.id).await?);
        }
        Ok(removed)
    }
}

fn owner(person: &Person) -> String {
    format!("of:{}", hex(&person.hash()))
}

fn tenant(name: &str) -> String {
    format!("tenant:{}", hex(&Digest::of(name.as_bytes()).0))
}
