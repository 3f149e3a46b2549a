//! One socket: what comes through it is taken in and acknowledged, and its silence is noticed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, interval_at, sleep_until, timeout},
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream,
    tungstenite::{self, protocol::WebSocketConfig},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Slack,
    api::PATIENCE,
    inbound::text,
    intake::{Answer, Door, Intake},
    lanes::MOST_OPEN,
    refusal,
    sockets::{End, News, Teller},
};

/// Far more than any event has.
const LARGEST: usize = 8 * 1024 * 1024;
/// How long what is being taken in may be waited for at the end.
const LAST: std::time::Duration = std::time::Duration::from_secs(3);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Listens until the socket ends, or we are to stop.
pub(crate) async fn listen(
    slack: &Slack,
    intake: &Arc<Intake>,
    url: &str,
    stop: &CancellationToken,
    teller: &Teller,
) -> End {
    let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    let tls = Connector::Rustls(Arc::new(slack.api.tls.clone()));
    let connecting = tokio_tungstenite::connect_async_tls_with_config(url, Some(config), true, Some(tls));
    let socket = match timeout(PATIENCE, connecting).await {
        Ok(Ok((socket, _))) => socket,
        // Its words may hold the address, and with it a ticket.
        Ok(Err(cause)) => return End::Closed(format!("a socket was not established: {}", kind(&cause))),
        Err(_) => return End::Closed("a socket was not established in time".into()),
    };
    let (acks, acknowledged) = mpsc::channel(MOST_OPEN);
    let open = Arc::new(AtomicUsize::new(0));
    Listener { slack, intake, socket, acks, acknowledged, open, heard: Instant::now(), leaves: None }
        .run(stop, teller)
        .await
}

/// What is wrong with a connection, in few words.
fn kind(cause: &tungstenite::Error) -> String {
    match cause {
        tungstenite::Error::Io(cause) => cause.kind().to_string(),
        tungstenite::Error::Http(answer) => format!("HTTP {}", answer.status().as_u16()),
        tungstenite::Error::Tls(_) => "the certificate or the encryption is not accepted".into(),
        _ => "the other side does not speak as it should".into(),
    }
}

/// What the id of an envelope is worth even when the rest of it cannot be read.
#[derive(Deserialize)]
struct Bare {
    envelope_id: String,
}

struct Listener<'a> {
    slack: &'a Slack,
    intake: &'a Arc<Intake>,
    socket: Socket,
    acks: mpsc::Sender<String>,
    acknowledged: mpsc::Receiver<String>,
    /// Envelopes that are being taken in.
    open: Arc<AtomicUsize>,
    heard: Instant,
    /// When a socket that was told to go is left.
    leaves: Option<Instant>,
}

impl Listener<'_> {
    async fn run(mut self, stop: &CancellationToken, teller: &Teller) -> End {
        let timing = &self.slack.config.timing;
        let mut pings = interval_at(Instant::now() + timing.ping, timing.ping);
        loop {
            let quiet = self.heard + timing.silence;
            let until = self.leaves.map_or(quiet, |leaves| leaves.min(quiet));
            let ended = tokio::select! {
                frame = self.socket.next() => match frame {
                    Some(Ok(frame)) => self.frame(frame, teller).await,
                    Some(Err(cause)) => Some(End::Closed(format!("the socket broke: {}", kind(&cause)))),
                    None => Some(End::Closed("the socket was closed".into())),
                },
                Some(ack) = self.acknowledged.recv() => self.send(tungstenite::Message::text(ack)).await,
                _ = pings.tick() => self.send(tungstenite::Message::Ping(Default::default())).await,
                () = sleep_until(until) => Some(End::Closed(match self.leaves {
                    Some(leaves) if leaves <= quiet => "the socket was replaced".into(),
                    _ => "the socket brought nothing for too long".into(),
                })),
                () = stop.cancelled() => Some(End::Closed("we stop".into())),
            };
            if let Some(end) = ended {
                self.close().await;
                return end;
            }
        }
    }

    async fn send(&mut self, message: tungstenite::Message) -> Option<End> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => None,
            Ok(Err(cause)) => Some(End::Closed(format!("the socket broke: {}", kind(&cause)))),
            Err(_) => Some(End::Closed("the socket takes nothing".into())),
        }
    }

    async fn frame(&mut self, frame: tungstenite::Message, teller: &Teller) -> Option<End> {
        self.heard = Instant::now();
        let said = match frame {
            tungstenite::Message::Text(said) => said,
            tungstenite::Message::Close(_) => return Some(End::Closed("the socket was closed".into())),
            _ => return None,
        };
        let Ok(mut envelope) = serde_json::from_str::<Value>(&said) else {
            tracing::warn!(
                account = self.slack.account,
                bytes = said.len(),
                "a frame that cannot be read is passed over"
            );
            let bare = serde_json::from_str::<Bare>(&said).ok()?;
            return self.send(acknowledgement(&bare.envelope_id, None)).await;
        };
        let door = match text(&envelope, "type").unwrap_or_default() {
            "hello" => {
                if let Some(app) = envelope.get("connection_info").and_then(|info| text(info, "app_id")) {
                    self.intake.is_app(app);
                }
                teller.tell(News::Open).await;
                return None;
            }
            "disconnect" => return self.leave(text(&envelope, "reason").unwrap_or_default(), teller).await,
            "events_api" => Some(Door::Event),
            "slash_commands" => Some(Door::Command),
            "interactive" => Some(Door::Interaction),
            _ => None,
        };
        let id = text(&envelope, "envelope_id")?.to_owned();
        let Some(door) = door else {
            let kind = contract::text::one_line(text(&envelope, "type").unwrap_or("no type"), 40);
            tracing::warn!(account = self.slack.account, kind, "an envelope is not understood and is passed over");
            return self.send(acknowledgement(&id, None)).await;
        };
        if let Some(again) = envelope["retry_attempt"].as_u64().filter(|again| *again > 0) {
            tracing::debug!(
                account = self.slack.account,
                again,
                reason = text(&envelope, "retry_reason"),
                "comes again"
            );
        }
        self.take(door, id, envelope["payload"].take()).await;
        // Waiting for room is no silence of the other side.
        self.heard = Instant::now();
        None
    }

    /// Acknowledged as soon as it is stored. What is not stored is not acknowledged, and comes again.
    async fn take(&self, door: Door, id: String, payload: Value) {
        let (acks, open) = (self.acks.clone(), self.open.clone());
        open.fetch_add(1, Ordering::AcqRel);
        let done = move |answer| {
            if let Answer::Taken(words) = answer {
                // A socket that has ended meanwhile loses it; then the event comes again and is known.
                let _ = acks.try_send(written(&id, words));
            }
            open.fetch_sub(1, Ordering::AcqRel);
        };
        self.intake.put(door, payload, done).await;
    }

    async fn leave(&mut self, reason: &str, teller: &Teller) -> Option<End> {
        tracing::debug!(account = self.slack.account, reason, "the socket is to be replaced");
        match reason {
            "link_disabled" => {
                let problem = crate::api::Problem::Refused { code: reason.to_owned(), needed: None };
                refusal::fatal(&problem).map(End::Stopped)
            }
            // Ends at once: one more would be one too many.
            "too_many_websockets" => Some(End::Closed("Slack says that too many sockets are open".into())),
            _ => {
                self.leaves = Some(Instant::now() + self.slack.config.timing.farewell);
                teller.tell(News::Leaving).await;
                None
            }
        }
    }

    /// What is being taken in is still acknowledged, then the socket is closed.
    async fn close(&mut self) {
        let last = async {
            while self.open.load(Ordering::Acquire) > 0 || !self.acknowledged.is_empty() {
                let wait = std::time::Duration::from_millis(50);
                match timeout(wait, self.acknowledged.recv()).await {
                    Ok(Some(ack)) => {
                        if self.socket.send(tungstenite::Message::text(ack)).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(_) => {}
                }
            }
            let _ = self.socket.close(None).await;
        };
        let _ = timeout(LAST, last).await;
    }
}

fn acknowledgement(id: &str, words: Option<Value>) -> tungstenite::Message {
    tungstenite::Message::text(written(id, words))
}

fn written(id: &str, words: Option<Value>) -> String {
    match words {
        Some(words) => json!({"envelope_id": id, "payload": words}),
        None => json!({"envelope_id": id}),
    }
    .to_string()
}
