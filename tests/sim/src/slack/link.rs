//! Socket Mode: one open socket of an app.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Slack;
use super::cast::{Order, Sock};
use super::fault::{Kind, Target};
use super::outbox::What;
use super::world::World;
use crate::socket::Socket;

const HOST: &str = "applink-sim-1";
/// How long a ticket is good.
const TICKET: Duration = Duration::from_secs(30);

impl World {
    /// The address of a new socket.
    pub fn ticket(&mut self, app: usize) -> String {
        let now = Instant::now();
        self.tickets.retain(|_, (_, made)| now.duration_since(*made) < TICKET);
        let ticket = self.next_uuid();
        self.tickets.insert(ticket.clone(), (app, now));
        let id = self.apps[app].id.to_lowercase();
        format!("{}/slack/socket/{ticket}?ticket={ticket}&app_id={id}", self.url.replacen("http", "ws", 1))
    }

    /// Whose a ticket is; it is used up.
    pub fn redeem(&mut self, ticket: &str) -> Option<usize> {
        let (app, made) = self.tickets.remove(ticket)?;
        (made.elapsed() < TICKET).then_some(app)
    }

    /// Registers an open socket; nothing when there are too many.
    fn open_socket(&mut self, app: usize) -> Option<(u64, usize)> {
        let target = Target { method: "socket", chat: None, marked: false };
        let most = self.limits.sockets;
        let refused = self.faults.hit(&[Kind::Conflict], target).is_some();
        if refused || (most > 0 && self.apps[app].sockets.len() >= most) {
            return None;
        }
        let id = self.next_serial();
        self.stats.connections += 1;
        let known = &mut self.apps[app];
        known.began = true;
        known.sockets.push(Sock { id, orders: Default::default(), silent: false, leaving: false });
        Some((id, known.sockets.len()))
    }

    /// The orders of one socket, and whether it is silent.
    fn orders(&mut self, app: usize, socket: u64) -> (Vec<Order>, bool) {
        let Some(sock) = self.apps[app].sockets.iter_mut().find(|sock| sock.id == socket) else {
            return (vec![Order::Cut], false);
        };
        let orders: Vec<Order> = sock.orders.drain(..).collect();
        sock.leaving |= orders.iter().any(|order| matches!(order, Order::Disconnect(..)));
        (orders, sock.silent)
    }
}

/// One socket's own clocks.
struct Clocks {
    ping: Option<Instant>,
    refresh: Option<Instant>,
    end: Option<Instant>,
}

impl Clocks {
    fn next(&self) -> Option<Instant> {
        [self.ping, self.refresh, self.end].into_iter().flatten().min()
    }
}

/// `now` plus seconds; nothing for zero.
fn later(seconds: f64) -> Option<Instant> {
    (seconds > 0.0).then(|| Instant::now() + Duration::from_secs_f64(seconds.min(1e6)))
}

/// Serves one socket until it ends.
pub async fn serve(slack: Arc<Slack>, app: usize, mut socket: Socket) {
    let Some((id, open)) = slack.write(|world| world.open_socket(app)) else {
        let words = disconnect("too_many_websockets");
        // Whoever is gone already needs no word.
        let _ = socket.send(Message::text(words)).await;
        let _ = socket.close(None).await;
        return;
    };
    let app_id = slack.lock().apps[app].id.clone();
    let hello = json!({"type": "hello", "num_connections": open,
        "debug_info": {"host": HOST, "build_number": 1, "approximate_connection_time": 18_060},
        "connection_info": {"app_id": app_id}});
    if socket.send(Message::text(hello.to_string())).await.is_ok()
        && let Err(cause) = talk(&slack, app, id, &mut socket).await
    {
        tracing::debug!(%cause, "a socket ended");
    }
    slack.write(|world| world.apps[app].sockets.retain(|sock| sock.id != id));
    slack.wake();
}

fn disconnect(reason: &str) -> String {
    json!({"type": "disconnect", "reason": reason, "debug_info": {"host": HOST}}).to_string()
}

async fn talk(slack: &Slack, app: usize, id: u64, socket: &mut Socket) -> Result<(), Error> {
    let mut changes = slack.updates();
    let limits = slack.limits();
    let mut clocks = Clocks { ping: later(limits.ping_seconds), refresh: later(limits.socket_seconds), end: None };
    loop {
        changes.borrow_and_update();
        let (orders, silent) = slack.write(|world| world.orders(app, id));
        for order in orders {
            if matches!(order, Order::Cut | Order::Close(_)) {
                return end(socket, order).await;
            }
            obey(socket, order, &mut clocks).await?;
        }
        let frames = slack.write(|world| world.frames(app, id));
        if !frames.is_empty() {
            // The clock of what was sent has to be looked at.
            slack.wake();
        }
        if !silent {
            for frame in frames {
                socket.feed(Message::text(frame)).await?;
            }
            socket.flush().await?;
        }
        let next = clocks.next();
        tokio::select! {
            frame = heard(socket, silent) => match frame {
                Some(Ok(Message::Text(text))) => slack.write(|world| world.heard(app, text.as_str())),
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(cause)) => return Err(cause),
            },
            changed = changes.changed() => if changed.is_err() { return Ok(()) },
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                if tick(socket, &mut clocks, &slack.limits(), silent).await? { return end(socket, Order::Close(None)).await }
                if clocks.refresh.is_none() && clocks.end.is_some() {
                    slack.write(|world| world.leave(app, id));
                }
            }
            () = slack.stopped() => return end(socket, Order::Close(Some(1001))).await,
        }
    }
}

/// What comes next through a socket. One that is silent hears nothing either, but whoever hangs up is gone from it too.
async fn heard(socket: &mut Socket, silent: bool) -> Option<Result<Message, Error>> {
    if !silent {
        return socket.next().await;
    }
    // Past the frames, so that none is answered.
    let mut bytes = [0; 1_024];
    while socket.get_mut().read(&mut bytes).await.is_ok_and(|count| count > 0) {}
    None
}

async fn obey(socket: &mut Socket, order: Order, clocks: &mut Clocks) -> Result<(), Error> {
    match order {
        Order::Disconnect(reason, grace) => {
            socket.send(Message::text(disconnect(&reason))).await?;
            clocks.end = Some(Instant::now() + Duration::from_secs_f64(grace.clamp(0.0, 1e6)));
        }
        Order::Send(text) => socket.send(Message::text(text)).await?,
        Order::Close(_) | Order::Cut => {}
    }
    Ok(())
}

async fn end(socket: &mut Socket, order: Order) -> Result<(), Error> {
    if let Order::Close(code) = order {
        let frame = code.map(|code| CloseFrame { code: code.into(), reason: "".into() });
        socket.close(frame).await?;
        // The other side's close frame ends the connection in order; it may not come.
        let _ = tokio::time::timeout(Duration::from_secs(1), async { while let Some(Ok(_)) = socket.next().await {} })
            .await;
    }
    Ok(())
}

/// Looks at the clocks; whether the socket is to be closed.
async fn tick(socket: &mut Socket, clocks: &mut Clocks, limits: &super::Limits, silent: bool) -> Result<bool, Error> {
    let now = Instant::now();
    let over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
    if over(clocks.end) {
        return Ok(true);
    }
    if over(clocks.refresh) {
        clocks.refresh = None;
        if !silent {
            socket.send(Message::text(disconnect("warning"))).await?;
        }
        clocks.end = Some(now + Duration::from_secs_f64(limits.grace_seconds.clamp(0.0, 1e6)));
    }
    if over(clocks.ping) {
        clocks.ping = later(limits.ping_seconds);
        if !silent {
            socket.send(Message::Ping(format!("Ping from {HOST}").into_bytes().into())).await?;
        }
    }
    Ok(false)
}

impl World {
    /// A socket that was warned is passed over while there are others.
    fn leave(&mut self, app: usize, socket: u64) {
        self.apps[app].sockets.iter_mut().filter(|sock| sock.id == socket).for_each(|sock| sock.leaving = true);
    }

    /// A frame of an app: the acknowledgement of an envelope, with or without an answer.
    fn heard(&mut self, app: usize, text: &str) {
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            return self.stats.violation("frame_not_json", "socket", text.chars().take(100).collect::<String>());
        };
        let Some(envelope) = frame["envelope_id"].as_str() else {
            return self.stats.violation(
                "frame_without_envelope",
                "socket",
                text.chars().take(100).collect::<String>(),
            );
        };
        let Some(delivery) = self.acknowledge(app, envelope) else {
            if !self.is_past(app, envelope) {
                self.stats.violation("unknown_envelope", "socket", envelope);
            }
            return;
        };
        let answer = frame.get("payload").cloned().unwrap_or_default();
        if delivery.what == What::Event && answer.as_object().is_some_and(|answer| !answer.is_empty()) {
            self.stats.violation("answer_not_accepted", "socket", envelope);
        }
        self.answered(app, delivery, answer);
    }

    /// Orders something of the sockets that a fault concerns.
    pub fn order_sockets(&mut self, app: Option<usize>, only: Option<usize>, order: &Order) {
        for (number, known) in self.apps.iter_mut().enumerate() {
            if app.is_none_or(|app| app == number) {
                let sockets =
                    known.sockets.iter_mut().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at));
                sockets.for_each(|(_, sock)| sock.orders.push_back(order.clone()));
            }
        }
    }

    /// Makes sockets stay open without a sign of life.
    pub fn silence(&mut self, app: Option<usize>, only: Option<usize>) {
        for (number, known) in self.apps.iter_mut().enumerate() {
            if app.is_none_or(|app| app == number) {
                let sockets =
                    known.sockets.iter_mut().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at));
                sockets.for_each(|(_, sock)| sock.silent = true);
            }
        }
    }
}
