//! Lets somebody watch a turn: live where it runs here, else as the store shows it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use contract::{
    CallId, Feed, TurnEvent, TurnId, TurnStream,
    records::{Record, Stores, TurnState},
};
use futures_util::{StreamExt, stream};

use crate::gateway::Inner;

/// Trees decide nothing: whoever reads one waits no longer than this.
pub(crate) const TREE_DEADLINE: Duration = Duration::from_secs(3);
/// How often a turn that runs elsewhere is looked at while somebody watches.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long such a turn is watched without an end.
const LOOK_MAX: Duration = Duration::from_secs(3_600);

#[async_trait]
impl Feed for Inner {
    async fn watch(&self, turn: TurnId) -> TurnStream {
        if let Some(live) = self.tracer.watch(turn) {
            return live;
        }
        let look = Look { stores: self.stores.clone(), turn, seen: HashMap::new(), since: Instant::now(), over: false };
        let looks = stream::unfold(look, |look| async move { look.next().await });
        looks.map(stream::iter).flatten().boxed()
    }
}

pub(crate) fn is_open(record: &Record) -> bool {
    matches!(record.state, TurnState::Queued | TurnState::Running | TurnState::Parked)
}

/// Watches a turn in the store: one that has ended, or that runs elsewhere.
struct Look {
    stores: Stores,
    turn: TurnId,
    seen: HashMap<CallId, contract::State>,
    since: Instant,
    over: bool,
}

impl Look {
    async fn next(mut self) -> Option<(Vec<TurnEvent>, Self)> {
        if self.over {
            return None;
        }
        if !self.seen.is_empty() || self.since.elapsed() > LOOK_EVERY {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let record = self.stores.turns.get(self.turn).await.ok().flatten();
        let mut events = self.new_nodes().await;
        let reply = record.as_ref().and_then(|r| r.reply.clone());
        let open = record.as_ref().is_some_and(is_open);
        events.extend(reply.map(|reply| TurnEvent::End(Arc::new(reply))));
        self.over = !open || self.since.elapsed() > LOOK_MAX;
        if !self.over && events.is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Some((events, self))
    }

    async fn new_nodes(&mut self) -> Vec<TurnEvent> {
        let reading = tokio::time::timeout(TREE_DEADLINE, self.stores.trees.tree(self.turn)).await;
        let nodes = reading.ok().and_then(Result::ok).unwrap_or_default();
        let seen = &mut self.seen;
        let news = nodes.into_iter().filter(|n| seen.insert(n.call, n.state) != Some(n.state));
        news.map(|n| TurnEvent::Node(Arc::new(n))).collect()
    }
}
