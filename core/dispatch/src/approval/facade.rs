//! What operators, and pages that show what waits, ask of the gateway.

use contract::{
    StoreDown, TurnId,
    records::{Approval, ApprovalId, Extent},
};

use super::{Answer, by_operator, by_person, waits_for};
use crate::{gateway::Gateway, session::address_of};

impl Gateway {
    /// Calls that wait for people, the next to expire first.
    pub async fn approvals(&self, most: usize) -> Result<Vec<Approval>, StoreDown> {
        self.inner.stores.approvals.open_approvals(most).await
    }

    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreDown> {
        Ok(self.inner.stores.approvals.approval(id).await?)
    }

    /// Whether nothing is left of a turn but to wait for people, as far as this process keeps its time.
    pub fn is_parked(&self, turn: TurnId) -> bool {
        self.inner.approvals.holds(turn) && !self.inner.running.holds(turn)
    }

    /// The approvals that a parked turn waits for.
    pub async fn waits_for(&self, turn: TurnId) -> Result<Vec<ApprovalId>, StoreDown> {
        let record = self.record(turn).await?;
        Ok(record.map_or_else(Vec::new, |record| waits_for(&record)))
    }

    /// The answer of whoever asked for the call, who confirms it or not; what came of it in words.
    pub async fn confirm(&self, approval: &Approval, answer: Result<Extent, String>) -> Result<String, StoreDown> {
        let answer = answer.map_or_else(Answer::Deny, Answer::Allow);
        let at = address_of(&approval.caller);
        by_person(&self.inner, &approval.caller, &at, approval.id, answer).await
    }

    /// An operator's yes; what came of it in words, and the approval as it stands now. Nothing when it is not known.
    pub async fn approve(&self, id: ApprovalId, extent: Extent) -> Result<Option<(String, Approval)>, StoreDown> {
        by_operator(&self.inner, id, Answer::Allow(extent)).await
    }

    /// An operator's no; as [`Gateway::approve`].
    pub async fn deny(&self, id: ApprovalId, why: &str) -> Result<Option<(String, Approval)>, StoreDown> {
        by_operator(&self.inner, id, Answer::Deny(why.to_owned())).await
    }
}
