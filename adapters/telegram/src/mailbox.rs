//! How an update comes from the webhook's request to the one who takes it in, and word of it back.

use contract::StoreDown;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::{Telegram, lock};

/// Requests that wait; Telegram delivers the others again.
const MOST: usize = 1_024;

/// An update that was posted; its sender waits to hear whether it is kept.
pub(crate) struct Arrival {
    pub(crate) update: Value,
    pub(crate) kept: oneshot::Sender<Result<(), StoreDown>>,
}

/// The end that requests put updates into.
pub(crate) type Mailbox = mpsc::Sender<Arrival>;

/// Why an update was not kept; it will be delivered again.
#[derive(Debug)]
pub(crate) enum NotKept {
    /// Nobody takes in: not yet, not any more, or another process does.
    Closed,
    Full,
    StoreDown(StoreDown),
}

impl Telegram {
    /// From now on what is posted arrives.
    pub(crate) fn open_mailbox(&self) -> mpsc::Receiver<Arrival> {
        let (mailbox, arrivals) = mpsc::channel(MOST);
        *lock(&self.mailbox) = Some(mailbox);
        arrivals
    }

    pub(crate) fn close_mailbox(&self) {
        *lock(&self.mailbox) = None;
    }

    /// Hands an update in and waits until it is durable.
    pub(crate) async fn hand_in(&self, update: Value) -> Result<(), NotKept> {
        let mailbox = lock(&self.mailbox).clone().ok_or(NotKept::Closed)?;
        let (kept, told) = oneshot::channel();
        mailbox.try_send(Arrival { update, kept }).map_err(|cause| match cause {
            mpsc::error::TrySendError::Full(_) => NotKept::Full,
            mpsc::error::TrySendError::Closed(_) => NotKept::Closed,
        })?;
        // The mailbox must be able to close while we wait.
        drop(mailbox);
        told.await.map_err(|_| NotKept::Closed)?.map_err(NotKept::StoreDown)
    }
}
