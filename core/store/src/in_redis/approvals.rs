//! Approvals in Redis: a hash each, on the slot of their turn.

use async_trait::async_trait;
use contract::{
    StoreDown,
    ids::PARTITIONS,
    records::{Approval, ApprovalId, ApprovalState, Approvals, Settled},
};
use redis::cmd;

use super::{Redis, turns::seconds};
use crate::record::{approval_of, hex, state_bytes};

/// What a hash holds: what never changes, the state's number and its details.
type Fields = (Option<Vec<u8>>, Option<u8>, Option<Vec<u8>>);

#[async_trait]
impl Approvals for Redis {
    async fn settle(&self, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown> {
        let (partition, lane) = (approval.id.partition(), hex(&approval.session.hash()));
        let mut settle = self.scripts.settle.prepare_invoke();
        settle
            .key(self.keys.approval(partition, approval.id))
            .key(self.keys.asked(partition))
            .key(self.keys.turn(partition, approval.turn))
            .key(self.keys.lane(partition, &lane))
            .key(self.keys.lanes(partition))
            .key(self.keys.due(partition))
            .arg(approval.id.to_string())
            .arg(approval.state.number())
            .arg(state_bytes(&approval.state)?)
            .arg(to.number())
            .arg(state_bytes(to)?)
            .arg(u8::from(to.is_open()))
            .arg(approval.turn.to_string())
            .arg(&lane)
            .arg(seconds(self.options.keep.done));
        let made: u8 = self.link.script(&settle).await?;
        Ok(match made {
            0 => Settled::Late,
            woke => Settled::Made { woke: woke == 2 },
        })
    }

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreDown> {
        let key = self.keys.approval(id.partition(), id);
        let fields: Fields = self.link.ask(cmd("HMGET").arg(key).arg("a").arg("s").arg("d")).await?;
        Ok(read(&fields)?)
    }

    async fn open_approvals(&self, most: usize) -> Result<Vec<Approval>, StoreDown> {
        let mut pipe = redis::pipe();
        for partition in 0..PARTITIONS {
            pipe.cmd("ZRANGE").arg(self.keys.asked(partition)).arg(0).arg(most).arg("WITHSCORES");
        }
        let asked: Vec<Vec<(String, u64)>> = self.link.pipe(&pipe).await?;
        let mut ids: Vec<(u64, ApprovalId)> = Vec::new();
        ids.extend(asked.into_iter().flatten().filter_map(|(id, until)| Some((until, id.parse().ok()?))));
        ids.sort_unstable();
        let mut pipe = redis::pipe();
        for (_, id) in ids.iter().take(most) {
            pipe.cmd("HMGET").arg(self.keys.approval(id.partition(), *id)).arg("a").arg("s").arg("d");
        }
        let all: Vec<Fields> = self.link.pipe(&pipe).await?;
        Ok(all.iter().filter_map(|fields| crate::readable(read(fields)).flatten()).collect())
    }
}

fn read(fields: &Fields) -> Result<Option<Approval>, crate::pack::Unreadable> {
    match fields {
        (Some(fixed), Some(state), Some(detail)) => approval_of(fixed, *state, detail).map(Some),
        _ => Ok(None),
    }
}
