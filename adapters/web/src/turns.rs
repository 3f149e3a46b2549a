//! How a turn stands, and the wait for its reply.

use std::{sync::Arc, time::Duration};

use contract::{Code, Node, Reply, State, StoreDown, TurnEvent, TurnId, records::TurnState};
use dispatch::Gateway;
use futures_util::StreamExt;
use tokio_util::task::TaskTracker;

use crate::{gate::Who, pictures::Held, problem::Problem, routes::App};

/// How a turn stands.
pub enum Standing {
    Replied(Arc<Reply>),
    /// Queued or running.
    Open,
    /// Not taken: too many waited in its conversation.
    Refused,
    /// Ended, with a reply that is not kept (it was delivered, or it was a call by itself); its root node.
    Over(Option<Box<Node>>),
    Unknown,
}

pub async fn standing(gateway: &Gateway, turn: TurnId) -> Result<Standing, StoreDown> {
    if let Some(record) = gateway.record(turn).await? {
        return Ok(match (record.reply, record.state) {
            (Some(reply), _) => Standing::Replied(Arc::new(reply)),
            (None, TurnState::Done) => match root(gateway, turn).await? {
                Some(root) if is_refusal(&root) => Standing::Refused,
                None if record.message.address.platform.is_pull() => Standing::Refused,
                root => Standing::Over(root.map(Box::new)),
            },
            (None, TurnState::Queued | TurnState::Running | TurnState::Parked | TurnState::Merged(_))
            | (None, TurnState::Answered) => Standing::Open,
        });
    }
    Ok(match root(gateway, turn).await? {
        Some(root) if root.state == State::Running => Standing::Open,
        Some(root) if is_refusal(&root) => Standing::Refused,
        Some(root) => Standing::Over(Some(Box::new(root))),
        None => Standing::Unknown,
    })
}

async fn root(gateway: &Gateway, turn: TurnId) -> Result<Option<Node>, StoreDown> {
    Ok(gateway.tree(turn).await?.into_iter().find(|node| node.place.is_some()))
}

/// Nothing of it ran, for there was no room; a tool that is busy fails a turn that did run.
fn is_refusal(root: &Node) -> bool {
    root.state == State::NotStarted && root.code == Some(Code::Busy)
}

/// Waits until the turn is not open any more. A turn that waits in its lane has no feed yet, so it is looked at again.
/// While the store is away the turn may still be under way: the wait goes on.
pub async fn settled(gateway: &Gateway, turn: TurnId) -> Standing {
    let mut pause = Duration::from_millis(10);
    loop {
        let mut events = gateway.watch(turn).await;
        while let Some(event) = events.next().await {
            if let TurnEvent::End(reply) = event {
                let refused = reply.failed && matches!(standing(gateway, turn).await, Ok(Standing::Refused));
                return if refused { Standing::Refused } else { Standing::Replied(reply) };
            }
        }
        match standing(gateway, turn).await {
            Ok(Standing::Open) | Err(_) => {}
            Ok(settled) => return settled,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

/// What goes with a request when nobody waits for its answer any more: the pictures that it brought, and the turn itself
/// where the answer is of no use to anybody else.
pub struct HangUp {
    gateway: Gateway,
    tasks: TaskTracker,
    stops: Option<TurnId>,
    _pictures: Option<Held>,
}

impl HangUp {
    pub fn new(app: &App, stops: Option<TurnId>, pictures: Option<Held>) -> Self {
        Self { gateway: app.gateway.clone(), tasks: app.tasks.clone(), stops, _pictures: pictures }
    }

    /// There is nothing left to stop.
    pub fn answered(mut self) {
        self.stops = None;
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        let Some(turn) = self.stops else { return };
        let gateway = self.gateway.clone();
        // Best effort: a turn that is not stopped ends by itself, and its answer is not fetched.
        self.tasks.spawn(async move { gateway.cancel(turn).await.is_ok() });
    }
}

/// A reference that the one who asks may look at; otherwise it does not exist.
pub async fn seen(gateway: &Gateway, who: &Who, reference: &str) -> Result<TurnId, Problem> {
    who.known()?;
    let turn: TurnId = reference.parse().map_err(|_| Problem::no_such_reference())?;
    let caller = match gateway.record(turn).await? {
        Some(record) => Some(record.caller),
        None => root(gateway, turn).await?.and_then(|root| root.place).map(|place| place.caller),
    };
    let known = match caller {
        Some(caller) => who.may_see(&caller),
        // Nodes without a root: a tree whose turn was lost is for operators.
        None => who.is_operator() && !gateway.tree(turn).await?.is_empty(),
    };
    if known { Ok(turn) } else { Err(Problem::no_such_reference()) }
}
