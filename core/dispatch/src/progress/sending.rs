//! Puts what a turn shows of itself on its platform, one request at a time, and remembers what became of it.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, SystemTime},
};

use contract::{
    Address, DeliveryError, Op, Outlet, Part, Receipt, Scope, TurnId,
    records::{Change, DeliveryState},
};
use futures_util::FutureExt;
use tokio::{task::JoinHandle, time::Instant};

use super::{Progress, draft_key};
use crate::call::{TurnCx, new_delivery};

/// Most time that a platform has for showing it.
const SEND_DEADLINE: Duration = Duration::from_secs(10);
/// The longest wait that a platform is believed.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// How long a platform may look for a progress message that an earlier life posted.
const FIND_DEADLINE: Duration = Duration::from_secs(5);
const FIND_AGAIN: Duration = Duration::from_millis(250);

/// A request that shows something, under way; it goes to its end whatever becomes of the turn.
pub(crate) struct UnderWay(JoinHandle<Result<Receipt, DeliveryError>>);

impl UnderWay {
    /// The message that was shown, where it is known.
    pub async fn ended(self) -> Option<Receipt> {
        self.0.await.ok()?.ok().filter(|receipt| !receipt.is_fleeting())
    }
}

/// Looks for a message of which nothing is known but its key. Where it cannot be told, and it is there after all, it stands
/// beside the answer.
pub(crate) async fn look_for(outlet: &dyn Outlet, to: &Address, turn: TurnId) -> Option<Receipt> {
    let key = draft_key(turn);
    let looking = async {
        loop {
            let wait = match outlet.send(to, Op::Find, &key).await {
                Ok(receipt) => return Some(receipt),
                Err(DeliveryError::Refused(_)) => return None,
                Err(DeliveryError::Wait { until, .. }) => {
                    until.duration_since(SystemTime::now()).unwrap_or_default().max(FIND_AGAIN)
                }
                // The platform is not reached, as just after a start.
                Err(DeliveryError::NotSent(_) | DeliveryError::Unsure(_)) => FIND_AGAIN,
            };
            tokio::time::sleep(wait).await;
        }
    };
    tokio::time::timeout(FIND_DEADLINE, looking).await.ok().flatten()
}

impl Progress {
    /// Says, once, that the turn waits for people. Best effort, as all signs of life.
    pub async fn waits(&self, cx: &Arc<TurnCx>, words: &str) {
        let Some(outlet) = self.outlet.as_ref().filter(|_| !self.quiet) else { return };
        let before = self.lock().under_way.take();
        if let Some(before) = before {
            let receipt = before.ended().await;
            self.sent(cx, receipt.ok_or(DeliveryError::Unsure(String::new()))).await;
        }
        let reply = self.reply(cx, words, Vec::new());
        let Some(part) = outlet.render(&reply, &self.to).into_iter().next() else { return };
        if let Some(sending) = self.sending(cx, outlet, part, None).await {
            let sent = sending.0.await.unwrap_or_else(|_| Err(DeliveryError::NotSent(String::new())));
            self.sent(cx, sent).await;
        }
    }

    /// Looks for the message that an earlier life may have posted, so that none is left beside the answer.
    pub async fn find_lost(&self, cx: &TurnCx) {
        let Some(outlet) = self.outlet.as_ref().filter(|_| self.lock().lost) else { return };
        if let Some(receipt) = look_for(&**outlet, &self.to, cx.id).await {
            self.keep(cx, &receipt);
            // Lost is noticed by the turn; a store that is away only costs looking for it again.
            let _ = self.record(cx, Some(receipt)).await;
        }
        self.lock().lost = false;
    }

    fn keep(&self, cx: &TurnCx, receipt: &Receipt) {
        cx.inner.running.shows(cx.id, receipt);
        self.lock().receipt = Some(receipt.clone());
    }

    pub(super) async fn show(&self, cx: &Arc<TurnCx>, outlet: &Arc<dyn Outlet>, part: Part, grown: Option<&str>) {
        let Some(mut sending) = self.sending(cx, outlet, part, grown).await else { return };
        let sent = tokio::select! {
            biased;
            sent = &mut sending.0 => sent,
            () = self.stopped() => {
                self.lock().under_way = Some(sending);
                return;
            }
        };
        self.sent(cx, sent.unwrap_or_else(|_| Err(DeliveryError::NotSent(String::new())))).await;
    }

    /// Begins to show it, in a task of its own: a turn that ends meanwhile does not wait for it.
    async fn sending(
        &self,
        cx: &Arc<TurnCx>,
        outlet: &Arc<dyn Outlet>,
        part: Part,
        grown: Option<&str>,
    ) -> Option<UnderWay> {
        let before = self.receipt();
        if self.lock().doubtful || before.is_none() && !self.store(cx).await {
            return None;
        }
        let (outlet, to, key, grown) = (outlet.clone(), self.to.clone(), draft_key(cx.id), grown.map(str::to_owned));
        Some(UnderWay(cx.inner.tasks.spawn(async move {
            let sending = outlet.send(&to, Op::Draft(before.as_ref(), &part, grown.as_deref()), &key);
            // An adapter's code; a crash there costs the signs, not the answer.
            let sent = tokio::time::timeout(SEND_DEADLINE, AssertUnwindSafe(sending).catch_unwind()).await;
            match sent {
                Ok(Ok(sent)) => sent,
                Ok(Err(_)) | Err(_) => Err(DeliveryError::Unsure("no answer".into())),
            }
        })))
    }

    async fn sent(&self, cx: &TurnCx, sent: Result<Receipt, DeliveryError>) {
        let is_new = self.receipt().is_none();
        match sent {
            Ok(receipt) if receipt.is_fleeting() => self.lock().fleeting = Some(Instant::now()),
            Ok(receipt) => {
                self.lock().fleeting = None;
                self.keep(cx, &receipt);
                if is_new {
                    // Lost is noticed by the turn; a store that is away only costs a second message after a crash.
                    let _ = self.record(cx, Some(receipt)).await;
                }
            }
            Err(DeliveryError::Wait { scope, until }) => {
                let wait = until.duration_since(std::time::SystemTime::now()).unwrap_or_default().min(LONGEST_WAIT);
                let until = Instant::now() + wait;
                if scope == Scope::Account {
                    cx.inner.deliveries.hold_account(&self.to, until);
                }
                self.wait(until).await;
            }
            Err(DeliveryError::Unsure(_)) => self.lock().doubtful = is_new,
            Err(DeliveryError::NotSent(_) | DeliveryError::Refused(_)) => {}
        }
    }

    /// Stores, once, that something may be shown; whether it is.
    async fn store(&self, cx: &TurnCx) -> bool {
        if self.lock().stored {
            return true;
        }
        let stored = self.record(cx, None).await.is_ok();
        self.lock().stored = stored;
        stored
    }

    async fn record(&self, cx: &TurnCx, draft: Option<Receipt>) -> Result<(), contract::records::ChangeError> {
        let mut delivery = new_delivery(0, self.to.clone(), None);
        delivery.state = DeliveryState::Drafting;
        delivery.draft = draft;
        cx.change(&[Change::Delivery(delivery)]).await
    }
}
