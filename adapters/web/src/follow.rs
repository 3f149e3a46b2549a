//! A turn as a stream of server-sent events, first what was, then what is, until it is answered. [`Told`] are the events
//! of our own API: `node` and `draft` as it happens, `end` with the answer.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use contract::{CallId, Node, TurnEvent, TurnId};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    routes::App,
    turns::{HangUp, Standing, standing},
    view::{self, Eyes},
};

/// Events that wait for a slow reader; while they do, the feed waits.
const BUFFER: usize = 64;
/// How often a silent stream says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Longest life of a stream.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// What is made of what happens in a turn. Pure.
pub trait Shape: Send + 'static {
    /// A node as it stands; the same one comes again whenever the feed begins anew.
    fn node(&mut self, node: &Node) -> Vec<Event>;
    /// The whole text so far of what the model says.
    fn draft(&mut self, text: &str) -> Vec<Event>;
    /// The turn is not open any more. `nodes` is its tree.
    fn end(&mut self, standing: &Standing, nodes: &[Node]) -> Vec<Event>;
    /// The stream ends before the turn.
    fn cut(&mut self) -> Vec<Event> {
        Vec::new()
    }
}

/// Streams the turn until its end, `longest`, the shutdown, or until nobody reads. `hang_up` is what happens in the latter
/// cases.
pub fn stream(
    app: &Arc<App>,
    turn: TurnId,
    shape: impl Shape,
    longest: Option<Duration>,
    hang_up: Option<HangUp>,
) -> Response {
    let (events, received) = mpsc::channel(BUFFER);
    let until = Instant::now() + longest.unwrap_or(LONGEST).min(LONGEST);
    let task = app.clone();
    app.tasks.spawn(async move {
        let mut follower = Follower { app: &task, turn, shape, events: events.clone() };
        let is_whole = tokio::select! {
            ended = tokio::time::timeout_at(until, follower.run()) => matches!(ended, Ok(Ok(()))),
            () = task.shutdown.cancelled() => false,
            () = events.closed() => false,
        };
        if is_whole {
            if let Some(hang_up) = hang_up {
                hang_up.answered();
            }
            return;
        }
        for event in follower.shape.cut() {
            // Whoever reads slowly, or not at all, need not be told.
            let _ = events.try_send(event);
        }
    });
    let events = ReceiverStream::new(received).map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

struct Follower<'a, S> {
    app: &'a App,
    turn: TurnId,
    shape: S,
    events: mpsc::Sender<Event>,
}

/// Nobody reads any more.
struct Gone;

impl<S: Shape> Follower<'_, S> {
    async fn run(&mut self) -> Result<(), Gone> {
        let mut pause = Duration::from_millis(10);
        loop {
            self.past().await?;
            let mut feed = self.app.gateway.watch(self.turn).await;
            while let Some(event) = feed.next().await {
                match event {
                    TurnEvent::Node(node) => {
                        let told = self.shape.node(&node);
                        self.send(told).await?;
                    }
                    TurnEvent::Draft(text) => {
                        let told = self.shape.draft(&text);
                        self.send(told).await?;
                    }
                    TurnEvent::End(reply) => return self.end(&Standing::Replied(reply)).await,
                }
            }
            match standing(&self.app.gateway, self.turn).await {
                Ok(Standing::Open) | Err(_) => {}
                Ok(settled) => return self.end(&settled).await,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(250));
        }
    }

    /// What is known of the tree, in the order of the starts.
    async fn past(&mut self) -> Result<Vec<Node>, Gone> {
        let mut nodes = self.app.gateway.tree(self.turn).await.unwrap_or_default();
        view::in_order(&mut nodes);
        for node in &nodes {
            let told = self.shape.node(node);
            self.send(told).await?;
        }
        Ok(nodes)
    }

    async fn end(&mut self, standing: &Standing) -> Result<(), Gone> {
        // A feed that was read slowly has left nodes out.
        let nodes = self.past().await?;
        let told = self.shape.end(standing, &nodes);
        self.send(told).await
    }

    async fn send(&mut self, events: Vec<Event>) -> Result<(), Gone> {
        for event in events {
            self.events.send(event).await.map_err(|_| Gone)?;
        }
        Ok(())
    }
}

/// The events of our own API.
pub struct Told {
    turn: TurnId,
    eyes: Eyes,
    /// Each node as it was told last.
    nodes: HashMap<CallId, Value>,
}

impl Told {
    pub fn new(turn: TurnId, eyes: Eyes) -> Self {
        Self { turn, eyes, nodes: HashMap::new() }
    }
}

impl Shape for Told {
    fn node(&mut self, node: &Node) -> Vec<Event> {
        let shown = view::node(node, self.eyes);
        if self.nodes.get(&node.call) == Some(&shown) {
            return Vec::new();
        }
        self.nodes.insert(node.call, shown.clone());
        event("node", &shown)
    }

    fn draft(&mut self, text: &str) -> Vec<Event> {
        event("draft", &json!({ "text": text }))
    }

    fn end(&mut self, standing: &Standing, _nodes: &[Node]) -> Vec<Event> {
        event("end", &view::end(self.turn, standing, self.eyes))
    }
}

fn event(name: &str, data: &Value) -> Vec<Event> {
    vec![Event::default().event(name).data(data.to_string())]
}
