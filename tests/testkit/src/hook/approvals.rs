//! Approvals whose operations pass the hook.

use async_trait::async_trait;
use contract::{
    SessionKey, StoreDown, TurnId,
    records::{Approval, ApprovalId, ApprovalState, Approvals, NotRead, Settled},
};

use super::Hooked;

#[async_trait]
impl Approvals for Hooked {
    async fn settle(&self, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown> {
        self.pass(&format!("settle {}", to.as_str()), self.stores.approvals.settle(approval, to)).await
    }

    async fn settle_unread(
        &self,
        id: ApprovalId,
        turn: TurnId,
        session: &SessionKey,
        to: &ApprovalState,
    ) -> Result<Settled, StoreDown> {
        let settle = self.stores.approvals.settle_unread(id, turn, session, to);
        self.pass(&format!("settle unread {}", to.as_str()), settle).await
    }

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, NotRead> {
        let read = async {
            match self.stores.approvals.approval(id).await {
                Err(NotRead::Down(down)) => Err(down),
                answer => Ok(answer),
            }
        };
        self.pass("approval", read).await?
    }

    async fn open_approvals(&self, most: usize) -> Result<Vec<Approval>, StoreDown> {
        self.pass("approvals", self.stores.approvals.open_approvals(most)).await
    }
}
