//! A process life: a gateway in a runtime of its own, which can be killed as `kill -9` does.

use std::{sync::Arc, time::Duration};

use contract::{
    Accepted, Inbox, Message, StoreDown, TurnId,
    ids::PARTITIONS,
    records::{Stores, TurnState},
};
use dispatch::Gateway;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::{InABox, Recorder, Setup};

/// A gateway that ends when it is killed or dropped: nothing is drained, nothing is said.
pub struct Life {
    runtime: Option<Runtime>,
    pub gateway: Gateway,
    pub outlet: Arc<Recorder>,
}

impl Life {
    /// Opens the store inside the life's runtime, so that its connections end with it.
    pub async fn start(
        stores: impl Future<Output = Stores> + Send + 'static,
        setup: impl FnOnce(Stores) -> Setup + Send + 'static,
    ) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime starts");
        let started = runtime.spawn(async move { setup(stores.await).start() }).await;
        let InABox { gateway, outlet } = started.expect("the gateway starts");
        Self { runtime: Some(runtime), gateway, outlet }
    }

    /// Begins to accept. The handle fails when the life ends first.
    pub fn accept_behind(&self, message: Message) -> JoinHandle<Result<Accepted, StoreDown>> {
        let gateway = self.gateway.clone();
        let runtime = self.runtime.as_ref().expect("a life has its runtime until it ends");
        runtime.spawn(async move { gateway.accept(message).await })
    }

    /// Accepts a message that becomes a turn.
    pub async fn turn(&self, message: Message) -> TurnId {
        match self.accept_behind(message).await.expect("the life goes on").expect("the store answers") {
            Accepted::Turn { id, .. } => id,
            other => panic!("not a turn: {other:?}"),
        }
    }

    /// Waits until everything of a turn is delivered.
    pub async fn done(&self, turn: TurnId) {
        for _ in 0..6_000 {
            let record = self.gateway.record(turn).await;
            if record.is_ok_and(|r| r.is_some_and(|r| r.state == TurnState::Done)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("turn {turn} did not end: {:?}", self.gateway.record(turn).await);
    }

    /// Takes its partitions before it returns.
    pub async fn ready(&self) {
        crate::until("partitions are held", || self.gateway.partitions_held() == usize::from(PARTITIONS)).await;
    }

    /// Ends every task where it stands.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
