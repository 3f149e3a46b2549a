//! A running Slack, an app with its sockets, and the control side in the test's hand.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sim::slack::{Limits, Setup};
use sim::{Options, Running, Slack};
use slack_morphism::prelude::{SlackCommandEvent, SlackInteractionEvent, SlackPushEvent};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

use crate::rig::ring;

pub const BOT: &str = "xoxb-1-2-demo";
pub const APP: &str = "xapp-1-A1-2-demo";

pub struct Rig {
    pub running: Running,
    pub http: reqwest::Client,
    pub stop: CancellationToken,
}

pub async fn start() -> Rig {
    start_with(Limits::none()).await
}

pub async fn start_with(limits: Limits) -> Rig {
    start_setup(Setup { limits, commands: None, ..Setup::default() }).await
}

pub async fn start_setup(slack: Setup) -> Rig {
    ring();
    let stop = CancellationToken::new();
    let options = Options { slack, ..Options::default() };
    let running = sim::serve(options, stop.clone()).await.expect("a free port on loopback");
    Rig { running, http: reqwest::Client::builder().no_proxy().build().expect("a client"), stop }
}

impl Rig {
    pub fn slack(&self) -> &Arc<Slack> {
        &self.running.sim.slack
    }

    pub fn address(&self, method: &str) -> String {
        format!("{}/slack/api/{method}", self.running.url)
    }

    pub async fn call_as(&self, token: &str, method: &str, body: Value) -> (u16, Value) {
        let request = self.http.post(self.address(method)).bearer_auth(token);
        let request = request.header("content-type", "application/json; charset=utf-8").body(body.to_string());
        let response = request.send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    pub async fn call(&self, method: &str, body: Value) -> (u16, Value) {
        self.call_as(BOT, method, body).await
    }

    /// The answer to a request that must be granted.
    pub async fn ok(&self, method: &str, body: Value) -> Value {
        let (status, answer) = self.call(method, body).await;
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{method}: {answer}");
        answer
    }

    /// The error of a request that must be refused.
    pub async fn refusal(&self, method: &str, body: Value) -> String {
        let (_, answer) = self.call(method, body).await;
        assert_eq!(answer["ok"], json!(false), "{method}: {answer}");
        answer["error"].as_str().unwrap_or_default().to_owned()
    }

    /// The trial of a control request.
    pub async fn control(&self, verb: &str, body: Value) -> (u16, Value) {
        let request = self.http.post(format!("{}/control/slack/{verb}", self.running.url)).json(&body);
        let response = request.send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    /// The same where it must be granted.
    pub async fn done(&self, verb: &str, body: Value) -> Value {
        let (status, answer) = self.control(verb, body).await;
        assert_eq!(status, 200, "{verb}: {answer}");
        answer
    }

    pub async fn control_get(&self, path: &str) -> Value {
        let response = self.http.get(format!("{}/control/slack/{path}", self.running.url)).send().await;
        response.expect("an answer").json().await.expect("JSON")
    }

    /// A message of a person; returns its channel and `ts`.
    pub async fn say(&self, conversation: &str, user: &str, text: &str) -> (String, String) {
        let said = self.done("say", json!({"conversation": conversation, "user": user, "text": text})).await;
        (text_of(&said["chat"]), text_of(&said["message"]))
    }

    /// The newest entry of a conversation.
    pub fn last(&self, conversation: &str) -> sim::slack::Entry {
        self.slack().transcript(Some(conversation), 0).pop().expect("an entry")
    }

    pub fn rules(&self) -> Vec<&'static str> {
        self.slack().stats().violations.iter().map(|violation| violation.rule).collect()
    }

    pub async fn socket(&self) -> Socket {
        self.socket_as(APP).await
    }

    pub async fn socket_as(&self, token: &str) -> Socket {
        let (_, answer) = self.call_as(token, "apps.connections.open", json!({})).await;
        let url = answer["url"].as_str().unwrap_or_else(|| panic!("a socket: {answer}"));
        let (stream, _) = connect_async(url).await.expect("a WebSocket");
        Socket { stream }
    }

    /// A socket that has been greeted.
    pub async fn greeted(&self) -> Socket {
        let mut socket = self.socket().await;
        assert_eq!(socket.next().await["type"], "hello");
        socket
    }

    pub async fn end(self) {
        self.stop.cancel();
        drop(self.http);
        self.running.join().await;
    }
}

pub fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

/// Holds a payload against the types of a client that is strict about them.
pub fn typed(kind: &Value, payload: &Value) {
    let payload = payload.clone();
    let outcome = match kind.as_str() {
        Some("events_api") => serde_json::from_value::<SlackPushEvent>(payload.clone()).map(drop),
        Some("interactive") => serde_json::from_value::<SlackInteractionEvent>(payload.clone()).map(drop),
        Some("slash_commands") => serde_json::from_value::<SlackCommandEvent>(payload.clone()).map(drop),
        _ => Ok(()),
    };
    if let Err(cause) = outcome {
        panic!("{cause}: {payload}");
    }
}

/// One socket of an app.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Socket {
    /// The next frame with text; each is what a client with strict types takes for one.
    pub async fn next(&mut self) -> Value {
        let frame = self.raw().await.expect("a frame");
        typed(&frame["type"], &frame["payload"]);
        frame
    }

    /// The same whatever it is; nothing at the end.
    pub async fn raw(&mut self) -> Option<Value> {
        loop {
            match self.stream.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(text.as_str()).expect("JSON")),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    pub async fn send(&mut self, value: Value) {
        self.stream.send(Message::text(value.to_string())).await.expect("an open socket");
    }

    pub async fn acknowledge(&mut self, frame: &Value) {
        self.send(json!({"envelope_id": frame["envelope_id"]})).await;
    }

    /// The payload of the next frame, acknowledged at once.
    pub async fn payload(&mut self) -> Value {
        let mut frame = self.next().await;
        self.acknowledge(&frame).await;
        frame["payload"].take()
    }

    /// The event of the next frame, acknowledged at once.
    pub async fn event(&mut self) -> Value {
        self.payload().await["event"].take()
    }
}
