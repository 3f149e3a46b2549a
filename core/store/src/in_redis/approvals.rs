//! Approvals in Redis: a hash each, on the slot of their turn.

use async_trait::async_trait;
use contract::{
    SessionKey, StoreDown, TurnId,
    ids::PARTITIONS,
    records::{Approval, ApprovalId, ApprovalState, Approvals, NotRead, Person, Settled},
};
use redis::cmd;

use super::{Redis, people::DONE, turns::seconds};
use crate::record::{approval_of, approval_without, hex, state_bytes};

/// What a hash holds: what never changes, the state's number and its details.
type Fields = (Option<Vec<u8>>, Option<u8>, Option<Vec<u8>>);

#[async_trait]
impl Approvals for Redis {
    async fn settle(&self, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown> {
        let from = (approval.state.number(), state_bytes(&approval.state)?);
        self.settled(approval.id, approval.turn, &approval.session, from, to).await
    }

    async fn settle_unread(
        &self,
        id: ApprovalId,
        turn: TurnId,
        session: &SessionKey,
        to: &ApprovalState,
    ) -> Result<Settled, StoreDown> {
        // Details that nothing has stand for whatever they are.
        self.settled(id, turn, session, (ApprovalState::default().number(), Vec::new()), to).await
    }

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, NotRead> {
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

impl Redis {
    async fn settled(
        &self,
        id: ApprovalId,
        turn: TurnId,
        session: &SessionKey,
        (was, details): (u8, Vec<u8>),
        to: &ApprovalState,
    ) -> Result<Settled, StoreDown> {
        let (partition, lane) = (id.partition(), hex(&session.hash()));
        let mut settle = self.scripts.settle.prepare_invoke();
        settle
            .key(self.keys.approval(partition, id))
            .key(self.keys.asked(partition))
            .key(self.keys.turn(partition, turn))
            .key(self.keys.lane(partition, &lane))
            .key(self.keys.lanes(partition))
            .key(self.keys.due(partition))
            .arg(id.to_string())
            .arg(was)
            .arg(details)
            .arg(to.number())
            .arg(state_bytes(to)?)
            .arg(u8::from(to.is_open()))
            .arg(turn.to_string())
            .arg(&lane)
            .arg(seconds(self.options.keep.done));
        let made: u8 = self.link.script(&settle).await?;
        Ok(match made {
            0 => Settled::Late,
            woke => Settled::Made { woke: woke == 2 },
        })
    }

    /// Takes a person's words and names out of those whose turns are over; how many.
    pub(super) async fn without_approvals(&self, person: &Person) -> Result<u64, StoreDown> {
        let (mut erased, mut cursor) = (0, 0);
        loop {
            let (next, keys) = self.scan(cursor, &self.keys.all_approvals()).await?;
            for key in &keys {
                let fields: Fields = self.behind.ask(cmd("HMGET").arg(key).arg("a").arg("s").arg("d")).await?;
                erased += u64::from(self.without(key, &fields, person).await?);
            }
            cursor = next;
            if cursor == 0 {
                return Ok(erased);
            }
        }
    }

    async fn without(&self, key: &str, fields: &Fields, person: &Person) -> Result<bool, StoreDown> {
        let (Some(fixed), Some(state), Some(detail)) = fields else { return Ok(false) };
        let Some((blank, told)) = approval_without(fixed, *state, detail, person) else { return Ok(false) };
        let Some(approval) = crate::readable(approval_of(fixed, *state, detail)) else { return Ok(false) };
        // What a turn that goes on is bound to stays.
        let turn = self.keys.turn(approval.id.partition(), approval.turn);
        let stands: Option<String> = self.behind.ask(cmd("HGET").arg(turn).arg("s")).await?;
        if stands.is_some_and(|state| state != DONE) || (&blank, &told) == (fixed, detail) {
            return Ok(false);
        }
        let mut pipe = redis::pipe();
        pipe.cmd("HSET").arg(key).arg("a").arg(blank).arg("d").arg(told).ignore();
        // It may have been forgotten meanwhile, and would be kept for ever.
        pipe.cmd("EXPIRE").arg(key).arg(seconds(self.options.keep.done)).ignore();
        let () = self.behind.pipe(&pipe).await?;
        Ok(true)
    }
}

fn read(fields: &Fields) -> Result<Option<Approval>, crate::pack::Unreadable> {
    match fields {
        (Some(fixed), Some(state), Some(detail)) => approval_of(fixed, *state, detail).map(Some),
        _ => Ok(None),
    }
}
