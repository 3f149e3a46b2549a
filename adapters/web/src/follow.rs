//! A turn as a stream of server-sent events: `node` and `draft` as it happens, `end` when it is answered. First what
//! was, then what is.

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
    turns::{Standing, standing},
    view::{self, Eyes},
};

/// Events that wait for a slow reader; while they do, the feed waits.
const BUFFER: usize = 64;
/// How often a silent stream says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Longest life of a stream.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Streams the turn until its end, `longest`, the shutdown, or until nobody reads.
pub fn stream(app: &Arc<App>, turn: TurnId, eyes: Eyes, longest: Option<Duration>) -> Response {
    let (events, received) = mpsc::channel(BUFFER);
    let until = Instant::now() + longest.unwrap_or(LONGEST).min(LONGEST);
    let task = app.clone();
    app.tasks.spawn(async move {
        let mut follower = Follower { app: &task, turn, eyes, shown: HashMap::new(), events: events.clone() };
        tokio::select! {
            _ = tokio::time::timeout_at(until, follower.run()) => {}
            () = task.shutdown.cancelled() => {}
            () = events.closed() => {}
        }
    });
    let events = ReceiverStream::new(received).map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

struct Follower<'a> {
    app: &'a App,
    turn: TurnId,
    eyes: Eyes,
    /// Each node as it was shown last: the feed begins anew when a turn leaves its lane or its process.
    shown: HashMap<CallId, Value>,
    events: mpsc::Sender<Event>,
}

/// Nobody reads any more.
struct Gone;

impl Follower<'_> {
    async fn run(&mut self) -> Result<(), Gone> {
        let mut pause = Duration::from_millis(10);
        loop {
            self.past().await?;
            let mut feed = self.app.gateway.watch(self.turn).await;
            while let Some(event) = feed.next().await {
                match event {
                    TurnEvent::Node(node) => self.node(&node).await?,
                    TurnEvent::Draft(text) => self.send("draft", json!({ "text": &*text })).await?,
                    TurnEvent::End(reply) => {
                        // A feed that was read slowly has left nodes out.
                        self.past().await?;
                        return self.end(&Standing::Replied(reply)).await;
                    }
                }
            }
            match standing(&self.app.gateway, self.turn).await {
                Ok(Standing::Open) | Err(_) => {}
                Ok(settled) => {
                    self.past().await?;
                    return self.end(&settled).await;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(250));
        }
    }

    /// What is known of the tree, in the order of the starts.
    async fn past(&mut self) -> Result<(), Gone> {
        let mut nodes = self.app.gateway.tree(self.turn).await.unwrap_or_default();
        view::in_order(&mut nodes);
        for node in &nodes {
            self.node(node).await?;
        }
        Ok(())
    }

    async fn node(&mut self, node: &Node) -> Result<(), Gone> {
        let shown = view::node(node, self.eyes);
        if self.shown.get(&node.call) == Some(&shown) {
            return Ok(());
        }
        self.shown.insert(node.call, shown.clone());
        self.send("node", shown).await
    }

    async fn end(&self, standing: &Standing) -> Result<(), Gone> {
        self.send("end", view::end(self.turn, standing, self.eyes)).await
    }

    async fn send(&self, name: &str, data: Value) -> Result<(), Gone> {
        let event = Event::default().event(name).data(data.to_string());
        self.events.send(event).await.map_err(|_| Gone)
    }
}
