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

use crate::{gateway::Inner, trace::Tracer};

/// Trees decide nothing: whoever reads one waits no longer than this.
pub(crate) const TREE_DEADLINE: Duration = Duration::from_secs(3);
/// How often a turn that runs elsewhere is looked at while somebody watches.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often it is seen whether it begins to run here.
const BEGUN_EVERY: Duration = Duration::from_millis(10);
/// How long such a turn is watched without an end.
const LOOK_MAX: Duration = Duration::from_secs(3_600);

#[async_trait]
impl Feed for Inner {
    async fn watch(&self, turn: TurnId) -> TurnStream {
        if let Some(live) = self.tracer.watch(turn) {
            return live;
        }
        let look = Look {
            stores: self.stores.clone(),
            tracer: self.tracer.clone(),
            turn,
            seen: HashMap::new(),
            since: Instant::now(),
            over: false,
        };
        stream::unfold(Some(look), |look| async move { look?.next().await }).flatten().boxed()
    }
}

pub(crate) fn is_open(record: &Record) -> bool {
    matches!(record.state, TurnState::Queued | TurnState::Running | TurnState::Parked)
}

/// Watches a turn in the store: one that has ended, that runs elsewhere, or that does not run yet.
struct Look {
    stores: Stores,
    tracer: Arc<Tracer>,
    turn: TurnId,
    seen: HashMap<CallId, contract::State>,
    since: Instant,
    over: bool,
}

impl Look {
    /// What is new, and who looks next; nobody once the turn runs here, which is seen as it happens.
    async fn next(mut self) -> Option<(TurnStream, Option<Self>)> {
        if self.over {
            return None;
        }
        if !self.seen.is_empty() || self.since.elapsed() > LOOK_EVERY {
            self.pause().await;
        }
        if let Some(live) = self.tracer.watch(self.turn) {
            return Some((live, None));
        }
        let record = self.stores.turns.get(self.turn).await.ok().flatten();
        let mut events = self.new_nodes().await;
        let reply = record.as_ref().and_then(|r| r.reply.clone());
        let open = record.as_ref().is_some_and(is_open);
        events.extend(reply.map(|reply| TurnEvent::End(Arc::new(reply))));
        self.over = !open || self.since.elapsed() > LOOK_MAX;
        if !self.over && events.is_empty() {
            self.pause().await;
        }
        Some((stream::iter(events).boxed(), Some(self)))
    }

    /// Ends early when the turn begins to run here.
    async fn pause(&self) {
        let until = Instant::now() + LOOK_EVERY;
        while Instant::now() < until && self.tracer.live(self.turn).is_none() {
            tokio::time::sleep(BEGUN_EVERY).await;
        }
    }

    async fn new_nodes(&mut self) -> Vec<TurnEvent> {
        let reading = tokio::time::timeout(TREE_DEADLINE, self.stores.trees.tree(self.turn)).await;
        let nodes = reading.ok().and_then(Result::ok).unwrap_or_default();
        let seen = &mut self.seen;
        let news = nodes.into_iter().filter(|n| seen.insert(n.call, n.state) != Some(n.state));
        news.map(|n| TurnEvent::Node(Arc::new(n))).collect()
    }
}
